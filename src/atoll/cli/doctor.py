"""``atoll doctor``: checks the machine and the installation.

Says what this machine has for atoll: Python, NumPy, the compiler, the processor, MPI and whether two ranks can talk, cores,
threads, memory, optional packages. Each line begins with its state: ok; note, for something optional that is missing; slow, for what works
and takes longer than it must; or broken, which makes the exit code 1.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib.metadata
import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field

from .. import front, startup, system
from .._version import __version__
from ..config import available_cores, config
from ..errors import LaunchError
from .mpiexec import INSTALL, Mpiexec, find

EXTRAS = {
    "threadpoolctl": "limits the BLAS threads of ranks when NumPy was imported before atoll",
    "dask": "exchange with Dask arrays",
    "ray": "exchange with Ray",
    "h5py": "HDF5 files",
    "zarr": "Zarr stores",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a check: its state, a line for people, and the facts for programs."""

    state: str
    text: str
    facts: Mapping[str, object] = field(default_factory=dict)


class ProbeError(Exception):
    """Raised if a probe does not answer; the text has the reason."""


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options and arguments of ``atoll doctor`` to a parser."""
    parser.add_argument("--json", action="store_true", help="print the facts as JSON")


def main(asked: argparse.Namespace) -> int:
    """Print the findings; return 1 if something is broken."""
    findings: list[dict[str, object]] = []
    for check in CHECKS:
        name, finding = check.__name__.removeprefix("check_"), check()
        findings.append({"name": name, **asdict(finding)})
        if not asked.json:
            print(f"{finding.state:<7} {name:<10} {finding.text}", flush=True)
    broken = [str(each["name"]) for each in findings if each["state"] == "broken"]
    if asked.json:
        print(json.dumps({"broken": broken, "findings": findings}, indent=1))
    else:
        print(f"broken: {', '.join(broken)}" if broken else "nothing is broken")
    return 1 if broken else 0


def ask(
    command: Sequence[str], environment: Mapping[str, str] | None = None, seconds: int = 60
) -> dict[str, object]:
    """Run a probe and return its answer."""
    try:
        run = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
            env=environment,
        )
    except subprocess.TimeoutExpired:
        raise ProbeError(f"no answer within {seconds} seconds") from None
    except OSError as problem:
        raise ProbeError(str(problem)) from None
    for answer in run.stdout.splitlines():
        if run.returncode == 0 and answer.startswith("{"):
            return dict(json.loads(answer))
    said = [text for text in (run.stderr or run.stdout).splitlines() if text.strip(" -=")]
    errors = [text for text in said if re.match(r"\w+(\.\w+)*(Error|Exception)\b", text)]
    fatal = [text for text in said if "error" in text.lower()][:1]
    reason = (errors or fatal or said or ["nothing was said"])[-1].strip()
    raise ProbeError(f"{reason} (exit code {run.returncode})")


def check_python() -> Finding:
    """The interpreter, and atoll itself."""
    version, system = platform.python_version(), f"{platform.system()} {platform.machine()}"
    facts = {"version": version, "executable": sys.executable, "system": system}
    text = f"{platform.python_implementation()} {version} on {system}, {sys.executable}"
    return Finding("ok", f"{text}; atoll {__version__}", facts)


def check_numpy() -> Finding:
    """NumPy and its BLAS."""
    import numpy

    facts: dict[str, object] = {"version": numpy.__version__}
    try:
        blas = numpy.show_config(mode="dicts")["Build Dependencies"]["blas"]
        facts["blas"] = f"{blas['name']} {blas.get('version', '')}".strip()
    except (KeyError, TypeError, ImportError):
        facts["blas"] = "unknown"
    text = f"{numpy.__version__}, BLAS: {facts['blas']}"
    if tuple(int(part) for part in numpy.__version__.split(".")[:2]) < (2, 2):
        return Finding("broken", f"{text}; atoll needs 2.2: pip install -U numpy", facts)
    return Finding("ok", text, facts)


def check_extension() -> Finding:
    """The native front, through which small calls go."""
    if front.native is not None:
        return Finding("ok", "calls on small arrays go through C", {"front": "C"})
    slow = "calls on small arrays go through Python, and take about five times as long as NumPy's"
    if os.environ.get("ATOLL_FRONT") == "python":
        cure = "unset ATOLL_FRONT"
    else:
        cure = f"install a C compiler (such as gcc), then build the extension: {front.BUILD}"
    return Finding("slow", f"{slow}; {cure}", {"front": "Python"})


def check_compiler() -> Finding:
    """The compiler: llvmlite for this processor."""
    try:
        facts = ask([sys.executable, "-c", COMPILER])
    except ProbeError as problem:
        text = f"NumPy runs the loops, on one thread, for llvmlite cannot: {problem}"
        return Finding("slow", f"{text}; pip install -U llvmlite")
    text = f"llvmlite {facts['version']} with LLVM {facts['llvm']}"
    if not facts["compiles"]:
        return Finding("broken", f"{text} compiles wrong code", facts)
    features = facts["features"]
    assert isinstance(features, list)
    widest = [name for name in ("avx512f", "avx2", "sse2", "neon", "sve") if name in features]
    return Finding("ok", f"{text} for {facts['cpu']} ({widest[0] if widest else 'scalar'})", facts)


def check_libmvec() -> Finding:
    """The vector functions of the C library; without them exp, sin and the like are slower."""
    names = {"avx512": "_ZGVeN8v_exp", "avx2": "_ZGVdN4v_exp", "sse": "_ZGVbN2v_exp"}
    try:
        library = ctypes.CDLL("libmvec.so.1")
    except OSError:
        return Finding("note", "absent; exp, sin and their like run one number at a time")
    widths = [width for width, name in names.items() if hasattr(library, name)]
    return Finding("ok", f"vector functions for {', '.join(widths)}", {"for": widths})


def check_cores() -> Finding:
    """The numbers of cores and threads that atoll would use."""
    cores, threads = available_cores(), config.threads
    facts = {"available": cores, "installed": os.cpu_count(), "threads": threads}
    text = f"{cores} available of {os.cpu_count()}; one process runs {threads} threads"
    if threads > cores:
        return Finding("note", f"{text}, more than there are cores", facts)
    return Finding("ok", text, facts)


def check_memory() -> Finding:
    """The size of the memory, and the part available to programs."""
    try:
        size = os.sysconf("SC_PAGE_SIZE")
        total, free = size * os.sysconf("SC_PHYS_PAGES"), size * os.sysconf("SC_AVPHYS_PAGES")
    except (ValueError, OSError):
        return Finding("note", "this system does not say")
    known = re.search(r"^MemAvailable: *(\d+)", system.proc_file("meminfo"), re.MULTILINE)
    free = int(known[1]) << 10 if known else min(free, total)
    facts = {"total_bytes": total, "available_bytes": free}
    return Finding("ok", f"{total / 2**30:.1f} GiB, {free / 2**30:.1f} GiB available", facts)


def installed(name: str) -> str | None:
    """The version of a package, if it is installed."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def check_mpi() -> Finding:
    """The MPI library that mpi4py loads."""
    if installed("mpi4py") is None:
        return Finding("note", f"mpi4py is not installed: one process only; {INSTALL}")
    try:
        facts = ask([sys.executable, "-c", LIBRARY])
    except ProbeError as problem:
        return Finding("broken", f"mpi4py cannot load MPI: {problem}; {INSTALL}")
    text = f"mpi4py {facts['mpi4py']} with {facts['vendor']} (MPI {facts['standard']})"
    return Finding("ok", text, facts)


def check_ranks() -> Finding:
    """Two ranks started by the launcher of ``atoll run``: whether they can communicate, and the time of a message."""
    if installed("mpi4py") is None:
        return Finding("note", "not tried without mpi4py")
    try:
        launcher = find()
    except LaunchError as problem:
        return Finding("broken", str(problem))
    facts: dict[str, object] = {"launcher": launcher.path, "family": launcher.family}
    try:
        facts |= pair(launcher)
    except ProbeError as problem:
        advice = "is it the one of mpi4py's MPI? `atoll run --mpiexec PATH` takes another"
        return Finding("broken", f"{launcher.path}: {problem}; {advice}", facts)
    text = (
        f"2 ranks talk by {launcher.path} ({launcher.family}): "
        f"latency {facts['latency_us']:.1f} us, allreduce {facts['allreduce_us']:.1f} us, "
        f"{facts['bandwidth_gb_s']:.1f} GB/s each way"
    )
    return Finding("ok", text, facts)


def pair(launcher: Mpiexec) -> dict[str, object]:
    """Start two ranks on this machine and let them measure."""
    single = dict.fromkeys(startup.THREAD_VARIABLES, "1")
    environment = {**os.environ, **launcher.environment(), **single}
    return ask(launcher.command(2, [sys.executable, "-c", PAIR]), environment)


def check_extras() -> Finding:
    """Optional packages: the installed ones, and the uses of the absent ones."""
    versions = {name: installed(name) for name in EXTRAS}
    present = ", ".join(f"{name} {version}" for name, version in versions.items() if version)
    absent = ", ".join(
        f"{name} ({EXTRAS[name]})" for name, version in versions.items() if not version
    )
    text = "; ".join(filter(None, [present, f"absent: {absent}" if absent else ""]))
    return Finding("note" if absent else "ok", text, versions)


CHECKS: tuple[Callable[[], Finding], ...] = (
    check_python,
    check_numpy,
    check_extension,
    check_compiler,
    check_libmvec,
    check_cores,
    check_memory,
    check_mpi,
    check_ranks,
    check_extras,
)


# Probes: programs that run in their own processes, so that they may crash there. Each prints one line of JSON. They use the
# libraries directly, without atoll, to tell a broken installation from a bug in atoll.

COMPILER = """
import ctypes, json, warnings
warnings.simplefilter("ignore")
import llvmlite
import llvmlite.binding as llvm
if not hasattr(llvm, "create_pass_builder"):
    raise SystemExit("llvmlite is too old")
llvm.initialize_native_target()
llvm.initialize_native_asmprinter()
features = llvm.get_host_cpu_features()
machine = llvm.Target.from_default_triple().create_target_machine(
    cpu=llvm.get_host_cpu_name(), features=features.flatten(), opt=3)
module = llvm.parse_assembly('''
define i64 @answer(i64 %x) {
  %y = mul i64 %x, 6
  ret i64 %y
}
''')
engine = llvm.create_mcjit_compiler(module, machine)
engine.finalize_object()
function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(engine.get_function_address("answer"))
print(json.dumps({
    "version": llvmlite.__version__,
    "llvm": ".".join(map(str, llvm.llvm_version_info)),
    "cpu": llvm.get_host_cpu_name(),
    "features": sorted(name for name, there in features.items() if there),
    "compiles": function(7) == 42,
}))
"""

LIBRARY = """
import json
import mpi4py
mpi4py.rc.initialize = False
from mpi4py import MPI
print(json.dumps({
    "mpi4py": mpi4py.__version__,
    "vendor": " ".join([MPI.get_vendor()[0], ".".join(map(str, MPI.get_vendor()[1]))]),
    "standard": ".".join(map(str, MPI.Get_version())),
    "library": MPI.Get_library_version().rstrip("\\0").strip().partition("\\n")[0],
}))
"""

PAIR = """
import json, time
from mpi4py import MPI
world = MPI.COMM_WORLD
other = 1 - world.rank
if world.size != 2:
    raise SystemExit("this rank sees a world of %d, not of 2" % world.size)

def fastest(action, count, rounds=5):
    best = float("inf")
    for _ in range(rounds):
        world.Barrier()
        start = time.perf_counter()
        for _ in range(count):
            action()
        best = min(best, (time.perf_counter() - start) / count)
    return best

small, back = bytearray(8), bytearray(8)
large, landing = bytearray(8 << 20), bytearray(8 << 20)
mine, total = bytearray(8), bytearray(8)

def ping():
    if world.rank == 0:
        world.Send([small, MPI.BYTE], other)
        world.Recv([back, MPI.BYTE], other)
    else:
        world.Recv([back, MPI.BYTE], other)
        world.Send([small, MPI.BYTE], other)

def exchange():
    world.Sendrecv([large, MPI.BYTE], other, recvbuf=[landing, MPI.BYTE], source=other)

def reduce():
    world.Allreduce([mine, MPI.DOUBLE], [total, MPI.DOUBLE])

found = {
    "latency_us": fastest(ping, 200) / 2 * 1e6,
    "allreduce_us": fastest(reduce, 200) * 1e6,
    "bandwidth_gb_s": len(large) / fastest(exchange, 3) / 1e9,
}
if world.rank == 0:
    print(json.dumps(found), flush=True)
"""
