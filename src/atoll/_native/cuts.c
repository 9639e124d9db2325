/* The bound on recorded work. */
#include "cuts.h"
#include "placed.h"
#include "selection.h"

typedef struct {
    PyObject *node;
    long long born;
    long last;                     /* the last operation that reads its value */
    double live;                   /* the bytes that are live after it */
} Moment;

/* The pending operations in a node and behind it, each once, as graph.node.pending_behind has them, and their number; -1 with an error. The caller
 * frees `moments`. */
static long pending_behind(PyObject *root, Moment **moments) {
    long count = 1, room = 512;
    long long first = stamp(1);
    if ((*moments = PyMem_Calloc(room, sizeof **moments)) == NULL) return PyErr_NoMemory(), -1;
    (*moments)->node = root;
    NODE(root)->seen = first;
    for (long next = 0; next < count; next++) {
        PyObject *node = (*moments)[next].node;
        int wanted = first_placed(node) != NULL ? DIVIDED : PENDING;
        (*moments)[next].born = NODE(node)->born;
        for (int k = 0; k < arity_of(node); k++) {
            PyObject *arg = argument_of(node, k);
            if (!is_node(arg) || state_of(arg) != wanted || NODE(arg)->seen == first) continue;
            Moment *more = count < room ? *moments : PyMem_Realloc(*moments, (room *= 2) * sizeof *more);
            if (more == NULL) {
                PyMem_Free(*moments);
                return PyErr_NoMemory(), -1;
            }
            NODE(arg)->seen = first;
            (*moments = more)[count++] = (Moment){arg};
        }
    }
    return count;
}

/* True if these operations belong to a loop: there are more than a formula has, or the line of the root has recorded several of them. */
static int is_loop(PyObject *root, Moment *moments, long count) {
    double recorded = count > longest_formula ? Py_HUGE_VAL : 0;
    for (long k = 0; k < count && recorded <= most_recorded; k++)
        recorded += PyObject_RichCompareBool(NODE(moments[k].node)->site, NODE(root)->site, Py_EQ) > 0;
    return recorded > most_recorded;
}

static int by_birth(const void *a, const void *b) {
    long long one = ((const Moment *)a)->born, other = ((const Moment *)b)->born;
    return one < other ? -1 : one > other;
}

static double nbytes_of(PyObject *node) {
    PyObject *geometry = NODE(node)->geometry;
    return (double)size_of(geometry) * PyDataType_ELSIZE(GEOMETRY(geometry)->dtype);
}

/* Sort operations by their births, and find the one after which they are cut. */
static long cut_of(Moment *moments, long count) {
    long long first = stamp(count);
    long cut = count / 3;
    qsort(moments, count, sizeof *moments, by_birth);
    for (long k = 0; k < count; k++) {
        NODE(moments[k].node)->seen = first + k;
        moments[k].last = k;
        for (int slot = 0; slot < arity_of(moments[k].node); slot++) {
            PyObject *arg = argument_of(moments[k].node, slot);
            if (is_node(arg) && NODE(arg)->seen >= first) moments[NODE(arg)->seen - first].last = k;
        }
    }
    for (long k = 0; k < count; k++) {
        double nbytes = nbytes_of(moments[k].node);
        moments[k].live += nbytes + (k ? moments[k - 1].live : 0);
        moments[moments[k].last].live -= nbytes;
        if (k > count / 3 && k < 2 * count / 3 && moments[k].live <= moments[cut].live) cut = k;
    }
    return cut;
}

/* The values to store where the work behind `root` is cut and its weight from then on; a new reference. */
static PyObject *live_at_cut(PyObject *root, double *weight) {
    Moment *moments;
    long count = pending_behind(root, &moments), cut = -1;
    if (count < 0) return NULL;
    PyObject *live = PyList_New(0);
    if (count > most_pending && is_loop(root, moments, count)) cut = cut_of(moments, count);
    for (long k = 0; live != NULL && k <= cut; k++)
        if (moments[k].last > cut && PyList_Append(live, moments[k].node) < 0) Py_CLEAR(live);
    *weight = (double)(count - cut - 1);
    PyMem_Free(moments);
    return live;
}

/* Compute the nodes of a list; -1 with an error. */
static int compute(PyObject *list) {
    Py_ssize_t count = PyList_GET_SIZE(list);
    PyObject *roots[MOST_ROOTS];
    if (count <= MOST_ROOTS) memcpy(roots, PySequence_Fast_ITEMS(list), count * sizeof *roots);
    int done = count <= MOST_ROOTS ? replay(roots, (int)count) : 0;
    return done ? done : status_of(PyObject_CallOneArg(python.evaluate, list));
}

PyObject *bounded(PyObject *node) {
    static _Thread_local long long until;  /* the birth from which on a node may have too many operations behind it */
    static _Thread_local double most;
    if (node == NULL || weight_of(node) <= most_pending || (state_of(node) == PENDING && NODE(node)->born < until && most == most_pending)) return node;
    long long born = NODE(node)->born;
    double weight;
    PyObject *live = live_at_cut(node, &weight);
    int done = live == NULL ? -1 : PyList_GET_SIZE(live) ? compute(live) : 0;
    Py_XDECREF(live);
    if (done < 0) return Py_DECREF(node), NULL;
    NODE(node)->weight = weight;
    most = most_pending;
    until = born + (long long)(weight < most_pending ? most_pending - weight : most_pending / 8);
    return node;
}

/* The value of a node without axes, as a scalar of NumPy's class for its dtype. */
static PyObject *number_from(PyObject *node) {
    PyObject *array = VALUE(NODE(node)->value)->array, *number = scalar_at(PyArray_DATA((PyArrayObject *)array), PyArray_DESCR((PyArrayObject *)array), array);
    PyObject *usual = (PyObject *)PyArray_DESCR((PyArrayObject *)array)->typeobj;
    if (number == NULL || (PyObject *)Py_TYPE(number) == usual) return number;
    PyObject *same = PyObject_CallOneArg(usual, number);
    Py_DECREF(number);
    return same;
}

PyObject *array_of(PyObject *node) {
    if (node == NULL) return NULL;
    PyObject *geometry = NODE(node)->geometry, *made;
    if (!PyTuple_GET_SIZE(GEOMETRY(geometry)->shape)) {
        int done = state_of(node) & READY ? 1 : learning ? 0 : replay(&node, 1);
        made = done < 0 ? NULL : done ? number_from(node) : PyObject_CallOneArg(python.evaluated, node);
        Py_DECREF(node);
        return made;
    }
    if ((node = bounded(node)) == NULL) return NULL;
    geometry = NODE(node)->geometry;
    return handle_on(new_box(node), geometry);
}

static PyObject *bounded_node(PyObject *module, PyObject *node) { return bounded(Py_NewRef(node)); }

PyMethodDef cut_methods[] = {
    {"bounded", bounded_node, METH_O, "The same node, behind which not too much is pending."},
    {NULL}};
