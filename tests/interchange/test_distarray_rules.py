"""Each rule with a wrong dictionary, and the record it gives: rule, dimension, rank, value, words."""

import array
from types import MappingProxyType

import numpy as np
import pytest

from .distarray_descriptions import (
    block,
    cyclic,
    describe,
    eighteen_padded,
    eighteen_padded_by_1_0,
    judged,
    padding_table,
    rules_broken,
    thirty_unstructured,
    two_by_ten,
    unstructured,
)
from .wrong_descriptions import (
    B10,
    C10,
    TEN,
    WRONG,
    Copying,
    halves,
    one,
)

# -- what is right -------------------------------------------------------------------------

RIGHT = {
    "halves": halves(),
    "0-d": [describe(np.array(3.0))],
    "0-d on three processes": [describe(np.array(3.0))] * 3,
    "undistributed on two": [describe(TEN, {})] * 2,
    "the alias beside a block": [
        describe(np.zeros((5, 3)), block(0, 5, 10, 2, 0), {}),
        describe(np.zeros((5, 3)), block(5, 10, 10, 2, 1), {}),
    ],
    "the padding table": [padding_table(rank) for rank in range(4)],
    "18 padded": [eighteen_padded(rank) for rank in range(2)],
    "18 padded by 1.0": [eighteen_padded_by_1_0(rank) for rank in range(2)],
    "30 unstructured": [thirty_unstructured(rank) for rank in range(3)],
    "2 x 10": [two_by_ten(rank) for rank in range(2)],
    "irregular, an empty one inside": [
        describe(np.zeros(7), block(0, 7, 9, 3, 0)),
        describe(np.zeros(0), block(7, 7, 9, 3, 1)),
        describe(np.zeros(2), block(7, 9, 9, 3, 2)),
    ],
    "size 0": [describe(np.zeros(0), block(0, 0, 0, 2, rank)) for rank in range(2)],
    "cyclic": [describe(np.zeros(5 - k // 2), cyclic(k, 18, 4, k)) for k in range(4)],
    "block-cyclic, partial last block": [
        describe(np.zeros(n), cyclic(2 * k, 11, 3, k, block_size=2))
        for k, n in enumerate((4, 4, 3))
    ],
    "empty cyclic, start at size": [
        describe(np.zeros(n), cyclic(s, 3, 4, k))
        for k, (n, s) in enumerate(((1, 0), (1, 1), (1, 2), (0, 3)))
    ],
    "rotated cyclic": [
        describe(np.zeros(2), cyclic(1, 4, 2, 0)),
        describe(np.zeros(2), cyclic(0, 4, 2, 1)),
    ],
    "labels, negative and unordered": [
        describe(np.zeros(2), unstructured(np.array([-7, 40]), 4, 2, 0)),
        describe(np.zeros(2), unstructured(np.array([3, 1]), 4, 2, 1)),
    ],
    "shared labels": [
        describe(np.zeros(2), unstructured(np.array([0, 1]), 3, 2, 0)),
        describe(np.zeros(2), unstructured(np.array([1, 2]), 3, 2, 1)),
    ],
    "one process, periodic and padded": [
        describe(np.zeros(12), block(0, 12, 12, padding=(1, 1), periodic=True))
    ],
    "0.9, n periodic and padded": [
        describe(
            np.zeros(12),
            {"dist_type": "n", "size": 10, "padding": (1, 1), "periodic": True},
            version="0.9.0",
        )
    ],
    "0.9, n padded": [
        describe(np.zeros(10), {"dist_type": "n", "size": 10, "padding": (1, 1)}, version="0.9.0")
    ],
    "0.9, widths that differ by side": [
        describe(np.zeros(7), block(0, 5, 10, 2, 0, padding=(0, 2)), version="0.9.0"),
        describe(np.zeros(6), block(5, 10, 10, 2, 1, padding=(1, 0)), version="0.9.0"),
    ],
    "boundary widths that differ on the edge": [
        describe(np.zeros((5, 3)), block(0, 5, 10, 2, 0), block(0, 3, 6, 2, 0, padding=(0, 0))),
        describe(np.zeros((5, 3)), block(0, 5, 10, 2, 0), block(3, 6, 6, 2, 1, padding=(0, 2))),
        describe(np.zeros((5, 3)), block(5, 10, 10, 2, 1), block(0, 3, 6, 2, 0, padding=(1, 0))),
        describe(np.zeros((5, 3)), block(5, 10, 10, 2, 1), block(3, 6, 6, 2, 1)),
    ],
    "numpy's integers": [
        describe(
            np.zeros(5), block(np.int64(0), np.uint8(5), np.int16(5), np.int32(1), np.int64(0))
        )
    ],
    "0.10": halves(version="0.10.0"),
    "a release candidate": halves(version="1.2.0rc1"),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_ones_pass_strict(name):
    assert judged(RIGHT[name]).violations == ()


@pytest.mark.parametrize(
    "buffer",
    [
        b"abc",
        bytearray(b"abc"),
        array.array("d", [1, 2, 3]),
        memoryview(b"abc"),
        np.zeros((3, 4), order="F"),
        np.zeros(6)[::-2],
        np.zeros(3, "f2"),
        np.zeros(3, bool),
        np.zeros(3, complex),
        np.zeros(3, "g"),
        np.zeros(3, [("a", "i4"), ("b", "f8", 2)]),
        np.zeros(3, ">i4"),
    ],
    ids=lambda b: f"{type(b).__name__}-{getattr(b, 'dtype', '')}",
)
def test_every_kind_of_buffer_passes(buffer):
    assert judged([describe(buffer, *[{}] * memoryview(buffer).ndim)]).violations == ()


# -- what is wrong -------------------------------------------------------------------------


RULE_OF = {name: text.split()[0] for name, (_, text, *_) in WRONG.items()}


@pytest.mark.parametrize("name", WRONG, ids=lambda name: f"{RULE_OF[name]} {name}")
def test_each_wrong_one_is_named(name):
    descriptions, text, *value = WRONG[name]
    found = {str(violation): violation for violation in judged(descriptions).violations}
    assert text in found
    assert not value or [repr(found[text].value)] == value


def test_every_rule_has_a_wrong_dictionary():
    from atoll.interchange.distarray import RULES

    assert set(RULE_OF.values()) == set(RULES)


def test_all_rules_broken_are_told_not_only_the_first():
    wrong = describe(
        np.zeros((9, 3)),
        {**block(0, 10, 10), "periodic": 1, "padding": [0, 0]},
        {**cyclic(0, 3), "proc_grid_rank": 5, "block_size": 0},
        version="0.10",
    )
    assert {"T2", "B2", "B3", "B4", "C1", "D4"} <= set(rules_broken([wrong]))


def test_one_broken_process_is_reported_beside_what_the_others_say():
    found = judged([halves()[0], object()]).violations
    assert [(v.rule, v.rank) for v in found] == [("T1", 1)]


def test_unknown_keys_and_lists_of_indices_are_notes():
    result = judged([describe(np.zeros(3), {**unstructured([2, 0, 1], 3), "color": "red"})])
    assert result.violations == ()
    assert any("'color' is unknown" in note for note in result.notes)
    assert any("indices is a list" in note for note in result.notes)


def test_notes_of_all_processes_come_once_with_their_ranks():
    result = judged(halves(second={"color": "red"}))
    assert [note for note in result.notes if note.endswith("(rank 1)")]
    result = judged(halves(first={"color": 1}, second={"color": 2}))
    assert len(result.notes) == 1
    assert "rank" not in result.notes[0].replace("proc_grid_rank", "")


# -- lenient ---------------------------------------------------------------------------------

LENIENT = [
    ("a list of dictionaries", [{**describe(TEN), "dim_data": [B10]}], "T4: dim_data is a list"),
    ("short version", one({}, version="1.0"), "taken as '1.0.0'"),
    ("one key more", [{**describe(TEN, {}), "extra": 1}], "key 'extra'"),
    ("n under 1.0", one({"dist_type": "n", "size": 10}), "taken as undistributed"),
    ("the alias under 0.9", one({}, version="0.9.0"), "0.9 has no such alias"),
    (
        "0.9's flat buffer",
        [two_by_ten(rank, flat=True) for rank in range(2)],
        "reshaped to (1, 10)",
    ),
    ("size a float", one({**B10, "size": 10.0}), "taken as 10"),
    ("padding a list", one({**B10, "padding": [0, 0]}), "padding is a list"),
    ("periodic an int", one({**B10, "periodic": 1}), "taken as True"),
    ("periodic cyclic", one({**C10, "periodic": False}), "ignored"),
    ("a copy", [Copying()], None),
    ("inclusive stops", halves(first={"stop": 4}, second={"stop": 9}), "taken as inclusive"),
    ("local sizes", halves(first={"size": 5}, second={"size": 5}), "size is the local count"),
    (
        "local sizes, starts and inclusive stops",
        halves(first={"size": 5, "stop": 4}, second={"size": 5, "start": 0, "stop": 4}),
        "every block starts at 0",
    ),
    ("a mapping inside", one(MappingProxyType(B10)), "taken as one"),
    ("local starts", halves(second={"start": 0, "stop": 5}), "starts and stops taken as local"),
    (
        "local sizes, cyclic",
        [describe(np.zeros(n), cyclic(k, n, 2, k)) for k, n in enumerate((5, 4))],
        "taken as 9",
    ),
    (
        "local sizes, unstructured",
        [describe(np.zeros(2), unstructured(np.array([k, 2]), 2, 2, k)) for k in range(2)],
        "taken as 3",
    ),
    ("swapped ranks", halves()[::-1], "not in row-major order"),
    (
        "widths that differ",
        [
            describe(np.zeros(7), block(0, 7, 10, 2, 0, padding=(0, 2))),
            describe(np.zeros(6), block(4, 10, 10, 2, 1, padding=(1, 0))),
        ],
        "X5",
    ),
]


@pytest.mark.parametrize(
    ("descriptions", "note"), [case[1:] for case in LENIENT], ids=[case[0] for case in LENIENT]
)
def test_lenient_repairs_what_it_understands_and_says_so(descriptions, note):
    strict, lenient = judged(descriptions), judged(descriptions, strict=False)
    assert strict.violations
    assert lenient.violations == ()
    assert note is None or any(note in text for text in lenient.notes), lenient.notes


def test_repaired_numbers_are_the_true_ones():
    wrong = halves(first={"size": 5, "stop": 4}, second={"size": 5, "start": 0, "stop": 4})
    dimensions = [section.dimensions[0] for section in judged(wrong, strict=False).sections]
    assert [(d.start, d.stop, d.size) for d in dimensions] == [(0, 5, 10), (5, 10, 10)]


@pytest.mark.parametrize(
    "name", [n for n, rule in RULE_OF.items() if rule in ("X1", "X3", "X9", "U1", "D3", "D4")]
)
def test_lenient_does_not_guess_what_has_no_clear_meaning(name):
    assert judged(WRONG[name][0], strict=False).violations
