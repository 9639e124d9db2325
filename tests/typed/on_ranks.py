"""What atoll has and NumPy does not: layouts, worlds, settings, blocks, one-sided access, counters, checkpoints."""

from pathlib import Path
from tempfile import TemporaryDirectory

import atoll as np
from atoll.errors import AtollError, ConfigError, LayoutError
from atoll.typing import NDArray


def blocks(n: int) -> NDArray[np.float64]:
    layout = np.Layout((n, n), "bn", size=np.world.size)
    return np.ones((n, n), layout=layout)


def total(a: NDArray[np.float64]) -> float:
    part: float = float(a.local.sum())
    if np.world.size == 1:
        return part
    return float(np.world.comm.allreduce(part))


def settings() -> list[int]:
    before: int = np.config.small
    with np.config(small=0, threads=1, cache_bytes="1GB", kernel_cache=Path("/tmp")) as inside:
        seen = [np.config.small, inside.small]
    np.config.threads = None
    np.config.cache_bytes = "1GB"
    return [before, *seen]


def main() -> None:
    a = blocks(8)
    assert total(a) == 64.0
    assert a.layout.region(np.world.rank)
    assert a.world.size == np.world.size
    assert settings()[1:] == [0, 0]
    b = a.redistribute(np.Layout((8, 8), "nb", size=np.world.size))
    assert b.owns((slice(0, 8), slice(0, 1))) or np.world.size > 1
    with a.access() as block:
        block += 1
    with np.onesided(a) as window:
        window.put((0, 0), 5.0)
        window.fence()
        assert float(window.get((0, 0))) == 5.0
    try:
        np.config.small = -1
    except ConfigError as error:
        assert isinstance(error, AtollError)
        assert not isinstance(error, LayoutError)
    np.reset_stats()
    np.sync()
    assert np.stats().messages >= 0
    assert str(np.explain(a + 1))
    assert np.coverage()["sum"] == "native"
    for task in np.tasks(3):
        assert task < 3
    with TemporaryDirectory() as folder:
        np.checkpoint(folder, a=a, step=3)
        state = np.restore(folder)
        assert state["step"] == 3
    group = np.world.group([0])
    if group is not None:
        with group:
            assert np.from_local(np.zeros(3).local).shape == (3,)


if __name__ == "__main__":
    main()
