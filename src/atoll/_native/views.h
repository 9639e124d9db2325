/* The geometries of views. */
#ifndef ATOLL_VIEWS_H
#define ATOLL_VIEWS_H
#include "nodes.h"
#include "selection.h"

/* The geometry of a view of a dtype that an array with a box has, or that is taken of it; a new reference. */
PyObject *geometry_for(Front *front, const Selection *where, PyArray_Descr *dtype);

/* A method that makes views: what was met before is made here, else Python's view is remembered. An attribute that is a view. */
PyObject *viewed(PyObject *by, PyObject *python, PyObject *const *args, Py_ssize_t count);
PyObject *record_attribute(PyObject *getter, PyObject *array);

/* The geometry of what is written to; a new reference; NULL where Python has to see it. */
PyObject *region_of(PyObject *array, PyObject *key);

#endif
