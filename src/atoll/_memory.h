/* Arrays in memory: included by _front.c.
 *
 * A large array that is computed, and does not lie on ranks, has its elements in the memory of its value. A short view of it is
 * NumPy's view of that memory, as long as the array has that value. It is read-only, for other arrays may have the same value;
 * what writes through it asks whether that is so. Its geometry is made when Python asks for it.
 */
enum {
    NODE, BOX_WRITEABLE, BOX_GEOMETRY, FIRST, VALUE, PLACE, ARRAY, COUNT, TILES, PROGRAM, IS_BASE, WRITEABLE, SIZE, OFFSET,
    SHAPE, STRIDES, DTYPE, SHADOW, OP, PINNED, PINS, TILE_WHOLE, TILE_HOME, FIELDS
};
static Py_ssize_t offsets[FIELDS];
static PyObject *filled;           /* the operation that fills an array with a number */
static PyObject *located;          /* the geometry of a view that lies so many bytes into memory */
static Py_ssize_t shortest = 0;    /* elements up to which a view is short */
static Py_ssize_t most_filled = 0; /* elements up to which a new array is filled when a few are read or written */
enum { PART = 8, MOVED = 16 };     /* a small part of an array is this part of it at most; slices move that have moved so often */
int worlds = 0;
static PyObject *current_world;    /* the context variable, in which no world stands for that of the process */
int ranks = 1;                     /* of the process */

static inline PyObject *field(PyObject *object, int which) {
    return *(PyObject **)((char *)object + offsets[which]);
}

static inline void set_field(PyObject *object, int which, PyObject *value) {
    PyObject **slot = (PyObject **)((char *)object + offsets[which]), *old = *slot;
    *slot = Py_NewRef(value);
    Py_XDECREF(old);
}

/* The number of elements of an array that views are taken of. */
static inline Py_ssize_t whole_of(Front *front) { return PyLong_AsSsize_t(field(field(front->cell, BOX_GEOMETRY), SIZE)); }

int in_world_of_process(void) {
    PyObject *world = NULL;
    if (current_world == NULL) return 1;
    if (PyContextVar_Get(current_world, Py_None, &world) < 0) PyErr_Clear();
    Py_XDECREF(world);  /* the context has it */
    return world == Py_None;
}

int among_ranks(void) {
    if (!worlds) return 0;
    PyObject *world = NULL, *size = NULL;
    if (PyContextVar_Get(current_world, Py_None, &world) == 0 && world == Py_None) {
        Py_DECREF(world);
        return ranks > 1;
    }
    if (world != NULL) size = PyObject_GetAttrString(world, "size");
    int several = size == NULL || PyLong_AsLong(size) != 1;
    PyErr_Clear();
    Py_XDECREF(size);
    Py_XDECREF(world);
    return several;
}

#include "_tiles.h"

/* Whether NumPy may finish a view before a launch begins: few elements, or a small part of an array. On ranks, where a value may
 * be there on some only, this is as where it is pending: see lazy.making.present. */
static inline int is_few(Front *front, Py_ssize_t size) {
    if (front->tried) return size < least;
    if (among_ranks() && size >= small_now()) return 0;
    return size < limit && (size <= shortest || size <= whole_of(front) / PART);
}

/* What has the elements of an array that is computed in memory, its value or a tile of it, borrowed; else NULL. */
static inline PyObject *value_of(Front *front) {
    if (front->cell == NULL || front->np != Py_None || Py_TYPE(front) != array_type) return NULL;
    PyObject *node = field(front->cell, NODE), *value = field(node, VALUE);
    if (value == NULL || value == Py_None) return NULL;
    if (field(node, PLACE) != Py_None) return among_ranks() ? whole_tile(front, value) : NULL;
    return value;
}

static inline PyArrayObject *memory_in(PyObject *value) {
    return (PyArrayObject *)(PyArray_CheckExact(value) ? value : field(value, ARRAY));
}

/* The integers of a tuple; -1 where it holds others. */
static int integers(PyObject *tuple, npy_intp *to) {
    Py_ssize_t n = PyTuple_GET_SIZE(tuple);
    for (Py_ssize_t k = 0; k < n; k++) to[k] = PyLong_AsSsize_t(PyTuple_GET_ITEM(tuple, k));
    return PyErr_Occurred() ? -1 : (int)n;
}

/* NumPy's view of a value, as a view of its array shows it; a new reference. */
static PyObject *shown_in(Front *front, PyObject *value) {
    PyArrayObject *array = memory_in(value), *old = (PyArrayObject *)front->shown;
    PyArray_Descr *dtype;
    npy_intp shape[NPY_MAXDIMS], strides[NPY_MAXDIMS];
    Py_ssize_t offset;
    int n;
    if (old != NULL) {  /* of a value that the array had before */
        offset = PyArray_BYTES(old) - PyArray_BYTES(memory_in(front->value));
        n = PyArray_NDIM(old);
        memcpy(shape, PyArray_DIMS(old), n * sizeof(npy_intp));
        memcpy(strides, PyArray_STRIDES(old), n * sizeof(npy_intp));
        dtype = PyArray_DESCR(old);
    } else {
        offset = PyLong_AsSsize_t(field(front->geometry, OFFSET));
        n = integers(field(front->geometry, SHAPE), shape);
        if (n < 0 || integers(field(front->geometry, STRIDES), strides) < 0) return NULL;
        dtype = (PyArray_Descr *)field(front->geometry, DTYPE);
    }
    for (int k = 0; k < n; k++)
        if (shape[k] == 0) offset = 0;
    Py_INCREF(dtype);
    PyObject *shown = PyArray_NewFromDescr(&PyArray_Type, dtype, n, shape, strides, PyArray_BYTES(array) + offset, 0, NULL);
    if (shown == NULL) return NULL;
    if (PyArray_SetBaseObject((PyArrayObject *)shown, Py_NewRef(value)) < 0) {
        Py_DECREF(shown);
        return NULL;
    }
    return shown;
}

/* The elements of an array in memory, of any size; a new reference, NULL without an error where they are not there. */
static PyObject *in_memory(PyObject *self) {
    Front *front = (Front *)self;
    PyObject *value = value_of(front);
    if (value == NULL) return NULL;
    if (front->value == value) return Py_NewRef(front->shown);
    if (front->geometry != NULL && field(front->geometry, IS_BASE) == Py_True) return Py_NewRef((PyObject *)memory_in(value));
    if (front->geometry == NULL && front->shown == NULL) return NULL;
    PyObject *shown = shown_in(front, value);
    if (shown == NULL) {
        drop_error();
        return NULL;
    }
    if (is_few(front, PyArray_SIZE((PyArrayObject *)shown))) {  /* a large one must not keep memory that is not needed any more */
        Py_XSETREF(front->shown, Py_NewRef(shown));
        Py_XSETREF(front->value, Py_NewRef(value));
    }
    return shown;
}

/* The same for few elements, and for arrays that stay with NumPy. */
static inline PyObject *at_hand(PyObject *self) {
    if (Py_TYPE(self) != array_type) return NULL;
    Front *front = (Front *)self;
    if (front->np != Py_None) return front->large ? NULL : Py_XNewRef(front->np);
    if (front->tried) return tried_memory(self);
    if (front->value == NULL && front->geometry == NULL) return NULL;
    Py_ssize_t size = front->value == NULL ? PyLong_AsSsize_t(field(front->geometry, SIZE)) : PyArray_SIZE((PyArrayObject *)front->shown);
    if (!is_few(front, size)) return NULL;
    return in_memory(self);
}

/* Whether a value is a small array of NumPy's, which is as good as one of ours that stays with NumPy. */
static inline int is_numpys(PyObject *value) { return PyArray_CheckExact(value) && PyArray_SIZE((PyArrayObject *)value) < limit; }

/* The same of arrays of NumPy's, too. */
static inline PyObject *small_array(PyObject *value) { return is_numpys(value) ? Py_NewRef(value) : at_hand(value); }

/* What NumPy takes in place of an operand; a new reference, or NULL. */
static inline PyObject *operand(PyObject *value) {
    if (Py_TYPE(value) == array_type) return at_hand(value);
    return is_of(scalars, value) || is_numpys(value) ? Py_NewRef(value) : NULL;
}

/* Whether views of an array may be shown: what may not be written to has geometries that say so. */
static inline int may_show(Front *front) {
    return field(front->cell, BOX_WRITEABLE) == Py_True &&
           (front->geometry == NULL || field(front->geometry, WRITEABLE) == Py_True);
}

/* Whether an array in memory may be written to: nothing else has the same value. */
static inline int may_write(Front *front) {
    return may_show(front) && !on_ranks(front) && Py_REFCNT(field(front->cell, NODE)) == 1;
}

/* The memory of a value may be written to: what was known of its elements holds no longer. */
static void forget_what_is_known(PyObject *value) {
    PyObject *unknown = PyLong_FromLong(-1);
    set_field(value, COUNT, unknown);
    Py_DECREF(unknown);
    set_field(value, TILES, Py_None);
}

/* The memory of an array may be written to, from here to the end. */
static int begin_writing(Front *front, PyArrayObject *memory) {
    PyObject *value = field(field(front->cell, NODE), VALUE);
    forget_what_is_known(value);
    set_field(value, PROGRAM, Py_None);
    int was = PyArray_FLAGS(memory) & NPY_ARRAY_WRITEABLE;
    PyArray_ENABLEFLAGS(memory, NPY_ARRAY_WRITEABLE);
    return was;
}

static inline void end_writing(PyArrayObject *memory, int was) {
    if (!was) PyArray_CLEARFLAGS(memory, NPY_ARRAY_WRITEABLE);
}

/* A short view of an array; steals the reference to NumPy's. */
static PyObject *view_in(PyObject *self, PyArrayObject *shown) {
    Front *parent = (Front *)self;
    PyArray_CLEARFLAGS(shown, NPY_ARRAY_WRITEABLE);
    PyObject *value = value_of(parent), *view = value == NULL ? NULL : handle_of(Py_NewRef(Py_None));
    if (view == NULL) {
        Py_DECREF(shown);
        return NULL;
    }
    ((Front *)view)->shown = (PyObject *)shown;
    ((Front *)view)->cell = Py_NewRef(parent->cell);
    ((Front *)view)->value = Py_NewRef(value);
    if (field(parent->cell, FIRST) == Py_None && parent->geometry != NULL && field(parent->geometry, IS_BASE) == Py_True) {
        PyObject *first = PyWeakref_NewRef(self, NULL);  /* the array that views have as their base */
        if (first == NULL) {
            Py_DECREF(view);
            return NULL;
        }
        set_field(parent->cell, FIRST, first);
        Py_DECREF(first);
    }
    return view;
}

static PyObject *geometry_get(PyObject *self, void *unused) {
    Front *front = (Front *)self;
    if (is_hidden(front) && show_to_python(self) < 0) return NULL;
    if (front->geometry == NULL && front->shown != NULL) {
        PyArrayObject *shown = (PyArrayObject *)front->shown;
        Py_ssize_t offset = PyArray_BYTES(shown) - PyArray_BYTES(memory_in(front->value));
        PyObject *geometry = PyObject_CallFunction(
            located, "OOn", field(front->cell, BOX_GEOMETRY), front->shown, PyArray_SIZE(shown) ? offset : 0);
        if (geometry == NULL) return NULL;
        Py_XSETREF(front->geometry, geometry);
        if (!is_few(front, PyArray_SIZE(shown))) {  /* as in in_memory */
            Py_CLEAR(front->shown);
            Py_CLEAR(front->value);
        }
    }
    if (front->geometry == NULL) {
        PyErr_SetString(PyExc_AttributeError, "_geometry");
        return NULL;
    }
    return Py_NewRef(front->geometry);
}

int has_geometry(PyObject *self) {
    if (((Front *)self)->geometry != NULL) return 1;
    PyObject *geometry = geometry_get(self, NULL);
    if (geometry == NULL) drop_error();
    Py_XDECREF(geometry);
    return geometry != NULL;
}

static int geometry_set(PyObject *self, PyObject *geometry, void *unused) {
    Front *front = (Front *)self;
    if (is_hidden(front) && show_to_python(self) < 0) return -1;
    Py_XSETREF(front->geometry, Py_XNewRef(geometry));
    Py_CLEAR(front->shown);
    Py_CLEAR(front->value);
    return 0;
}

/* The number of elements that two small arrays are broadcast to; 0 where it is not large. */
static Py_ssize_t spread_over(PyObject *x, PyObject *y) {
    if (!PyArray_CheckExact(x) || !PyArray_CheckExact(y)) return 0;
    PyArrayObject *a = (PyArrayObject *)x, *b = (PyArrayObject *)y;
    double most = (double)PyArray_SIZE(a) * PyArray_SIZE(b), size = 1;
    if (most < limit || PyArray_SIZE(a) >= limit || PyArray_SIZE(b) >= limit) return 0;
    for (int k = 1; k <= PyArray_NDIM(a) || k <= PyArray_NDIM(b); k++) {
        npy_intp m = k <= PyArray_NDIM(a) ? PyArray_DIM(a, PyArray_NDIM(a) - k) : 1, n = k <= PyArray_NDIM(b) ? PyArray_DIM(b, PyArray_NDIM(b) - k) : 1;
        if (m != n && m != 1 && n != 1) return 0;
        size *= m == 1 ? n : m;
    }
    return size < limit ? 0 : (Py_ssize_t)size;
}
