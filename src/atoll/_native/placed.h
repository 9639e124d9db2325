/* Nodes of arrays on ranks. */
#ifndef ATOLL_PLACED_H
#define ATOLL_PLACED_H
#include "runtime.h"

/* The first operand of a node that lies on ranks, borrowed; NULL where none does. */
PyObject *first_placed(PyObject *node);

/* Find the weight of a new node, some operands of which lie on ranks, and where it lies itself; then let the ranks do what comes before
 * it: the node to record, which they may have made again. Steals the node. */
PyObject *lay(PyObject *node, PyObject *first);

int install_placed(void);

#endif
