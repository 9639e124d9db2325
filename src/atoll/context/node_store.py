"""Node store: a table of entries that the ranks of a node read or compile once, held by one process of the node.

Thousands of ranks that start together would open the same files thousands of times, and compile the same kernels. So
``atoll run`` lets the ranks of each node meet at a socket. The first rank that requests an entry of the table makes it, by
reading a file or by compiling; the others wait for it. The table does not interpret its entries. Ranks of one program need
the same entries, so each reply brings all new ones along, and a rank that lags behind the others rarely has to ask.

The process that binds the socket first serves the others: the supervisor of a rank (``cli/rank.py``), which has little else
to do. Nothing depends on it: a rank that gets no answer within :data:`PATIENCE` seconds, or whose connection breaks, works
without the table from then on, and so does a process that a rank forks.

This module imports only what ``cli/rank.py`` can use before the program starts.
"""

from __future__ import annotations

import marshal
import os
import threading
import time
from collections.abc import Callable
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
        self._held = 0
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
            self._held += len(data) - len(self._entries.pop(key, b""))
            self._entries[key] = data
            while self._held > LARGEST and len(self._entries) > 1:
                oldest = next(iter(self._entries))
                self._held -= len(self._entries.pop(oldest))
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
