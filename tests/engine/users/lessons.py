"""Programs of public lessons, as they are written there; each for any size ``n`` of its grid."""

from . import user


def pressure(p, dx, dy, b, turns, *, periodic, np):
    for _ in range(turns):
        pn = p.copy()
        p[1:-1, 1:-1] = (
            (pn[1:-1, 2:] + pn[1:-1, 0:-2]) * dy**2 + (pn[2:, 1:-1] + pn[0:-2, 1:-1]) * dx**2
        ) / (2 * (dx**2 + dy**2)) - dx**2 * dy**2 / (2 * (dx**2 + dy**2)) * b[1:-1, 1:-1]
        if periodic:
            p[1:-1, -1] = (
                (pn[1:-1, 0] + pn[1:-1, -2]) * dy**2 + (pn[2:, -1] + pn[0:-2, -1]) * dx**2
            ) / (2 * (dx**2 + dy**2)) - dx**2 * dy**2 / (2 * (dx**2 + dy**2)) * b[1:-1, -1]
            p[1:-1, 0] = (
                (pn[1:-1, 1] + pn[1:-1, -1]) * dy**2 + (pn[2:, 0] + pn[0:-2, 0]) * dx**2
            ) / (2 * (dx**2 + dy**2)) - dx**2 * dy**2 / (2 * (dx**2 + dy**2)) * b[1:-1, 0]
            p[-1, :] = p[-2, :]
            p[0, :] = p[1, :]
        else:
            p[:, -1] = p[:, -2]
            p[0, :] = p[1, :]
            p[:, 0] = p[:, 1]
            p[-1, :] = 0
    return p


@user
def cavity_flow(np, n=31, turns=12):
    dx = dy = 2 / (n - 1)
    rho, nu, dt = 1, 0.1, 0.05 * dx * dx
    u, v, p, b = (np.zeros((n, n)) for _ in range(4))
    for _ in range(turns):
        un, vn = u.copy(), v.copy()
        b[1:-1, 1:-1] = rho * (
            1 / dt * ((u[1:-1, 2:] - u[1:-1, 0:-2]) / (2 * dx) + (v[2:, 1:-1] - v[0:-2, 1:-1]) / (2 * dy))
            - ((u[1:-1, 2:] - u[1:-1, 0:-2]) / (2 * dx)) ** 2
            - 2 * ((u[2:, 1:-1] - u[0:-2, 1:-1]) / (2 * dy) * (v[1:-1, 2:] - v[1:-1, 0:-2]) / (2 * dx))
            - ((v[2:, 1:-1] - v[0:-2, 1:-1]) / (2 * dy)) ** 2
        )  # fmt: skip
        p = pressure(p, dx, dy, b, 20, periodic=False, np=np)
        u[1:-1, 1:-1] = (
            un[1:-1, 1:-1]
            - un[1:-1, 1:-1] * dt / dx * (un[1:-1, 1:-1] - un[1:-1, 0:-2])
            - vn[1:-1, 1:-1] * dt / dy * (un[1:-1, 1:-1] - un[0:-2, 1:-1])
            - dt / (2 * rho * dx) * (p[1:-1, 2:] - p[1:-1, 0:-2])
            + nu * (dt / dx**2 * (un[1:-1, 2:] - 2 * un[1:-1, 1:-1] + un[1:-1, 0:-2])
                    + dt / dy**2 * (un[2:, 1:-1] - 2 * un[1:-1, 1:-1] + un[0:-2, 1:-1]))
        )  # fmt: skip
        v[1:-1, 1:-1] = (
            vn[1:-1, 1:-1]
            - un[1:-1, 1:-1] * dt / dx * (vn[1:-1, 1:-1] - vn[1:-1, 0:-2])
            - vn[1:-1, 1:-1] * dt / dy * (vn[1:-1, 1:-1] - vn[0:-2, 1:-1])
            - dt / (2 * rho * dy) * (p[2:, 1:-1] - p[0:-2, 1:-1])
            + nu * (dt / dx**2 * (vn[1:-1, 2:] - 2 * vn[1:-1, 1:-1] + vn[1:-1, 0:-2])
                    + dt / dy**2 * (vn[2:, 1:-1] - 2 * vn[1:-1, 1:-1] + vn[0:-2, 1:-1]))
        )  # fmt: skip
        u[0, :] = u[:, 0] = u[:, -1] = 0
        u[-1, :] = 1
        v[0, :] = v[-1, :] = v[:, 0] = v[:, -1] = 0
    return u, v, p


@user
def channel_flow(np, n=31, turns=12):
    dx = dy = 2 / (n - 1)
    rho, nu, F, dt = 1, 0.1, 1, 0.05 * dx * dx
    u, v, b = (np.zeros((n, n)) for _ in range(3))
    p = np.ones((n, n))
    udiff, steps = 1, 0
    while udiff > 0.001 and steps < turns:
        un, vn = u.copy(), v.copy()
        b[1:-1, 1:-1] = rho * (
            1
            / dt
            * ((u[1:-1, 2:] - u[1:-1, 0:-2]) / (2 * dx) + (v[2:, 1:-1] - v[0:-2, 1:-1]) / (2 * dy))
        )
        b[1:-1, -1] = rho * (
            1 / dt * ((u[1:-1, 0] - u[1:-1, -2]) / (2 * dx) + (v[2:, -1] - v[0:-2, -1]) / (2 * dy))
        )
        b[1:-1, 0] = rho * (
            1 / dt * ((u[1:-1, 1] - u[1:-1, -1]) / (2 * dx) + (v[2:, 0] - v[0:-2, 0]) / (2 * dy))
        )
        p = pressure(p, dx, dy, b, 20, periodic=True, np=np)
        for here, west, east in (
            (slice(1, -1), slice(0, -2), slice(2, None)),
            (-1, -2, 0),
            (0, -1, 1),
        ):
            for to, old, along in ((u, un, True), (v, vn, False)):
                push = (
                    (p[1:-1, east] - p[1:-1, west]) / dx
                    if along
                    else (p[2:, here] - p[0:-2, here]) / dy
                )
                to[1:-1, here] = (
                    old[1:-1, here]
                    - un[1:-1, here] * dt / dx * (old[1:-1, here] - old[1:-1, west])
                    - vn[1:-1, here] * dt / dy * (old[1:-1, here] - old[0:-2, here])
                    - dt / (2 * rho) * push
                    + nu
                    * (
                        dt / dx**2 * (old[1:-1, east] - 2 * old[1:-1, here] + old[1:-1, west])
                        + dt / dy**2 * (old[2:, here] - 2 * old[1:-1, here] + old[0:-2, here])
                    )
                    + F * dt * along
                )
        u[0, :] = u[-1, :] = v[0, :] = v[-1, :] = 0
        udiff = (np.sum(u) - np.sum(un)) / np.sum(u)
        steps += 1
    return u, v, p, steps


@user
def burgers(np, n=41, turns=30):
    dx = dy = 2 / (n - 1)
    nu = 0.01
    dt = 0.0009 * dx * dy / nu
    u, v, comb = np.ones((n, n)), np.ones((n, n)), np.ones((n, n))
    u[int(0.5 / dy) : int(1 / dy + 1), int(0.5 / dx) : int(1 / dx + 1)] = 2
    v[int(0.5 / dy) : int(1 / dy + 1), int(0.5 / dx) : int(1 / dx + 1)] = 2
    for _ in range(turns + 1):
        un, vn = u.copy(), v.copy()
        for to, old in ((u, un), (v, vn)):
            to[1:-1, 1:-1] = (
                old[1:-1, 1:-1]
                - dt / dx * un[1:-1, 1:-1] * (old[1:-1, 1:-1] - old[1:-1, 0:-2])
                - dt / dy * vn[1:-1, 1:-1] * (old[1:-1, 1:-1] - old[0:-2, 1:-1])
                + nu * dt / dx**2 * (old[1:-1, 2:] - 2 * old[1:-1, 1:-1] + old[1:-1, 0:-2])
                + nu * dt / dy**2 * (old[2:, 1:-1] - 2 * old[1:-1, 1:-1] + old[0:-2, 1:-1])
            )
            to[0, :] = to[-1, :] = 1
            to[:, 0] = to[:, -1] = 1
    comb[u > 1.5] += v[u > 1.5]
    return u, v, comb


@user
def waves_with_borders(np, n=40, turns=40):
    y, x = np.mgrid[0:n, 0:n]
    wall = (abs(x - n // 2) < 2) & ((y < n // 3) | (y > n // 2))
    u = np.exp(-((x - n / 4) ** 2 + (y - n / 2) ** 2) / 8.0)
    old, seen = u.copy(), np.zeros((n, n), bool)
    speed = np.where(x > n // 2, 0.2, 0.4)
    for k in range(turns):
        lap = np.zeros_like(u)
        lap[1:-1, 1:-1] = (
            u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
        )
        new = 2 * u - old + speed * lap
        new[wall] = 0
        new[0], new[-1] = new[1], new[-2]
        new[:, 0] = new[:, -1] = 0
        seen |= new > 0.05
        old, u = u, new
        if k == turns // 2:
            u[~seen] = 0
            u[wall] = old[:][wall] + 0.5
    return u, seen, np.count_nonzero(seen)


@user
def ocean_columns(np, n=24, turns=4):
    """Arrays that are never changed, but copied: each update is a copy with a slice set."""

    def update(arr, at, to):
        arr = arr.copy()
        arr[at] = to
        arr.flags.writeable = False
        return arr

    nz = 11
    kbot = np.arange(n * n).reshape(n, n) % 4
    dz = np.linspace(1, 2, nz)
    temp = np.fromfunction(lambda i, j, k: 20 - k + 0.1 * i - 0.05 * j, (n, n, nz))
    results = []
    for turn in range(turns):
        low = 2 if turn % 2 else 1
        at = (slice(low, -2), slice(2, -2))
        levels = np.arange(nz)[None, None, :]
        land = kbot[at] >= 1
        water = np.logical_and(land[:, :, None], levels >= kbot[at][:, :, None] - 1)
        edge = np.logical_and(land[:, :, None], levels == kbot[at][:, :, None] - 1)
        flux = np.zeros((n, n, nz))[at]
        flux = update(flux, np.s_[:, :, :-1], 0.1 * (temp[at][:, :, 1:] - temp[at][:, :, :-1]))
        flux = update(flux, np.s_[:, :, -1], 0.0)
        a = update(np.zeros_like(flux), np.s_[:, :, 1:], -flux[:, :, :-1] / dz[None, None, 1:])
        a = update(a, edge, 0.0)
        change = np.where(water, flux / dz[None, None, :] + a, 0.0)
        temp = update(temp, at, temp[at] + change)
        results += [float(abs(a[water]).sum()), float(change.sum()), water.sum()]
    return temp, results


@user
def sea_ice(np, n=36, turns=20):
    y, x = np.indices((n, n))
    ocean = (x - n / 2) ** 2 + (y - n / 2) ** 2 < (n / 2.2) ** 2
    t = np.where(ocean, -1.0 + 0.1 * np.sin(0.5 * x), np.nan)
    h = np.zeros((n, n))
    for k in range(turns):
        ice = ocean & (h > 0)
        freezing = ocean & (t < -1.0)
        h[freezing] += -0.2 * (t[freezing] + 1.0)
        t[freezing] = -1.0
        melting = ice & (t > -0.95)
        np.subtract(h, 0.05, out=h, where=melting)
        h[h < 0] = 0
        np.maximum(h, 0, out=h, where=ocean)
        t[ocean] += 0.02 * np.cos(0.3 * k) - 0.01 * h.ravel()[ocean.ravel()]
        t[ocean & ~ice] -= 0.005
    return h, np.nanmean(t), ocean.sum(), np.where(ocean, t, 0)


@user
def random_masks(np, n=50, turns=15):
    rng = __import__("numpy").random.default_rng(1)
    a = np.array(rng.random((n, n)))
    b = np.array(rng.integers(0, 9, (n, n)))
    for _ in range(turns):
        m = np.array(rng.random((n, n)) < 0.3)
        a *= 1.5
        a[m] = a.ravel().reshape(n, n)[m] + 1
        b[m] += 1
        b[~m & (b > 3)] -= b[::-1][::-1][~m & (b > 3)] // 2
        a[b > 5] = 0.5
        a[a > 9] %= 2
        np.add(a, b, out=a[...], where=m)
    return a, b, a.sum(), b.max()


@user
def image_filters(np, n=48):
    y, x = np.mgrid[:n, :n]
    image = ((x * 7 + y * 13) % 256).astype(np.uint8)
    wide = np.pad(image.astype(np.int32), 1, mode="edge")
    blurred = sum(wide[i : i + n, j : j + n] for i in range(3) for j in range(3)) // 9
    gx = wide[1:-1, 2:] - wide[1:-1, :-2]
    gy = wide[2:, 1:-1] - wide[:-2, 1:-1]
    edges = np.hypot(gx, gy)
    out = image.copy()
    out[edges > 60] = 255
    out[edges <= 10] = blurred.astype(np.uint8)[edges <= 10]
    view = out[::2, ::2]
    view[view > 128] -= 100
    out[1::2] = out[1::2, ::-1]
    out.T[: n // 4][out.T[: n // 4] < 30] += 5
    hist = np.bincount(out.ravel(), minlength=256)
    cdf = hist.cumsum()
    return out, (cdf[out] * 255 // cdf[-1]).astype(np.uint8), hist


@user
def game_of_life(np, n=40, turns=20):
    y, x = np.indices((n, n))
    z = ((x * 3 + y * y) % 5 < 2).astype(int)
    for k in range(turns):
        if k % 2:
            nb = sum(np.roll(z, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1)) - z
            z = ((nb == 3) | ((z == 1) & (nb == 2))).astype(int)
        else:
            nb = np.zeros(z.shape, int)
            nb[1:-1, 1:-1] += (
                z[:-2, :-2] + z[:-2, 1:-1] + z[:-2, 2:] + z[1:-1, :-2]
                + z[1:-1, 2:] + z[2:, :-2] + z[2:, 1:-1] + z[2:, 2:]
            )  # fmt: skip
            birth = (nb == 3)[1:-1, 1:-1] & (z[1:-1, 1:-1] == 0)
            survive = ((nb == 2) | (nb == 3))[1:-1, 1:-1] & (z[1:-1, 1:-1] == 1)
            z[...] = 0
            z[1:-1, 1:-1][birth | survive] = 1
    return z, z.sum()


@user
def fdtd(np, n=44, turns=40):
    ez, hx, hy = np.zeros((n, n)), np.zeros((n, n - 1)), np.zeros((n - 1, n))
    eps = np.ones((n, n))
    eps[n // 2 :, n // 3 : n // 2] = 4.0
    metal = np.zeros((n, n), bool)
    metal[n // 4, n // 4 : -n // 4] = True
    trace = []
    for k in range(turns):
        hx -= 0.5 * (ez[:, 1:] - ez[:, :-1])
        hy += 0.5 * (ez[1:, :] - ez[:-1, :])
        ez[1:-1, 1:-1] += (
            0.5 / eps[1:-1, 1:-1] * (hy[1:, 1:-1] - hy[:-1, 1:-1] - hx[1:-1, 1:] + hx[1:-1, :-1])
        )
        ez[metal] = 0.0
        ez[n // 3, n // 2] += np.sin(0.3 * k)
        trace.append(float(ez[n // 2, n // 2]))
    return ez, hx, hy, trace


@user
def tridiagonal_rows(np, n=40):
    a = np.fromfunction(lambda i, j: -1.0 - 0.01 * ((i + j) % 3), (n, n))
    b = np.fromfunction(lambda i, j: 4.0 + 0.1 * (i % 5), (n, n))
    c = np.full((n, n), -1.0)
    d = np.fromfunction(lambda i, j: (i * j) % 7 + 1.0, (n, n))
    cp, dp = c.copy(), d.copy()
    cp[0] /= b[0]
    dp[0] /= b[0]
    for i in range(1, n):
        m = b[i] - a[i] * cp[i - 1]
        cp[i] = c[i] / m
        dp[i] = (d[i] - a[i] * dp[i - 1]) / m
    x = np.zeros_like(d)
    x[-1] = dp[-1]
    for i in range(n - 2, -1, -1):
        x[i] = dp[i] - cp[i] * x[i + 1]
    r = b * x - d
    r[1:] += a[1:] * x[:-1]
    r[:-1] += c[:-1] * x[1:]
    return x, abs(r).max() < 1e-9


@user
def sand_pile(np, n=30, turns=60):
    z = np.zeros((n, n), dtype=np.int64)
    z[n // 2 - 3 : n // 2 + 3, n // 2 - 2 : n // 2 + 4] = 40
    fallen = []
    for _ in range(turns):
        over = z > 3
        if not over.any():
            break
        fallen.append(int(over.sum()))
        z[over] -= 4
        z[1:, :][over[:-1, :]] += 1
        z[:-1, :][over[1:, :]] += 1
        z[:, 1:][over[:, :-1]] += 1
        z[:, :-1][over[:, 1:]] += 1
        z[0, :] = z[-1, :] = 0
        z[:, 0] = z[:, -1] = 0
    return z, fallen


@user
def lattice_boltzmann(np, n=30, turns=15):
    cxs, cys = [0, 0, 1, 1, 1, 0, -1, -1, -1], [0, 1, 1, 0, -1, -1, -1, 0, 1]
    weights = [4 / 9, 1 / 9, 1 / 36, 1 / 9, 1 / 36, 1 / 9, 1 / 36, 1 / 9, 1 / 36]
    y, x = np.mgrid[0:n, 0 : 2 * n]
    f = np.ones((n, 2 * n, 9)) + 0.01 * np.sin(0.1 * x + 0.3 * y)[:, :, None]
    f[:, :, 3] += 2 * (1 + 0.2 * np.cos(2 * 3.14159 * x / (2 * n) * 4))
    f *= (100 / f.sum(axis=2))[:, :, None]
    cylinder = (x - n / 2) ** 2 + (y - n / 2) ** 2 < (n / 4) ** 2
    for _ in range(turns):
        for i, cx, cy in zip(range(9), cxs, cys):
            f[:, :, i] = np.roll(f[:, :, i], cx, axis=1)
            f[:, :, i] = np.roll(f[:, :, i], cy, axis=0)
        bounced = f[cylinder, :]
        bounced = bounced[:, [0, 5, 6, 7, 8, 1, 2, 3, 4]]
        rho = np.sum(f, 2)
        ux = np.sum(f * np.array(cxs), 2) / rho
        uy = np.sum(f * np.array(cys), 2) / rho
        feq = np.zeros(f.shape)
        for i, cx, cy, w in zip(range(9), cxs, cys, weights):
            e = cx * ux + cy * uy
            feq[:, :, i] = rho * w * (1 + 3 * e + 9 * e**2 / 2 - 3 * (ux**2 + uy**2) / 2)
        f += -(1.0 / 0.6) * (f - feq)
        f[cylinder, :] = bounced
    ux[cylinder] = 0
    return rho, ux, f


@user
def pages_of_a_table(np, n=60):
    """Records: fields that are set under masks, sorted, and summed."""
    t = np.zeros(n * n, dtype=[("id", "i8"), ("price", "f8"), ("qty", "i4"), ("ok", "?")])
    t["id"] = np.arange(n * n)
    t["price"] = (t["id"] * 37 % 101) / 4
    t["qty"][...] = t["id"] % 6
    t["ok"] = (t["price"] > 5) & (t["qty"] > 0)
    t["price"][~t["ok"]] = 0
    t["price"][t["qty"] == 3] *= 2
    sold = t[t["ok"]]
    part = t[::3]
    part["qty"] += 1
    return t["price"], t["qty"], sold["price"].sum(), part["qty"].max(), t["ok"].sum()


@user
def diffusion_limited(np, n=40, turns=25):
    """Cells that freeze, one after the other, next to frozen ones."""
    frozen = np.zeros((n, n), bool)
    frozen[n // 2, n // 2] = True
    heat = np.ones((n, n))
    age = np.full((n, n), -1)
    for k in range(turns):
        near = np.zeros_like(frozen)
        near[1:] |= frozen[:-1]
        near[:-1] |= frozen[1:]
        near[:, 1:] |= frozen[:, :-1]
        near[:, :-1] |= frozen[:, 1:]
        grow = near & ~frozen & (heat > 0.6)
        age[grow] = k
        frozen |= grow
        heat[frozen] = 0.0
        new = heat.copy()
        new[1:-1, 1:-1] = 0.25 * (
            heat[2:, 1:-1] + heat[:-2, 1:-1] + heat[1:-1, 2:] + heat[1:-1, :-2]
        )
        heat[...] = np.where(frozen, heat, new)
    return frozen, age, heat, frozen.sum()
