"""The arithmetic of ``atoll.model``: what counted work and messages take on a machine whose numbers are round."""

from __future__ import annotations

from dataclasses import replace

import pytest

import atoll as np
from atoll.comm.dry_run import Sent, Together, Waited
from atoll.errors import ConfigError
from atoll.modelling import MACHINES, Estimates, Link, Machine
from atoll.modelling.counting import Evaluated, InPython
from atoll.modelling.timing import PARTS, Clock
from atoll.modelling.work import Work

ROUND = Machine(
    name="round", cores=4, memory=((1 << 20, 8e9), (1 << 30, 2e9)), stencils=((1 << 20, 4e9), (1 << 30, 5e8)),
    summed=((1 << 20, 2e9), (1 << 30, 2.5e8)),
    folded=((1 << 20, 1e9), (1 << 30, 1e8)), rows=((1 << 20, 1e9), (1 << 30, 5e7)), extremes=((1 << 20, 1e9), (1 << 30, 2e7)), node_memory=4e9, private=1 << 20, sharing=2, operations=1e9, chained=1e10,
    functions=(("divide", 1e8), ("exp", 1e7), ("power", 1e6)), products=1e10, transforms=1e7,
    comparisons=1e8, numpy=1e7, inside=Link(1e-6, 1e9), network=Link(1e-5, 1e9), alone=1e-3, together=2e-3, operation=0.0, operation_together=0.0, kernel=0.0, message=0.0,
    collective=0.0, element=1e-6,
)  # fmt: skip
FAR = 1 << 32
"""So many bytes ago, nothing of now was in a cache."""
LARGE = Evaluated(1, 1 << 32)


def clock(*events, ranks=8, rank=5, threads=1, machine=ROUND):
    return Clock(machine, ranks, rank, threads).run(events)


def spent(*events, **options):
    """What the events take behind an evaluation of large arrays."""
    return clock(LARGE, *events, **options).now - clock(LARGE, **options).now


def kernel(nbytes=0, operations=0.0, **more):
    return Work("kernel", ((nbytes, FAR),), operations, "here", **more)


def test_loops_take_what_memory_or_arithmetic_takes():
    # of 4e9 bytes a second, each of the four ranks of a node has 1e9
    assert spent(kernel(10**9)) == pytest.approx(1.0)
    assert spent(kernel(10**9), ranks=1, rank=0) == pytest.approx(0.5)
    assert spent(kernel(10**9), ranks=1, rank=0, threads=2) == pytest.approx(0.25)
    # what takes as long as something else hides most of it
    assert spent(kernel(3 * 10**9, 3e9)) == pytest.approx(3.0 * 2**0.25)
    assert spent(kernel(10**9, 9e9)) == pytest.approx(9.0, rel=0.01)
    assert spent(kernel(0, 1e9, chain=2e10)) == pytest.approx(3.0)
    assert spent(kernel(functions=(("exp", 1e7), ("power", 2e6)))) == pytest.approx(3.0)
    assert spent(Work("product", (), 5e10, "")) == pytest.approx(5.0)
    assert spent(Work("transform", (), 5e7, "")) == pytest.approx(5.0)
    assert spent(Work("sort", (), 5e8, "")) == pytest.approx(5.0)
    assert spent(Work("numpy", (), 0, "", (("numpy", 2e7),))) == pytest.approx(2.0)
    assert spent(kernel(10**9, form="stencil")) == pytest.approx(2.0)
    assert spent(kernel(10**9, form="summed")) == pytest.approx(4.0)
    assert spent(kernel(10**9, form="stencil", again=((8 * 10**9, 0),))) == pytest.approx(3.0)
    assert spent(kernel(10**9, form="folded")) == pytest.approx(10.0)
    assert spent(kernel(10**9, form="rows")) == pytest.approx(20.0)
    assert spent(kernel(10**9, form="extremes")) == pytest.approx(50.0)
    # a processor does not work ahead over the whole of a long turn
    assert spent(kernel(3 * 10**9, 3e9, long=True)) == pytest.approx(6.0)
    told = clock(LARGE, kernel(10**9), kernel(0, 3e9))
    assert told.parts["memory"] == pytest.approx(1.0)
    assert told.parts["arithmetic"] == pytest.approx(3.0)
    assert told.lines["here"] == pytest.approx(4.0)
    assert told.parts["python"] == pytest.approx(2e-3)
    assert set(told.parts) == set(PARTS)


def test_caches_are_faster_and_those_of_a_core_are_its_own():
    rates = [ROUND.memory_rate(nbytes, 8) for nbytes in (1, 1 << 20, 1 << 24, 1 << 30, 1 << 40)]
    assert rates[:2] == [8e9, 8e9]
    assert rates[3:] == [1e9, 1e9]
    assert 1e9 < rates[2] < 8e9
    assert ROUND.memory_rate(1 << 30, 1) == 2e9
    # two cores share the next cache: each has half of it
    alone = replace(ROUND, node_memory=1e12)
    assert alone.memory_rate(1 << 24, 2) == alone.memory_rate(1 << 25, 1)
    assert alone.memory_rate(1 << 20, 2) == alone.memory_rate(1 << 20, 1)


def test_messages_take_latency_and_bytes_less_the_work_meanwhile():
    near, far = Sent(False, 6, 10**6), Sent(False, 2, 10**6)
    assert spent(near, Waited()) == pytest.approx(1e-6 + 1e-3)
    assert spent(far, Waited()) == pytest.approx(1e-5 + 4e-3)  # four ranks share the network
    assert spent(near, far, Waited()) == pytest.approx(1e-5 + 5e-3)
    assert spent(Sent(True, 6, 10**9), Waited()) == pytest.approx(1e-6)
    work = kernel(2 * 10**6)
    told = clock(LARGE, far, work, Waited())
    assert told.now == pytest.approx(2e-3 + 1e-5 + 4e-3)
    assert told.hidden == pytest.approx(2e-3)
    assert told.parts["network"] == pytest.approx(2e-3)
    assert told.parts["latency"] == pytest.approx(1e-5)
    long = clock(LARGE, far, kernel(10**9), Waited())
    assert long.parts["network"] == long.parts["latency"] == 0
    assert long.now == pytest.approx(2e-3 + 1.0)


def test_what_all_ranks_do_takes_rounds():
    rounds = 2e-6 + 1e-5  # two inside a node of four, one between two nodes
    assert spent(Together("barrier", 0, 8)) == pytest.approx(rounds)
    assert spent(Together("allgather", 1000, 8)) == pytest.approx(rounds + 7 * 1000 / 0.25e9)
    assert spent(Together("allreduce", 1000, 8)) == pytest.approx(rounds + 2 * 1000 / 0.25e9)
    assert spent(Together("alltoall", 10**6, 8)) == pytest.approx(7 * (1e-5 + 10**6 / 0.25e9))
    few = spent(Together("alltoall", 8, 8))
    assert few == pytest.approx(rounds + 3 * 4 * 8 / 0.25e9)
    assert spent(Together("barrier", 0, 1 << 16), ranks=1 << 16) == pytest.approx(2e-6 + 14e-5)
    assert spent(InPython(1000)) == pytest.approx(1e-3)


def test_more_ranks_than_cores_take_turns():
    here = replace(ROUND, nodes=1, node_memory=1e12)
    assert spent(kernel(0, 1e9), machine=here, ranks=4) == pytest.approx(1.0)
    assert spent(kernel(0, 1e9), machine=here, ranks=8) == pytest.approx(2.0)
    assert spent(kernel(0, 1e9), machine=replace(here, nodes=2), ranks=8) == pytest.approx(1.0)
    assert here.ranks_of_node(8) == 8
    assert ROUND.ranks_of_node(8) == 4
    assert ROUND.ranks_of_node(8, threads=4) == 1


def test_an_estimate_says_by_how_much_it_may_be_off():
    # half of the distance, or twice, lies within the same cache, or beyond all
    assert clock(kernel(10**9)).doubts["caches"] == 0.0
    edge = Work("kernel", ((10**9, 1 << 25),), 0, "here")
    told = clock(edge, ranks=1, rank=0)
    faster, slower = (10**9 / ROUND.memory_rate(1 << k, 1) for k in (24, 26))
    assert told.doubts == {
        "caches": pytest.approx((slower - faster) / 2), "numpy": 0.0, "turns": 0.0,
    }  # fmt: skip
    # nothing is known of a function but the number of its elements
    assert clock(Work("numpy", (), 0, "", (("numpy", 2e7),))).doubts["numpy"] == pytest.approx(2.0)
    # the operating system decides when ranks take turns
    here = replace(ROUND, nodes=1, node_memory=1e12)
    told = clock(kernel(0, 1e9), machine=here, ranks=12)
    assert told.doubts["turns"] == pytest.approx(2.0)
    assert told.now == pytest.approx(3.0)


def halo():
    n = 1000
    u = np.zeros((n, n))
    while True:
        u[1:-1] = (u[:-2] + u[2:]) / 2
        yield float(u[5].sum())


def test_a_model_says_what_bounds_a_step(tmp_path):
    told = np.model(halo, 4, ROUND)
    assert told.ranks == 4
    assert told.seconds == pytest.approx(sum(told.parts.values()))
    assert told.parts["memory"] > 0
    assert told.bound in PARTS
    assert "a step on 4 ranks of round, bound by" in str(told)
    assert "test_timing.py" in str(told)
    assert told.error == sum(told.doubts.values()) > 0
    assert f"may be off by {told.error / told.seconds:.0%}: what caches hold" in str(told)
    ROUND.save(tmp_path / "round.json")
    assert np.model(halo, 4, tmp_path / "round.json") == told
    table = np.model(halo, [1, 2, 1000], "chinook")
    assert type(table) is Estimates
    assert [each.ranks for each in table] == [1, 2, 1000]
    assert str(table).splitlines()[1].split()[0] == "1"
    assert f" {table[0].error / table[0].seconds:.0%} " in str(table).splitlines()[1]
    assert len(str(table).splitlines()) == 4
    assert {machine.name for machine in MACHINES.values()} == set(MACHINES)


def test_what_cannot_be_modelled_is_refused(tmp_path):
    with pytest.raises(TypeError, match="a function without arguments, not a float"):
        np.model(1.0, 4)
    with pytest.raises(ConfigError, match="no machine 'token ring'"):
        np.model(halo, 4, "token ring")
    with pytest.raises(ValueError, match="at least one rank, not 0"):
        np.model(halo, 0)
    with pytest.raises(ValueError, match="at least one thread, not 0"):
        np.model(halo, 1, threads=0)

    def short():
        yield

    with pytest.raises(ValueError, match="the program yields 1 time"):
        np.model(short, 2)
    (tmp_path / "no.json").write_text("{}")
    with pytest.raises(ConfigError, match="does not describe a machine"):
        np.model(halo, 4, tmp_path / "no.json")
