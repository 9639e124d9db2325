/* The operators of arrays. */
#ifndef ATOLL_OPERATORS_H
#define ATOLL_OPERATORS_H
#include "medium.h"

extern PyNumberMethods as_number;

PyObject *compare(PyObject *a, PyObject *b, int relation);
PyObject *array_ufunc(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords);

/* Let the operators of NumPy's numbers ask those of arrays first. */
void numbers_ask(void);

#endif
