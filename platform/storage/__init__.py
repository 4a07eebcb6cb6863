"""Content-addressed files on a local volume: written and fsynced before the row, served only by views that check rights."""
