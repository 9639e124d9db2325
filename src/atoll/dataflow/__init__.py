"""Message-passing dataflow graphs: sends and receives are nodes, and parts compute without communication."""

import sys as _sys

from ..context import tracebacks as _tracebacks
from ..errors import CommunicationCycleError as CommunicationCycleError
from ..errors import CommunicationTagError as CommunicationTagError
from ..errors import DeferredValueError as DeferredValueError
from ..errors import DistributedPartitionVerificationError as DistributedPartitionVerificationError
from ..errors import DuplicateRecvError as DuplicateRecvError
from ..errors import DuplicateSendError as DuplicateSendError
from ..errors import MessageMismatchError as MessageMismatchError
from ..errors import MissingRecvError as MissingRecvError
from ..errors import MissingSendError as MissingSendError
from ..errors import MixedArraysError as MixedArraysError
from ..errors import PartitionInducedCycleError as PartitionInducedCycleError
from .collectives import make_distributed_allgather as make_distributed_allgather
from .collectives import make_distributed_allreduce as make_distributed_allreduce
from .collectives import make_distributed_alltoall as make_distributed_alltoall
from .execute import execute_distributed_partition as execute_distributed_partition
from .messages import number_distributed_tags as number_distributed_tags
from .nodes import AxesT as AxesT
from .nodes import CommTagType as CommTagType
from .nodes import DataWrapper as DataWrapper
from .nodes import DictOfNamedArrays as DictOfNamedArrays
from .nodes import DistributedRecv as DistributedRecv
from .nodes import DistributedSend as DistributedSend
from .nodes import DistributedSendRefHolder as DistributedSendRefHolder
from .nodes import ImplStored as ImplStored
from .nodes import Placeholder as Placeholder
from .nodes import ShapeType as ShapeType
from .nodes import Tag as Tag
from .nodes import make_data_wrapper as make_data_wrapper
from .nodes import make_dict_of_named_arrays as make_dict_of_named_arrays
from .nodes import make_distributed_recv as make_distributed_recv
from .nodes import make_distributed_send as make_distributed_send
from .nodes import make_distributed_send_ref_holder as make_distributed_send_ref_holder
from .nodes import make_placeholder as make_placeholder
from .nodes import staple_distributed_send as staple_distributed_send
from .partition import find_distributed_partition as find_distributed_partition
from .picture import get_dot_graph as get_dot_graph
from .picture import show as show
from .picture import show_dot_graph as show_dot_graph
from .program import generate_code_for_partition as generate_code_for_partition
from .records import CommunicationDepGraph as CommunicationDepGraph
from .records import CommunicationOpIdentifier as CommunicationOpIdentifier
from .records import DistributedGraphPart as DistributedGraphPart
from .records import DistributedGraphPartition as DistributedGraphPartition
from .verify import verify_distributed_partition as verify_distributed_partition

_tracebacks.guard(_sys.modules[__name__])
