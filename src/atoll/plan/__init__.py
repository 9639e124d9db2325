"""From wanted nodes to a program: the choice of stored nodes, their fusion, and their loops."""
