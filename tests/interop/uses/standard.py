"""Python's own library: buffers, files, databases, processes, copies, numbers."""

import array
import concurrent.futures
import contextlib
import copy
import ctypes
import fractions
import functools
import hashlib
import itertools
import json
import math
import mmap
import multiprocessing
import operator
import pickle
import queue
import random
import sqlite3
import statistics
import string
import struct
import weakref
import zlib
from collections import Counter, defaultdict


def an_array_as_a_blob(np, x):
    base = sqlite3.connect(":memory:")
    base.execute("create table t (data blob)")
    base.execute("insert into t values (?)", (np.ascontiguousarray(x),))
    return base.execute("select data from t").fetchone()[0]


def numbers_in_a_database(np, x, k):
    base = sqlite3.connect(":memory:")
    base.execute("create table t (a integer, b real)")
    base.executemany("insert into t values (?, ?)", zip(k.tolist(), x.tolist()))
    base.executemany("insert into t values (?, ?)", [(int(i), v) for i, v in zip(k[:9], x[:9])])
    return base.execute("select a, sum(b), count(*) from t group by a order by a").fetchall()


def an_adapter_of_a_database(np, g):
    sqlite3.register_adapter(type(g), lambda a: a.astype("f4").tobytes())
    base = sqlite3.connect(":memory:")
    base.execute("create table t (data blob)")
    base.execute("insert into t values (?)", (g,))
    return base.execute("select data from t").fetchone()[0]


def json_of_elements(np, x, k, m):
    return json.dumps(
        {"x": x.tolist(), "first": x[0], "n": int(k[2]), "mean": float(x.mean()), "m": bool(m[1])}
    )


def json_of_an_array_fails(np, x):
    return json.dumps(x)


def json_with_an_encoder(np, x, g):
    import numpy

    class Encoder(json.JSONEncoder):
        def default(self, value):
            if isinstance(value, (np.ndarray, numpy.ndarray)):
                return value.tolist()
            if isinstance(value, np.integer):
                return int(value)
            return super().default(value)

    return json.dumps([x, g, x.size, g.argmax()], cls=Encoder)


def pickles(np, x, g, m, z, w, t, p):
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        for value in (x, g.T, m, z[::-1], w, t, p, x.sum(), {"a": x, "b": [g]}):
            yield pickle.loads(pickle.dumps(value, protocol))


def pickles_with_buffers(np, x, g):
    buffers = []
    data = pickle.dumps([np.ascontiguousarray(x), g], protocol=5, buffer_callback=buffers.append)
    return pickle.loads(data, buffers=buffers)


def shared_objects_in_a_pickle(np, x):
    a, b = pickle.loads(pickle.dumps([x, x]))
    a[0] = 7
    return b, a is b


def deep_copies(np, x, g):
    given = {"x": x, "again": x, "g": [g, g[1:]]}
    made = copy.deepcopy(given)
    made["x"][0] = 50
    made["g"][0][0, 0] = 60
    return given, made, made["x"] is made["again"], type(copy.copy(x)) is type(x)


def bytes_of_arrays(np, x, g, k, m, z, w, u):
    for a in (x, g, k, m, z, w, u, g.T, x[3:4], x[:0]):
        yield (
            bytes(a),
            a.tobytes(),
            a.tobytes("F"),
            bytearray(a),
            bytes(a.data) if a.flags.c_contiguous else 0,
        )


def hashes(np, x, g):
    a = np.ascontiguousarray(g)
    return (
        hashlib.sha256(a).hexdigest(),
        hashlib.md5(x.tobytes()).hexdigest(),
        zlib.crc32(a),
        zlib.adler32(a.data),
    )


def structs(np, x, k):
    data = struct.pack(f"<{len(x)}d", *x)
    other = struct.pack("3i", *k[:3])
    return (
        data,
        other,
        struct.unpack_from("4d", np.ascontiguousarray(x), 8),
        [*struct.iter_unpack("d", np.ascontiguousarray(x))][:4],
    )


def packed_into(np, x):
    struct.pack_into("2d", np.ascontiguousarray(x).data.cast("B"), 16, 5.0, 6.0)
    b = np.zeros(9)
    struct.pack_into("2d", b, 16, 5.0, 6.0)
    return b


def pointers(np, x):
    a = np.ascontiguousarray(x) + 0
    pointer = a.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
    pointer[2] = 9.0
    libc = ctypes.CDLL(None)
    b = np.zeros_like(a)
    libc.memcpy(ctypes.c_void_p(b.ctypes.data), ctypes.c_void_p(a.ctypes.data), a.nbytes)
    return a, b, pointer[3], a.ctypes.shape[:], a.ctypes.strides[:]


def checked_pointers(np, x, k):
    libc = ctypes.CDLL(None)
    function = ctypes.CFUNCTYPE(ctypes.c_void_p, *[ctypes.c_void_p] * 2, ctypes.c_size_t)(
        ("memcpy", libc)
    )
    kind = np.ctypeslib.ndpointer(dtype=np.float64, ndim=1, flags="C_CONTIGUOUS,WRITEABLE")
    function.argtypes = [kind, kind, ctypes.c_size_t]
    a, b = np.zeros(8), np.ascontiguousarray(x) * 2
    function(a, b, 64)
    yield a
    for wrong in (k, b[::2], np.zeros((2, 2)), [1.0]):
        try:
            function(wrong, b, 8)
        except ctypes.ArgumentError as error:
            yield str(error)


def ctypes_of_arrays(np, x):
    a = np.ascontiguousarray(x) * 2
    made = np.ctypeslib.as_ctypes(a)
    made[1] = 5.0
    return a, [*made][:3], type(made).__name__


def arrays_of_ctypes(np, x):
    made = (ctypes.c_double * 5)(*x[:5])
    back = np.ctypeslib.as_array(made)
    back[1] = 8
    return [*made], back, np.frombuffer(made)


def python_arrays(np, x, k):
    a = array.array("d", x)
    b = array.array("q", np.ascontiguousarray(k).tobytes())
    c = array.array("d")
    c.frombytes(np.ascontiguousarray(x))
    return np.array(a) + x, np.frombuffer(b, "i8"), np.asarray(c), a.tolist()


def views_of_memory(np, x, g):
    view = memoryview(np.ascontiguousarray(g))
    flat = view.cast("B").cast("d")
    return (
        view.shape,
        view.format,
        view.tolist(),
        flat[3],
        np.asarray(view) * 2,
        x.data[2],
        memoryview(x).strides,
    )


def files_of_bytes(np, tmp, x, u):
    with open(tmp / "a.bin", "wb") as file:
        file.write(np.ascontiguousarray(x))
        file.write(u.tobytes())
        x.tofile(file)
    read = np.zeros(len(x))
    with open(tmp / "a.bin", "rb") as file:
        n = file.readinto(read)
        rest = np.fromfile(file, "u1", u.size)
    return read, n, rest, (tmp / "a.bin").stat().st_size


def mapped_files(np, tmp, x):
    (tmp / "a").write_bytes(x.tobytes())
    with open(tmp / "a", "r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        mapped[:16] = np.ascontiguousarray(x[:2] * 2)
        return np.array(np.frombuffer(mapped, "f8"))


def saved_and_loaded(np, tmp, x, g, w):
    np.save(tmp / "a.npy", g)
    np.savez(tmp / "b.npz", x=x, w=w)
    np.savetxt(tmp / "c.csv", g, delimiter=",")
    with np.load(tmp / "b.npz") as file:
        return (
            np.load(tmp / "a.npy"),
            file["x"],
            file["w"],
            np.loadtxt(tmp / "c.csv", delimiter=","),
            np.genfromtxt(tmp / "c.csv", delimiter=","),
        )


def _squared(a):
    return a * a + 1


def _total(a):
    return float(a.sum())


def processes(np, x, g):
    with multiprocessing.get_context("fork").Pool(2) as pool:
        return pool.map(_squared, [x, g]), pool.starmap(_total, [(x,), (g,)])


def threads_of_a_pool(np, x, g):
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        futures = [pool.submit(_squared, a) for a in (x, g, x)]
        return [f.result() for f in futures], [*pool.map(_total, [x, g])]


def shared_memory(np, x):
    from multiprocessing import shared_memory

    memory = shared_memory.SharedMemory(create=True, size=x.nbytes)
    try:
        a = np.ndarray(x.shape, dtype=x.dtype, buffer=memory.buf)
        a[:] = x
        b = np.array(np.frombuffer(memory.buf, "f8", x.size))
        del a
    finally:
        with contextlib.suppress(BufferError):
            memory.close()
        memory.unlink()
    return b


def queues_and_pipes(np, x, g):
    near, far = multiprocessing.Pipe()
    near.send(x[:30])
    near.send_bytes(np.ascontiguousarray(g[:2]))
    q = queue.Queue()
    q.put(g)
    return far.recv(), far.recv_bytes(), q.get()


def elements_as_keys(np, k, x, w):
    counts = Counter(k.tolist())
    seen = defaultdict(int)
    for item in k[:20]:
        seen[item] += 1
    return (
        sorted(counts.items()),
        sorted(seen.items()),
        Counter(k) == counts,
        set(w) == {"ash", "birch", "cedar"},
        len({*x[:10]}),
    )


def python_functions(np, x, k, m):
    return (
        sum(x), max(x), min(k), sorted(k)[:5], any(m), all(m), len(x), [*reversed(x[:3])], [*map(abs, x[:3])],
        round(x[0], 3), divmod(x[3], 0.1), pow(x[2], 2), [*enumerate(k[:2])], abs(x[1]), hash(x[0]) == hash(float(x[0])),
        list(filter(None, k[:9])),
    )  # fmt: skip


def math_of_elements(np, x, k):
    return (
        math.sqrt(x[0]),
        math.fsum(x),
        math.prod(k[:4]),
        math.floor(x[2] * 9),
        math.isclose(x[0], x[0]),
        math.hypot(*x[:3]),
        math.dist(x[:3], x[3:6]),
    )


def indices_of_python(np, k):
    letters = string.ascii_lowercase
    return (
        letters[k[0]],
        [*range(k[1])],
        operator.index(k[2]),
        "ab" * k[3],
        bytes(k[:4].tolist()),
        random.Random(int(k[0])).random(),
    )


def statistics_of_python(np, x, k):
    return (
        statistics.fmean(x),
        statistics.median(x),
        statistics.stdev(x.tolist()),
        statistics.mode(k),
        statistics.quantiles(x),
    )


def iterators(np, x, g, k):
    return (
        [*itertools.accumulate(x[:5])],
        [*itertools.chain(*g[:2])],
        [*zip(x[:2], k)],
        [*itertools.islice(g, 2)],
        functools.reduce(operator.add, g),
        [*itertools.pairwise(k[:3])],
    )


def text(np, x, k, m, g, t, w):
    return (
        repr(x), str(g), f"{x[0]:.3f} {k[1]:04d} {x.mean():10.3e}", "%.2f %d" % (x[0], k[1]), repr(m), str(t), repr(w),  # noqa: UP031
        np.array2string(x, precision=3), f"{x.max():.1f}", str(x.sum()), repr(k.min()),
    )  # fmt: skip


def unpacking(np, x, g):
    a, b, *rest = x
    (c, d), e = g[:2, :2], [*g[0]]
    return a, b, len(rest), c, d, e, {**dict(enumerate(x[:2]))}


def exact_numbers(np, x, k):
    return (
        fractions.Fraction(x[0]),
        x[0].as_integer_ratio(),
        float.hex(float(x[1])),
        int(k[0]).bit_length(),
        x[0].hex(),
        complex(x[0]),
    )


def branches(np, x, m, k):
    taken = []
    if x.sum() > 0:
        taken.append(1)
    if (k == 3).any() and not m.all():
        taken.append(2)
    if x[:1]:
        taken.append(3)
    while k.max() > len(taken):
        taken.append(x[len(taken)] if m[len(taken)] else None)
    return taken, x.size in (3, len(x)), 3 in k, None in [None, x[0]]


def truth_of_many_fails(np, x):
    return bool(x)


def a_hash_fails(np, x):
    return {x: 1}


def weak_references(np, x):
    a = x * 2
    ref = weakref.ref(a)
    cache = weakref.WeakValueDictionary(a=a)
    same = cache["a"] is a
    del a
    return ref() is None, same, len(cache)


def decorated(np, x):
    calls = []

    @functools.lru_cache
    def size(n):
        calls.append(n)
        return np.ones(n) * 2

    @functools.singledispatch
    def kind(value):
        return "other"

    kind.register(np.ndarray)(lambda value: "array")
    return size(4), size(4), calls, kind(x), kind(3)


def matched(np, x, g):
    def said(value):
        match value:
            case np.ndarray(shape=(n,)):
                return n
            case np.ndarray(ndim=2):
                return "matrix"
            case _:
                return None

    return said(x), said(g), said(3)
