/* Arrays that stay with NumPy, as Python sees them. */
#ifndef ATOLL_ADOPTION_H
#define ATOLL_ADOPTION_H
#include "nodes.h"

/* Let an array at hand be one that is recorded; -1 with an error. */
int adopt_array(PyObject *array);

/* Let an array that is tried be the small array that Python sees; -1 with an error. The same of all among some operands. */
int end_trial(PyObject *array);
int end_trials(PyObject *const *args, Py_ssize_t n);

/* Let arrays be what Python sees; whether that went well. */
int is_hidden(Front *front);
int show_to_python(PyObject *array);
int adopted_all(PyObject *const *args, Py_ssize_t n);

PyObject *geometry_get(PyObject *array, void *unused);
int geometry_set(PyObject *array, PyObject *geometry, void *unused);

extern _Thread_local int revealed; /* whether Python sees arrays that are tried as they are */

#endif
