/* Errors that leave atoll, exceptions from outside, and work that callbacks of weak references leave. */
#ifndef ATOLL_ERRORS_H
#define ATOLL_ERRORS_H
#include "table.h"

/* Exceptions from outside. Whether the error that is set is one, or came of one; raise it soon instead of now; the same if it is one,
 * and forget it if it is not. */
int is_from_outside(void);
void postpone_error(void);
void drop_error(void);

/* Shorten the traceback of the error that is set, which leaves atoll. */
void leave_with_error(void);

/* The result of an operation, as the program gets it. */
static inline PyObject *ended(PyObject *result) {
    if (result == NULL && PyErr_Occurred()) leave_with_error();
    return result;
}

static inline int ended_with(int status) {
    if (status < 0 && PyErr_Occurred()) leave_with_error();
    return status;
}

extern PyType_Spec notice_spec;
int install_errors(void);

#endif
