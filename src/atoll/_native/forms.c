/* Forms are learnt by Python (lazy.elementwise and others), and found here at each call. */
#include "forms.h"

enum { LEAST_ROOM = 8 };

static size_t hash_of(const size_t *part, int count) {
    size_t hash = count;
    for (int k = 0; k < count; k++) hash = (hash ^ part[k]) * 0x9E3779B97F4A7C15u;
    return hash >> 20;
}

static Met *place_in(Met *met, Py_ssize_t room, const size_t *part, int count) {
    for (size_t place = hash_of(part, count);; place++) {
        Met *here = &met[place & (room - 1)];
        if (here->form == NULL || (here->count == count && !memcmp(here->part, part, count * sizeof *part))) return here;
    }
}

Met *met_in(Forms *forms, const size_t *part, int count) {
    if (!forms->used) return NULL;
    Met *met = place_in(forms->met, forms->room, part, count);
    return met->form == NULL ? NULL : met;
}

static int grow(Forms *forms) {
    Py_ssize_t room = forms->room ? 2 * forms->room : LEAST_ROOM;
    Met *met = PyMem_Calloc(room, sizeof *met);
    if (met == NULL) return PyErr_NoMemory(), -1;
    for (Py_ssize_t k = 0; k < forms->room; k++)
        if (forms->met[k].form != NULL) *place_in(met, room, forms->met[k].part, forms->met[k].count) = forms->met[k];
    PyMem_Free(forms->met);
    forms->met = met;
    forms->room = room;
    return 0;
}

static int drop(PyObject *self) {
    Forms *forms = (Forms *)self;
    Met *met = forms->met;
    Py_ssize_t room = forms->room;
    forms->met = NULL;
    forms->room = forms->used = 0;
    for (Py_ssize_t k = 0; k < room; k++) {
        Py_XDECREF(met[k].parts);
        Py_XDECREF(met[k].form);
        Py_XDECREF(met[k].convert);
    }
    PyMem_Free(met);
    return 0;
}

/* keep(key, form, convert): the form of the nodes for operands with this key, a tuple. */
static PyObject *keep(PyObject *self, PyObject *args) {
    Forms *forms = (Forms *)self;
    PyObject *key, *form, *convert;
    size_t part[KEY];
    if (!PyArg_ParseTuple(args, "O!OO", &PyTuple_Type, &key, &form, &convert)) return NULL;
    int count = (int)PyTuple_GET_SIZE(key);
    if (count > KEY) return PyErr_Format(PyExc_ValueError, "a key has at most %d parts", KEY);
    for (int k = 0; k < count; k++) part[k] = part_of_object(PyTuple_GET_ITEM(key, k));
    if (2 * forms->used >= forms->room && grow(forms) < 0) return NULL;
    Met *met = place_in(forms->met, forms->room, part, count), old = *met;
    forms->used += old.form == NULL;
    memcpy(met->part, part, sizeof part);
    met->count = count;
    met->parts = Py_NewRef(key);
    met->form = Py_NewRef(form);
    met->convert = Py_NewRef(convert);
    Py_XDECREF(old.parts);
    Py_XDECREF(old.form);
    Py_XDECREF(old.convert);
    Py_RETURN_NONE;
}

static PyObject *clear(PyObject *self, PyObject *nothing) {
    drop(self);
    Py_RETURN_NONE;
}

static int traverse(PyObject *self, visitproc visit, void *arg) {
    Forms *forms = (Forms *)self;
    Py_VISIT(Py_TYPE(self));
    for (Py_ssize_t k = 0; k < forms->room; k++) {
        Py_VISIT(forms->met[k].parts);
        Py_VISIT(forms->met[k].form);
        Py_VISIT(forms->met[k].convert);
    }
    return 0;
}

static void end(PyObject *self) {
    PyObject_GC_UnTrack(self);
    drop(self);
    free_object(self);
}

static Py_ssize_t length(PyObject *self) { return ((Forms *)self)->used; }

static PyMethodDef methods[] = {{"keep", keep, METH_VARARGS, "Know the form of the nodes for operands with this key."},
                                {"clear", clear, METH_NOARGS, "Forget all forms."}, {NULL}};
static PyType_Slot slots[] = {{Py_tp_new, PyType_GenericNew}, {Py_tp_dealloc, end}, {Py_tp_traverse, traverse}, {Py_tp_clear, drop},
                              {Py_mp_length, length}, {Py_tp_methods, methods}, {Py_tp_doc, "Forms of nodes, by what their operands are."}, {0}};
PyType_Spec forms_spec = {"atoll._front.Forms", sizeof(Forms), 0, CLASS_FLAGS | Py_TPFLAGS_HAVE_GC, slots};
PyTypeObject *forms_type;
