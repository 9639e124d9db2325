"""The class of operations: the properties of a family of nodes, as flags and methods.

The families themselves, with their rules, are in ``ops.table``; this class is all that graphs know of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .node import Node


class Op:
    """A family of operations. Nodes refer to one object for each, so that they compare by identity.

    A decision that depends on the operation is a flag or a method here, never a comparison elsewhere.
    """

    __slots__ = ("__weakref__", "name")

    is_leaf = False
    """The value is there."""
    elementwise = False
    """Each element is computed from the elements of the operands at its own index."""
    is_ufunc = False
    """A ufunc's loop, which is its parameter."""
    is_view = False
    """The operand is read through a view, which is the first parameter."""
    is_update = False
    """The second operand is written into the first through a view, which is the first parameter."""
    folds = False
    """Elements are folded over axes, which are the first parameter."""
    finds_position = False
    """A fold whose result is a position, not an element."""
    is_number = False
    """Made of one number alone, the same for all elements."""
    from_index = False
    """Made of the position of each element."""
    is_exact = False
    """The order of a fold cannot be seen in its result."""
    selects = False
    """The elements under a mask: how many there are is not known before it is computed."""
    is_collective = False
    """All ranks compute it together, each on its sections of the operands."""
    writes = False
    """A collective operation that writes into its first operand."""
    is_deferred = False
    """The value comes from outside; its origin is the first parameter."""
    ufunc: Any = None
    """Operand of the fold."""
    colour = "#ffffff"
    """In pictures of graphs."""
    place: Callable[[Node, Node], Any]
    """Placement of the result of a node; the second node is the first of its operands that lie on ranks."""
    check_worlds: Callable[[Node, float], None]
    """Raises an error if the operands lie on several worlds, or one of them is local to its rank."""

    def __init__(self, name: str) -> None:
        self.name = name
        TABLE[name] = self

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> Any:
        return named, (self.name,)

    def label(self, node: Node) -> str:
        """Description of a node's operation in words, without its operands."""
        return self.name

    def words(self, node: Node) -> str:
        """The operation of a node, with its name."""
        return f"{self.name} {node.name}".rstrip()

    def is_trivial(self, node: Node) -> bool:
        """True if computing a node again costs nothing."""
        return False

    def lower(self, node: Node, body: Any, outer: Any) -> Any:
        """Write the instructions for one element; returns the number of the last."""
        raise AssertionError(f"{node!r} cannot be computed inside a loop")

    def numpy(self, node: Node) -> Callable[..., Any]:
        """A function of arrays and scalars that computes a node."""
        raise AssertionError(f"NumPy has no word for {node!r}")

    def identity(self, dtype: Any) -> Any:
        """Start value of a fold of numbers of ``dtype``; for positions, the element to beat."""
        raise AssertionError(f"{self!r} does not fold")

    def is_folded_in(self, dtype: Any) -> bool:
        """True if kernels fold numbers of a dtype, if they have the ufunc for it."""
        return False

    def check(self, node: Node) -> bool:
        """True if a pending node has the operands, the shape and the dtype that the operation asks for."""
        return not self.is_leaf


TABLE: dict[str, Op] = {}
"""All operations by their names."""


def named(name: str) -> Op:
    """The operation of a name."""
    return TABLE[name]


class _Source(Op):
    __slots__ = ()
    is_leaf = True


SOURCE = _Source("source")
"""Operation of a node that holds its value from the start, or that has been computed."""
