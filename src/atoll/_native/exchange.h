/* Steps of programs that ranks take together. */
#ifndef ATOLL_EXCHANGE_H
#define ATOLL_EXCHANGE_H
#include "traces.h"

/* One run of a program. */
typedef struct Run {
    Fit *fit;
    Trace *trace;
    PyObject **nodes, *registers, *state;
    PyObject *done;                /* the latest step whose kernels have run, borrowed */
    long kernels, reused, messages, moved;
    struct Run *outer;             /* in whose middle this one runs */
} Run;

static inline PyObject *value_in(Run *run, int number) { return PyList_GET_ITEM(run->registers, number); }

static inline void set_register(Run *run, int number, PyObject *value) {
    PyObject *old = PyList_GET_ITEM(run->registers, number);
    PyList_SET_ITEM(run->registers, number, value);
    Py_DECREF(old);
}

/* A number among the operands of a trace. */
static inline PyObject *number_at(Run *run, int number) {
    int *place = run->trace->scalar + 2 * number;
    return argument_of(run->nodes[place[0]], place[1]);
}

/* The state of the run, as Python's steps need it; borrowed. `step` is the current one, or NULL between steps. */
PyObject *run_state(Run *run, PyObject *step);

/* Let ranks begin a program that they have agreed on, as lazy.numpy_evaluation.begun does, and finish it, as lazy.runs.finished does: 1, or 0 where
 * Python has to do it; -1 with an error. `opening` is what Python has told of it. */
int begin_together(Run *run, PyObject *settings);
int finish_together(PyObject *opening, PyObject *log);

/* Start the messages of an exchange, wait for them, and add numbers of all ranks: as above. */
int start_exchange(Run *run, Step *step);
int finish_exchange(Run *run, Step *step);
int add_across(Run *run, Step *step);

#endif
