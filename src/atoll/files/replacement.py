"""Replacement of a file or folder by a new one, which is written under a temporary name beside it and then renamed.

Until the renaming, only this user can open the replacement. It then has the mode, the owner and, on Linux, the access
control list of the original. An original with further names (hard links), with an owner that cannot be kept, or in a folder
that does not accept new files cannot be replaced: it is written in place.
"""

from __future__ import annotations

import errno
import os
import stat

from .. import system
from ..context.interrupts import passed_on, tolerated

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
