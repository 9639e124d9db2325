/* Indexing, assignment and iteration. */
#ifndef ATOLL_ITEMS_H
#define ATOLL_ITEMS_H
#include "medium.h"

extern PyMappingMethods as_mapping;
extern PyTypeObject IteratorType;

PyObject *iterator_of(PyObject *array);

#endif
