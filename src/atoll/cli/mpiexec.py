"""Finds the ``mpiexec`` that belongs to mpi4py's MPI, and knows its options.

A launcher of another MPI starts N programs, each with a world of size 1. So the search goes from certain to likely: the
user's choice (``--mpiexec``, ``ATOLL_RUN_MPIEXEC``), the ``bin`` folder of this Python's environment, where MPI wheels
install their launchers, the folder of the MPI library that mpi4py loads, and finally the search path.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..errors import LaunchError

OVERRIDE = "ATOLL_RUN_MPIEXEC"

INSTALL = 'pip install mpi4py mpich brings both (in a clone of atoll also: pip install ".[mpi]")'

FAMILIES = (
    ("Open MPI", r"Open ?MPI|Open ?RTE|PRRTE"),
    ("Intel MPI", r"Intel"),
    ("MPICH", r"(?i)hydra"),
    ("Slurm", r"^slurm"),
)
"""The families of launchers with known options, each with a pattern of its ``--version`` output."""

PROBE = """
import ctypes, os
import mpi4py
mpi4py.rc.initialize = False
from mpi4py import MPI
class Place(ctypes.Structure):
    _fields_ = [("file", ctypes.c_char_p)] + [(name, ctypes.c_void_p) for name in ("base", "symbol", "address")]
place = Place()
address = ctypes.cast(ctypes.CDLL(MPI.__file__).MPI_Init, ctypes.c_void_p)
if ctypes.CDLL(None).dladdr(address, ctypes.byref(place)):
    print(os.fsdecode(place.file))
"""
"""Program that prints the path of the MPI library that mpi4py loads; it runs in a separate Python process."""


@dataclass(frozen=True, slots=True)
class Mpiexec:
    """A launcher: its path, the family of its options (empty if unknown), and its version text."""

    path: str
    family: str
    version: str

    def command(
        self,
        ranks: int,
        program: Sequence[str],
        *,
        hosts: str | None = None,
        hostfile: str | None = None,
        more: Sequence[str] = (),
    ) -> list[str]:
        """The command that starts ``program`` on ``ranks`` ranks."""
        words = [self.path, "-n", str(ranks)]
        if self.family == "Open MPI":
            words += ["--host", hosts] if hosts else []
            words += ["--hostfile", hostfile] if hostfile else []
            words += ["--bind-to", "none"]
            if not (hosts or hostfile or in_allocation()):
                words += ["--oversubscribe"]
        elif self.family == "Slurm":
            words += ["--nodelist", hosts] if hosts else []
            words += ["--nodefile", hostfile] if hostfile else []
            words += ["--kill-on-bad-exit=1"]
        elif self.family:
            words += ["-hosts", hosts] if hosts else []
            words += ["-f", hostfile] if hostfile else []
        elif hosts or hostfile:
            raise LaunchError(
                f"--hosts and --hostfile need a launcher whose options `atoll run` knows ({', '.join(dict(FAMILIES))}), "
                f"and {self.path} calls itself {self.version!r}; give it its own by --mpiexec-options"
            )
        return [*words, *more, *program]

    def hosts(self, counts: Mapping[str, int]) -> str:
        """Hosts with their numbers of ranks, in the form of the launcher's option."""
        if self.family == "Slurm":
            return ",".join(counts)
        return ",".join(f"{name}:{count}" for name, count in counts.items())

    def forwarded(self, variable: str) -> list[str]:
        """The options that pass a variable to ranks of other hosts, without its value."""
        return ["-x", variable] if self.family == "Open MPI" else []

    def environment(self) -> dict[str, str]:
        """The variables that the launcher needs in its environment."""
        if self.family == "Open MPI" and os.geteuid() == 0:
            return {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        return {}


def in_allocation() -> bool:
    """True if a batch system has allocated slots to this job, which limit the number of ranks."""
    return any(name in os.environ for name in ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID"))


def find(named: str | None = None) -> Mpiexec:
    """The launcher for this Python's mpi4py, or a :class:`LaunchError` that says what to install."""
    named = named or os.environ.get(OVERRIDE)
    if named:
        path = shutil.which(named)
        if path is None:
            raise LaunchError(f"there is no launcher {named!r} that can be run; check the path")
        return describe(path)
    if importlib.util.find_spec("mpi4py") is None:
        raise LaunchError(f"more than one rank needs MPI, and mpi4py is not installed; {INSTALL}")
    path = (
        shutil.which("mpiexec", path=os.path.join(sys.prefix, "bin"))
        or beside_library()
        or shutil.which("mpiexec")
    )
    if path is None:
        raise LaunchError(f"there is no mpiexec, the launcher that comes with MPI; {INSTALL}")
    return describe(path)


def beside_library() -> str | None:
    """The ``mpiexec`` of the installation whose MPI library mpi4py loads, if it can be determined."""
    try:
        probe = subprocess.run(
            [sys.executable, "-c", PROBE], capture_output=True, text=True, timeout=60
        )
    except (OSError, subprocess.SubprocessError):
        return None
    library = probe.stdout.strip()
    if probe.returncode or not library:
        return None
    folder = os.path.dirname(os.path.realpath(library))
    for _ in range(3):  # lib, lib/x86_64-linux-gnu, lib/x86_64-linux-gnu/openmpi
        folder = os.path.dirname(folder)
        path = shutil.which("mpiexec", path=os.path.join(folder, "bin"))
        if path is not None:
            return path
    return None


def describe(path: str) -> Mpiexec:
    """Ask a launcher for its version, which alone determines the family of its options."""
    try:
        asked = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.SubprocessError) as problem:
        raise LaunchError(f"the launcher {path} cannot be run: {problem}") from None
    text = (asked.stdout + asked.stderr).strip()
    first = text.partition("\n")[0]
    for family, sign in FAMILIES:
        if re.search(sign, text):
            version = re.search(r"Version:\s*(\S+)", text) if family == "MPICH" else None
            return Mpiexec(path, family, f"Hydra {version[1]}" if version else first)
    return Mpiexec(path, "", first)
