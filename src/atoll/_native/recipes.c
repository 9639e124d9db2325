/* Calls of functions that consist of several operations, recorded again by their recipes: see lazy/recipes.py.
 *
 * A recipe is looked up by the function, the geometries of its large arrays, where these lie, and its other arguments. The first such call leaves a
 * mark, the second one's operations are learnt by Python, and from the third one on they are recorded here.
 */
#include "recipes.h"

enum { PARTS = 24, INPUTS = 8, OPERATIONS = 64, OPERANDS = 64 };

typedef struct {
    PyObject *parts[PARTS];        /* what is compared; new references */
    char kinds[PARTS + 1];         /* and what each of them is */
    PyObject *inputs[INPUTS];      /* the nodes of the arrays, borrowed */
    int count, arrays, is_complex, is_typed, held;
} Arguments;

static int add(Arguments *to, char kind, PyObject *part) {
    if (part == NULL || to->count == PARTS) {
        Py_XDECREF(part);
        return 0;
    }
    to->kinds[to->count] = kind;
    to->parts[to->count++] = part;
    return 1;
}

/* True if an argument is one that recipes tell apart. */
static int add_argument(Arguments *to, PyObject *value, int depth) {
    PyTypeObject *type = Py_TYPE(value);
    if (type == array_type) {
        if (!is_large(value)) return 0;
        PyObject *geometry = ((Front *)value)->geometry, *box = ((Front *)value)->cell, *node = BOX(box)->node;
        if (is_read_at_once(value) || is_counted(value) || to->arrays == INPUTS) return 0;
        char kind = (GEOMETRY(geometry)->dtype)->kind;
        if (!kind || !strchr("biufc", kind) || weight_of(BOX(box)->node) < 0) return 0;
        to->is_complex |= kind == 'c';
        to->held |= !is_free(box);
        int first = 0;             /* what is one array here is one in the recipe */
        while (first < to->arrays && to->inputs[first] != node) first++;
        if (first < to->arrays && !add(to, 'r', PyLong_FromLong(first))) return 0;
        if (state_of(node) & DIVIDED && !add(to, 'p', Py_NewRef(field(NODE(node)->place, PLACE_NUMBER)))) return 0;
        to->inputs[to->arrays++] = node;
        return add(to, 'a', Py_NewRef(GEOMETRY(geometry)->number));
    }
    if (value == Py_None) return add(to, 'n', Py_NewRef(value));
    if (type == &PyLong_Type) return add(to, 'i', Py_NewRef(value));
    if (type == &PyBool_Type) return add(to, 'b', Py_NewRef(value));
    if (type == &PyUnicode_Type || type == &PyType_Type || PyArray_DescrCheck(value)) {
        to->is_typed = 1;
        return add(to, type == &PyUnicode_Type ? 's' : 'o', Py_NewRef(value));
    }
    if (type == &PyFloat_Type) {
        double number = PyFloat_AS_DOUBLE(value);
        return add(to, 'f', PyBytes_FromStringAndSize((char *)&number, sizeof number));  /* zeros have signs */
    }
    if ((type != &PyTuple_Type && type != &PyList_Type) || depth > 2) return 0;
    if (!add(to, type == &PyTuple_Type ? '(' : '[', Py_NewRef(Py_None))) return 0;
    for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(value); k++)
        if (!add_argument(to, PySequence_Fast_GET_ITEM(value, k), depth + 1)) return 0;
    return add(to, ')', Py_NewRef(Py_None));
}

/* The key of a call; a new reference; NULL where it has no recipe. */
static PyObject *key_of(Arguments *to, PyObject *function, PyObject *const *args, Py_ssize_t n, PyObject *keywords) {
    PyObject *key = NULL;
    int fits = 1;
    to->count = to->arrays = to->is_complex = to->is_typed = to->held = 0;
    if (among_ranks()) fits = add(to, 'i', PyLong_FromSsize_t(small_now())) && add(to, 'i', PyLong_FromSsize_t(everywhere_now()));  /* ranks forget recipes at different times, but must record alike */
    for (Py_ssize_t k = 0; fits && k < n; k++) fits = add_argument(to, args[k], 0);
    fits = fits && !(to->held && among_ranks()) && !(to->is_complex && to->is_typed);  /* of which a part may be lost, with a warning each time */
    if (fits && (key = PyTuple_New(to->count + 3)) != NULL) {
        to->kinds[to->count] = 0;
        PyTuple_SET_ITEM(key, 0, Py_NewRef(function));
        PyTuple_SET_ITEM(key, 1, Py_NewRef(keywords == NULL ? Py_None : keywords));
        PyTuple_SET_ITEM(key, 2, PyBytes_FromStringAndSize(to->kinds, to->count));
        for (int k = 0; k < to->count; k++) PyTuple_SET_ITEM(key, k + 3, Py_NewRef(to->parts[k]));
        if (PyTuple_GET_ITEM(key, 2) == NULL) Py_CLEAR(key);
    }
    while (to->count) Py_DECREF(to->parts[--to->count]);
    return key;
}

/* The last of the nodes that a recipe tells to record. */
static PyObject *recorded(PyObject *steps, const Arguments *given) {
    PyObject *nodes[INPUTS + OPERATIONS], *site = NULL, *last = NULL;
    int first = given->arrays, count = first, total = (int)PyTuple_GET_SIZE(steps);
    if (total > OPERATIONS || (site = site_here()) == NULL) return NULL;
    memcpy(nodes, given->inputs, first * sizeof *nodes);
    for (int k = 0; k < total; k++) {
        PyObject *step = PyTuple_GET_ITEM(steps, k), *operands = PyTuple_GET_ITEM(step, 1), *numbers = PyTuple_GET_ITEM(step, 2);
        int arity = (int)PyTuple_GET_SIZE(operands);
        PyObject *args[OPERANDS];
        if (arity > OPERANDS) break;
        for (int p = 0; p < arity; p++) {
            long place = PyLong_AsLong(PyTuple_GET_ITEM(operands, p));
            args[p] = Py_NewRef(place < 0 ? PyTuple_GET_ITEM(numbers, -1 - place) : nodes[place]);
        }
        PyObject *node = new_node(PyTuple_GET_ITEM(step, 0), args, arity, Py_NewRef(PyTuple_GET_ITEM(step, 3) == Py_True ? site : Py_None));
        if (node == NULL) break;
        if (PyTuple_GET_ITEM(step, 4) != Py_None) Py_XSETREF(NODE(node)->place, Py_NewRef(PyTuple_GET_ITEM(step, 4)));
        nodes[count++] = node;
    }
    if (count == first + total) last = nodes[--count];
    while (count > first) Py_DECREF(nodes[--count]);
    Py_DECREF(site);
    return last;
}

/* The result of a call that has a recipe. */
static PyObject *made_by(PyObject *recipe, const Arguments *given) {
    PyObject *geometry = PyTuple_GET_ITEM(recipe, 1), *tails = PyTuple_GET_ITEM(recipe, 2);
    PyObject *node = recorded(PyTuple_GET_ITEM(recipe, 0), given), *made = node == NULL ? NULL : array_of(node);
    if (made != NULL && geometry != Py_None && Py_TYPE(made) == array_type) set_geometry((Front *)made, Py_NewRef(geometry));
    for (Py_ssize_t k = 0; made != NULL && k < PyTuple_GET_SIZE(tails); k++)
        Py_SETREF(made, PyObject_CallOneArg(PyTuple_GET_ITEM(tails, k), made));
    return made;
}

/* A call by Python, of which a recipe is learnt. */
static PyObject *learnt(PyObject *key, PyObject *general, PyObject *const *args, Py_ssize_t count, PyObject *keywords, const Arguments *given) {
    PyObject *inputs = tuple_of(given->inputs, given->arrays), *plain = tuple_of(args, count), *options = PyDict_New(), *result = NULL;
    for (Py_ssize_t k = 0; options != NULL && keywords != NULL && k < PyTuple_GET_SIZE(keywords); k++)
        if (PyDict_SetItem(options, PyTuple_GET_ITEM(keywords, k), args[count + k]) < 0) Py_CLEAR(options);
    learning++;
    if (inputs != NULL && plain != NULL && options != NULL && PyObject_SetItem(python.recipes, key, Py_False) == 0)
        result = PyObject_CallFunctionObjArgs(python.learn, key, inputs, general, plain, options, NULL);
    learning--;
    Py_XDECREF(inputs);
    Py_XDECREF(plain);
    Py_XDECREF(options);
    return result;
}

PyObject *by_recipe(PyObject *function, PyObject *general, PyObject *const *args, Py_ssize_t count, PyObject *keywords) {
    Arguments given;
    if (learning || !in_world_of_process() || !is_calm()) return NULL;
    PyObject *key = key_of(&given, function, args, count + (keywords ? PyTuple_GET_SIZE(keywords) : 0), keywords), *result = NULL;
    if (key == NULL) return NULL;
    PyObject *recipe = Py_XNewRef(PyDict_GetItemWithError(python.recipes, key));
    if (recipe == NULL && PyErr_Occurred()) {
        drop_error();             /* an argument without a hash */
    } else if (recipe == NULL) {
        if (PyObject_SetItem(python.recipes, key, Py_None) < 0) drop_error();
    } else if (recipe == Py_None) {
        result = learnt(key, general, args, count, keywords, &given);
    } else if (PyTuple_CheckExact(recipe)) {
        result = made_by(recipe, &given);
    }
    Py_XDECREF(recipe);
    Py_DECREF(key);
    return given.held ? settled_result(result) : result;
}
