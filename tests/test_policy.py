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
    assert functions - {"microseconds", "main", "tried", "arrays"} <= named
    costs = list(found)[: list(found).index("memo")]  # behind them is what caches hold
    assert [
        name for name in costs if "``" not in found[name] and "by definition" not in found[name]
    ] == []


# Numbers at the top of a module that are no limits: why, and in a file their names. In these folders there are no limits.
FORMATS = {
    "backend/flags.py": "bits: DIVIDE OVERFLOW UNDERFLOW INVALID NEGATIVE_POWER",
    "backend/llvm/types.py": "bits: SETTLED",
    "backend/llvm/cache.py": "files: format, blocks, days: FORMAT LARGEST _DIGEST _BLOCK _DAY _TURN _written",
    "backend/llvm/compile.py": "LLVM's levels: _QUICK _BEST",
    "backend/llvm/entry.py": "bits: _ALL",
    "backend/llvm/fold.py": "the order of additions: STEPS _DEPTH _SPARE",
    "backend/llvm/rows.py": "the order of additions: STREAMS QUARTER",
    "backend/llvm/integers.py": "bits of numbers: _MAGIC _MAGIC_BITS _LIFTED _LIFTED_BITS _BYTES",
    "backend/llvm/levels.py": "names: NEST ROW ELEMENT",
    "backend/llvm/nest.py": "bytes of a line of the cache: _LINE",
    "backend/llvm/transcendental.py": "numbers of a formula: _SMALLEST _LARGEST _AROUND",
    "backend/llvm/worker_loops.py": "offsets in memory: MOST_PARTICIPANTS LINE HEADER TEAM SPIN BITE",
    "backend/llvm/workers.py": "microseconds: SPIN_MICROSECONDS _LONGEST_SPIN",
    "backend/memory.py": "pages and lines of the machine's memory: ALIGNMENT _MAPPED _HUGE _LARGE _WAITING _TINY",
    "backend/numpy/nest.py": "a name: _COMPARED",
    "cli/": "seconds, and what people read",
    "collective/products.py": "a name: _NONE",
    "comm/": "messages: bytes, seconds, and tags",
    "context/": "seconds, bits, and what people read",
    "dataflow/": "what people read, and pictures",
    "execute/messages.py": "bytes of a line of the cache: _ALIGNED",
    "execute/program.py": "bits, and what people read: _MASK _LAST",
    "explaining/": "what people read",
    "functions/blocks.py": "no number at all: infinity: LOCAL",
    "graph/": "numbers that are reserved, and pictures",
    "interchange/": "what others may send, in bytes and entries",
    "layout/picture.py": "a picture: _SIDE _MOST",
    "lazy/deferred.py": "references: _HOLDERS",
    "lazy/drawing.py": "the sequence of random numbers: BLOCK LEAP",
    "lazy/pending.py": "bits: _MASK",
    "lazy/pieces.py": "bits: _MASK",
    "lazy/showing.py": "bits: _WRITABLE",
    "ops/fingerprint.py": "bits: _MASK",
    "plan/exchange.py": "bits: _BITS",
    "startup.py": "seconds, and what people read: PAUSE EXIT_FUNCTIONS LONGEST_TEXT",
}


def numbers(text):
    """The names at the top of a module that are assigned numbers."""
    for statement in ast.parse(text).body:
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
            try:
                value = eval(ast.unparse(statement.value), {"__builtins__": {}})
            except Exception:
                continue
            values = value if isinstance(value, tuple) else (value,)
            if values and all(type(each) in (int, float) for each in values):
                targets = getattr(statement, "targets", None) or [statement.target]
                for name in [n for target in targets for n in ast.walk(target)]:
                    if isinstance(name, ast.Name):
                        yield name.id


def test_limits_stand_nowhere_else():
    """A new number at the top of a module is a limit, and belongs to the others; or the list above excuses it."""
    home = ROOT / "src" / "atoll"
    folders = tuple(name for name in FORMATS if name.endswith("/"))
    outside = []
    for path in sorted(home.rglob("*.py")):
        name = path.relative_to(home).as_posix()
        if name != "policy.py" and not name.startswith(folders):
            excused = FORMATS.get(name, "").rpartition(": ")[2].split()
            outside += [(name, n) for n in numbers(path.read_text()) if n not in excused]
    assert outside == []


def test_numbers_at_the_top_of_a_module_are_seen():
    text = "A = 1 << 3\nB: int = 64\nC, D = 3, 1.5\nE = 'x'\nF = frozenset()\nG = (1, 'a')\n"
    assert list(numbers(text)) == ["A", "B", "C", "D"]


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
    with pytest.raises(ValueError, match="chunk must be at least 1"), policy.limited(chunk=0):
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
