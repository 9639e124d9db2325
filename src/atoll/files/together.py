"""Collective file operations: errors are raised on all ranks, and a new file appears when it is complete."""

from __future__ import annotations

import errno
import os
import pickle
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self, TypeVar

from ..comm.communicator import Communicator
from ..comm.in_step import agree, bcast_object
from ..comm.world import World
from ..context import log
from ..context.interrupts import passed_on, tolerated
from ..errors import AtollError, CommunicationError, FileFormatError
from .replacement import create, create_folder, keep_permissions, name_beside, name_in, take_name

Result = TypeVar("Result")


def settle(
    communicator: Communicator, error: Exception | None, what: str, facts: Any = None
) -> Any:
    """The ``facts`` of all ranks, in rank order; an error on any rank is raised on every rank. Collective.

    A rank with an error raises its own; the others raise the error of the first such rank. A note names the failed ranks.
    """
    reports = agree(communicator, (_sendable(error), facts), what)
    failed = [rank for rank, (told, _) in enumerate(reports) if told is not None]
    if not failed:
        return [given for _, given in reports]
    told = reports[failed[0]][0] if error is None else error
    if len(failed) < communicator.size:
        ranks = f"rank{'s' * (len(failed) > 1)} {', '.join(map(str, failed))}"
        told.add_note(f"raised on {ranks} of {communicator.size}, in {what}")
    raise told


def everywhere(communicator: Communicator, what: str, action: Callable[[], Result]) -> list[Result]:
    """Run an action and return the results of all ranks; a failure on any rank is raised on every rank. Collective."""
    error, result = None, None
    try:
        result = action()
    except Exception as raised:
        error = raised
    return settle(communicator, error, what, result)  # type: ignore[no-any-return]


def locally(communicator: Communicator, what: str, action: Callable[[], Result]) -> Result:
    """Run an action and return the result of this rank; a failure on any rank is raised on every rank. Collective."""
    results: list[Result] = []
    everywhere(communicator, what, lambda: results.append(action()))
    return results[0]


def _sendable(error: Exception | None) -> Exception | None:
    """The error, or an ``AtollError`` with its text if it cannot be pickled."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception as problem:
        passed_on(problem)
        return AtollError(f"{type(error).__name__}: {error}")
    return error


@contextmanager
def opened(communicator: Communicator, path: str, what: str) -> Iterator[int]:
    """Open a file for reading and yield its descriptor; a failure on any rank is raised on every rank. Collective."""
    descriptor = -1

    def open_it() -> None:
        nonlocal descriptor
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    try:
        locally(communicator, what, open_it)
        yield descriptor
    finally:
        if descriptor >= 0:
            os.close(descriptor)


class NewFile:
    """A file that all ranks write, each its own part, under a temporary name beside its own.

    It is renamed when all ranks have written their parts. After an error it is removed, and the original stays. A file that
    cannot be replaced (:mod:`.replacement`) is written in place. Code that may fail runs in ``with file.attempt():``, after
    which the rank continues; the error is raised on all ranks at the end. Entering and leaving are collective.
    """

    def __init__(self, world: World, path: str, what: str, *, durable: bool = False) -> None:
        self.communicator = world.communicator
        self.path = path
        self.what = what
        self.descriptor = -1
        self.error: Exception | None = None
        self.hidden = ""
        """Path under which the file is written: a temporary name, or its own."""
        self._durable = durable
        self._beside = ""
        """On rank 0, the temporary file that a failure removes; empty if there is none."""

    @property
    def is_first(self) -> bool:
        """True if this rank writes headers and directories, which belong to no rank."""
        return self.communicator.rank == 0

    def _create(self, name: str) -> bool:
        return create(name, self.path)

    def _open(self, name: str) -> None:
        mode = os.O_TRUNC if self.is_first else 0
        self.descriptor = os.open(name, os.O_RDWR | os.O_CLOEXEC | mode)

    def __enter__(self) -> Self:
        try:
            self._enter()
        except BaseException:
            self._discard()
            raise
        return self

    def _enter(self) -> None:
        def make() -> str:
            self._beside = name_beside(self.path)
            if not self._create(self._beside):
                self._beside = ""
            return self._beside or self.path

        self.hidden = name = done(self.communicator, make, self.what)
        error: Exception | None = None
        try:
            self._open(name)
        except FileNotFoundError:
            error = FileFormatError(
                f"{self.what}: rank {self.communicator.rank} does not see the file that rank 0 has created in "
                f"{os.path.dirname(name)}; ranks write one file together, so its folder must be on a file system that all share"
            )
        except OSError as raised:
            error = raised
        self._settle(error)

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """Defer an error to the end, so that this rank makes the same collective calls as the others."""
        try:
            yield
        except CommunicationError:
            raise
        except Exception as error:
            if self.error is None:
                self.error = error

    def settle(self, facts: Any = None) -> Any:
        """The facts of all ranks. A deferred error of any rank removes the file and is raised on every rank. Collective."""
        return self._settle(self.error, facts)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if error is None:
                self._finish()
        finally:
            self._discard()

    def _finish(self) -> None:
        with self.attempt():
            self._close()
        self._settle(self.error)
        done(self.communicator, self._appear, self.what)
        log.files.info("%s has written %s", self.what, self.path)

    def _close(self) -> None:
        if self._durable:
            os.fsync(self.descriptor)
        descriptor, self.descriptor = self.descriptor, -1
        os.close(descriptor)

    def _settle(self, error: Exception | None, facts: Any = None) -> Any:
        if error is not None and self.hidden != self.path:
            name_in(error, self.path)
        try:
            return settle(self.communicator, error, self.what, facts)
        except CommunicationError:
            raise
        except Exception:
            done(self.communicator, self._discard, self.what)
            raise

    def _appear(self) -> None:
        if self._beside:
            take_name(self._beside, self.path, durable=self._durable)
            self._beside = ""

    def _discard(self) -> None:
        with tolerated(OSError):
            if self.descriptor >= 0:
                os.close(self.descriptor)
        self.descriptor = -1
        if self._beside:
            with tolerated(OSError):
                self._remove(self._beside)
            self._beside = ""

    def _remove(self, name: str) -> None:
        os.unlink(name)


class NewFolder(NewFile):
    """A new folder, written like a :class:`NewFile`. It replaces only an empty folder or one that contains a file ``proof``."""

    def __init__(self, world: World, path: str, what: str, proof: str) -> None:
        super().__init__(world, path, what)
        self._proof = proof

    def _create(self, name: str) -> bool:
        if os.path.lexists(self.path):
            is_alike = os.path.exists(os.path.join(self.path, self._proof))
            if not os.path.isdir(self.path) or (os.listdir(self.path) and not is_alike):
                raise FileExistsError(
                    errno.EEXIST,
                    f"{self.what} replaces only a folder that is empty or has a {self._proof}",
                    self.path,
                )
        create_folder(name, self.path)
        return True

    def _open(self, name: str) -> None:
        os.listdir(name)

    def _close(self) -> None:
        pass

    def _appear(self) -> None:
        keep_permissions(self._beside, self.path)
        if os.path.lexists(self.path):  # no system call replaces a folder that is not empty
            old = name_beside(self.path)
            os.mkdir(old, 0o700)
            os.replace(self.path, os.path.join(old, "old"))
            os.replace(self._beside, self.path)
            shutil.rmtree(old)
        else:
            os.replace(self._beside, self.path)
        self._beside = ""

    def _remove(self, name: str) -> None:
        shutil.rmtree(name)


def done(communicator: Communicator, action: Callable[[], Any], what: str) -> Any:
    """Run an action on rank 0 and return its result, or raise its error, on every rank. Collective."""
    error, result = None, None
    if communicator.rank == 0:
        try:
            result = action()
        except Exception as raised:
            error = raised
    told, result = bcast_object(communicator, (_sendable(error), result), 0, what)
    if told is not None:
        raise told if error is None else error
    return result
