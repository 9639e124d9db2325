"""The reasons for the planner's decisions, as ``atoll.explain`` prints them.

The deciding code gives the reason; only the first reason counts.
"""

from __future__ import annotations

Reasons = dict[int, str]
"""The nodes, by id, to which something applies, each with the first reason."""

# Why a node is stored, and not computed in the loops that read it.
WANTED = "its value is wanted"
REDUCTION = "it is a reduction"
SEEN = "it is assigned, and the array is still seen"
ASSIGNED = "it is assigned, and other ranks may still see the array"
EVERYWHERE = "every rank has it, and may have it already"
SHIFTED = "it is read at several shifts"
REPEATED = "it is repeated by broadcasting"
UNMAPPED = "it is read through a view that a loop's index cannot follow"
PARTLY_READ = "it is assigned, and read through a view"
OVERWRITTEN = "part of it is assigned"
ASSIGNED_ON = "it is assigned, and then assigned"
NO_BOX = "it is assigned through a mask, or to a region that is no box"
GROWN = "one kernel would have more than {operations} operations or {streams} streams"
FOR_NUMPY = "NumPy reads it"
FOR_RANKS = "a collective operation reads it"
SCATTERED = "ranks hold no intervals of it"
ENTANGLED = "it is assigned where it is read, at other indices"

# Why NumPy computes it, on whole arrays.
NUMBER = "it is one number"
SMALL = "it has fewer than {elements} elements"
NO_KERNEL = "kernels have no {operation}"
NO_DTYPE = "kernels do not hold {dtype}"
NO_LOOP = "loops over a rank's share cannot do it"
ACROSS = "its elements are brought together from other ranks"
COLLECTIVE = "all ranks compute it together"

# Where an assignment goes.
SHARED = "into a new buffer, since another array has had the old version"
IN_PLACE = "in place: nobody needs the old version"
COPIED = "into a copy of the old version, which is still needed"
NEW_VERSION = "into a new buffer, since the old version is still needed"
NEW_BUFFER = "into a new buffer, since the old version is not in memory"
NEW_ENTANGLED = "into a new buffer, since it reads the array at other indices than it writes"
LOCALLY = "each rank by NumPy, on its share"

# Why a statement does not join a group that comes before it.
NOT_FUSED = "config.fusion is off"
OTHER_STYLE = "that one assigns in place, or runs in NumPy"
OTHER_DOMAIN = "other domain"
OTHER_LAYOUT = "other layout"
OTHER_INDICES = "reads what that one stores at other indices"
UNFINISHED = "reads what that one reduces"
FULL = "one kernel would have too many operations, streams, or results"
