"""Random programs as text: lines of NumPy code that run in NumPy and in atoll, compared line by line.

What NumPy answered to each line, or the class of what it raised, is kept beside it. So a program that fails is its
own report, it can be cut down by leaving lines out, and all simulated ranks share it. A line ``v = ...`` is compared
when it runs, exactly; ``w = ...`` to rounding; a line ``a4 = ...`` joins the arrays, which are all compared after the
last line.
"""

from __future__ import annotations

import re
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from types import CodeType
from typing import Any

import numpy

CALLS = re.compile(r"(\w+)\(")
VIEWS = {"reshape", "transpose", "swapaxes", "copy"}


@dataclass
class Line:
    """A line of a program, and what NumPy did with it."""

    text: str
    error: type[BaseException] | None
    value: Any = None


@dataclass
class Program:
    """What was drawn: data to start from, lines, and the arrays as NumPy left them."""

    seed: int
    start: dict[str, numpy.ndarray]
    lines: list[Line]
    arrays: dict[str, Any] = field(default_factory=dict)

    def has_strides(self, name: str) -> bool:
        """True if atoll promises NumPy's strides of an array: the start, views, copies and what ufuncs make."""
        made = [line.text for line in self.lines if line.text.startswith(f"{name} =")]
        calls = [call for text in made for call in CALLS.findall(text)]
        return not any("where=" in text for text in made) and all(
            call in VIEWS or isinstance(getattr(numpy, call, None), numpy.ufunc) for call in calls
        )

    def text(self, upto: int | None = None) -> str:
        """The program as code."""
        data = [
            f"{k} = np.array({v.tolist()}, '{v.dtype.str[1:]}').reshape({v.shape})"
            for k, v in self.start.items()
        ]
        notes = [
            f"{x.text}{f'  # {x.error.__name__}' if x.error else ''}" for x in self.lines[:upto]
        ]
        return f"# seed {self.seed}\n" + "\n".join([*data, *notes])


class Numpys:
    """What a program asks of an array beside NumPy's API, as NumPy does it."""

    @staticmethod
    def moved(array, number):
        return array.copy()

    @staticmethod
    def bumped(array):
        array += 1

    @staticmethod
    def exported(array):
        return numpy.asarray(array)

    @staticmethod
    def everywhere(array):
        return array.copy()

    @staticmethod
    def again(array, protocol):
        return array.copy()

    @staticmethod
    def peeked(value, bits):
        assert isinstance(value, (numpy.ndarray, numpy.generic, int))

    @staticmethod
    def littered(bits):
        return None

    @staticmethod
    def at_once(*calls):
        """What threads find that look at the same time."""
        with ThreadPoolExecutor(len(calls)) as pool:
            return list(pool.map(lambda call: call(), calls))


NUMPYS: dict[str, Any] = {"np": numpy}
NUMPYS |= {
    k: getattr(Numpys, k)
    for k in ("moved", "bumped", "exported", "everywhere", "again", "peeked", "littered", "at_once")
}


@cache
def compiled(line: str) -> CodeType:
    """A line as code, which is the same one each time: what is known of lines is known of their code."""
    return compile(line, "<a line>", "exec")


def run_line(line: str, names: dict[str, Any]) -> tuple[Any, BaseException | None]:
    """What a line raises, or what it gave ``v`` or ``w``."""
    names.pop("v", None)
    names.pop("w", None)
    try:
        with numpy.errstate(all="ignore"):
            exec(compiled(line), names)
    except Exception as error:
        return None, error
    return names.get("v", names.get("w")), None


def replay(seed: int, start: dict[str, numpy.ndarray], texts: list[str]) -> Program:
    """A program of these lines, with what NumPy does with each."""
    names = dict(NUMPYS)
    names |= {k: v.copy() for k, v in start.items()}
    lines = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for text in texts:
            value, error = run_line(text, names)
            kept = value.copy() if isinstance(value, numpy.ndarray) else value
            lines.append(Line(text, type(error) if error else None, kept))
    arrays = {k: v for k, v in names.items() if k[0] in "ae" and k[1:].isdigit()}
    return Program(seed, start, lines, arrays)
