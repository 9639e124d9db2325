"""From the user's call to a node: cells, views, and what is recorded or run at once."""
