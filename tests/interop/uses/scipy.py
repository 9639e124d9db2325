"""SciPy, package by package."""

import scipy.fft
import scipy.integrate
import scipy.interpolate
import scipy.io
import scipy.linalg
import scipy.ndimage
import scipy.optimize
import scipy.signal
import scipy.sparse
import scipy.sparse.csgraph
import scipy.sparse.linalg
import scipy.spatial
import scipy.special
import scipy.stats

from . import fails


def filters(np, g, u):
    n = scipy.ndimage
    return (n.gaussian_filter(g, 1), n.median_filter(u, 3), n.generic_filter(g, np.mean, 3))


def moved_images(np, g):
    n = scipy.ndimage
    y, x = np.indices(g.shape)
    return (
        n.map_coordinates(g, [y + 0.3, x - 0.2], order=1),
        n.geometric_transform(g[:6, :6], lambda p: (p[0] + 0.5, p[1])),
    )


def output_arrays(np, g):
    a = np.zeros(g.shape)
    scipy.ndimage.gaussian_filter(g, 1, output=a if type(a).__module__ == "numpy" else a.local)
    return a


def transforms(np, x, z, g):
    f = scipy.fft
    return (f.fft(x), f.irfft(f.rfft(x)), f.fftfreq(len(x), 0.1))


def signals(np, x, y):
    s = scipy.signal
    b, a = s.butter(3, 0.2)
    return (
        s.lfilter(b, a, x),
        s.sosfilt(s.butter(2, 0.3, output="sos"), x),
        s.find_peaks(x, height=0.5)[0],
        s.hilbert(x),
    )


def solved(np, s, v):
    a = scipy.linalg
    return (
        a.solve(s, v),
        a.lstsq(s, v)[0],
        a.cho_solve(a.cho_factor(s), v),
        a.solve_banded((1, 1), np.stack([v, v + 5, v]), v),
    )


def overwritten(np, s, v):
    a = s + 0
    return (
        scipy.linalg.solve(a, v + 0, overwrite_a=True, overwrite_b=True),
        scipy.linalg.lu_factor(s, overwrite_a=False),
        scipy.linalg.inv(s + 0, overwrite_a=True),
    )


def wrapped_fortran(np, s, v):
    from scipy.linalg import blas, lapack

    return (
        blas.ddot(v, v),
        blas.dgemv(1.0, s, v),
        blas.dgemm(1.0, s, s),
        lapack.dgesv(s, v)[2],
        lapack.dpotrf(s)[0],
        blas.dnrm2(v),
        blas.daxpy(v, v * 2),
        s,
        v,
    )


def minimized(np, x):
    o = scipy.optimize

    def rosen(p):
        return np.sum(100.0 * (p[1:] - p[:-1] ** 2) ** 2 + (1 - p[:-1]) ** 2)

    start = x[:4] * 2
    return (
        o.minimize(rosen, start, method="Nelder-Mead", options={"maxiter": 60}).x,
        o.minimize(rosen, np.array([1.3, 0.7]), method="L-BFGS-B", bounds=[(0, 2)] * 2).x.round(3),
        o.differential_evolution(lambda p: (p**2).sum(), [(-1, 1)] * 2, seed=1, maxiter=5).x.round(
            2
        ),
    )


def minimized_with_constraints(np, x):
    o = scipy.optimize
    limits = {"type": "eq", "fun": lambda p: np.array([p.sum() - 1.0])}
    found = o.minimize(lambda p: np.dot(p, p), x[:3], constraints=limits, method="SLSQP")
    return found.x.round(6), type(found.fun).__name__, found.success


def fitted(np, x, y):
    o = scipy.optimize

    def line(t, a, b):
        return a * t + b * np.sqrt(t)

    p, c = o.curve_fit(line, x, 2 * x + 0.3 * np.sqrt(x) + 0.01 * y)
    return (
        p.round(7),
        c.round(7),
        o.least_squares(lambda q: q[0] * x + q[1] - y, np.array([1.0, 0.0])).x.round(6),
        o.leastsq(lambda q: q[0] * x - y, [1.0])[0].round(6),
        o.nnls(np.stack([x, x**2], 1), y + 2)[0],
    )


def roots(np, x):
    o = scipy.optimize
    return (
        o.root(lambda p: np.cos(p) - p, x[:3]).x.round(8),
        o.fsolve(lambda p: p**3 - 1, x[:2] + 0.5).round(8),
        o.newton_krylov(lambda p: p + 0.1 * np.sin(p) - 1, x[:4]).round(4),
    )


def programs(np, g, x):
    o = scipy.optimize
    return (
        o.linprog(-np.ones(2), A_ub=np.array([[1.0, 2], [3, 1]]), b_ub=np.array([4.0, 5])).x,
        o.linear_sum_assignment(g[:6, :6]),
        o.milp(np.array([-1.0, -1]), bounds=o.Bounds(0, 1.5), integrality=np.ones(2)).x,
    )


def integrals(np, x, y):
    i = scipy.integrate
    t = np.linspace(0, 1, len(x))
    return (i.simpson(x, x=t), i.quad_vec(lambda s: np.array([s, s * x[0]]), 0, 1)[0])


def differential_equations(np, x):
    i = scipy.integrate
    k = np.array([[0.0, 1.0], [-1.0, -0.1]])
    found = i.solve_ivp(
        lambda t, u: k @ u, (0, 3), np.array([1.0, 0.0]), t_eval=np.linspace(0, 3, 7)
    )
    stiff = i.solve_ivp(lambda t, u: np.stack([u[1], -5 * u[0]]), (0, 1), x[:2], method="BDF")
    return (
        found.y,
        found.t,
        i.odeint(lambda u, t: -u * x[0], x[:3], np.linspace(0, 1, 4)),
        stiff.y[:, -1],
        i.RK45(lambda t, u: -u, 0, x[:2], 1).y,
    )


def splines(np, x, y):
    i = scipy.interpolate
    t = np.sort(x)
    at = np.linspace(0.2, 0.8, 7)
    return (i.CubicSpline(t, y)(at), i.splev(at, i.splrep(t, y)))


def grids(np, g, cloud):
    i = scipy.interpolate
    a, b = np.arange(g.shape[0]), np.arange(g.shape[1])
    return (
        i.RegularGridInterpolator((a, b), g)(np.array([[1.5, 2.5], [0.5, 0.1]])),
        i.griddata(cloud[:30, :2], cloud[:30, 2], cloud[:4, :2] * 0.1 + 0.4),
    )


def trees(np, cloud):
    s = scipy.spatial
    tree = s.cKDTree(cloud)
    few = cloud[:30]
    return (tree.query(cloud[:5], k=3), s.distance.cdist(few, few[:4]))


def geometry(np, cloud):
    s = scipy.spatial
    few = cloud[:40, :2]
    return (s.ConvexHull(few).volume, s.Delaunay(few).simplices)


def tests_of_statistics(np, x, y, k):
    s = scipy.stats
    return ([*s.ttest_ind(x, y)], [*s.pearsonr(x, y)], s.zscore(x), s.mode(k))


def distributions(np, x, y):
    s = scipy.stats
    return (s.norm.pdf(x), s.gaussian_kde(x)(y[:5]), s.uniform.rvs(size=4, random_state=1))


def special_functions(np, x, z, k):
    s = scipy.special
    out = np.zeros(len(x))
    s.gamma(x + 1, out=out)
    return (s.erf(x), s.logsumexp(x), out, s.erf(x[0]), s.erf(x).sum())


def files(np, tmp, x, g, s):
    i = scipy.io
    i.savemat(tmp / "a.mat", {"x": x, "g": g})
    i.wavfile.write(tmp / "a.wav", 8000, (x * 30000).astype("i2"))
    i.mmwrite(tmp / "a.mtx", s)
    scipy.sparse.save_npz(tmp / "b.npz", scipy.sparse.csr_array(s))
    back = i.loadmat(tmp / "a.mat")
    return (
        back["x"],
        back["g"],
        i.wavfile.read(tmp / "a.wav")[1],
        i.mmread(tmp / "a.mtx"),
        scipy.sparse.load_npz(tmp / "b.npz"),
    )


@fails("read-only")
def rotations(np, cloud):
    return scipy.spatial.transform.Rotation.from_rotvec(cloud[0, :3]).as_matrix()


@fails("not writeable")
def isotonic(np, x):
    return scipy.optimize.isotonic_regression(x).x


@fails("must be numpy.ndarray")
def gradients_for_slsqp(np, x):
    return scipy.optimize.minimize(
        lambda p: np.dot(p, p), x[:3], jac=lambda p: 2 * np.asarray(p), method="SLSQP"
    ).x.round(6)


def sparse_matrices(np, x, k, s, v):
    p = scipy.sparse
    rows = np.arange(len(x)) % len(v)
    a = p.coo_matrix((x, (rows, k % len(v))), shape=(len(v), len(v))).tocsr()
    d = p.csr_array(s * (s > s.mean()))
    return (a @ v, d @ s, p.diags(v), a.multiply(s), p.vstack([a, d]))


def sparse_products_from_the_left(np, s, v):
    p = scipy.sparse
    a = p.csr_array(s * (s > s.mean()))
    m = p.csr_matrix(s * (s > s.mean()))
    return (v @ a, s @ a, m * v, v[0] * a, s - m)


def sparse_solved(np, s, v):
    p, a = scipy.sparse, scipy.sparse.linalg
    m = p.csc_matrix(s)
    x, info = a.cg(m, v, rtol=1e-12)
    return (
        a.spsolve(m, v),
        x.round(6),
        info,
        a.factorized(m)(v) if type(v).__module__ == "numpy" else a.spsolve(m, v),
    )


def linear_operators(np, s, v):
    a = scipy.sparse.linalg
    m = a.LinearOperator(s.shape, matvec=lambda u: s @ u, dtype=float)
    return (m @ v, a.cg(m, v, rtol=1e-12)[0].round(6))


@fails("type not understood")
def eigenvalues_of_a_dense_array(np, s):
    return scipy.sparse.linalg.eigsh(s, k=2)[0].round(6)


def gmres(np, s, v):
    return scipy.sparse.linalg.gmres(scipy.sparse.csr_array(s), v, rtol=1e-12)[0].round(5)


def graphs(np, s):
    c = scipy.sparse.csgraph
    g = np.where(s > s.mean(), s, 0)
    return (c.shortest_path(g), c.laplacian(g))


@fails("type not understood")
def operators_of_arrays(np, s, v):
    return scipy.sparse.linalg.aslinearoperator(s).matvec(v)
