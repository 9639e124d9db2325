/* Arrays of medium size.
 *
 * An array with at least `least` elements, though fewer than those that are large, begins with NumPy. Once a program has spent some time on such
 * arrays its operations are recorded for a while, so that the runtime gets to know its loops, and tries both ways (lazy/trials.py).
 * At call sites that are quicker so, operations on arrays of medium size are recorded from then on. An array that takes part is `tried`: it has a
 * box and a geometry, as a large one, but Python sees it as the small array that it would be otherwise. Only operations are recorded of
 * which kernels and NumPy make the same bits. All others get the memory of what they read.
 */
#include "medium.h"
#include "adoption.h"

PyObject *as_tried(PyObject *made) {
    if (made != NULL && Py_TYPE(made) == array_type && ((Front *)made)->np == Py_None && !((Front *)made)->tried) mark_tried(made, 1);
    return made;
}

int begin_trial(PyObject *self) {
    PyArrayObject *array = (PyArrayObject *)plain(self);
    if (array == NULL) return is_tried(self);
    Py_ssize_t size = PyArray_SIZE(array);
    if (size < least || size >= limit || !PyArray_NDIM(array) || !has_own_memory(array) || !box_memory(self)) return 0;
    mark_tried(self, 1);
    return 1;
}

/* The type of an operand of medium size, or of a small part of one, or NUMBER; else NOTHING. */
static int medium_type(PyObject *value, Py_ssize_t *size) {
    if (Py_TYPE(value) != array_type) return PyFloat_CheckExact(value) || PyLong_CheckExact(value) || PyArray_IsScalar(value, Double) ? NUMBER : NOTHING;
    PyArrayObject *array = (PyArrayObject *)plain(value);
    if (array == NULL && !((Front *)value)->tried) return NOTHING;
    Py_ssize_t own = array != NULL ? PyArray_SIZE(array) : count_of((Front *)value);
    if (own > *size) *size = own;
    return array != NULL ? PyArray_TYPE(array) : dtype_of((Front *)value)->type_num;
}

/* Whether kernels and NumPy make the same bits of such operands: of one type, which for some operations is one of floating point. */
static int is_alike(const Loops *of, PyObject *const *args, const int *types, Py_ssize_t count, int floats) {
    int type = NOTHING;
    if (!of->is_settled) return 0;
    for (Py_ssize_t k = 0; k < count; k++) {
        if (types[k] == NUMBER) continue;
        if (type != NOTHING && types[k] != type) return 0;
        type = types[k];
    }
    int is_whole = PyTypeNum_ISINTEGER(type);
    if (type != NPY_DOUBLE && type != NPY_FLOAT && (floats || !(is_whole || type == NPY_BOOL))) return 0;
    for (Py_ssize_t k = 0; k < count; k++) {
        if (types[k] != NUMBER) continue;
        if (type == NPY_BOOL || (is_whole && !PyLong_CheckExact(args[k])) || (type == NPY_FLOAT && PyArray_IsScalar(args[k], Generic))) return 0;
    }
    return 1;
}

/* Whether an operation on arrays of medium size is recorded at the call site that the program is at. */
static int is_recorded_here(PyObject *operation, int first, int second, Py_ssize_t size) {
    Entry *entry = among_ranks() || !in_world_of_process() ? NULL : entry_here(operation, first, second, size);
    if (entry == NULL) return is_recording_medium = 0;
    int is_known = entry->code != NULL, by_numpy = is_known && computed_by_numpy(entry->loop, entry->key, size);
    int explored = is_explored(is_known);
    return is_recording_medium = is_known ? !by_numpy : explored;
}

PyObject *record_medium(PyObject *ufunc, const Loops *of, PyObject *forms, PyObject *const *args, Py_ssize_t count,
                               int squares, int floats) {
    Py_ssize_t size = 0;
    int types[2] = {NOTHING, NOTHING};
    for (Py_ssize_t k = 0; k < count; k++)
        if ((types[k] = medium_type(args[k], &size)) == NOTHING) return NULL;
    if (size < least || size >= limit || !is_alike(of, args, types, count, floats)) return NULL;
    if (!is_recorded_here(ufunc, types[0], types[1], size)) return NULL;
    int tried = 0;
    for (Py_ssize_t k = 0; k < count; k++)
        if (Py_TYPE(args[k]) == array_type) tried |= begin_trial(args[k]);
    if (!tried) return NULL;
    PyObject *result = forms == NULL ? NULL : squares ? record_power(forms, args) : record_call(forms, args, count);
    if (result == NULL && !PyErr_Occurred()) {
        PyObject *inputs = PyTuple_New(count);
        for (Py_ssize_t k = 0; inputs != NULL && k < count; k++) PyTuple_SET_ITEM(inputs, k, Py_NewRef(args[k]));
        revealed++;
        result = inputs == NULL ? NULL : PyObject_CallFunctionObjArgs(python.apply, ufunc, inputs, NULL);
        revealed--;
        Py_XDECREF(inputs);
        if (result == Py_NotImplemented) Py_CLEAR(result);
        if (result == NULL && PyErr_ExceptionMatches(PyExc_ValueError)) drop_error();  /* NumPy raises it, with its words */
    }
    return as_tried(result);
}

PyObject *medium_operator(PyObject *a, PyObject *b, int slot) {
    PyObject *args[2] = {a, b}, *ufunc = slot_ufuncs[slot == POW ? SLOTS : slot];
    if (slot == POW && (!PyLong_CheckExact(b) || PyLong_AsLong(b) != 2)) return PyErr_Clear(), NULL;
    if (ufunc == NULL) return NULL;
    return record_medium(ufunc, &loops[slot == POW ? MUL : slot], known[slot], args, b == NULL || slot == POW ? 1 : 2, slot == POW, slot == DIV);
}

PyObject *medium_ufunc(PyObject *ufunc, PyObject *const *args, Py_ssize_t count) {
    static Loops of;
    static PyObject *latest;
    if (Py_TYPE(ufunc) != &PyUFunc_Type || ((PyUFuncObject *)ufunc)->nin != count) return NULL;
    if (ufunc != latest) {
        look_up(&of, ufunc);
        Py_XSETREF(latest, Py_NewRef(ufunc));
    }
    return record_medium(ufunc, &of, NULL, args, count, 0, 1);
}

int medium_in_place(PyObject *a, PyObject *b, int slot, int plain_slot) {
    PyObject *result = plain_slot == POW ? NULL : medium_operator(a, b, plain_slot);
    if (result == NULL) return PyErr_Occurred() ? -1 : 0;
    int done = is_tried(result) && is_tried(a) ? record_in_place(known[slot], a, b) : 0;
    Py_DECREF(result);
    return done;
}

PyObject *medium_view(PyObject *self, PyObject *key) {
    if (!is_tried(self)) {
        Selection where;
        PyArrayObject *array = (PyArrayObject *)plain(self);
        if (!is_recording_medium || array == NULL || PyArray_SIZE(array) < least || PyArray_SIZE(array) >= limit) return NULL;
        if (!selected(array, key, &where) || where.picks || where.size < least || !begin_trial(self)) return NULL;
    }
    int is_used = is_recording_medium || Py_REFCNT(((Front *)self)->cell) > 1;
    if (!is_used && settle_array((Front *)self) < 0) return NULL;
    PyObject *view = get_selected(self, key);
    if (view == NULL && !PyErr_Occurred() && settle_array((Front *)self) == 0) view = get_selected(self, key);  /* an element */
    if (view != NULL && (is_used || Py_TYPE(view) != array_type)) return as_tried(view);
    Py_XDECREF(view);
    if (!PyErr_Occurred()) end_trial(self);
    return NULL;
}

int medium_store(PyObject *self, PyObject *key, PyObject *value) {
    if (!is_tried(self) && !(is_recording_medium && is_tried(value) && begin_trial(self))) return 0;
    int done = is_recording_medium ? set_in_memory(self, key, value) : 0;
    if (!done && is_recording_medium && !PyErr_Occurred()) done = record_store(self, key, value);
    if (!done && !PyErr_Occurred()) done = end_trial(self) < 0 ? -1 : 0;
    return PyErr_Occurred() ? -1 : done;
}
