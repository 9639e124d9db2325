/* Large arrays that NumPy computes, at call sites where that is as quick. */
#ifndef ATOLL_EAGER_H
#define ATOLL_EAGER_H
#include "operations.h"
#include "selection.h"
#include "trials.h"

typedef struct {
    PyObject *code, *operation, *key;  /* `key` is how Python calls the call site */
    int instruction, first, second, magnitude;
    Loop *loop;
} Entry;

/* The entry of the current call site, for an operation on operands of such types and about such a size; NULL where no
 * Python is at work. */
Entry *entry_here(PyObject *operation, int first, int second, Py_ssize_t size);

/* Calls on the memory of large arrays, whose results are kept as they are; NULL without an error where Python decides. */
PyObject *eager_one(PyObject *a, int slot, unaryfunc call);
PyObject *eager_two(PyObject *a, PyObject *b, int slot, binaryfunc call);
PyObject *eager_into(PyObject *a, PyObject *b, int slot, binaryfunc call);
PyObject *eager_compare(PyObject *a, PyObject *b, int slot, int relation);
PyObject *eager_ufunc(PyObject *ufunc, PyObject *const *args, Py_ssize_t count);

/* A function of large arrays in memory that is entered at this call site; of arrays at hand views and copies anywhere.
 * `sized` is the size of what a function makes, where it is not that of its arguments; `target` is what a ufunc writes into, or -1. */
PyObject *eager_call(PyObject *original, PyObject *const *args, Py_ssize_t count, PyObject *keywords, Py_ssize_t sized, Py_ssize_t target);

/* What an index selects of an array at hand: views, elements, and copies by small arrays of indices. */
PyObject *item_at_hand(PyObject *array, PyObject *key);

/* Whether a value in memory, or a number, was written into an array at hand; -1 with an error. */
int put_at_hand(PyObject *array, PyObject *key, PyObject *value);

extern PyMethodDef eager_methods[];

#endif
