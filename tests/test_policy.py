"""Each limit has a sentence and a measurement, is read somewhere, and is the only place where its number stands."""

import ast
import re
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path

import pytest

import atoll
from atoll import policy
from atoll.context.caches import Memo, Recent, remembered

from .engine import small_limits

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
    costs = list(found)[: list(found).index("entries")]  # behind them is what caches hold
    assert [
        name for name in costs if "``" not in found[name] and "by definition" not in found[name]
    ] == []


# Numbers at the top of a module that are no limits: in these folders all of them, elsewhere those of these names.
FOLDERS = {
    "cli/": "seconds, and what people read",
    "comm/": "messages: bytes, seconds, and tags",
    "context/": "seconds, bits, and what people read",
    "dataflow/": "what people read, and pictures",
    "explaining/": "what people read",
    "files/": "formats, and indices listed at a time",
    "graph/": "numbers that are reserved, and pictures",
    "interchange/": "what others may send, in bytes and entries",
    "modelling/": "what operations cost, and what people read",
    "notebook/": "seconds, and what people read",
    "profiling/": "what people read",
}
NAMES = {
    "bits": "ALONE DIVIDE INVALID LENT NEGATIVE_POWER OVERFLOW PLACE SETTLED UNDERFLOW _ALL _BITS _MASK _WRITABLE",
    "files: format, blocks, days": "FORMAT LARGEST _BLOCK _DAY _DIGEST _TURN _written",
    "LLVM's levels": "_BEST _QUICK",
    "the order of additions": "COLUMNS QUARTER STEPS STREAMS _DEPTH _SPARE",
    "bits of numbers": "_BYTES _LIFTED _LIFTED_BITS _MAGIC _MAGIC_BITS",
    "names": "ELEMENT NEST ROW",
    "bytes of a line of the cache": "_ALIGNED _LINE",
    "the order of eliminations, which decides digits": "_BLOCKS _NARROW _ROWS _STRIPS",
    "numbers of a formula": "_AROUND _EXACT _LARGEST _SMALLEST",
    "offsets in memory": "HEADER LINE MOST_PARTICIPANTS SPIN TEAM _ALONE _ARGUMENT _ASLEEP _BITE _CALLER_SLEEPS _END _FUNCTION _LAST_ALONE "
    "_PARTICIPANTS _STATE",
    "arguments of a system call": "_ALL _WAIT _WAKE",
    "microseconds": "SPIN_MICROSECONDS",
    "pages and lines of the machine's memory": "ALIGNMENT _HUGE _LARGE _MAPPED _TINY _WAITING",
    "the form of a message": "IN_FRONT _FRONT _HEAD",
    "a name": "_COMPARED _NONE",
    "bits, and what people read": "_LAST _MASK",
    "no number at all: infinity": "LOCAL",
    "a picture": "_MOST _SIDE",
    "references": "_HOLDERS",
    "tables whose length ranks agree on": "IN_FRONT _COUNTERS",
    "the sequence of random numbers": "BLOCK LEAP",
    "what people read": "_LONGEST _NAMES",
    "flags of the buffer protocol": "_FORMAT",
    "seconds, and what people read": "EXIT_FUNCTIONS LONGEST_TEXT PAUSE",
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


@pytest.mark.slow
def test_limits_stand_nowhere_else():
    """A new number at the top of a module is a limit, and belongs to the others; or the list above excuses it."""
    home = ROOT / "src" / "atoll"
    excused = " ".join(NAMES.values()).split()
    outside = []
    for path in sorted(home.rglob("*.py")):
        name = path.relative_to(home).as_posix()
        if name != "policy.py" and not name.startswith(tuple(FOLDERS)):
            outside += [(name, n) for n in numbers(path.read_text()) if n not in excused]
    assert outside == []


def test_numbers_at_the_top_of_a_module_are_seen():
    text = "A = 1 << 3\nB: int = 64\nC, D = 3, 1.5\nE = 'x'\nF = frozenset()\nG = (1, 'a')\n"
    assert list(numbers(text)) == ["A", "B", "C", "D"]


def test_each_limit_is_read():
    text = "".join([path.read_text() for path in (ROOT / "src").rglob("*.py")])
    unread = [name for name in sentences() if not re.search(rf'limits\.{name}\b|\("{name}"', text)]
    assert unread == []


@pytest.mark.slow
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
    with policy.limited(entries=4):
        memo, recent = Memo(), Recent("plans_dropped")
        twice = remembered(lambda n: calls.append(n) or 2 * n)
        before = atoll.stats()
        for n in range(10):
            memo[n] = recent[n] = n
            assert memo.only(n, -1) == n
            assert twice(n) == twice(n) == 2 * n
            assert memo.get(n) == recent.get(n) == n
            assert len(memo) <= 4
            assert len(recent) <= 4
        after = atoll.stats()
    assert calls == list(range(10))
    assert list(recent) == [6, 7, 8, 9]
    assert after.plans_dropped - before.plans_dropped == 6
    assert after.caches_full - before.caches_full == 4


def test_blocks_of_several_threads_end_in_any_order():
    default = policy.limits
    first, second = policy.limited(pieces=7), policy.limited(pending=9)
    first.__enter__()
    second.__enter__()
    assert (policy.limits.pieces, policy.limits.pending) == (7, 9)
    first.__exit__(None, None, None)
    assert policy.limits == replace(default, pending=9)
    second.__exit__(None, None, None)
    assert policy.limits == default


def test_the_campaigns_draw_limits_that_exist():
    assert small_limits.LEAST.keys() <= {field.name for field in fields(policy.limits)}
