"""NumPy on every core of a machine and every machine of a cluster."""

import os
import sys
from importlib import import_module, reload
from typing import Any

from . import started as started  # first: it sets variables that the others read
from . import startup

# isort: split

from ._version import __version__ as __version__
from .front import boundary

launches = started.launches and "launches" not in globals()  # for the first time
if not launches:
    from .comm.world import World as World
    from .comm.world import ranks_per_node
    from .comm.world import use as use
    from .comm.world import world as world
    from .config import config as config
    from .context.statistics import reset_stats as reset_stats
    from .context.statistics import stats as stats
    from .context.tracebacks import guard, guarded
    from .functions import coverage as coverage
    from .functions import names
    from .functions.foreign import from_distarray as from_distarray
    from .functions.foreign import from_local as from_local
    from .functions.foreign import from_partitioned as from_partitioned
    from .interchange.numba import register as register_with_numba
    from .layout import Block as Block
    from .layout import Cyclic as Cyclic
    from .layout import Layout as Layout
    from .layout import Undistributed as Undistributed
    from .layout import Unstructured as Unstructured
    from .layout import set_default_size, set_ranks_per_node
    from .lazy.flags import Flags
    from .lazy.flat import flatiter
    from .lazy.pending import sync as sync

    set_default_size(lambda: world.size)
    set_ranks_per_node(ranks_per_node)

    for public in (flatiter, Flags, config, world):
        guarded(public)
    register_with_numba(names["ndarray"])
    del public, register_with_numba
    guard(sys.modules[__name__])
    globals().update(names)  # NumPy's names; submodules of the same names would hide some


LATE = {
    "checkpoint": "functions.storing",
    "check_distarray": "interchange.distarray",
    "check_partitioned": "interchange.partitioned",
    "DaskPartitions": "interchange.dask",
    "explain": "explaining",
    "from_dask": "functions.clusters",
    "from_ray": "functions.clusters",
    "load_hdf5": "files.hdf5",
    "load_zarr": "files.zarr",
    "model": "modelling",
    "profile": "profiling",
    "onesided": "global_access.onesided",
    "copy_between": "global_access.groups",
    "distribution": "global_access.regions",
    "tasks": "global_access.tasks",
    "RayPartitions": "interchange.ray",
    "restore": "functions.storing",
    "save_hdf5": "files.hdf5",
    "save_zarr": "files.zarr",
    "to_dask": "functions.clusters",
    "to_distarray": "interchange.distarray",
    "to_partitioned": "interchange.partitioned",
    "to_ray": "functions.clusters",
}
"""Names by the module that they come from, which is imported when the program asks for one."""


@boundary
def __getattr__(name: str) -> Any:
    if launches:
        # the modules that are imported now look for names here, as at the first import
        del globals()["__getattr__"]
        return getattr(reload(sys.modules[__name__]), name)
    if name in LATE:
        home = import_module(f"{__name__}.{LATE[name]}")
        guard(home)
        value = globals()[name] = guarded(getattr(home, name))
        return value
    if name in ("dataflow", "graph"):
        return import_module(f"{__name__}.{name}")
    if name in ("load_ipython_extension", "unload_ipython_extension"):
        return getattr(import_module(f"{__name__}.notebook"), name)
    from .functions import late

    return late(name)


OWN: tuple[str, ...] = (
    "Block", "Cyclic", "Layout", "Undistributed", "Unstructured", "World", "config", "coverage", "dataflow", "errors",
    "from_distarray", "from_local", "from_partitioned", "graph", "reset_stats", "stats", "sync", "use", "world", *LATE,
)  # fmt: skip
"""The public names that NumPy does not have; their types are in ``stubs/own.pyi``."""

if not launches:
    __all__ = sorted({*coverage(), *OWN})


def __dir__() -> list[str]:
    special = [name for name in globals() if name.startswith("__")]
    return sorted({*__all__, *special})


if startup.PROFILE in os.environ and not startup.is_own_command():
    import_module(f"{__name__}.profiling.whole").begin(os.environ.pop(startup.PROFILE))
