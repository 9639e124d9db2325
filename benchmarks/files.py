"""Files of all ranks against NumPy's, h5py's and zarr's own in one process.

    atoll run -n 2 benchmarks/files.py [--smoke] [--mb 1000] [--turns 3] [--folder FOLDER] [--only NAME]

Started by itself, it starts two ranks. Both ways are measured in turns within one run; the best of the turns counts. The other
ranks wait while one process writes or reads. Each ratio is the time of one process over that of all ranks.
A checkpoint is compared with copying its file, with and without waiting for the disk.
"""

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy

import atoll as np
from atoll.files.collective import on_rank_0

Pair = tuple[Callable[[], object], Callable[[], object]]


def copy(source: Path, target: Path, durable: bool) -> None:
    with open(source, "rb") as old, open(target, "wb") as new:
        shutil.copyfileobj(old, new, 1 << 24)
        if durable:
            new.flush()
            os.fsync(new.fileno())


def pairs(folder: Path, count: int) -> dict[str, Pair]:
    """What ranks do, and what one process does, by name: writing comes before reading."""
    rows = count // 1000
    ours = np.zeros((rows, 1000)) + np.arange(1000.0)
    np.sync()
    theirs = numpy.zeros((rows, 1000)) + numpy.arange(1000.0) if np.world.rank == 0 else None
    a, b = folder / "ours.npy", folder / "theirs.npy"
    result: dict[str, Pair] = {
        "npy write": (lambda: np.save(a, ours), lambda: numpy.save(b, theirs)),
        "npy read": (lambda: np.load(a), lambda: numpy.load(b)),
    }
    if importlib.util.find_spec("h5py"):
        import h5py

        def write(chunks: Any, path: Path) -> None:
            with h5py.File(path, "w") as file:
                file.create_dataset("u", data=theirs, chunks=chunks)

        def read(path: Path) -> Any:
            with h5py.File(path) as file:
                return file["u"][...]

        for label, chunks in (("", None), (" in chunks", (max(rows // 64, 1), 1000))):
            ours_path, path = folder / f"ours{label}.h5", folder / f"theirs{label}.h5"
            result[f"hdf5{label} write"] = (
                lambda p=ours_path, c=chunks: np.save_hdf5(p, {"u": ours}, chunks=c),
                lambda p=path, c=chunks: write(c, p),
            )
            result[f"hdf5{label} read"] = (
                lambda p=ours_path: np.load_hdf5(p, "u"),
                lambda p=path: read(p),
            )
    if importlib.util.find_spec("zarr"):
        import zarr

        shape = (max(rows // 64, 1), 1000)

        def store() -> None:
            shutil.rmtree(folder / "theirs.zarr", ignore_errors=True)
            array = zarr.create_array(
                store=str(folder / "theirs.zarr"), shape=(rows, 1000), dtype="f8", chunks=shape
            )
            array[...] = theirs

        result["zarr write"] = (
            lambda: np.save_zarr(folder / "ours.zarr", ours, chunks=shape),
            store,
        )
        result["zarr read"] = (
            lambda: np.load_zarr(folder / "ours.zarr"),
            lambda: zarr.open_array(str(folder / "theirs.zarr"), mode="r")[...],
        )
    kept = folder / "run"
    for durable, label in ((False, "checkpoint, copy"), (True, "durable checkpoint, copy")):
        result[label] = (
            lambda d=durable: np.checkpoint(kept, u=ours, keep=3, durable=d),
            lambda d=durable: copy(max(kept.glob("checkpoint-*")), folder / "copy", d),
        )
    result["restore"] = (
        lambda: np.restore(kept),
        lambda: numpy.load(max(kept.glob("checkpoint-*")))["u"],
    )
    return result


def remove(folder: Path, kind: str) -> None:
    """Remove what the turn before has written, so that each writes new files: replacing a file waits for the disk."""
    patterns = {"npy": "*.npy", "hdf5": "*.h5", "zarr": "ours.zarr"}
    for path in folder.glob(patterns.get(kind, "copy")):
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def seconds(action: Callable[[], object], alone: bool) -> float:
    """The time until all ranks are done."""
    np.world.barrier()
    start = time.perf_counter()
    if not alone or np.world.rank == 0:
        result = action()
        del result
    np.world.barrier()
    return time.perf_counter() - start


def main(megabytes: int, turns: int, folder: Path, only: str = "") -> None:
    for name, (together, alone) in pairs(folder, megabytes * 125_000).items():
        if not name.startswith(only):
            continue
        ours, theirs = [], []
        for _ in range(turns):
            if np.world.rank == 0 and not name.endswith("read") and "restore" not in name:
                remove(folder, name.split()[0])
            ours.append(seconds(together, False))
            theirs.append(seconds(alone, True))
        if np.world.rank == 0:
            print(
                f"{name:26} {megabytes / 1000 / min(ours):6.2f} GB/s, alone {megabytes / 1000 / min(theirs):6.2f} GB/s, "
                f"ratio {min(theirs) / min(ours):5.2f}",
                flush=True,
            )


if __name__ == "__main__":
    if np.world.size == 1 and "ATOLL_BENCHMARK_ALONE" not in os.environ:
        sys.exit(
            subprocess.run([sys.executable, "-m", "atoll", "run", "-n", "2", *sys.argv]).returncode
        )
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("--mb", type=int, default=1000)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--folder", default=None)
    parser.add_argument("--only", default="", help="the beginning of the names to measure")
    given = parser.parse_args()
    base = given.folder or tempfile.gettempdir()
    place = Path(on_rank_0(np.world.communicator, lambda: tempfile.mkdtemp(dir=base), "the folder"))
    try:
        if given.smoke:
            with np.config(small=0, everywhere=0):
                main(1, 1, place)
        else:
            main(given.mb, given.turns, place, given.only)
    finally:
        np.world.barrier()
        if np.world.rank == 0:
            shutil.rmtree(place)
