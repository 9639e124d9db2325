/* Views as Python knows them: geometries, which are remembered by what they were made of. */
#include "views.h"

enum { MOST_VIEWS = 2048 };
static Forms *views = NULL;

PyObject *view_met(const size_t *key, int count) { return found_in(views, key, count); }

void keep_view(const size_t *key, int count, PyObject *geometry) {
    PyObject *parts = PyTuple_Pack(2, (PyObject *)key[0], (PyObject *)key[1]);
    if (keep_in(&views, MOST_VIEWS, key, count, parts, geometry) < 0) PyErr_Clear();
}

int view_key(Front *front, PyArray_Descr *dtype, npy_intp offset, int axes, const npy_intp *shape, const npy_intp *strides, size_t *key) {
    int is_writeable = front->geometry == NULL || field(front->geometry, FORM_WRITEABLE) == Py_True;
    key[0] = (size_t)(is_writeable ? BOX(front->cell)->geometry : front->geometry);
    key[1] = (size_t)dtype;
    key[2] = (size_t)offset;
    for (int k = 0; axes <= BY_VALUE && k < axes; k++) {
        key[2 * k + 3] = (size_t)shape[k];
        key[2 * k + 4] = (size_t)strides[k];
    }
    return axes <= BY_VALUE ? 2 * axes + 3 : 0;
}

PyObject *geometry_for(Front *front, PyArray_Descr *dtype, npy_intp offset, int axes, const npy_intp *shape, const npy_intp *strides) {
    size_t key[KEY];
    int count = view_key(front, dtype, offset, axes, shape, strides, key);
    PyObject *known = count ? view_met(key, count) : NULL;
    if (known != NULL) return Py_NewRef(known);
    PyObject *extents = PyArray_IntTupleFromIntp(axes, shape), *steps = PyArray_IntTupleFromIntp(axes, strides), *made = NULL;
    if (extents != NULL && steps != NULL) made = PyObject_CallFunction(python.located, "OOOOn", (PyObject *)key[0], extents, steps, dtype, offset);
    if (count && made != NULL) keep_view(key, count, made);
    Py_XDECREF(extents);
    Py_XDECREF(steps);
    return made;
}
