"""``atoll.linalg``: its functions are declared when one of them is first needed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..namespaces import Namespace
from ..public import publish


def _declared() -> Mapping[str, Any]:
    from . import equations, factors, norms, products  # noqa: F401

    return {}


linalg = Namespace("linalg", _declared)
publish("linalg", linalg, "native")
