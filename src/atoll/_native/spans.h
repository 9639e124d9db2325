/* The spans of a profile. */
#ifndef ATOLL_SPANS_H
#define ATOLL_SPANS_H
#include "errors.h"
#include "forms.h"

extern int profiling;              /* whether a profile is recorded; nothing else is looked at where it is not */
extern int session;                /* the number of the profile */

/* The kinds of spans, as context.profiler lists them. */
enum { CALL_SPAN, PLAN_SPAN, COMPILE_SPAN, KERNEL_SPAN, NUMPY_SPAN, SEND_SPAN, WAIT_SPAN, FILE_SPAN, SPAN_KINDS };

/* Begin and end a call of the user's program; calls within calls belong to the outer one. */
int begin_call(void);
void end_call(int begun, PyObject *name);

/* Begin a span, and end one by its event: its kind, the number of its name, its bytes, its count, the lines that it worked for (the current one, if
   there are none), the part of each, and the other rank, or -1. */
void begin_span(void);
void end_span(PyObject *event);

/* profile(memory, totals, peers, events, line_at, number_of_name, thin): record from now on; the numbers are offsets. Without arguments it ends. */
PyObject *record_profile(PyObject *args);

extern PyMethodDef span_methods[];

#endif
