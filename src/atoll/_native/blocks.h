/* Memory that NumPy takes for results. */
#ifndef ATOLL_BLOCKS_H
#define ATOLL_BLOCKS_H
#include "table.h"

/* NumPy takes memory from here until `memory_left` gets what this returns. */
PyObject *memory_entered(void);
void memory_left(PyObject *before);


#endif
