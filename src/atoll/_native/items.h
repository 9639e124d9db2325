/* Indexing, assignment and iteration. */
#ifndef ATOLL_ITEMS_H
#define ATOLL_ITEMS_H
#include "medium.h"

extern const PyType_Slot item_slots[];  /* of the type of arrays */
extern PyType_Spec iterator_spec;
extern PyTypeObject *iterator_type;

#endif
