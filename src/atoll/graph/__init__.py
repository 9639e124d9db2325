"""The expression graph: immutable nodes, the geometry of views, and pictures of both."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .picture import show as show


def __getattr__(name: str) -> Any:
    if name == "show":  # pictures are imported at first use
        from ..context.tracebacks import guarded
        from .picture import show

        value = globals()[name] = guarded(show)
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
