"""Checkpoints: the arrays and values of a program in a file that appears when it is whole, with checksums of everything.

A checkpoint is a ``.npz`` archive that NumPy can read, with a description in JSON behind its arrays. The description has the values, without pickles, and the
state of random generators.
"""

from __future__ import annotations

import json
import os
import re
import zipfile
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .. import policy
from ..comm import launcher
from ..comm.world import World, current_world
from ..context.interrupts import passed_on, tolerated
from ..errors import FileFormatError
from ..lazy.agreement import in_step
from ..lazy.views import Handle
from .archive import Sum, Writer, merged, share, sum_in_file
from .collective import display, on_rank_0, open_file
from .npy import Header, path_for, read, read_header, same_header
from .npz import damaged
from .replacement import NewFile

NAME = re.compile(r"checkpoint-(\d{6,})\.npz")
_LEFT_OVER = re.compile(r"\.[0-9a-f]{12}\.npz")
DESCRIPTION = "checkpoint.json"
FORMAT, VERSION = "atoll checkpoint", 1
PLAIN = (bool, int, float, str, type(None))
STREAMS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")

Generators = Callable[[Any, bool], Any]
"""Function that makes a generator from a bit generator; its second argument is true for a ``RandomState``."""


@display("writing")
def checkpoint(path: Any, /, *, keep: int = 2, durable: bool = True, **state: Any) -> str:
    """Write arrays and values into a new checkpoint in the folder ``path``, and return the name of its file. Collective.

    The checkpoint appears when it is whole: a job that is killed leaves those before it. The last ``keep`` of them stay.
    Arrays may be distributed in any way. Values may be numbers, strings, bytes, ``None``, random generators, and lists,
    tuples and dictionaries of these. The state of ``np.random`` is kept as well. With ``durable``, the data is on the
    disk when the function returns; without it, a crash of the machine, but not of the job, may lose the checkpoint.
    :func:`atoll.restore` reads it on any number of ranks.
    """
    if type(keep) is not int or keep < 1:
        raise ValueError(f"checkpoint: keep is {keep!r}; it must be an integer of at least 1")
    world, folder = current_world(), path_for("checkpoint", path, "the path of a folder")
    arrays = {
        name: value for name, value in state.items() if isinstance(value, Handle | np.ndarray)
    }
    for name, value in arrays.items():
        if value.dtype.hasobject:  # type: ignore[union-attr]
            raise TypeError(
                f"checkpoint: {name} is an array of Python objects, which a checkpoint does not keep, as it has no pickles; "
                "use a dtype of a fixed size"
            )
    values = {name: encoded(value, name) for name, value in state.items() if name not in arrays}
    if world.size > 1:
        in_step(world, "checkpoint", folder, state)
    number = on_rank_0(world.communicator, lambda: _next_number(folder), "checkpoint")
    target = os.path.join(folder, f"checkpoint-{number:06d}.npz")
    with NewFile(world, target, "checkpoint", durable=durable) as file:
        writer = Writer(world, file)
        for name, value in arrays.items():
            writer.add(f"{name}.npy", value)
        writer.share()
        if file.is_first:
            facts = {
                "format": FORMAT, "version": VERSION, "values": values, "numpy.random": random_state(),
                "arrays": {
                    name: {"start": member.start, "size": member.size, "sums": merged(member.sums, policy.limits.held)}
                    for name, member in zip(arrays, writer.members, strict=True)
                },
            }  # fmt: skip
            writer.finish((DESCRIPTION, json.dumps(facts).encode()))
    if world.rank == 0:
        launcher.tell(launcher.KEPT)
    on_rank_0(world.communicator, lambda: _forget(folder, number - keep), "checkpoint")
    return target


def _numbers(folder: str) -> list[int]:
    """The numbers of the checkpoints in a folder, in ascending order."""
    return sorted(int(match[1]) for name in os.listdir(folder) if (match := NAME.fullmatch(name)))


def _next_number(folder: str) -> int:
    """The number of the next checkpoint. Removes the unfinished files of killed jobs."""
    os.makedirs(folder, exist_ok=True)
    for name in os.listdir(folder):
        if _LEFT_OVER.fullmatch(name):
            with tolerated(OSError):
                os.unlink(os.path.join(folder, name))
    return max(_numbers(folder), default=0) + 1


def _forget(folder: str, last: int) -> None:
    for number in _numbers(folder):
        if number <= last:
            os.unlink(os.path.join(folder, f"checkpoint-{number:06d}.npz"))


@display("reading")
def restored(
    path: Any, layouts: Mapping[str, Any] | None, generators: Generators
) -> dict[str, Any]:
    """The contents of the last checkpoint of a folder, or of one file; see :func:`atoll.restore`. Collective."""
    world, given = current_world(), path_for("restore", path, "the path of a folder or a file")
    if world.size > 1:
        in_step(world, "restore", given, *[f"{k}: {v!r}" for k, v in (layouts or {}).items()])
    source, facts = on_rank_0(world.communicator, lambda: _newest(given), "restore")
    unknown = set(layouts or ()) - set(facts["arrays"])
    if unknown:
        raise KeyError(
            f"restore: layouts= names {sorted(unknown)}, but the arrays of {source} are {sorted(facts['arrays'])}"
        )
    state = {}
    for name, part in facts["arrays"].items():
        header = _checked(world, source, name, part)
        state[name] = read(world, source, header, (layouts or {}).get(name), "restore")
    try:
        state |= {name: decoded(value, generators) for name, value in facts["values"].items()}
        set_random_state(facts["numpy.random"])
    except (ValueError, KeyError, TypeError) as error:
        raise _no_checkpoint(source, error) from error
    return state


def _newest(path: str) -> tuple[str, Any]:
    """The file of the newest checkpoint, and its description. On one rank."""
    if os.path.isdir(path):
        numbers = _numbers(path)
        if not numbers:
            raise FileNotFoundError(
                f"restore: the folder {path} has no checkpoint; atoll.checkpoint(path, ...) writes them"
            )
        path = os.path.join(path, f"checkpoint-{numbers[-1]:06d}.npz")
    try:
        with zipfile.ZipFile(path) as archive:
            facts = json.loads(archive.read(DESCRIPTION))
        if facts["format"] != FORMAT or facts["version"] > VERSION:
            raise ValueError(f"its format is {facts['format']!r}, version {facts['version']}")
        return path, facts
    except OSError:
        raise
    except Exception as error:
        passed_on(error)
        raise _no_checkpoint(path, error) from error


def _no_checkpoint(path: str, error: Exception) -> FileFormatError:
    return FileFormatError(
        f"{path} is no checkpoint that this version of atoll reads, or is damaged: {type(error).__name__}: {error}; "
        "name an older file of the folder to restore that instead"
    )


def _checked(world: World, path: str, name: str, part: Any) -> Header:
    """Verify the checksums of an array, each rank a share of them, and return its header. Collective."""
    label = f"{path}[{name!r}]"
    error, header = None, None
    with open_file(world.communicator, path, "restore") as descriptor:
        try:
            sums = [Sum(*piece) for piece in part["sums"]]
            for piece in share(sums, world.rank, world.size):
                stop = piece.start + piece.length
                if sum_in_file(descriptor, part["start"], piece.start, stop, label) != piece:
                    raise damaged(f"{label}, bytes {piece.start} to {stop},")
            with open(path, "rb") as file:
                file.seek(part["start"])
                header = read_header(file, label, part["size"])
            if header.offset + header.nbytes != part["start"] + part["size"]:
                raise damaged(label)
        except Exception as raised:
            error = raised
    return same_header(world, label, header, error, "restore")


# Values as JSON


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
