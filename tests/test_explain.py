"""What ``atoll.explain`` says is what evaluating does."""

import gc
import re

import numpy as np
import pytest

import atoll
from atoll.config import config
from atoll.plan import reasons
from tests.engine import comparison, statements
from tests.engine.program import run_line


@pytest.fixture(autouse=True)
def large():
    with config(small=0):
        yield


def data(shape, dtype="f8"):
    made = atoll.full(shape, 3, dtype)
    made._evaluate()
    return made


def counts():
    now = atoll.stats()
    return (now.kernels_run, now.created + now.reused, now.messages, now.bytes_moved)


def compare(x):
    """Explain a value, evaluate it, and hold the one against the other."""
    gc.collect()  # a collection in between would end arrays that are explained as alive
    told = atoll.explain(x)
    before = counts()
    x() if callable(x) else x._cell.settle()
    ran, buffers, messages, moved = [b - a for a, b in zip(before, counts(), strict=True)]
    new = [m for group in told.groups for m in group.memories if m.is_new]
    sends = [m for m in told.messages if m.sends]
    assert told.state == "pending"
    assert ran == len(told.launches)
    assert buffers == sum(m.nbytes > 1024 for m in new)
    assert messages == len(sends)
    assert moved == sum(m.nbytes for m in sends)
    assert str(told) == repr(told)
    assert told.peak_bytes <= told.new_bytes
    return told


def laplace_step(u):
    old = u.copy()
    u[1:-1, 1:-1] = (
        (u[:-2, 1:-1] + u[2:, 1:-1]) * 0.25 + (u[1:-1, :-2] + u[1:-1, 2:]) * 0.25
    ) * 0.5
    v = (u - old).reshape(-1)
    return (lambda: (v * v).sum()), v


# -- one process


def test_a_laplace_step_is_one_group_of_five_boxes():
    u = data((50, 60))
    error, _difference = laplace_step(u)
    told = compare(error)
    (loops,) = told.groups
    assert [one.reason for one in loops.stored] == [reasons.SEEN, reasons.WANTED]
    assert [one.remark for one in loops.stored] == [reasons.NEW_VERSION, ""]
    assert [launch.extents for launch in loops.launches] == [(60,), (48,), (48, 58), (48,), (60,)]
    inside = loops.launches[2]
    assert "v1[1:-1, 1:-1] = t1" in inside.code
    assert "v2 = add of t2 * t2" in inside.code
    assert {str(a) for a in inside.accesses if a.access == "r"} == {
        "a[:-2, 1:-1]", "a[2:, 1:-1]", "a[1:-1, :-2]", "a[1:-1, 2:]", "a[1:-1, 1:-1]",
    }  # fmt: skip
    assert inside.reductions == ("add",)
    assert [launch.axes for launch in loops.launches] == [
        ((1,),), ((0,),), ((0,), (1,)), ((0,),), ((1,),),
    ]  # fmt: skip
    assert told.new_bytes == 50 * 60 * 8
    assert [one.split(" (")[0] for one in told.left] == ["subtract"]
    assert "test_explain.py:" in told.left[0]


def test_explaining_changes_nothing():
    u = data((50, 60))
    error, _difference = laplace_step(u)
    shown = atoll.graph.show(u)
    before = atoll.stats()
    first, second = atoll.explain(error), atoll.explain(error)
    assert first == second
    assert atoll.stats() == before
    assert atoll.graph.show(u) == shown
    assert error() == pytest.approx(48 * 58 * (3 * 0.5 - 3) ** 2)


def test_a_call_is_explained_up_to_its_first_evaluation():
    a = data((400, 500))

    def work():
        try:
            return float((a * 2).sum())
        finally:
            float((a[:3] + 3).max())

    def plain():
        return float((a * 2).sum())

    explained = [re.sub(r":\d+", "", str(atoll.explain(call))) for call in (work, plain)]
    assert explained[0] == explained[1]


def test_a_model_goes_on_after_an_explanation():
    def program():
        b = atoll.ones(200_000) * 2 + 1
        atoll.explain(lambda: (b + 1).sum())
        return float((atoll.sqrt(b) + 3).sum())

    def plain():
        b = atoll.ones(200_000) * 2 + 1
        return float((atoll.sqrt(b) + 3).sum())

    explained, alone = atoll.model(program, 1), atoll.model(plain, 1)
    assert explained.operations == alone.operations > 0


def test_the_plan_of_a_repeated_step_is_known():
    u = data((31, 17))
    states = []
    for _ in range(4):
        error, _difference = laplace_step(u)
        states.append(atoll.explain(error).planned)
        error()
    assert states[0] == "new"
    assert states[-1] == "known"


def test_what_was_computed_is_explained_as_before():
    u = data((50, 60))
    error, _difference = laplace_step(u)
    pending = atoll.explain(error)
    error()
    told = atoll.explain(u)
    assert told.state == "evaluated"
    assert told.stored == pending.stored
    assert [launch.extents for launch in told.launches] == [
        launch.extents for launch in pending.launches
    ]
    assert all(launch.compiled for launch in told.launches)
    assert "this is what was done" in str(told)


@pytest.mark.compiled
def test_kernels_that_are_not_there_yet_are_said_to_be_missing():
    x = data(1000)
    for n in range(3, 9):  # a polynomial that no other test computes
        x = x * n - 0.5
    assert [launch.compiled for launch in atoll.explain(x).launches] == [False]
    x._evaluate()
    assert [launch.compiled for launch in atoll.explain(x).launches] == [True]


@pytest.mark.compiled
def test_threads_and_chunks():
    with config(threads=2):
        assert {launch.threads for launch in atoll.explain(data(1 << 20) + 1).launches} == {2}
        assert {launch.threads for launch in atoll.explain(data(1 << 10) + 1).launches} == {1}
    with config(threads=1):
        (launch,) = atoll.explain(data(1 << 20) + 1).launches
        assert (launch.threads, launch.elements) == (1, 1 << 20)
        assert launch.chunks > 1
        assert launch.nbytes == 2 * 8 << 20


def test_loops_are_merged_and_turned():
    (merged,) = atoll.explain(data((40, 50)) + 1).launches
    assert (merged.extents, merged.axes) == ((2000,), ((0, 1),))
    x = data((40, 50)).T
    (turned,) = atoll.explain(x + x[:, ::-1]).launches
    assert turned.axes == ((1,), (0,))
    assert "loop 40 (axis 1) x 50 (axis 0)" in str(atoll.explain(x + x[:, ::-1]))


def test_index_values_are_named_by_axis():
    (launch,) = atoll.explain(atoll.fromfunction(lambda i, j: i - j, (40, 50), dtype="i8")).launches
    assert "index0" in launch.code[0]
    assert "index1" in launch.code[0]
    assert launch.accesses[0].access == "w"


def shifted():
    y = atoll.sin(data(2000))
    return y[1:] + y[:-1]


def repeated():
    return data((40, 50)) + atoll.exp(data(50))


def unmapped():
    return (data(2000) * 1j).real + 1


def masked():
    x = data((40, 50))
    x[x > 2] = 1
    return x + 0


def grown():
    return sum([data(2000) for _ in range(40)])


def by_numpy():
    x = data((40, 50)) * 2
    y = x.argmax(axis=1)
    return y + 1


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (shifted, reasons.SHIFTED),
        (repeated, reasons.REPEATED),
        (unmapped, reasons.UNMAPPED),
        (masked, reasons.NO_BOX),
        (grown, reasons.GROWN.format(operations=2000, streams=24)),
        pytest.param(by_numpy, reasons.FOR_NUMPY, marks=pytest.mark.compiled),
        (lambda: data(2000) + 1, reasons.WANTED),
        (lambda: data(2000).sum(keepdims=True) + 1, reasons.REDUCTION),
    ],
)
def test_it_says_why_a_value_is_stored(make, reason):
    told = compare(make())
    assert reason in {one.reason for one in told.stored}
    assert reason in str(told)


def test_parts_that_are_no_more_than_the_whole_are_computed_where_they_are_read():
    x = data(2000)
    told = compare(atoll.roll(x * 3, 1) + x)
    assert [one.operation for one in told.stored] == ["add"]
    y = x * 3
    told = compare(atoll.roll(y, 1) + y)
    assert [one.operation for one in told.stored] == ["multiply", "add"]


@pytest.mark.compiled
def test_it_says_why_numpy_computes():
    told = compare(by_numpy())
    (one,) = [one for one in told.stored if one.style == "NumPy" and "arg" in one.operation]
    assert one.remark == reasons.NO_KERNEL.format(operation="arg argmax")
    assert [group.by_numpy for group in told.groups] == [False, True, False]


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (shifted, reasons.OTHER_DOMAIN),
        (lambda: data(2000) - data(2000).sum(keepdims=True), reasons.UNFINISHED),
        (lambda: (lambda y: y + y[::-1])(atoll.sin(data(2000))), reasons.OTHER_INDICES),
    ],
)
def test_it_says_why_groups_are_apart(make, why):
    told = compare(make())
    assert why in {text for group in told.groups for _, text in group.apart}
    assert f"not joined to group 0: {why}" in str(told)


def test_without_fusion_it_says_so():
    x = data((40, 50))
    y = x.sum(axis=0) * x.max(axis=0)
    together = atoll.explain(y)
    with config(fusion=False):
        apart = compare(y)
    assert len(together.groups) < len(apart.groups)
    assert {text for group in apart.groups for _, text in group.apart} == {reasons.NOT_FUSED}


def test_memory_in_place():
    x = data(5000)
    x += 1
    told = compare(x)
    assert [m.how for group in told.groups for m in group.memories] == ["in place of a"]
    assert told.new_bytes == told.peak_bytes == 0
    assert told.launches[0].code == ("v1 = a + 1.0",)


def test_memory_that_is_still_needed():
    x = data(5000)
    y = x
    x = x + 1
    told = compare(x)
    assert [m.how for group in told.groups for m in group.memories] == ["new"]
    assert told.new_bytes == 40_000
    assert y is not x


def test_an_assignment_in_place_or_not():
    x = data((40, 50))
    x[:, :5] = 0
    assert compare(x).stored[0].remark == reasons.IN_PLACE
    before = x.copy()
    x[:, 5:9] = 1
    assert compare(x).stored[0].remark == reasons.NEW_VERSION
    x[1:] = x[:-1]
    assert compare(x).stored[0].remark == reasons.NEW_ENTANGLED
    assert before.shape == (40, 50)


def test_operations_on_memory_known_outside_are_evaluated_at_the_call():
    x = data(5000)
    exported = np.asarray(x)
    told = atoll.explain(x * 2)
    assert told.state == "evaluated"
    assert exported[0] == 3


def test_buffers_that_follow_each_other_are_not_counted_together():
    x = data((100, 100))
    y = x
    for _ in range(4):
        y = atoll.sin(y)
        y = y[::-1] + y
    told = compare(y)
    assert told.peak_bytes < told.new_bytes


def test_a_view_is_explained_through_its_base():
    x = data((40, 50)) * 2
    told = atoll.explain(x[1:, ::2])
    assert told.what == "(39,25) float64, the view [1:, ::2] of (40,50)"
    assert [one.operation for one in told.stored] == ["multiply"]


def test_what_needs_no_program():
    with config(small=100):
        assert atoll.explain(atoll.ones(3)).state == "small"
    x = atoll.asarray(np.ones(5000))
    assert atoll.explain(x).state == "data"
    assert atoll.explain(x).launches == ()
    with pytest.raises(TypeError, match=r"needs an atoll array .* not a list"):
        atoll.explain([1])
    with pytest.raises(TypeError, match="a float64 is a number, computed at the call"):
        atoll.explain(x.sum())


def test_html_opens_group_by_group():
    told = atoll.explain(data(5000) - data(5000).sum(keepdims=True))
    text = told._repr_html_()
    assert text.count("<details>") == len(told.groups)
    assert "reads what that one reduces" in text
    assert "<pre " in text


def test_formulas_bracket_where_they_must():
    a, b = data(2000), data(2000)
    b[0] = 1
    b._evaluate()
    pairs = {
        "(a + b) * a": (a + b) * a,
        "a - (b - a)": a - (b - a),
        "a - b - a": a - b - a,
        "(-a) ** 2.5": (-a) ** 2.5,
        "maximum(a, b) / (a * b)": atoll.maximum(a, b) / (a * b),
        "float32(a) > 1.0": a.astype("f4") > 1,
        "sqrt(a) < -1.5": atoll.sqrt(a) < -1.5,
    }
    for text, value in pairs.items():
        assert atoll.explain(value).launches[0].code == (f"v1 = {text}",)


class Elementwise(statements.Statements):
    """Draws views, operations element by element, and assignments to views."""

    def __init__(self, seed, **options):
        super().__init__(seed, **options)
        self.kinds = [self.basic, self.binary, self.unary, self.assign, self.overlap, self.in_place]


def compare_random(seed, lines):
    """Explain what a random program leaves pending."""
    program = statements.draw(seed, lines, kind=Elementwise)
    names = comparison.functions()
    names |= {name: atoll.array(data) for name, data in program.start.items()}
    for line in program.lines:
        run_line(line.text, names)
    for name, expected in program.arrays.items():
        ours = names[name]
        if ours._np is None and ours._cell.node.value is None:
            told = compare(ours)
            assert told.groups, program.text()
            assert f"{len(told.launches)} launch" in str(told) or not told.launches
        np.testing.assert_array_equal(np.asarray(ours), expected)


@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed):
    compare_random(seed, 12)


# -- ranks


@pytest.mark.simulated(2, 3, 4)
@pytest.mark.ranks(2)
def test_a_laplace_step_on_ranks(rank, size):
    layout = atoll.Layout((40, 30), "bn", size=size)
    u = data((40, 30)).redistribute(layout)
    atoll.sync()  # the step alone
    error, _difference = laplace_step(u)
    told = compare(error)
    ends = rank in (0, size - 1)
    neighbours = {rank - 1, rank + 1} & set(range(size))
    assert (told.rank, told.ranks) == (rank, size)
    assert {m.peer for m in told.messages} == neighbours
    assert {(m.sends, m.nbytes) for m in told.messages} == {(True, 28 * 8), (False, 28 * 8)}
    assert len(told.messages) == 2 * len(neighbours) == (2 if ends else 4)
    rows = layout.region(rank)[0]
    first, last = rows.lowest, rows.highest + 1
    for message in told.messages:
        if message.sends:
            row = first if message.peer < rank else last - 1
        else:
            row = first - 1 if message.peer < rank else last
        taken = eval(f"np.arange(1200).reshape(40, 30){message.region}")
        assert taken.ravel().tolist() == list(range(30 * row + 1, 30 * row + 29))
    assert [(c.operation, c.nbytes) for c in told.collectives] == [("add", 8)]
    loops = told.groups[0]
    patches = {m.name for m in loops.memories if m.role == "patch"}
    early = [launch for launch in loops.launches if launch.early]
    late = [launch for launch in loops.launches if not launch.early]
    assert len(patches) == len(neighbours)
    assert not any(a.name in patches for launch in early for a in launch.accesses)
    assert all(patches & {a.name for a in launch.accesses} for launch in late)
    assert sum(launch.elements for launch in early) > sum(launch.elements for launch in late)
    assert f"rank {rank} of {size} sends {len(neighbours)} message" in str(told)
    assert "while messages are on their way" in str(told)


@pytest.mark.simulated(2, 3, 5)
def test_aligned_operands_need_no_messages(size):
    a, b = data((40, 30)), data((40, 30))
    told = compare(a * b + 1)
    assert told.messages == told.collectives == ()
    assert told.groups[0].layout.startswith("Layout((40, 30), 'bn'")


@pytest.mark.simulated(2, 3, 4)
@pytest.mark.parametrize("maps", ["bn", "nb", "cn", "bb", "cc"])
def test_transfers_are_counted(size, maps):
    a = data((12, 12))
    b = data((12, 12)).redistribute(atoll.Layout((12, 12), maps, size=size))
    atoll.sync()
    for value in (a + b, a.T + a, a[::-1] * a, b[1:] - b[:-1], b.sum(axis=0) + a[0]):
        compare(value)


@pytest.mark.simulated(3)
def test_explaining_is_no_collective(rank):
    a = data((30, 30))
    b = a[1:] + a[:-1]
    if rank == 1:
        assert atoll.explain(b).messages
    compare(b)


@pytest.mark.simulated(2, 3)
@pytest.mark.parametrize("seed", range(8))
def test_random_programs_on_ranks(seed):
    compare_random(seed, 7)
