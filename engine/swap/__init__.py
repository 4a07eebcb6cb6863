"""Where the blocks of sequences that gave way lie meanwhile: an arena in memory, and below it files."""
