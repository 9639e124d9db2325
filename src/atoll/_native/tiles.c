/* Arrays on ranks of which each rank keeps all elements.
 *
 * A loop over the elements of an array on ranks soon has all of it on every rank (see lazy/tiles.py). As long as the array has this
 * value, its elements and short views are read there, as those of an array in memory. What every rank has is written there, too, and
 * into the rank's share. Each assignment is a step of the log, with the same number as in lazy/pieces.py, which does what this file
 * does not: ranks may go either way.
 */
#include "tiles.h"

PyObject *whole_tile(Front *front, PyObject *value) {
    PyObject *tiles = VALUE(value)->tiles;
    if (tiles == NULL || (PyObject *)Py_TYPE(tiles) != python.tiles_type || VALUE(value)->pinned) return NULL;
    if (BOX(front->cell)->pins || field(tiles, TILE_WHOLE) == Py_None) return NULL;
    return field(tiles, TILE_WHOLE);
}

/* A part of an array: where its first element is, and along which axis, and by how many elements, each of its own axes goes. */
typedef struct {
    npy_intp start[NPY_MAXDIMS], step[NPY_MAXDIMS];
    int axis[NPY_MAXDIMS];
} Part;

/* Whether a view of an array has one step along one axis for each axis of its own. */
static int part_of(PyArrayObject *view, PyArrayObject *whole, Part *part) {
    const npy_intp *strides = PyArray_STRIDES(whole), *shape = PyArray_DIMS(whole);
    npy_intp offset = PyArray_BYTES(view) - PyArray_BYTES(whole), before = NPY_MAX_INTP;
    int axes = PyArray_NDIM(whole), used[NPY_MAXDIMS] = {0};
    for (int count = 0; count < axes; count++) {  /* the longest strides first */
        int next = -1;
        for (int k = 0; k < axes; k++)
            if (!used[k] && shape[k] > 1 && (next < 0 || strides[k] > strides[next])) next = k;
        if (next < 0) break;
        if (strides[next] <= 0 || strides[next] >= before) return 0;
        before = strides[next];
        used[next] = 1;
        part->start[next] = offset / before;
        offset %= before;
    }
    if (offset) return 0;
    for (int k = 0; k < axes; k++) {
        if (!used[k]) part->start[k] = 0;
        used[k] = 0;
    }
    for (int j = 0; j < PyArray_NDIM(view); j++) {
        npy_intp stride = PyArray_STRIDE(view, j), length = PyArray_DIM(view, j), size = stride < 0 ? -stride : stride;
        int along = -1;
        part->axis[j] = -1;
        if (length == 1) continue;
        for (int k = 0; k < axes; k++)
            if (shape[k] > 1 && strides[k] <= size && (along < 0 || strides[k] > strides[along])) along = k;
        if (along < 0 || used[along] || stride % strides[along]) return 0;
        npy_intp step = stride / strides[along], last = part->start[along] + step * (length - 1);
        if (last < 0 || last >= shape[along]) return 0;
        used[along] = 1;
        part->axis[j] = along;
        part->step[j] = step;
    }
    return 1;
}

/* Copy what of a view lies in the rank's share into that: `bounds` has the first index along each axis, and the one behind the last. */
static int copy_into_share(PyArrayObject *share, PyArrayObject *view, const Part *part, const npy_intp *bounds) {
    npy_intp shape[NPY_MAXDIMS], to[NPY_MAXDIMS], from[NPY_MAXDIMS], at[NPY_MAXDIMS];
    char *target = PyArray_BYTES(share), *source = PyArray_BYTES(view);
    int axes = PyArray_NDIM(share), n = PyArray_NDIM(view);
    memcpy(at, part->start, axes * sizeof *at);
    for (int j = 0; j < n; j++) {
        int k = part->axis[j];
        shape[j] = PyArray_DIM(view, j);
        from[j] = to[j] = PyArray_STRIDE(view, j);
        if (k < 0) continue;
        npy_intp step = part->step[j], low = bounds[2 * k] - at[k], high = bounds[2 * k + 1] - at[k], begin, end;
        if (step > 0) {  /* the least turn from which on it is at `low`, and at `high` */
            begin = low <= 0 ? 0 : (low + step - 1) / step;
            end = high <= 0 ? 0 : (high + step - 1) / step;
        } else {
            begin = high > 0 ? 0 : -high / -step + 1;
            end = low > 0 ? 0 : -low / -step + 1;
        }
        if (end > shape[j]) end = shape[j];
        if (begin >= end) return 0;
        shape[j] = end - begin;
        at[k] += step * begin;
        source += from[j] * begin;
        to[j] = step * PyArray_STRIDE(share, k);
    }
    for (int k = 0; k < axes; k++) {
        if (at[k] < bounds[2 * k] || at[k] >= bounds[2 * k + 1]) return 0;
        target += (at[k] - bounds[2 * k]) * PyArray_STRIDE(share, k);
    }
    if (PyArray_SIZE(view) == 1) {
        memcpy(target, source, PyArray_ITEMSIZE(share));
        return 0;
    }
    PyArray_Descr *dtype = PyArray_DESCR(share);
    Py_INCREF(dtype);
    Py_INCREF(dtype);
    PyObject *one = PyArray_NewFromDescr(&PyArray_Type, dtype, n, shape, to, target, NPY_ARRAY_WRITEABLE, NULL);
    PyObject *other = PyArray_NewFromDescr(&PyArray_Type, dtype, n, shape, from, source, 0, NULL);
    int status = one == NULL || other == NULL ? -1 : PyArray_CopyInto((PyArrayObject *)one, (PyArrayObject *)other);
    Py_XDECREF(one);
    Py_XDECREF(other);
    return status;
}

/* Whether a number or an array may be written into a dtype, as lazy.pieces says for the commonest. */
static int is_writable_as(PyObject *given, PyArrayObject *region) {
    PyArray_Descr *dtype = PyArray_DESCR(region), *own;
    if (PyFloat_CheckExact(given)) return strchr("fc", dtype->kind) != NULL;
    if (PyLong_CheckExact(given)) return strchr("iufc", dtype->kind) != NULL;
    if (PyArray_CheckExact(given)) {
        own = PyArray_DESCR((PyArrayObject *)given);
        if (PyArray_NDIM((PyArrayObject *)given) && !PyArray_NDIM(region)) return 0;
        return strchr("biufc", own->kind) != NULL && PyArray_CanCastTypeTo(own, dtype, NPY_SAME_KIND_CASTING);
    }
    if (!PyArray_IsScalar(given, Number) || (own = PyArray_DescrFromScalar(given)) == NULL) return PyErr_Clear(), 0;
    int fits = PyArray_CanCastTypeTo(own, dtype, NPY_SAME_KIND_CASTING);
    Py_DECREF(own);
    return fits;
}

int is_itself(Front *front, PyArrayObject *region, PyObject *value, PyObject *given) {
    if (Py_TYPE(value) != array_type || ((Front *)value)->cell != front->cell || !PyArray_CheckExact(given)) return 0;
    PyArrayObject *array = (PyArrayObject *)given;
    int n = PyArray_NDIM(region);
    return PyArray_BYTES(array) == PyArray_BYTES(region) && PyArray_SAMESHAPE(array, region) && PyArray_TYPE(array) == PyArray_TYPE(region) &&
           !memcmp(PyArray_STRIDES(array), PyArray_STRIDES(region), n * sizeof(npy_intp));
}

int write_on_ranks(Front *front, PyArrayObject *region, PyObject *given) {
    PyObject *node = BOX(front->cell)->node, *value = NODE(node)->value, *whole = whole_tile(front, value), *world = NULL;
    if (whole == NULL || Py_REFCNT(node) != 1 || !PyArray_SIZE(region) || PyArray_TYPE(region) != PyArray_TYPE((PyArrayObject *)whole)) return 0;
    PyObject *home = field(VALUE(value)->tiles, TILE_HOME);
    if (!PyTuple_CheckExact(home) || !is_writable_as(given, region)) return 0;
    if (PyContextVar_Get(python.world, Py_None, &world) < 0) return -1;
    Py_XDECREF(world);  /* the context has it */
    if (world != PyTuple_GET_ITEM(home, 0)) return 0;
    PyArrayObject *share = (PyArrayObject *)VALUE(value)->array;
    PyObject *limits = PyTuple_GET_ITEM(home, 4);
    npy_intp bounds[2 * NPY_MAXDIMS];
    int axes = PyArray_NDIM(share), n = PyArray_NDIM(region);
    Part part;
    if (axes != PyArray_NDIM((PyArrayObject *)whole) || PyTuple_GET_SIZE(limits) != 2 * axes) return 0;
    for (int k = 0; k < 2 * axes; k++) bounds[k] = PyLong_AsSsize_t(PyTuple_GET_ITEM(limits, k));
    for (int k = 0; k < axes; k++)
        if (PyArray_DIM(share, k) != bounds[2 * k + 1] - bounds[2 * k]) return 0;
    if (!part_of(region, (PyArrayObject *)whole, &part)) return 0;
    if (PyArray_CopyObject(region, given) < 0) return -1;
    PyObject *key = PyTuple_New(2 + n);
    if (key == NULL) return -1;
    PyTuple_SET_ITEM(key, 0, Py_NewRef(PyTuple_GET_ITEM(home, 3)));
    PyTuple_SET_ITEM(key, 1, PyLong_FromSsize_t(PyArray_BYTES(region) - PyArray_BYTES((PyArrayObject *)whole)));
    for (int k = 0; k < n; k++) PyTuple_SET_ITEM(key, 2 + k, PyLong_FromSsize_t(PyArray_DIM(region, k)));
    unsigned long long mark = (unsigned long long)PyObject_Hash(key);
    if (PyTuple_GET_ITEM(home, 5) != Py_None) {
        PyArrayObject *elements = PyArray_GETCONTIGUOUS(region);
        PyObject *digest = elements == NULL ? NULL : PyObject_CallOneArg(PyTuple_GET_ITEM(home, 5), (PyObject *)elements);
        Py_XDECREF(elements);
        if (digest == NULL) return Py_DECREF(key), -1;
        mark ^= PyLong_AsUnsignedLongLong(digest);
        Py_DECREF(digest);
    }
    PyObject *number = PyLong_FromUnsignedLongLong(mark);
    PyObject *done = number == NULL ? NULL : PyObject_CallFunctionObjArgs(PyTuple_GET_ITEM(home, 1), number, PyTuple_GET_ITEM(home, 2), NULL);
    Py_DECREF(key);
    Py_XDECREF(number);
    if (done == NULL) return -1;
    Py_DECREF(done);
    VALUE(value)->count = -1;
    Py_XSETREF(VALUE(value)->program, Py_NewRef(Py_None));
    return PyArray_SIZE(share) && copy_into_share(share, region, &part, bounds) < 0 ? -1 : 1;
}
