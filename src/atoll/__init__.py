"""NumPy on every core of a machine and every machine of a cluster."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import started as started  # first: it prepares what the others read

# isort: split

from ._version import __version__ as __version__
from .comm.world import World as World
from .comm.world import use as use
from .comm.world import world as world
from .config import config as config
from .context.statistics import reset_stats as reset_stats
from .context.statistics import stats as stats
from .functions import coverage as coverage
from .functions import late, names
from .functions.foreign import from_distarray as from_distarray
from .functions.foreign import from_local as from_local
from .functions.foreign import from_partitioned as from_partitioned
from .layout import Block as Block
from .layout import Cyclic as Cyclic
from .layout import Layout as Layout
from .layout import Undistributed as Undistributed
from .layout import Unstructured as Unstructured
from .layout import set_default_size
from .lazy.syncing import sync as sync

if TYPE_CHECKING:
    from . import dataflow as dataflow
    from . import graph as graph
    from .explaining import explain as explain
    from .files.hdf5 import load_hdf5 as load_hdf5
    from .files.hdf5 import save_hdf5 as save_hdf5
    from .files.zarr import load_zarr as load_zarr
    from .files.zarr import save_zarr as save_zarr
    from .functions.clusters import from_dask as from_dask
    from .functions.clusters import from_ray as from_ray
    from .functions.clusters import to_dask as to_dask
    from .functions.clusters import to_ray as to_ray
    from .functions.storing import checkpoint as checkpoint
    from .functions.storing import restore as restore
    from .global_access.groups import copy_between as copy_between
    from .global_access.onesided import onesided as onesided
    from .global_access.queries import distribution as distribution
    from .global_access.tasks import tasks as tasks
    from .interchange.dask import DaskPartitions as DaskPartitions
    from .interchange.distarray import check_distarray as check_distarray
    from .interchange.distarray import to_distarray as to_distarray
    from .interchange.partitioned import check_partitioned as check_partitioned
    from .interchange.partitioned import to_partitioned as to_partitioned
    from .interchange.ray import RayPartitions as RayPartitions

set_default_size(lambda: world.size)

globals().update(names)  # NumPy's names; some would be hidden by rooms that are called the same


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
    "onesided": "global_access.onesided",
    "copy_between": "global_access.groups",
    "distribution": "global_access.queries",
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


def __getattr__(name: str) -> Any:
    if name == "graph":
        return import_module(f"{__name__}.graph")
    if name in LATE:
        value = globals()[name] = getattr(import_module(f"{__name__}.{LATE[name]}"), name)
        return value
    if name == "dataflow":
        return import_module(f"{__name__}.dataflow")
    return late(name)


OWN: tuple[str, ...] = (
    "Block", "Cyclic", "Layout", "Undistributed", "Unstructured", "World", "config", "coverage", "dataflow", "errors",
    "from_distarray", "from_local", "from_partitioned", "graph", "reset_stats", "stats", "sync", "use", "world", *LATE,
)  # fmt: skip
"""The public names that NumPy does not have."""

__all__ = sorted({*coverage(), *OWN})


def __dir__() -> list[str]:
    special = [name for name in globals() if name.startswith("__")]
    return sorted({*__all__, *special})
