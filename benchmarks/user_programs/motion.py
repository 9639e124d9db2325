"""Bodies, molecules, and what is measured of them."""

from __future__ import annotations

from typing import Any

from .program import program


@program(smoke=20, small=60, medium=300, large=1200)
def nbody(np: Any, n: int) -> Any:
    """Stars that attract each other, by leapfrog."""
    generator = np.random.default_rng(1)
    position = generator.random((n, 3)) - 0.5
    velocity = 0.1 * (generator.random((n, 3)) - 0.5)
    mass = np.ones((n, 1)) / n

    def acceleration(p: Any) -> Any:
        x, y, z = p[:, 0:1], p[:, 1:2], p[:, 2:3]
        dx, dy, dz = x.T - x, y.T - y, z.T - z
        inverse = (dx**2 + dy**2 + dz**2 + 0.01) ** (-1.5)
        return np.hstack([(dx * inverse) @ mass, (dy * inverse) @ mass, (dz * inverse) @ mass])

    a = acceleration(position)
    kinetic = []
    for _ in range(40):
        velocity += a * 0.005
        position += velocity * 0.01
        a = acceleration(position)
        velocity += a * 0.005
        kinetic.append(0.5 * np.sum(mass * velocity**2))
    return position, np.array(kinetic)


@program(smoke=20, small=64, medium=256, large=700, tolerance=1e-7)
def molecules(np: Any, n: int) -> Any:
    """A gas of Lennard and Jones in a periodic box, pairs by broadcasting."""
    generator = np.random.default_rng(2)
    side = int(np.ceil(n ** (1 / 3)))
    box = 1.6 * side
    grid = np.stack(np.meshgrid(*[np.arange(side)] * 3), -1).reshape(-1, 3)[:n]
    r = 1.6 * grid + 0.1 * generator.random((n, 3))
    v = generator.random((n, 3)) - 0.5
    v -= v.mean(axis=0)

    def forces(r: Any) -> Any:
        d = r[:, None, :] - r[None, :, :]
        d -= box * np.round(d / box)
        r2 = (d**2).sum(axis=-1)
        np.fill_diagonal(r2, np.inf)
        near = r2 < 6.25
        inverse = np.where(near, 1 / r2, 0.0)
        six = inverse**3
        pair = 24 * inverse * six * (2 * six - 1)
        return (pair[:, :, None] * d).sum(axis=1), 2 * np.sum(six * (six - 1))

    f, potential = forces(r)
    energies = []
    for _ in range(20):
        v += 0.5 * 0.002 * f
        r = (r + 0.002 * v) % box
        f, potential = forces(r)
        v += 0.5 * 0.002 * f
        energies.append(float(potential + 0.5 * np.sum(v**2)))
    return np.array(energies)


@program(smoke=30, small=100, medium=1000, large=10000, expressions=False)
def kalman(np: Any, n: int) -> Any:
    """A thing that moves on a plane, found from what is seen of it, with matrices of four by four."""
    generator = np.random.default_rng(3)
    dt = 0.1
    F = np.array([[1, 0, dt, 0], [0, 1, 0, dt], [0, 0, 1, 0], [0, 0, 0, 1.0]])
    H = np.array([[1.0, 0, 0, 0], [0, 1, 0, 0]])
    Q = 0.01 * np.eye(4)
    R = 0.5 * np.eye(2)
    t = dt * np.arange(n)
    truth = np.column_stack([np.cos(t), np.sin(0.5 * t)])
    seen = truth + 0.7 * (generator.random((n, 2)) - 0.5)
    x = np.zeros(4)
    P = np.eye(4)
    track = np.zeros((n, 2))
    for k in range(n):
        x = F @ x
        P = F @ P @ F.T + Q
        innovation = seen[k] - H @ x
        S = H @ P @ H.T + R
        K = P @ H.T @ np.linalg.inv(S)
        x = x + K @ innovation
        P = (np.eye(4) - K @ H) @ P
        track[k] = x[:2]
    return track, np.sqrt(((track - truth) ** 2).mean())


@program(smoke=20, small=50, medium=200, large=800)
def boids(np: Any, n: int) -> Any:
    """Birds that keep together, and apart."""
    generator = np.random.default_rng(4)
    place = 100 * generator.random((n, 2))
    speed = generator.random((n, 2)) - 0.5
    for _ in range(40):
        d = place[None, :, :] - place[:, None, :]
        distance = np.sqrt((d**2).sum(axis=2))
        near = (distance < 15) & (distance > 0)
        count = np.maximum(near.sum(axis=1), 1)[:, None]
        cohere = (near[:, :, None] * d).sum(axis=1) / count
        align = near @ speed / count - speed
        close = (distance < 4) & (distance > 0)
        apart = -(close[:, :, None] * d).sum(axis=1)
        speed = speed + 0.01 * cohere + 0.05 * align + 0.05 * apart
        fast = np.linalg.norm(speed, axis=1, keepdims=True)
        speed = np.where(fast > 2, 2 * speed / np.maximum(fast, 1e-12), speed)
        place = (place + speed) % 100
    return place


@program(smoke=3, small=3, medium=5, large=9, expressions=False)
def planets(np: Any, n: int) -> Any:
    """A sun and its planets, one force after the other."""
    mass = np.array([1.0] + [1e-3] * n)
    r = np.zeros((n + 1, 2))
    v = np.zeros((n + 1, 2))
    for k in range(1, n + 1):
        r[k] = [k, 0]
        v[k] = [0, 1 / np.sqrt(k)]

    def pull(r: Any) -> Any:
        a = np.zeros_like(r)
        for i in range(n + 1):
            for j in range(n + 1):
                if i != j:
                    d = r[j] - r[i]
                    a[i] += mass[j] * d / np.linalg.norm(d) ** 3
        return a

    a = pull(r)
    for _ in range(300):
        v += 0.005 * a
        r += 0.01 * v
        a = pull(r)
        v += 0.005 * a
    return r
