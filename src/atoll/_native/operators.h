/* The operators of arrays. */
#ifndef ATOLL_OPERATORS_H
#define ATOLL_OPERATORS_H
#include "medium.h"

extern const PyType_Slot operator_slots[];  /* of the type of arrays */

/* Let the operators of NumPy's numbers ask those of arrays first. */
void numbers_ask(void);

#endif
