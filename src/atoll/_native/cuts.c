/* Where recorded work has grown too heavy: loops that were cut before are cut at the same line again, without entering Python.
 *
 * Python finds the line (lazy.pending, graph.cut). Here what was live at it is found, and evaluated, if such values were
 * evaluated together before. Whatever else is met is left to Python.
 */
#include "cuts.h"
#include "placed.h"
#include "selection.h"

enum { SEEN = 512 };

static inline size_t place_of(PyObject *node) { return ((size_t)node >> 4) * 0x9E3779B97F4A7C15u >> 32; }

long weigh(PyObject *root, long most) {
    PyObject *near[SEEN], *small[4 * SEEN], **seen = near, **table = small;
    double weight = weight_of(root);
    size_t size = 64;
    long count = 1;
    if (weight >= 0 && weight < most) most = (long)weight + 1;  /* which counts shared operands again and again */
    while (size < 2 * ((size_t)most + 2)) size *= 2;
    if (most >= SEEN) {
        seen = PyMem_Malloc((size + most + 2) * sizeof *seen);
        if (seen == NULL) return -1;
        table = seen + most + 2;
    }
    memset(table, 0, size * sizeof *table);
    seen[0] = root;
    for (long next = 0; next < count && count <= most; next++) {
        int divided = first_placed(seen[next]) != NULL;
        for (int k = 0; k < arity_of(seen[next]) && count <= most; k++) {
            PyObject *arg = argument_of(seen[next], k);
            if (!is_node(arg) || state_of(arg) != (divided ? DIVIDED : PENDING)) continue;
            size_t place = place_of(arg);
            while (table[place & (size - 1)] != NULL && table[place & (size - 1)] != arg) place++;
            if (table[place & (size - 1)] == NULL) table[place & (size - 1)] = seen[count++] = arg;
        }
    }
    if (seen != near) PyMem_Free(seen);
    return count > most ? -1 : count;
}

/* The call sites of the process, or of the ranks that a node lies on, borrowed; NULL for ranks without any. */
static PyObject *profiles_of(PyObject *node) {
    static PyObject *name = NULL;
    if (!(state_of(node) & DIVIDED)) return python.profiles;
    if (name == NULL && (name = PyUnicode_InternFromString("call_sites")) == NULL) return NULL;
    PyObject *sites = PyObject_GetAttr(field(NODE(node)->place, PLACE_LOG), name);
    Py_XDECREF(sites);  /* the log has them */
    return sites == Py_None ? NULL : sites;
}

/* What is known of the line of a node, borrowed; NULL where nothing is. */
static PyObject *profile_of(PyObject *node) {
    PyObject *number = number_of(NODE(node)->site);
    PyObject *profiles = number == NULL ? NULL : profiles_of(node), *profile = profiles == NULL ? NULL : PyDict_GetItem(profiles, number);
    Py_XDECREF(number);
    return profile;
}

/* The pending operations that a node may have where this loop is cut, and the line of the cut, borrowed; NULL where there is none. */
static PyObject *cut_of(PyObject *node, double *limit) {
    PyObject *profile = profile_of(node), *cut = profile == NULL ? NULL : field(profile, PROFILE_CUT);
    if (cut == NULL || cut == Py_None || PyFloat_AsDouble(PyTuple_GET_ITEM(cut, 1)) >= *limit) return NULL;
    *limit = PyFloat_AsDouble(PyTuple_GET_ITEM(cut, 1));
    return PyTuple_GET_ITEM(cut, 0);
}

/* ---- what was live at a line */


typedef struct {
    long long born;
    PyObject *node;
} Waiting;
typedef struct {
    Waiting heap[SEEN];            /* the latest one first */
    int count, seen;
    PyObject *table[4 * SEEN];
} Live;

static void push(Live *live, PyObject *node) {
    long long born = NODE(node)->born;
    int place = live->count++;
    for (; place && live->heap[(place - 1) / 2].born < born; place = (place - 1) / 2) live->heap[place] = live->heap[(place - 1) / 2];
    live->heap[place] = (Waiting){born, node};
}

static PyObject *pop(Live *live) {
    PyObject *first = live->heap[0].node;
    Waiting last = live->heap[--live->count];
    int place = 0;
    for (int next; (next = 2 * place + 1) < live->count; place = next) {
        if (next + 1 < live->count && live->heap[next + 1].born > live->heap[next].born) next++;
        if (live->heap[next].born <= last.born) break;
        live->heap[place] = live->heap[next];
    }
    live->heap[place] = last;
    return first;
}

static int by_birth(const void *a, const void *b) {
    long long one = ((const Waiting *)a)->born, other = ((const Waiting *)b)->born;
    return one < other ? -1 : one > other;
}

/* Whether a node is a ufunc that was recorded at a line. */
static int is_at(PyObject *node, PyObject *line) {
    static PyObject *name = NULL;
    PyObject *number = number_of(NODE(node)->site);
    int same = number != NULL && PyObject_RichCompareBool(number, line, Py_EQ) > 0;
    Py_XDECREF(number);
    if (!same || (name == NULL && (name = PyUnicode_InternFromString("is_ufunc")) == NULL)) return 0;
    PyObject *is_ufunc = PyObject_GetAttr(NODE(node)->op, name);
    Py_XDECREF(is_ufunc);
    return is_ufunc == Py_True;
}

/* What is pending behind a node and was live when its loop last came to a line, as graph.cut.live_at has it; whether it was found. */
static int find_live(Live *live, PyObject *root, PyObject *line) {
    memset(live->table, 0, sizeof live->table);
    live->count = 0;
    live->seen = 1;
    push(live, root);
    while (live->count) {
        PyObject *node = pop(live);
        for (int k = 0; k < arity_of(node); k++) {
            PyObject *arg = argument_of(node, k);
            if (!is_node(arg)) continue;
            if (state_of(arg) & DIVIDED) return 0;
            if (state_of(arg) & READY || arg == root) continue;
            size_t place = place_of(arg) & (4 * SEEN - 1);
            while (live->table[place] != NULL && live->table[place] != arg) place = (place + 1) & (4 * SEEN - 1);
            if (live->table[place] != NULL) continue;
            if (live->seen++ == SEEN) return 0;
            live->table[place] = arg;
            push(live, arg);
        }
        if (!is_at(node, line)) continue;
        qsort(live->heap, live->count, sizeof *live->heap, by_birth);
        return live->count > 0;
    }
    return 0;
}

int cut_again(PyObject *node) {
    double limit = most_pending;
    PyObject *line = state_of(node) & DIVIDED ? NULL : cut_of(node, &limit), *roots[MOST_ROOTS];
    Live live;
    if (line == NULL || line == Py_None || !find_live(&live, node, line) || live.count > MOST_ROOTS) return PyErr_Occurred() ? -1 : 0;
    for (int k = 0; k < live.count; k++) roots[k] = Py_NewRef(live.heap[k].node);
    int done = replay(roots, live.count);
    for (int k = 0; k < live.count; k++) Py_DECREF(roots[k]);
    if (done <= 0) return done;
    long weight = weigh(node, (long)near);
    if (weight < 0) return 0;
    NODE(node)->weight = weight;
    return 1;
}

int may_be_heavy(PyObject *node) {
    double limit = most_pending;
    if (!in_world_of_process() || NODE(node)->site == Py_None) return 1;
    cut_of(node, &limit);
    if (weight_of(node) <= limit) return 0;
    long weight = weigh(node, (long)limit);
    if (weight < 0) return 1;
    NODE(node)->weight = weight;
    return 0;
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
    if (!PyTuple_GET_SIZE(field(geometry, FORM_SHAPE))) {
        int done = learning ? 0 : replay(&node, 1);
        made = done < 0 ? NULL : done ? number_from(node) : PyObject_CallOneArg(python.evaluated, node);
        Py_DECREF(node);
        return made;
    }
    int cut = weight_of(node) > light && may_be_heavy(node) ? cut_again(node) : 1;
    if (cut < 0) Py_CLEAR(node);
    if (!cut) {
        PyObject *lighter = PyObject_CallOneArg(python.bounded, node);
        Py_DECREF(node);
        node = lighter;
    }
    if (node == NULL) return NULL;
    geometry = NODE(node)->geometry;
    return handle_on(new_box(node), geometry);
}

/* weigh(node, most): the pending operations of a node; None where there are more. */
static PyObject *weigh_node(PyObject *module, PyObject *args) {
    PyObject *node;
    long most, count;
    if (!PyArg_ParseTuple(args, "Ol", &node, &most)) return NULL;
    count = recording && is_node(node) ? weigh(node, most) : -1;
    if (count < 0) Py_RETURN_NONE;
    return PyLong_FromLong(count);
}

PyMethodDef cut_methods[] = {
    {"weigh", weigh_node, METH_VARARGS, "How many operations are pending in a node and behind it."},
    {NULL}};
