"""SciPy, package by package."""

import scipy.cluster
import scipy.constants
import scipy.datasets
import scipy.differentiate
import scipy.fft
import scipy.integrate
import scipy.interpolate
import scipy.io
import scipy.linalg
import scipy.ndimage
import scipy.optimize
import scipy.signal
import scipy.sparse
import scipy.spatial
import scipy.special
import scipy.stats

from . import fails


def filters(np, g, u):
    n = scipy.ndimage
    return (
        n.gaussian_filter(g, 1),
        n.uniform_filter(u, 3),
        n.median_filter(u, 3),
        n.sobel(g),
        n.laplace(g),
        n.maximum_filter(g, 3),
        n.convolve(g, np.ones((3, 3)) / 9),
        n.correlate1d(g, np.array([1.0, 2, 1])),
        n.generic_filter(g, np.mean, 3),
    )


def measured_images(np, g, u):
    n = scipy.ndimage
    labels, count = n.label(g > 0.6)
    return (
        labels,
        count,
        n.sum(g, labels, np.arange(1, count + 1)),
        n.center_of_mass(g),
        n.find_objects(labels)[:2],
        n.maximum_position(g),
        n.distance_transform_edt(g > 0.3),
        n.binary_erosion(g > 0.2),
        n.binary_fill_holes(g > 0.5),
    )


def moved_images(np, g):
    n = scipy.ndimage
    y, x = np.indices(g.shape)
    return (
        n.zoom(g, 1.5),
        n.rotate(g, 20, reshape=False),
        n.shift(g, 0.5),
        n.map_coordinates(g, [y + 0.3, x - 0.2], order=1),
        n.affine_transform(g, np.array([[1, 0.1], [0, 1]])),
        n.geometric_transform(g[:6, :6], lambda p: (p[0] + 0.5, p[1])),
    )


def output_arrays(np, g):
    a = np.zeros(g.shape)
    scipy.ndimage.gaussian_filter(g, 1, output=a if type(a).__module__ == "numpy" else a.local)
    return a


def transforms(np, x, z, g):
    f = scipy.fft
    return (
        f.fft(x),
        f.ifft(z),
        f.rfft(x),
        f.irfft(f.rfft(x)),
        f.fft2(g),
        f.dct(x),
        f.fftshift(x),
        f.fftfreq(len(x), 0.1),
        f.dst(x),
        f.next_fast_len(len(x)),
        f.hilbert(x) if hasattr(f, "hilbert") else 0,
    )


def signals(np, x, y):
    s = scipy.signal
    b, a = s.butter(3, 0.2)
    return (
        s.convolve(x, y[:9], mode="same"),
        s.fftconvolve(x, y[:9]),
        s.lfilter(b, a, x),
        s.filtfilt(b, a, x),
        s.sosfilt(s.butter(2, 0.3, output="sos"), x),
        s.find_peaks(x, height=0.5)[0],
        s.welch(x, nperseg=16),
        s.hilbert(x),
        s.detrend(x),
        s.savgol_filter(x, 5, 2),
        s.resample(x, 20),
        s.medfilt(x, 3),
        s.correlate(x[:20], y[:20]),
        s.periodogram(x),
    )


def more_signals(np, x):
    s = scipy.signal
    t = np.linspace(0, 1, len(x))
    return (
        s.chirp(t, 1, 1, 6),
        s.square(2 * np.pi * t),
        s.sawtooth(t),
        s.spectrogram(x, nperseg=16),
        s.stft(x, nperseg=16),
        s.get_window("hann", 8),
        s.decimate(x, 2),
        s.argrelextrema(x, np.greater),
        s.unit_impulse(5),
        s.lsim(([1.0], [1.0, 1.0]), x, t)[1],
    )


def solved(np, s, v):
    a = scipy.linalg
    return (
        a.solve(s, v),
        a.solve(s, v, assume_a="pos"),
        a.inv(s),
        a.det(s),
        a.lstsq(s, v)[0],
        a.cho_solve(a.cho_factor(s), v),
        a.lu_solve(a.lu_factor(s), v),
        a.solve_triangular(s, v, lower=True),
        a.pinv(s),
        a.norm(s),
        a.expm(s / 100),
        a.sqrtm(s),
        a.toeplitz(v[:5]),
        a.block_diag(s[:2, :2], v[:2]),
        a.solve_banded((1, 1), np.stack([v, v + 5, v]), v),
    )


def factored(np, s, g):
    a = scipy.linalg
    return (
        a.lu(s),
        a.qr(g),
        a.svdvals(g),
        a.eigvalsh(s),
        a.cholesky(s),
        a.schur(s)[1] ** 2,
        a.hessenberg(s),
        a.polar(s),
        a.ldl(s),
        a.orth(g).shape,
        a.null_space(g.T).shape,
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
        o.minimize(rosen, start, method="BFGS").x.round(3),
        o.minimize(rosen, np.array([1.3, 0.7]), method="L-BFGS-B", bounds=[(0, 2)] * 2).x.round(3),
        o.minimize_scalar(lambda t: (t - x[0]) ** 2).x,
        o.differential_evolution(lambda p: (p**2).sum(), [(-1, 1)] * 2, seed=1, maxiter=5).x.round(
            2
        ),
    )


def minimized_with_constraints(np, x):
    o = scipy.optimize
    limits = {"type": "eq", "fun": lambda p: np.array([p.sum() - 1.0])}
    found = o.minimize(
        lambda p: np.dot(p, p),
        x[:3],
        constraints=limits,
        method="SLSQP",
    )
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
        o.brentq(lambda t: t**2 - x[0], 0, 2),
        o.fsolve(lambda p: p**3 - 1, x[:2] + 0.5).round(8),
        o.newton(lambda t: t**2 - 2, 1.0),
        o.newton(lambda t: t**2 - 2, x[:3] + 1).round(8),
        o.newton_krylov(lambda p: p + 0.1 * np.sin(p) - 1, x[:4]).round(4),
        o.fixed_point(lambda p: np.cos(p), x[:2]).round(6),
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
    return (
        i.trapezoid(x, t),
        i.simpson(x, x=t),
        i.cumulative_trapezoid(x, t, initial=0),
        i.quad(lambda s: np.exp(-(s**2)), 0, 1)[0],
        i.quad_vec(lambda s: np.array([s, s * x[0]]), 0, 1)[0],
        i.dblquad(lambda a, b: a * b, 0, 1, 0, 1)[0],
        i.fixed_quad(lambda s: np.cos(s), 0, 1)[0],
        i.nquad(lambda a: a, [[0, 1]])[0],
    )


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


def large_differential_equations(np, x):
    def heat(t, u):
        d = np.zeros_like(u)
        d[1:-1] = u[2:] - 2 * u[1:-1] + u[:-2]
        return d

    return scipy.integrate.solve_ivp(heat, (0, 0.5), x, method="RK45").y[:, -1].round(6)


def boundary_problems(np, x):
    t = np.linspace(0, 1, 5)
    found = scipy.integrate.solve_bvp(
        lambda s, u: np.vstack((u[1], -np.exp(u[0]))),
        lambda a, b: np.array([a[0], b[0]]),
        t,
        np.zeros((2, t.size)),
    )
    return found.sol(t)[0].round(8), found.status


def splines(np, x, y):
    i = scipy.interpolate
    t = np.sort(x)
    at = np.linspace(0.2, 0.8, 7)
    return (
        i.interp1d(t, y)(at),
        i.CubicSpline(t, y)(at),
        i.PchipInterpolator(t, y)(at),
        i.splev(at, i.splrep(t, y)),
        i.UnivariateSpline(t, y, s=5)(at),
        i.make_interp_spline(t, y, 3)(at),
        i.Akima1DInterpolator(t, y)(at),
        i.BarycentricInterpolator(np.linspace(0, 1, 5), y[:5])(at),
        i.CubicSpline(t, y).integrate(0.2, 0.8),
    )


def grids(np, g, cloud):
    i = scipy.interpolate
    a, b = np.arange(g.shape[0]), np.arange(g.shape[1])
    return (
        i.RegularGridInterpolator((a, b), g)(np.array([[1.5, 2.5], [0.5, 0.1]])),
        i.griddata(cloud[:30, :2], cloud[:30, 2], cloud[:4, :2] * 0.1 + 0.4),
        i.RectBivariateSpline(a, b, g)(a[:3] + 0.5, b[:2]),
        i.NearestNDInterpolator(cloud[:, :2], cloud[:, 2])(cloud[:3, :2]),
        i.RBFInterpolator(cloud[:20, :2], cloud[:20, 2])(cloud[:3, :2]),
        i.interpn((a, b), g, np.array([1.2, 3.4])),
    )


def trees(np, cloud):
    s = scipy.spatial
    tree = s.cKDTree(cloud)
    few = cloud[:30]
    return (
        tree.query(cloud[:5], k=3),
        tree.query_ball_point(few[0], 0.3),
        s.KDTree(cloud).query(few)[1],
        s.distance.cdist(few, few[:4]),
        s.distance.pdist(few[:6]),
        s.distance.squareform(s.distance.pdist(few[:5])),
        s.distance.euclidean(few[0], few[1]),
        sorted(tree.query_pairs(0.05))[:3],
    )


def geometry(np, cloud):
    s = scipy.spatial
    few = cloud[:40, :2]
    return (
        s.ConvexHull(few).volume,
        s.Delaunay(few).simplices,
        s.Voronoi(few[:8]).vertices,
        s.transform.Rotation.from_euler("z", 30, degrees=True).as_matrix(),
        s.procrustes(few, few * 2)[2],
        s.transform.Slerp([0, 1], s.transform.Rotation.random(2, random_state=1))(0.3).as_quat(),
    )


def tests_of_statistics(np, x, y, k):
    s = scipy.stats
    return (
        [*s.ttest_ind(x, y)],
        [*s.pearsonr(x, y)],
        [*s.spearmanr(x, y)],
        s.ks_2samp(x, y).pvalue,
        [*s.linregress(x, y)],
        s.zscore(x),
        s.mode(k),
        s.skew(x),
        s.kurtosis(y),
        [*s.describe(x)],
        s.entropy(x),
        s.rankdata(x),
        [*s.mannwhitneyu(x, y)],
        s.sem(x),
        s.iqr(x),
        [*s.normaltest(x)],
        [*s.kendalltau(x[:50], y[:50])],
        s.trim_mean(x, 0.1),
        [*s.chisquare(np.bincount(k))],
    )


def distributions(np, x, y):
    s = scipy.stats
    return (
        s.norm.pdf(x),
        s.norm(0, 2).cdf(y),
        s.gamma.ppf(x, 2),
        s.norm.fit(x),
        s.gaussian_kde(x)(y[:5]),
        s.multivariate_normal([0, 0], np.eye(2)).pdf(np.stack([x, y], 1)),
        s.poisson.pmf(np.arange(5), 2.0),
        s.expon.logpdf(x),
        s.uniform.rvs(size=4, random_state=1),
        s.beta.sf(x, 2, 3),
        s.norm.logpdf(x, loc=y, scale=2).sum(),
    )


def binned(np, x, y):
    s = scipy.stats
    return (
        [*s.binned_statistic(x, y, "mean", bins=5)][:2],
        s.binned_statistic_2d(x, y, x, "sum", bins=3).statistic,
        [*s.cumfreq(x, 4)],
        [*s.probplot(x[:20])][1],
        s.ecdf(x[:9]).cdf.quantiles,
        s.bootstrap((x[:20],), np.mean, n_resamples=20, random_state=1).standard_error,
        s.boxcox(x + 0.1)[1],
        s.energy_distance(x[:40], y[:40]),
    )


def special_functions(np, x, z, k):
    s = scipy.special
    out = np.zeros(len(x))
    s.gamma(x + 1, out=out)
    return (
        s.erf(x),
        s.gammaln(x + 1),
        s.jv(1, x),
        s.expit(x),
        s.logsumexp(x),
        s.softmax(x),
        s.comb(k + 5, 2),
        s.betainc(1, 2, x),
        s.loggamma(z),
        s.factorial(k),
        s.xlogy(x, x),
        s.binom(5, k),
        s.eval_legendre(2, x),
        s.erfinv(x),
        out,
        s.ellipk(x),
        s.zeta(x + 2),
        s.sph_harm_y(1, 2, x, x) if hasattr(s, "sph_harm_y") else 0,
        s.erf(x[0]),
        s.erf(x).sum(),
    )


def clusters(np, cloud):
    c = scipy.cluster
    few = cloud[:30]
    tree = c.hierarchy.linkage(few, "ward")
    return (
        tree,
        c.hierarchy.fcluster(tree, 3, "maxclust"),
        c.vq.whiten(few),
        c.vq.vq(few, few[:3]),
        c.vq.kmeans2(few, few[:3], minit="matrix"),
    )


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


def scaled_constants(np, x):
    return (
        x * scipy.constants.c,
        scipy.constants.convert_temperature(x, "C", "K"),
        scipy.differentiate.derivative(np.sin, x[:3]).df.round(8),
        scipy.optimize.approx_fprime(x[:3], lambda p: np.sum(p**2)).round(5),
        scipy.optimize.check_grad(lambda p: np.sum(p**2), lambda p: 2 * p, x[:3]) < 1e-5,
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
