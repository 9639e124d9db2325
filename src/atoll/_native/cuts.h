/* Recorded work that grows past its bound. */
#ifndef ATOLL_CUTS_H
#define ATOLL_CUTS_H
#include "replay.h"

/* The same node, whose work is cut if too much is pending behind it; NULL with an error, and without a node. */
PyObject *bounded(PyObject *node);

/* The array or number that the program gets for a new node; steals the node. */
PyObject *array_of(PyObject *node);

extern PyMethodDef cut_methods[];

#endif
