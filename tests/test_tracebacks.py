"""Tracebacks of errors that leave atoll: the user's lines only, whatever way the call has taken."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
import traceback
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import atoll as np
from atoll.config import config
from atoll.context import tracebacks
from atoll.context.sources import ROOT, is_ours
from atoll.errors import AtollError, ConfigError
from atoll.lazy import evaluation, numpy_evaluation, subclasses

CALLS = """
a + b
a @ b
a < b
-numpy.asarray(a).astype("M8[s]") + a
a.reshape(3, 5)
np.reshape(a, (3, 5))
a.transpose(7)
a[1000]
a["x"]
a.__setitem__(1000, 3)
a.__iadd__(b)
a.flat[99999]
a.view("nonsense")
a.item(99999)
a.resize(3, 4, 5, -1)
float(a)
bool(a)
setattr(a, "shape", (3, 3))
np.nonsense
np.config(smal=1)
np.config.smal
setattr(np.config, "small", -1)
np.concatenate([a, b])
numpy.concatenate([a, b])
numpy.add(a, b)
np.add(a, b, out=3)
np.add.reduce(a, 5)
np.sum(a, axis=5)
np.sum(a, foo=5)
np.linalg.inv(np.ones((30, 30)) * 0)
np.load("/nonexistent")
np.save("/nonexistent/x.npy", a)
np.einsum("ij,jk", a, b)
np.apply_along_axis(fails, 0, a)
np.fromfunction(fails, (100, 100))
np.random.default_rng(3).normal(size=-1)
np.random.normal(size=-1)
np.random.default_rng("x")
np.mgrid[1:3, "x"]
np.stack(5)
np.Layout((3, -1))
np.Block(-1)
np.world.group([5])
np.explain(3)
np.from_local(3, 4)
np.dataflow.send(3)
np.onesided(3)
np.zeros((3, -1))
np.zeros((1000, -1))
np.ones(1000, dtype="nonsense")
np.fft.fft(a, axis=9)
np.vectorize(fails)(b)
""".strip().splitlines()  # fmt: skip
"""Expressions that fail because of what the user wrote."""


def fails(*args: Any, **options: Any) -> Any:
    raise LookupError("in a function of the user's")


@pytest.fixture(autouse=True)
def short() -> Iterator[None]:
    with config(traceback="short", small=10):
        yield


def raised_by(text: str) -> BaseException:
    names = {"np": np, "numpy": numpy, "fails": fails, "a": np.ones((100, 100)), "b": np.ones(7)}
    try:
        eval(compile(text, "program.py", "eval"), names)
    except Exception as error:
        return error
    raise AssertionError(f"{text} raises nothing")


def files(error: BaseException) -> list[str]:
    return [frame.f_code.co_filename for frame, _ in traceback.walk_tb(error.__traceback__)]


def hidden(error: BaseException) -> None:
    """No frame of atoll's is in a traceback, the user's are, and what came before is not told."""
    shown = files(error)
    assert "program.py" in shown
    assert not any(map(is_ours, shown)), "".join(traceback.format_exception(error))
    assert tracebacks.DEFECT not in getattr(error, "__notes__", ())
    if error.__context__ is not None:
        assert not any(map(is_ours, files(error.__context__)))


@pytest.mark.parametrize("text", CALLS)
def test_frames_of_atoll_are_hidden(text: str) -> None:
    error = raised_by(text)
    hidden(error)
    assert ("fails" in text) == ("in a function of the user's" in str(error))


def test_frames_are_hidden_on_the_front_in_python() -> None:
    """The same without C, where each public function is a function of Python's."""
    code = (
        "from tests.test_tracebacks import *\nfrom atoll import front\nassert front.native is None\n"
        "np.config.small, np.config.traceback = 10, 'short'\n"
        "for text in CALLS: hidden(raised_by(text))\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300, env={**_environment(), "ATOLL_FRONT": "python"})  # fmt: skip


def _environment() -> dict[str, str]:
    import os

    return dict(os.environ)


def test_all_frames_on_request() -> None:
    with config(traceback="full"):
        assert any(map(is_ours, files(raised_by("a.view(3)"))))


def test_causes_and_contexts_stay() -> None:
    a = np.ones((100, 100))

    def while_handling() -> None:
        try:
            raise KeyError("the user's own")
        except KeyError:
            a.reshape(3, 5)

    def with_cause() -> None:
        try:
            a.reshape(3, 5)
        except ValueError as error:
            raise RuntimeError("again") from error

    with pytest.raises(ValueError, match="cannot reshape") as caught:
        while_handling()
    assert isinstance(caught.value.__context__, KeyError)
    with pytest.raises(RuntimeError) as raised:
        with_cause()
    assert isinstance(raised.value.__cause__, ValueError)
    with pytest.raises(ConfigError) as wrong:
        config.small = "many"  # type: ignore[assignment]
    assert wrong.value.__suppress_context__ or wrong.value.__context__ is None


def test_functions_of_the_user_stay() -> None:
    error = raised_by("np.apply_along_axis(lambda row: np.reshape(row, 7), 0, a)")
    shown = [file for file in files(error) if file == "program.py"]
    assert len(shown) == 2
    hidden(error)


def in_atoll(source: str) -> Callable[..., Any]:
    """A function that seems to stand in a file of atoll's."""
    names: dict[str, Any] = {}
    exec(compile(source, f"{ROOT}lazy/subclasses.py", "exec"), names)
    return names["wrong"]  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    "source",
    [
        "def wrong(*args): return None.nonsense",
        "def wrong(*args): return nonsense",
        "def wrong(*args): assert False",
        "def wrong(*args): return {}['x']",
        "def wrong(*args): return [][0]",
        "def wrong(*args): return None + 1",
        "def wrong(*args): return wrong2()\ndef wrong2(x): pass",
        "def wrong(*args): raise NotImplementedError",
    ],
)
def test_defects_keep_all_frames(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subclasses, "viewed", in_atoll(source))
    error = raised_by("a.view(3)")
    assert sum(map(is_ours, files(error))) >= 2
    assert error.__notes__ == [tracebacks.DEFECT]


@pytest.mark.parametrize(
    "source",
    [
        "def wrong(*args): raise AttributeError('said on purpose')",
        "def wrong(*args): raise KeyError('said on purpose')",
        "def wrong(*args): return int('x')",
        "def wrong(*args): raise KeyboardInterrupt",
        "import json\ndef wrong(*args): return json.loads('{')",
    ],
)
def test_no_defects(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subclasses, "viewed", in_atoll(source))
    a = np.ones((100, 100))
    with pytest.raises(BaseException) as caught:  # noqa: PT011
        a.view(3)
    assert not any(map(is_ours, files(caught.value)))
    assert not hasattr(caught.value, "__notes__")


def test_an_operation_that_fails_later_names_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """The traceback has the line that needs the value, and a note names the line that recorded the operation."""
    monkeypatch.setattr(evaluation, "_prepared", in_atoll("def wrong(*args): return 1 / 0"))
    wrong = in_atoll("def wrong(*args): raise ValueError('of the value')")
    monkeypatch.setattr(numpy_evaluation, "_computed", wrong)
    error = raised_by("[x := a * 2.5,\n float(x[5, 5])]")
    hidden(error)
    (note,) = error.__notes__  # the first operation fails: a * 2.5, or what made a
    assert re.fullmatch(r"The operation was recorded at (program|test_tracebacks).py:\d+, and computed when program.py:2 needed its value.", note)  # fmt: skip


def public() -> Iterator[tuple[str, Any]]:
    for module in (np, np.linalg, np.fft, np.random, np.dataflow):
        for name in dir(module):
            if not name.startswith("_"):
                yield f"{module.__name__}.{name}", getattr(module, name)


def test_every_public_function_is_a_boundary() -> None:
    for name, value in public():
        code = getattr(value, "__code__", None)
        if code is not None and is_ours(code.co_filename):
            assert hasattr(value, "_is_boundary"), name
        elif isinstance(value, type) and value.__module__.startswith("atoll") and not issubclass(value, AtollError | tuple):  # fmt: skip
            for method, function in vars(value).items():
                if type(function) is types.FunctionType and not method.startswith("_"):
                    assert hasattr(function, "_is_boundary"), f"{name}.{method}"


def test_modules_that_are_imported_by_themselves_have_boundaries_too() -> None:
    code = "from atoll.dataflow import make_placeholder as f; from atoll.graph import show as g; f._is_boundary, g._is_boundary"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=100)


def test_public_functions_are_pickled_by_name() -> None:
    for name in ("explain", "load", "from_local", "save_zarr", "sync", "checkpoint", "sum"):
        function = getattr(np, name)
        assert pickle.loads(pickle.dumps(function)) is function
