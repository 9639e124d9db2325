"""Equations on grids, images, waves, particles, cells and chance."""

from . import user


@user
def heat_with_sources(np):
    n = 40
    u = np.zeros((n, n))
    u[n // 2] = 100.0
    k = np.full((n, n), 0.2)
    k[:, ::5] = 0.05
    history = []
    for step in range(25):
        old = u.copy()
        lap = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]
        u[1:-1, 1:-1] += k[1:-1, 1:-1] * lap
        u[0], u[-1] = u[1], u[-2]
        if step % 5 == 0:
            history.append(float(abs(u - old).max()))
            u[n // 2, 3:6] = step
    return u, history


@user
def wave_1d(np):
    n = 200
    x = np.linspace(0, 1, n)
    now = np.exp(-200 * (x - 0.3) ** 2)
    before = now.copy()
    after = np.empty_like(now)
    energy = []
    for _ in range(60):
        after[1:-1] = 2 * now[1:-1] - before[1:-1] + 0.5 * (now[2:] - 2 * now[1:-1] + now[:-2])
        after[0] = after[-1] = 0
        before, now, after = now, after, before
        energy.append(float((np.diff(now) ** 2).sum()))
    return now, energy


@user
def red_black(np):
    n = 24
    u = np.zeros((n, n))
    u[:, 0] = 1
    f = np.ones((n, n))
    i, j = np.indices((n, n))
    inner = (i > 0) & (i < n - 1) & (j > 0) & (j < n - 1)
    for _ in range(12):
        for parity in (0, 1):
            mask = inner & ((i + j) % 2 == parity)
            around = np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1)
            u[mask] = (around[mask] + 0.01 * f[mask]) / 4
    return u, u[mask].sum()


@user
def multigrid(np):
    def smooth(u, f):
        for _ in range(3):
            u[1:-1] = 0.5 * (u[2:] + u[:-2] + f[1:-1])
        return u

    def cycle(u, f):
        u = smooth(u, f)
        if len(u) > 5:
            r = np.zeros_like(u)
            r[1:-1] = f[1:-1] + u[2:] - 2 * u[1:-1] + u[:-2]
            coarse = np.zeros(len(u) // 2 + 1)
            rc = r[::2].copy()
            rc[1:-1] += 0.5 * (r[1:-2:2] + r[3::2]) - 0.0
            e = cycle(coarse, rc * 2)
            up = np.zeros_like(u)
            up[::2] = e
            up[1::2] = 0.5 * (e[:-1] + e[1:])
            u += up
        return smooth(u, f)

    n = 65
    u = np.zeros(n)
    f = np.sin(np.linspace(0, 6, n)) / n
    for _ in range(4):
        u = cycle(u, f)
    return u


@user
def mandelbrot(np):
    y, x = np.mgrid[-1.2:1.2:50j, -2:0.8:60j]
    c = x + 1j * y
    z = np.zeros_like(c)
    count = np.zeros(c.shape, int)
    alive = np.ones(c.shape, bool)
    for _ in range(25):
        z[alive] = z[alive] ** 2 + c[alive]
        alive &= abs(z) <= 2
        count[alive] += 1
    return count, np.bincount(count.ravel()), count.max(axis=0)


@user
def life(np):
    rng = np.random.default_rng(3)
    world = (rng.random((30, 37)) < 0.3).astype(np.uint8)
    for _ in range(20):
        p = np.pad(world, 1, mode="wrap")
        n = sum(p[i : i + 30, j : j + 37] for i in range(3) for j in range(3)) - world
        world = ((n == 3) | ((world == 1) & (n == 2))).astype(np.uint8)
    return world, int(world.sum())


@user
def fir_and_spectrum(np):
    t = np.arange(256) / 256
    s = np.sin(2 * np.pi * 8 * t) + 0.5 * np.cos(2 * np.pi * 31 * t)
    taps = np.hanning(9)
    taps /= taps.sum()
    y = np.convolve(s, taps, mode="same")
    f = np.fft.rfft(y)
    power = abs(f) ** 2
    peaks = np.argsort(power)[-2:]
    frames = np.lib.stride_tricks.sliding_window_view(s, 64)[::32] * np.hamming(64)
    spectrogram = abs(np.fft.rfft(frames, axis=1))
    back = np.fft.irfft(np.fft.rfft(s))
    return (
        y,
        np.sort(peaks),
        spectrogram.argmax(1),
        np.allclose(back, s),
        np.unwrap(np.angle(f[:5])),
    )


@user
def image_filters(np):
    img = (np.indices((32, 40)).sum(0) * 5 % 256).astype(np.uint8)
    img[8:16, 10:20] = 255
    img[20:, ::3] = 0
    wide = np.pad(img.astype(int), 1, mode="edge")
    gx = wide[1:-1, 2:] - wide[1:-1, :-2]
    gy = wide[2:, 1:-1] - wide[:-2, 1:-1]
    edge = np.hypot(gx, gy).clip(0, 255).astype(np.uint8)
    hist = np.bincount(img.ravel(), minlength=256)
    cdf = hist.cumsum()
    lut = ((cdf - cdf.min()) * 255 // (cdf.max() - cdf.min())).astype(np.uint8)
    equal = lut[img]
    blocks = img.reshape(8, 4, 10, 4).mean((1, 3))
    med = np.median(np.lib.stride_tricks.sliding_window_view(wide, (3, 3)), axis=(2, 3))
    rgb = np.stack([img, img[::-1], 255 - img], -1)
    gray = (rgb * [0.3, 0.59, 0.11]).sum(-1).round().astype(np.uint8)
    return (
        edge,
        equal,
        blocks,
        med,
        gray,
        img[::-1, ::-1].sum(),
        np.rot90(img)[0],
        (img > 100).argmax(1),
    )


@user
def ising(np):
    rng = np.random.default_rng(8)
    s = np.where(rng.random((16, 16)) < 0.5, 1, -1)
    checker = np.indices((16, 16)).sum(0) % 2
    m = []
    for _ in range(15):
        for c in (0, 1):
            field = np.roll(s, 1, 0) + np.roll(s, -1, 0) + np.roll(s, 1, 1) + np.roll(s, -1, 1)
            flip = (rng.random((16, 16)) < np.exp(-0.8 * s * field)) & (checker == c)
            s[flip] *= -1
        m.append(int(s.sum()))
    return s, m


@user
def monte_carlo_pi(np):
    np.random.seed(5)
    x, y = np.random.rand(2, 2000)
    inside = x * x + y * y < 1
    running = 4 * np.cumsum(inside) / np.arange(1, 2001)
    boot = np.random.choice(inside, size=(20, 100)).mean(1)
    return (
        running[::100],
        boot,
        np.percentile(running, [5, 50, 95]),
        np.histogram(x[inside], bins=7, range=(0, 1)),
    )


@user
def random_walks(np):
    rng = np.random.default_rng(11)
    steps = rng.choice([-1, 1], size=(50, 100))
    walks = steps.cumsum(1)
    hit = (abs(walks) >= 10).any(1)
    first = (abs(walks[hit]) >= 10).argmax(1)
    return (
        walks.max(1),
        hit.sum(),
        first,
        np.sort(first)[:3],
        walks[:, -1].std(),
        np.maximum.accumulate(walks, axis=1)[:, -1],
    )


@user
def n_body(np):
    n = 20
    pos = np.stack([np.cos(np.arange(n) * 1.3), np.sin(np.arange(n) * 0.7), np.arange(n) * 0.1], 1)
    vel = np.zeros((n, 3))
    mass = 1 + np.arange(n) % 3
    energies = []
    for _ in range(10):
        d = pos[None] - pos[:, None]
        r = (d**2).sum(-1) + 0.1
        acc = (mass[None, :, None] * d / r[..., None] ** 1.5).sum(1)
        vel += 0.01 * acc
        pos += 0.01 * vel
        energies.append(float(0.5 * (mass * (vel**2).sum(1)).sum()))
    return pos, vel, energies, np.average(pos, axis=0, weights=mass)


@user
def lattice_boltzmann(np):
    c = [(0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1)]
    w = np.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4)
    f = w[:, None, None] * np.ones((9, 12, 20))
    f[1] += 0.05
    wall = np.zeros((12, 20), bool)
    wall[4:7, 5:8] = True
    back = [0, 3, 4, 1, 2, 7, 8, 5, 6]
    for _ in range(8):
        for i, (x, y) in enumerate(c):
            f[i] = np.roll(f[i], (y, x), (0, 1))
        bounced = f[:, wall][back]
        rho = f.sum(0)
        ux = sum(f[i] * c[i][0] for i in range(9)) / rho
        uy = sum(f[i] * c[i][1] for i in range(9)) / rho
        for i, (x, y) in enumerate(c):
            cu = 3 * (x * ux + y * uy)
            f[i] += 0.6 * (rho * w[i] * (1 + cu + cu**2 / 2 - 1.5 * (ux**2 + uy**2)) - f[i])
        f[:, wall] = bounced
    return f.sum(0), ux, uy


@user
def games(np):
    board = np.zeros((8, 8), np.int8)
    board[0, ::2] = 1
    board[-1, 1::2] = -1
    moves = []
    for turn in range(12):
        who = 1 if turn % 2 == 0 else -1
        r, c = np.argwhere(board == who)[turn % int((board == who).sum())]
        for dr in (1, -1):
            if 0 <= r + dr * who < 8 and board[r + dr * who, c] == 0:
                board[r, c] = 0
                board[r + dr * who, c] = who
                moves.append((int(r), int(c), dr))
                break
    wins = [bool(board.diagonal(k).sum() > 1) for k in range(-3, 4)]
    lines = np.stack([board.sum(0), board.sum(1)])
    sand = np.zeros((9, 9), int)
    sand[4, 4] = 60
    while (sand > 3).any():
        tip = sand > 3
        sand[tip] -= 4
        sand[1:] += tip[:-1]
        sand[:-1] += tip[1:]
        sand[:, 1:] += tip[:, :-1]
        sand[:, :-1] += tip[:, 1:]
    return board, moves, wins, lines, sand
