/* Views as Python knows them: geometries, which are remembered by what they were made of. */
#include "views.h"

enum { MOST_VIEWS = 2048 };
static Forms *views = NULL;

PyObject *view_met(const size_t *key, int count) { return found_in(views, key, count); }

void keep_view(const size_t *key, int count, PyObject *geometry) {
    PyObject *parts = PyTuple_Pack(2, (PyObject *)key[0], (PyObject *)key[1]);
    if (keep_in(&views, MOST_VIEWS, key, count, parts, geometry) < 0) PyErr_Clear();
}

PyObject *geometry_for(Front *front, PyArray_Descr *dtype, npy_intp offset, int axes, const npy_intp *shape, const npy_intp *strides) {
    int is_writeable = front->geometry == NULL || field(front->geometry, FORM_WRITEABLE) == Py_True, by_value = axes <= BY_VALUE;
    PyObject *from = is_writeable ? BOX(front->cell)->geometry : front->geometry, *known = NULL;
    size_t key[KEY] = {(size_t)from, (size_t)dtype, (size_t)offset};
    for (int k = 0; by_value && k < axes; k++) {
        key[2 * k + 3] = (size_t)shape[k];
        key[2 * k + 4] = (size_t)strides[k];
    }
    if (by_value && (known = view_met(key, 2 * axes + 3)) != NULL) return Py_NewRef(known);
    PyObject *extents = PyArray_IntTupleFromIntp(axes, shape), *steps = PyArray_IntTupleFromIntp(axes, strides), *made = NULL;
    if (extents != NULL && steps != NULL) made = PyObject_CallFunction(python.located, "OOOOn", from, extents, steps, dtype, offset);
    if (by_value && made != NULL) keep_view(key, 2 * axes + 3, made);
    Py_XDECREF(extents);
    Py_XDECREF(steps);
    return made;
}
