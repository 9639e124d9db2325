"""A digest of the C sources of the native front: the build writes it into the module, and the import compares.

Without NumPy or anything else of atoll, because ``hatch_build.py`` runs this file before anything is installed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_native")


def sources() -> Iterator[str]:
    """The paths of the C sources, in order."""
    for name in sorted(os.listdir(FOLDER)):
        if name.endswith((".c", ".h")):
            yield os.path.join(FOLDER, name)


def digest() -> str:
    """Digest of the current C sources in ``_native``."""
    import hashlib

    total = hashlib.sha256()
    for path in sources():
        with open(path, "rb") as file:
            total.update(file.read())
    return total.hexdigest()[:16]


def is_stale(module: str, built_from: str) -> bool:
    """True if the extension ``module`` was built from sources that differ from those in ``_native``.

    The function reads the sources only if one is newer than the module, so an import usually costs a few system calls.
    """
    try:
        built = os.stat(module).st_mtime_ns
        times = [os.stat(path).st_mtime_ns for path in sources()]
        return any(time > built for time in times) and digest() != built_from
    except OSError:  # a package without its sources, or inside an archive
        return False
