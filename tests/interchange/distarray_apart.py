"""Descriptions of several processes that do not fit together: what each is, and what the checker must say."""

import numpy as np

from .distarray_samples import (
    block,
    cyclic,
    describe,
    eighteen_padded,
    eighteen_padded_by_1_0,
    unstructured,
)
from .distarray_wrong import halves

# (what, descriptions, rule, dimension, rank, value, part of the message)
APART = [
    (
        "too few processes",
        halves()[:1],
        "X1",
        None,
        0,
        2,
        "needs 2 ranks, there is 1: atoll run -n 2",
    ),
    (
        "too many processes",
        [*halves(), halves()[1]],
        "X1",
        None,
        0,
        2,
        "needs 2 ranks, there are 3",
    ),
    (
        "swapped",
        halves()[::-1],
        "X2",
        None,
        0,
        (1,),
        "coordinates (1,) in the grid 2 belong to rank 1",
    ),
    ("one place twice", [halves()[0]] * 2, "X2", None, 1, (0,), "are those of rank 0 already"),
    (
        "column-major",
        [
            describe(
                np.zeros((5, 2)),
                block(5 * i, 5 * i + 5, 10, 2, i),
                block(2 * j, 2 * j + 2, 6, 3, j),
            )
            for j in range(3)
            for i in range(2)
        ],
        "X2",
        None,
        1,
        (1, 0),
        "coordinates (1, 0) in the grid 2 x 3 belong to rank 3",
    ),
    (
        "one grid rank, two blocks",
        [
            describe(np.zeros((5, 3)), block(5 * i, 5 * i + 5, 10, 2, i), block(a, b, 6, 2, j))
            for i, j, a, b in ((0, 0, 0, 3), (0, 1, 3, 6), (1, 0, 0, 3), (1, 1, 2, 5))
        ],
        "X3",
        1,
        3,
        2,
        "start is 2, on rank 1 with the same proc_grid_rank 1 it is 3",
    ),
    (
        "one grid rank, two lists",
        [
            describe(np.zeros((1, 2)), block(i, i + 1, 2, 2, i), unstructured(np.array(labels), 2))
            for i, labels in enumerate(([0, 1], [1, 0]))
        ],
        "X3",
        1,
        1,
        "another list",
        "indices is 'another list', on rank 0",
    ),
    (
        "counts",
        halves(first={"size": 11}, second={"size": 11}),
        "X4",
        0,
        None,
        10,
        "add up to 10, size is 11",
    ),
    (
        "cyclic starts twice",
        [describe(np.zeros(2), cyclic(0, 4, 2, k)) for k in range(2)],
        "X4",
        0,
        1,
        0,
        "proc_grid_rank 1 starts at 0, as 0 does",
    ),
    (
        "exclusive labels and size",
        [
            describe(np.zeros(2), unstructured(np.array(labels), 5, 2, k, one_to_one=True))
            for k, labels in enumerate(([0, 1], [2, 3]))
        ],
        "X4",
        0,
        None,
        4,
        "add up to 4, size is 5",
    ),
    (
        "shared labels and size",
        [
            describe(np.zeros(2), unstructured(np.array(labels), 5, 2, k))
            for k, labels in enumerate(([0, 1], [1, 2]))
        ],
        "X4",
        0,
        None,
        5,
        "between the number of distinct indices (3) and the sum of the counts (4)",
    ),
    (
        "widths",
        [
            describe(np.zeros(7), block(0, 7, 10, 2, 0, padding=(0, 2))),
            describe(np.zeros(6), block(4, 10, 10, 2, 1, padding=(1, 0))),
        ],
        "X5",
        0,
        0,
        2,
        "the right padding is 2, the left padding of the next process, rank 1, is 1",
    ),
    (
        "a gap",
        halves(first={"stop": 4}),
        "X6",
        0,
        0,
        4,
        "stop is 4, start of the next process, rank 1, is 5",
    ),
    (
        "padding by the rules of 0.9",
        [{**eighteen_padded(rank), "__version__": "1.0.0"} for rank in range(2)],
        "X6",
        0,
        0,
        9,
        "they must overlap by 2",
    ),
    (
        "0.9: padding by the rules of 1.0",
        [{**eighteen_padded_by_1_0(rank), "__version__": "0.9.0"} for rank in range(2)],
        "X6",
        0,
        0,
        10,
        "stop is 10, start of the next process, rank 1, is 8",
    ),
    ("first block", halves(first={"start": 1}), "X7", 0, 0, 1, "the first block starts at 1"),
    ("last block", halves(second={"stop": 9}), "X7", 0, 1, 9, "must stop at size (10)"),
    ("sizes", halves(second={"size": 11}), "X8", 0, 1, 11, "size is 11, on rank 0 it is 10"),
    (
        "periodic here",
        halves(second={"periodic": True}),
        "X8",
        0,
        1,
        True,
        "periodic is True, on rank 0 it is False",
    ),
    (
        "dtypes",
        [halves()[0], {**halves()[1], "buffer": np.zeros(5, "f4")}],
        "X8",
        None,
        1,
        "<f4",
        "dtype is '<f4', on rank 0 it is '<f8'",
    ),
    (
        "versions",
        [halves()[0], halves(version="0.9.0")[1]],
        "X8",
        None,
        1,
        "0.9.0",
        "version is '0.9.0', on rank 0",
    ),
    (
        "ndims",
        [halves()[0], describe(np.zeros((5, 1)), block(5, 10, 10, 2, 1), {})],
        "X8",
        None,
        1,
        2,
        "ndim is 2, on rank 0 it is 1",
    ),
    (
        "kinds",
        [halves()[0], describe(np.zeros(5), cyclic(1, 10, 2, 1))],
        "X8",
        0,
        1,
        "c",
        "dist_type is 'c', on rank 0 it is 'b'",
    ),
    (
        "block sizes",
        [describe(np.zeros(5), cyclic(k, 10, 2, k, block_size=1 + k)) for k in range(2)],
        "X8",
        0,
        1,
        2,
        "block_size is 2, on rank 0 it is 1",
    ),
    (
        "labels held twice",
        [
            describe(np.zeros(2), unstructured(np.array(labels), 4, 2, k, one_to_one=True))
            for k, labels in enumerate(([0, 1], [1, 2]))
        ],
        "X9",
        0,
        1,
        1,
        "index 1 is held by proc_grid_rank 0 and 1",
    ),
]
