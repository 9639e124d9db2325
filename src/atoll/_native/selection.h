/* Selections of indices from arrays in memory. */
#ifndef ATOLL_SELECTION_H
#define ATOLL_SELECTION_H
#include "nodes.h"

enum { PLAIN = 1, SHOWN = 2, FOREIGN = 4 };  /* what arrays are among arguments: that stay with NumPy, short views, and NumPy's own */

/* A list or tuple for NumPy: itself, or another with arrays unwrapped; a new reference, or NULL. */
PyObject *items_of(PyObject *value, int *arrays, int depth);

/* The NumPy scalar with the value of an element. A float64 is filled in directly. */
static inline PyObject *scalar_at(const char *data, PyArray_Descr *dtype, PyObject *owner) {
    if (dtype->type_num != NPY_DOUBLE || !PyArray_ISNBO(dtype->byteorder)) return PyArray_Scalar((char *)data, dtype, owner);
    PyObject *scalar = PyArrayScalar_New(Double);
    if (scalar != NULL) memcpy(&PyArrayScalar_VAL(scalar, Double), data, sizeof(double));
    return scalar;
}

static inline int is_basic(PyObject *key) {
    return PyLong_CheckExact(key) || PySlice_Check(key) || key == Py_None || key == Py_Ellipsis || PyArray_IsScalar(key, Integer);
}

/* The length of a short list of integers, -1 for anything else. */
Py_ssize_t listed(PyObject *key);

/* The bounds of a slice, if reading them calls no method of the program's; whether it was done. */
int is_unpacked(PyObject *item, Py_ssize_t *start, Py_ssize_t *stop, Py_ssize_t *step);

/* The element at one integer for each axis; NULL for any other index. The element that takes a number of floating point without any
 * conversion; else NULL. What was selected, as a scalar. */
char *element_at(PyArrayObject *array, PyObject *key);
char *element_for(PyObject *number, PyArrayObject *array, PyObject *key);
PyObject *element_of(const Selection *where, PyArrayObject *array);

/* A view of an array with a box, or elements of it that are in memory; NULL without an error where Python has to decide. */
PyObject *get_selected(PyObject *array, PyObject *key);

/* The object that NumPy takes in place of an assigned value: a list of numbers as it is. */
PyObject *assigned(PyObject *value, PyArrayObject *array);

/* Move the first byte of an element to that of the lowest one along some axes, and another byte to the highest one's. */
void reach_of(char **low, char **high, int axes, const npy_intp *shape, const npy_intp *steps);

/* True if elements of an array took a number, or those of an array of the same type, without any conversion; else NumPy assigns. */
int put_selected(const Selection *where, PyArrayObject *array, PyObject *given);

/* True if elements of an array in memory were written: a few, or as many as NumPy has computed; -1 with an error. */
int set_in_memory(PyObject *array, PyObject *key, PyObject *value);

#endif
