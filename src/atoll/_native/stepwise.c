/* Values that NumPy's loops compute, one operation after the other.
 *
 * To plan and compile the program of a trace takes as long as NumPy takes for thousands of operations on arrays of medium size. So the nodes of
 * such a trace are computed here, as NumPy would have computed them at the call, until that has taken about as long. Whatever else is met is left to
 * programs: large arrays, other operations than calls, views and assignments, and floating-point flags, which a program reports. The
 * elements under a mask are picked here at any size, by the backend.
 */
#include "stepwise.h"

enum { SETS = 1 << 9, WAYS = 8, KNOWN = 64, DEEPEST = 400 };
typedef struct {
    size_t key;
    double spent;
    int asked;
} Spender;
static _Thread_local size_t planned_next = 0; /* the key of the trace that Python is about to plan */
static Spender spenders[SETS][WAYS]; /* in a full set a new account replaces the poorest */
double patience[2] = {0}, call_time = 0, rate = 1;

void close_accounts(void) { memset(spenders, 0, sizeof spenders); }

int is_worth(size_t key, double elements, int work) {
    Spender *set = spenders[(key >> 20) % SETS], *here = set;
    for (int k = 1; here->key != key && k < WAYS; k++)
        if (set[k].key == key || set[k].spent < here->spent) here = &set[k];
    if (here->key != key) *here = (Spender){.key = key};
    if (work == PLANNED && key == planned_next) return planned_next = 0, 1;  /* Python asks once more before it plans */
    if ((here->spent += call_time + elements / rate) < patience[work]) return 0;
    if (work == PLANNED) planned_next = key;
    if (work == LEARNT || ++here->asked > pieces) here->spent = 0;  /* full tables forget forms; and these programs were not recognised */
    return 1;
}

/* The loops of the ufunc that a node calls, which come from its first parameter; NULL with or without an error. */
static const Loops *loops_of(PyObject *node) {
    static struct {
        PyObject *loop;
        Loops loops;
    } known[KNOWN];
    if (!PyTuple_GET_SIZE(NODE(node)->params)) return NULL;
    PyObject *loop = PyTuple_GET_ITEM(NODE(node)->params, 0);
    size_t place = ((size_t)loop >> 5) % KNOWN;
    if (known[place].loop != loop) {
        PyObject *ufunc = PyObject_GetAttr(loop, interned.ufunc);
        if (ufunc == NULL) return NULL;
        look_up(&known[place].loops, ufunc);
        Py_XSETREF(known[place].loop, Py_NewRef(loop));
        Py_DECREF(ufunc);
    }
    return known[place].loops.is_settled ? &known[place].loops : NULL;
}

static PyObject *stepped(PyObject *node, int depth);

/* An operand of a node, a number as it is; a new reference. */
static PyObject *operand_at(PyObject *node, int number, int depth) {
    PyObject *arg = argument_of(node, number);
    return is_node(arg) ? stepped(arg, depth + 1) : Py_NewRef(arg);
}

static inline PyArray_Descr *dtype_in(PyObject *geometry) { return GEOMETRY(geometry)->dtype; }

/* True if an array lies as a geometry says. */
static int lies_as(PyArrayObject *array, PyObject *geometry) {
    Selection where;
    int axes = PyArray_NDIM(array);
    return PyArray_DESCR(array) == dtype_in(geometry) && lies(geometry, &where) && where.axes == axes &&
           !memcmp(where.shape, PyArray_DIMS(array), axes * sizeof *where.shape) && !memcmp(where.strides, PyArray_STRIDES(array), axes * sizeof *where.strides);
}

/* Give a node an array as its value; a new reference to the array, which is stolen. */
static PyObject *settled(PyObject *node, PyObject *array, int pooled) {
    PyObject *value = new_value(Py_NewRef(array), pooled);
    if (value == NULL) return Py_DECREF(array), NULL;
    settle(node, value);
    Py_DECREF(value);
    return array;
}

static PyObject *called(PyObject *node, int depth) {
    int count = arity_of(node);
    PyObject *first = count == 1 || count == 2 ? operand_at(node, 0, depth) : NULL, *second = first == NULL || count == 1 ? NULL : operand_at(node, 1, depth);
    const Loops *of = first != NULL && (second != NULL || count == 1) ? loops_of(node) : NULL;  /* the operands may have taken its place in the table */
    PyObject *made = of != NULL && of->operands == count ? unflagged(of, first, second) : NULL;
    Py_XDECREF(first);
    Py_XDECREF(second);
    if (made != NULL && !(PyArray_CheckExact(made) && lies_as((PyArrayObject *)made, NODE(node)->geometry))) Py_CLEAR(made);
    return made == NULL ? NULL : settled(node, made, 0);
}

/* The elements that a node reads through a view, which stay where they are. */
static PyObject *viewed(PyObject *node, int depth) {
    PyObject *view = PyTuple_GET_ITEM(NODE(node)->params, 0), *base = operand_at(node, 0, depth), *shown = NULL;
    Selection where;
    if (base != NULL && lies(view, &where))
        shown = array_at(&where, dtype_in(view), PyArray_BYTES((PyArrayObject *)base), base, 0);
    Py_XDECREF(base);
    return shown;
}

static PyObject *assigned_to(PyObject *node, int depth) {
    if (PyTuple_GET_SIZE(NODE(node)->params) != 1 || arity_of(node) != 2) return NULL;  /* not under a mask */
    PyObject *view = PyTuple_GET_ITEM(NODE(node)->params, 0), *given = operand_at(node, 1, depth), *array = given == NULL ? NULL : operand_at(node, 0, depth);
    Selection where;
    int fits = array != NULL && lies(view, &where) && lies_as((PyArrayObject *)array, NODE(node)->geometry), pooled = 0;
    PyObject *base = argument_of(node, 0), *old = NODE(base)->value;
    if (fits && old != Py_None && !VALUE(old)->pinned && is_sole(base, 1)) pooled = VALUE(old)->pooled;
    else if (fits) Py_SETREF(array, PyArray_NewCopy((PyArrayObject *)array, NPY_KEEPORDER));
    if (fits && array != NULL) {
        PyArrayObject *memory = (PyArrayObject *)array;
        int was = PyArray_FLAGS(memory) & NPY_ARRAY_WRITEABLE;
        PyArray_ENABLEFLAGS(memory, NPY_ARRAY_WRITEABLE);
        PyObject *region = array_at(&where, dtype_in(view), PyArray_BYTES(memory), array, NPY_ARRAY_WRITEABLE);
        fits = region != NULL && PyArray_CopyObject((PyArrayObject *)region, given) == 0;
        Py_XDECREF(region);
        end_writing(memory, was);
    }
    Py_XDECREF(given);
    if (!fits) Py_CLEAR(array);
    return array == NULL ? NULL : settled(node, array, pooled);
}

/* The elements under a mask. */
static PyObject *picked(PyObject *node, int depth) {
    PyObject *from = operand_at(node, 0, depth), *mask = from == NULL ? NULL : operand_at(node, 1, depth);
    PyObject *made = mask == NULL ? NULL : PyObject_CallFunctionObjArgs(python.selected, from, mask, NULL);
    Py_XDECREF(from);
    Py_XDECREF(mask);
    if (made == NULL || PyArray_CheckExact(made)) return made == NULL ? NULL : settled(node, made, 0);
    settle(node, made);
    Py_SETREF(made, Py_NewRef((PyObject *)memory_in(made)));
    return made;
}

/* The memory of a node that every rank has, which is computed where it is pending; a new reference, NULL with or without an error. */
static PyObject *stepped(PyObject *node, int depth) {
    if (NODE(node)->place != Py_None) return NULL;
    if (state_of(node) == READY) return Py_NewRef((PyObject *)memory_in(NODE(node)->value));
    if (state_of(node) != PENDING || depth > DEEPEST) return NULL;
    PyObject *op = NODE(node)->op;
    if (op == python.read_op) return viewed(node, depth);
    if (op == python.compress_op) return picked(node, depth);
    if (size_of(NODE(node)->geometry) >= limit) return NULL;
    return op == python.call_op ? called(node, depth) : op == python.update_op ? assigned_to(node, depth) : NULL;
}

int pick_masked(PyObject *node) {
    if (NODE(node)->op != python.compress_op) return 0;
    PyObject *array = stepped(node, 0);
    Py_XDECREF(array);
    return array != NULL ? 1 : PyErr_Occurred() ? -1 : 0;
}

int step_through(PyObject *const *roots, int count, size_t key) {
    double elements = 0, operations = 0;
    for (int k = 0; k < count; k++) {
        PyObject *op = NODE(roots[k])->op;
        Py_ssize_t size = size_of(NODE(roots[k])->geometry);
        if (size < shortest || size >= limit || (op != python.call_op && op != python.update_op)) return 0;
        operations += weight_of(roots[k]);
        elements += weight_of(roots[k]) * size;
    }
    int is_single = operations == 1;  /* a program would gain nothing */
    if (!is_single && is_worth(key, operations * call_time * rate + elements, PLANNED)) return 0;
    for (int k = 0; k < count; k++) {
        PyObject *array = stepped(roots[k], 0);
        if (array == NULL) return PyErr_Occurred() ? -1 : 0;
        Py_DECREF(array);
    }
    return 1;
}
