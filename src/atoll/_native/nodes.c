/* Nodes, boxes and values are objects of Python, whose slots are written by their offsets.
 *
 * As they end, their memory serves the next ones.
 */
#include "nodes.h"
#include "placed.h"

int learning = 0;
static long long births = 0, recorded = 0;  /* numbers of nodes: of all, and of the nodes that C has made */

_Thread_local int is_recording_medium = 0;

/* True if a node has pending operands, with which a long chain may end. */
static int ends_others(PyObject *node) {
    for (int k = 0; k < arity_of(node); k++)
        if (is_node(argument_of(node, k)) && !(state_of(argument_of(node, k)) & READY)) return 1;
    return 0;
}

static void end_of_node(PyObject *node) {
    PyObject_GC_UnTrack(node);
    if (!ends_others(node)) {
        end_node(node);
        return;
    }
    Py_TRASHCAN_BEGIN(node, end_of_node)
    end_node(node);
    Py_TRASHCAN_END
}

/* All boxes, in the order in which they were made. A thread, which may be a simulated rank, computes its own. */
static Box *first_box = NULL, *last_box = NULL;

static long this_thread(void) {
    static long threads = 0;
    static _Thread_local long number = 0;
    if (!number) number = ++threads;
    return number;
}

static void link_box(Box *box) {
    box->thread = this_thread();
    box->former = last_box;
    box->next = NULL;
    if (last_box != NULL) last_box->next = box;
    else first_box = box;
    last_box = box;
}

static void unlink_box(Box *box) {
    if (!box->thread) return;
    if (box->former != NULL) box->former->next = box->next;
    else first_box = box->next;
    if (box->next != NULL) box->next->former = box->former;
    else last_box = box->former;
    box->thread = 0;
}

static void end_of_box(PyObject *box) {
    PyObject_GC_UnTrack(box);
    unlink_box((Box *)box);
    if (*(PyObject **)((char *)box + Py_TYPE(box)->tp_weaklistoffset) != NULL) PyObject_ClearWeakRefs(box);
    end_box(box);
}

/* ---- the bytes that pending work refers to: see graph.retention */

static double held = 0, base = 0, slack = 0;

static double bytes_of(PyObject *value) {
    PyArrayObject *array = (PyArrayObject *)VALUE(value)->array, *owner = (PyArrayObject *)PyArray_BASE(array);
    return (double)PyArray_NBYTES(owner != NULL && PyArray_CheckExact(owner) ? owner : array);
}

static void count_value(PyObject *value) {
    if (VALUE(value)->counted) return;
    held += VALUE(value)->counted = bytes_of(value);
}

/* A value has ended, which counts no longer. */
void discount(PyObject *value) {
    held -= VALUE(value)->counted;
    VALUE(value)->counted = 0;
    if (held < base) base = held;
}

static int holds_too_much(void) { return held - base > most_held * (1 + slack) && !learning; }

/* Let Python evaluate what keeps too many bytes alive; -1 with an error. */
static int relieve(void) {
    return holds_too_much() ? status_of(PyObject_CallNoArgs(python.relieve)) : 0;
}

PyObject *new_node(PyObject *form, PyObject *const *operands, int count, PyObject *site) {
    int given = 0;
    while (given < count && operands[given] != NULL) given++;
    PyObject *node = given < count || site == NULL || relieve() < 0 ? NULL : new_node_object();
    if (node == NULL || set_operands(node, operands, count) < 0) {
        for (given = 0; given < count; given++) Py_XDECREF(operands[given]);
        Py_XDECREF(site);
        Py_XDECREF(node);
        return NULL;
    }
    NODE(node)->op = Py_NewRef(PyTuple_GET_ITEM(form, 0));
    NODE(node)->geometry = Py_NewRef(PyTuple_GET_ITEM(form, 1));
    NODE(node)->params = Py_NewRef(PyTuple_GET_ITEM(form, 2));
    NODE(node)->name = Py_NewRef(PyTuple_GET_ITEM(form, 3));
    NODE(node)->code = Py_NewRef(PyTuple_GET_ITEM(form, 4));
    NODE(node)->mark = PyTuple_GET_ITEM(form, 5) == Py_None ? 0 : PyLong_AsLong(PyTuple_GET_ITEM(form, 5));
    NODE(node)->born = births++;
    NODE(node)->passed = 0;
    recorded++;
    NODE(node)->value = Py_NewRef(Py_None);
    NODE(node)->place = Py_NewRef(Py_None);
    NODE(node)->site = site;
    PyObject *placed = worlds ? first_placed(node) : NULL;
    if (placed != NULL) return lay(node, placed);
    double weight = 1;
    for (int k = 0; k < count; k++) {
        PyObject *arg = operands[k];
        if (!is_node(arg)) continue;
        weight += weight_of(arg);
        if (state_of(arg) == READY) count_value(NODE(arg)->value);
    }
    NODE(node)->weight = weight;
    if (weight < 0) PyObject_GC_Track(node);  /* behind it is an object that may refer to it */
    return node;
}

PyObject *new_box(PyObject *node) {
    PyObject *box = new_box_object();
    if (box == NULL) {
        Py_DECREF(node);
        return NULL;
    }
    BOX(box)->node = node;
    BOX(box)->geometry = Py_NewRef(NODE(node)->geometry);
    BOX(box)->sites = Py_NewRef(Py_None);
    BOX(box)->pins = BOX(box)->pieces = BOX(box)->shared = 0;
    BOX(box)->writeable = 1;
    BOX(box)->first = Py_NewRef(Py_None);
    link_box((Box *)box);
    return box;
}

PyObject *handle_on(PyObject *box, PyObject *geometry) {
    PyObject *handle = box == NULL ? NULL : new_handle();
    if (handle == NULL) {
        Py_XDECREF(box);
        return NULL;
    }
    ((Front *)handle)->np = Py_NewRef(Py_None);
    ((Front *)handle)->cell = box;
    ((Front *)handle)->geometry = Py_NewRef(geometry);
    return handle;
}

/* ---- values */

enum { WAITING = 8, MOST_WAITING = 1 << 20 };
static PyObject *waiting[WAITING];
static int waits = 0;

/* True if the memory of a value may serve another one: it comes from the pool, and nothing else refers to it. */
static int may_wait(PyObject *value) {
    PyObject *array = VALUE(value)->array;
    if (!recording || (worlds && !(ranks > 1 && in_world_of_process())) || !VALUE(value)->pooled || VALUE(value)->pinned) return 0;
    if (array == NULL || Py_REFCNT(array) != 1 || !PyArray_CheckExact(array)) return 0;
    PyArrayObject *memory = (PyArrayObject *)array;
    if (PyArray_NBYTES(memory) > MOST_WAITING || !PyArray_ISWRITEABLE(memory)) return 0;
    PyObject *settings = settings_now();
    int kept = settings != NULL && PyLong_AsSsize_t(field(settings, SETTINGS_BYTES)) >= WAITING * PyArray_NBYTES(memory);
    Py_XDECREF(settings);
    return kept;
}

static void end_of_value(PyObject *value) {
    PyObject_GC_UnTrack(value);
    discount(value);
    if (may_wait(value)) {
        PyObject *oldest = waits == WAITING ? waiting[0] : NULL;
        if (oldest != NULL) memmove(waiting, waiting + 1, --waits * sizeof *waiting);
        waiting[waits++] = VALUE(value)->array;
        VALUE(value)->array = NULL;
        Py_XDECREF(oldest);
    }
    end_value(value);
}

/* Let the memory that waits go back to the pool. */
static PyObject *let_go(PyObject *module, PyObject *nothing) {
    while (waits) Py_DECREF(waiting[--waits]);
    Py_RETURN_NONE;
}

PyObject *new_value(PyObject *array, int pooled) {
    PyObject *value = array == NULL ? NULL : new_value_object();
    if (value == NULL) {
        Py_XDECREF(array);
        return NULL;
    }
    VALUE(value)->array = array;
    VALUE(value)->address = Py_NewRef(Py_None);
    VALUE(value)->pinned = 0;
    VALUE(value)->program = Py_NewRef(Py_None);
    VALUE(value)->known = Py_NewRef(Py_None);
    VALUE(value)->pooled = pooled;
    VALUE(value)->counted = 0;
    return value;
}

void settle(PyObject *node, PyObject *value) {
    Py_XSETREF(NODE(node)->value, Py_NewRef(value));
    Py_XSETREF(NODE(node)->params, Py_NewRef(empty));
    Py_XSETREF(NODE(node)->op, Py_NewRef(python.source));
    NODE(node)->weight = 0;
    NODE(node)->mark = 0;
    drop_operands(node);
}

PyObject *waiting_memory(PyArray_Descr *dtype, int ndim, const npy_intp *shape, const npy_intp *strides) {
    for (int k = waits - 1; k >= 0; k--) {
        PyArrayObject *array = (PyArrayObject *)waiting[k];
        if (PyArray_DESCR(array) != dtype || PyArray_NDIM(array) != ndim || !are_same(PyArray_DIMS(array), shape, ndim) ||
            !are_same(PyArray_STRIDES(array), strides, ndim))
            continue;
        waiting[k] = waiting[--waits];
        return (PyObject *)array;
    }
    return NULL;
}

/* ---- arrays as operands */

int is_large(PyObject *value) {
    if (!has_view(value)) return 0;
    if (geometry_of((Front *)value) == NULL) drop_error();
    return ((Front *)value)->geometry != NULL;
}

int is_short(PyObject *geometry) {
    if (!GEOMETRY(geometry)->is_short) return 0;
    Py_ssize_t size = size_of(geometry);
    return !(is_recording_medium && size >= shortest) && size < small_now();
}

int is_read_at_once(PyObject *array) {
    Front *front = (Front *)array;
    return is_short(front->geometry) && state_of(BOX(front->cell)->node) != PENDING;
}

int is_counted(PyObject *array) {
    Front *front = (Front *)array;
    return state_of(BOX(front->cell)->node) & DIVIDED && GEOMETRY(front->geometry)->is_short;
}

PyObject *through_of(PyObject *view) {
    if (GEOMETRY(view)->through != Py_None) return GEOMETRY(view)->through;
    PyObject *through = PyObject_CallOneArg(python.through, view);
    Py_XDECREF(through);
    return through == NULL ? NULL : GEOMETRY(view)->through;
}

PyObject *read_of(PyObject *geometry) {
    if (GEOMETRY(geometry)->is_base) return geometry;
    PyObject *shape = GEOMETRY(geometry)->shape, *strides = GEOMETRY(geometry)->strides, *through = through_of(geometry);
    for (Py_ssize_t k = 0; through != NULL && k < PyTuple_GET_SIZE(strides); k++)
        if (!PyLong_AsSsize_t(PyTuple_GET_ITEM(strides, k)) && PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, k)) > 1) return geometry;
    return through == NULL ? NULL : PyTuple_GET_ITEM(field(through, THROUGH_READ), 1);
}

PyObject *node_of(PyObject *array) {
    PyObject *geometry = ((Front *)array)->geometry, *box = ((Front *)array)->cell;
    if (GEOMETRY(geometry)->is_base) return Py_NewRef(BOX(box)->node);
    PyObject *through = through_of(geometry), *base = through == NULL ? NULL : Py_NewRef(BOX(box)->node);
    return base == NULL ? NULL : new_node(field(through, THROUGH_READ), &base, 1, Py_NewRef(Py_None));
}

int is_native(PyObject *dtype) {
    PyArray_Descr *form = (PyArray_Descr *)dtype;
    const char *native = sizeof(long) == sizeof(long long) ? "?bhilBHILefdFD" : "?bhlqBHLQefdFD";  /* of equal dtypes the usual one */
    return form->type && strchr(native, form->type) != NULL && PyArray_ISNBO(form->byteorder);
}

int memory_key(PyArrayObject *array, size_t *key) {
    int n = PyArray_NDIM(array);
    if (n > BY_VALUE) return 0;
    key[0] = (size_t)PyArray_DESCR(array);
    key[1] = (size_t)python.memory_geometry;
    for (int k = 0; k < n; k++) {
        key[2 * k + 2] = (size_t)PyArray_DIM(array, k);
        key[2 * k + 3] = (size_t)PyArray_STRIDE(array, k);
    }
    return 2 * n + 2;
}

PyObject *dense_geometry(int axes, const Py_ssize_t *shape, PyArray_Descr *dtype) {
    size_t key[KEY] = {(size_t)dtype, (size_t)python.dense};
    for (int k = 0; k < axes; k++) key[k + 2] = (size_t)shape[k];
    PyObject *geometry = view_met(key, axes + 2), *extents;
    if (geometry != NULL) return Py_NewRef(geometry);
    if ((extents = PyTuple_New(axes)) == NULL) return NULL;
    for (int k = 0; k < axes; k++) PyTuple_SET_ITEM(extents, k, PyLong_FromSsize_t(shape[k]));
    geometry = PyErr_Occurred() ? NULL : PyObject_CallFunctionObjArgs(python.dense, extents, dtype, NULL);
    Py_DECREF(extents);
    if (geometry != NULL) keep_view(key, axes + 2, geometry);
    return geometry;
}

/* The geometry of memory; a new reference. */
static PyObject *memory_geometry(PyArrayObject *array) {
    size_t key[KEY];
    int count = memory_key(array, key);
    PyObject *geometry = count ? view_met(key, count) : NULL;
    if (geometry != NULL) return Py_NewRef(geometry);
    geometry = PyObject_CallOneArg(python.memory_geometry, (PyObject *)array);
    if (geometry != NULL && count) keep_view(key, count, geometry);
    return geometry;
}

/* Memory as a node; a new reference. Steals the memory. */
static PyObject *source_of(PyArrayObject *array) {
    PyObject *geometry = array == NULL ? NULL : memory_geometry(array);
    PyObject *value = geometry == NULL ? NULL : new_value(Py_NewRef(array), 0), *node = value == NULL ? NULL : new_node_object();
    Py_XDECREF(array);
    if (node != NULL) {
        NODE(node)->op = Py_NewRef(python.source);
        NODE(node)->operands = 0;
        NODE(node)->geometry = Py_NewRef(geometry);
        NODE(node)->params = Py_NewRef(empty);
        NODE(node)->name = PyUnicode_New(0, 0);
        NODE(node)->site = Py_NewRef(Py_None);
        NODE(node)->value = Py_NewRef(value);
        NODE(node)->code = Py_NewRef(Py_None);
        NODE(node)->mark = -1 - PyLong_AsLong(GEOMETRY(geometry)->number);
        NODE(node)->place = Py_NewRef(Py_None);
        NODE(node)->weight = NODE(node)->born = NODE(node)->passed = 0;
    }
    Py_XDECREF(geometry);
    Py_XDECREF(value);
    return node;
}

PyObject *snapshot(PyArrayObject *array) { return source_of((PyArrayObject *)PyArray_NewCopy(array, NPY_KEEPORDER)); }

int is_sole(PyObject *node, int holders) {
    PyObject *value = NODE(node)->value;
    PyArrayObject *array = memory_in(value);
    return Py_REFCNT(node) == 1 && Py_REFCNT(value) == 1 && Py_REFCNT(array) == 1 + holders && PyArray_CHKFLAGS(array, NPY_ARRAY_OWNDATA);
}

int has_own_memory(PyArrayObject *array) {
    if (Py_REFCNT(array) > 1 || PyArray_BASE(array) != NULL) return 0;
    if (!PyArray_CHKFLAGS(array, NPY_ARRAY_OWNDATA | NPY_ARRAY_BEHAVED | NPY_ARRAY_C_CONTIGUOUS)) return 0;
    return *(PyObject **)((char *)array + Py_TYPE(array)->tp_weaklistoffset) == NULL;  /* else it keeps its address */
}

int box_memory(PyObject *array) {
    Front *front = (Front *)array;
    if (!is_native((PyObject *)PyArray_DESCR((PyArrayObject *)front->np))) return 0;
    PyObject *node = source_of((PyArrayObject *)Py_NewRef(front->np)), *box = node == NULL ? NULL : new_box(node);
    if (box == NULL) {
        drop_error();
        return 0;
    }
    Py_SETREF(front->np, Py_NewRef(Py_None));
    set_geometry(front, Py_NewRef(BOX(box)->geometry));
    Py_XSETREF(front->cell, box);
    return 1;
}

PyObject *wrapped_beside(PyObject *result, Py_ssize_t whole) {
    if (result == NULL || Py_TYPE(result) != &PyArray_Type) return result;
    PyArrayObject *array = (PyArrayObject *)result;
    Py_ssize_t size = PyArray_SIZE(array);
    if (size < limit || PyArray_BASE(array) != NULL) return handle_of(result);
    int is_boxed = PyArray_NDIM(array) && has_own_memory(array) && (size <= whole || !among_ranks()) && size >= small_now();
    PyObject *self = is_boxed ? handle_of(Py_NewRef(result)) : PyObject_CallFunction(python.from_numpy, "On", result, whole);
    Py_DECREF(result);
    if (self != NULL && is_boxed) box_memory(self);
    return self;
}

PyObject *wrapped(PyObject *result) { return wrapped_beside(result, 0); }

/* Give memory that nobody else will use to an array; None where Python has to do it. */
static PyObject *box_result(PyObject *module, PyObject *array) {
    PyObject *self = PyArray_CheckExact(array) && PyArray_BASE((PyArrayObject *)array) == NULL ? handle_of(Py_NewRef(array)) : NULL;
    if (self == NULL && PyErr_Occurred()) return NULL;
    if (self != NULL && box_memory(self)) return self;
    Py_XDECREF(self);
    Py_RETURN_NONE;
}

PyObject *view_on(PyObject *array, PyObject *geometry) {
    PyObject *box = ((Front *)array)->cell, *made = is_counted(array) || remember_first(box, array) < 0 ? NULL : handle_on(Py_NewRef(box), geometry);
    Py_DECREF(geometry);
    return made;
}

/* ---- what Python asks for */

static PyObject *hold(PyObject *module, PyObject *value) {
    count_value(value);
    Py_RETURN_NONE;
}

static PyObject *count_recorded(PyObject *module, PyObject *nothing) { return PyLong_FromLongLong(recorded); }

static PyObject *next_born(PyObject *module, PyObject *nothing) { return PyLong_FromLongLong(births++); }

static PyObject *is_due(PyObject *module, PyObject *nothing) { return PyBool_FromLong(holds_too_much()); }

/* begin(nbytes, slack): start a count at `nbytes`, which may exceed the bound by this share of it. */
static PyObject *begin(PyObject *module, PyObject *args) {
    double nbytes;
    if (!PyArg_ParseTuple(args, "dd", &nbytes, &slack)) return NULL;
    base = held - nbytes;
    Py_RETURN_NONE;
}

/* Link a box that Python has made. */
static PyObject *link_made(PyObject *module, PyObject *box) {
    if (!PyObject_TypeCheck(box, box_base)) return PyErr_Format(PyExc_TypeError, "a box is wanted");
    if (!((Box *)box)->thread) link_box((Box *)box);
    Py_RETURN_NONE;
}

/* The boxes of this thread, in the order in which they were made. */
static PyObject *list_boxes(PyObject *module, PyObject *nothing) {
    PyObject *list = PyList_New(0);
    long thread = this_thread();
    for (Box *box = first_box; list != NULL && box != NULL; box = box->next)
        if (box->thread == thread && BOX((PyObject *)box)->node != NULL && PyList_Append(list, (PyObject *)box) < 0) Py_CLEAR(list);
    return list;
}

void install_nodes(void) {
    ((PyTypeObject *)python.node_type)->tp_dealloc = end_of_node;
    ((PyTypeObject *)python.box_type)->tp_dealloc = end_of_box;
    ((PyTypeObject *)python.value_type)->tp_dealloc = end_of_value;
}

PyMethodDef node_methods[] = {
    {"boxed", box_result, METH_O, "An array over memory that nobody else will use; None where Python has to make it."},
    {"hold", hold, METH_O, "Count the memory of a value that pending work refers to."},
    {"recorded", count_recorded, METH_NOARGS, "How many nodes were recorded without Python."},
    {"next_born", next_born, METH_NOARGS, "The number of the next node."},
    {"holds_too_much", is_due, METH_NOARGS, "Whether pending work may keep too many bytes alive."},
    {"holding", begin, METH_VARARGS, "Start the count of held bytes, with a slack."},
    {"link", link_made, METH_O, "Note a box that Python has made among those of this thread."},
    {"boxes", list_boxes, METH_NOARGS, "The boxes of this thread, in the order in which they were made."},
    {"let_go", let_go, METH_NOARGS, "Give the memory that waits for the next values back to the pool."},
    {NULL}};
