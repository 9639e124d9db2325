"""A mistake in planning never reaches the user: values are computed operation by operation, and a counter says so."""

import importlib

import numpy as np
import pytest

import atoll
from atoll import backend, dataflow, policy
from atoll.backend.llvm import compile
from atoll.comm.world import current_world
from atoll.errors import CommunicationError, DivergenceError
from atoll.lazy.evaluation import _programs

STAGES = [
    "lazy.evaluation.look_up",
    "lazy.evaluation.computed_again",
    "plan.build.make_statements",
    "plan.statements.reads_safely",
    "plan.build.make_groups",
    "plan.build.bodies_of",
    "plan.build.launches_of",
    "plan.nests.cut_into_slabs",
    "plan.build.readers_of",
    "exchange.ghosts.needed",
    "exchange.ghosts.moves",
    "plan.build.plan_exchange",
    "exchange.gather.moves",
    "plan.steps.function_of",
    "plan.plans.Plans.bound",
    "plan.plans.Plans.extended",
    "backend.llvm.compile.build",
]


def marked(stages):
    """The stages as parameters: NumPy's backend has no compiler that could fail."""
    compiled = pytest.mark.compiled
    return [
        pytest.param(stage, marks=[compiled] * stage.startswith("backend.llvm")) for stage in stages
    ]


ON_RANKS = {"plan.build.readers_of", "exchange.ghosts.needed", "exchange.ghosts.moves", "plan.build.plan_exchange", "exchange.gather.moves"}  # fmt: skip

ALONE = {"plan.steps.function_of"}


def program(np):
    """Loops, slices that move, assignments, folds, masks and views: something for each stage."""
    x = np.arange(720.0).reshape(24, 30) / 100
    y = np.sin(x) + x[::-1] * 2
    y[2:20, 3:] += x[:18, 3:]
    y[y > 3] = 1.5
    found = [y, y.sum(0), y.sum(), y.max(axis=1), y[:, ::-1].T @ x[:, :4], y[x > 2], y.argmax(1)]
    z = x * 0
    for k in range(4):
        z[k:] += y[k:] * 0.5
        found.append(z.sum(1))
        found.append(float(np.sin(x[k:]).sum()))
    for _ in range(5):
        x = x * 0.5 + np.roll(x, 1, 0) * 0.25
    with_halves = x.astype(np.float16) + np.float16(1)
    found += [with_halves, x, np.float32(3) * x[:, 0].astype(np.float32), y.reshape(30, 24) + 1]
    return found


def broken(stage, monkeypatch, rank=None, when=lambda: True):
    """Make a stage of planning raise, on all ranks or on one."""
    module, *names = stage.split(".")
    home = importlib.import_module(f"atoll.{module}")
    while len(names) > 1:
        try:
            home = importlib.import_module(f"{home.__name__}.{names[0]}")
        except ImportError:
            home = getattr(home, names[0])
        del names[0]
    works = getattr(home, names[0])

    def fails(*args, **options):
        if when() and (rank is None or current_world().rank == rank):
            raise IndexError("a mistake in planning")
        return works(*args, **options)

    monkeypatch.setattr(home, names[0], fails)
    if stage == "backend.llvm.compile.build":  # the other stages may use kernels of other tests
        compile.compiler._kernels.clear()


def check(monkeypatch):
    """The program gives NumPy's values, with limits at which it is cut, and arrays are gathered by plans."""
    _programs.forget()
    current_world().communicator.log.plans.clear()  # what ranks agreed on in other tests
    limits = policy.limited(pending=20, cached=1024)  # larger arrays are gathered by a plan
    with limits, atoll.config(small=0, kernel_cache="off"), np.errstate(all="ignore"):
        for _ in range(2):
            for ours, theirs in zip(program(atoll), program(np), strict=True):
                np.testing.assert_allclose(np.asarray(ours), theirs, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.simulated(1, 3)
@pytest.mark.parametrize("stage", marked(STAGES))
def test_values_stay_right_whatever_stage_fails(stage, size, monkeypatch):
    broken(stage, monkeypatch)
    atoll.reset_stats()
    check(monkeypatch)
    assert atoll.stats().planning_failures or stage in (ON_RANKS if size == 1 else ALONE)


@pytest.mark.slow
@pytest.mark.ranks(3)
@pytest.mark.simulated(3)
@pytest.mark.parametrize(
    "stage", ["plan.build.make_groups", "plan.build.launches_of", "exchange.ghosts.needed"]
)
def test_ranks_agree_where_one_alone_has_no_plan(stage, monkeypatch):
    broken(stage, monkeypatch, rank=1)
    atoll.reset_stats()
    check(monkeypatch)
    assert atoll.stats().planning_failures


@pytest.mark.parametrize("stage", marked([stage for stage in STAGES if stage not in ON_RANKS][::5]))
def test_debugging_raises_it(stage, monkeypatch):
    broken(stage, monkeypatch)
    with atoll.config(debug=True), pytest.raises(IndexError, match="a mistake in planning"):
        check(monkeypatch)


def moved(np, n):
    """A program whose structure is the same for each ``n``."""
    x = np.arange(n * 20.0).reshape(n, 20)
    y = np.sin(x) + x[::-1] * 2
    y[1:] += x[:-1]
    return [y, y.sum(0), y.max(axis=1)]


def fail_later(stage, monkeypatch, rank):
    """Ranks agree on a structure, and then a stage fails for other extents; on which rank, if not on all."""
    failing = []
    with atoll.world.split(0), atoll.config(small=0, everywhere=0, kernel_cache="off"):
        for n in (30, 31, 47):
            for ours, theirs in zip(moved(atoll, n), moved(np, n), strict=True):
                np.testing.assert_allclose(np.asarray(ours), theirs)
            if not failing:
                atoll.world.barrier()
                broken(stage, monkeypatch, rank, lambda: failing)
                failing.append(stage)


@pytest.mark.ranks(3)
@pytest.mark.simulated(3)
@pytest.mark.parametrize(
    ("stage", "rank"),
    [
        ("plan.build.make_groups", None),
        ("plan.build.launches_of", None),
        ("backend.llvm.compile.build", None),
        ("backend.llvm.compile.build", 1),
    ],
)
def test_later_extents_that_no_rank_can_plan_or_one_cannot_compile(stage, rank, monkeypatch):
    fail_later(stage, monkeypatch, rank)


@pytest.mark.ranks(3)
@pytest.mark.simulated(3)
def test_later_extents_that_one_rank_alone_cannot_plan(monkeypatch):
    words = r"rank 1 cannot make a new plan, though other ranks can|every rank that is left waits"
    with pytest.raises(CommunicationError, match=words):
        fail_later("plan.build.make_groups", monkeypatch, 1)


@pytest.mark.simulated(2)
def test_ranks_with_different_backends(rank, monkeypatch):
    ours = backend.current()
    theirs = backend.named("numpy" if ours.name == "llvm" else "llvm")
    monkeypatch.setattr(backend, "current", lambda: ours if current_world().rank == 0 else theirs)
    with atoll.world.split(0), atoll.config(small=0, everywhere=0):
        x = atoll.arange(100.0)
        with pytest.raises(DivergenceError, match=r"rank 0 by '.*', rank 1 by '.*ATOLL_BACKEND"):
            float((x + x[::-1]).sum())


@pytest.mark.parametrize("stage", ["plan.build.make_groups", "lazy.evaluation.Walk"])
def test_parts_of_dataflow_graphs(stage, monkeypatch):
    broken(stage, monkeypatch)
    u = dataflow.make_placeholder("u", (6,))
    outputs = {"inner": atoll.sqrt(u * u + 1) * 2, "sum": (u - 1).sum()}
    partition = dataflow.find_distributed_partition(None, outputs)
    programs = dataflow.generate_code_for_partition(partition)
    atoll.reset_stats()
    given = np.arange(6.0)
    for _ in range(2):
        found = dataflow.execute_distributed_partition(
            partition, programs, None, None, input_args={"u": given}
        )
        np.testing.assert_allclose(np.asarray(found["inner"]), np.sqrt(given * given + 1) * 2)
        np.testing.assert_allclose(np.asarray(found["sum"]), 9.0)
    assert atoll.stats().planning_failures
