"""Heat in a plate: arrays in data classes, annotated with atoll's ``NDArray``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import atoll as np
import atoll.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass
class Plate:
    """Temperatures on a grid, and what has been measured of them."""

    temperature: Floats
    diffusivity: float = 0.1
    history: list[float] = field(default_factory=list)

    @classmethod
    def hot_edge(cls, n: int, layout: np.Layout | None = None) -> Plate:
        grid = np.zeros((n, n), layout=layout)
        grid[0, :] = 1.0
        return cls(grid)

    @property
    def inner(self) -> Floats:
        return self.temperature[1:-1, 1:-1]

    def laplacian(self) -> Floats:
        u = self.temperature
        return u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * self.inner

    def step(self) -> None:
        self.temperature[1:-1, 1:-1] += self.diffusivity * self.laplacian()
        self.history.append(float(np.mean(self.inner)))


def steps(plate: Plate, count: int, observe: Callable[[Floats], object]) -> Iterator[float]:
    """Steps of a plate, each with its residual."""
    for _ in range(count):
        before = plate.temperature.copy()
        plate.step()
        observe(plate.temperature)
        yield float(np.abs(plate.temperature - before).max())


def main() -> None:
    plate = Plate.hot_edge(20)
    shapes: list[tuple[int, ...]] = []
    residuals = list(steps(plate, 5, lambda u: shapes.append(u.shape)))
    assert residuals[-1] < residuals[0]
    assert shapes == [(20, 20)] * 5
    assert plate.temperature.layout.shape == (20, 20)
    assert isinstance(plate.temperature, np.ndarray)


if __name__ == "__main__":
    main()
