/* Arrays in memory.
 *
 * A large array that is computed, and does not lie on ranks, has its elements in the memory of its value. What reads an array there gets
 * NumPy's view of that memory, which a short one keeps as long as the array has that value. It is read-only, for other arrays may have
 * the same value; what writes through it asks whether that is so.
 */
#include "memory.h"

Py_ssize_t shortest = 0, most_filled = 0, pieces = 1, multiple = 1;

/* ---- geometries of views, kept by their bases, dtypes, extents and strides */

static Forms *views = NULL;

PyObject *view_met(const size_t *key, int count) { return found_in(views, key, count); }

void keep_view(const size_t *key, int count, PyObject *geometry) {
    PyObject *parts = PyTuple_Pack(2, (PyObject *)key[0], (PyObject *)key[1]);
    if (keep_in(&views, key, count, parts, geometry) < 0) PyErr_Clear();
}

int view_key(Front *front, PyArray_Descr *dtype, npy_intp offset, int axes, const npy_intp *shape, const npy_intp *strides, size_t *key) {
    int is_writeable = front->geometry == NULL || GEOMETRY(front->geometry)->writeable;
    key[0] = (size_t)(is_writeable ? BOX(front->cell)->geometry : front->geometry);
    key[1] = (size_t)dtype;
    key[2] = (size_t)offset;
    for (int k = 0; axes <= BY_VALUE && k < axes; k++) {
        key[2 * k + 3] = (size_t)shape[k];
        key[2 * k + 4] = (size_t)strides[k];
    }
    return axes <= BY_VALUE ? 2 * axes + 3 : 0;
}

PyObject *geometry_for(Front *front, PyArray_Descr *dtype, npy_intp offset, int axes, const npy_intp *shape, const npy_intp *strides) {
    size_t key[KEY];
    int count = view_key(front, dtype, offset, axes, shape, strides, key);
    PyObject *known = count ? view_met(key, count) : NULL;
    if (known != NULL) return Py_NewRef(known);
    PyObject *extents = PyArray_IntTupleFromIntp(axes, shape), *steps = PyArray_IntTupleFromIntp(axes, strides), *made = NULL;
    if (extents != NULL && steps != NULL) made = PyObject_CallFunction(python.located, "OOOOn", (PyObject *)key[0], extents, steps, dtype, offset);
    if (count && made != NULL) keep_view(key, count, made);
    Py_XDECREF(extents);
    Py_XDECREF(steps);
    return made;
}

/* ---- arrays in memory */

PyObject *array_at(const Selection *where, PyArray_Descr *dtype, char *data, PyObject *owner, int flags) {
    Py_INCREF(dtype);
    PyObject *view = PyArray_NewFromDescr(&PyArray_Type, dtype, where->axes, where->shape, where->strides, data + where->offset, flags, NULL);
    if (view != NULL && PyArray_SetBaseObject((PyArrayObject *)view, Py_NewRef(owner)) < 0) Py_CLEAR(view);
    return view;
}

Py_ssize_t everywhere_now(void) {
    PyObject *settings = python.settings == NULL ? NULL : settings_now(), *said = settings == NULL ? Py_None : field(settings, SETTINGS_EVERYWHERE);
    Py_ssize_t small = settings == NULL ? 0 : small_now(), number = said == Py_None ? multiple * small : PyLong_AsSsize_t(said);
    Py_XDECREF(settings);
    return number < small ? small : number;
}

inline int is_few(Front *front, Py_ssize_t size) {
    if (front->medium) return size < shortest;
    if (among_ranks() && size >= small_now()) return 0;
    Py_ssize_t whole = whole_of(front);
    return size < limit && (size <= shortest || whole < limit || size <= whole / pieces);
}

inline PyObject *value_of(Front *front) {
    if (front->cell == NULL || front->np != Py_None || Py_TYPE(front) != array_type) return NULL;
    PyObject *node = BOX(front->cell)->node;
    return state_of(node) == READY ? NODE(node)->value : NULL;
}

/* The integers of a tuple; -1 where it holds others. */
static int integers(PyObject *tuple, npy_intp *to) {
    Py_ssize_t n = PyTuple_GET_SIZE(tuple);
    for (Py_ssize_t k = 0; k < n; k++) to[k] = PyLong_AsSsize_t(PyTuple_GET_ITEM(tuple, k));
    return PyErr_Occurred() ? -1 : (int)n;
}

int lies(PyObject *geometry, Selection *to) {
    to->axes = integers(GEOMETRY(geometry)->shape, to->shape);
    to->offset = PyLong_AsSsize_t(GEOMETRY(geometry)->offset);
    to->size = size_of(geometry);
    int is_known = integers(GEOMETRY(geometry)->strides, to->strides) == to->axes && !PyErr_Occurred();
    if (!is_known) PyErr_Clear();
    return is_known;
}

static void set_view(Front *front, const Selection *where, PyArray_Descr *dtype) {
    View *view = &front->view;
    Py_INCREF(dtype);
    view->dtype = dtype;
    view->axes = where->axes;
    view->size = where->size;
    view->offset = where->offset;
    memcpy(view->shape, where->shape, where->axes * sizeof *view->shape);
    memcpy(view->strides, where->strides, where->axes * sizeof *view->strides);
}

PyArray_Descr *dtype_of(Front *front) {
    return front->view.dtype != NULL ? front->view.dtype : GEOMETRY(front->geometry)->dtype;
}

Py_ssize_t count_of(Front *front) { return front->view.dtype != NULL ? front->view.size : size_of(front->geometry); }

Py_ssize_t length_of(Front *front) {
    return front->view.dtype != NULL ? front->view.shape[0] : PyLong_AsSsize_t(PyTuple_GET_ITEM(GEOMETRY(front->geometry)->shape, 0));
}

int axes_in(Front *front) { return front->view.dtype != NULL ? front->view.axes : (int)PyTuple_GET_SIZE(GEOMETRY(front->geometry)->shape); }

/* The view of an array, in `room` where it has many axes; whether it has any. */
int view_of(Front *front, Selection *room) {
    if (front->view.dtype != NULL) {
        const View *view = &front->view;
        room->axes = view->axes;
        room->size = view->size;
        room->offset = view->offset;
        memcpy(room->shape, view->shape, view->axes * sizeof *view->shape);
        memcpy(room->strides, view->strides, view->axes * sizeof *view->strides);
        return 1;
    }
    if (front->geometry == NULL || !lies(front->geometry, room)) return 0;
    if (room->axes <= BY_VALUE) set_view(front, room, GEOMETRY(front->geometry)->dtype);
    return 1;
}

int selected_in(Front *front, PyObject *key, Selection *to) {
    const View *view = &front->view;
    Selection room;
    if (view->dtype == NULL && !view_of(front, &room)) return 0;
    int is_selected = view->dtype != NULL ? selected_along(view->axes, view->shape, view->strides, key, to)
                                          : selected_along(room.axes, room.shape, room.strides, key, to);
    to->offset += view->dtype != NULL ? view->offset : room.offset;
    return is_selected;
}

PyObject *in_memory(PyObject *self) {
    Front *front = (Front *)self;
    PyObject *value = value_of(front);
    Selection where;
    if (value == NULL) return NULL;
    if (front->value == value) return Py_NewRef(front->shown);
    PyArrayObject *memory = memory_in(value);
    if (front->geometry != NULL && GEOMETRY(front->geometry)->is_base) return Py_NewRef((PyObject *)memory);
    if (!view_of(front, &where)) return NULL;
    PyObject *shown = array_at(&where, dtype_of(front), PyArray_BYTES(memory), value, 0);
    if (shown == NULL) {
        drop_error();
        return NULL;
    }
    if (is_few(front, where.size)) {  /* a large one must not keep memory that is not needed any more */
        Py_XSETREF(front->shown, Py_NewRef(shown));
        Py_XSETREF(front->value, Py_NewRef(value));
    }
    return shown;
}

inline PyObject *at_hand(PyObject *self) {
    if (Py_TYPE(self) != array_type) return NULL;
    Front *front = (Front *)self;
    if (front->np != Py_None) return Py_XNewRef(front->np);
    if (front->medium) return medium_memory(self);
    return front->cell != NULL && is_few(front, count_of(front)) ? in_memory(self) : NULL;
}

inline PyObject *small_array(PyObject *value) { return is_numpys(value) ? Py_NewRef(value) : at_hand(value); }

inline PyObject *operand(PyObject *value) {
    if (Py_TYPE(value) == array_type) return at_hand(value);
    return is_of(python.number_types, value) || is_numpys(value) ? Py_NewRef(value) : NULL;
}

PyObject *memory_for(PyObject *value) {
    PyObject *array = np_of(value);
    if (array != NULL || Py_TYPE(value) != array_type) return Py_NewRef(array ? array : value);
    if (is_medium(value)) return medium_memory(value);
    if (is_pending(value) && settle_array((Front *)value) < 0) return NULL;
    return in_memory(value);
}

int type_of(PyObject *value, Py_ssize_t *size) {
    int is_ours = Py_TYPE(value) == array_type;
    if (!is_ours && !is_numpys(value)) return is_of(python.number_types, value) ? NUMBER : NOTHING;
    Front *front = (Front *)value;
    PyArrayObject *array = (PyArrayObject *)(is_ours ? np_of(value) : value);
    if (array != NULL) {
        if (PyArray_SIZE(array) > *size) *size = PyArray_SIZE(array);
        return PyArray_TYPE(array);
    }
    if (front->cell == NULL || (value_of(front) == NULL && (among_ranks() || state_of(BOX(front->cell)->node) != PENDING))) return NOTHING;
    if (count_of(front) > *size) *size = count_of(front);
    return dtype_of(front)->type_num;
}

inline int may_show(Front *front) {
    return BOX(front->cell)->writeable &&
           (front->geometry == NULL || GEOMETRY(front->geometry)->writeable);
}

inline int may_write(Front *front) {
    PyObject *node = BOX(front->cell)->node, *value = NODE(node)->value;
    int is_held = BOX(front->cell)->pins && value != Py_None && VALUE(value)->pinned;  /* which is written to, whoever else has it */
    return may_show(front) && !on_ranks(front) && (Py_REFCNT(node) == 1 || is_held);
}

int is_free(PyObject *box) {
    if (!BOX(box)->pins) return 1;
    PyObject *held = PyObject_CallOneArg(python.held, box);
    int free = held == Py_False;
    if (held == NULL) drop_error();
    Py_XDECREF(held);
    return free;
}

int is_open(PyObject *array) {
    Front *front = (Front *)array;
    return !shown && !among_ranks() && value_of(front) != NULL && BOX(front->cell)->pins && !is_free(front->cell);
}

PyObject *computed(PyObject *value) {
    int is_array = Py_TYPE(value) == array_type && np_of(value) == NULL;
    return !is_array ? operand(value) : is_pending(value) || value_of((Front *)value) != NULL ? memory_for(value) : NULL;
}

void forget_what_is_known(PyObject *value) { Py_XSETREF(VALUE(value)->known, Py_NewRef(Py_None)); }

int begin_writing(Front *front, PyArrayObject *memory) {
    PyObject *value = NODE(BOX(front->cell)->node)->value;
    forget_what_is_known(value);
    Py_XSETREF(VALUE(value)->program, Py_NewRef(Py_None));
    int was = PyArray_FLAGS(memory) & NPY_ARRAY_WRITEABLE;
    PyArray_ENABLEFLAGS(memory, NPY_ARRAY_WRITEABLE);
    return was;
}

inline void end_writing(PyArrayObject *memory, int was) {
    if (!was) PyArray_CLEARFLAGS(memory, NPY_ARRAY_WRITEABLE);
}

int remember_first(PyObject *box, PyObject *array) {
    PyObject *geometry = ((Front *)array)->geometry;
    if (BOX(box)->first != Py_None || geometry == NULL || !GEOMETRY(geometry)->is_base) return 0;
    PyObject *first = PyWeakref_NewRef(array, NULL);
    if (first == NULL) return -1;
    Py_XSETREF(BOX(box)->first, first);
    return 0;
}

PyObject *view_at(PyObject *self, const Selection *where, PyArray_Descr *dtype) {
    Front *parent = (Front *)self;
    int by_value = where->axes <= BY_VALUE && (parent->geometry == NULL || GEOMETRY(parent->geometry)->writeable);
    PyObject *geometry = by_value ? NULL : geometry_for(parent, dtype, where->offset, where->axes, where->shape, where->strides), *view = NULL;
    if ((by_value || geometry != NULL) && remember_first(parent->cell, self) == 0) view = handle_of(Py_NewRef(Py_None));
    if (view == NULL) return Py_XDECREF(geometry), NULL;
    ((Front *)view)->cell = Py_NewRef(parent->cell);
    ((Front *)view)->geometry = geometry;
    if (by_value) set_view((Front *)view, where, dtype);
    return view;
}

PyObject *view_in(PyObject *self, PyArrayObject *shown) {
    PyObject *value = value_of((Front *)self), *view = NULL;
    Selection where = {.axes = PyArray_NDIM(shown), .size = PyArray_SIZE(shown)};
    memcpy(where.shape, PyArray_DIMS(shown), where.axes * sizeof *where.shape);
    memcpy(where.strides, PyArray_STRIDES(shown), where.axes * sizeof *where.strides);
    if (value != NULL) where.offset = where.size ? PyArray_BYTES(shown) - PyArray_BYTES(memory_in(value)) : 0;
    if (value != NULL) view = view_at(self, &where, PyArray_DESCR(shown));
    Py_DECREF(shown);
    return view;
}

PyObject *geometry_of(Front *front) {
    const View *view = &front->view;
    if (front->geometry == NULL && view->dtype != NULL) front->geometry = geometry_for(front, view->dtype, view->offset, view->axes, view->shape, view->strides);
    return front->geometry;
}

void set_geometry(Front *front, PyObject *geometry) {
    Py_XSETREF(front->geometry, geometry);
    Py_CLEAR(front->view.dtype);
    Py_CLEAR(front->shown);
    Py_CLEAR(front->value);
}

/* ---- arrays of medium size */

int settle_box(PyObject *cell) {
    PyObject *box = Py_NewRef(cell), *node = Py_NewRef(BOX(box)->node);
    int is_pending = !(state_of(node) & READY), status = is_pending ? evaluate_again(node) : 1;
    if (status == 0) status = status_of(PyObject_CallOneArg(python.settle, box));
    if (is_pending && status > 0) Py_XSETREF(BOX(box)->sites, Py_NewRef(Py_None));
    Py_DECREF(node);
    Py_DECREF(box);
    return status < 0 ? -1 : 0;
}

int settle_array(Front *front) { return settle_box(front->cell); }

PyObject *settled_result(PyObject *made) {
    int is_list = made != NULL && (PyTuple_CheckExact(made) || PyList_CheckExact(made));
    Py_ssize_t count = is_list ? PySequence_Fast_GET_SIZE(made) : made != NULL;
    for (Py_ssize_t k = 0; k < count && made != NULL; k++) {
        PyObject *array = is_list ? PySequence_Fast_GET_ITEM(made, k) : made;
        if (is_pending(array) && settle_array((Front *)array) < 0) Py_CLEAR(made);
    }
    return made;
}

PyObject *medium_memory(PyObject *self) {
    if (settle_array((Front *)self) < 0) return NULL;
    PyObject *memory = in_memory(self);
    if (memory == NULL && !PyErr_Occurred()) PyErr_SetString(PyExc_SystemError, "an array of medium size has no memory");
    if (memory != NULL && PyArray_ISWRITEABLE((PyArrayObject *)memory)) {  /* which others may share */
        Py_SETREF(memory, PyArray_View((PyArrayObject *)memory, NULL, NULL));
        if (memory != NULL) PyArray_CLEARFLAGS((PyArrayObject *)memory, NPY_ARRAY_WRITEABLE);
    }
    return memory;
}
