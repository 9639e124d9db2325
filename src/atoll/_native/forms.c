/* Forms are learnt by Python (lazy.elementwise and others), and found here at each call. */
#include "forms.h"

enum { LEAST_ROOM = 8 };

/* A sum of products, which wait for no others. */
static size_t hash_of(const size_t *part, int count) {
    size_t hash = 0, weight = 0;
    for (int k = 0; k < count; k++) hash += part[k] * (weight += 0x9E3779B97F4A7C15u);
    return hash >> 32;
}

int are_same(const void *words, const void *others, int count) {
    const size_t *one = words, *other = others;
    while (count && one[count - 1] == other[count - 1]) count--;
    return !count;
}

static Met *place_in(Met *met, Py_ssize_t room, const size_t *part, int count) {
    for (size_t place = hash_of(part, count);; place++) {
        Met *here = &met[place & (room - 1)];
        if (here->form == NULL || (here->count == count && are_same(here->part, part, count))) return here;
    }
}

/* A loop looks for the same entries in the same order in each turn, so each entry notes its successor, which is compared first. */
Met *met_in(Forms *forms, const size_t *part, int count) {
    if (!forms->used) return NULL;
    Met *latest = &forms->met[forms->latest], *met = &forms->met[latest->next];
    if (met->form == NULL || met->count != count || !are_same(met->part, part, count)) {
        met = place_in(forms->met, forms->room, part, count);
        if (met->form == NULL) return NULL;
        latest->next = met - forms->met;
    }
    forms->latest = latest->next;
    return met;
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

static void end_entry(Met *entry) {
    Py_XDECREF(entry->parts);
    Py_XDECREF(entry->form);
    Py_XDECREF(entry->convert);
}

static int drop(PyObject *self) {
    Forms *forms = (Forms *)self;
    Met *met = forms->met;
    Py_ssize_t room = forms->room;
    forms->met = NULL;
    forms->room = forms->used = forms->latest = 0;
    for (Py_ssize_t k = 0; k < room; k++) end_entry(&met[k]);
    PyMem_Free(met);
    return 0;
}

/* Put an entry in its place, whose references it takes; -1 with an error. */
static int put_entry(Forms *forms, Met entry) {
    if (2 * forms->used >= forms->room && grow(forms) < 0) return end_entry(&entry), -1;
    Met *place = place_in(forms->met, forms->room, entry.part, entry.count), old = *place;
    forms->used += old.form == NULL;
    *place = entry;
    end_entry(&old);
    return 0;
}

Py_ssize_t entries = 1;

Met *keep_form(Forms *forms, const size_t *part, int count, PyObject *parts, PyObject *form, PyObject *convert) {
    Met entry = {.count = count, .parts = parts, .form = form, .convert = Py_XNewRef(convert)};
    memcpy(entry.part, part, count * sizeof *part);
    if (parts == NULL || form == NULL) return end_entry(&entry), NULL;
    if (forms->used >= entries) drop((PyObject *)forms);
    return put_entry(forms, entry) < 0 ? NULL : met_in(forms, part, count);
}

int keep_in(Forms **forms, const size_t *part, int count, PyObject *parts, PyObject *found) {
    if (*forms == NULL) *forms = (Forms *)PyType_GenericNew(forms_type, empty, NULL);
    if (*forms == NULL) return Py_XDECREF(parts), -1;
    return keep_form(*forms, part, count, parts, Py_NewRef(found), NULL) == NULL ? -1 : 0;
}

/* keep(key, form, convert): the form of the nodes for operands with this key, a tuple. */
static PyObject *keep(PyObject *self, PyObject *args) {
    PyObject *key, *form, *convert;
    Met entry = {0};
    if (!PyArg_ParseTuple(args, "O!OO", &PyTuple_Type, &key, &form, &convert)) return NULL;
    if ((entry.count = (int)PyTuple_GET_SIZE(key)) > KEY) return PyErr_Format(PyExc_ValueError, "a key has at most %d parts", KEY);
    for (int k = 0; k < entry.count; k++) entry.part[k] = part_of_object(PyTuple_GET_ITEM(key, k));
    entry.parts = Py_NewRef(key);
    entry.form = Py_NewRef(form);
    entry.convert = Py_NewRef(convert);
    if (put_entry((Forms *)self, entry) < 0) return NULL;
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
