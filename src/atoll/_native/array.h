/* The type of arrays, and of their attributes. */
#ifndef ATOLL_ARRAY_H
#define ATOLL_ARRAY_H
#include "items.h"
#include "operators.h"

extern PyTypeObject FrontType, AttributeType;
extern PyMethodDef array_methods[];

#endif
