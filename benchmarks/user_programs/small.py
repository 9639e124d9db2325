"""Arrays of a few numbers, many times."""

from __future__ import annotations

from typing import Any

from .program import program


@program(smoke=10, small=100, medium=1000, large=5000, expressions=False)
def robot_arm(np: Any, n: int) -> Any:
    """An arm of six joints: matrices of four by four, multiplied and differentiated."""

    def link(angle: Any, length: float) -> Any:
        c, s = np.cos(angle), np.sin(angle)
        return np.array(
            [[c, -s, 0, length * c], [s, c, 0, length * s], [0, 0, 1, 0], [0, 0, 0, 1.0]]
        )

    q = np.zeros(6)
    target = np.array([1.5, 2.0])
    for _ in range(n):
        pose = np.eye(4)
        places = [np.zeros(2)]
        for angle in q:
            pose = pose @ link(angle, 0.7)
            places.append(pose[:2, 3])
        error = target - places[-1]
        J = np.zeros((2, 6))
        for k in range(6):
            arm = places[-1] - places[k]
            J[:, k] = [-arm[1], arm[0]]
        q = q + 0.1 * J.T @ error
    return q, error


@program(smoke=20, small=200, medium=2000, large=20_000, expressions=False)
def quaternions(np: Any, n: int) -> Any:
    """A body that turns, its attitude by quaternions, its momentum kept."""

    def product(a: Any, b: Any) -> Any:
        w = a[0] * b[0] - np.dot(a[1:], b[1:])
        v = a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:])
        return np.concatenate(([w], v))

    inertia = np.diag([1.0, 2.0, 3.0])
    inverse = np.linalg.inv(inertia)
    q, omega = np.array([1.0, 0, 0, 0]), np.array([0.1, 2.0, 0.1])
    track = np.zeros((n, 3))
    for k in range(n):
        omega = omega + 0.001 * inverse @ np.cross(inertia @ omega, omega)
        q = q + 0.0005 * product(q, np.hstack((0.0, omega)))
        q /= np.linalg.norm(q)
        track[k] = omega
    return track, q


class Body:
    """Something with a mass, a place and a speed."""

    def __init__(self, np: Any, mass: float, place: list[float], speed: list[float]) -> None:
        self.np, self.mass = np, mass
        self.place, self.speed = np.array(place), np.array(speed)
        self.force = np.zeros(3)

    def attract(self, other: Body) -> None:
        d = other.place - self.place
        pull = self.mass * other.mass * d / (np_sqrt(self.np, d @ d) ** 3 + 1e-3)
        self.force += pull
        other.force -= pull

    def move(self, dt: float) -> None:
        self.speed += dt * self.force / self.mass
        self.place += dt * self.speed
        self.force[:] = 0.0


def np_sqrt(np: Any, x: Any) -> Any:
    """The root of a number."""
    return np.sqrt(x)


class Star(Body):
    """A body that stays where it is."""

    def move(self, dt: float) -> None:
        self.force[:] = 0.0


@program(smoke=2, small=10, medium=50, large=200, expressions=False)
def bodies(np: Any, n: int) -> Any:
    """A star and its planets as objects."""
    system: list[Body] = [Star(np, 10.0, [0, 0, 0.0], [0, 0, 0.0])]
    for k in range(1, 12):
        system.append(Body(np, 0.1 * k, [float(k), 0, 0], [0, 3.0 / k**0.5, 0.01]))
    for _ in range(n):
        for i, a in enumerate(system):
            for b in system[i + 1 :]:
                a.attract(b)
        for a in system:
            a.move(0.001)
    return np.array([b.place for b in system])


@program(smoke=30, small=300, medium=3000, large=13_000, expressions=False)
def perceptron(np: Any, n: int) -> Any:
    """A line between two kinds of points, learnt a point at a time."""
    generator = np.random.default_rng(95)
    X = generator.standard_normal((n, 5))
    y = np.where(X @ np.array([1.0, -2, 0.5, 0, 1]) > 0.2, 1, -1)
    w, b = np.zeros(5), 0.0
    wrong = 0
    for x, label in zip(X, y):
        if label * (np.dot(w, x) + b) <= 0:
            w = w + 0.1 * label * x
            b += 0.1 * label
            wrong += 1
    return w, b, wrong, np.mean(np.sign(X @ w + b) == y)


@program(smoke=20, small=100, medium=1000, large=5000, expressions=False)
def newton(np: Any, n: int) -> Any:
    """Three equations with three unknowns by Newton's method, from many starts."""
    generator = np.random.default_rng(96)
    ends = []
    for start in generator.uniform(0.5, 2, (n, 3)):
        x = start.copy()
        for _ in range(8):
            f = np.array([x[0] ** 2 + x[1] ** 2 - 4, x[0] * x[1] - 1, x[2] - np.sin(x[0])])
            J = np.array([[2 * x[0], 2 * x[1], 0], [x[1], x[0], 0], [-np.cos(x[0]), 0, 1.0]])
            x -= np.linalg.solve(J + 1e-9 * np.eye(3), f)
            if np.abs(f).max() < 1e-10:
                break
        ends.append(x)
    return np.median(np.array(ends), axis=0)


@program(smoke=10, small=50, medium=300, large=1500, expressions=False)
def particle_swarm(np: Any, n: int) -> Any:
    """Thirty particles that look for the lowest point of a function of ten numbers."""
    generator = np.random.default_rng(97)
    x = generator.uniform(-5, 5, (30, 10))
    v = np.zeros_like(x)
    best = x.copy()
    value = np.sum(x**2, axis=1)
    for _ in range(n):
        leader = best[value.argmin()]
        r1, r2 = generator.random((2, 30, 10))
        v = 0.7 * v + 1.4 * r1 * (best - x) + 1.4 * r2 * (leader - x)
        x = np.clip(x + v, -5, 5)
        now = np.sum(x**2 - 10 * np.cos(2 * np.pi * x) + 10, axis=1)
        better = now < value
        best[better] = x[better]
        value[better] = now[better]
    return value.min(), best[value.argmin()]
