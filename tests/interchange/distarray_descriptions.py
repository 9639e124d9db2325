"""Dictionaries for the tests: the protocol texts' examples, and a judge without ranks."""

import warnings

import numpy as np

from atoll.interchange.distarray import PROTOCOL


def describe(buffer, *dimensions, version="1.0.0"):
    return {"__version__": version, "buffer": buffer, "dim_data": tuple(dimensions)}


def block(start, stop, size, grid_size=1, grid_rank=0, **more):
    return {
        "dist_type": "b",
        "size": size,
        "proc_grid_size": grid_size,
        "proc_grid_rank": grid_rank,
        "start": start,
        "stop": stop,
        **more,
    }


def cyclic(start, size, grid_size=1, grid_rank=0, **more):
    return {
        "dist_type": "c",
        "size": size,
        "proc_grid_size": grid_size,
        "proc_grid_rank": grid_rank,
        "start": start,
        **more,
    }


def unstructured(indices, size, grid_size=1, grid_rank=0, **more):
    return {
        "dist_type": "u",
        "size": size,
        "proc_grid_size": grid_size,
        "proc_grid_rank": grid_rank,
        "indices": indices,
        **more,
    }


def judged(descriptions, strict=True):
    """What the checker finds on a list of descriptions, one for each rank."""
    sections = [PROTOCOL.local(d, rank, strict)[0] for rank, d in enumerate(descriptions)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return PROTOCOL.examination(sections, None, strict)


def rules_broken(descriptions, strict=True):
    return [v.rule for v in judged(descriptions, strict).violations]


# -- the examples of the 0.9.0 text --------------------------------------------------------

ROWS = (
    [0.2, 0.6, 0.9, 0.6, 0.8, 0.4, 0.2, 0.2, 0.3, 0.5],
    [0.9, 0.2, 1.0, 0.4, 0.5, 0.0, 0.6, 0.8, 0.6, 1.0],
)
PADDED = (
    [0.2, 0.6, 0.9, 0.6, 0.8, 0.4, 0.2, 0.2, 0.3, 0.9],
    [0.3, 0.9, 0.2, 1.0, 0.4, 0.5, 0.0, 0.6, 0.8, 0.6],
)
LABELS = (
    [19, 1, 0, 12, 2, 15, 4],
    [6, 13, 3],
    [10, 25, 5, 21, 7, 18, 11, 26, 29, 24, 23, 28, 14, 20, 9, 16, 27, 8, 17, 22],
)
VALUES = (
    [0.7, 0.5, 0.9, 0.2, 0.7, 0.0, 0.5],
    [0.1, 0.5, 0.9],
    [0.1, 0.8, 0.4, 0.8, 0.2, 0.4, 0.4, 0.3, 0.5, 0.7]
    + [0.4, 0.7, 0.6, 0.2, 0.8, 0.5, 0.3, 0.8, 0.4, 0.2],
)


def two_by_ten(rank, flat=False):
    """2 x 10, block rows, no distribution of the columns."""
    buffer = np.array(ROWS[rank])
    buffer = buffer if flat else buffer.reshape(1, 10)
    return describe(
        buffer, block(rank, rank + 1, 2, 2, rank), {"size": 10, "dist_type": "n"}, version="0.9.0"
    )


def eighteen_padded(rank):
    """18 elements over two processes, padding (1, 1) on both."""
    buffer = np.array(PADDED[rank])
    start, stop = ((0, 9), (9, 18))[rank]
    return describe(buffer, block(start, stop, 18, 2, rank, padding=(1, 1)), version="0.9.0")


def eighteen_padded_by_1_0(rank):
    """The same by the rules of 1.0: start and stop hold the communication padding."""
    buffer = np.array(PADDED[rank])
    start, stop = ((0, 10), (8, 18))[rank]
    return describe(buffer, block(start, stop, 18, 2, rank, padding=(1, 1)))


def thirty_unstructured(rank):
    """30 elements, 7 on process 0, 3 on process 1, 20 on process 2."""
    return describe(
        np.array(VALUES[rank]), unstructured(list(LABELS[rank]), 30, 3, rank), version="0.9.0"
    )


# -- the padding table of the 1.0 text -------------------------------------------------------

PADDING_TABLE = ((4, 1), (1, 2), (2, 3), (3, 0))


def padding_table(rank, owned=(10, 5, 6, 7)):
    """Left boundary 4, right boundary 0, communication widths 1, 2 and 3."""
    stops = np.cumsum(owned)
    left, right = PADDING_TABLE[rank]
    start = int(stops[rank]) - owned[rank] - (left if rank > 0 else 0)
    stop = int(stops[rank]) + (right if rank < 3 else 0)
    dimension = block(start, stop, int(stops[-1]), 4, rank, padding=(left, right))
    return describe(np.arange(start, stop, dtype=float), dimension)
