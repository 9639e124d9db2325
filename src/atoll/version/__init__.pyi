# Written by stubs/write.py from NumPy 2.4.6 and stubs/own.pyi: do not edit.
# mypy: disable-error-code="overload-overlap,override,misc,deprecated"
from numpy.version import (
    full_version as full_version,
    git_revision as git_revision,
    release as release,
    short_version as short_version,
    version as version,
)
