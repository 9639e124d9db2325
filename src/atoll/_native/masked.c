/* Elements under a mask for all of an array.
 *
 * The mask is computed, since the result has as many elements as it is true. The elements are not: arithmetic on them that is assigned
 * through the same mask is done on the whole arrays (lazy.masks). Read in any other way, they are picked (stepwise.c).
 */
#include "masked.h"
#include "call_sites.h"
#include "recorder.h"

/* An array of this process whose memory the program does not hold, and whose value can be computed now. */
static int is_own(PyObject *array) {
    Front *front = (Front *)array;
    return !is_medium(array) && is_large(array) && !on_ranks(front) && weight_of(BOX(front->cell)->node) >= 0 && is_free(front->cell);
}

static int is_mask_for(Front *mask, Front *front) {
    Selection where, elements;
    if (dtype_of(mask)->type_num != NPY_BOOL || !GEOMETRY(mask->geometry)->is_base) return 0;
    return view_of(mask, &where) && view_of(front, &elements) && where.axes == elements.axes && are_same(where.shape, elements.shape, where.axes);
}

/* The number of true elements of a mask in memory, counted once; -1 with an error. */
static Py_ssize_t true_elements(PyObject *value) {
    if (VALUE(value)->known == Py_None) Py_SETREF(VALUE(value)->known, PyLong_FromSsize_t(PyArray_CountNonzero(memory_in(value))));
    return VALUE(value)->known == NULL ? -1 : PyLong_AsSsize_t(VALUE(value)->known);
}

/* True if C records operations on an array under a mask. */
static int are_masked(PyObject *array, PyObject *mask) {
    if (!recording || shown || Py_TYPE(mask) != array_type || Py_TYPE(array) != array_type || !in_world_of_process()) return 0;
    return is_own(array) && is_own(mask) && is_mask_for((Front *)mask, (Front *)array);
}

PyObject *record_masked(PyObject *array, PyObject *mask) {
    if (!are_masked(array, mask)) return NULL;
    PyArray_Descr *dtype = dtype_of((Front *)array);
    PyObject *box = ((Front *)mask)->cell;
    if (!is_native((PyObject *)dtype) || settle_box(box) < 0) return NULL;
    PyObject *chosen = Py_NewRef(BOX(box)->node), *geometry = NULL, *form = NULL, *node = NULL;
    if (state_of(chosen) == READY) {
        Py_ssize_t elements = true_elements(NODE(chosen)->value);
        if (elements >= 0) geometry = dense_geometry(1, &elements, dtype);
    }
    if (geometry != NULL) form = Py_BuildValue("OO()sOO", python.compress_op, geometry, "", Py_None, Py_None);
    if (form != NULL) {
        PyObject *operands[2] = {node_of(array), Py_NewRef(chosen)};
        node = new_node(form, operands, 2, site_here());
    }
    Py_DECREF(chosen);
    Py_XDECREF(geometry);
    Py_XDECREF(form);
    return array_of(node);
}

/* ---- assignments */

enum { MOST_MASKED = 32 };
typedef struct {
    PyObject *mask, *of[MOST_MASKED], *whole[MOST_MASKED];
    int count;
} Wholes;

/* A node of an operation on whole arrays, in the place of one on elements under a mask; steals the references to the operands. Python gives the first
 * one of its kind a mark. */
static PyObject *whole_call(PyObject *node, PyObject **operands, int count, PyObject *geometry) {
    static Forms *known = NULL;
    PyObject *loop = PyTuple_GET_ITEM(NODE(node)->params, 0);
    size_t key[3] = {(size_t)geometry, (size_t)loop, 1};
    for (int k = 0; k < count; k++) key[2] = 2 * key[2] + (size_t)is_node(operands[k]);
    key[2] = 2 * key[2] + 1;       /* as an integer of Python is found */
    PyObject *form = Py_XNewRef(found_in(known, key, 3)), *made, *mark;
    int is_new = form == NULL;
    if (is_new) form = PyTuple_Pack(6, NODE(node)->op, geometry, NODE(node)->params, NODE(node)->name, Py_None, Py_None);
    made = new_node(form, operands, count, Py_NewRef(NODE(node)->site));
    if (made != NULL && is_new) {
        PyObject *full = NULL;
        if ((mark = PyObject_CallOneArg(python.marked, made)) != NULL) {
            full = PyTuple_Pack(6, NODE(made)->op, geometry, NODE(made)->params, NODE(made)->name, NODE(made)->code, mark);
            NODE(made)->mark = PyLong_AsLong(mark);
            Py_DECREF(mark);
        }
        if (full == NULL || keep_in(&known, key, 3, PyTuple_Pack(2, geometry, loop), full) < 0) Py_CLEAR(made);
        Py_XDECREF(full);
    }
    Py_XDECREF(form);
    return made;
}

/* The arithmetic of a node made of elements under a mask, on the whole arrays, as lazy.masks._whole; borrowed, NULL with or without an error. A new node may
 * collect garbage, and code that runs then may compute this one: its operands are held, and its state is looked at again. */
static PyObject *on_whole(PyObject *node, Wholes *wholes) {
    PyObject *operands[INLINE], *args[INLINE], *whole = NULL, *geometry = NULL;
    int count = arity_of(node), made = 0;
    for (int k = 0; k < wholes->count; k++)
        if (wholes->of[k] == node) return wholes->whole[k];
    if (state_of(node) != PENDING) return NULL;
    if (NODE(node)->op == python.compress_op) {
        whole = argument_of(node, 1) == wholes->mask ? Py_NewRef(argument_of(node, 0)) : NULL;
    } else if (NODE(node)->op == python.call_op && count <= INLINE && PyTuple_GET_SIZE(NODE(node)->params)) {
        for (int k = 0; k < count; k++) args[k] = Py_NewRef(argument_of(node, k));
        for (; made < count; made++) {
            PyObject *arg = args[made], *operand = is_node(arg) ? on_whole(arg, wholes) : arg;
            if (operand == NULL) break;
            operands[made] = Py_NewRef(operand);
            if (!is_node(operand) || geometry != NULL) continue;
            Selection where;
            if (!lies(NODE(operand)->geometry, &where)) break;
            geometry = dense_geometry(where.axes, where.shape, GEOMETRY(NODE(node)->geometry)->dtype);
        }
        if (made == count && geometry != NULL && state_of(node) == PENDING) whole = whole_call(node, operands, count, geometry);
        else while (made) Py_DECREF(operands[--made]);
        for (int k = 0; k < count; k++) Py_DECREF(args[k]);
        Py_XDECREF(geometry);
    }
    if (whole == NULL || wholes->count == MOST_MASKED) return Py_XDECREF(whole), NULL;
    wholes->of[wholes->count] = Py_NewRef(node);
    return wholes->whole[wholes->count++] = whole;
}

int store_masked(PyObject *array, PyObject *mask, PyObject *value) {
    Front *front = (Front *)array;
    if (!are_masked(array, mask) || !may_show(front) || GEOMETRY(front->geometry)->overlapping) return 0;
    if (!is_large(value)) return record_number(front->cell, front->geometry, value, BOX(((Front *)mask)->cell)->node);
    Wholes wholes = {.mask = NULL};
    PyObject *root, *whole = NULL;
    int done = 0;
    if (!GEOMETRY(((Front *)value)->geometry)->is_base || !is_calm() || lock() < 0) return PyErr_Occurred() ? -1 : 0;
    wholes.mask = Py_NewRef(BOX(((Front *)mask)->cell)->node);
    root = Py_NewRef(BOX(((Front *)value)->cell)->node);
    whole = on_whole(root, &wholes);
    unlock();
    Py_DECREF(root);
    if (whole != NULL && GEOMETRY(NODE(whole)->geometry)->dtype == dtype_of(front) && PyObject_RichCompareBool(GEOMETRY(NODE(whole)->geometry)->shape, GEOMETRY(front->geometry)->shape, Py_EQ) > 0)
        done = record_elements(front->cell, front->geometry, whole, wholes.mask);
    while (wholes.count--) Py_DECREF(wholes.whole[wholes.count]), Py_DECREF(wholes.of[wholes.count]);
    Py_DECREF(wholes.mask);
    return PyErr_Occurred() ? -1 : done;
}
