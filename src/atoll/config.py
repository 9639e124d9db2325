"""Settings: frozen values, validated by name, read through :data:`config`.

A setting comes from its default, then from the environment (``ATOLL_SMALL=0``), then
from an assignment (``atoll.config.small = 0``), then from the innermost context manager
(``with atoll.config(small=0): ...``). Contexts follow ``contextvars``, so each simulated
rank has its own.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, fields, replace
from functools import partial
from time import monotonic
from typing import Any

from . import policy, system
from .errors import ConfigError
from .front import at_end, entered, left, vary

_counted = [0, 0.0]
"""The number of cores, and when it was counted."""


def available_cores() -> int:
    """The number of cores this process may run on, counted again now and then."""
    now = monotonic()
    if now > _counted[1] + 1.0:
        _counted[:] = system.cores(), now
    return int(_counted[0])


def _integer(minimum: int) -> Callable[[Any], int]:
    def check(value: Any) -> int:
        if isinstance(value, bool):
            raise TypeError
        number = int(value) if isinstance(value, str) else value.__index__()
        if number < minimum:
            raise ValueError
        return int(number)

    return check


_FLAGS = dict.fromkeys(("1", "true", "yes", "on"), True)
_FLAGS |= dict.fromkeys(("0", "false", "no", "off"), False)


def _flag(value: Any) -> bool:
    if isinstance(value, str):
        return _FLAGS[value.strip().lower()]
    if value in (0, 1):
        return bool(value)
    raise TypeError


def _seconds(value: Any) -> float:
    if isinstance(value, bool):
        raise TypeError
    number = float(value)
    if not number > 0:
        raise ValueError
    return number


def _bytes(value: Any) -> int:
    if isinstance(value, str):
        text = value.strip().upper().removesuffix("B").removesuffix("I")
        scale = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}.get(text[-1:], 1)
        number = float(text[:-1] if scale > 1 else text) * scale
        if number < 0 or number != number:
            raise ValueError
        return int(number)
    return _integer(0)(value)


def _choice(*words: str) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        if value not in words:
            raise ValueError
        return str(value)

    return check


def _path(value: Any) -> str:
    text = os.fspath(value)
    if not isinstance(text, str) or not text:
        raise ValueError
    return text


def _features(value: Any) -> str:
    words = [word.strip() for word in value.split(",")]
    if words != ["native"] and not all(len(word) > 1 and word[0] == "-" for word in words):
        raise ValueError
    return ",".join(words)


def _setting(default: Any, rule: Callable[[Any], Any], words: str) -> Any:
    """Settings field with a default, a rule that checks and converts a value, and a description of the valid values."""
    return field(default=default, metadata={"rule": rule, "words": words})


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Settings:
    """One complete set of settings. ``None`` for ``threads`` means: all available cores; for ``everywhere``:
    32 times ``small``; for ``ranks_per_node``: as the hosts tell."""

    threads: int | None = _setting(None, _integer(1), "an integer >= 1")
    small: int = _setting(policy.limits.small, _integer(0), "an integer >= 0 (elements)")
    everywhere: int | None = _setting(None, _integer(0), "an integer >= 0 (elements)")
    fusion: bool = _setting(True, _flag, "true or false")
    cache_bytes: int = _setting(1 << 30, _bytes, "a number of bytes, such as 1000000 or 2GB")
    gather_bytes: int = _setting(1 << 30, _bytes, "a number of bytes, such as 1000000 or 2GB")
    kernel_cache: str = _setting("auto", _path, "'auto', 'off', or a folder")
    cpu_features: str = _setting(
        "native", _features, "'native', or features to do without, such as '-avx512f'"
    )
    wait_check: float = _setting(1.0, _seconds, "a number of seconds > 0")
    wait_report: float = _setting(30.0, _seconds, "a number of seconds > 0")
    wait_abort: float = _setting(300.0, _seconds, "a number of seconds > 0")
    debug: bool = _setting(False, _flag, "true or false")
    backend: str = _setting("llvm", _choice("llvm", "numpy"), "'llvm' or 'numpy'")
    front: str = _setting("native", _choice("native", "python"), "'native' or 'python'")
    traceback: str = _setting("short", _choice("short", "full"), "'short' or 'full'")
    mpi: str = _setting("auto", _choice("auto", "on", "off"), "'auto', 'on' or 'off'")
    ranks_per_node: int | None = _setting(None, _integer(1), "an integer >= 1")


_RULES = {each.name: each.metadata for each in fields(Settings)}
_NAMES = tuple(_RULES)
_VARIABLES = {"ATOLL_NUM_THREADS": "threads", **{f"ATOLL_{name.upper()}": name for name in _NAMES}}
_OPTIONAL = ("threads", "everywhere", "ranks_per_node")


def checked(name: str, value: Any, source: str) -> Any:
    """``value`` in the type of setting ``name``, or a :class:`ConfigError` that names both."""
    if name not in _RULES:
        raise ConfigError(
            f"{source}: there is no setting {name!r}; the settings are {', '.join(_NAMES)}"
        )
    rule = _RULES[name]
    if value is None and name in _OPTIONAL:
        return None
    try:
        return rule["rule"](value)
    except (TypeError, ValueError, KeyError, AttributeError, OverflowError):
        raise ConfigError(f"{source}: {name} must be {rule['words']}, not {value!r}") from None


def from_environment(environ: Mapping[str, str]) -> Settings:
    """Settings from the ``ATOLL_...`` variables of ``environ``; variables of other names are ignored."""
    changes: dict[str, Any] = {}
    for variable, name in _VARIABLES.items():
        if variable in environ:
            changes[name] = checked(name, environ[variable], f"environment variable {variable}")
    return replace(Settings(), **changes)


def warn_of_unknown(environ: Mapping[str, str], stacklevel: int) -> None:
    """Warn of ``ATOLL_...`` variables that are no settings: perhaps one is misspelt, perhaps it is another program's."""
    foreign = [name for name in environ if name.startswith("ATOLL_") and name not in _VARIABLES]
    for variable in sorted(foreign):
        if variable.startswith(("ATOLL_RUN_", "ATOLL_BUILD_")) or variable == system.VARIABLE:
            continue
        from difflib import get_close_matches

        near = get_close_matches(variable[6:], [name[6:] for name in _VARIABLES], 1)
        hint = f"did you mean ATOLL_{near[0]}?" if near else f"there are {', '.join(_VARIABLES)}"
        warnings.warn(
            f"the environment variable {variable} is no setting of atoll's, and is ignored; {hint}",
            RuntimeWarning,
            stacklevel=stacklevel + 1,
        )


def _in_force(settings: Settings) -> None:
    """Let the native front obey settings until nothing refers to them: others were assigned, or their context has ended."""
    entered(settings.small)
    at_end(settings, partial(left, settings.small))


def _everywhere(settings: Settings) -> int:
    said, small = settings.everywhere, settings.small
    return small * policy.limits.everywhere if said is None else max(said, small)


class Config:
    """The settings: read or assign an attribute, or change some for a block by ``with atoll.config(small=0):``."""

    __slots__ = ("_current", "_default")
    _current: ContextVar[Settings]
    _default: Settings

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        object.__setattr__(self, "_current", ContextVar("atoll_settings"))
        object.__setattr__(self, "_default", from_environment(environ))
        _in_force(self._default)

    def settings(self) -> Settings:
        """The whole set in force, as one frozen value."""
        return self._current.get(self._default)

    @property
    def small(self) -> int:
        """Elements up to which an array stays with NumPy: asked at each call, so by the shortest way."""
        return self._current.get(self._default).small

    @property
    def everywhere(self) -> int:
        """Elements up to which a new array is replicated; at least ``small``."""
        return _everywhere(self._current.get(self._default))

    @property
    def results(self) -> int:
        """Elements up to which a result of distributed arrays is replicated: half of ``everywhere``, since they travel to
        all ranks; at least ``small``."""
        settings = self._current.get(self._default)
        return max(settings.small, _everywhere(settings) // 2)

    @property
    def threads(self) -> int:
        """Maximum number of threads of a loop; each launch of a large loop reads it."""
        threads = self._current.get(self._default).threads
        return available_cores() if threads is None else threads

    def __getattr__(self, name: str) -> Any:
        if name not in _RULES:
            raise AttributeError(
                f"there is no setting {name!r}; the settings are {', '.join(_NAMES)}"
            )
        return getattr(self._current.get(self._default), name)

    def __setattr__(self, name: str, value: Any) -> None:
        changed = replace(self.settings(), **{name: checked(name, value, "atoll.config")})
        _in_force(changed)
        try:
            self._current.get()
        except LookupError:
            object.__setattr__(self, "_default", changed)
        else:
            self._current.set(changed)

    def __call__(self, **changes: Any) -> AbstractContextManager[Settings]:
        new = {name: checked(name, value, "atoll.config") for name, value in changes.items()}
        return self._while(new)

    @contextmanager
    def _while(self, changes: dict[str, Any]) -> Iterator[Settings]:
        settings = replace(self.settings(), **changes)
        token = vary(self._current, settings)
        entered(settings.small)
        try:
            yield settings
        finally:
            left(settings.small)
            self._current.reset(token)

    def __dir__(self) -> list[str]:
        return [*_NAMES, "settings"]

    def __repr__(self) -> str:
        return table({name: repr(getattr(self, name)) for name in _NAMES})


def table(rows: Mapping[str, str]) -> str:
    """Names and values, one to a line."""
    width = max(map(len, rows))
    return "\n".join([f"{name:{width}}  {value}" for name, value in rows.items()])


config = Config()
