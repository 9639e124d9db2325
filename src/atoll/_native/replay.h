/* Traces that were evaluated before, run by their programs. */
#ifndef ATOLL_REPLAY_H
#define ATOLL_REPLAY_H
#include "traces.h"

/* Give nodes their values by a program that computed such a trace before: 1, or 0 where Python has to do it; -1 with an error. */
int replay(PyObject *const *roots, int count);

extern PyMethodDef replay_methods[];

#endif
