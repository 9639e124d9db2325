/* Traces that were walked before, recognised, and the programs that compute them. */
#ifndef ATOLL_TRACES_H
#define ATOLL_TRACES_H
#include "guards.h"
#include "nodes.h"

enum { MOST_ROOTS = 64, MOST_NODES = 512, MOST_AXES = 8 };
enum { STEP_PYTHON, STEP_ALLOCATE, STEP_RELEASE, STEP_SHARE, STEP_KERNELS, STEP_ADD, STEP_COPY, STEP_START, STEP_FINISH, STEP_ACROSS };

typedef struct {
    double *address;           /* where a number is written; NULL where `view` has to convert it */
    PyObject *view, *place;
    int number;
} Scalar;

typedef struct {
    int kind, count, release, ndim, runs;
    PyObject *step;            /* what Python would run */
    PyObject *event;           /* its event in a profile, and the number of that profile */
    int session;
    int *registers;
    Scalar *scalars;
    int scalar_count;
    int64_t *table, *starts;
    double *partials;
    PyObject *geometry, *wanted;  /* of memory; of kernels the drafts among them; what else of messages: see exchange.c */
    PyArray_Descr *dtype;
    npy_intp shape[MOST_AXES], strides[MOST_AXES], size;
} Step;

typedef struct {
    char *alive;               /* for each node of the trace */
    long *mark;                /* the numbers for which it is bound */
    Motion motion;             /* how it is bound to others */
    PyObject *settings;
    PyObject *program;         /* None where another program computes this trace and stores the nodes in `passed`, too */
    PyObject *shown;           /* what atoll.explain is told of its values: the program, and the geometries and places where it was bound to others */
    PyObject *log, *births, *opening, *finish;  /* of ranks that run it together: their log, a number for each output, how they begin, a call at the end; else NULL */
    int registers, steps, outputs, passing, is_moved;  /* `is_moved`: to the numbers of this run */
    Step *step;
    int *output, *kept, *passed;
} Fit;

enum { FITS = 32 };
typedef struct {
    PyObject_HEAD
    int roots, nodes, crossings, leaves, pending, scalars, fits;
    int *reader, *argument;    /* how each node but the roots is reached */
    int *crossing;             /* reader, argument, node */
    int *leaf, *order, *scalar;  /* positions of the leaves and the pending nodes of a walk; reader and argument of its numbers */
    int *uses;                 /* references from inside the trace */
    PyObject **code;           /* the structure: see code_of */
    Fit *fit[FITS];            /* the latest that served first */
} Trace;

/* The key of the traces that may have such roots: their marks, those of their operands, and lines; -1 with an error. (It may be anything, since each trace is
 * compared.) */
int key_of_roots(PyObject *const *roots, int count, size_t *key);

/* The trace of these roots and its nodes, borrowed, if it was taught; NULL with or without an error. */
Trace *trace_of(PyObject *const *roots, int count, PyObject **nodes);

/* The program for a trace with these geometries, and with this alive beside it, under these settings; NULL with or without an error. */
Fit *fit_of(Trace *trace, PyObject **nodes, PyObject *settings);

/* True if a program runs, or is being bound; let it be known. */
static inline int is_running(Fit *fit) { return fit->program != Py_None && is_set(fit->program, PROGRAM_RUNNING); }
static inline void set_running(PyObject *program, PyObject *flag) { replace(program, PROGRAM_RUNNING, Py_NewRef(flag)); }

/* An operand of a node, NULL where there are fewer; the number of its geometry. Borrowed. */
static inline PyObject *operand_of(PyObject *node, int number) { return number < arity_of(node) ? argument_of(node, number) : NULL; }
static inline PyObject *geometry_number(PyObject *node) { return GEOMETRY(NODE(node)->geometry)->number; }

/* The first of `count` numbers, larger than any that a node was seen by. */
long long stamp(long count);

extern PyType_Spec trace_spec;
extern PyTypeObject *trace_type;
extern PyMethodDef trace_methods[];

#endif
