"""NumPy on every core of a machine and every machine of a cluster."""

import sys
from typing import TYPE_CHECKING, Any

from . import started as started  # first: it prepares what the others read

# isort: split

from . import graph as graph
from ._version import __version__ as __version__
from .array import namespace
from .comm.world import World as World
from .comm.world import use as use
from .comm.world import world as world
from .config import config as config
from .functions import coverage as coverage
from .functions import late, names
from .functions.foreign import from_distarray as from_distarray
from .functions.foreign import from_local as from_local
from .interchange.distarray import check_distarray as check_distarray
from .interchange.distarray import to_distarray as to_distarray
from .layout import Block as Block
from .layout import Cyclic as Cyclic
from .layout import Layout as Layout
from .layout import Undistributed as Undistributed
from .layout import Unstructured as Unstructured
from .layout import set_default_size
from .recording.cells import sync as sync
from .run.statistics import reset_stats as reset_stats
from .run.statistics import stats as stats

if TYPE_CHECKING:
    from .explaining import explain as explain

set_default_size(lambda: world.size)

globals().update(names)  # NumPy's names; some would be hidden by rooms that are called the same
namespace.append(sys.modules[__name__])


def __getattr__(name: str) -> Any:
    if name == "explain":  # nobody pays for explanations who does not ask for them
        from .explaining import explain

        globals()[name] = explain
        return explain
    return late(name)
