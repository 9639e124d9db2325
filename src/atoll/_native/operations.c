/* The table of operators. */
#include "operations.h"

PyObject *general[SLOTS], *reflected[BINARY], *known[SLOTS], *slot_ufuncs[SLOTS + 1];
Loops loops[SLOTS];
PyObject *operator_names;

static const char *const names[SLOTS + BINARY] = {
    "__add__", "__sub__", "__mul__", "__truediv__", "__floordiv__", "__mod__", "__pow__", "__matmul__", "__and__",
    "__or__", "__xor__", "__lshift__", "__rshift__", "__divmod__",
    "__iadd__", "__isub__", "__imul__", "__itruediv__", "__ifloordiv__", "__imod__", "__ipow__", "__iand__", "__ior__",
    "__ixor__", "__ilshift__", "__irshift__",
    "__neg__", "__pos__", "__abs__", "__invert__", "__lt__", "__le__", "__eq__", "__ne__", "__gt__", "__ge__",
    "__getitem__", "__setitem__", "__len__", "__array_ufunc__",
    "__buffer__",
    "__radd__", "__rsub__", "__rmul__", "__rtruediv__", "__rfloordiv__", "__rmod__", "__rpow__", "__rmatmul__",
    "__rand__", "__ror__", "__rxor__", "__rlshift__", "__rrshift__", "__rdivmod__"};

PyObject *call_two(PyObject *function, PyObject *a, PyObject *b) {
    if (function == NULL) Py_RETURN_NOTIMPLEMENTED;
    PyObject *args[3] = {NULL, a, b};
    return PyObject_Vectorcall(function, args + 1, 2 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
}

int list_operators(void) {
    operator_names = PyList_New(SLOTS + BINARY);
    for (int k = 0; operator_names != NULL && k < SLOTS + BINARY; k++) PyList_SET_ITEM(operator_names, k, PyUnicode_InternFromString(names[k]));
    return PyErr_Occurred() ? -1 : 0;
}

/* The entry of a dict for an operator, which it may lack; a new reference. */
static PyObject *entry_for(PyObject *dict, int slot) { return Py_XNewRef(PyDict_GetItem(dict, name_of(slot))); }

int install_operations(void) {
    for (int k = 0; k < SLOTS + BINARY; k++) {
        PyObject **place = k < SLOTS ? &general[k] : &reflected[k - SLOTS];
        Py_XSETREF(*place, entry_for(python.operators, k));
        if (*place == NULL) return PyErr_Format(PyExc_TypeError, "the native front needs the operator %R", name_of(k)), -1;
    }
    for (int k = 0; k < SLOTS; k++) {
        Py_XSETREF(known[k], entry_for(python.operator_forms, k));
        Py_XSETREF(slot_ufuncs[k], entry_for(python.operator_ufuncs, k));
        if (slot_ufuncs[k] != NULL && k != POW) look_up(&loops[k], slot_ufuncs[k]);  /* a power has shorter ways in NumPy */
    }
    Py_XSETREF(slot_ufuncs[SLOTS], Py_XNewRef(PyDict_GetItemString(python.operator_ufuncs, "square")));
    return 0;
}
