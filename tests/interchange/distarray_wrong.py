"""Descriptions that break a rule of the protocol: what each is, and what the checker must say."""

from types import MappingProxyType

import numpy as np

from .distarray_samples import (
    block,
    cyclic,
    describe,
    eighteen_padded,
    two_by_ten,
    unstructured,
)

TEN = np.zeros(10)


def halves(**more):
    """10 elements over two processes, changed by the keywords ``first`` and ``second``."""
    first, second = more.pop("first", {}), more.pop("second", {})
    return [
        describe(np.zeros(5), {**block(0, 5, 10, 2, 0), **first}, **more),
        describe(np.zeros(5), {**block(5, 10, 10, 2, 1), **second}, **more),
    ]


class Raising:
    def __distarray__(self):
        raise RuntimeError("not today")


class Copying:
    def __init__(self):
        self.kept = []

    def __distarray__(self):
        self.kept.append(np.zeros(10))
        return describe(self.kept[-1], {})


class Wrong:
    def __distarray__(self):
        return [1, 2]


def without(key, dim_dict):
    return {k: v for k, v in dim_dict.items() if k != key}


def one(dim_dict, buffer=TEN, **more):
    return [describe(buffer, dim_dict, **more)]


B10 = block(0, 10, 10)
C10 = cyclic(0, 10)
U10 = unstructured(np.arange(10), 10)
NINE = np.zeros(9)

# (what, descriptions, rule, dimension, rank, value, part of the message)
WRONG = [
    (
        "no producer",
        [object()],
        "T1",
        None,
        0,
        ...,
        "has no __distarray__ method and is no dictionary",
    ),
    ("a producer that raises", [Raising()], "T1", None, 0, ..., "raised RuntimeError: not today"),
    (
        "a producer of a list",
        [Wrong()],
        "T1",
        None,
        0,
        "[1, 2]",
        "returned list; it must be a dict",
    ),
    (
        "no buffer",
        [{"__version__": "1.0.0", "dim_data": ()}],
        "T1",
        None,
        0,
        "buffer",
        "key 'buffer' is missing",
    ),
    (
        "one key more",
        [{**describe(TEN, {}), "extra": 1}],
        "T1",
        None,
        0,
        "extra",
        "key 'extra' is not one of",
    ),
    (
        "short version",
        one({}, version="0.10"),
        "T2",
        None,
        0,
        "0.10",
        "must be 'major.minor.patch'",
    ),
    ("no version", one({}, version=1.0), "T2", None, 0, 1.0, "must be 'major.minor.patch'"),
    ("major 2", one({}, version="2.0.0"), "T2", None, 0, "2.0.0", "'2.0.0' is unknown"),
    ("0.8", one({}, version="0.8.0"), "T2", None, 0, "0.8.0", "'0.8.0' is unknown"),
    (
        "no memory",
        one({}, buffer=[1, 2]),
        "T3",
        None,
        0,
        "list",
        "memoryview of the list raised TypeError",
    ),
    (
        "dates",
        one({}, buffer=np.zeros(3, "M8[s]")),
        "T3",
        None,
        0,
        "datetime64[s]",
        "has no buffer export",
    ),
    ("a list", [{**describe(TEN), "dim_data": [B10]}], "T4", None, 0, "list", "dim_data is a list"),
    (
        "a dict",
        [{**describe(TEN), "dim_data": B10}],
        "T4",
        None,
        0,
        "dict",
        "it must be a tuple of dicts",
    ),
    (
        "a mapping inside",
        one(MappingProxyType(B10)),
        "T4",
        0,
        0,
        "mappingproxy",
        "dim_data[0] is a mappingproxy; it must be a dict",
    ),
    ("no dict inside", one(3), "T4", 0, 0, "int", "dim_data[0] is an int"),
    (
        "ndim",
        one(B10, np.zeros((10, 2))),
        "T4",
        None,
        0,
        (1, 2),
        "describes 1 dimensions, the buffer has 2",
    ),
    (
        "0.9's flat buffer",
        [two_by_ten(0, flat=True)],
        "T4",
        None,
        0,
        (2, 1),
        "describes 2 dimensions",
    ),
    ("a copy", [Copying()], "T5", None, 0, None, "gave other memory"),
    (
        "no dist_type",
        one(without("dist_type", B10)),
        "D1",
        0,
        0,
        "dist_type",
        "key 'dist_type' is missing",
    ),
    ("dist_type x", one({**B10, "dist_type": "x"}), "D1", 0, 0, "x", "it must be 'b', 'c' or 'u'"),
    ("n in 1.0", one({"dist_type": "n", "size": 10}), "D1", 0, 0, "n", "which only 0.9 has"),
    ("the alias in 0.9", one({}, version="0.9.0"), "D1", 0, 0, None, "0.9 has no such alias"),
    ("no size", one(without("size", B10)), "D2", 0, 0, "size", "key 'size' is missing"),
    (
        "size < 0",
        one({**C10, "size": -1}, np.zeros(0)),
        "D2",
        0,
        0,
        -1,
        "size is -1; it must be >= 0",
    ),
    (
        "no grid size",
        one(without("proc_grid_size", B10)),
        "D3",
        0,
        0,
        "proc_grid_size",
        "is missing",
    ),
    (
        "grid size 0",
        one({**B10, "proc_grid_size": 0}),
        "D3",
        0,
        0,
        0,
        "proc_grid_size is 0; it must be >= 1",
    ),
    (
        "no grid rank",
        one(without("proc_grid_rank", B10)),
        "D4",
        0,
        0,
        "proc_grid_rank",
        "is missing",
    ),
    (
        "grid rank",
        one({**B10, "proc_grid_rank": 1}),
        "D4",
        0,
        0,
        1,
        "must be >= 0 and < proc_grid_size (1)",
    ),
    (
        "size a bool",
        one({**B10, "size": True}),
        "D5",
        0,
        0,
        True,
        "size is True; it must be an int",
    ),
    (
        "size a text",
        one({**B10, "size": "10"}),
        "D5",
        0,
        0,
        "10",
        "size is '10'; it must be an int",
    ),
    (
        "size a float",
        one({**B10, "size": 10.0}),
        "D5",
        0,
        0,
        10.0,
        "size is 10.0; it must be an int",
    ),
    ("no start", one(without("start", B10)), "B1", 0, 0, "start", "key 'start' is missing"),
    ("start < 0", one(block(-1, 9, 10)), "B1", 0, 0, -1, "start is -1; 0 <= start"),
    (
        "stop < start",
        one(block(5, 4, 10), np.zeros(0)),
        "B1",
        0,
        0,
        4,
        "stop is 4; start (5) <= stop",
    ),
    (
        "stop > size",
        one(block(0, 11, 10), np.zeros(11)),
        "B1",
        0,
        0,
        11,
        "stop is 11; 0 <= start <= stop <= size (10)",
    ),
    (
        "0.9: start == size",
        one(block(10, 11, 10), np.zeros(1), version="0.9.0"),
        "B1",
        0,
        0,
        11,
        "means empty",
    ),
    ("extent", one(B10, NINE), "B2", 0, 0, 9, "the buffer's extent is 9; stop - start is 10"),
    (
        "0.9: extent",
        [eighteen_padded(0), {**eighteen_padded(1), "buffer": NINE}],
        "B2",
        0,
        1,
        9,
        "stop - start + communication padding is 10",
    ),
    (
        "0.9: extent of n",
        one({"dist_type": "n", "size": 10}, NINE, version="0.9.0"),
        "B2",
        0,
        0,
        9,
        "size is 10",
    ),
    (
        "padding one int",
        one({**B10, "padding": 1}),
        "B3",
        0,
        0,
        1,
        "padding is 1; it must be a 2-tuple",
    ),
    ("padding a list", one({**B10, "padding": [0, 0]}), "B3", 0, 0, "list", "padding is a list"),
    (
        "padding < 0",
        one({**B10, "padding": (-1, 0)}),
        "B3",
        0,
        0,
        (-1, 0),
        "its left width must be >= 0",
    ),
    (
        "padding wider than the block",
        [
            describe(np.zeros(5), block(0, 5, 10, 2, 0, padding=(0, 7))),
            describe(np.zeros(7), block(3, 10, 10, 2, 1, padding=(7, 0))),
        ],
        "B3",
        0,
        0,
        (0, 7),
        "take more than stop - start (5)",
    ),
    (
        "padding wider than the neighbour",
        [
            describe(np.zeros(12), block(0, 12, 12, 2, 0, padding=(0, 4))),
            describe(np.zeros(6), block(6, 12, 12, 2, 1, padding=(4, 0))),
        ],
        "B3",
        0,
        0,
        (0, 4),
        "the right communication padding is 4, but the neighbour on rank 1 owns 2",
    ),
    (
        "0.9: padding on some",
        halves(version="0.9.0", second={"padding": (0, 0)}),
        "B3",
        0,
        1,
        (0, 0),
        "in 0.9 it is on all processes or on none",
    ),
    (
        "periodic an int",
        one({**B10, "periodic": 1}),
        "B4",
        0,
        0,
        1,
        "periodic is 1; it must be a bool",
    ),
    ("periodic cyclic", one({**C10, "periodic": False}), "B4", 0, 0, False, "it is for 'b' only"),
    ("cyclic start < 0", one({**C10, "start": -1}), "C1", 0, 0, -1, "start is -1; it must be >= 0"),
    (
        "block_size 0",
        one({**C10, "block_size": 0}),
        "C1",
        0,
        0,
        0,
        "block_size is 0; it must be >= 1",
    ),
    ("no cyclic start", one(without("start", C10)), "C1", 0, 0, "start", "key 'start' is missing"),
    ("cyclic extent", one(C10, NINE), "C2", 0, 0, 9, "the process owns 10"),
    (
        "cyclic start",
        one(cyclic(1, 10), NINE),
        "C3",
        0,
        0,
        1,
        "start is 1; it must be k * block_size (1) with k <",
    ),
    ("no indices", one(without("indices", U10)), "U1", 0, 0, "indices", "key 'indices' is missing"),
    (
        "indices 2-D",
        one({**U10, "indices": np.zeros((5, 2), int)}),
        "U1",
        0,
        0,
        "int64",
        "2 dimensions",
    ),
    (
        "indices floats",
        one({**U10, "indices": np.arange(10.0)}),
        "U1",
        0,
        0,
        "float64",
        "must be a 1-D buffer of integers",
    ),
    (
        "indices bools",
        one({**U10, "indices": [True, False]}),
        "U1",
        0,
        0,
        "list",
        "must be a 1-D buffer of integers",
    ),
    (
        "indices no buffer",
        one({**U10, "indices": {1, 2}}),
        "U1",
        0,
        0,
        "set",
        "indices is no buffer",
    ),
    (
        "indices too few",
        one({**U10, "indices": np.arange(9)}),
        "U1",
        0,
        0,
        9,
        "lists 9, the buffer's extent is 10",
    ),
    (
        "indices twice",
        one({**U10, "indices": np.array([*range(9), 3])}),
        "U1",
        0,
        0,
        3,
        "index 3 is listed twice",
    ),
    (
        "indices twice on a process that does not speak for its grid rank",
        [
            describe(np.zeros((1, 2)), block(k, k + 1, 2, 2, k), unstructured(np.array(labels), 2))
            for k, labels in enumerate(([0, 1], [1, 1]))
        ],
        "U1",
        1,
        1,
        1,
        "index 1 is listed twice",
    ),
    (
        "indices out of 64 bits",
        one({**U10, "indices": np.full(10, 2**63, np.uint64)}),
        "U1",
        0,
        0,
        2**63,
        "does not fit 64 bits",
    ),
    (
        "one_to_one a text",
        one({**U10, "one_to_one": "yes"}),
        "U2",
        0,
        0,
        "yes",
        "one_to_one is 'yes'; it must be a bool",
    ),
]
