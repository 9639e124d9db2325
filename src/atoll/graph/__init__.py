"""The expression graph: immutable nodes, the geometry of views, and pictures of both."""

from .picture import show as show
