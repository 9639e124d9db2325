/* The turns of loops, and evaluations of traces, counted. */
#ifndef ATOLL_TRIALS_H
#define ATOLL_TRIALS_H
#include "errors.h"

/* Call sites whose operations are evaluated together, and traces of them. */
typedef struct {
    PyObject_HEAD
    PyObject *anchor;
    Py_ssize_t left, misses, strays;
    double work;
    int eager;
} Loop;
typedef struct {
    PyObject_HEAD
    PyObject *loop, *anchor;
    Py_ssize_t visits;
    double work;
} Traced;
extern PyType_Spec loop_spec, traced_spec;
extern PyTypeObject *loop_type, *traced_type;

extern int eager_loops;            /* those of which NumPy computes the operations now */

/* Whether NumPy computes the operation of a call site, which is visited. */
int computed_by_numpy(Loop *loop, PyObject *site, Py_ssize_t size);

/* Count an evaluation of a kind of trace. */
void was_evaluated(PyObject *traced);

extern PyMethodDef trial_methods[];

#endif
