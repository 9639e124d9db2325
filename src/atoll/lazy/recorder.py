"""Setup of the native recorder: the slots of nodes, cells and geometries, and the caches of facts about operands.

The recorder in ``_native`` makes the nodes that :mod:`.elementwise`, :mod:`.indexing`, :mod:`.operators` and :mod:`.views` make for
operands of known kinds. It reads the same caches, so both record the same nodes; it leaves unknown kinds to these modules.
"""

from __future__ import annotations

import atexit
import threading
import warnings
from dataclasses import fields
from functools import partial
from zlib import crc32

import numpy as np

from .. import backend, policy
from ..comm.communicator import Traffic
from ..comm.world import _current
from ..config import Config, Settings, config
from ..context import statistics
from ..context.caches import keep
from ..context.call_sites import _numbered, _origins, site_from
from ..context.callees import global_names
from ..context.divergence import asked
from ..context.interrupts import outside
from ..context.threads import _left, catch_up, process_lock, turn
from ..context.tracebacks import shorten
from ..execute.parts import State
from ..execute.program import Program, computed_words
from ..front import native
from ..graph.geometry import Geometry, dense
from ..graph.node import Node, Value, _lay, _marks, new_mark
from ..graph.op import SOURCE
from ..ops.elementwise import FAST_SCALARS, Through, rare_update
from ..ops.placement import Place, placed_view
from ..ops.table import CALL, CAST, COMPRESS, FILL, READ, UPDATE, WHERE
from ..ops.ufuncs import COMPARISONS, COSTS, UNARY, UPDATING
from .conversion import PASSED, from_numpy, memory_geometry, of_node
from .elementwise import apply, known_of
from .evaluation import evaluate, shared, store_line
from .export import asks_class_of_numbers, settle_asked
from .fallback import taken_of
from .float_errors import _held, _variable, calm
from .numpy_evaluation import begun
from .operators import POWERS
from .pending import relieve
from .random_draws import BLOCK
from .rank_operands import entered
from .recipes import learn, recipes
from .replication import priced
from .runs import event_of, flags_reported, rescued
from .views import Cell

_SLOTS: tuple[tuple[type, str], ...] = (
    (Through, "read update update_number rare"),
    (type(calm), "state filters first rules thread"),
    (Config, "_default"),
    (Settings, "small everywhere fusion cache_bytes threads"),
    (Program, "running"),
    (State, "flags done"),
    (statistics.Counters, "_runs"),
    (Place, "is_boxes number world log padded lopsided held_once folds_whole read"),
    (Traffic, " ".join(field.name for field in fields(Traffic))),
)
"""In the order of the enumeration in ``_native/table.h``."""

_OPERATORS = UPDATING | COMPARISONS | UNARY
_UFUNCS = {"square": np.square, "__matmul__": np.matmul} | {
    f"__{place}{name}__": ufunc for name, ufunc in _OPERATORS.items() for place in ("", "i")
}


def install(array_type: type, iterators: type) -> None:
    """Register the Python objects that the native front uses, if it was built; it records from then on."""
    if native is None:
        return
    slots = [vars(kind)[name] for kind, names in _SLOTS for name in names.split()]
    forms = {f"__{name}__": known_of(ufunc) for name, ufunc in _OPERATORS.items()}
    forms |= {f"__i{name}__": known_of(ufunc) for name, ufunc in UPDATING.items() if name != "pow"}
    traces = shared()["traces"]
    native.register(
        tuple(slots),
        # classes
        array_type=array_type, flat_type=iterators, node_type=Node, box_type=Cell, value_type=Value,
        state_type=State, number_types=frozenset(FAST_SCALARS), plain_types=PASSED,
        # operators and functions
        operators={name: getattr(array_type, name) for name in native.operators}, operator_forms=forms, operator_ufuncs=_UFUNCS,
        settled_ufuncs=frozenset({name for name, cost in COSTS.items() if cost.is_settled}), fill=FILL, source=SOURCE,
        call_op=CALL, read_op=READ, update_op=UPDATE, compress_op=COMPRESS, broadcasting_ops=frozenset({CALL, CAST, WHERE}), lay=_lay, entered=entered, rare_update=rare_update,
        powers={number: known_of(ufunc) for number, ufunc in POWERS.items()},
        # state
        world=_current, config=config, settings=config._current, counters=statistics._separate, rules=_variable, calm=calm,
        float_rules=_held, warnings=vars(warnings), main_thread=threading.main_thread(), origins=_origins, numbered=_numbered,
        traces=traces, tried_traces=partial(keep, traces), stored_lines=shared()["stored_lines"], left=_left, turn=turn, recipes=recipes,
        # calls
        shorten=shorten, outside=outside, lock=process_lock, catch_up=catch_up,
        relieve=relieve, from_numpy=from_numpy, taken=taken_of, located=Geometry.lying,
        memory_geometry=memory_geometry, dense=dense, new_mark=new_mark, through=Through,
        held=Cell.held, lend=Cell.lend, settle=Cell.settle, unpin=Cell.unpin, write=Cell.write, settle_asked=settle_asked,
        names_of_call=global_names, asks_class_of_numbers=asks_class_of_numbers, has_threads=lambda: config.threads > 1,
        apply=apply, evaluated=of_node, evaluate=evaluate, learn=learn, site_from=site_from,
        allocate=lambda geometry, wanted: backend.current().allocate(geometry, wanted),
        selected=lambda data, mask: backend.current().selected(data, mask), flags_reported=flags_reported, begun=begun, asked=asked, usual_look="an evaluation", unshared=("shared",), crc32=crc32, partial=partial, computed_words=computed_words, priced=priced, rescued=rescued, store_line=store_line, event_of=event_of, marked=Node.marked, marks=_marks, placed_view=placed_view,
    )  # fmt: skip
    _current.set(_current.get())  # Python looks long for a variable in a context that has none
    statistics._separate.set(statistics._separate.get())
    policy.watch(
        lambda limits: native.limits(
            limits.pending, limits.kernel_operations, limits.patience, limits.cached, limits.held, limits.planned,
            limits.planned / 50, limits.numpy_call, limits.rate / 8, limits.short, limits.whole, 2 * limits.chunk, limits.parallel, limits.whole, limits.vector, BLOCK, limits.pieces, limits.everywhere, limits.entries,
        )
    )  # fmt: skip
    atexit.register(native.record, False)
