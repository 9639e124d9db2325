/* Nodes of arrays on ranks.
 *
 * Such a node weighs what it does in operations on ranks, and lies on ranks itself. The usual rules stand here, for an operation on elements
 * with an operand of its shape, an assignment, and a view that was read before; ops.table has all rules. Before a node is recorded the
 * ranks may have to compute or move something (lazy.rank_operands); mostly they do not.
 */
#include "placed.h"

static PyObject *undivided_name, *folds_name;

PyObject *first_placed(PyObject *node) {
    for (int k = 0; k < arity_of(node); k++)
        if (is_node(argument_of(node, k)) && state_of(argument_of(node, k)) & DIVIDED) return argument_of(node, k);
    return NULL;
}

/* The placement of a node, and its shape, borrowed. */
static PyObject *home_of(PyObject *node) { return NODE(node)->place; }
static PyObject *shape_of(PyObject *node) { return GEOMETRY(NODE(node)->geometry)->shape; }

static int are_equal(PyObject *shape, PyObject *other) { return shape == other || PyObject_RichCompareBool(shape, other, Py_EQ) > 0; }

/* The placement of an operation on elements: that of its first operand of full shape, if that is not padded, else as the largest one was broadcast before; borrowed,
 * NULL where Python has to say. */
static PyObject *as_operand(PyObject *node, PyObject *shape) {
    PyObject *largest = NULL;
    for (int k = 0; k < arity_of(node); k++) {
        PyObject *arg = argument_of(node, k);
        if (!is_node(arg) || !(state_of(arg) & DIVIDED)) continue;
        PyObject *place = home_of(arg);
        if (are_equal(shape_of(arg), shape)) return !is_set(place, PLACE_PADDED) ? place : NULL;
        if (largest == NULL || size_of(NODE(arg)->geometry) > size_of(NODE(largest)->geometry)) largest = arg;
    }
    return PyDict_GetItemWithError(field(home_of(largest), PLACE_READ), GEOMETRY(NODE(node)->geometry)->number);
}

static int is_number(PyObject *node) { return !PyTuple_GET_SIZE(shape_of(node)); }

/* True if ranks fold their parts of all axes, of which each then has the result. */
static int folds_all(PyObject *node, PyObject *home) {
    if (!is_number(node) || !is_set(home, PLACE_FOLDS_WHOLE)) return 0;
    PyObject *folds = PyObject_GetAttr(NODE(node)->op, folds_name);
    Py_XDECREF(folds);
    return folds == Py_True;
}

/* The place of a node, borrowed; NULL where Python has to say. */
static PyObject *place_of(PyObject *node, PyObject *first) {
    PyObject *op = NODE(node)->op, *home = home_of(first);
    if (folds_all(node, home)) return Py_None;
    if (op == python.update_op) return first == argument_of(node, 0) ? home : NULL;
    if (op == python.read_op) return PyDict_GetItemWithError(field(home, PLACE_READ), GEOMETRY(PyTuple_GET_ITEM(NODE(node)->params, 0))->number);
    PyObject *shape = shape_of(node);
    return PyTuple_GET_SIZE(shape) && PySet_Contains(python.broadcasting_ops, op) > 0 ? as_operand(node, shape) : NULL;
}

/* Give a node its weight and place, 1; 0 where Python has to do it. */
static int is_laid(PyObject *node, PyObject *first) {
    PyObject *world = field(home_of(first), PLACE_WORLD);
    double weight = 1, spread = 1;
    for (int k = 0; k < arity_of(node); k++) {
        PyObject *arg = argument_of(node, k);
        if (!is_node(arg)) continue;
        weight += weight_of(arg);
        if (!(state_of(arg) & DIVIDED)) continue;
        if (field(home_of(arg), PLACE_WORLD) != world) return 0;
        spread += weight_of(arg);
    }
    PyObject *place = weight < 0 ? NULL : place_of(node, first);
    if (place == NULL) return 0;
    Py_XSETREF(NODE(node)->place, Py_NewRef(place));
    NODE(node)->weight = spread;
    return 1;
}

/* True if the ranks have nothing to do before a node is recorded, as replication.with_whole says; -1 with an error. A number is computed
 * where it is read, which is at once. */
static int is_quiet(PyObject *node, PyObject *first) {
    int whole = home_of(node) == Py_None;
    PyObject *place = whole ? home_of(first) : home_of(node), *undivided;
    int uneven = is_set(place, PLACE_LOPSIDED) && PySet_Contains(python.broadcasting_ops, NODE(node)->op);
    if (whole ? !is_number(node) || weight_of(node) > most_pending : uneven) return 0;
    for (int k = 0; k < arity_of(node); k++)
        if (is_node(argument_of(node, k)) && state_of(argument_of(node, k)) == PENDING) return 0;
    if (whole) return 1;
    if ((undivided = PyObject_GetAttr(field(place, PLACE_LOG), undivided_name)) == NULL) return -1;
    int quiet = 1;
    for (int k = 0; k < arity_of(node) && quiet > 0; k++) {
        PyObject *arg = argument_of(node, k);
        if (!is_node(arg) || !(state_of(arg) & DIVIDED)) continue;
        if (!(state_of(arg) & READY) && NODE(arg)->op == python.read_op) arg = argument_of(arg, 0);  /* of a view the array is brought to all ranks */
        int found = PySet_Contains(undivided, shape_of(arg));
        quiet = found < 0 ? -1 : !found;
    }
    Py_DECREF(undivided);
    return quiet;
}

PyObject *lay(PyObject *node, PyObject *first) {
    PyObject *done = is_laid(node, first) ? Py_NewRef(Py_None) : PyErr_Occurred() ? NULL : PyObject_CallOneArg(python.lay, node);
    int quiet = done == NULL ? -1 : is_quiet(node, first);
    Py_XDECREF(done);
    if (quiet > 0) return node;
    PyObject *other = quiet < 0 ? NULL : PyObject_CallOneArg(python.entered, node);
    Py_DECREF(node);
    return other;
}

int install_placed(void) {
    if ((folds_name = PyUnicode_InternFromString("folds")) == NULL) return -1;
    return (undivided_name = PyUnicode_InternFromString("undivided")) == NULL ? -1 : 0;
}
