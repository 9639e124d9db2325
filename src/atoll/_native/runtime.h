/* The runtime in Python as C sees it: its settings, its lock and its worlds. */
#ifndef ATOLL_RUNTIME_H
#define ATOLL_RUNTIME_H
#include "errors.h"
#include "objects.h"

extern int recording;              /* whether operations are recorded natively */
extern int shown;                  /* how many calls are explained or counted instead of computed */
extern double most_pending, longest_formula, most_recorded, swept, most_held; /* limits of the policy; Python chooses the arrays that are computed together from `swept` bytes on */

/* The settings in force; a new reference. The elements of arrays that are small by these. */
PyObject *settings_now(void);
Py_ssize_t small_now(void);

/* The counters of atoll.stats() of this thread; a new reference, NULL with an error. */
PyObject *counters_now(void);

/* True if floating-point errors are treated as they were at the last operation; the list of filters of warnings, borrowed. */
int is_calm(void);
PyObject *filters(void);

/* Nanoseconds of a clock that never goes back. */
int64_t now(void);

/* The lock of the process: see context.threads. */
int lock(void);
void unlock(void);
extern PyType_Spec lock_spec;
extern PyTypeObject *lock_type;

extern int worlds;                 /* of more than one rank */
extern int ranks;                  /* of the process */

/* True if the current world has several ranks; no error may be pending. */
int among_ranks(void);

/* True if the current world is that of the process, whose memories native code uses. */
int in_world_of_process(void);

extern PyMethodDef runtime_methods[];

#endif
