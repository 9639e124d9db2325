"""Encoding of checkpoint values as JSON: numbers, strings, containers, and the state of random generators; no pickles."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

PLAIN = (bool, int, float, str, type(None))
STREAMS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")

Generators = Callable[[Any, bool], Any]
"""Function that makes a generator from a bit generator; its second argument is true for a ``RandomState``."""


def encoded(value: Any, path: str) -> Any:
    """Encode a value in the types of JSON; errors name it ``path``."""
    if type(value) in PLAIN:
        return value
    if type(value) is list:
        return [encoded(part, f"{path}[{k}]") for k, part in enumerate(value)]
    if type(value) is tuple:
        return {"tuple": [encoded(part, f"{path}[{k}]") for k, part in enumerate(value)]}
    if isinstance(value, Mapping):
        pairs = [
            [encoded(key, path), encoded(part, f"{path}[{key!r}]")] for key, part in value.items()
        ]
        return {"dict": pairs}
    if type(value) is complex:
        return {"complex": [value.real, value.imag]}
    if type(value) is bytes:
        return {"bytes": b64encode(value).decode()}
    if isinstance(value, np.generic) and not value.dtype.hasobject and value.dtype.names is None:
        return {"number": [value.dtype.str, b64encode(value.tobytes()).decode()]}
    if isinstance(value, np.random.Generator | np.random.RandomState):
        old = isinstance(value, np.random.RandomState)
        stream: Any = value._bit_generator if old else value.bit_generator  # type: ignore[union-attr]
        if type(stream).__name__ in STREAMS:
            state = value.get_state(legacy=False) if old else stream.state  # type: ignore[union-attr]
            return {"generator": [old, type(stream).__name__, _state(state)]}
    kind = type(value)
    raise TypeError(
        f"checkpoint: {path} is a {kind.__module__}.{kind.__qualname__}, which a checkpoint does not keep, as it has no pickles; "
        "it keeps arrays that are named at the call, numbers, strings, bytes, None, NumPy's scalars and random generators, "
        "and lists, tuples and dictionaries of these: convert the value, and convert it back after atoll.restore"
    )


def _state(state: Any) -> Any:
    """Encode the state of a bit generator: dictionaries of numbers and arrays of numbers."""
    if isinstance(state, Mapping):
        return {name: _state(part) for name, part in state.items()}
    if isinstance(state, np.ndarray):
        return {"array": [state.dtype.str, state.tolist()]}
    return state.item() if isinstance(state, np.generic) else state


def random_state() -> Any:
    """The encoded state of NumPy's global generator, from which ``np.random.rand`` and similar functions draw."""
    return _state(np.random.get_state(legacy=False))


def set_random_state(state: Any) -> None:
    """Set NumPy's global generator to a state from :func:`random_state`."""
    np.random.set_state(_stream_state(state))


def _stream_state(state: Any) -> Any:
    if not isinstance(state, dict):
        return state
    if state.keys() == {"array"}:
        return np.array(state["array"][1], state["array"][0])
    return {name: _stream_state(part) for name, part in state.items()}


def decoded(value: Any, generators: Generators) -> Any:
    """Decode a value from :func:`encoded`."""
    if isinstance(value, list):
        return [decoded(part, generators) for part in value]
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "tuple":
        return tuple([decoded(part, generators) for part in content])
    if kind == "dict":
        return {decoded(key, generators): decoded(part, generators) for key, part in content}
    if kind == "complex":
        return complex(*content)
    if kind == "bytes":
        return b64decode(content)
    if kind == "number":
        return np.frombuffer(b64decode(content[1]), np.dtype(content[0]))[0]
    if kind == "generator" and content[1] in STREAMS:
        old, name, state = content
        stream = getattr(np.random, name)(0)
        generator = generators(stream, old)
        if old:
            generator.set_state(_stream_state(state))
        else:
            stream.state = _stream_state(state)
        return generator
    raise ValueError(f"a value of kind {kind!r} is unknown")
