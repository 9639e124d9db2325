"""Node store: a table of entries that the ranks of a node read or compile once, held by one process of the node.

Thousands of ranks that start together would open the same files thousands of times, and compile the same kernels. So
``atoll run`` lets the ranks of each node meet at a socket. The first rank that requests an entry of the table makes it, by
reading a file or by compiling; the others wait for it. The table does not interpret its entries. Ranks of one program need
the same entries, so each reply brings all new ones along, and a rank that lags behind the others rarely has to ask.

The process that binds the socket first serves the others: the supervisor of a rank (``cli/rank.py``), which has little else
to do. Nothing depends on it: a rank that gets no answer within :data:`PATIENCE` seconds, or whose connection breaks, works
without the table from then on, and so does a process that a rank forks.

Modules. A finder in ``sys.meta_path``, before Python's own for folders, requests the code of a module from the table of the
node. The rank that makes the entry searches and reads as Python does; the others open no file and look into no folder. Modules
in compiled libraries are found likewise, and loaded from their files. Python handles the rest: archives, namespace
packages, modules that do not exist, reloaded modules, and all modules once the program has called
``importlib.invalidate_caches``, as it must if it writes modules itself.

This module imports only what ``cli/rank.py`` can use before the program starts.
"""

from __future__ import annotations

import marshal
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from importlib.machinery import ExtensionFileLoader, ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import spec_from_file_location
from types import CodeType, ModuleType
from typing import TYPE_CHECKING

from .. import system
from .interrupts import passed_on

if TYPE_CHECKING:
    import socket

PATIENCE = 30.0
"""Seconds that a rank waits for an entry which another rank makes."""

LARGEST = 64 << 20
"""The most bytes that the table holds; the oldest entries go first."""

_NEWS = 4 << 20
"""The bytes of new entries that a reply brings along, about."""

_CONNECTING = 2.0
"""Seconds for the first connection."""


class Table:
    """The entries, and the clients that make missing ones."""

    def __init__(self) -> None:
        self._entries: dict[bytes, bytes] = {}
        """By key; empty bytes if no entry could be made."""
        self._makers: dict[bytes, object] = {}
        self._changed = threading.Condition()
        self._size = 0
        self._log: list[tuple[bytes, object]] = []
        """The keys in the order of :meth:`put`, each with its client."""

    def get(self, key: bytes, client: object) -> bytes | None:
        """Wait for an entry; ``None`` if ``client`` is to make it."""
        with self._changed:
            while key in self._makers and self._makers[key] is not client:
                self._changed.wait()
            data = self._entries.get(key)
            if not data:
                self._makers[key] = client
            return data or None

    def news(self, position: int, key: bytes, client: object) -> tuple[int, dict[bytes, bytes]]:
        """Entries of clients other than ``client`` since a position in the log, without ``key``; and the next position."""
        some: dict[bytes, bytes] = {}
        size = 0
        with self._changed:
            while position < len(self._log) and size < _NEWS:
                other, giver = self._log[position]
                data = self._entries.get(other)
                if data and giver is not client and other != key:
                    some[other] = data
                    size += len(data)
                position += 1
        return position, some

    def put(self, key: bytes, data: bytes, client: object) -> None:
        """Store the entry that a client was to make; empty bytes if it could make none."""
        with self._changed:
            self._makers.pop(key, None)
            self._log.append((key, client))
            self._size += len(data) - len(self._entries.pop(key, b""))
            self._entries[key] = data
            while self._size > LARGEST and len(self._entries) > 1:
                oldest = next(iter(self._entries))
                self._size -= len(self._entries.pop(oldest))
            self._changed.notify_all()

    def leave(self, client: object) -> None:
        """Forget a client: others make the entries that it was to make."""
        with self._changed:
            for key in [key for key, maker in self._makers.items() if maker is client]:
                del self._makers[key]
            self._changed.notify_all()


def serve(listener: socket.socket, name: str) -> Callable[[], None]:
    """Answer the ranks of this node in threads, until this process ends; return the function to call then."""
    table = Table()

    def accept() -> None:
        while True:
            connection, _ = listener.accept()
            if system.is_own_user(connection):
                threading.Thread(target=_answer, args=(table, connection), daemon=True).start()
            else:
                connection.close()

    threading.Thread(target=accept, daemon=True).start()
    return lambda: system.remove_socket(name)


def _answer(table: Table, connection: socket.socket) -> None:
    client, position = object(), 0
    try:
        with connection, connection.makefile("rb") as requests:
            while True:
                key, data = marshal.load(requests)
                if data is not None:
                    table.put(key, data, client)
                    continue
                entry = table.get(key, client)
                position, news = table.news(position, key, client)
                connection.sendall(marshal.dumps((entry, news)))
    except (OSError, EOFError):
        return
    finally:
        table.leave(client)


class Store:
    """One rank's connection to the table of its node."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection: socket.socket | None = connection
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._news: dict[bytes, bytes] = {}
        """The entries that earlier replies brought along."""

    def get(self, key: bytes) -> bytes | None:
        """An entry; ``None`` if this rank is to make it and to call :meth:`put`."""
        data = self._news.pop(key, None)
        if data is not None:
            return data
        return self._request(key, None)

    def put(self, key: bytes, data: bytes) -> None:
        """Give an entry to the other ranks; empty bytes if none could be made."""
        self._request(key, data)

    def _request(self, key: bytes, data: bytes | None) -> bytes | None:
        """Give an entry; or request it, if ``data`` is ``None``."""
        if self._process != os.getpid():  # the connection belongs to the rank, not to its child
            return None
        with self._lock:
            connection, self._connection = self._connection, None
            if connection is None:
                return None
            try:
                connection.sendall(marshal.dumps((key, data)))
                entry: bytes | None = None
                if data is None:
                    with connection.makefile("rb") as reply:
                        entry, news = marshal.load(reply)
                    self._news.update(news)
            except (OSError, EOFError) as problem:
                connection.close()
                passed_on(problem)
                return None
            except BaseException:  # interrupted between a request and its reply
                connection.close()
                raise
            self._connection = connection
            return entry


store: list[Store] = []
"""The connection of this rank, if its node has a table."""


def connect(name: str) -> Store | None:
    """Connect this rank to the table of its node; ``None`` without an answer."""
    until = time.monotonic() + _CONNECTING
    while time.monotonic() < until:
        try:
            store[:] = [Store(system.connect(name, PATIENCE))]
            return store[0]
        except OSError:
            time.sleep(0.01)
    return None


def once(key: bytes, make: Callable[[], bytes]) -> bytes:
    """The result of ``make()``, which one rank of the node calls."""
    if not store:
        return make()
    data = store[0].get(key)
    if data is None:
        data = b""
        try:
            data = make()
        finally:
            store[0].put(key, data)
    return data


# Modules


class _Loader(SourceFileLoader):
    """Loads a module whose code is already known; the rest is read from its file as usual."""

    def __init__(self, name: str, path: str, code: CodeType) -> None:
        super().__init__(name, path)
        self._code: CodeType | None = code

    def get_code(self, fullname: str) -> CodeType | None:
        code, self._code = self._code, None
        return super().get_code(fullname) if code is None else code


class NodeFinder:
    """Finds modules in the table of the node."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: set[str] = set()
        """The names requested so far: a module that is imported again is read again."""
        self._ended = False

    def invalidate_caches(self) -> None:
        """Leave all imports to Python from now on: the program may have written modules newer than the table."""
        self._ended = True

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a module, with its loader; ``None`` if another finder is to search for it."""
        if self._ended or target is not None or name in self._known:
            return None
        self._known.add(name)
        folders = [folder or os.getcwd() for folder in (sys.path if path is None else path)]
        key = "\n".join(["module", name, *map(str, folders)]).encode("utf-8", "surrogateescape")
        entry = self._store.get(key)
        if entry is None:
            spec, entry = None, b""
            try:
                spec, entry = _read(name, path)
            finally:
                self._store.put(key, entry)
            return spec
        return _spec(name, *marshal.loads(entry)) if entry else None


def _read(name: str, path: Sequence[str] | None) -> tuple[ModuleSpec | None, bytes]:
    """The spec of a module as Python finds it, and its entry, which is empty if each rank is to load it with Python."""
    spec = PathFinder.find_spec(name, path)
    if spec is None or spec.origin is None:
        return spec, b""
    code = None
    if type(spec.loader) is SourceFileLoader:
        try:
            code = spec.loader.get_code(name)
        except Exception as problem:
            passed_on(problem)
            return spec, b""  # the import reports the error
        if code is None:
            return spec, b""
    elif type(spec.loader) is not ExtensionFileLoader:
        return spec, b""
    content = (spec.origin, spec.submodule_search_locations, code)
    return _spec(name, *content), marshal.dumps(content)


def _spec(
    name: str, origin: str, locations: list[str] | None, code: CodeType | None
) -> ModuleSpec | None:
    loader = ExtensionFileLoader(name, origin) if code is None else _Loader(name, origin, code)
    return spec_from_file_location(
        name, origin, loader=loader, submodule_search_locations=locations
    )


def import_from(store: Store) -> None:
    """Let this rank import modules from the table of its node."""
    places = [k for k, finder in enumerate(sys.meta_path) if finder is PathFinder]
    if places:
        sys.meta_path.insert(places[0], NodeFinder(store))
