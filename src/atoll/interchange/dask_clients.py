"""Communication with a Dask scheduler that never waits for a lost scheduler.

:func:`ask` runs a method of a client in the client's own loop and checks from time to time whether the scheduler is
alive. :class:`Watch` waits for futures. It ends when all are finished, and fails when one of them fails, when the scheduler
is lost, and when nothing has changed for ``config.wait_abort`` seconds.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, NamedTuple

from ..comm.world import World
from ..config import config
from ..context.interrupts import passed_on
from ..errors import ClusterError, a_type
from .clusters import Position, locally

QUIET = 5.0
"""Seconds without a change after which a watch asks the scheduler whether any worker is busy."""


class Link(NamedTuple):
    """The address of a scheduler, and the security settings of connections to it."""

    address: str
    security: Any


def lost(client: Any) -> ClusterError:
    """The error for a lost scheduler."""
    return ClusterError(
        f"the scheduler at {address_of(client)} is lost (the client is {client.status!r})"
    )


def ask(client: Any, method: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Call a method of the client or of a future and return its result; raises at once if the scheduler is lost."""

    async def call() -> Any:
        # In its own loop, a client returns an awaitable.
        return await method(*arguments, **options)

    what, started = method.__name__, time.monotonic()
    if client.status != "running":
        raise lost(client)
    pending = asyncio.run_coroutine_threadsafe(call(), client.loop.asyncio_loop)
    try:
        while True:
            done, _ = concurrent.futures.wait([pending], timeout=0.25)
            if done:
                break
            if client.status != "running":
                raise lost(client)
            if time.monotonic() - started > config.wait_abort:
                raise ClusterError(
                    f"the cluster at {address_of(client)} did not answer {what} within "
                    f"{config.wait_abort:g} s (wait_abort)"
                )
    finally:
        pending.cancel()
    try:
        return pending.result()
    except (asyncio.CancelledError, concurrent.futures.CancelledError) as error:
        if client.status != "running":
            raise lost(client) from error
        raise ClusterError(
            f"{what}: a partition was cancelled, or its only copy was lost with a worker"
        ) from error
    except Exception as error:
        passed_on(error)
        raise ClusterError(
            f"{what}, cluster at {address_of(client)}: {type(error).__name__}: {error}"
        ) from error


class Watch:
    """A wait for futures, which raises when the wait has become useless."""

    def __init__(self, name: str, client: Any, futures: dict[Position, Any]) -> None:
        self.name, self.client, self.futures = name, client, futures
        self.left = dict(futures)
        self.moved = self.asked = time.monotonic()

    def done(self, seconds: float) -> bool:
        """True if all futures are finished, after a wait of at most ``seconds``."""
        deadline, nap = time.monotonic() + seconds, 0.001
        while True:
            count = len(self.left)
            for place, future in list(self.left.items()):
                status = future.status
                if status == "finished":
                    del self.left[place]
                elif status in ("error", "cancelled"):
                    self._refuse(place, future, status)
            now = time.monotonic()
            if not self.left:
                return True
            if len(self.left) < count:
                self.moved = now
            self.check(now)
            if now >= deadline:
                return False
            time.sleep(min(nap, max(deadline - now, 0.0)))
            nap = min(2 * nap, 0.05)

    def check(self, now: float) -> None:
        if self.client.status not in ("running", "newly-created"):
            raise lost(self.client)
        if now - max(self.moved, self.asked) < min(QUIET, config.wait_abort):
            return
        self.asked = now
        busy = ask(self.client, self.client.processing)
        if any(busy.values()):
            self.moved = now
        elif now - self.moved >= config.wait_abort:
            workers = f"{len(busy)} workers that do nothing" if busy else "no workers"
            raise ClusterError(
                f"{self.name}: nothing moved for {now - self.moved:.0f} s (wait_abort): "
                f"{len(self.left)} of {len(self.futures)} partitions are missing, position "
                f"{min(self.left)} among them, and the cluster at {address_of(self.client)} has {workers}"
            )

    def _refuse(self, place: Position, future: Any, status: str) -> None:
        if status == "cancelled":
            if self.client.status != "running":
                raise lost(self.client)
            raise ClusterError(
                f"{self.name}: position {place}: the partition {future.key!r} was cancelled, or its only "
                "copy was lost with a worker"
            )
        error = ask(self.client, future.exception)
        raise ClusterError(
            f"{self.name}: position {place}: the task failed on the cluster: "
            f"{type(error).__name__}: {error}"
        ) from error


def own_client(given: Any) -> Any:
    """The client that the caller passed, else the current one, else ``None``."""
    try:
        import distributed
    except ImportError:
        return None
    if given is None:
        try:
            given = distributed.Client.current()
        except ValueError:
            return None
    if not isinstance(given, distributed.Client):
        raise TypeError(f"client must be a distributed.Client or an address, not {a_type(given)}")
    return given


def client_of(given: Any, stack: ExitStack) -> Any:
    """The client of this rank; for an address, a new client that ``stack`` closes."""
    return _open(Link(given, None), stack) if isinstance(given, str) else own_client(given)


def _open(link: Link, stack: ExitStack) -> Any:
    import distributed

    try:
        client = distributed.Client(
            link.address, security=link.security, set_as_default=False, name="atoll"
        )
    except Exception as error:
        passed_on(error)
        raise ClusterError(
            f"there is no connection to the scheduler at {link.address} ({type(error).__name__}: {error}); check that it runs there, and that this host reaches it"
        ) from error
    stack.callback(client.close)
    return client


def address_of(client: Any) -> str:
    """The address of the client's scheduler, even if that is lost."""
    return str(client.scheduler.address) if client.scheduler is not None else "unknown"


def link_of(name: str, client: Any) -> Link | None:
    """The link by which other ranks reach the scheduler of ``client``, which must be running; ``None`` without a client."""
    if client is None:
        return None
    if client.asynchronous:
        raise TypeError(
            f"{name}: the client {client!r} is asynchronous, and atoll needs a synchronous one: distributed.Client(address)"
        )
    if client.status != "running":
        raise lost(client)
    security = client.security
    return Link(address_of(client), security if security.require_encryption else None)


def connected(world: World, name: str, link: Link, own: Any, stack: ExitStack) -> Any:
    """A client of the scheduler on each rank: its own if it has one, else one that ``stack`` closes. Collective."""
    same = own is not None and own.status == "running" and address_of(own) == link.address
    return locally(world, name, lambda: own if same else _open(link, stack))


@contextmanager
def published(client: Any, name: str, futures: dict[Position, Any]) -> Iterator[None]:
    """Publish these futures for the block, so that other clients of the scheduler get them as theirs by ``get_dataset``."""
    ask(client, client.publish_dataset, futures, name=name)
    try:
        yield
    finally:
        # A lost scheduler does not have the futures any more.
        with suppress(ClusterError):
            ask(client, client.unpublish_dataset, name)
