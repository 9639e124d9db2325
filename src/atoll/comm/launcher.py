"""Detects from the environment, without importing MPI, how this process was started.

Every launcher puts a rank and usually a number of processes into the environment of its processes. Processes that a
rank starts inherit the environment, but are not ranks. Two facts tell them apart: Hydra's socket to its ranks
(``PMI_FD``) is closed in them, and a rank writes its process number into ``ATOLL_RUN_PROCESS`` before it starts any
process (see :func:`claim`).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass

_CLAIM = "ATOLL_RUN_PROCESS"
_FIRST_RESERVED_STEP = 0xFFFFFFF0
"""The first number of the Slurm steps that are no launches (batch, interactive, extern)."""


class End:
    """The end of this process."""

    def __init__(self) -> None:
        self.is_failure = False
        """True once this process ends because of a failure."""
        self.leave: list[Callable[[str], None]] = []
        """Functions to call at the orderly end of this rank with a text that describes the end."""
        self.abort: list[Callable[[BaseException], object]] = []
        """Functions that end all ranks after an error in the exit functions of this one, which no other rank would notice."""


end = End()

listeners: list[Callable[[bytes], None]] = []
"""Functions to call with the progress of this rank: ``atoll run`` listens if it is on this host."""

STARTING, TOGETHER, LEAVING, ORDERLY, KEPT = b"s", b"t", b"l", b".", b"k"
"""This rank waits for MPI to start; it can reach the others; it waits for their ends; its own end is no accident; a checkpoint of
the job is complete."""

TERMINAL = "ATOLL_RUN_TERMINAL"
"""The environment variable by which ``atoll run`` reports that the standard error of ranks reaches a terminal."""

HOW = "has come to its end"
"""The text for the end of a rank that reaches the end of its program, or exits with code 0."""


@dataclass(frozen=True, slots=True)
class Launch:
    """The launch of this process. A field is ``None`` if the launcher does not report its value."""

    launcher: str
    rank: int
    size: int | None
    local_rank: int | None = None
    local_size: int | None = None
    advice: str = ""
    """The advice if MPI does not see the other processes."""


INSTALL = 'install MPI for Python with the same MPI as the launcher: pip install mpi4py mpich (in a clone of atoll also: pip install ".[mpi]")'
_MISMATCH = (
    "mpi4py must use the MPI that the launcher belongs to: run `atoll run`, which finds it, "
    "or start the program by the mpiexec of mpi4py's MPI"
)

_INTERFACE = (
    "tell srun which interface MPI speaks: `srun --mpi=pmi2` for MPICH, "
    "`srun --mpi=pmix` for Open MPI (`srun --mpi=list` shows what there is)"
)


def tell(sign: bytes) -> None:
    """Report the progress of this rank to the listeners."""
    for listener in listeners:
        listener(sign)


def _integer(environ: Mapping[str, str], *names: str) -> int | None:
    """The first of the variables that is set to an integer."""
    for name in names:
        text = environ.get(name, "")
        if text.isascii() and text.isdigit():
            return int(text)
    return None


def _slurm_tasks_per_node(environ: Mapping[str, str]) -> int | None:
    """The number of tasks on this node, from a list such as ``2(x3),1``."""
    text = environ.get("SLURM_STEP_TASKS_PER_NODE") or environ.get("SLURM_TASKS_PER_NODE") or ""
    node = _integer(environ, "SLURM_NODEID") or 0
    for item in text.split(","):
        count, _, repeated = item.partition("(x")
        repeat = repeated.removesuffix(")") or "1"
        if not count.isdigit() or not repeat.isdigit():
            return None
        if node < int(repeat):
            return int(count)
        node -= int(repeat)
    return None


_SLURM = "srun (Slurm)"
_HYDRA = "mpiexec (Hydra)"
_PMI = (
    ("PMI_RANK",),
    ("PMI_SIZE",),
    ("MPI_LOCALRANKID", "PALS_LOCAL_RANKID"),
    ("MPI_LOCALNRANKS", "PALS_LOCAL_SIZE"),
)
_LAUNCHERS: dict[str, tuple[tuple[str, ...], ...]] = {
    "mpiexec (Open MPI)": (
        ("OMPI_COMM_WORLD_RANK",),
        ("OMPI_COMM_WORLD_SIZE",),
        ("OMPI_COMM_WORLD_LOCAL_RANK",),
        ("OMPI_COMM_WORLD_LOCAL_SIZE",),
    ),
    _HYDRA: _PMI,
    _SLURM: (("SLURM_PROCID",), ("SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"), ("SLURM_LOCALID",), ()),
    "a PMI launcher": _PMI,
    "a PMIx launcher": (("PMIX_RANK",), (), (), ()),
}
"""By launcher, the variables of the rank and the size, and of both on this node. The first launcher with a rank counts."""


def _started_by(launcher: str, environ: Mapping[str, str]) -> bool:
    """True if a launcher has started a process that has its rank in the environment."""
    if launcher == _SLURM:
        step = _integer(environ, "SLURM_STEP_ID", "SLURM_STEPID")
        return step is not None and step < _FIRST_RESERVED_STEP
    if launcher == _HYDRA:  # MPICH's mpiexec and its derivatives, which srun may have started
        known = "HYDI_CONTROL_FD" in environ or "MPI_LOCALNRANKS" in environ
        return known and _has_channel(environ)
    if launcher == "a PMI launcher":
        return _has_channel(environ)
    return launcher != "a PMIx launcher" or "PMIX_NAMESPACE" in environ


def _has_channel(environ: Mapping[str, str]) -> bool:
    """True if the socket that the launcher opened for its ranks is open here."""
    descriptor = _integer(environ, "PMI_FD")
    if descriptor is None:
        return True
    try:
        return stat.S_ISSOCK(os.fstat(descriptor).st_mode)
    except OSError:
        return False


def detect(environ: Mapping[str, str] = os.environ) -> Launch | None:
    """The launch of this process, or ``None`` if no launcher started it.

    A shell inside an allocation (``salloc``, ``sbatch``) is not a launch, and neither is a
    process that a rank has started.
    """
    claimed = environ.get(_CLAIM, "").partition(":")
    for launcher, variables in _LAUNCHERS.items():
        rank, size, local_rank, local_size = [_integer(environ, *names) for names in variables]
        if rank is None or not _started_by(launcher, environ):
            continue
        if claimed[0] not in ("", str(os.getpid())) and claimed[2] == _identity(environ):
            return None
        if launcher != _SLURM:
            return Launch(launcher, rank, size, local_rank, local_size, _MISMATCH)
        local_size = _slurm_tasks_per_node(environ)
        return Launch(launcher, rank, size, local_rank, local_size, _INTERFACE)
    return None


def _identity(environ: Mapping[str, str]) -> str:
    """A text that differs between two launches, even if one was started inside the other."""
    names = "PMIX_NAMESPACE PMIX_RANK SLURM_JOB_ID SLURM_STEP_ID SLURM_PROCID "
    names += "PMI_RANK PMI_SIZE PMI_FD PMI_ID PMI_PORT"
    return ",".join(environ.get(name, "") for name in names.split())


def claim(environ: MutableMapping[str, str] = os.environ) -> None:
    """Mark this process as the rank, so that a process that it starts does not take itself for one."""
    environ[_CLAIM] = f"{os.getpid()}:{_identity(environ)}"
