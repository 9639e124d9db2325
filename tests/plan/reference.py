"""A launch run by NumPy, instruction by instruction: the oracle for the planner and for kernels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from atoll.execute.program import State
from atoll.plan.launches import Launch


def dtype_of(code):
    return np.dtype("bool") if code == "b1" else np.dtype(code)


class Span:
    def __init__(self, owner, address, shape, strides, dtype):
        self.owner = owner
        self.__array_interface__ = {
            "version": 3, "shape": shape, "strides": strides, "typestr": dtype.str, "data": (address, False),
        }  # fmt: skip


class ReferenceLaunch:
    def __init__(self, launch: Launch, parts) -> None:
        self.launch = launch
        self.partials = [
            (fold.partials[start:], None if fold.positions is None else fold.positions[start:])
            for fold, start in parts
        ]

    @staticmethod
    def moving(launch: Launch, parts, template):
        """The same for slices that move: every number of the launch is calculated anew."""
        place = template.result(
            (
                (launch.extents, launch.chunk, launch.chunks, launch.origins),
                tuple([(m.offset, m.strides) for m in launch.memories]),
                tuple([literal for _, _, literal in launch.scalars]),
                tuple([start for _, start in parts]),
            )
        )

        def make(binding):
            (extents, chunk, chunks, origins), places, literals, starts = binding.results[place]
            memories = [
                replace(memory, offset=offset, strides=strides)
                for memory, (offset, strides) in zip(launch.memories, places, strict=True)
            ]
            scalars = [
                (number, dtype, literal)
                for (number, dtype, _), literal in zip(launch.scalars, literals, strict=True)
            ]
            now = replace(
                launch, extents=extents, chunk=chunk, chunks=chunks, origins=origins,
                memories=memories, scalars=scalars,
            )  # fmt: skip
            folds = [template.fold(one, binding) for one, _ in parts]
            return ReferenceLaunch(now, list(zip(folds, starts, strict=True)))

        return make

    def run(self, state: State) -> None:
        launch = self.launch
        spec = launch.spec
        views = []
        for memory, operand in zip(launch.memories, spec.operands, strict=True):
            value = state.registers[memory.register]
            shape, strides = launch.extents, memory.strides
            if operand.run > 1:
                shape, strides = (*shape, operand.run), (*strides, memory.dtype.itemsize)
            span = Span(value.array, value.address + memory.offset, shape, strides, memory.dtype)
            views.append(np.asarray(span))
        for c in range(launch.chunks):
            rows = slice(c * launch.chunk, min((c + 1) * launch.chunk, launch.extents[0]))
            self.chunk(state, spec, [v[rows] for v in views], c, rows.start)

    def chunk(self, state, spec, views, c, start):
        launch = self.launch
        extents = (min(launch.chunk, launch.extents[0] - start), *launch.extents[1:])
        values = []
        for i in spec.body:
            dtype = dtype_of(i.dtype)
            if i.op == "load":
                result = views[i.args[0]].copy()
            elif i.op == "scalar":
                number, kind, literal = launch.scalars[i.args[0]]
                result = np.asarray(state.scalars[number] if number >= 0 else literal).astype(kind)
            elif i.op == "const":
                result = np.asarray(i.args[0], dtype)
            elif i.op == "index":
                axis = i.args[0]
                line = launch.origins[axis] + np.arange(extents[axis]) + (start if axis == 0 else 0)
                result = line.reshape([-1 if k == axis else 1 for k in range(len(extents))])
            elif i.op == "cast":
                result = values[i.args[0]].astype(dtype)
            elif i.op == "call":
                name, _, output = i.name.partition(".")
                result = getattr(np, name)(*[values[a] for a in i.args])
                result = np.asarray(result[int(output)] if output else result)
            elif i.op == "where":
                result = np.where(*[values[a] for a in i.args])
            elif i.op == "store":
                where = values[i.args[2]] if len(i.args) == 3 else True
                value = np.broadcast_to(values[i.args[1]], extents)
                if spec.operands[i.args[0]].run > 1:
                    value = value[..., None]
                np.copyto(views[i.args[0]], value, where=where)
                result = None
            else:
                raise AssertionError(i.op)
            if result is not None:
                assert result.dtype == dtype, (i, result.dtype)
            values.append(result)
        full = 0
        for r in spec.reductions:
            value = np.broadcast_to(values[r.value], extents)
            if r.op in ("argmin", "argmax") and len(r.axes) < spec.ndim:
                self.positions(r, value, np.broadcast_to(values[r.position], extents), views)
            elif r.op in ("argmin", "argmax"):
                position = np.broadcast_to(values[r.position], extents).ravel()
                order = np.argsort(position)
                best = order[getattr(np, r.op)(value.ravel()[order])]
                self.partials[full][0][c] = value.ravel()[best]
                self.partials[full][1][c] = position[best]
                full += 1
            elif len(r.axes) == spec.ndim:
                self.partials[full][0][c] = getattr(np, r.op).reduce(
                    value, axis=None, dtype=dtype_of(r.dtype)
                )
                full += 1
            else:
                view = views[r.operand]
                target = view[
                    tuple(slice(0, 1) if k in r.axes else slice(None) for k in range(spec.ndim))
                ]
                part = getattr(np, r.op).reduce(
                    value, axis=r.axes, keepdims=True, dtype=dtype_of(r.dtype)
                )
                target[...] = getattr(np, r.op)(target, part)

    @staticmethod
    def positions(r, value, position, views):
        """Fold along some axes into the best elements so far, and their positions after them."""
        one = tuple(slice(0, 1) if k in r.axes else slice(None) for k in range(value.ndim))
        targets = [views[r.operand + k][one] for k in range(2)]

        def line(array):
            kept = [k for k in range(array.ndim) if k not in r.axes]
            array = array.transpose(*kept, *r.axes)
            return array.reshape(*array.shape[: len(kept)], -1)

        both = [
            np.concatenate([line(t), line(a)], -1)
            for t, a in zip(targets, (value, position), strict=True)
        ]
        order = np.argsort(both[1], axis=-1, kind="stable")
        both = [np.take_along_axis(a, order, -1) for a in both]
        best = getattr(np, r.op)(both[0], axis=-1, keepdims=True)
        for target, array in zip(targets, both, strict=True):
            target[...] = np.take_along_axis(array, best, -1).reshape(target.shape)
