/* Arrays as objects: what all of them consist of, and those whose elements are at hand. */
#ifndef ATOLL_HANDLES_H
#define ATOLL_HANDLES_H
#include "loops.h"
#include "runtime.h"

enum { BY_VALUE = 5 };             /* axes of a view by value; one with more has a geometry */

/* The positions of an array's elements in the memory of its base, in bytes. */
typedef struct {
    PyArray_Descr *dtype;          /* NULL where the geometry alone says it */
    int axes;
    npy_intp size, offset, shape[BY_VALUE], strides[BY_VALUE];
} View;

typedef struct {
    PyObject_HEAD
    PyObject *np, *cell, *weak;
    PyObject *geometry;            /* the view for Python; a view by value may be written through, and gets a geometry at the first use */
    View view;
    PyObject *shown, *value;       /* NumPy's view of the memory of this value, read-only, once it was needed */
    int medium;                    /* whether it is recorded, but small where Python sees it: see medium.c */
} Front;


extern PyTypeObject *front_type;   /* what arrays of all classes are */
extern PyTypeObject *array_type;   /* the class of arrays; subclasses of a program take the way through Python */
extern PyTypeObject *flat_type;    /* of iterators over the elements of an array */

static inline int is_front(PyObject *value) { return Py_TYPE(value) == array_type || PyObject_TypeCheck(value, front_type); }

static inline int is_medium(PyObject *value) { return Py_TYPE(value) == array_type && ((Front *)value)->medium; }

/* The NumPy array of an array that stays with NumPy, borrowed; else NULL. */
static inline PyObject *np_of(PyObject *value) {
    if (Py_TYPE(value) != array_type) return NULL;
    PyObject *np = ((Front *)value)->np;
    return np == Py_None ? NULL : np;
}

static inline int is_of(PyObject *classes, PyObject *value) {
    PyTypeObject *type = Py_TYPE(value);
    if (type == &PyFloat_Type || type == &PyLong_Type || type == &PyDoubleArrType_Type) return 1;
    int found = PySet_Contains(classes, (PyObject *)type);
    if (found < 0) PyErr_Clear();
    return found > 0;
}

/* True if a value is a small NumPy array, which calls treat like a computed atoll array. */
static inline int is_numpys(PyObject *value) { return PyArray_CheckExact(value) && PyArray_SIZE((PyArrayObject *)value) < limit; }

/* True if an array lies on ranks. */
static inline int on_ranks(Front *front) {
    return front->np == Py_None && front->cell != NULL && state_of(BOX(front->cell)->node) & DIVIDED;
}

/* A new array without a value; the memory of an array that has ended, for the next one, unless that is kept (0). */
PyObject *new_handle(void);
int keep_spare(PyObject *handle);

/* An array over a NumPy array that stays with NumPy; steals the reference. */
PyObject *handle_of(PyObject *array);

/* True if kernels have a dtype that results are kept in. */
int is_kept(PyArrayObject *array);

/* True if two small arrays that are broadcast have many elements, which kernels can compute. */
int spreads(PyObject *x, PyObject *y);

#endif
