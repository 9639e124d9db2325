# Written by stubs/write.py from NumPy 2.4.6 and stubs/own.pyi: do not edit.
# mypy: disable-error-code="overload-overlap,override,misc,deprecated"
from atoll import (
    vecdot as vecdot,
)
from atoll._stubs.fromnumeric import (
    matrix_transpose as matrix_transpose,
)
from atoll._stubs.linalg import (
    cholesky as cholesky,
    cross as cross,
    diagonal as diagonal,
    eig as eig,
    eigh as eigh,
    eigvals as eigvals,
    eigvalsh as eigvalsh,
    inv as inv,
    lstsq as lstsq,
    matmul as matmul,
    matrix_power as matrix_power,
    outer as outer,
    pinv as pinv,
    qr as qr,
    solve as solve,
    svd as svd,
    svdvals as svdvals,
    tensordot as tensordot,
    tensorinv as tensorinv,
    tensorsolve as tensorsolve,
)
from numpy.linalg import (
    LinAlgError as LinAlgError,
    cond as cond,
    det as det,
    matrix_norm as matrix_norm,
    matrix_rank as matrix_rank,
    multi_dot as multi_dot,
    norm as norm,
    slogdet as slogdet,
    trace as trace,
    vector_norm as vector_norm,
)
