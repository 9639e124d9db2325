"""Matplotlib: pictures of arrays, compared pixel by pixel."""

import io

import matplotlib
import numpy

matplotlib.use("agg")
import matplotlib.pyplot as plt
from matplotlib import cm, colors, dates


def _pixels(figure):
    figure.set_dpi(40)
    figure.canvas.draw()
    picture = numpy.array(figure.canvas.buffer_rgba())
    plt.close(figure)
    return picture


def lines(np, x, y, k):
    figure, ax = plt.subplots()
    ax.plot(np.sort(x), y)
    ax.plot(y[:9], "o--")
    ax.plot(k, x, "k.", x, y, "r-")
    ax.set_xlim(x.min(), x.max())
    ax.axhline(y.mean())
    ax.fill_between(np.arange(len(x)), x, y, where=x > y, alpha=0.3)
    ax.errorbar(x[:5], y[:5], yerr=np.abs(y[:5]))
    ax.set_title(f"{x.mean():.2f}")
    return _pixels(figure)


def images(np, g, rgb, u, m):
    figure, ax = plt.subplots(2, 3)
    figure.colorbar(ax[0, 0].imshow(g, vmin=g.min(), vmax=g.max()))
    ax[0, 1].imshow(rgb)
    ax[0, 2].imshow(u, cmap="gray", origin="lower", interpolation="nearest")
    ax[1, 0].matshow(g > 0.5)
    ax[1, 1].pcolormesh(g)
    ax[1, 2].spy(g > 0.7)
    return _pixels(figure)


def contours(np, g):
    figure, ax = plt.subplots(1, 2)
    a, b = np.meshgrid(np.arange(g.shape[1]), np.arange(g.shape[0]))
    ax[0].contour(a, b, g, levels=np.linspace(0, 1, 4))
    ax[1].contourf(a, b, g)
    ax[1].quiver(a, b, g, g * 2)
    return _pixels(figure)


def histograms(np, x, y, k):
    figure, ax = plt.subplots(2, 2)
    n, edges, _ = ax[0, 0].hist(x, bins=7)
    ax[0, 1].hist([x, y], bins=np.linspace(0, 1, 5), density=True)
    ax[1, 0].hist2d(x, y, bins=5)
    ax[1, 1].hexbin(x, y, gridsize=5)
    return n, edges, _pixels(figure)


def bars(np, x, k, w):
    figure, ax = plt.subplots(2, 2)
    ax[0, 0].bar(np.arange(5), x[:5], yerr=x[5:10])
    ax[0, 1].barh(w[:4], x[:4])
    ax[1, 0].pie(x[:4])
    ax[1, 1].stem(x[:6])
    return _pixels(figure)


def other_axes(np, x, y, t):
    figure = plt.figure()
    a = figure.add_subplot(221, projection="polar")
    a.plot(x * 6, y)
    b = figure.add_subplot(222, projection="3d")
    b.plot_surface(*np.meshgrid(np.arange(4), np.arange(4)), np.ones((4, 4)) * x[0])
    c = figure.add_subplot(223)
    c.loglog(x + 0.1, y + 2)
    d = figure.add_subplot(224)
    d.plot(np.sort(t), x)
    d.xaxis.set_major_formatter(dates.DateFormatter("%m"))
    return _pixels(figure)


def changed_lines(np, x, y):
    figure, ax = plt.subplots()
    (line,) = ax.plot(x)
    line.set_ydata(y)
    line.set_data(np.arange(len(x)), y * 2)
    picture = ax.imshow(np.zeros((4, 4)), extent=(0, 9, -1, 1))
    picture.set_data(np.ones((4, 4)) * x[0])
    picture.set_clim(0, x.max())
    ax.relim()
    ax.autoscale_view()
    return line.get_ydata(), line.get_xydata(), numpy.asarray(picture.get_array()), _pixels(figure)


def colours(np, x, g, m):
    return (
        cm.viridis(x),
        colors.to_rgba((x[0], x[1], x[2])),
        colors.BoundaryNorm(np.array([0, 0.5, 1]), 2)(x),
    )


def saved(np, tmp, g, x):
    plt.imsave(tmp / "a.png", g)
    figure, ax = plt.subplots()
    ax.plot(x)
    figure.savefig(tmp / "b.png", dpi=30)
    figure.savefig(tmp / "c.svg")
    plt.close(figure)
    file = io.BytesIO()
    plt.imsave(file, g, cmap="gray")
    return plt.imread(tmp / "a.png"), plt.imread(tmp / "b.png"), len(file.getvalue())


def masked(np, x, m, g):
    figure, ax = plt.subplots(1, 2)
    ax[0].plot(np.ma.masked_where(m, x))
    ax[1].imshow(np.ma.masked_less(g, 0.5))
    return _pixels(figure)
