"""Distribution: owners, ghost regions, moves, and the messages that carry them."""
