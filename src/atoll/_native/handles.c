/* Arrays as objects, most of which live for one operation. */
#include "handles.h"
#include "forms.h"

Py_ssize_t limit = 0;
PyTypeObject *front_type, *array_type, *flat_type;

/* Arrays that have ended, for the next ones: most live for one operation. */
enum { SPARE = 64 };
static PyObject *spare[SPARE];
static int spares = 0;

inline PyObject *new_handle(void) {
    if (!spares) return array_type->tp_alloc(array_type, 0);
    PyObject *self = PyObject_Init(spare[--spares], array_type);
    PyObject_GC_Track(self);
    return self;
}

int keep_spare(PyObject *handle) {
    if (spares == SPARE) return 0;
    spare[spares++] = handle;
    return 1;
}

inline PyObject *handle_of(PyObject *array) {
    PyObject *self = new_handle();
    if (self == NULL) Py_DECREF(array);
    else ((Front *)self)->np = array;
    return self;
}

int is_kept(PyArrayObject *array) {
    int number = PyArray_TYPE(array);
    return (number <= NPY_DOUBLE || number == NPY_CFLOAT || number == NPY_CDOUBLE || number == NPY_HALF) &&
           PyArray_ISNBO(PyArray_DESCR(array)->byteorder);
}

int spreads(PyObject *x, PyObject *y) {
    if (!PyArray_CheckExact(x) || !PyArray_CheckExact(y)) return 0;
    PyArrayObject *a = (PyArrayObject *)x, *b = (PyArrayObject *)y;
    if (PyArray_NDIM(a) == PyArray_NDIM(b) && are_same(PyArray_DIMS(a), PyArray_DIMS(b), PyArray_NDIM(a))) return 0;
    double most = (double)PyArray_SIZE(a) * PyArray_SIZE(b), size = 1;
    if (most < limit || PyArray_SIZE(a) >= limit || PyArray_SIZE(b) >= limit) return 0;
    for (int k = 1; k <= PyArray_NDIM(a) || k <= PyArray_NDIM(b); k++) {
        npy_intp m = k <= PyArray_NDIM(a) ? PyArray_DIM(a, PyArray_NDIM(a) - k) : 1, n = k <= PyArray_NDIM(b) ? PyArray_DIM(b, PyArray_NDIM(b) - k) : 1;
        if (m != n && m != 1 && n != 1) return 0;
        size *= m == 1 ? n : m;
    }
    return size >= limit && is_kept(a) && is_kept(b);
}
