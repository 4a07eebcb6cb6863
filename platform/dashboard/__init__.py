"""Dashboard: worklist, order pages, live progress, engine page."""
