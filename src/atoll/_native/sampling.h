/* When loops over arrays of medium size are looked for. */
#ifndef ATOLL_SAMPLING_H
#define ATOLL_SAMPLING_H
#include "runtime.h"

extern Py_ssize_t least;           /* the fewest elements of arrays of medium size */
extern int awake;                  /* whether call sites count: something is explored, tried, or recorded */
extern _Thread_local int is_recording_medium; /* whether the thread's latest operation on arrays of medium size was recorded */

/* NumPy has made an array of medium size. From time to time the next operations are looked at: a program whose phases change has
 * loops that are not known. */
void count_medium(Py_ssize_t size);

/* Whether an operation at a call site that is known, or not, is recorded to get to know its loop, which is noted. */
int is_explored(int is_known);

/* There are so many more arrays that are tried. */
void count_tried(int more);

extern PyMethodDef sampling_methods[];

#endif
