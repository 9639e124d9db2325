"""Heat on an unstructured mesh: each rank has a part of the points, and a message for each neighbour.

    python examples/unstructured_mesh.py                   one process
    atoll run -n 4 examples/unstructured_mesh.py           four ranks

The messages follow from the mesh, not from an array expression, so the step is a dataflow graph. It is
made, partitioned and verified once, and executed for every step; points without neighbours on
other ranks are computed while the messages travel. The result is checked against one process.
"""

import time

import numpy

import atoll as np
from atoll import dataflow

POINTS, NEAREST, STEPS, RATE = 1500, 6, 60, 0.08


def mesh() -> tuple[numpy.ndarray, numpy.ndarray]:
    """Points in a square, and for each the points it touches: a table, filled up with itself."""
    places = numpy.random.default_rng(1).random((POINTS, 2))
    distance = ((places[:, None] - places) ** 2).sum(axis=2)
    nearest = numpy.argsort(distance, axis=1)[:, 1 : NEAREST + 1]
    touching: list[set[int]] = [set() for _ in range(POINTS)]
    for one, others in enumerate(nearest.tolist()):
        for other in others:
            touching[one].add(other)
            touching[other].add(one)
    table = numpy.arange(POINTS)[:, None].repeat(max(map(len, touching)), axis=1)
    for one, others in enumerate(touching):
        table[one, : len(others)] = sorted(others)
    return places, table


def owners(places: numpy.ndarray, size: int) -> numpy.ndarray:
    """Cut the points in two by x, then by y, and so on: the rank of each point."""
    rank = numpy.zeros(POINTS, int)
    waiting = [(numpy.arange(POINTS), 0, size, 0)]
    while waiting:
        mine, first, count, axis = waiting.pop()
        if count == 1:
            rank[mine] = first
            continue
        order = mine[numpy.argsort(places[mine, axis])]
        half = count // 2
        cut = len(order) * half // count
        waiting.append((order[:cut], first, half, 1 - axis))
        waiting.append((order[cut:], first + half, count - half, 1 - axis))
    return rank


def step_graph(
    table: numpy.ndarray, owner: numpy.ndarray, rank: int
) -> tuple[dataflow.DistributedGraphPartition, numpy.ndarray]:
    """One step of this rank's points as a graph; which points those are."""
    mine = numpy.flatnonzero(owner == rank)
    foreign = numpy.setdiff1d(table[mine], mine)
    place = numpy.full(POINTS, -1)
    place[mine] = numpy.arange(len(mine))

    u = dataflow.make_placeholder("u", (len(mine),))
    sends, pieces = [], [u]
    start = len(mine)
    for neighbour in numpy.unique(owner[foreign]):
        wanted = foreign[owner[foreign] == neighbour]
        place[wanted] = numpy.arange(start, start + len(wanted))
        start += len(wanted)
        pieces.append(
            dataflow.make_distributed_recv(int(neighbour), "boundary", (len(wanted),), float)
        )
        theirs = numpy.flatnonzero(owner == neighbour)
        given = numpy.intersect1d(
            table[theirs], mine
        )  # in the order of their numbers, on both sides
        sends.append(dataflow.make_distributed_send(u[place[given]], int(neighbour), "boundary"))

    local = place[table[mine]]
    inside = numpy.flatnonzero((local < len(mine)).all(axis=1))
    edge = numpy.flatnonzero((local >= len(mine)).any(axis=1))
    new_inside = u[inside] + RATE * (u[local[inside]] - u[inside][:, None]).sum(axis=1)
    everything = np.concatenate(pieces)
    new_edge = u[edge] + RATE * (everything[local[edge]] - u[edge][:, None]).sum(axis=1)
    back = numpy.argsort(numpy.concatenate([inside, edge]))
    new = np.concatenate([new_inside, new_edge])[back]
    return dataflow.find_distributed_partition(np.world, {"u": new}, sends=sends), mine


def main() -> None:
    rank, size = np.world.rank, np.world.size
    places, table = mesh()
    whole = numpy.exp(-20 * ((places - 0.5) ** 2).sum(axis=1))
    partition, mine = step_graph(table, owners(places, size), rank)
    if rank == 0:
        print(dataflow.show(partition))
    programs = dataflow.generate_code_for_partition(partition)

    u = whole[mine]
    began = time.perf_counter()
    for _ in range(STEPS):
        u = dataflow.execute_distributed_partition(
            partition, programs, None, np.world, input_args={"u": u}
        )["u"]
    seconds = time.perf_counter() - began

    for _ in range(STEPS):
        whole = whole + RATE * (whole[table] - whole[:, None]).sum(axis=1)
    error = abs(u - whole[mine]).max()
    assert error < 1e-12, error
    heat = np.from_local(u).sum()  # the ranks' results as one array again
    if rank == 0:
        print(f"{POINTS} points on {size} ranks, {seconds / STEPS * 1e3:.2f} ms per step")
        print(f"as on one process; all heat together {float(heat):.6f}")
    else:
        float(heat)


if __name__ == "__main__":
    main()
