"""Classes that answer NumPy's functions themselves hear of the functions of the module that they were written with."""

import textwrap

import pytest

from atoll.config import config

DIAGONAL = """
    TABLE = {}
    def implements(function):
        return lambda ours: TABLE.setdefault(function, ours)
    class Diagonal(np.lib.mixins.NDArrayOperatorsMixin):
        def __init__(self, n, value):
            self.n, self.value = n, value
        def __array__(self, dtype=None, copy=None):
            return self.value * np.eye(self.n, dtype=dtype)
        def __array_ufunc__(self, ufunc, method, *inputs, **options):
            log.append((ufunc.__name__, ufunc is np.add, ufunc in (np.sqrt, np.negative), method, sorted(options)))
            if method != "__call__":
                return NotImplemented
            numbers = [i.value if type(i) is Diagonal else i for i in inputs]
            if not all(isinstance(i, (int, float)) for i in numbers):
                return NotImplemented
            return Diagonal(self.n, float(ufunc(*numbers, **options)))
        def __array_function__(self, function, types, args, options):
            log.append((function.__name__, function is np.mean, types == (Diagonal,)))
            return TABLE.get(function, lambda *args, **options: NotImplemented)(*args, **options)
    for name in ("sum", "stack", "vstack", "concatenate", "zeros_like", "asarray"):
        implements(getattr(np, name))(lambda *args, name=name, **options: "own " + name)
    implements(np.linalg.norm)(lambda d: d.value)
    implements(np.fft.fft)(lambda d: "own fft")
    d = Diagonal(3, 2.0)
"""
UNITS = """
    class Unit(np.ndarray):
        def __new__(cls, values, unit):
            made = np.asarray(values, float).view(cls)
            made.unit = unit
            return made
        def __array_finalize__(self, parent):
            self.unit = getattr(parent, "unit", "")
        def __array_ufunc__(self, ufunc, method, *inputs, out=None, **options):
            log.append((ufunc.__name__, ufunc is np.add, ufunc in {np.multiply: 1}, method, sorted(options)))
            plain = [np.asarray(i) if isinstance(i, Unit) else i for i in inputs]
            if out is not None:
                options["out"] = tuple([np.asarray(o).view(np.ndarray) for o in out])
            if ufunc is np.multiply:
                return Unit(getattr(ufunc, method)(*plain, **options), "product")
            return getattr(ufunc, method)(*plain, **options)
    d = Unit([1.0, 2.0, 4.0], "m")
"""
CALLS = {
    DIAGONAL: (
        "d + 1", "-d", "np.add(d, d)", "2 * d", "np.sqrt(d)", "d + np.arange(3)", "np.arange(3) + d", "np.add.reduce(d)",
        "np.add.outer(d, 1)", "np.sum(d)", "np.mean(d)", "np.stack([d, d])", "np.vstack([d, d])", "np.concatenate((d, d))",
        "np.zeros_like(d)", "np.linalg.norm(d)", "np.fft.fft(d)", "np.asarray(d)", "np.array([d, d])", "np.array(d)",
        "np.asarray([1], like=d)", "np.sum([d])", "np.cumsum(d)", "np.float64(3) * d",
    ),
    UNITS: (
        "d + 1", "2 * d", "(d * d).unit", "np.add(d, d)", "d.sum()", "d.max()", "d.min(0)", "d.prod()", "d.any()", "d.all()",
        "np.add.reduce(d)", "np.multiply.accumulate(d)", "d == d", "np.sqrt(d)",
    ),
}  # fmt: skip


def _answers(module, setup, call):
    names = {"log": [], "__name__": "a_program"}
    exec(f"import {module} as np\n" + textwrap.dedent(setup), names)
    names["log"].clear()
    try:
        result = eval(call, names)
    except Exception as error:
        asked = names["log"][:1]  # it may be asked again before
        return type(error).__name__, "NotImplemented" in str(error), asked
    shown = getattr(result, "value", result)
    if hasattr(shown, "tolist"):
        shown = str(shown.dtype), shown.tolist()
    return type(result).__name__, shown, names["log"]


@pytest.mark.parametrize("small", [0, 30_000])
@pytest.mark.parametrize("setup", CALLS, ids=["own", "subclass"])
def test_a_class_is_asked_by_the_functions_that_it_knows(setup, small):
    with config(small=small):
        for call in CALLS[setup]:
            assert _answers("atoll", setup, call) == _answers("numpy", setup, call), call


def test_a_class_that_knows_numpy_only_is_asked_by_numpys_functions():
    import atoll

    names = {"log": []}
    exec("import numpy as np\n" + textwrap.dedent(DIAGONAL), names)
    assert atoll.sum(names["d"]) == "own sum"
    assert atoll.add(names["d"], 1).value == 3
    assert names["log"][-1][1]
