/* Elements under a mask for all of an array. */
#ifndef ATOLL_MASKED_H
#define ATOLL_MASKED_H
#include "nodes.h"

/* `array[mask]` as a node of its own, as lazy.masks has it; NULL without an error where Python has to decide. `array[mask] = value`: 1, or 0
 * where it has to; -1 with an error. */
PyObject *record_masked(PyObject *array, PyObject *mask);
int store_masked(PyObject *array, PyObject *mask, PyObject *value);

#endif
