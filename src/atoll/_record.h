/* What the native recorder (_record.c) and the native evaluation (_replay.c) know of the objects of Python. */
#ifndef ATOLL_RECORD_H
#define ATOLL_RECORD_H
#include "_front.h"

#pragma GCC visibility push(hidden)

/* The slots, in the order in which lazy.recorder lists them. */
enum {
    NODE_OP, NODE_ARGS, NODE_GEOMETRY, NODE_PARAMS, NODE_NAME, NODE_SITE, NODE_VALUE, NODE_CODE, NODE_MARK, NODE_PLACE,
    NODE_BORN, NODE_WEIGHT, NODE_END,
    BOX_NODE = NODE_END, BOX_SHARED, BOX_GEOMETRY, BOX_PINS, BOX_PIECES, BOX_READ, BOX_SITES, BOX_WRITEABLE, BOX_FIRST, BOX_END,
    VALUE_ARRAY = BOX_END, VALUE_ADDRESS, VALUE_PINNED, VALUE_PROGRAM, VALUE_COUNT, VALUE_TILES, VALUE_POOLED, VALUE_COUNTED, VALUE_END,
    FORM_NUMBER = VALUE_END, FORM_IS_BASE, FORM_BASE, FORM_SHAPE, FORM_STRIDES, FORM_DTYPE, FORM_SIZE, FORM_NDIM, FORM_SHORT,
    FORM_OVERLAPPING, FORM_WRITEABLE, FORM_THROUGH, FORM_DENSE, FORM_C_CONTIGUOUS,
    THROUGH_READ, THROUGH_UPDATE, THROUGH_UPDATE_NUMBER,
    CALM_STATE, CALM_FILTERS, CALM_FIRST, CALM_RULES, CONFIG_DEFAULT, SETTINGS_SMALL,
    SETTINGS_FUSION, SETTINGS_BYTES, PATTERN_NATIVE, PROGRAM_RUNNING, STATE_FLAGS, STATE_DONE, COUNTERS_VALUES, PROFILE_AGAIN, PROFILE_CUT, FIELDS
};
extern Py_ssize_t offsets[FIELDS];

/* The objects of Python's, in the order in which lazy.recorder lists them. */
enum {
    NODE_TYPE, BOX_TYPE, VALUE_TYPE, NEXT_BORN, ORIGINS, NUMBERED, CALM, RULES, WARNINGS, ACQUIRE, RELEASE_LOCK,
    SITE_FROM, BOUNDED, EVALUATED, CONFIG, SETTINGS, SOURCE, BY_ROOTS, PASSED, PROFILES, HELD, LEFT,
    CATCH_UP, COUNTERS, STATE_TYPE, REPORTED, RESCUED, ALLOCATED, TOO_HEAVY, CUT, POWERS, RECIPES, LEARN, MEMORY_GEOMETRY, WORK_OF,
    THROUGH_FOR, RELIEVE, OBJECTS
};
extern PyObject *objects[OBJECTS];
extern int recording;
extern double light, near, most_pending;  /* limits of the policy */

static inline PyObject *field(PyObject *object, int which) {
    return *(PyObject **)((char *)object + offsets[which]);
}

static inline PyObject **slot(PyObject *object, int which) { return (PyObject **)((char *)object + offsets[which]); }

static inline void put(PyObject *object, int which, PyObject *value) { *slot(object, which) = Py_NewRef(value); }

static inline void replace(PyObject *object, int which, PyObject *value) {
    PyObject **place = slot(object, which), *old = *place;
    *place = value;
    Py_XDECREF(old);
}

static inline Py_ssize_t size_of(PyObject *geometry) { return PyLong_AsSsize_t(field(geometry, FORM_SIZE)); }

static inline int is_node(PyObject *value) { return (PyObject *)Py_TYPE(value) == objects[NODE_TYPE]; }

/* The pending operations that a number, or a node, consists of. */
static inline double weight_of(PyObject *value) { return is_node(value) ? PyFloat_AsDouble(field(value, NODE_WEIGHT)) : 0; }

/* What boxes begin with: they are linked in the order in which they were made. */
typedef struct Box {
    PyObject_HEAD
    struct Box *former, *next;
    long thread;
} Box;

/* A node of a form, none of whose operands lies on ranks. Steals `args` and `site`. */
PyObject *new_node(PyObject *form, PyObject *args, PyObject *site);

/* What the program gets of a node that was just recorded; steals it. */
PyObject *array_of(PyObject *node);

/* The line of the user's program that is at work, as a call site; NULL with an error. */
PyObject *site_here(void);

/* Whether an array is large, NumPy may be asked for few elements, and the memory of a box is its own. */
int is_large(PyObject *value);
int is_short(PyObject *geometry);
int is_free(PyObject *box);

/* A value that counts among the bytes which pending work refers to has ended. */
void discount(PyObject *value);

/* A value over memory; steals the reference. */
PyObject *new_value(PyObject *array, int pooled);

extern int learning;
PyObject *by_recipe(PyObject *function, PyObject *python, PyObject *const *args, Py_ssize_t count, PyObject *keywords);

/* Objects of one class: as they end, their memory serves the next ones. */
enum { SPARE = 128 };
typedef struct {
    PyObject *spare[SPARE];
    int count, first, end;
} Kind;
PyObject *new_of(Kind *kind, PyObject *type);
void end_of(PyObject *object, Kind *kind);

/* Whether floating-point errors are treated as they were at the last operation. */
int is_calm(void);

/* The list of filters of warnings, borrowed. */
PyObject *filters(void);

/* The settings in force; a new reference. */
PyObject *settings_now(void);

/* The number of a call site; a new reference; NULL where Python has to say. */
PyObject *number_of(PyObject *site);

/* The lock of the process: see context.threads. */
int lock(void);
void unlock(void);

/* How many operations are pending in a node; -1 where they are more than `most`. */
long weigh(PyObject *root, long most);

PyObject *behind(PyObject *module, PyObject *args);

/* Whether a new node may have to be cut; cut it where its loop was cut before. */
int may_be_heavy(PyObject *node);
int cut_again(PyObject *node);

enum { MOST_ROOTS = 64 };

/* Give nodes their values by a program that computed such a trace before: 1, or 0 where Python has to do it; -1 with an error. */
int replay(PyObject *const *roots, int count);
int install_replay(void);

#pragma GCC visibility pop
#endif
