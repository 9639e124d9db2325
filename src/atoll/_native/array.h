/* The type of arrays, and of their attributes. */
#ifndef ATOLL_ARRAY_H
#define ATOLL_ARRAY_H
#include "items.h"
#include "operators.h"

/* The base class of arrays, and attributes that NumPy answers. */
PyType_Spec *front_spec(void);
extern PyType_Spec attribute_spec;
/* Let arrays end here; -1 with an error. */
int install_array(void);

#endif
