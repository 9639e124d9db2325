"""Machines: rates of cores, memory and networks, and the costs of Python."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, fields, replace
from math import log2
from typing import Any

import numpy as np

from ..errors import ConfigError

FORMS = {"plain": "memory", "stencil": "stencils"}
FORMS |= {form: form for form in ("summed", "folded", "rows", "extremes")}
"""By the form of a loop (:attr:`.Work.form`): the field of a machine with the rates of its memory traffic."""


@dataclass(frozen=True, slots=True)
class Link:
    """The connection of two ranks: a message of n bytes takes ``latency + n / bandwidth`` seconds."""

    latency: float
    bandwidth: float
    """Bytes per second; in a network, those of a node, which its ranks share."""


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine: nodes of cores, and a network. Times are in seconds; rates are per second and core unless stated otherwise."""

    name: str
    cores: int
    """The cores of a node."""
    memory: tuple[tuple[int, float], ...]
    """Bytes per second that loops touch, by reuse distance: the other bytes touched since the last access. Caches are faster,
    and an element that a loop reads and writes back counts once."""
    stencils: tuple[tuple[int, float], ...]
    """The same for loops that read several rows of an array at a time ..."""
    summed: tuple[tuple[int, float], ...]
    """... and for such loops that also sum their results: the accumulators of a sum limit the vector width."""
    folded: tuple[tuple[int, float], ...]
    """The same for loops that store only sums ..."""
    rows: tuple[tuple[int, float], ...]
    """... only sums of rows ..."""
    extremes: tuple[tuple[int, float], ...]
    """... and only minima and maxima."""
    node_memory: float
    """Bytes per second of all cores of a node together, beyond their caches."""
    private: int
    """The bytes of the largest private cache of a core ..."""
    sharing: int
    """... and the number of cores that share the next cache."""
    operations: float
    """Additions of doubles in compiled loops."""
    chained: float
    """Dependent operations, times the length of their chain: the limit of a processor's out-of-order execution."""
    functions: tuple[tuple[str, float], ...]
    """Quotients, exponentials and powers of elements, by their names."""
    products: float
    """Floating-point operations of matrix products."""
    transforms: float
    """The same for Fourier transforms."""
    comparisons: float
    """Comparisons of sorting."""
    numpy: float
    """Elements of NumPy's functions that are no ufuncs, such as ``argmax`` and ``bincount``."""
    inside: Link
    """The link between ranks of a node."""
    network: Link
    """The link between nodes."""
    alone: float
    """The Python time of an evaluation in one process ..."""
    together: float
    """... and on ranks."""
    operation: float
    """The time to record an operation in one process ..."""
    operation_together: float
    """... and on ranks."""
    kernel: float
    """The time to start a compiled loop."""
    message: float
    """The processor time of a message, at each end."""
    collective: float
    """The same for a collective operation."""
    element: float
    """The time of Python for one element that it handles individually."""
    nodes: int = 0
    """The number of nodes; 0 for as many as needed. More ranks than cores take turns."""

    def ranks_of_node(self, ranks: int, threads: int = 1) -> int:
        """The number of ranks that share a node."""
        if self.nodes and ranks * threads > self.nodes * self.cores:
            return -(-ranks // self.nodes)
        return max(1, min(ranks, self.cores // threads))

    def memory_rate(
        self, distance: float, ranks: int, threads: int = 1, form: str = "plain"
    ) -> float:
        """Bytes per second of one rank, for memory after which it touched ``distance`` other bytes."""
        table = getattr(self, FORMS[form])
        sizes = np.log2([size for size, _ in table])
        rates: list[float] = [rate for _, rate in table]
        busy = min(self.ranks_of_node(ranks, threads) * threads, self.cores)
        own = distance / threads
        if own > self.private:
            own *= min(busy, self.sharing)
        rate = float(np.interp(log2(max(own, 1)), sizes, rates))
        # the cores of a node share the bandwidth of its memory, but not that of its caches
        from_caches = max(0.0, (rate - rates[-1]) / max(rates[0] - rates[-1], 1e-9))
        shared = min(1.0, self.node_memory / (rates[-1] * busy))
        return rate * threads * (shared + (1 - shared) * min(from_caches, 1.0))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the machine as JSON, which ``atoll.model(..., network=path)`` reads."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(json.dumps(asdict(self), indent=1) + "\n")


def read(path: str | os.PathLike[str]) -> Machine:
    """Read a machine from a file."""
    try:
        with open(path, encoding="utf-8") as file:
            facts: dict[str, Any] = json.load(file)
        facts["inside"], facts["network"] = Link(**facts["inside"]), Link(**facts["network"])
        for name in (*FORMS.values(), "functions"):
            facts[name] = tuple([(key, float(rate)) for key, rate in facts[name]])
        return Machine(**facts)
    except (OSError, ValueError, KeyError, TypeError) as problem:
        names = ", ".join([each.name for each in fields(Machine)])
        raise ConfigError(
            f"model: {os.fspath(path)!r} does not describe a machine ({type(problem).__name__}: {problem}); it needs {names}, as `atoll machine PATH` "
            "writes them"
        ) from problem


_CORE = Machine(
    name="workstation",
    cores=8,
    memory=((1 << 18, 60e9), (1 << 21, 40e9), (1 << 24, 25e9), (1 << 26, 18e9)),
    stencils=((1 << 18, 50e9), (1 << 21, 30e9), (1 << 24, 16e9), (1 << 26, 12e9)),
    summed=((1 << 18, 30e9), (1 << 21, 20e9), (1 << 24, 12e9), (1 << 26, 9e9)),
    folded=((1 << 18, 60e9), (1 << 21, 40e9), (1 << 24, 25e9), (1 << 26, 16e9)),
    rows=((1 << 18, 20e9), (1 << 21, 15e9), (1 << 24, 12e9), (1 << 26, 10e9)),
    extremes=((1 << 18, 30e9), (1 << 21, 25e9), (1 << 24, 17e9), (1 << 26, 12e9)),
    node_memory=40e9,
    private=1 << 20,
    sharing=8,
    operations=60e9,
    chained=1.5e12,
    functions=(("divide", 2.5e9), ("exp", 1e9), ("power", 0.2e9)),
    products=40e9,
    transforms=4e9,
    comparisons=1.2e9,
    numpy=0.7e9,
    inside=Link(0.5e-6, 8e9),
    network=Link(0.5e-6, 8e9),
    alone=20e-6,
    together=70e-6,
    operation=0.5e-6,
    operation_together=2e-6,
    kernel=1.5e-6,
    message=8e-6,
    collective=10e-6,
    element=30e-9,
    nodes=1,
)

MACHINES = {
    machine.name: machine
    for machine in (
        _CORE,
        replace(_CORE, name="ethernet", cores=32, node_memory=150e9, nodes=0, network=Link(25e-6, 1.2e9)),
        replace(_CORE, name="infiniband", cores=64, node_memory=300e9, nodes=0, network=Link(1.5e-6, 24e9)),
        # 2,310 nodes with two Opterons, 2.2 GHz, and InfiniBand DDR; GAiN's paper used four of the eight cores of a node
        replace(
            _CORE, name="chinook", cores=4, node_memory=17e9, nodes=2310, network=Link(3e-6, 1.5e9), inside=Link(1e-6, 2e9),
            memory=((1 << 16, 15e9), (1 << 19, 10e9), (1 << 21, 5e9), (1 << 23, 3.5e9)),
            stencils=((1 << 16, 10e9), (1 << 19, 7e9), (1 << 21, 3.5e9), (1 << 23, 2.5e9)),
            summed=((1 << 16, 5e9), (1 << 19, 4e9), (1 << 21, 2.5e9), (1 << 23, 2e9)),
            folded=((1 << 16, 15e9), (1 << 19, 10e9), (1 << 21, 5e9), (1 << 23, 3.5e9)),
            rows=((1 << 16, 5e9), (1 << 19, 4e9), (1 << 21, 3e9), (1 << 23, 2.5e9)),
            extremes=((1 << 16, 7e9), (1 << 19, 5e9), (1 << 21, 3.5e9), (1 << 23, 2.5e9)), operations=6e9, chained=0.15e12,
            functions=(("divide", 0.3e9), ("exp", 0.1e9), ("power", 0.02e9)), products=8e9, transforms=1e9, private=1 << 19, sharing=4,
            comparisons=0.4e9, numpy=0.2e9, alone=60e-6, together=210e-6, operation=1.5e-6, operation_together=6e-6, kernel=5e-6, message=24e-6, collective=30e-6, element=90e-9,
        ),
    )
}  # fmt: skip
"""Machines by name."""


def machine_of(network: str | os.PathLike[str] | Machine) -> Machine:
    """A machine by its name, from a file, or itself."""
    if isinstance(network, Machine):
        return network
    known = MACHINES.get(os.fspath(network))
    if known is not None:
        return known
    if not os.path.exists(network):
        raise ConfigError(
            f"model: there is no machine {os.fspath(network)!r}; network is one of {', '.join(MACHINES)}, a Machine, or the "
            "path of a file that `atoll machine PATH` has written"
        )
    return read(network)
