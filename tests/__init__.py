"""One folder per part, then flow/ (real processes) and browser/."""
