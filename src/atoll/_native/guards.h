/* Guards of plans: whether a plan serves a trace, and with which numbers. */
#ifndef ATOLL_GUARDS_H
#define ATOLL_GUARDS_H
#include "table.h"

extern PyMethodDef guard_methods[];

#endif
