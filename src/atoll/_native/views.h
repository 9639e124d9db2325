/* Views that were met before. */
#ifndef ATOLL_VIEWS_H
#define ATOLL_VIEWS_H
#include "nodes.h"
#include "selection.h"

/* A view of an array that was met before; NULL without an error where Python has to make it, and it is remembered. */
PyObject *record_view(PyObject *array, PyObject *key);
void remember_view(PyObject *array, PyObject *key, PyObject *view);

/* A view of an array, whether it was met before or not; NULL without an error for what is none, or no array. */
PyObject *record_any_view(PyObject *array, PyObject *key);

/* A method that makes views: what was met before is made here, else Python's view is remembered. An attribute that is a view. */
PyObject *viewed(PyObject *by, PyObject *python, PyObject *const *args, Py_ssize_t count);
PyObject *record_attribute(PyObject *getter, PyObject *array);

/* The geometry of what is written to; a new reference; NULL where Python has to see it. */
PyObject *region_of(PyObject *geometry, PyObject *key);

#endif
