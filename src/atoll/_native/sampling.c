/* When loops over arrays of medium size are looked for.
 *
 * An array with at least `least` elements, though fewer than those that are large, begins with NumPy. Once a program has spent some time on such
 * arrays its operations are recorded for a while, so that the runtime gets to know its loops, and tries both ways (lazy/trials.py).
 */
#include <time.h>
#include "sampling.h"

Py_ssize_t least = PY_SSIZE_T_MAX;
int awake = 0;
_Thread_local int is_recording_medium = 0;
static long tried_arrays = 0;

enum { SAMPLED = 64, EXPLORED = 4096 };  /* operations that are looked at, and recorded, to get to know loops */
static const double REPAID = 10;   /* how much longer than all of that the program is to take */
static double patience;            /* the nanoseconds before the first time; with 0 it never ends */
static int sampling = 0, sampled, unknown, exploring = 0, explored, in_trials = 0;
static double spent = 0, looked = 0, cost = 0;  /* in all, until the latest look, and on getting to know loops */
static struct timespec explored_from;
static PyThreadState *explorer;

/* Whether call sites count: something is explored, tried, or recorded. */
static void look_awake(void) { awake = sampling || exploring || in_trials || tried_arrays; }

static double thread_time(const struct timespec *from) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (now.tv_sec - from->tv_sec) * 1e9 + (now.tv_nsec - from->tv_nsec);
}

static void explore(void) {
    exploring = 1;
    explored = 0;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &explored_from);
}

void count_medium(Py_ssize_t size) {
    spent += 500 + size / 3.0;
    if (spent < looked + patience / 8 || spent < patience || spent < REPAID * cost) return;
    if ((sampling || exploring) && (explorer == PyThreadState_Get() || spent < looked + patience)) return;  /* a thread may have ended */
    if (!recording || among_ranks() || !in_world_of_process()) return;
    looked = spent;
    explorer = PyThreadState_Get();
    sampled = unknown = exploring = 0;
    if (patience) sampling = 1;
    else explore();
    look_awake();
}

/* Note an operation at a call site that is known, or not. */
static void note_site_of_medium(int is_known) {
    if (exploring) {
        if (++explored < EXPLORED || patience == 0) return;
        cost += thread_time(&explored_from);
        exploring = 0;
    } else if (sampling) {
        unknown += !is_known;
        if (++sampled < SAMPLED) return;
        sampling = 0;
        if (unknown > SAMPLED / 2) explore();
    }
    look_awake();
}

int is_explored(int is_known) {
    int is_explorer = explorer == PyThreadState_Get(), explored_here = exploring && is_explorer;
    if (is_explorer) note_site_of_medium(is_known);
    return explored_here;
}

void count_tried(int more) {
    tried_arrays += more;
    look_awake();
}

/* medium(least, patience): arrays of so many elements may be recorded. */
static PyObject *set_medium(PyObject *module, PyObject *args) {
    if (!PyArg_ParseTuple(args, "nd", &least, &patience)) return NULL;
    sampling = exploring = 0;
    spent = looked = cost = 0;
    look_awake();
    Py_RETURN_NONE;
}

/* So many loops over arrays of medium size are recorded, or tried. */
static PyObject *note_trials(PyObject *module, PyObject *number) {
    in_trials = (int)PyLong_AsLong(number);
    look_awake();
    Py_RETURN_NONE;
}

PyMethodDef sampling_methods[] = {
    {"medium", set_medium, METH_VARARGS, "Arrays of at least so many elements may be recorded."},
    {"in_trials", note_trials, METH_O, "So many loops over arrays of medium size are recorded, or tried."},
    {NULL}};
