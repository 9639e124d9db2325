/* Values that NumPy's loops compute, one operation after the other, and what is worth more than that. */
#ifndef ATOLL_STEPWISE_H
#define ATOLL_STEPWISE_H
#include "nodes.h"
#include "selection.h"

/* What NumPy has spent is long enough to plan and compile a program, or for Python to learn an operation. */
enum { PLANNED, LEARNT };

/* Note that NumPy computes so many elements once more for what has this key, or would; whether it has spent as long on them as the work above takes. */
int is_worth(size_t key, double elements, int work);

/* Give nodes their values by NumPy's loops: 1, or 0 where a program shall compute them; -1 with an error. `key` tells traces apart. */
int step_through(PyObject *const *roots, int count, size_t key);

extern PyMethodDef stepwise_methods[];

#endif
