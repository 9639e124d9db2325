"""Pillow: images from arrays and arrays from images."""

import io

from PIL import Image, ImageDraw, ImageFilter, ImageOps


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


def filtered(np, u):
    image = Image.fromarray(u)
    return (
        np.asarray(image.filter(ImageFilter.GaussianBlur(1))),
        np.asarray(image.resize((5, 5))),
        np.asarray(ImageOps.invert(image)),
        np.asarray(image.crop((1, 1, 5, 4))),
        np.asarray(image.point(lambda v: v // 2)),
    )


def files(np, tmp, rgb, u):
    Image.fromarray(rgb).save(tmp / "a.png")
    Image.fromarray(u).save(tmp / "b.bmp")
    with Image.open(tmp / "a.png") as a, Image.open(tmp / "b.bmp") as b:
        return np.asarray(a), np.array(b), np.asarray(a).sum()


def files_in_memory(np, rgb):
    file = io.BytesIO()
    Image.fromarray(rgb).save(file, "PNG")
    file.seek(0)
    return np.array(Image.open(file))


def bytes_and_buffers(np, u):
    a = np.ascontiguousarray(u)
    size = (a.shape[1], a.shape[0])
    return (
        np.asarray(Image.frombytes("L", size, a.tobytes())),
        np.asarray(Image.frombuffer("L", size, a, "raw", "L", 0, 1)),
        np.frombuffer(Image.fromarray(a).tobytes(), np.uint8),
    )


def drawn(np, u, k):
    image = Image.fromarray(u)
    draw = ImageDraw.Draw(image)
    draw.line([(0, 0), (5, 5)], fill=int(u[0, 0]))
    draw.rectangle([k[0] % 3, 1, k[1] % 3 + 4, 3], fill=255)
    return np.asarray(image)


def pasted_and_composed(np, u, m):
    a, b = Image.fromarray(u), Image.fromarray(255 - u)
    return (
        np.asarray(Image.blend(a, b, 0.5)),
        np.asarray(Image.composite(a, b, Image.fromarray((u > 99).astype("u1") * 255))),
        np.asarray(Image.merge("RGB", [a, b, a])),
        a.histogram(),
        a.getextrema(),
        np.asarray(a.getbbox()),
    )


def pixels(np, u):
    image = Image.fromarray(u)
    image.putpixel((1, 2), int(u[0, 0]))
    image.putdata([int(v) for v in (u.ravel() // 2)])
    return image.getpixel((2, 1)), np.asarray(image)
