"""Reports: canonical content, pictures, page and PDF from one source, and the one door for released results."""
