"""The world of a process: how it is found, how it changes, and what is refused."""

import os
import pickle
import subprocess
import sys
import threading

import pytest

import atoll
from atoll.comm import simulated
from atoll.comm.single import SingleCommunicator
from atoll.comm.world import World, current_world
from atoll.errors import LaunchError, WorldError

NO_MPI4PY = (
    "import sys\n"
    "class Absent:\n"
    "    def find_spec(self, name, path=None, target=None):\n"
    "        if name.partition('.')[0] == 'mpi4py':\n"
    "            raise ModuleNotFoundError(\"No module named 'mpi4py'\")\n"
    "sys.meta_path.insert(0, Absent())\n"
)
HYDRA = {"PMI_RANK": "0", "PMI_SIZE": "4"}


def python(code, **environ):
    """Run ``code`` in a fresh process of its own."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("ATOLL", "PMI", "OMPI"))}
    return subprocess.run(
        [sys.executable, "-c", code],
        env=inherited | environ,
        capture_output=True,
        text=True,
        timeout=100,
    )


def test_a_process_alone_imports_no_mpi():
    ran = python("import sys, atoll; print(atoll.world, atoll.world.comm, 'mpi4py' in sys.modules)")
    assert ran.stdout.strip() == "<world: rank 0 of 1, one process> None False", ran.stderr


def test_mpi_on_request():
    code = "import atoll; print(atoll.world.size, type(atoll.world.comm).__name__)"
    ran = python(code, ATOLL_MPI="on")
    assert ran.stdout.strip() == "1 Intracomm", ran.stderr


def test_copies_are_refused_when_mpi_is_missing():
    ran = python(NO_MPI4PY + "import atoll; atoll.world.rank", **HYDRA)
    assert ran.returncode != 0
    message = ran.stderr
    assert "LaunchError" in message
    assert "a PMI launcher started 4 processes" in message
    assert "pip install mpi4py mpich" in message
    assert "ATOLL_MPI=off" in message


def test_copies_are_refused_when_mpi_is_another_one():
    # Slurm's variables without its interface for MPI: each process initialises MPI alone.
    slurm = {"SLURM_STEP_ID": "0", "SLURM_PROCID": "0", "SLURM_NTASKS": "3"}
    ran = python("import atoll; atoll.world.rank", **slurm)
    assert ran.returncode != 0
    assert "srun (Slurm) started 3 processes" in ran.stderr
    assert "srun --mpi=" in ran.stderr


@pytest.mark.slow
def test_copies_on_request_are_told_once():
    code = "import atoll; atoll.world.rank; print(atoll.world.size)"
    first = python(NO_MPI4PY + code, ATOLL_MPI="off", **HYDRA)
    assert first.stdout.strip() == "1", first.stderr
    assert first.stderr.count("ATOLL_MPI=off") == 1
    second = python(NO_MPI4PY + code, ATOLL_MPI="off", PMI_RANK="1", PMI_SIZE="4")
    assert second.stderr == ""


def test_a_launch_of_one_process_needs_no_mpi():
    code = NO_MPI4PY + "import importlib.util as u; u.find_spec = lambda name: None\n"
    ran = python(code + "import atoll; print(atoll.world)", PMI_RANK="0", PMI_SIZE="1")
    assert ran.stdout.strip() == "<world: rank 0 of 1, one process>", ran.stderr


def test_a_world_is_a_value_of_its_process():
    communicator = SingleCommunicator()
    first, second = World(communicator), World(communicator)
    assert first == second
    assert hash(first) == hash(second)
    assert first != World(SingleCommunicator())
    assert first != 3
    with pytest.raises(TypeError, match="pickled"):
        pickle.dumps(first)


def test_with_restores_even_when_nested_and_after_an_error():
    before = current_world()
    one = World(SingleCommunicator())
    with one, World(SingleCommunicator()), one:
        assert current_world() is one

    def fail_inside():
        with one:
            raise KeyError

    with pytest.raises(KeyError):
        fail_inside()
    assert current_world() is before


def test_use_takes_worlds_and_refuses_the_rest():
    before = current_world()
    one = World(SingleCommunicator())
    with atoll.use(one) as used:
        assert used == one
        assert atoll.world == one
        assert current_world() is used
    assert current_world() is before

    def permanently():
        atoll.use(one)
        return atoll.world == one

    assert simulated.run(1, permanently) == [True]
    assert current_world() is before
    with pytest.raises(TypeError, match="not a str"):
        atoll.use("world")


def test_a_thread_begins_in_the_world_of_the_process():
    found = []
    with World(SingleCommunicator()):
        thread = threading.Thread(target=lambda: found.append(current_world()))
        thread.start()
        thread.join()
    assert found == [current_world()]


def test_worlds_without_a_common_process_cannot_be_compared():
    def inside():
        return atoll.world.translate(process)

    process = current_world()
    with pytest.raises(WorldError, match="no rank in common"):
        simulated.run(2, inside)


def test_launch_errors_are_errors_of_atoll():
    assert issubclass(LaunchError, atoll.errors.AtollError)
