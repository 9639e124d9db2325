"""Named errors: one root, and NumPy's or Python's classes where they say the same."""

from __future__ import annotations

import inspect
import pickle

import pytest

from atoll import errors
from atoll.errors import AtollError, ProtocolError

NAMED = [
    value
    for value in vars(errors).values()
    if inspect.isclass(value) and value.__module__ == errors.__name__
]


@pytest.mark.parametrize("kind", NAMED)
def test_one_root(kind: type[Exception]) -> None:
    assert issubclass(kind, AtollError | UserWarning)
    assert kind.__doc__


@pytest.mark.parametrize(
    ("name", "familiar"),
    [
        ("ConfigError", ValueError),
        ("LaunchError", RuntimeError),
        ("CommunicationError", RuntimeError),
        ("WaitTimeoutError", TimeoutError),
        ("WorldError", ValueError),
        ("LayoutError", ValueError),
        ("ProtocolError", ValueError),
    ],
)
def test_familiar_classes_catch_them(name: str, familiar: type[Exception]) -> None:
    with pytest.raises(familiar, match="why"):
        raise getattr(errors, name)("why")


@pytest.mark.parametrize("kind", NAMED)
def test_errors_travel_between_ranks(kind: type[Exception]) -> None:
    again = pickle.loads(pickle.dumps(kind("the rule, the value and the place")))
    assert type(again) is kind
    assert str(again) == "the rule, the value and the place"


def test_violations_travel_too() -> None:
    error = ProtocolError("two rules broken", ["first", "second"])
    assert error.violations == ("first", "second")
    assert pickle.loads(pickle.dumps(error)).violations == ("first", "second")


@pytest.mark.parametrize("kind", [k for k in NAMED if issubclass(k, errors.AtollError)])
def test_errors_say_themselves_how_they_travel(kind: type[errors.AtollError]) -> None:
    """Dask has exceptions that do not say so pickled in a way that fails for those of two bases."""
    assert kind("a rule").__reduce__()[:2] == (kind, ("a rule",))
