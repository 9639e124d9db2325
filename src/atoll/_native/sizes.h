/* Arrays of medium size, as Python sees them. */
#ifndef ATOLL_SIZES_H
#define ATOLL_SIZES_H
#include "nodes.h"

/* Let a recorded array of medium size be the small array that Python sees; -1 with an error. The same of all among some operands. */
int make_small(PyObject *array);
int make_all_small(PyObject *const *args, Py_ssize_t n);

/* Let arrays be the ones that Python sees; whether that went well. */
int all_shown(PyObject *const *args, Py_ssize_t n);

PyObject *geometry_get(PyObject *array, void *unused);
int geometry_set(PyObject *array, PyObject *geometry, void *unused);

extern _Thread_local int revealed; /* whether Python sees arrays of medium size as they are */

#endif
