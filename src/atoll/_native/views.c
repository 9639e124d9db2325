/* Views that were met before have geometries, which are remembered by what they were made of. */
#include "views.h"

enum { VIEWS = 2048, ITEMS = 4, NEW_AXIS = -2, INTEGER = -1, TUPLE = -3 };
typedef struct {
    Py_ssize_t start, length, step;  /* the length is below zero where it is no slice */
} Item;
typedef struct {
    PyObject *from, *to, *by;        /* the method that makes the view; NULL for an index */
    int count;
    Item items[ITEMS];
} View;
static View views[VIEWS];

/* The place of a view of a geometry among those that are remembered, with its key in `wanted`; NULL where Python has to see it. */
static View *view_at(PyObject *geometry, PyObject *key, View *wanted) {
    PyObject *shape = field(geometry, FORM_SHAPE);
    int is_tuple = PyTuple_CheckExact(key);
    Py_ssize_t n = is_tuple ? PyTuple_GET_SIZE(key) : 1, ndim = PyTuple_GET_SIZE(shape), axis = 0;
    if (n > ITEMS) return NULL;
    size_t hash = (size_t)geometry >> 4;
    wanted->count = 0;
    wanted->from = geometry;
    wanted->by = NULL;
    for (Py_ssize_t k = 0; k < n; k++) {
        PyObject *item = is_tuple ? PyTuple_GET_ITEM(key, k) : key;
        Item *last = &wanted->items[wanted->count++];
        if (item == Py_None) {
            *last = (Item){0, NEW_AXIS, 0};
        } else if (item == Py_Ellipsis) {
            return NULL;
        } else {
            if (axis >= ndim) return NULL;
            Py_ssize_t extent = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, axis++));
            if (PySlice_Check(item)) {
                Py_ssize_t stop;
                if (!is_unpacked(item, &last->start, &stop, &last->step)) return NULL;
                last->length = PySlice_AdjustIndices(extent, &last->start, &stop, last->step);
                if (!last->length) last->start = 0, last->step = 1;
            } else if (PyLong_CheckExact(item)) {
                Py_ssize_t index = PyLong_AsSsize_t(item);
                if (index == -1 && PyErr_Occurred()) {
                    PyErr_Clear();
                    return NULL;
                }
                if (index < 0) index += extent;
                if (index < 0 || index >= extent) return NULL;
                *last = (Item){index, INTEGER, 0};
            } else {
                return NULL;
            }
        }
        hash = ((hash * 31 + last->start) * 31 + last->length) * 31 + last->step;
    }
    return &views[(hash ^ hash >> 11) % VIEWS];
}

static inline int is_same_view(const View *known, const View *wanted) {
    return known->from == wanted->from && known->by == wanted->by && known->count == wanted->count &&
           !memcmp(known->items, wanted->items, wanted->count * sizeof(Item));
}

/* The same for a method that makes a view of integers, or of one tuple of them. */
static View *view_by(PyObject *geometry, PyObject *by, PyObject *const *args, Py_ssize_t count, View *wanted) {
    size_t hash = ((size_t)geometry >> 4) * 31 + ((size_t)by >> 4);
    int is_tuple = count == 1 && PyTuple_CheckExact(args[0]);
    Py_ssize_t n = is_tuple ? PyTuple_GET_SIZE(args[0]) : count;
    if (n >= ITEMS) return NULL;
    wanted->from = geometry;
    wanted->by = by;
    wanted->count = (int)n + is_tuple;
    if (is_tuple) wanted->items[n] = (Item){0, TUPLE, 0};
    for (Py_ssize_t k = 0; k < n; k++) {
        PyObject *item = is_tuple ? PyTuple_GET_ITEM(args[0], k) : args[k];
        if (!PyLong_CheckExact(item)) return NULL;
        wanted->items[k] = (Item){PyLong_AsSsize_t(item), INTEGER, 0};
        if (PyErr_Occurred()) {
            PyErr_Clear();
            return NULL;
        }
        hash = hash * 31 + wanted->items[k].start;
    }
    return &views[(hash ^ hash >> 11) % VIEWS];
}

static void keep(View *known, View *wanted, PyObject *geometry) {
    wanted->from = Py_NewRef(wanted->from);
    wanted->to = Py_NewRef(geometry);
    View old = *known;
    *known = *wanted;
    Py_XDECREF(old.from);
    Py_XDECREF(old.to);
}

/* Remember which view of an array Python has made. */
static void remember(PyObject *array, PyObject *view, View *known, View *wanted) {
    if (known == NULL || !is_large(view) || ((Front *)view)->cell != ((Front *)array)->cell) return;
    keep(known, wanted, ((Front *)view)->geometry);
}

void remember_view(PyObject *array, PyObject *key, PyObject *view) {
    View wanted;
    if (recording && is_large(array)) remember(array, view, view_at(((Front *)array)->geometry, key, &wanted), &wanted);
}

/* The geometry of a view that was met before; a new reference; else NULL. */
static PyObject *met_view(PyObject *geometry, PyObject *key) {
    View wanted, *known = view_at(geometry, key, &wanted);
    return known != NULL && is_same_view(known, &wanted) ? Py_NewRef(known->to) : NULL;
}

PyObject *record_view(PyObject *array, PyObject *key) {
    PyObject *view = recording && is_large(array) ? met_view(((Front *)array)->geometry, key) : NULL;
    return view == NULL ? NULL : view_on(array, view);
}

PyObject *viewed(PyObject *by, PyObject *python, PyObject *const *args, Py_ssize_t count) {
    View wanted, *known = view_by(((Front *)args[0])->geometry, by, args + 1, count - 1, &wanted);
    if (known == NULL) return NULL;
    if (is_same_view(known, &wanted)) return view_on(args[0], Py_NewRef(known->to));
    PyObject *made = PyObject_Vectorcall(python, args, count, NULL);
    if (made != NULL) remember(args[0], made, known, &wanted);
    return made;
}

PyObject *region_of(PyObject *geometry, PyObject *key) {
    View wanted, *known = view_at(geometry, key, &wanted);
    if (known == NULL) return NULL;
    if (is_same_view(known, &wanted)) return Py_NewRef(known->to);
    PyObject *items = PyTuple_CheckExact(key) ? Py_NewRef(key) : PyTuple_Pack(1, key);
    PyObject *region = items == NULL ? NULL : PyObject_CallFunctionObjArgs(python.index, geometry, items, NULL);
    Py_XDECREF(items);
    if (region == NULL) {
        drop_error();  /* Python raises it, with its words */
    } else if (PyTuple_GET_SIZE(field(region, FORM_SHAPE))) {
        keep(known, &wanted, region);
    } else {
        Py_CLEAR(region);
    }
    return region;
}

PyObject *record_any_view(PyObject *array, PyObject *key) {
    PyObject *region = recording ? region_of(((Front *)array)->geometry, key) : NULL;
    return region == NULL ? NULL : view_on(array, region);
}

PyObject *record_attribute(PyObject *getter, PyObject *array) {
    return recording && is_large(array) ? viewed(getter, getter, &array, 1) : NULL;
}
