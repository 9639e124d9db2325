"""Pillow: images from arrays and arrays from images."""

from PIL import Image


def images_of_arrays(np, u, rgb, m):
    for a in (u, rgb, m):
        image = Image.fromarray(a)
        yield image.mode, image.size, np.asarray(image), np.array(image)


def images_of_numbers(np, f, g):
    yield np.array(Image.fromarray((g * 255).astype(np.uint8)))
    yield (
        np.array(Image.fromarray(g.astype("f4"))),
        np.array(Image.fromarray((g * 1000).astype("i4"))),
    )


def arrays_of_images(np, u):
    image = Image.new("RGB", (6, 4), (10, 20, 30))
    a = np.asarray(image)
    return (
        a,
        a.mean(axis=(0, 1)),
        a[..., ::-1],
        np.array(image) / 255,
        np.array(image.convert("L")) + u[:4, :6],
    )


def changed_and_back(np, rgb):
    a = np.array(rgb)
    a[:3, :3] = [255, 0, 0]
    a[..., 1] //= 2
    return (
        np.asarray(Image.fromarray(a).rotate(90)),
        np.asarray(Image.fromarray(a[::-1])),
        np.asarray(Image.fromarray(255 - a)),
    )


def files(np, tmp, rgb, u):
    Image.fromarray(rgb).save(tmp / "a.png")
    Image.fromarray(u).save(tmp / "b.bmp")
    with Image.open(tmp / "a.png") as a, Image.open(tmp / "b.bmp") as b:
        return np.asarray(a), np.array(b), np.asarray(a).sum()


def bytes_and_buffers(np, u):
    a = np.ascontiguousarray(u)
    size = (a.shape[1], a.shape[0])
    return (
        np.asarray(Image.frombytes("L", size, a.tobytes())),
        np.asarray(Image.frombuffer("L", size, a, "raw", "L", 0, 1)),
        np.frombuffer(Image.fromarray(a).tobytes(), np.uint8),
    )
