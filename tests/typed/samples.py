"""Statistics of samples: functions generic in the dtype, annotated with NumPy's own ``NDArray``."""

from typing import Any, Generic, NamedTuple, Protocol, TypeVar, overload

import numpy.typing as npt

import atoll as np

Real = TypeVar("Real", bound=np.floating[Any])
Number = TypeVar("Number", np.float32, np.float64)


class Fit(NamedTuple):
    """A line through points."""

    slope: float
    intercept: float
    residuals: npt.NDArray[np.float64]


class Scaler(Protocol[Real]):
    """What brings samples to a common scale."""

    def fit(self, samples: npt.NDArray[Real], /) -> "Scaler[Real]": ...
    def transform(self, samples: npt.NDArray[Real], /) -> npt.NDArray[Real]: ...


class Standard(Generic[Real]):
    """Mean 0, deviation 1."""

    mean: npt.NDArray[Real]
    deviation: npt.NDArray[Real]

    def fit(self, samples: npt.NDArray[Real], /) -> "Standard[Real]":
        self.mean = np.asarray(samples.mean(axis=0), samples.dtype)
        self.deviation = np.asarray(samples.std(axis=0), samples.dtype)
        return self

    def transform(self, samples: npt.NDArray[Real], /) -> npt.NDArray[Real]:
        return np.asarray((samples - self.mean) / self.deviation, samples.dtype)


def clipped(x: npt.NDArray[Number], low: float, high: float) -> npt.NDArray[Number]:
    """Samples within limits, of their own dtype."""
    return np.clip(x, low, high).astype(x.dtype)


@overload
def norm(x: npt.NDArray[np.float64], axis: None = None) -> float: ...
@overload
def norm(x: npt.NDArray[np.float64], axis: int) -> npt.NDArray[np.float64]: ...
def norm(x: npt.NDArray[np.float64], axis: int | None = None) -> float | npt.NDArray[np.float64]:
    """The length of a vector, or of those along an axis."""
    if axis is None:
        return float(np.sqrt(np.sum(x * x)))
    lengths: npt.NDArray[np.float64] = np.sqrt(np.sum(x * x, axis=axis))
    return lengths


def line(x: npt.ArrayLike, y: npt.ArrayLike) -> Fit:
    """Least squares."""
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    matrix = np.column_stack((a, np.ones_like(a)))
    solution, *_ = np.linalg.lstsq(matrix, b, rcond=None)
    slope, intercept = (float(value) for value in solution)
    return Fit(slope, intercept, b - (slope * a + intercept))


def scaled(scaler: Scaler[np.float64], samples: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Samples, brought to a scale of their own."""
    return scaler.fit(samples).transform(samples)


def main() -> None:
    generator = np.random.default_rng(1)
    samples = generator.normal(3, 2, size=(100, 3))
    standard = scaled(Standard[np.float64](), samples)
    assert np.allclose(standard.mean(axis=0), 0)
    assert abs(norm(samples) ** 2 - float((norm(samples, 1) ** 2).sum())) < 1e-6
    fit = line([0, 1, 2], [1, 3, 5])
    assert round(fit.slope, 6) == 2
    assert fit.residuals.shape == (3,)
    single = clipped(np.linspace(0, 1, 5, dtype=np.float32), 0.2, 0.8)
    assert single.dtype == np.float32
    counts, edges = np.histogram(samples, bins=10)
    assert int(counts.sum()) == samples.size == 300
    assert edges.shape == (11,)


if __name__ == "__main__":
    main()
