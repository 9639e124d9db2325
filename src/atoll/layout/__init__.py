"""Who owns which elements: pure integers, no data and no communication."""
