"""Descriptions that break a rule of the protocol, on one process or between several, and the violations that the checker reports."""

from types import MappingProxyType

import numpy as np

from .distarray_descriptions import (
    block,
    cyclic,
    describe,
    eighteen_padded,
    eighteen_padded_by_1_0,
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

# fmt: off
WRONG = {
    "no producer": ([object()], "T1 rank 0: object has no __distarray__ method and is no dictionary"),
    "a producer that raises": ([Raising()], "T1 rank 0: __distarray__() raised RuntimeError: not today"),
    "a producer of a list": ([Wrong()], "T1 rank 0: __distarray__() returned list; it must be a dict", "'[1, 2]'"),
    "no buffer": ([{"__version__": "1.0.0", "dim_data": ()}], "T1 rank 0: key 'buffer' is missing", "'buffer'"),
    "one key more": ([{**describe(TEN, {}), "extra": 1}], "T1 rank 0: key 'extra' is not one of '__version__', 'buffer', 'dim_data'", "'extra'"),
    "short version": (one({}, version="0.10"), "T2 rank 0: the version is '0.10'; it must be 'major.minor.patch'", "'0.10'"),
    "no version": (one({}, version=1.0), "T2 rank 0: the version is 1.0; it must be 'major.minor.patch'", "1.0"),
    "major 2": (one({}, version="2.0.0"), "T2 rank 0: version '2.0.0' is unknown; atoll reads 1.x.y, 0.10.x and 0.9.x", "'2.0.0'"),
    "0.8": (one({}, version="0.8.0"), "T2 rank 0: version '0.8.0' is unknown; atoll reads 1.x.y, 0.10.x and 0.9.x", "'0.8.0'"),
    "no memory": (one({}, buffer=[1, 2]), "T3 rank 0: memoryview of the list raised TypeError: memoryview: a bytes-like object is required, not 'list'", "'list'"),
    "dates": (one({}, buffer=np.zeros(3, "M8[s]")), "T3 rank 0: the buffer has dtype datetime64[s], which has no buffer export; view it as int64", "'datetime64[s]'"),
    "a list": ([{**describe(TEN), "dim_data": [B10]}], "T4 rank 0: dim_data is a list; it must be a tuple", "'list'"),
    "a dict": ([{**describe(TEN), "dim_data": B10}], "T4 rank 0: dim_data is a dict; it must be a tuple of dicts", "'dict'"),
    "a mapping inside": (one(MappingProxyType(B10)), "T4 dimension 0, rank 0: dim_data[0] is a mappingproxy; it must be a dict", "'mappingproxy'"),
    "no dict inside": (one(3), "T4 dimension 0, rank 0: dim_data[0] is an int; it must be a dict", "'int'"),
    "ndim": (one(B10, np.zeros((10, 2))), "T4 rank 0: dim_data describes 1 dimensions, the buffer has 2", "(1, 2)"),
    "0.9's flat buffer": ([two_by_ten(0, flat=True)], "T4 rank 0: dim_data describes 2 dimensions, the buffer has 1", "(2, 1)"),
    "a copy": ([Copying()], "T5 rank 0: a second __distarray__() gave other memory: the buffer is a copy", "None"),
    "no dist_type": (one(without("dist_type", B10)), "D1 dimension 0, rank 0: key 'dist_type' is missing", "'dist_type'"),
    "dist_type x": (one({**B10, "dist_type": "x"}), "D1 dimension 0, rank 0: dist_type is 'x'; it must be 'b', 'c' or 'u'", "'x'"),
    "n in 1.0": (one({"dist_type": "n", "size": 10}), "D1 dimension 0, rank 0: dist_type is 'n', which only 0.9 has", "'n'"),
    "the alias in 0.9": (one({}, version="0.9.0"), "D1 dimension 0, rank 0: the dictionary is empty, and 0.9 has no such alias", "None"),
    "no size": (one(without("size", B10)), "D2 dimension 0, rank 0: key 'size' is missing", "'size'"),
    "size < 0": (one({**C10, "size": -1}, np.zeros(0)), "D2 dimension 0, rank 0: size is -1; it must be >= 0", "-1"),
    "no grid size": (one(without("proc_grid_size", B10)), "D3 dimension 0, rank 0: key 'proc_grid_size' is missing", "'proc_grid_size'"),
    "grid size 0": (one({**B10, "proc_grid_size": 0}), "D3 dimension 0, rank 0: proc_grid_size is 0; it must be >= 1", "0"),
    "no grid rank": (one(without("proc_grid_rank", B10)), "D4 dimension 0, rank 0: key 'proc_grid_rank' is missing", "'proc_grid_rank'"),
    "grid rank": (one({**B10, "proc_grid_rank": 1}), "D4 dimension 0, rank 0: proc_grid_rank is 1; it must be >= 0 and < proc_grid_size (1)", "1"),
    "size a bool": (one({**B10, "size": True}), "D5 dimension 0, rank 0: size is True; it must be an int", "True"),
    "size a text": (one({**B10, "size": "10"}), "D5 dimension 0, rank 0: size is '10'; it must be an int", "'10'"),
    "size a float": (one({**B10, "size": 10.0}), "D5 dimension 0, rank 0: size is 10.0; it must be an int", "10.0"),
    "no start": (one(without("start", B10)), "B1 dimension 0, rank 0: key 'start' is missing", "'start'"),
    "start < 0": (one(block(-1, 9, 10)), "B1 dimension 0, rank 0: start is -1; 0 <= start <= stop <= size (10) must hold", "-1"),
    "stop < start": (one(block(5, 4, 10), np.zeros(0)), "B1 dimension 0, rank 0: stop is 4; start (5) <= stop <= size (10) must hold", "4"),
    "stop > size": (one(block(0, 11, 10), np.zeros(11)), "B1 dimension 0, rank 0: stop is 11; 0 <= start <= stop <= size (10) must hold", "11"),
    "0.9: start == size": (one(block(10, 11, 10), np.zeros(1), version="0.9.0"), "B1 dimension 0, rank 0: stop is 11; start == size (10) means empty, so stop == start", "11"),
    "extent": (one(B10, NINE), "B2 dimension 0, rank 0: the buffer's extent is 9; stop - start is 10", "9"),
    "0.9: extent": ([eighteen_padded(0), {**eighteen_padded(1), "buffer": NINE}], "B2 dimension 0, rank 1: the buffer's extent is 9; stop - start + communication padding is 10", "9"),
    "0.9: extent of n": (one({"dist_type": "n", "size": 10}, NINE, version="0.9.0"), "B2 dimension 0, rank 0: the buffer's extent is 9; size is 10", "9"),
    "padding one int": (one({**B10, "padding": 1}), "B3 dimension 0, rank 0: padding is 1; it must be a 2-tuple of ints", "1"),
    "padding a list": (one({**B10, "padding": [0, 0]}), "B3 dimension 0, rank 0: padding is a list; it must be a tuple", "'list'"),
    "padding < 0": (one({**B10, "padding": (-1, 0)}), "B3 dimension 0, rank 0: padding is (-1, 0); its left width must be >= 0", "(-1, 0)"),
    "padding wider than the block": ([
        describe(np.zeros(5), block(0, 5, 10, 2, 0, padding=(0, 7))),
        describe(np.zeros(7), block(3, 10, 10, 2, 1, padding=(7, 0))),
    ], "B3 dimension 0, rank 0: padding is (0, 7); its communication widths take more than stop - start (5)", "(0, 7)"),
    "padding wider than the neighbour": ([
        describe(np.zeros(12), block(0, 12, 12, 2, 0, padding=(0, 4))),
        describe(np.zeros(6), block(6, 12, 12, 2, 1, padding=(4, 0))),
    ], "B3 dimension 0, rank 0: the right communication padding is 4, but the neighbour on rank 1 owns 2", "(0, 4)"),
    "0.9: padding on some": (halves(version="0.9.0", second={"padding": (0, 0)}), "B3 dimension 0, rank 1: padding is present here and not on rank 0; in 0.9 it is on all processes or on none", "(0, 0)"),
    "periodic an int": (one({**B10, "periodic": 1}), "B4 dimension 0, rank 0: periodic is 1; it must be a bool", "1"),
    "periodic cyclic": (one({**C10, "periodic": False}), "B4 dimension 0, rank 0: periodic stands on dist_type 'c'; it is for 'b' only", "False"),
    "cyclic start < 0": (one({**C10, "start": -1}), "C1 dimension 0, rank 0: start is -1; it must be >= 0", "-1"),
    "block_size 0": (one({**C10, "block_size": 0}), "C1 dimension 0, rank 0: block_size is 0; it must be >= 1", "0"),
    "no cyclic start": (one(without("start", C10)), "C1 dimension 0, rank 0: key 'start' is missing", "'start'"),
    "cyclic extent": (one(C10, NINE), "C2 dimension 0, rank 0: the buffer's extent is 9; with start 0, size 10, block_size 1 and proc_grid_size 1 the process owns 10", "9"),
    "cyclic start": (one(cyclic(1, 10), NINE), "C3 dimension 0, rank 0: start is 1; it must be k * block_size (1) with k < proc_grid_size (1)", "1"),
    "no indices": (one(without("indices", U10)), "U1 dimension 0, rank 0: key 'indices' is missing", "'indices'"),
    "indices 2-D": (one({**U10, "indices": np.zeros((5, 2), int)}), "U1 dimension 0, rank 0: indices has 2 dimensions and dtype int64; it must be a 1-D buffer of integers", "'int64'"),
    "indices floats": (one({**U10, "indices": np.arange(10.0)}), "U1 dimension 0, rank 0: indices has 1 dimensions and dtype float64; it must be a 1-D buffer of integers", "'float64'"),
    "indices bools": (one({**U10, "indices": [True, False]}), "U1 dimension 0, rank 0: indices, or one of them, is True; it must be an int; it must be a 1-D buffer of integers, one for each element of the buffer's extent, 10", "'list'"),
    "indices no buffer": (one({**U10, "indices": {1, 2}}), "U1 dimension 0, rank 0: indices is no buffer: TypeError: memoryview: a bytes-like object is required, not 'set'", "'set'"),
    "indices too few": (one({**U10, "indices": np.arange(9)}), "U1 dimension 0, rank 0: indices lists 9, the buffer's extent is 10", "9"),
    "indices twice": (one({**U10, "indices": np.array([*range(9), 3])}), "U1 dimension 0, rank 0: index 3 is listed twice; indices must be locally unique", "3"),
    "indices twice on a process that does not speak for its grid rank": ([
        describe(np.zeros((1, 2)), block(k, k + 1, 2, 2, k), unstructured(np.array(labels), 2))
        for k, labels in enumerate(([0, 1], [1, 1]))
    ], "U1 dimension 1, rank 1: index 1 is listed twice; indices must be locally unique", "1"),
    "indices out of 64 bits": (one({**U10, "indices": np.full(10, 2**63, np.uint64)}), "U1 dimension 0, rank 0: index 9223372036854775808 does not fit 64 bits with a sign", "9223372036854775808"),
    "one_to_one a text": (one({**U10, "one_to_one": "yes"}), "U2 dimension 0, rank 0: one_to_one is 'yes'; it must be a bool", "'yes'"),
    "too few processes": (halves()[:1], "X1 rank 0: the grid 2 needs 2 ranks, there is 1: atoll run -n 2 ...", "2"),
    "too many processes": ([*halves(), halves()[1]], "X1 rank 0: the grid 2 needs 2 ranks, there are 3: atoll run -n 2 ...", "2"),
    "swapped": (halves()[::-1], "X2 rank 0: coordinates (1,) in the grid 2 belong to rank 1 in row-major order", "(1,)"),
    "one place twice": ([halves()[0]] * 2, "X2 rank 1: coordinates (0,) are those of rank 0 already", "(0,)"),
    "column-major": ([
        describe(
            np.zeros((5, 2)),
            block(5 * i, 5 * i + 5, 10, 2, i),
            block(2 * j, 2 * j + 2, 6, 3, j),
        )
        for j in range(3)
        for i in range(2)
    ], "X2 rank 1: coordinates (1, 0) in the grid 2 x 3 belong to rank 3 in row-major order", "(1, 0)"),
    "one grid rank, two blocks": ([
        describe(np.zeros((5, 3)), block(5 * i, 5 * i + 5, 10, 2, i), block(a, b, 6, 2, j))
        for i, j, a, b in ((0, 0, 0, 3), (0, 1, 3, 6), (1, 0, 0, 3), (1, 1, 2, 5))
    ], "X3 dimension 1, rank 3: start is 2, on rank 1 with the same proc_grid_rank 1 it is 3", "2"),
    "one grid rank, two lists": ([
        describe(np.zeros((1, 2)), block(i, i + 1, 2, 2, i), unstructured(np.array(labels), 2))
        for i, labels in enumerate(([0, 1], [1, 0]))
    ], "X3 dimension 1, rank 1: indices is 'another list', on rank 0 with the same proc_grid_rank 0 it is 'this one'", "'another list'"),
    "counts": (halves(first={"size": 11}, second={"size": 11}), "X4 dimension 0: the owned counts add up to 10, size is 11", "10"),
    "cyclic starts twice": ([describe(np.zeros(2), cyclic(0, 4, 2, k)) for k in range(2)], "X4 dimension 0, rank 1: proc_grid_rank 1 starts at 0, as 0 does; an index is owned once", "0"),
    "exclusive labels and size": ([
        describe(np.zeros(2), unstructured(np.array(labels), 5, 2, k, one_to_one=True))
        for k, labels in enumerate(([0, 1], [2, 3]))
    ], "X4 dimension 0: the owned counts add up to 4, size is 5", "4"),
    "shared labels and size": ([
        describe(np.zeros(2), unstructured(np.array(labels), 5, 2, k))
        for k, labels in enumerate(([0, 1], [1, 2]))
    ], "X4 dimension 0: size is 5; it must be between the number of distinct indices (3) and the sum of the counts (4)", "5"),
    "widths": ([
        describe(np.zeros(7), block(0, 7, 10, 2, 0, padding=(0, 2))),
        describe(np.zeros(6), block(4, 10, 10, 2, 1, padding=(1, 0))),
    ], "X5 dimension 0, rank 0: the right padding is 2, the left padding of the next process, rank 1, is 1", "2"),
    "a gap": (halves(first={"stop": 4}), "X6 dimension 0, rank 0: stop is 4, start of the next process, rank 1, is 5", "4"),
    "padding by the rules of 0.9": ([
        {**eighteen_padded(rank), "__version__": "1.0.0"} for rank in range(2)
    ], "X6 dimension 0, rank 0: stop is 9, start of the next process, rank 1, is 9; they must overlap by 2", "9"),
    "0.9: padding by the rules of 1.0": ([
        {**eighteen_padded_by_1_0(rank), "__version__": "0.9.0"} for rank in range(2)
    ], "X6 dimension 0, rank 0: stop is 10, start of the next process, rank 1, is 8", "10"),
    "first block": (halves(first={"start": 1}), "X7 dimension 0, rank 0: the first block starts at 1; it must start at 0", "1"),
    "last block": (halves(second={"stop": 9}), "X7 dimension 0, rank 1: the last block stops at 9; it must stop at size (10)", "9"),
    "sizes": (halves(second={"size": 11}), "X8 dimension 0, rank 1: size is 11, on rank 0 it is 10", "11"),
    "periodic here": (halves(second={"periodic": True}), "X8 dimension 0, rank 1: periodic is True, on rank 0 it is False", "True"),
    "dtypes": ([halves()[0], {**halves()[1], "buffer": np.zeros(5, "f4")}], "X8 rank 1: dtype is '<f4', on rank 0 it is '<f8'", "'<f4'"),
    "versions": ([halves()[0], halves(version="0.9.0")[1]], "X8 rank 1: version is '0.9.0', on rank 0 it is '1.0.0'", "'0.9.0'"),
    "ndims": ([halves()[0], describe(np.zeros((5, 1)), block(5, 10, 10, 2, 1), {})], "X8 rank 1: ndim is 2, on rank 0 it is 1", "2"),
    "kinds": ([halves()[0], describe(np.zeros(5), cyclic(1, 10, 2, 1))], "X8 dimension 0, rank 1: dist_type is 'c', on rank 0 it is 'b'", "'c'"),
    "block sizes": ([describe(np.zeros(5), cyclic(k, 10, 2, k, block_size=1 + k)) for k in range(2)], "X8 dimension 0, rank 1: block_size is 2, on rank 0 it is 1", "2"),
    "labels held twice": ([
        describe(np.zeros(2), unstructured(np.array(labels), 4, 2, k, one_to_one=True))
        for k, labels in enumerate(([0, 1], [1, 2]))
    ], "X9 dimension 0, rank 1: index 1 is held by proc_grid_rank 0 and 1 (1 such indices), and one_to_one is True", "1"),
}
# fmt: on
"""By name: the descriptions, a violation that the checker finds in them, and the ``repr`` of its value."""
"""A violation of each, one a line: the description, the text, and the value where it has a representation of its own."""
