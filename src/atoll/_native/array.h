/* The type of arrays, and of their attributes. */
#ifndef ATOLL_ARRAY_H
#define ATOLL_ARRAY_H
#include "items.h"
#include "operators.h"

extern PyTypeObject FrontType, AttributeType;
/* Let arrays end here; -1 with an error. */
int install_array(void);

#endif
