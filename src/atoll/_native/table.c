/* Registration: all or nothing. */
#include "table.h"

Py_ssize_t offsets[FIELDS];
Python python;
Names interned;
PyObject *empty;

#define NAMED(NAME) {#NAME, &python.NAME},
#define TEXT(NAME) #NAME,
static const struct {
    const char *name;
    PyObject **object;
} entries[] = {PYTHON(NAMED)};
enum { COUNT = sizeof entries / sizeof *entries };

static int refuse(const char *problem, PyObject *name) { return PyErr_Format(PyExc_TypeError, problem, name), -1; }

/* True if the table has exactly the objects of a dict. */
static int check(PyObject *objects) {
    PyObject *left = PySet_New(objects), *name = NULL;
    for (size_t k = 0; left != NULL && k < COUNT; k++) {
        int found = (name = PyUnicode_FromString(entries[k].name)) == NULL ? -1 : PySet_Discard(left, name);
        if (found == 0) refuse("the native front needs %R, which is not registered", name);
        if (found <= 0) Py_CLEAR(left);
        Py_XDECREF(name);
    }
    if (left != NULL && PySet_GET_SIZE(left) && (name = PySet_Pop(left)) != NULL) {
        refuse("the native front has no use for %R", name);
        Py_DECREF(name);
    }
    Py_XDECREF(left);
    return PyErr_Occurred() ? -1 : 0;
}

PyObject *tuple_of(PyObject *const *items, Py_ssize_t count) {
    PyObject *made = PyTuple_New(count);
    for (Py_ssize_t k = 0; made != NULL && k < count; k++) PyTuple_SET_ITEM(made, k, Py_NewRef(items[k]));
    return made;
}

int install_table(PyObject *objects, PyObject *slots) {
    if (check(objects) < 0) return -1;
    if (PyTuple_GET_SIZE(slots) != FIELDS) return refuse("the native front reads other slots than %R", slots);
    for (size_t k = 0; k < COUNT; k++) Py_XSETREF(*entries[k].object, Py_NewRef(PyDict_GetItemString(objects, entries[k].name)));
    for (int k = 0; k < FIELDS; k++) {
        PyObject *member = PyTuple_GET_ITEM(slots, k);
        if (!Py_IS_TYPE(member, &PyMemberDescr_Type)) return refuse("a slot is no member descriptor: %R", member);
        offsets[k] = ((PyMemberDescrObject *)member)->d_member->offset;
    }
    static const char *const texts[] = {NAMES(TEXT)};
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
        if ((((PyObject **)&interned)[k] = PyUnicode_InternFromString(texts[k])) == NULL) return -1;
    return (empty = PyTuple_New(0)) == NULL ? -1 : 0;
}
