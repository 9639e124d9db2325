"""With ``config.debug`` each pass of planning is checked, and a pass that breaks a rule is named."""

from __future__ import annotations

import numpy
import pytest

import atoll as np
from atoll.backend.spec import Instruction
from atoll.comm.dry_run import dry_run_world
from atoll.lazy import evaluation
from atoll.plan import nests, passes, statements
from atoll.plan.passes import Pass, applied
from tests.engine import random_layouts


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    """No plans are known."""
    monkeypatch.setattr(evaluation, "_programs", evaluation._Programs())


def program(a):
    """Folds, assignments, masks, repeats and short rows: something for every pass."""
    b = np.sin(a) + a[::-1] * 2
    b[2:-2, 1:] += a[:-4, 1:]
    b[b > 1] = 0.5
    long = np.arange(300_000.0).reshape(100_000, 3)
    return [b.sum(0), b.sum(), b.argmax(1), np.repeat(b, 2, axis=1), (long - 1).sum(), long.max(0)]


def test_programs_are_legal_after_each_pass(monkeypatch):
    checked = []
    for name in ("check_choice", "check_statements"):
        plain = getattr(statements, name)
        monkeypatch.setattr(
            statements, name, lambda what, where, plain=plain: (checked.append(where), plain(what, where))
        )  # fmt: skip
    plain = nests.check_nest
    monkeypatch.setattr(
        nests, "check_nest", lambda nest, where: (checked.append(where), plain(nest, where))
    )
    values = numpy.arange(3000.0).reshape(50, 60)
    with np.config(debug=True, small=0):
        for ours, theirs in zip(program(np.asarray(values)), program(np.asarray(values))):
            numpy.testing.assert_array_equal(numpy.asarray(ours), numpy.asarray(theirs))
    assert {each.name for each in nests.PASSES} <= set(checked)
    assert {each.name for each in statements.RULES[:2]} <= set(checked)
    with np.config(debug=False, small=0):
        checked.clear()
        program(np.asarray(values + 1))[0]._evaluate()
    assert not checked


@pytest.mark.parametrize("maps", ["bb", "bn", "cc"])
def test_programs_of_ranks_are_legal(maps):
    with np.config(debug=True, small=0), dry_run_world(1, 4):
        values = numpy.broadcast_to(numpy.ones(()), (64, 64))
        a = random_layouts.lying(values, np.Layout((64, 64), maps, size=4))
        node = (a[1:, 1:] * a[:-1, :-1] + a[1:, 1:].sum(0))._cell.node
        evaluation._new_program(evaluation.look_up([node]), [node])


def test_a_pass_that_breaks_a_rule_is_named(monkeypatch):
    def breaking(nest):
        nest.body.instructions = [Instruction("cast", "f8", (7,)), *nest.body.instructions]

    broken = (*nests.PASSES[:4], Pass("a mistake", None, breaking), *nests.PASSES[4:])
    monkeypatch.setattr(nests, "PASSES", broken)
    a = np.asarray(numpy.arange(3000.0))
    with (
        np.config(debug=True, small=0),
        pytest.raises(AssertionError, match="after a mistake: values are computed before"),
    ):
        (a * 2 + 1)._evaluate()


def test_passes_replace_states_in_place():
    table = (
        Pass("split", lambda state: state[0] > 1, lambda state: [[state[0] - 1], [1]]),
        Pass("count", None, lambda state: state.append(len(state))),
    )
    seen = []
    made = applied(table, [3], lambda state, name: seen.append((name, list(state))))
    assert made == [[2, 1], [1, 1]]
    assert [name for name, _ in seen] == ["split", "split", "count", "count"]


def test_rules_have_names_of_their_own():
    names = [each.name for each in (*statements.RULES, *nests.PASSES)]
    assert len(set(names)) == len(names)
    with pytest.raises(AssertionError, match="planning, after x: a rule, but not 3"):
        passes.require(False, "x", "a rule", 3)
