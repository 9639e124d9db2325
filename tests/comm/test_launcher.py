"""Each launcher is recognised from what it leaves in the environment."""

import os
import socket
import subprocess
import sys

import pytest

from atoll.comm import launcher
from atoll.comm.launcher import Launch

HYDRA = {"PMI_RANK": "1", "PMI_SIZE": "4", "MPI_LOCALRANKID": "1", "MPI_LOCALNRANKS": "2"}
OPEN_MPI = {
    "OMPI_COMM_WORLD_RANK": "2",
    "OMPI_COMM_WORLD_SIZE": "6",
    "OMPI_COMM_WORLD_LOCAL_RANK": "0",
    "OMPI_COMM_WORLD_LOCAL_SIZE": "3",
    "PMIX_RANK": "2",
    "PMIX_NAMESPACE": "prterun-17@1",
}
SLURM = {
    "SLURM_JOB_ID": "17",
    "SLURM_STEP_ID": "0",
    "SLURM_PROCID": "5",
    "SLURM_NTASKS": "8",
    "SLURM_STEP_NUM_TASKS": "7",
    "SLURM_LOCALID": "1",
    "SLURM_NODEID": "2",
    "SLURM_STEP_TASKS_PER_NODE": "2(x2),3",
}


def seen(environ):
    launch = launcher.detect(environ)
    assert launch is not None
    return launch.launcher, launch.rank, launch.size, launch.local_rank, launch.local_size


def test_nothing_is_no_launch():
    assert launcher.detect({}) is None
    assert launcher.detect({"PMI_RANK": "one", "SLURM_PROCID": ""}) is None


def test_every_launcher_by_its_own_variables():
    assert seen(HYDRA) == ("mpiexec (Hydra)", 1, 4, 1, 2)
    assert seen(OPEN_MPI) == ("mpiexec (Open MPI)", 2, 6, 0, 3)
    assert seen(SLURM) == ("srun (Slurm)", 5, 7, 1, 3)
    assert seen({"PMI_RANK": "0", "PMI_SIZE": "3"}) == ("a PMI launcher", 0, 3, None, None)
    pmix = {"PMIX_RANK": "1", "PMIX_NAMESPACE": "job"}
    assert seen(pmix) == ("a PMIx launcher", 1, None, None, None)


def test_mpiexec_inside_slurm_is_mpiexec():
    # mpiexec starts its helpers by srun, so its ranks see a Slurm step of another size as well.
    assert seen(SLURM | HYDRA)[0] == "mpiexec (Hydra)"
    assert seen(SLURM | OPEN_MPI)[0] == "mpiexec (Open MPI)"
    assert seen(SLURM | {"PMI_RANK": "5", "PMI_SIZE": "7"})[0] == "srun (Slurm)"


@pytest.mark.parametrize("step", ["4294967291", "4294967290", "4294967292", ""])
def test_a_shell_inside_an_allocation_is_not_a_launch(step):
    environ = SLURM | {"SLURM_STEP_ID": step}
    assert launcher.detect(environ) is None
    del environ["SLURM_STEP_ID"]
    assert launcher.detect(environ) is None


@pytest.mark.parametrize(
    ("text", "node", "tasks"), [("4", 0, 4), ("2(x3),1", 3, 1), ("2(x3),1", 2, 2), ("?", 0, None)]
)
def test_tasks_of_this_node(text, node, tasks):
    environ = SLURM | {"SLURM_STEP_TASKS_PER_NODE": text, "SLURM_NODEID": str(node)}
    assert seen(environ)[-1] == tasks


def test_a_socket_that_is_closed_belongs_to_a_process_further_up():
    with socket.socket() as channel:
        environ = HYDRA | {"PMI_FD": str(channel.fileno())}
        assert seen(environ)[1] == 1
    assert launcher.detect(environ) is None
    with open(os.devnull) as other:
        assert launcher.detect(HYDRA | {"PMI_FD": str(other.fileno())}) is None


@pytest.mark.parametrize("environ", [HYDRA, OPEN_MPI, SLURM], ids=["Hydra", "Open MPI", "Slurm"])
def test_what_a_rank_starts_is_no_rank(environ):
    environ = dict(environ)
    launcher.claim(environ)
    assert launcher.detect(environ) is not None
    code = "from atoll.comm import launcher; print(launcher.detect())"
    child = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | environ | {"ATOLL_MPI": "off"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert child.stdout.strip() == "None", child.stderr


def test_a_launch_inside_a_rank_is_a_launch():
    environ = dict(OPEN_MPI)
    launcher.claim(environ)
    environ["ATOLL_RUN_PROCESS"] = environ["ATOLL_RUN_PROCESS"].replace(str(os.getpid()), "1")
    assert launcher.detect(environ) is None
    environ["PMIX_NAMESPACE"] = "prterun-18@1"
    assert seen(environ)[1] == 2


def test_detection_imports_no_mpi():
    code = "import sys; from atoll.comm import launcher; launcher.detect(); print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert "atoll.comm.launcher" in ran.stdout
    assert "mpi4py" not in ran.stdout


def test_a_launch_is_a_value():
    assert Launch("x", 0, 1) == Launch("x", 0, 1)
