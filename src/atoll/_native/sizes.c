/* Turn an array of medium size that is recorded into the small one that Python sees. */
#include "sizes.h"

_Thread_local int revealed = 0;

/* What Python sees of an array of medium size: its own memory where no view of it lives, else memory that the box shares; NULL with
 * an error. The array is computed. */
static PyObject *small_form(Front *front) {
    PyObject *box = front->cell, *node = BOX(box)->node, *value = NODE(node)->value, *memory, *form = NULL;
    PyArrayObject *array = memory_in(value);
    int is_base = front->geometry != NULL && field(front->geometry, FORM_IS_BASE) == Py_True;
    if (is_base && Py_REFCNT(box) == 1 && !BOX(box)->pins) {
        if (!is_sole(node, 0)) return PyArray_NewCopy(array, NPY_KEEPORDER);
        PyArray_ENABLEFLAGS(array, NPY_ARRAY_WRITEABLE);
        return Py_NewRef((PyObject *)array);
    }
    Selection where;
    int flags = may_show(front) ? NPY_ARRAY_WRITEABLE : 0;
    PyArray_Descr *dtype = dtype_of(front);
    if (!view_of(front, &where)) return NULL;
    Py_INCREF(dtype);
    if ((memory = PyObject_CallOneArg(python.lend, box)) != NULL)
        form = is_base ? Py_NewRef(memory) : array_at(&where, dtype, PyArray_BYTES((PyArrayObject *)memory), memory, flags);
    Py_DECREF(dtype);
    Py_XDECREF(memory);
    return form;
}

int make_small(PyObject *self) {
    Front *front = (Front *)self;
    if (settle_array(front) < 0) return -1;
    PyObject *form = front->medium ? small_form(front) : NULL;
    if (form == NULL) return PyErr_Occurred() ? -1 : 0;  /* another thread was quicker */
    if (!front->medium) {
        Py_DECREF(form);
        return 0;
    }
    front->medium = 0;
    Py_SETREF(front->np, form);
    Py_CLEAR(front->cell);
    set_geometry(front, NULL);
    return 0;
}

int make_all_small(PyObject *const *args, Py_ssize_t n) {
    int others = 0;
    for (Py_ssize_t k = 0; k < n; k++) {
        if (is_medium(args[k])) {
            if (make_small(args[k]) < 0) return -1;
        } else {
            others = 1;
        }
    }
    if (others) is_recording_medium = 0;
    return 0;
}

static inline int is_hidden(Front *front) { return front->medium && !revealed; }

inline int all_shown(PyObject *const *args, Py_ssize_t n) {
    for (Py_ssize_t k = 0; k < n; k++)
        if (Py_TYPE(args[k]) == array_type && is_hidden((Front *)args[k]) && make_small(args[k]) < 0) return 0;
    return 1;
}

PyObject *geometry_get(PyObject *self, void *unused) {
    Front *front = (Front *)self;
    if (is_hidden(front) && make_small(self) < 0) return NULL;
    if (geometry_of(front) == NULL && !PyErr_Occurred()) PyErr_SetString(PyExc_AttributeError, "_geometry");
    return Py_XNewRef(front->geometry);
}

int geometry_set(PyObject *self, PyObject *geometry, void *unused) {
    Front *front = (Front *)self;
    if (is_hidden(front) && make_small(self) < 0) return -1;
    set_geometry(front, Py_XNewRef(geometry));
    return 0;
}
