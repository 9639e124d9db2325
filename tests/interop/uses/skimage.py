"""scikit-image: filters, measures and transforms of images."""

from skimage import (
    color,
    feature,
    filters,
    io,
    measure,
    morphology,
    restoration,
    segmentation,
    transform,
    util,
)

from . import fails


def filtered(np, g):
    return (filters.gaussian(g, 1), filters.median(g))


def labels(np, g):
    found = measure.label(g > 0.5)
    return (
        found,
        [r.area for r in measure.regionprops(found)],
        [r.centroid for r in measure.regionprops(found, g)],
        measure.regionprops_table(found, properties=("label", "area")),
        segmentation.clear_border(found),
        segmentation.find_boundaries(found),
    )


def moved(np, g):
    return (transform.resize(g, (5, 9)), transform.integral_image(g))


def colours(np, rgb):
    return (color.rgb2gray(rgb), color.rgb2lab(rgb))


def features(np, g):
    return (
        feature.canny(g),
        feature.peak_local_max(g),
        feature.hog(g, pixels_per_cell=(3, 3), cells_per_block=(1, 1)),
    )


def segmented(np, g, rgb):
    return (segmentation.slic(rgb, 4, start_label=1), segmentation.watershed(g))


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
