/* Calls that are recorded by recipes. */
#ifndef ATOLL_RECIPES_H
#define ATOLL_RECIPES_H
#include "cuts.h"

/* A call of a function: by its recipe, or by Python to learn that; NULL without an error where Python has to be called. */
PyObject *by_recipe(PyObject *function, PyObject *python, PyObject *const *args, Py_ssize_t count, PyObject *keywords);

#endif
