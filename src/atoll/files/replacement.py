"""Replacement of a file or folder by a new one, which is written under a temporary name beside it and then renamed.

Until the renaming, only this user can open the replacement. It then has the mode, the owner and, on Linux, the access
control list of the original. An original with further names (hard links), with an owner that cannot be kept, or in a folder
that does not accept new files cannot be replaced: it is written in place.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

from .. import system
from ..comm.world import World
from ..context import log
from ..context.interrupts import passed_on, tolerated
from ..errors import CommunicationError, FileFormatError
from .collective import on_rank_0, settle

ACCESS_LIST = "system.posix_acl_access"


def name_beside(path: str) -> str:
    """A random unused name in the folder of ``path``, with the same suffix."""
    folder, name = os.path.split(path)
    return os.path.join(folder, f".{os.urandom(6).hex()}{os.path.splitext(name)[1]}")


def create(hidden: str, path: str) -> bool:
    """Create the empty file that will replace ``path``. ``False``, and no file, if ``path`` must be written in place."""
    try:
        old = os.stat(path)
    except FileNotFoundError:
        _make(hidden, path, 0o666)
        return True
    if not stat.S_ISREG(old.st_mode):
        raise FileExistsError(errno.EEXIST, "only a plain file is replaced by a new one", path)
    if not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
    if old.st_nlink > 1:
        return False
    try:
        _make(hidden, path, 0o600)
        _keep_owner(hidden, old)
    except PermissionError as error:
        passed_on(error)
        with tolerated(FileNotFoundError):
            os.unlink(hidden)
        return False
    return True


def _make(hidden: str, path: str, mode: int) -> None:
    try:
        os.close(os.open(hidden, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))
    except OSError as error:
        error.filename = path  # the name that the program has passed
        raise


def create_folder(hidden: str, path: str) -> None:
    """Create the empty folder that will replace ``path``."""
    try:
        old = os.stat(path)
    except FileNotFoundError:
        os.mkdir(hidden)
        return
    os.mkdir(hidden, 0o700)
    with tolerated(PermissionError):
        _keep_owner(hidden, old)


def _keep_owner(name: str, old: os.stat_result) -> None:
    new = os.stat(name)
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        os.chown(name, old.st_uid, old.st_gid)


def keep_permissions(name: str, path: str) -> None:
    """Give a file or folder the mode and the access control list of ``path``, if ``path`` exists."""
    with tolerated(FileNotFoundError):
        mode, access = stat.S_IMODE(os.stat(path).st_mode), _access_list(path)
        if access is not None:
            os.setxattr(name, ACCESS_LIST, access)
        elif _access_list(name) is not None:  # inherited from the default list of the folder
            os.removexattr(name, ACCESS_LIST)
        os.chmod(name, mode)


def _access_list(path: str) -> bytes | None:
    try:
        return os.getxattr(path, ACCESS_LIST) if system.has("acl") else None
    except OSError as error:  # no list, or no support in the file system
        passed_on(error)
        return None


def take_name(hidden: str, path: str, *, durable: bool = False) -> None:
    """Rename a complete file to the name of the original."""
    keep_permissions(hidden, path)
    os.replace(hidden, path)
    if durable:
        folder = os.open(os.path.dirname(path) or ".", os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def name_in(error: BaseException, path: str) -> None:
    """Add the name of the file to a system error that has no file name."""
    if isinstance(error, OSError) and error.filename is None and not hasattr(error, "__notes__"):
        error.add_note(f"while writing {path!r}; what had this name before has it still")


class NewFile:
    """A file that all ranks write, each its own part, under a temporary name beside its own.

    It is renamed when all ranks have written their parts. After an error it is removed, and the original stays. A file that
    cannot be replaced (:func:`create`) is written in place. Code that may fail runs in ``with file.attempt():``, after
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

        self.hidden = name = on_rank_0(self.communicator, make, self.what)
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
        on_rank_0(self.communicator, self._appear, self.what)
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
            on_rank_0(self.communicator, self._discard, self.what)
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
