/* Arrays of medium size.
 *
 * An array with at least `shortest` elements, though fewer than those that are large, begins with NumPy. As soon as an operation on it comes again
 * that kernels and NumPy compute with the same bits, it is recorded: the array gets a box and a geometry, as a large one, but Python sees it
 * as the small array that it would be otherwise. Other operations get the memory of what they read.
 *
 * What Python has to learn of an operation, a view or an assignment takes as long as some dozen calls of NumPy, so it is learnt only once NumPy
 * has spent about as long (stepwise.h).
 */
#include "medium.h"
#include "stepwise.h"

_Thread_local int revealed = 0;

/* An array of medium size as Python sees it: its own memory where no view of it lives, else memory that the box shares; NULL with
 * an error. The array is computed. */
static PyObject *small_form(Front *front) {
    PyObject *box = front->cell, *node = BOX(box)->node, *value = NODE(node)->value, *memory, *form = NULL;
    PyArrayObject *array = memory_in(value);
    int is_base = front->geometry != NULL && GEOMETRY(front->geometry)->is_base;
    if (is_base && Py_REFCNT(box) == 1 && !BOX(box)->pins) {
        if (!is_sole(node, 0)) return PyArray_NewCopy(array, NPY_KEEPORDER);
        PyArray_ENABLEFLAGS(array, NPY_ARRAY_WRITEABLE);
        return Py_NewRef((PyObject *)array);
    }
    Selection where;
    int flags = may_show(front) ? NPY_ARRAY_WRITEABLE : 0;
    PyArray_Descr *dtype = dtype_of(front);
    if (!view_of(front, &where)) return NULL;
    Py_INCREF(dtype);
    if ((memory = PyObject_CallOneArg(python.lend, box)) != NULL)
        form = is_base ? Py_NewRef(memory) : array_at(&where, dtype, PyArray_BYTES((PyArrayObject *)memory), memory, flags);
    Py_DECREF(dtype);
    Py_XDECREF(memory);
    return form;
}

int make_small(PyObject *self) {
    Front *front = (Front *)self;
    if (settle_array(front) < 0) return -1;
    PyObject *form = front->medium ? small_form(front) : NULL;
    if (form == NULL) return PyErr_Occurred() ? -1 : 0;  /* another thread was quicker */
    if (!front->medium) {
        Py_DECREF(form);
        return 0;
    }
    front->medium = 0;
    Py_SETREF(front->np, form);
    Py_CLEAR(front->cell);
    set_geometry(front, NULL);
    return 0;
}

int make_all_small(PyObject *const *args, Py_ssize_t n) {
    int others = 0;
    for (Py_ssize_t k = 0; k < n; k++) {
        if (is_medium(args[k])) {
            if (make_small(args[k]) < 0) return -1;
        } else {
            others = 1;
        }
    }
    if (others) is_recording_medium = 0;
    return 0;
}

static inline int is_hidden(Front *front) { return front->medium && !revealed; }

inline int all_shown(PyObject *const *args, Py_ssize_t n) {
    for (Py_ssize_t k = 0; k < n; k++)
        if (Py_TYPE(args[k]) == array_type && is_hidden((Front *)args[k]) && make_small(args[k]) < 0) return 0;
    return 1;
}

PyObject *geometry_get(PyObject *self, void *unused) {
    Front *front = (Front *)self;
    if (is_hidden(front) && make_small(self) < 0) return NULL;
    if (geometry_of(front) == NULL && !PyErr_Occurred()) PyErr_SetString(PyExc_AttributeError, "_geometry");
    return Py_XNewRef(front->geometry);
}

int geometry_set(PyObject *self, PyObject *geometry, void *unused) {
    Front *front = (Front *)self;
    if (is_hidden(front) && make_small(self) < 0) return -1;
    set_geometry(front, Py_XNewRef(geometry));
    return 0;
}

/* ---- operations */

PyObject *as_medium(PyObject *made) {
    if (made != NULL && Py_TYPE(made) == array_type && ((Front *)made)->np == Py_None) ((Front *)made)->medium = 1;
    return made;
}

/* True if Python knows the geometry with this key, or NumPy has spent long enough on such arrays for Python to make it. */
static int is_located(const size_t *key, int count, Py_ssize_t size) {
    size_t hash = 0;
    if (!count || view_met(key, count) != NULL) return 1;
    for (int k = 0; k < count; k++) hash = mixed(hash, key[k]);
    return is_worth(hash, size, LEARNT);
}

int make_medium(PyObject *self) {
    PyArrayObject *array = (PyArrayObject *)np_of(self);
    if (array == NULL) return is_medium(self);
    Py_ssize_t size = PyArray_SIZE(array);
    if (size < shortest || size >= limit || !PyArray_NDIM(array) || !has_own_memory(array)) return 0;
    size_t key[KEY];
    return ((Front *)self)->medium = is_located(key, memory_key(array, key), size) && box_memory(self);
}

/* The type of an operand of medium size, or of a small part of one, or NUMBER; else NOTHING. */
static int medium_type(PyObject *value, Py_ssize_t *size) {
    if (Py_TYPE(value) != array_type) return PyFloat_CheckExact(value) || PyLong_CheckExact(value) || PyArray_IsScalar(value, Double) ? NUMBER : NOTHING;
    PyArrayObject *array = (PyArrayObject *)np_of(value);
    if (array == NULL && !((Front *)value)->medium) return NOTHING;
    Py_ssize_t own = array != NULL ? PyArray_SIZE(array) : count_of((Front *)value);
    if (own > *size) *size = own;
    return array != NULL ? PyArray_TYPE(array) : dtype_of((Front *)value)->type_num;
}

/* The type of an operation on two types, NOTHING where there is another one: integers and truth values become the double beside them. */
static int common_type(int type, int other) {
    if (type == other || other == NOTHING) return type;
    if (type == NPY_DOUBLE && (PyTypeNum_ISINTEGER(other) || PyTypeNum_ISBOOL(other))) return type;
    if (other == NPY_DOUBLE && (PyTypeNum_ISINTEGER(type) || PyTypeNum_ISBOOL(type))) return other;
    return NOTHING;
}

/* True if kernels and NumPy make the same bits of such operands: of a common type, which for some operations is one of floating point. */
static int is_alike(const Loops *of, PyObject *const *args, const int *types, Py_ssize_t count, int floats) {
    int type = NOTHING;
    if (!of->is_settled) return 0;
    for (Py_ssize_t k = 0; k < count; k++) {
        if (types[k] == NUMBER) continue;
        if ((type = common_type(types[k], type)) == NOTHING) return 0;
    }
    int is_whole = PyTypeNum_ISINTEGER(type);
    if (type != NPY_DOUBLE && type != NPY_FLOAT && (floats || !(is_whole || type == NPY_BOOL))) return 0;
    for (Py_ssize_t k = 0; k < count; k++) {
        if (types[k] != NUMBER) continue;
        if (type == NPY_BOOL || (is_whole && !PyLong_CheckExact(args[k])) || (type == NPY_FLOAT && PyArray_IsScalar(args[k], Generic))) return 0;
    }
    return 1;
}

/* The test of `is_located` for an operand. */
static int is_known_view(PyObject *value) {
    Front *front = (Front *)value;
    const View *view = &front->view;
    size_t key[KEY];
    if (!is_medium(value) || front->geometry != NULL) return 1;
    return is_located(key, view_key(front, dtype_of(front), view->offset, view->axes, view->shape, view->strides, key), view->size);
}

/* True if NumPy has spent long enough on an operation for Python to learn it. */
static int is_worth_learning(PyObject *ufunc, PyObject *const *args, Py_ssize_t count, Py_ssize_t size) {
    size_t key = (size_t)ufunc;
    for (Py_ssize_t k = 0; k < count; k++) key = mixed(key, (size_t)(is_medium(args[k]) ? ((Front *)args[k])->geometry : (PyObject *)Py_TYPE(args[k])));
    return is_worth(key, size, LEARNT);
}

/* Let Python record an operation, of which it learns the form; NULL without an error where NumPy computes it. */
static PyObject *learn_call(PyObject *ufunc, PyObject *const *args, Py_ssize_t count) {
    PyObject *inputs = tuple_of(args, count);
    revealed++;
    PyObject *result = inputs == NULL ? NULL : PyObject_CallFunctionObjArgs(python.apply, ufunc, inputs, NULL);
    revealed--;
    Py_XDECREF(inputs);
    if (result == Py_NotImplemented) Py_CLEAR(result);
    if (result == NULL && PyErr_ExceptionMatches(PyExc_ValueError)) drop_error();  /* NumPy raises it, with its words */
    return result;
}

PyObject *record_medium(PyObject *ufunc, const Loops *of, PyObject *forms, PyObject *const *args, Py_ssize_t count, int squares, int floats) {
    Py_ssize_t size = 0;
    int types[2] = {NOTHING, NOTHING}, are_medium = 0, are_known = 1;
    if (!recording || shown || !in_world_of_process()) return NULL;
    for (Py_ssize_t k = 0; k < count; k++)
        if ((types[k] = medium_type(args[k], &size)) == NOTHING) return NULL;
    if (size < shortest || size >= limit || !is_alike(of, args, types, count, floats)) return NULL;
    is_recording_medium = 0;
    for (Py_ssize_t k = 0; k < count; k++) {
        if (Py_TYPE(args[k]) != array_type) continue;
        are_medium |= make_medium(args[k]);
        are_known &= is_known_view(args[k]);
    }
    if (!are_medium || !are_known) return NULL;
    is_recording_medium = 1;
    PyObject *result = squares ? record_power(forms, args) : record_call(forms, args, count);
    if (result == NULL && !PyErr_Occurred() && is_worth_learning(ufunc, args, count, size)) result = learn_call(ufunc, args, count);
    is_recording_medium = result != NULL;
    return as_medium(result);
}

PyObject *medium_operator(PyObject *a, PyObject *b, int slot) {
    PyObject *args[2] = {a, b}, *ufunc = slot_ufuncs[slot == POW ? SLOTS : slot];
    if (slot == POW && (!PyLong_CheckExact(b) || PyLong_AsLong(b) != 2)) return PyErr_Clear(), NULL;
    if (ufunc == NULL) return NULL;
    return record_medium(ufunc, &loops[slot == POW ? MUL : slot], known[slot], args, b == NULL || slot == POW ? 1 : 2, slot == POW, slot == DIV);
}

int medium_in_place(PyObject *a, PyObject *b, int slot, int plain_slot) {
    PyObject *result = plain_slot == POW ? NULL : medium_operator(a, b, plain_slot);
    if (result == NULL) return PyErr_Occurred() ? -1 : 0;
    int done = is_medium(result) && is_medium(a) ? record_in_place(known[slot], a, b) : 0;
    Py_DECREF(result);
    return done;
}

PyObject *medium_view(PyObject *self, PyObject *key) {
    if (!is_medium(self)) {
        Selection where;
        PyArrayObject *array = (PyArrayObject *)np_of(self);
        if (!is_recording_medium || array == NULL || PyArray_SIZE(array) < shortest || PyArray_SIZE(array) >= limit) return NULL;
        if (!selected(array, key, &where) || where.picks || where.size < shortest || !make_medium(self)) return NULL;
    }
    int is_used = is_recording_medium || Py_REFCNT(((Front *)self)->cell) > 1;
    if (!is_used && settle_array((Front *)self) < 0) return NULL;
    PyObject *view = get_selected(self, key);
    if (view == NULL && !PyErr_Occurred() && settle_array((Front *)self) == 0) view = get_selected(self, key);  /* an element */
    if (view != NULL && (is_used || Py_TYPE(view) != array_type)) return as_medium(view);
    Py_XDECREF(view);
    if (!PyErr_Occurred()) make_small(self);
    return NULL;
}

/* The test of `is_located` for the part of an array that an assignment writes. */
static int is_known_store(PyObject *self, PyObject *index) {
    Front *front = (Front *)self;
    Selection where;
    size_t key[KEY];
    if (!selected_in(front, index, &where)) return 1;
    return is_located(key, view_key(front, dtype_of(front), where.offset, where.axes, where.shape, where.strides, key), where.size);
}

int medium_store(PyObject *self, PyObject *key, PyObject *value) {
    if (!is_medium(self) && !(is_recording_medium && is_medium(value) && make_medium(self))) return 0;
    int done = is_recording_medium ? set_in_memory(self, key, value) : 0;
    if (!done && is_recording_medium && !PyErr_Occurred() && is_known_store(self, key)) done = record_store(self, key, value);
    if (!done && !PyErr_Occurred()) done = make_small(self) < 0 ? -1 : 0;
    return PyErr_Occurred() ? -1 : done;
}
