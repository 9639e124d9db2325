/* Arrays of medium size, which are recorded, though Python sees small ones. */
#ifndef ATOLL_MEDIUM_H
#define ATOLL_MEDIUM_H
#include "operations.h"
#include "recorder.h"
#include "selection.h"

/* True if operations on a value may be recorded as those on arrays of medium size. */
static inline int may_be_medium(PyObject *value) {
    if (Py_TYPE(value) != array_type) return 0;
    PyArrayObject *array = (PyArrayObject *)((Front *)value)->np;
    if ((PyObject *)array == Py_None || array == NULL) return ((Front *)value)->medium;
    Py_ssize_t size = PyArray_SIZE(array);
    return size >= shortest && size < limit;
}

/* Let a small array that alone has its memory be one of medium size; whether it is. Results of operations on such arrays are, too. */
int make_medium(PyObject *array);
PyObject *as_medium(PyObject *made);

/* Operations on arrays of medium size, recorded; NULL without an error where NumPy computes them. */
PyObject *record_medium(PyObject *ufunc, const Loops *of, PyObject *forms, PyObject *const *args, Py_ssize_t count, int squares, int floats);
PyObject *medium_operator(PyObject *a, PyObject *b, int slot);

/* `a += b`, recorded: 1, or 0 where NumPy computes it; -1 with an error. */
int medium_in_place(PyObject *a, PyObject *b, int slot, int plain_slot);

/* A view of an array of medium size, or of one that shall be; NULL without an error where NumPy makes it. Whether an assignment to such an
 * array was recorded; -1 with an error. */
PyObject *medium_view(PyObject *array, PyObject *key);
int medium_store(PyObject *array, PyObject *key, PyObject *value);

/* Let a recorded array of medium size be the small array that Python sees; -1 with an error. The same of all among some operands. */
int make_small(PyObject *array);
int make_all_small(PyObject *const *args, Py_ssize_t n);

/* Let arrays be the ones that Python sees; whether that went well. */
int all_shown(PyObject *const *args, Py_ssize_t n);

PyObject *geometry_get(PyObject *array, void *unused);
int geometry_set(PyObject *array, PyObject *geometry, void *unused);

extern _Thread_local int revealed; /* whether Python sees arrays of medium size as they are */

#endif
