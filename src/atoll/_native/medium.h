/* Arrays of medium size, which are tried. */
#ifndef ATOLL_MEDIUM_H
#define ATOLL_MEDIUM_H
#include "eager.h"
#include "recorder.h"

/* Let a small array that alone has its memory be tried; whether it is. Results of operations on such arrays are tried, too. */
int begin_trial(PyObject *array);
PyObject *as_tried(PyObject *made);

/* Operations on arrays of medium size, recorded; NULL without an error where NumPy computes them. */
PyObject *record_medium(PyObject *ufunc, const Loops *of, PyObject *forms, PyObject *const *args, Py_ssize_t count, int squares, int floats);
PyObject *medium_operator(PyObject *a, PyObject *b, int slot);
PyObject *medium_ufunc(PyObject *ufunc, PyObject *const *args, Py_ssize_t count);

/* `a += b`, recorded: 1, or 0 where NumPy computes it; -1 with an error. */
int medium_in_place(PyObject *a, PyObject *b, int slot, int plain_slot);

/* A view of an array that is tried, or of one that shall be; NULL without an error where NumPy makes it. Whether an assignment to such an
 * array was recorded; -1 with an error. */
PyObject *medium_view(PyObject *array, PyObject *key);
int medium_store(PyObject *array, PyObject *key, PyObject *value);

#endif
