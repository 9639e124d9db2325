"""Exchange with other libraries, where they are installed."""
