"""From the user's call to a node: cells, views, and operations recorded or run at once."""
