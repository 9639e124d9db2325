/* Functions of the namespace, and methods. */
#ifndef ATOLL_FUNCTIONS_H
#define ATOLL_FUNCTIONS_H
#include "sizes.h"
#include "medium.h"

extern PyType_Spec function_spec;
extern PyTypeObject *function_type;
extern PyMethodDef function_methods[];

/* Note the names that functions need; -1 with an error. */

#endif
