/* Arrays on ranks of which each rank keeps all elements. */
#ifndef ATOLL_TILES_H
#define ATOLL_TILES_H
#include "handles.h"

static inline int on_ranks(Front *front) {
    return front->np == Py_None && front->cell != NULL && state_of(BOX(front->cell)->node) & DIVIDED;
}

/* All elements of an array on ranks, where this rank keeps them, borrowed; else NULL. */
PyObject *whole_tile(Front *front, PyObject *value);

/* Whether an array is assigned to itself: how Python ends `a[key] += x`. */
int is_itself(Front *front, PyArrayObject *region, PyObject *value, PyObject *given);

/* Whether what every rank has was written into a short view of an array on ranks: 1, or 0 where Python has to do it; -1 with an error. */
int write_on_ranks(Front *front, PyArrayObject *region, PyObject *given);

#endif
