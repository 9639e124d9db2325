/* Turn an array of NumPy's memory into a recorded array, and an array under trial into a small one, while Python holds it. */
#include "adoption.h"

_Thread_local int revealed = 0;

/* Let an array at hand be one that is recorded; -1 with an error. Another thread may do it meanwhile. */
int adopt_array(PyObject *self) {
    Front *front = (Front *)self;
    if (!front->large) return 0;
    PyArrayObject *own = (PyArrayObject *)front->np;
    if (front->cell == NULL && PyArray_NDIM(own) && has_own_memory(own) && !among_ranks() && box_memory(self)) return front->large = 0;
    PyObject *array = Py_NewRef(front->np), *base = Py_NewRef(front->cell ? front->cell : Py_None);
    PyObject *parts = PyObject_CallFunctionObjArgs(python.adopted, array, base, NULL);
    if (parts != NULL && front->large) {
        PyObject *np = front->np, *cell = front->cell, *geometry = front->geometry;
        front->large = 0;
        front->np = Py_NewRef(Py_None);
        front->cell = Py_NewRef(PyTuple_GET_ITEM(parts, 0));
        front->geometry = Py_NewRef(PyTuple_GET_ITEM(parts, 1));
        Py_XDECREF(np);
        Py_XDECREF(cell);
        Py_XDECREF(geometry);
    }
    Py_DECREF(array);
    Py_DECREF(base);
    Py_XDECREF(parts);
    return parts == NULL ? -1 : 0;
}

/* What Python sees of an array that is tried: its own memory where no view of it lives, else memory that the box shares; NULL with
 * an error. The array is computed. */
static PyObject *small_form(Front *front) {
    PyObject *box = front->cell, *node = BOX(box)->node, *value = NODE(node)->value, *memory, *form = NULL;
    PyArrayObject *array = memory_in(value);
    int is_base = front->geometry != NULL && field(front->geometry, FORM_IS_BASE) == Py_True;
    if (is_base && Py_REFCNT(box) == 1 && !BOX(box)->pins) {
        int is_sole = Py_REFCNT(node) == 1 && Py_REFCNT(value) == 1 && Py_REFCNT(array) == 1 && PyArray_CHKFLAGS(array, NPY_ARRAY_OWNDATA);
        if (!is_sole) return PyArray_NewCopy(array, NPY_KEEPORDER);
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

int end_trial(PyObject *self) {
    Front *front = (Front *)self;
    if (settle_array(front) < 0) return -1;
    PyObject *form = front->tried ? small_form(front) : NULL;
    if (form == NULL) return PyErr_Occurred() ? -1 : 0;  /* another thread was quicker */
    if (!front->tried) {
        Py_DECREF(form);
        return 0;
    }
    mark_tried(self, 0);
    Py_SETREF(front->np, form);
    Py_CLEAR(front->cell);
    set_geometry(front, NULL);
    return 0;
}

int end_trials(PyObject *const *args, Py_ssize_t n) {
    int others = 0;
    for (Py_ssize_t k = 0; k < n; k++) {
        if (is_tried(args[k])) {
            if (end_trial(args[k]) < 0) return -1;
        } else {
            others = 1;
        }
    }
    if (others) is_recording_medium = 0;
    return 0;
}

inline int is_hidden(Front *front) { return front->large || (front->tried && !revealed); }

int show_to_python(PyObject *self) { return ((Front *)self)->large ? adopt_array(self) : end_trial(self); }

inline int adopted_all(PyObject *const *args, Py_ssize_t n) {
    for (Py_ssize_t k = 0; k < n; k++)
        if (Py_TYPE(args[k]) == array_type && is_hidden((Front *)args[k]) && show_to_python(args[k]) < 0) return 0;
    return 1;
}

PyObject *geometry_get(PyObject *self, void *unused) {
    Front *front = (Front *)self;
    if (is_hidden(front) && show_to_python(self) < 0) return NULL;
    if (geometry_of(front) == NULL && !PyErr_Occurred()) PyErr_SetString(PyExc_AttributeError, "_geometry");
    return Py_XNewRef(front->geometry);
}

int geometry_set(PyObject *self, PyObject *geometry, void *unused) {
    Front *front = (Front *)self;
    if (is_hidden(front) && show_to_python(self) < 0) return -1;
    set_geometry(front, Py_XNewRef(geometry));
    return 0;
}
