/* Call sites of the user's program. */
#ifndef ATOLL_CALL_SITES_H
#define ATOLL_CALL_SITES_H
#include "runtime.h"

/* The line outside atoll that is at work, as a call site, with the user's line where that is in a package; NULL with an error. */
PyObject *site_here(void);

/* The number of a call site, as context.call_sites counts; a new reference; NULL where Python has to say. */
PyObject *number_of(PyObject *site);

extern PyMethodDef call_site_methods[];

#endif
