/* What C knows of the runtime in Python: the slots of its classes, its objects, its settings and its worlds. */
#ifndef ATOLL_RUNTIME_H
#define ATOLL_RUNTIME_H
#include "errors.h"

/* The slots, in the order in which lazy.recorder lists them. */
enum {
    NODE_OP, NODE_ARGS, NODE_GEOMETRY, NODE_PARAMS, NODE_NAME, NODE_SITE, NODE_VALUE, NODE_CODE, NODE_MARK, NODE_PLACE,
    NODE_BORN, NODE_WEIGHT, NODE_END,
    BOX_NODE = NODE_END, BOX_SHARED, BOX_GEOMETRY, BOX_PINS, BOX_PIECES, BOX_READ, BOX_SITES, BOX_WRITEABLE, BOX_FIRST, BOX_END,
    VALUE_ARRAY = BOX_END, VALUE_ADDRESS, VALUE_PINNED, VALUE_PROGRAM, VALUE_COUNT, VALUE_TILES, VALUE_POOLED, VALUE_COUNTED, VALUE_END,
    FORM_NUMBER = VALUE_END, FORM_IS_BASE, FORM_BASE, FORM_SHAPE, FORM_STRIDES, FORM_DTYPE, FORM_SIZE, FORM_NDIM, FORM_SHORT,
    FORM_OVERLAPPING, FORM_WRITEABLE, FORM_THROUGH, FORM_DENSE, FORM_C_CONTIGUOUS, FORM_OFFSET, FORM_SHADOW,
    THROUGH_READ, THROUGH_UPDATE, THROUGH_UPDATE_NUMBER,
    CALM_STATE, CALM_FILTERS, CALM_FIRST, CALM_RULES, CONFIG_DEFAULT, SETTINGS_SMALL,
    SETTINGS_FUSION, SETTINGS_BYTES, PATTERN_NATIVE, PROGRAM_RUNNING, STATE_FLAGS, STATE_DONE, COUNTERS_VALUES, PROFILE_AGAIN, PROFILE_CUT,
    TILE_WHOLE, TILE_HOME, FIELDS
};
extern Py_ssize_t offsets[FIELDS];

/* The objects of Python's, in the order in which lazy.recorder lists them. */
enum {
    NODE_TYPE, BOX_TYPE, VALUE_TYPE, TILES_TYPE, NEXT_BORN, ORIGINS, NUMBERED, CALM, RULES, WARNINGS, ACQUIRE, RELEASE_LOCK,
    SITE_FROM, BOUNDED_NODE, EVALUATED, CONFIG, SETTINGS, SOURCE, BY_ROOTS, PASSED, PROFILES, HELD, LEFT,
    CATCH_UP, COUNTERS, STATE_TYPE, REPORTED, RESCUED, ALLOCATED, TOO_HEAVY, CUT, POWERS, RECIPES, LEARN, MEMORY_GEOMETRY, WORK_OF,
    THROUGH_FOR, RELIEVE, OBJECTS
};
extern PyObject *objects[OBJECTS], *zero, *one, *minus_one, *empty;
extern int recording;              /* whether operations are recorded natively */
extern int shown;                  /* how many calls are explained or counted instead of computed */
extern double light, near, most_pending, swept, most_held; /* limits of the policy; from `swept` bytes on Python decides what is computed together */

static inline PyObject **slot(PyObject *object, int which) { return (PyObject **)((char *)object + offsets[which]); }

static inline PyObject *field(PyObject *object, int which) { return *slot(object, which); }

static inline void put(PyObject *object, int which, PyObject *value) { *slot(object, which) = Py_NewRef(value); }

/* Give a slot another value; steals the reference. */
static inline void replace(PyObject *object, int which, PyObject *value) {
    PyObject **place = slot(object, which), *old = *place;
    *place = value;
    Py_XDECREF(old);
}

static inline Py_ssize_t size_of(PyObject *geometry) { return PyLong_AsSsize_t(field(geometry, FORM_SIZE)); }

static inline int is_node(PyObject *value) { return (PyObject *)Py_TYPE(value) == objects[NODE_TYPE]; }

/* The pending operations that a number, or a node, consists of. */
static inline double weight_of(PyObject *value) { return is_node(value) ? PyFloat_AsDouble(field(value, NODE_WEIGHT)) : 0; }

/* The settings in force; a new reference. The elements of arrays that are small by these. */
PyObject *settings_now(void);
Py_ssize_t small_now(void);

/* Whether floating-point errors are treated as they were at the last operation; the list of filters of warnings, borrowed. */
int is_calm(void);
PyObject *filters(void);

/* The lock of the process: see context.threads. */
int lock(void);
void unlock(void);

extern int worlds;                 /* of more than one rank */
extern int ranks;                  /* of the process */
extern PyObject *current_world;    /* the context variable, in which no world stands for that of the process */

/* Whether the current world has several ranks; no error may be pending. */
int among_ranks(void);

/* Whether the current world is that of the process, whose profiles native code looks at. */
int in_world_of_process(void);

/* Take the slots and objects; -1 with an error. */
int install_runtime(PyObject *slots, PyObject *given);

extern PyMethodDef runtime_methods[];

#endif
