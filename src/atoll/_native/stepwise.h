/* NumPy's loops compute new traces, one operation after the other; and the accounts of NumPy's time, which say when a program or a form is worth it. */
#ifndef ATOLL_STEPWISE_H
#define ATOLL_STEPWISE_H
#include "nodes.h"
#include "selection.h"

/* The work that an account pays for: planning and compiling a program, or learning an operation in Python. */
enum { PLANNED, LEARNT };
extern double patience[2];         /* the nanoseconds of NumPy's loops that pay for each kind */
extern double call_time, rate;     /* the nanoseconds of a call, and the elements in each */

/* Begin all accounts anew. */
void close_accounts(void);

/* Add a call of NumPy's to the account with this key; whether the account now pays for the work. */
int is_worth(size_t key, double elements, int work);

/* Give nodes their values by NumPy's loops: 1, or 0 where a program shall compute them; -1 with an error. `key` tells traces apart. */
int step_through(PyObject *const *roots, int count, size_t key);

/* Compute a node of elements under a mask: 1, or 0 where it is none, or a program has to compute its operands; -1 with an error. */
int pick_masked(PyObject *node);

#endif
