"""SciPy's sparse matrices, their solvers, and graphs."""

import scipy.sparse
import scipy.sparse.csgraph
import scipy.sparse.linalg

from . import fails


def sparse_matrices(np, x, k, s, v):
    p = scipy.sparse
    rows = np.arange(len(x)) % len(v)
    a = p.coo_matrix((x, (rows, k % len(v))), shape=(len(v), len(v))).tocsr()
    d = p.csr_array(s * (s > s.mean()))
    return (
        a,
        d,
        a @ v,
        d @ s,
        a.T @ v,
        p.diags(v),
        p.diags([v[:-1], v], [-1, 0]),
        p.eye(3) * v[0],
        a.sum(axis=0),
        a.multiply(s),
        p.kron(p.eye(2), s[:3, :3]),
        a.nnz,
        p.csc_matrix(s)[:2],
        a.diagonal(),
        p.vstack([a, d]),
        a + d,
        p.block_diag([s[:2, :2], s[:3, :3]]),
        p.dia_array((np.stack([v, v]), np.array([0, 1])), shape=(len(v), len(v))),
    )


def sparse_products_from_the_left(np, s, v):
    p = scipy.sparse
    a = p.csr_array(s * (s > s.mean()))
    m = p.csr_matrix(s * (s > s.mean()))
    return (
        v @ a,
        s @ a,
        m * v,
        m.dot(v),
        a.dot(s),
        m * 2.0,
        v[0] * a,
        a * v,
        a / 2,
        v @ m,
        s - m,
        np.asarray(a @ v) - v,
    )


def sparse_solved(np, s, v):
    p, a = scipy.sparse, scipy.sparse.linalg
    m = p.csc_matrix(s)
    x, info = a.cg(m, v, rtol=1e-12)
    return (
        a.spsolve(m, v),
        x.round(6),
        info,
        a.bicgstab(m, v, rtol=1e-12)[0].round(6),
        a.expm_multiply(m / 100, v),
        a.lsqr(m, v)[0].round(5),
        a.inv(m),
        a.norm(m),
        a.factorized(m)(v) if type(v).__module__ == "numpy" else a.spsolve(m, v),
    )


def linear_operators(np, s, v):
    a = scipy.sparse.linalg
    m = a.LinearOperator(s.shape, matvec=lambda u: s @ u, dtype=float)
    return (
        m @ v,
        m.matvec(v),
        a.cg(m, v, rtol=1e-12)[0].round(6),
        abs(a.eigsh(m, k=2)[0]).round(6),
        a.minres(m, v, rtol=1e-12)[0].round(5),
    )


@fails("type not understood")
def eigenvalues_of_a_dense_array(np, s):
    return scipy.sparse.linalg.eigsh(s, k=2)[0].round(6)


@fails("")
def gmres(np, s, v):
    return scipy.sparse.linalg.gmres(scipy.sparse.csr_array(s), v, rtol=1e-12)[0].round(5)


def graphs(np, s):
    c = scipy.sparse.csgraph
    g = np.where(s > s.mean(), s, 0)
    return (
        c.connected_components(g)[0],
        c.shortest_path(g),
        c.minimum_spanning_tree(g),
        c.dijkstra(g, indices=0),
        c.laplacian(g),
        c.breadth_first_order(scipy.sparse.csr_array(g), 0)[0],
    )


@fails("type not understood")
def operators_of_arrays(np, s, v):
    return scipy.sparse.linalg.aslinearoperator(s).matvec(v)
