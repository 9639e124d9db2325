/* Python and NumPy, as all units see them. What the units share is hidden outside of the module. */
#ifndef ATOLL_NUMPY_API_H
#define ATOLL_NUMPY_API_H
#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL atoll_numpy
#define PY_UFUNC_UNIQUE_SYMBOL atoll_ufuncs
#include <Python.h>
#ifndef ATOLL_IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#define NO_IMPORT_UFUNC
#endif
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>
#include <numpy/ufuncobject.h>
#include <structmember.h>

#pragma GCC visibility push(hidden)
#define CLASS_FLAGS (Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE)
#define COLD __attribute__((noinline, cold))

/* The end of an object's memory, and of its reference to its class, as each class of the module ends it. */
static inline void free_object(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    type->tp_free(object);
    Py_DECREF(type);
}

/* Let units call NumPy's C functions; -1 with an error. */
int import_numpy(void);

#endif
