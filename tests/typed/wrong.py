"""Mistakes: the checkers report an error in each line that ends with the comment, and in no other."""

import numpy

import atoll as np
import atoll.linalg as la
import atoll.typing as npt

x = np.linspace(0, 1, 5)
z = np.zeros(3, np.complex128)


def doubled(a: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return a * 2


np.nonsense  # error
np.config.smal  # error
np.config.smal = 3  # error
np.config(smal=3)  # error
np.config.small = "many"  # error
np.zeros((2, 3), lay=None)  # error
np.zeros((2, 3), layout=3)  # error
np.full(3, 0.0, layout=1.5)  # error
np.add(x)  # error
x.nonsense  # error
x.layoot  # error
x.layout = None  # error
x.reshape("a")  # error
la.nonsense  # error
la.solve(x)  # error
np.random.default_rng(1).norml()  # error
doubled(numpy.ones(3))  # error
doubled("text")  # error
doubled(z)  # error
number: int = x  # error
names: npt.NDArray[np.str_] = x  # error
doubled(x).local.layout  # error
np.world.rnk  # error
np.onesided(x).nothing  # error
