"""The exit statuses of every command."""

from __future__ import annotations

DONE = 0
NEEDS_A_LOOK = 1  # written, and standard error says what is wrong with it
BAD_INPUT = 2  # nothing was written; argparse uses the same for options it does not know
INTERRUPTED = 130  # Ctrl-C, as shells count it: 128 + SIGINT
NOBODY_READS = 141  # the reader of standard output went away: 128 + SIGPIPE
TERMINATED = 143  # by whoever manages the machine: 128 + SIGTERM
