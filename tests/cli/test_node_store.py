"""What ranks of a node read or compile once: modules, kernels, and the table by which they share."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from atoll import system
from atoll.context import node_store
from atoll.context.node_store import Store, Table

from .commands import atoll


@pytest.fixture
def clients(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Store]]:
    monkeypatch.setattr(node_store, "store", [])
    name = secrets.token_hex(16)
    listener = system.listen(name)
    assert listener is not None
    assert system.listen(name) is None  # the second process of the node is no server
    stop = node_store.serve(listener, name)
    stores = [node_store.connect(name) for _ in range(3)]
    yield [store for store in stores if store is not None]
    stop()


def test_one_rank_makes_what_the_others_wait_for(clients: list[Store]) -> None:
    first, second, third = clients
    assert first.get(b"key") is None
    waiting: list[bytes | None] = []
    threads = [
        threading.Thread(target=lambda store=store: waiting.append(store.get(b"key")))
        for store in (second, third)
    ]
    for thread in threads:
        thread.start()
    assert waiting == []
    first.put(b"key", b"what it is" * 100_000)
    for thread in threads:
        thread.join(10)
    assert waiting == [b"what it is" * 100_000] * 2


def test_what_a_lost_rank_was_to_make_another_one_makes(clients: list[Store]) -> None:
    first, second, third = clients
    assert first.get(b"key") is None
    assert first._connection is not None
    first._connection.close()
    assert second.get(b"key") is None
    second.put(b"key", b"made")
    assert third.get(b"key") == b"made"
    assert first.get(b"key") is None  # by itself from now on, without an error
    first.put(b"key", b"made again")


def test_a_rank_that_waits_too_long_does_it_by_itself(clients: list[Store]) -> None:
    first, second, _ = clients
    assert first.get(b"key") is None
    assert second._connection is not None
    second._connection.settimeout(0.1)
    assert second.get(b"key") is None
    assert second._connection is None


def test_what_one_rank_could_not_make_the_next_one_makes(clients: list[Store]) -> None:
    first, second, third = clients
    assert first.get(b"key") is None
    first.put(b"key", b"")
    assert second.get(b"key") is None
    second.put(b"key", b"made")
    assert third.get(b"key") == b"made"


def test_a_reply_brings_along_what_else_is_new(clients: list[Store]) -> None:
    first, second, third = clients
    for key in (b"a", b"b", b"c"):
        assert first.get(key) is None
        first.put(key, key * 10)
        assert first.get(key) == key * 10  # the table has it
    assert second.get(b"b") == b"b" * 10
    assert second._connection is not None
    second._connection.close()
    assert [second.get(key) for key in (b"a", b"c", b"d")] == [b"a" * 10, b"c" * 10, None]
    assert third.get(b"c") == b"c" * 10


def test_the_table_forgets_the_oldest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_store, "LARGEST", 100)
    table = Table()
    for key in (b"a", b"b", b"c"):
        table.put(key, bytes(40), "client")
    assert [table.get(key, self) for self, key in enumerate((b"b", b"c"))] == [bytes(40)] * 2
    assert table.get(b"a", "client") is None


PROGRAM = """
import os, sys
opened = []
sys.addaudithook(lambda event, facts: event == "open" and opened.append((str(facts[0]), facts[2])))
import atoll as np
from importlib.resources import files
a = np.ones(1_000_000)
assert float((np.sqrt(a * a) * 2).sum()) == 2_000_000
assert sys.modules["numpy"].__file__.endswith("__init__.py") and (files("atoll") / "py.typed").is_file()
opened = opened[:]
import helper
assert helper.__file__ == os.path.join(os.environ["HERE"], "helper.py"), helper.__file__
mine = [path for path, _ in opened if path.endswith((".py", ".pyc"))]
written = [path for path, flags in opened if os.path.basename(path)[:1] == "." and flags & os.O_CREAT]
everybody = np.world.communicator.allgather_object((mine, written))
if np.world.rank == 0:  # (the names of kernels depend on the sources in llvm, which are read for that, too)
    paths = [path for mine, _ in everybody for path in mine]
    numpy = [path for path in paths if "numpy" in path]
    print(len(numpy) > 50, sorted({path for path in paths if paths.count(path) > 1 + ("llvm" in path)}), sum(len(w) for _, w in everybody))
"""


@pytest.mark.slow
def test_ranks_of_a_node_read_each_module_and_compile_each_kernel_once(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "helper.py").write_text("")
    kernels = tmp_path / "kernels"
    outcome = atoll(
        "run", "-n", "4", str(tmp_path / "program.py"),
        ATOLL_KERNEL_CACHE=str(kernels), HERE=str(tmp_path), PYTHONDONTWRITEBYTECODE="1",
    )  # fmt: skip
    assert outcome.code == 0, outcome
    compiled = len(list(kernels.iterdir()))
    assert compiled
    assert outcome.output == f"True [] {compiled}\n", outcome
