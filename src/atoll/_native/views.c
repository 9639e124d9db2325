/* Views as Python knows them: geometries, which are remembered by what they were made of. */
#include "views.h"

enum { MOST_VIEWS = 2048 };
static Forms *views = NULL;

static int key_of(const Made *made, size_t *key) {
    key[0] = (size_t)made->from;
    key[1] = (size_t)made->by;
    for (int k = 0; k < made->count; k++) key[k + 2] = (size_t)made->numbers[k];
    return made->count + 2;
}

PyObject *view_met(const Made *made) {
    size_t key[KEY];
    return found_in(views, key, key_of(made, key));
}

void keep_view(const Made *made, PyObject *geometry) {
    size_t key[KEY];
    if (keep_in(&views, MOST_VIEWS, key, key_of(made, key), PyTuple_Pack(2, made->from, made->by), geometry) < 0) PyErr_Clear();
}

PyObject *geometry_for(Front *front, const Selection *where, PyArray_Descr *dtype) {
    int axes = where->axes, is_writeable = front->geometry == NULL || field(front->geometry, FORM_WRITEABLE) == Py_True;
    PyObject *from = is_writeable ? BOX(front->cell)->geometry : front->geometry;
    Made wanted = {.from = from, .by = (PyObject *)dtype, .count = 2 * axes + 1, .numbers = {where->offset}};
    if (axes <= BY_VALUE) {
        memcpy(wanted.numbers + 1, where->shape, axes * sizeof *where->shape);
        memcpy(wanted.numbers + 1 + axes, where->strides, axes * sizeof *where->strides);
        PyObject *known = view_met(&wanted);
        if (known != NULL) return Py_NewRef(known);
    }
    PyObject *shape = PyTuple_New(axes), *strides = PyTuple_New(axes), *made = NULL;
    for (int k = 0; shape != NULL && strides != NULL && k < axes; k++) {
        PyTuple_SET_ITEM(shape, k, PyLong_FromSsize_t(where->shape[k]));
        PyTuple_SET_ITEM(strides, k, PyLong_FromSsize_t(where->strides[k]));
    }
    if (!PyErr_Occurred()) made = PyObject_CallFunction(python.located, "OOOOn", from, shape, strides, dtype, where->offset);
    if (axes <= BY_VALUE && made != NULL) keep_view(&wanted, made);
    Py_XDECREF(shape);
    Py_XDECREF(strides);
    return made;
}
