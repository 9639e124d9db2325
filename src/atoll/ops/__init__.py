"""The families of nodes: how each is made, with the shape and dtype that NumPy gives it."""
