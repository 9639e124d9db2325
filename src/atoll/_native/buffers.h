/* The buffer protocol of arrays. */
#ifndef ATOLL_BUFFERS_H
#define ATOLL_BUFFERS_H
#include "medium.h"
#include "operations.h"

extern unsigned long reads_only;   /* the thread that asks for a buffer now and writes nothing into it; 0 where none does */
extern const PyType_Slot buffer_slots[];  /* of the type of arrays */

#endif
