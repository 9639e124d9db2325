/* The buffer protocol of arrays.
 *
 * `numpy.asarray(a)` asks for a buffer, too. Of an array in memory the front lends the memory of NumPy's array of it, under its own name, so
 * `memoryview(a).obj` is `a`, as in NumPy. The memory stays where it is until the buffer is released: the buffer refers to NumPy's array,
 * and a box is pinned. Python decides everything else (lazy/export.py), and answers with a memoryview, which is lent in the same way.
 */
#include "buffers.h"

typedef struct {
    Py_buffer inner;
    PyObject *box;                 /* the box that has pins, and their number; else NULL */
    Py_ssize_t pins;
} Lent;
static const Py_ssize_t pinned_alone = (Py_ssize_t)1 << 40; /* the pins that a rank takes by itself: lazy.views has the same number */

/* The calls with one argument that have asked for buffers: by which names, as Python tells (context/callees.py). */
static Forms *asking = NULL;

/* The function that the frame calls by these names, None if there is none; a new reference; NULL for attributes of objects other than modules. */
static PyObject *called_by(PyFrameObject *frame, PyObject *names) {
    PyCodeObject *code = PyFrame_GetCode(frame);
    PyObject *first = PyTuple_GET_ITEM(names, 0), *value = NULL;
    for (int is_global = code->co_flags & CO_OPTIMIZED ? 1 : 0; value == NULL && is_global < 2; is_global++) {
        PyObject *scope = is_global ? PyFrame_GetGlobals(frame) : PyFrame_GetLocals(frame);
        if (scope != NULL && PyDict_Check(scope)) value = Py_XNewRef(PyDict_GetItem(scope, first));
        Py_XDECREF(scope);
    }
    Py_DECREF(code);
    for (Py_ssize_t k = 1; value != NULL && k < PyTuple_GET_SIZE(names); k++) {
        if (!PyModule_Check(value)) return Py_DECREF(value), NULL;
        Py_SETREF(value, PyObject_GetAttr(value, PyTuple_GET_ITEM(names, k)));
    }
    if (value != NULL) return value;
    drop_error();
    return Py_NewRef(Py_None);
}

/* The names by which a frame calls at an instruction; a new reference, NULL without an exception where Python fails. */
static PyObject *names_asking(PyObject *code, int instruction) {
    size_t key[2] = {(size_t)code, (size_t)instruction};
    PyObject *known = found_in(asking, key, 2);
    if (known != NULL) return Py_NewRef(known);
    PyObject *names = PyObject_CallFunction(python.names_of_call, "Oi", code, instruction);
    if (names == NULL) return drop_error(), NULL;
    if (keep_in(&asking, key, 2, Py_NewRef(code), names) < 0) PyErr_Clear();
    return names;
}

/* True if a NumPy class of numbers asks, which gets memory to write to. */
static int asks_class_of_numbers(void) {
    PyFrameObject *frame = PyEval_GetFrame();
    if (frame == NULL || python.names_of_call == NULL) return 0;
    PyObject *code = (PyObject *)PyFrame_GetCode(frame), *value = NULL;
    PyObject *names = names_asking(code, PyFrame_GetLasti(frame));
    Py_DECREF(code);
    int has_names = names != NULL && names != Py_None, has_none = has_names && !PyTuple_GET_SIZE(names);
    if (has_names && !has_none) value = called_by(frame, names);
    if (value == NULL && !has_none) value = PyObject_CallNoArgs(python.asks_class_of_numbers);
    int is_class = value != NULL && PyType_Check(value) && PyType_IsSubtype((PyTypeObject *)value, &PyGenericArrType_Type);
    int answer = is_class || value == Py_True;
    Py_XDECREF(names);
    Py_XDECREF(value);
    drop_error();
    return answer;
}

/* Pin the box of a value in memory, where Cell.pin would not have to copy; by how many pins, 0 where that was not done. */
static Py_ssize_t pin(Front *front) {
    PyObject *value = value_of(front), *node = BOX(front->cell)->node;
    Py_ssize_t pins = among_ranks() ? pinned_alone : 1;
    if (Py_REFCNT(node) != 1 && !(VALUE(value)->pinned && BOX(front->cell)->pins)) return 0;
    BOX(front->cell)->pins += pins;
    forget_what_is_known(value);
    VALUE(value)->pinned = 1;
    return pins;
}

/* One export less; another thread that works with the value goes first. */
static void unpin(PyObject *box, Py_ssize_t pins) {
    PyObject *node = BOX(box)->node, *value = NODE(node)->value;
    Raised raised = taken_error();
    if (BOX(box)->pins == pins && Py_REFCNT(node) > 1) {
        if (status_of(PyObject_CallFunction(python.unpin, "On", box, pins)) < 0) postpone_error();
    } else if (!(BOX(box)->pins -= pins) && value != Py_None) {
        VALUE(value)->pinned = 0;
    }
    raise_again(raised);
}

/* NumPy's array of the memory of an array, if a buffer of it is for reading and says all of its dtype; a new reference.
 * A pending value is computed. */
static PyObject *to_lend(PyObject *self, int flags, Lent *lent) {
    if (Py_TYPE(self) != array_type || shown || flags & PyBUF_WRITABLE || (is_medium(self) && make_small(self) < 0)) return drop_error(), NULL;
    Front *front = (Front *)self;
    if (np_of(self) == NULL && python.settle_asked != NULL && front->cell != NULL && !(state_of(BOX(front->cell)->node) & READY) && !among_ranks()) {
        PyObject *done = PyObject_CallOneArg(python.settle_asked, self);
        if (done == NULL) return NULL;
        Py_DECREF(done);
    }
    PyObject *array = np_of(self) != NULL ? Py_NewRef(np_of(self)) : !on_ranks(front) ? in_memory(self) : NULL;
    if (array == NULL) return NULL;
    PyArray_Descr *dtype = PyArray_DESCR((PyArrayObject *)array);
    if (dtype->kind == 'V' || PyDataType_METADATA(dtype) != NULL || (np_of(self) == NULL && !(lent->pins = pin(front)))) Py_CLEAR(array);
    else if (lent->pins) lent->box = Py_NewRef(front->cell);
    return array;
}

static int get_buffer(PyObject *self, Py_buffer *view, int flags) {
    Lent *lent = PyMem_Calloc(1, sizeof *lent);
    view->obj = NULL;
    if (lent == NULL) return PyErr_NoMemory(), -1;
    PyObject *memory = to_lend(self, flags, lent), *number;
    int is_numpys = memory != NULL;
    int is_writeable = is_numpys && (lent->box == NULL ? PyArray_ISWRITEABLE((PyArrayObject *)memory) : may_show((Front *)self));
    if (memory == NULL && !PyErr_Occurred() && (number = PyLong_FromLong(flags)) != NULL) {
        memory = call_two(general[BUFFER], self, number);
        Py_DECREF(number);
    }
    if (memory == NULL || PyObject_GetBuffer(memory, &lent->inner, flags) < 0) {
        if (is_from_outside()) {   /* NumPy would forget it */
            postpone_error();
            PyErr_SetString(PyExc_BufferError, "an interrupt has come while the buffer was asked for");
        }
        if (lent->box != NULL) unpin(lent->box, lent->pins);
        Py_XDECREF(lent->box);
        Py_XDECREF(memory);
        PyMem_Free(lent);
        return -1;
    }
    Py_DECREF(memory);
    *view = lent->inner;
    if (is_numpys) view->readonly = !(is_writeable && reads_only != PyThread_get_thread_ident() && asks_class_of_numbers());
    view->obj = Py_NewRef(self);
    view->internal = lent;
    return 0;
}

static void release_buffer(PyObject *self, Py_buffer *view) {
    Lent *lent = view->internal;
    PyBuffer_Release(&lent->inner);
    if (lent->box != NULL) unpin(lent->box, lent->pins);
    Py_XDECREF(lent->box);
    PyMem_Free(lent);
}

unsigned long reads_only = 0;

const PyType_Slot buffer_slots[] = {{Py_bf_getbuffer, get_buffer}, {Py_bf_releasebuffer, release_buffer}, {0}};
