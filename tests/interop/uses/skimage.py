"""scikit-image: filters, measures and transforms of images."""

from skimage import (
    color,
    draw,
    exposure,
    feature,
    filters,
    graph,
    io,
    measure,
    metrics,
    morphology,
    registration,
    restoration,
    segmentation,
    transform,
    util,
)

from . import fails


def filtered(np, g):
    return (
        filters.gaussian(g, 1),
        filters.sobel(g),
        filters.median(g),
        filters.laplace(g),
        filters.unsharp_mask(g),
        filters.difference_of_gaussians(g, 1),
        filters.prewitt_h(g),
        filters.hessian(g),
        filters.frangi(g),
    )


def thresholds(np, g, u):
    return (
        filters.threshold_otsu(g),
        g > filters.threshold_otsu(g),
        filters.threshold_local(g, 3),
        filters.threshold_li(g),
        filters.threshold_yen(u),
        filters.threshold_mean(g),
        filters.threshold_multiotsu(g),
        filters.apply_hysteresis_threshold(g, 0.4, 0.6),
    )


def labels(np, g):
    found, n = measure.label(g > 0.5, return_num=True)
    return (
        found,
        n,
        [r.area for r in measure.regionprops(found)],
        [r.centroid for r in measure.regionprops(found, g)],
        measure.regionprops_table(found, properties=("label", "area")),
        segmentation.clear_border(found),
        segmentation.find_boundaries(found),
    )


def shapes(np, g):
    m = g > 0.5
    return (
        morphology.skeletonize(m),
        morphology.medial_axis(m, rng=0),
        morphology.convex_hull_image(m),
        morphology.disk(2) + 1,
        morphology.reconstruction(g * 0.5, g),
        morphology.area_opening(g, 3),
    )


def moved(np, g):
    t = transform.AffineTransform(rotation=0.1, translation=(1, 0))
    return (
        transform.resize(g, (5, 9)),
        transform.rescale(g, 0.5),
        t(np.array([[1.0, 2.0]])),
        transform.pyramid_reduce(g),
        transform.downscale_local_mean(g, (2, 2)),
        transform.radon(g[:6, :6], circle=False),
        transform.integral_image(g),
        transform.swirl(g),
    )


def colours(np, rgb):
    return (
        color.rgb2gray(rgb),
        color.rgb2hsv(rgb),
        color.rgb2lab(rgb),
        color.gray2rgb(rgb[..., 0]),
        color.label2rgb(rgb[..., 0] % 3, rgb),
        color.hsv2rgb(color.rgb2hsv(rgb)),
    )


def exposed(np, g, u):
    return (
        exposure.equalize_hist(g),
        exposure.rescale_intensity(g),
        exposure.adjust_gamma(g, 2),
        exposure.histogram(u),
        exposure.equalize_adapthist(g, kernel_size=4),
        exposure.match_histograms(g, g * 2),
        exposure.cumulative_distribution(u),
        exposure.adjust_sigmoid(g),
    )


def features(np, g):
    return (
        feature.canny(g),
        feature.corner_harris(g),
        feature.peak_local_max(g),
        feature.local_binary_pattern((g * 9).astype(int), 8, 1),
        feature.hog(g, pixels_per_cell=(3, 3), cells_per_block=(1, 1)),
        feature.match_template(g, g[:3, :3]),
        feature.blob_log(g, max_sigma=2),
        feature.shape_index(g),
    )


def restored(np, g):
    return (
        restoration.denoise_tv_chambolle(g),
        restoration.denoise_nl_means(g, 3, 2),
        restoration.richardson_lucy(g, np.ones((3, 3)) / 9, 3),
        restoration.wiener(g, np.ones((3, 3)) / 9, 1),
        restoration.inpaint_biharmonic(g, g > 0.95),
        restoration.rolling_ball(g, radius=3),
    )


def segmented(np, g, rgb):
    return (
        segmentation.slic(rgb, 4, start_label=1),
        segmentation.felzenszwalb(g),
        segmentation.watershed(g),
        segmentation.chan_vese(g, max_num_iter=5),
        segmentation.flood(g, (1, 1), tolerance=0.1),
        segmentation.random_walker(g, (g > 0.9) + 2 * (g < 0.1)),
        segmentation.expand_labels((g > 0.9).astype(int)),
    )


def compared(np, g):
    return (
        metrics.structural_similarity(g, g * 0.9, data_range=1.0, win_size=3),
        metrics.mean_squared_error(g, g * 2),
        metrics.peak_signal_noise_ratio(g, g * 0.9, data_range=1),
        registration.phase_cross_correlation(g, np.roll(g, 1, 0)),
        measure.shannon_entropy(g),
        util.compare_images(g, g * 2),
        metrics.normalized_mutual_information(g, g),
    )


def contours_and_lines(np, g):
    a = np.zeros((9, 9))
    a[draw.disk((4, 4), 3)] = 1
    r, c = draw.line(0, 0, 8, 5)
    a[r, c] = 2
    return (
        a,
        measure.find_contours(g, 0.5)[:1],
        measure.profile_line(g, (0, 0), (4, 4)),
        graph.route_through_array(g, (0, 0), (3, 3)),
        measure.moments(g),
        measure.block_reduce(g, (2, 2), np.mean),
        measure.euler_number(g > 0.5),
        draw.polygon(np.array([1, 4, 6]), np.array([1, 6, 2])),
        measure.approximate_polygon(np.array([[0.0, 0], [1, 0.1], [2, 0]]), 0.2),
    )


def converted(np, tmp, g, u):
    io.imsave(tmp / "a.png", u, check_contrast=False)
    return (
        io.imread(tmp / "a.png"),
        util.img_as_ubyte(g),
        util.img_as_float(u),
        util.invert(u),
        util.montage([g, g]),
        util.random_noise(g, rng=1),
        util.crop(g, 1),
    )


@fails("read-only")
def grey_morphology(np, g):
    return morphology.erosion(g)


@fails("read-only")
def warped(np, g):
    return transform.rotate(g, 20)


@fails("read-only")
def textures(np, u):
    return feature.graycomatrix(u // 64, [1], [0], 4)


@fails("read-only")
def bilateral(np, g):
    return restoration.denoise_bilateral(np.ascontiguousarray(g))


@fails("must be a numpy ndarray")
def windows(np, g):
    return util.view_as_windows(g + 0, (3, 3))


def windows_of_copies(np, g):
    import numpy

    copied = numpy.array(g)
    return (
        morphology.erosion(copied),
        transform.rotate(copied, 20),
        np.asarray(util.view_as_windows(copied, (3, 3))) * 2,
    )


@fails("values")
def small_objects(np, g):
    return morphology.remove_small_objects(g > 0.5, max_size=2)


@fails("values")
def contours_that_move(np, g):
    return segmentation.morphological_chan_vese(g, 3)
