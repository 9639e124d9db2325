/* Functions of the namespace, and methods. */
#ifndef ATOLL_FUNCTIONS_H
#define ATOLL_FUNCTIONS_H
#include "medium.h"

/* Truth values that NumPy folds at once; elements of a call that several threads share; random numbers of NumPy's stream. */
extern Py_ssize_t truths, divided_from, block;
extern PyType_Spec function_spec;
extern PyTypeObject *function_type;
extern PyMethodDef function_methods[];

#endif
