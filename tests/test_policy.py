"""Each limit has a sentence and a measurement, is read somewhere, and is the only place where its number stands."""

import ast
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

import atoll
from atoll import policy
from atoll.context.caches import Memo, Recent, remembered

ROOT = Path(__file__).resolve().parents[1]
SCRIPT = ROOT / "benchmarks" / "limits.py"


def sentences():
    """The docstring of each field."""
    tree = ast.parse(Path(policy.__file__).read_text())
    (kind,) = [n for n in tree.body if isinstance(n, ast.ClassDef)]
    return {
        one.target.id: text.value.value
        for one, text in zip(kind.body, kind.body[1:], strict=False)
        if isinstance(one, ast.AnnAssign) and isinstance(text, ast.Expr)
    }


def test_each_limit_has_a_sentence_and_a_measurement_that_exists():
    found = sentences()
    assert list(found) == [field.name for field in fields(policy.Limits)]
    functions = {
        n.name for n in ast.parse(SCRIPT.read_text()).body if isinstance(n, ast.FunctionDef)
    }
    named = {name for text in found.values() for name in re.findall(r"``(\w+)``[:)]", text)}
    assert named <= functions
    assert functions - {"microseconds", "main"} <= named


def test_each_limit_is_read():
    text = "".join([path.read_text() for path in (ROOT / "src").rglob("*.py")])
    unread = [name for name in sentences() if not re.search(rf'limits\.{name}\b|\("{name}"', text)]
    assert unread == []


def test_the_measurements_run():
    done = subprocess.run(
        [sys.executable, SCRIPT, "--smoke"], capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stderr
    assert "kernel_operations = 200" in done.stdout


def test_limits_are_replaced_together_and_restored():
    before = policy.limits
    with pytest.raises(TypeError), policy.limited(no_limit=1):
        pass
    with policy.limited(pending=5) as inside:
        assert policy.limits is inside
        assert inside.pending == 5
    assert policy.limits is before


def test_caches_are_bounded_and_counted():
    calls = []
    with policy.limited(memo=4, plans=3):
        memo, recent = Memo(), Recent("plans", "plans_dropped")
        twice = remembered(lambda n: calls.append(n) or 2 * n)
        before = atoll.stats()
        for n in range(10):
            memo[n] = recent[n] = n
            assert memo.only(n, -1) == n
            assert twice(n) == twice(n) == 2 * n
            assert memo.get(n) == recent.get(n) == n
            assert len(memo) <= 4
            assert len(recent) <= 3
        after = atoll.stats()
    assert calls == list(range(10))
    assert list(recent) == [7, 8, 9]
    assert after.plans_dropped - before.plans_dropped == 7
    assert after.caches_full - before.caches_full == 4
