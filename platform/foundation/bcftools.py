"""bcftools inside pysam keeps its state in globals of the process: whoever runs it holds this lock."""

import threading

ONE_AT_A_TIME = threading.Lock()
