/* Elements under a mask for all of an array. */
#ifndef ATOLL_MASKED_H
#define ATOLL_MASKED_H
#include "nodes.h"

/* `array[mask]` as a node of its own, as lazy.masks has it; NULL without an error where Python has to decide. */
PyObject *record_masked(PyObject *array, PyObject *mask);

#endif
