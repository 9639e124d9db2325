"""Files that all ranks write and read, each its own part."""
