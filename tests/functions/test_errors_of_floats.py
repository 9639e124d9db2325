"""``errstate``: what floating-point errors do inside it, and to work recorded before it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import warnings

import numpy
import pytest

import atoll
from atoll.config import config


@pytest.fixture(params=(0, 30_000), autouse=True)
def small(request):
    with config(small=request.param):
        yield


def test_raise_raises_at_the_call():
    a = atoll.array([1.0, 0.0])
    with atoll.errstate(divide="raise"):
        with pytest.raises(FloatingPointError, match="divide by zero"):
            1 / a
        with pytest.raises(FloatingPointError):
            atoll.log(a)
        b = a.copy()
        with pytest.raises(FloatingPointError):
            b /= a * 0
    assert a.tolist() == [1, 0]


def test_ignore_ignores_what_is_recorded_inside():
    a = atoll.array([1.0, 0.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with atoll.errstate(all="ignore"):
            b = 1 / a
        assert b.tolist() == [1, float("inf")]


def test_work_from_before_keeps_its_own_rules():
    a = atoll.array([1.0, 0.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        b = 1 / a
        with atoll.errstate(all="raise"):
            assert b[1] == numpy.inf


def test_as_a_decorator_and_globally():
    @atoll.errstate(invalid="raise")
    def root(x):
        return atoll.sqrt(x)

    a = atoll.array([-1.0])
    with pytest.raises(FloatingPointError):
        root(a)
    old = atoll.seterr(invalid="raise")
    try:
        with pytest.raises(FloatingPointError):
            atoll.sqrt(a)
    finally:
        atoll.seterr(**old)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert numpy.isnan(atoll.sqrt(a)[0])


def test_sync_evaluates_everything():
    a = atoll.arange(5.0) + 1
    b = a * 2
    atoll.sync()
    assert all(x._np is not None or x._cell.node.value is not None for x in (a, b))


def warned(function):
    """The warnings of a call, as text and line counted from the line of ``def`` (numpy's or ours)."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        function()
    first = function.__code__.co_firstlineno
    return [(str(one.message), one.filename, one.lineno - first) for one in seen]


def test_whoever_collects_warnings_has_them_at_the_call():
    a, b = atoll.array([1.0, 0.0]), atoll.array([0.0, 0.0])

    def program():
        a / b
        x = atoll.log(b)
        x += 1
        x *= -numpy.inf * b

    found = warned(program)
    assert [text for text, *_ in found] == [
        "divide by zero encountered in divide",
        "invalid value encountered in divide",
        "divide by zero encountered in log",
        "invalid value encountered in multiply",
    ]
    if config.small == 0:
        assert [(name, line) for _, name, line in found] == [(__file__, n) for n in (1, 1, 2, 4)]


def test_a_filter_that_makes_errors_raises_at_the_call():
    a = atoll.array([1.0, 0.0])
    zero = a * 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="divide by zero encountered in divide"):
            1 / a
        with pytest.raises(RuntimeWarning, match="invalid value"):
            zero / zero
        assert (a + 1).tolist() == [2, 1]
    assert a.tolist() == [1, 0]


def shown(program, tmp_path, *options):
    """What a program in a file of its own writes to standard error: the lines that it warns of."""
    file = tmp_path / "program.py"
    file.write_text(program)
    done = subprocess.run(
        [sys.executable, *options, str(file)], capture_output=True, text=True, timeout=50, check=False,
        env=os.environ | {"ATOLL_SMALL": str(config.small)},
    )  # fmt: skip
    found = re.findall(r"^(.*):(\d+): (\w+): (.*)$", done.stderr, flags=re.M)
    assert all(name == str(file) for name, *_ in found), done.stderr
    return [(int(line), text) for _, line, _, text in found], done


def test_each_line_warns_once_and_names_itself(tmp_path):
    program = """import atoll as np
a, z = np.ones(8), np.zeros(8)
for k in range(3):
    y = a / z
    float(y[0])
y = a / z
float(y[0])
y = np.sqrt(-(a + z))
float(y[0])
y = np.sqrt(-(a + z).sum())
float(y)
"""
    found, done = shown(program, tmp_path)
    assert done.returncode == 0, done.stderr
    assert found == [
        (4, "divide by zero encountered in divide"),
        (6, "divide by zero encountered in divide"),
        (8, "invalid value encountered in sqrt"),
        (10, "invalid value encountered in sqrt"),
    ]


def test_warnings_that_are_errors_from_the_start(tmp_path):
    program = """import atoll as np
a, z = np.ones(8), np.zeros(8)
try:
    a / z
except RuntimeWarning:
    print("raised")
"""
    found, done = shown(program, tmp_path, "-W", "error")
    assert (found, done.stdout) == ([], "raised\n"), done.stderr


def test_the_rules_of_the_call_hold_whenever_it_is_computed():
    a, z = atoll.array([1.0, 2.0]), atoll.array([0.0, 0.0])
    with warnings.catch_warnings(record=True) as seen:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            silent, later = a / z, z / z
        assert silent.tolist() == [numpy.inf, numpy.inf]
        a + z
        assert numpy.isnan(later).all()
        with numpy.errstate(all="ignore"):
            silent = a / z
        assert silent.tolist() == [numpy.inf, numpy.inf]
        with atoll.errstate(divide="ignore"):
            silent = a / z
            a + z
        assert silent.tolist() == [numpy.inf, numpy.inf]
    assert [str(one.message) for one in seen] == []


def test_numpys_own_errstate_is_noticed():
    a = atoll.array([1.0, 0.0])
    before = 2 * a
    with numpy.errstate(divide="raise"), pytest.raises(FloatingPointError):
        1 / a
    assert before.tolist() == [2, 0]


def test_what_is_recorded_before_stricter_rules_only_warns():
    a, z = atoll.array([1.0]), atoll.array([0.0])
    with config(small=0), warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("default", RuntimeWarning)
        y = a / z
        with atoll.errstate(all="raise"):
            assert y[0] == numpy.inf
    assert len(seen) <= 1


def test_other_warnings_of_numpys_name_the_line_of_the_user():
    def program():
        numpy.nanmean(atoll.array([numpy.nan]))
        atoll.array([1j, 2.0]).astype(float)

    found = warned(program)
    assert len(found) == 2
    if config.small == 0:
        assert [(name, line) for _, name, line in found] == [(__file__, 1), (__file__, 2)]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("y", [0.0, -0.0, numpy.inf, -numpy.inf, 1.0])
def test_the_angle_of_nothing_and_of_infinity_is_numpys_and_warns_of_nothing(dtype, y, recwarn):
    for x in (0.0, -0.0, numpy.inf, -numpy.inf, -1.0):
        a, b = atoll.full(40_000, y, dtype=dtype), atoll.full(40_000, x, dtype=dtype)
        found = numpy.asarray(atoll.arctan2(a, b) * atoll.ones(1, dtype))
        expected = numpy.arctan2(numpy.full(3, y, dtype), numpy.full(3, x, dtype))
        numpy.testing.assert_allclose(found[:3], expected, rtol=1e-6)
        numpy.testing.assert_array_equal(numpy.signbit(found[:3]), numpy.signbit(expected))
    assert [str(one.message) for one in recwarn] == []


def test_a_product_is_not_blamed_for_the_angle_beside_it(recwarn):
    zero = atoll.zeros((200, 200))
    atoll.sync()
    float((atoll.arctan2(zero * 2.0, zero * 3.0)).sum())
    assert [str(one.message) for one in recwarn] == []


def test_other_rules_leave_zeros_without_memory():
    with atoll.config(small=1000):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            float((atoll.ones(5000) + 1)[3])
        a = atoll.zeros((1 << 20, 1 << 14))
        assert float((a[4:8, 2:5] + 1).sum()) == 12


def test_an_assignment_is_recorded_when_it_is_the_first_under_other_rules():
    with config(small=0):
        x = atoll.full((40, 50), 3.0)
        x._evaluate()
        with atoll.errstate(all="ignore"):
            before = atoll.ones(5000) + 1
        x[:, :5] = 0
        assert atoll.explain(x).state == "pending"
        assert atoll.explain(before).state == "evaluated"
        assert x[7, 3:7].tolist() == [0, 0, 3, 3]


OPERATIONS = (
    "r = a / z", "r = 1 / z", "r = np.exp(big)", "r = np.exp(-big)", "r = tiny * tiny", "r = np.log(a)", "r = big * big", "big *= 10", "a /= z",
    "f *= f", "r = i // j", "i //= j", "r = i % j", "r = m @ m", "r = c * c", "r = abs(c)", "r = np.sqrt(a)", "r = a**0.5",
    "r = a[:40, None] / z[:40]", "r = np.multiply(big, big, big)", "z[1:] /= z[1:]", "r = np.maximum(a, 1 / z)",
)  # fmt: skip


def effects(np, operation, rules, n):
    """What a program sees of an operation: the values, errors, warnings and calls."""
    line, calls = numpy.linspace(-3, 3, n), []
    names = {
        "a": line,
        "z": 0 * line,
        "big": 0 * line + 1e308,
        "tiny": 0 * line + 1e-308,
        "f": (0 * line + 3e38).astype("f4"),
    }
    names |= {
        "i": numpy.arange(n),
        "j": numpy.zeros(n, int),
        "m": numpy.full((3, 3), 1e200),
        "c": 0 * line + 1e308 * (1 + 1j),
    }
    names = {"np": np} | {name: np.array(value) for name, value in names.items()}
    seen = []
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("error" if rules == "error" else "always")
        given = {"all": "warn"} if rules == "error" else {"all": rules}
        with np.errstate(**given, call=lambda *told: calls.append(told)):
            try:
                exec(compile(operation, "<operation>", "exec"), names)
            except Exception as error:
                seen.append((type(error), str(error)))
    del names["np"]
    values = {
        name: numpy.asarray(value).tobytes() for name, value in names.items() if name[0] != "_"
    }
    return {
        "errors": seen,
        "warnings": [(str(each.message), each.lineno) for each in shown],
        "calls": calls,
    } | values


@pytest.mark.parametrize("operation", OPERATIONS)
def test_few_elements_have_the_effects_that_they_have_in_numpy(operation):
    for rules in ("warn", "ignore", "raise", "call", "error"):
        for n in (3, 50, 5000):
            with config(small=30_000):
                found, expected = (
                    effects(atoll, operation, rules, n),
                    effects(numpy, operation, rules, n),
                )
            assert found.keys() == expected.keys()
            for name, value in found.items():
                assert value == expected[name], (name, rules, n)
