/* Guards of plans: whether a plan serves a trace, and with which numbers. */
#ifndef ATOLL_GUARDS_H
#define ATOLL_GUARDS_H
#include "table.h"

typedef long long number_t;

/* A guard whose results go into the steps of a program: see plan.motion, which writes the words. */
typedef struct {
    PyObject *told;            /* what keeps the words; NULL where a program serves one trace alone */
    const number_t *guard, *words;
    PyObject *things, *again;  /* `again(step, node)` lets a step call NumPy for another node */
    PyObject *leaves, *forms, *together;  /* of a program that ranks run together: forms of its leaves' geometries and of its places; what Python
                                           * binds of it: lazy.runs.bound_again, else None */
} Motion;

/* What a plan depends on: the geometries of a trace, in the order of planning.sample_of; of ranks its places, else an empty list, and its
 * pending nodes, else NULL. */
typedef struct {
    PyObject *const *geometries;
    int count;
    PyObject *places, *order;
} Sampled;

/* Take the words; -1 with an error. Give them back. */
int read_motion(Motion *motion, PyObject *told);
void drop_motion(Motion *motion);

/* Run the guard, and write its results: 1, or 0 where a check fails or something differs that stays as it is; -1 with an
 * error. `steps` then has pairs of numbers behind their count: of steps that have memory, and its geometry; and of steps of
 * NumPy's, and their node in the order of the walk. `bound` has what Python has bound, a new reference, where it is not NULL; `mark` is 0 from then on. */
int moved(const Motion *motion, const Sampled *given, const number_t **steps, PyObject **bound, long *mark);

extern PyMethodDef guard_methods[];

#endif
