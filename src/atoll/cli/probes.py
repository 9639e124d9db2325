"""Programs that ``atoll doctor`` runs in their own processes, so that they may crash there.

Each prints one line of JSON. They use the libraries directly, without atoll, to tell a broken installation from a bug
in atoll.
"""

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
