"""Pages: parse, call one service or selector, respond."""
