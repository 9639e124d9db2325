/* Recorded work that has grown too heavy. */
#ifndef ATOLL_CUTS_H
#define ATOLL_CUTS_H
#include "replay.h"

/* How many operations are pending in a node and behind it, each counted once; -1 where they are more than `most`. As graph.node.weigh
 * does. */
long weigh(PyObject *root, long most);

/* A test for nodes that may have to be cut. Evaluate the live nodes of the place where a loop is cut: 1, or 0 where Python has to cut it; -1 with an
 * error. */
int may_be_heavy(PyObject *node);
int cut_again(PyObject *node);

/* The array or number that the program gets for a new node; steals the node. */
PyObject *array_of(PyObject *node);

extern PyMethodDef cut_methods[];

#endif
