"""PyTorch: tensors over arrays and arrays over tensors."""

import numpy
import torch

from . import fails


def by_dlpack(np, x, g, k, f):
    for a in (x + 1, g + 1, k + 1, f * 2, (g + 0).T, (x + 0)[2:5]):
        t = torch.from_dlpack(a)
        yield t * 2, np.from_dlpack(t) + 1, t.shape == tuple(a.shape), t.stride()


def memory_shared_by_dlpack(np, x):
    a = x + 1
    t = torch.from_dlpack(a)
    t[0] = 5
    a[1] = 6
    t.mul_(2)
    return a, t


def tensors_of_arrays(np, x, k, m, u, f):
    for a in (x + 1, k + 1, m | True, u + 1, f * 2):
        yield torch.tensor(a), torch.as_tensor(a) + 0, torch.asarray(numpy.array(a)) + 0


@fails("expected np.ndarray")
def from_numpy(np, x):
    return torch.from_numpy(x)


def arrays_of_tensors(np, x):
    t = torch.linspace(0, 1, 7, dtype=torch.float64)
    return (
        np.asarray(t) * 2,
        np.array(t),
        np.sqrt(np.asarray(t)),
        np.from_dlpack(t) + x[0],
        t.numpy() + x[:7],
        np.asarray(t.numpy()),
    )


def tensors_follow_arrays(np):
    t = torch.zeros(6, dtype=torch.float64)
    a = np.asarray(t.numpy())
    a[2] = 4
    t[3] = 5
    return a, t, a * 2


def lists_of_arrays(np, x, g):
    return (
        torch.tensor([x[:3].tolist(), x[3:6].tolist()]),
        torch.stack([torch.as_tensor(r + 1) for r in g]),
        torch.tensor(x[0]),
        torch.tensor(float(x.sum())),
        torch.full((2,), x[1]),
    )


@fails("default_collate")
def data_sets_of_arrays(np, cloud):
    return next(iter(torch.utils.data.DataLoader([cloud[0], cloud[1]], batch_size=2)))


def operators(np, x):
    t = torch.ones(len(x), dtype=torch.float64)
    return (
        np.asarray(x + t.numpy()),
        np.add(x, t.numpy()),
        np.asarray(t) * x,
        torch.dot(t, torch.as_tensor(x + 1)),
    )


def a_negative_stride(np, x):
    return torch.tensor(numpy.ascontiguousarray(x[::-1])), torch.tensor((x[::-1]).copy())


@fails("float32")
def bytes_as_numbers(np, x):
    return torch.asarray(x + 1)
