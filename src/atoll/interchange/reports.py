"""What the readers of the protocols share: notes of all ranks, and refusals."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Protocol

from ..errors import ProtocolWarning

_SHOWN = 20


class Digest(Protocol):
    """What a rank sends to the others: its number, and what it noted."""

    @property
    def rank(self) -> int: ...

    @property
    def notes(self) -> tuple[str, ...]: ...


def noted(sections: Sequence[Digest]) -> list[str]:
    """The notes of all ranks, each once, with the ranks that met it."""
    ranks: dict[str, list[int]] = {}
    for section in sections:
        for note in section.notes:
            ranks.setdefault(note, []).append(section.rank)
    return [
        note if len(where) == len(sections) else f"{note} (rank {', '.join(map(str, where))})"
        for note, where in ranks.items()
    ]


def warn(protocol: str, notes: Sequence[str], stacklevel: int) -> None:
    """Issue each note as a :class:`~atoll.errors.ProtocolWarning` at the caller's line."""
    for note in notes:
        warnings.warn(f"{protocol}: {note}", ProtocolWarning, stacklevel=stacklevel + 1)


def refusal(name: str, protocol: str, violations: Sequence[object]) -> str:
    """The message about rules that are broken, all of them."""
    if len(violations) == 1:
        return f"{name}: {violations[0]}"
    shown = [f"  {violation}" for violation in violations[:_SHOWN]]
    if len(violations) > len(shown):
        shown.append(f"  and {len(violations) - len(shown)} more")
    return "\n".join([f"{name}: {protocol} is broken in {len(violations)} places", *shown])
