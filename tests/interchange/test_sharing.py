"""Memory that is handed out is the array's own, or it is for reading: nothing that is written there is lost."""

from __future__ import annotations

import numpy
import pytest

import atoll as np
from atoll.interchange.distarray import to_distarray

N = 23


def maps(size: int) -> dict[str, object]:
    """A way to divide an axis of each kind."""
    numbers = numpy.random.default_rng(size).permutation(N)
    parts = numpy.array_split(numbers, size)
    return {
        "block": np.Block(),
        "uneven": np.Block(bounds=[0, *sorted(numbers[: size - 1].tolist()), N]),
        "padded": np.Block(padding=(2, 1)),
        "periodic": np.Block(padding=(1, 1), periodic=True),
        "cyclic": np.Cyclic(1),
        "block-cyclic": np.Cyclic(3),
        "unstructured": np.Unstructured(parts),
        "ascending": np.Unstructured([numpy.sort(part) for part in parts]),
    }


KEYS = [
    numpy.s_[:], numpy.s_[::2], numpy.s_[1:], numpy.s_[3:20:3], numpy.s_[::-1], numpy.s_[-2:4:-2], numpy.s_[5:6], numpy.s_[4:4],
    numpy.s_[:, 1], numpy.s_[::2, ::-1], numpy.s_[None, 2:], numpy.s_[..., :1], numpy.s_[7],
]  # fmt: skip

IRREGULAR = ["block-cyclic", "unstructured", "ascending"]
"""Of these, NumPy knows no view of every second element."""
KINDS = ["block", "uneven", "padded", "periodic", "cyclic", "block-cyclic", "unstructured", "ascending"]  # fmt: skip


@pytest.mark.slow
@pytest.mark.ranks(2)
@pytest.mark.simulated(1, 3)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", ["f8", [("x", "f4"), ("y", "i2", (2,))], "c16"], ids=str)
def test_handed_out_memory_is_shared_or_read_only(
    dtype: object, kind: str, rank: int, size: int
) -> None:
    layout = np.Layout((N, 3), [maps(size)[kind], "n"], size=size)
    for key in KEYS:
        base = np.zeros((N, 3), dtype, layout=layout)
        views = [base[key]]
        if base.dtype.names:
            views += [base["x"][key], base[key]["y"], base[["x", "y"]][key]]
        elif base.dtype.kind == "c":
            views += [base.imag[key], base[key].real]
        for view in views:
            handed = [view.local]
            handed += [to_distarray(view, version)["buffer"] for version in ("1.0.0", "0.9.0")]
            if all(axis.kind != "u" for axis in view.layout.axes):
                own = view.__partitioned__
                handed += [own["partitions"][place]["data"] for place in own["locals"]]
            writeable = [memory for memory in handed if memory.flags.writeable and memory.size]
            assert kind in IRREGULAR or len(writeable) == sum(memory.size > 0 for memory in handed)
            for number, memory in enumerate(writeable, 1):
                assert numpy.shares_memory(memory, base.local_padded)
                memory[...] = numpy.full((), number, "i8").astype(memory.dtype)
        numpy.testing.assert_array_equal(numpy.asarray(base)[key], numpy.asarray(base[key]))


@pytest.mark.ranks(2)
@pytest.mark.simulated(3)
def test_one_read_only_block_makes_the_array_read_only_on_all_ranks(rank: int, size: int) -> None:
    block = numpy.zeros(4)
    block.flags.writeable = rank > 0
    array = np.from_local(block)
    for made in (array, np.from_distarray(array), np.from_partitioned(array)):
        assert not made.flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            made[:] = 1
    nothing = numpy.zeros(0 if rank == 0 else 4)
    nothing.flags.writeable = rank > 0
    array = np.from_local(nothing)
    array[:] = 1
    assert float(array.sum()) == 4 * (size - 1)
