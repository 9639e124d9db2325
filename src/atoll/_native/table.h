/* Python and NumPy, as all units see them, and the one table of what C uses of Python: slots of objects by their offsets, objects, and functions
 * that C calls. What the units share is hidden outside of the module. */
#ifndef ATOLL_TABLE_H
#define ATOLL_TABLE_H
#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL atoll_numpy
#define PY_UFUNC_UNIQUE_SYMBOL atoll_ufuncs
#include <Python.h>
#ifndef ATOLL_IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#define NO_IMPORT_UFUNC
#endif
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>
#include <numpy/ufuncobject.h>
#include <structmember.h>

#pragma GCC visibility push(hidden)
#define CLASS_FLAGS (Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE)
#define COLD __attribute__((noinline, cold))

/* The end of an object's memory, and of its reference to its class, as each class of the module ends it. */
static inline void free_object(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    type->tp_free(object);
    Py_DECREF(type);
}

/* The slots, in the order in which lazy.recorder lists them. */
enum {
    THROUGH_READ, THROUGH_UPDATE, THROUGH_UPDATE_NUMBER, THROUGH_RARE,
    CALM_STATE, CALM_FILTERS, CALM_FIRST, CALM_RULES, CALM_THREAD, CONFIG_DEFAULT, SETTINGS_SMALL,
    SETTINGS_EVERYWHERE, SETTINGS_FUSION, SETTINGS_BYTES, SETTINGS_THREADS, PROGRAM_RUNNING, STATE_FLAGS, STATE_DONE, COUNTERS_RUNS,
    PLACE_BOXES, PLACE_NUMBER, PLACE_WORLD, PLACE_LOG, PLACE_PADDED, PLACE_LOPSIDED, PLACE_HELD_ONCE, PLACE_FOLDS_WHOLE, PLACE_READ,
    TRAFFIC, LAST_OF_TRAFFIC = TRAFFIC + 7, FIELDS
};
extern Py_ssize_t offsets[FIELDS];

/* The objects of Python that C uses, and the functions that it calls: lazy.recorder registers all of them by these names. */
#define PYTHON(X)                                                                                \
    X(array_type) X(flat_type) X(node_type) X(box_type) X(value_type) X(state_type) \
    X(number_types) X(plain_types) X(settled_ufuncs) X(operators) X(operator_ufuncs) X(operator_forms) X(fill) X(source) \
    X(call_op) X(read_op) X(update_op) X(compress_op) X(rare_update) X(broadcasting_ops) X(lay) X(entered) \
    X(world) X(config) X(settings) X(counters) X(rules) X(calm) X(float_rules) X(warnings) X(main_thread) \
    X(origins) X(numbered) X(traces) X(tried_traces) X(stored_lines) X(left) X(turn) X(powers) X(recipes) \
    X(shorten) X(outside) X(lock) X(catch_up) X(relieve) \
    X(from_numpy) X(taken) X(located) X(memory_geometry) X(dense) X(new_mark) X(through) \
    X(held) X(lend) X(settle) X(unpin) X(write) X(settle_asked) X(names_of_call) X(asks_class_of_numbers) X(has_threads) \
    X(apply) X(evaluated) X(evaluate) X(learn) X(site_from) X(allocate) X(selected) X(flags_reported) X(begun) X(asked) X(usual_look) X(unshared) X(crc32) X(partial) X(computed_words) X(priced) X(rescued) X(store_line) X(event_of) \
    X(marked) X(marks) X(placed_view)
/* The names of attributes and arguments, as interned strings. */
#define NAMES(X)                                                                                 \
    X(__name__) X(_numpy) X(active) X(base) X(debug) X(extents) X(filters) X(flagged) X(form) X(geometry) X(hash) X(is_update) X(kernels) X(lock) X(log) X(look) X(losses) X(noted) \
    X(plans) X(raised) X(ravel) X(rules) X(run) X(shadow) X(simulated) X(site) X(size) X(step) X(stored) X(stored_lines) X(team) X(ufunc) X(unasked) X(under_way)
#define MEMBER(NAME) PyObject *NAME;
typedef struct {
    PYTHON(MEMBER)
} Python;
typedef struct {
    NAMES(MEMBER)
} Names;
extern Python python;
extern Names interned;
extern PyObject *empty;

static inline PyObject **slot(PyObject *object, int which) { return (PyObject **)((char *)object + offsets[which]); }

static inline PyObject *field(PyObject *object, int which) { return *slot(object, which); }
static inline int is_set(PyObject *object, int which) { return field(object, which) == Py_True; }

/* Give a slot another value; steals the reference. */
static inline void replace(PyObject *object, int which, PyObject *value) {
    PyObject **place = slot(object, which), *old = *place;
    *place = value;
    Py_XDECREF(old);
}

/* 0 for the result of a call, which ends here, and -1 for an error. */
static inline int status_of(PyObject *result) {
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}

/* The error that is set, while something else is done. */
typedef struct {
    PyObject *type, *error, *trace;
} Raised;
static inline Raised taken_error(void) {
    Raised raised;
    PyErr_Fetch(&raised.type, &raised.error, &raised.trace);
    return raised;
}
static inline void raise_again(Raised raised) { PyErr_Restore(raised.type, raised.error, raised.trace); }
static inline void drop_raised(Raised *raised) {
    Py_CLEAR(raised->type);
    Py_CLEAR(raised->error);
    Py_CLEAR(raised->trace);
}

/* The same as an exception with its traceback. */
static inline Raised taken_exception(void) {
    Raised raised = taken_error();
    PyErr_NormalizeException(&raised.type, &raised.error, &raised.trace);
    if (raised.trace != NULL) PyException_SetTraceback(raised.error, raised.trace);
    return raised;
}

/* A tuple of objects; a new reference. */
PyObject *tuple_of(PyObject *const *items, Py_ssize_t count);

/* Take the objects, a dict, and the slots, a tuple; -1 with an error where one is missing or unknown. */
int install_table(PyObject *objects, PyObject *slots);

#endif
