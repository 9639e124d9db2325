/* Settings, the lock and worlds, as Python has them. */
#include <time.h>
#include "runtime.h"

int recording = 0, shown = 0;
static int varied = 0;             /* whether a variable of contexts was ever given a value: else all have the usual ones */
double most_pending, longest_formula, most_recorded, swept, most_held = Py_HUGE_VAL;

int worlds = 0;
int ranks = 1;

PyObject *settings_now(void) {
    PyObject *settings = NULL, *usual = field(python.config, CONFIG_DEFAULT);
    if (!varied) return Py_NewRef(usual);
    PyContextVar_Get(python.settings, usual, &settings);
    return settings;
}

Py_ssize_t small_now(void) {
    PyObject *settings = python.settings == NULL ? NULL : settings_now();
    Py_ssize_t number = settings == NULL ? PY_SSIZE_T_MAX : PyLong_AsSsize_t(field(settings, SETTINGS_SMALL));
    Py_XDECREF(settings);
    return number;
}

int is_calm(void) {
    PyObject *state = NULL;
    if (python.rules != Py_None && (PyContextVar_Get(python.rules, NULL, &state) < 0 || state == NULL)) {
        PyErr_Clear();
        return 0;
    }
    int same = (state == NULL ? Py_None : state) == field(python.calm, CALM_STATE);
    Py_XDECREF(state);
    return same && filters() == field(python.calm, CALM_FILTERS);
}

PyObject *filters(void) {
    static Py_ssize_t place = 0;   /* of the name among those of the module, which keep their order */
    PyObject *key, *list;
    Py_ssize_t next = place;
    if (PyDict_Next(python.warnings, &next, &key, &list) && key == interned.filters) return list;
    for (place = next = 0; PyDict_Next(python.warnings, &next, &key, &list); place = next)
        if (key == interned.filters) return list;
    return NULL;
}

/* ---- the clock, in nanoseconds */

int64_t now(void) {
#ifdef __APPLE__
    return (int64_t)clock_gettime_nsec_np(CLOCK_UPTIME_RAW);
#else
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
#endif
}

/* ---- the lock of the process, or of a simulated rank
 *
 * It is re-entrant. Threads change it while they hold the interpreter's lock, so it is free for the asking; one that has to wait for
 * another one does so at a gate, which opens when that lets go. (Python's own parse arguments and read the clock.)
 */

enum { CLAIMED_AFTER = 5000 };     /* microseconds, as long as the interpreter's lock is kept */
typedef struct { PyThread_type_lock lock; int waiting, is_open; } Gate;  /* closed but for one thread that is let through; threads at it */
typedef struct {
    PyObject_HEAD
    unsigned long owner, claimer;  /* `claimer`: the next owner, which waits at the second gate; 0 for none */
    int depth;                     /* nested acquisitions of the owner */
    Gate gates[2];
} Lock;

/* Take a lock: 1, or 0 where another thread has it and this one does not wait; -1 with the error of a signal handler. A thread that has waited for
 * long claims it, since two others that take it by turns would leave it waiting for ever; one that finds it free but claimed for as long takes the
 * claim over, which may be of a thread that a fork left behind. */
static int take(Lock *self, int waits) {
    unsigned long me = PyThread_get_thread_ident();
    int64_t began = 0;
    while (self->depth ? self->owner != me : self->claimer && self->claimer != me) {
        Gate *gate = &self->gates[self->claimer == me];
        PyLockStatus passed;
        if (!waits) return 0;
        if (!began) began = now();
        gate->waiting++;
        Py_BEGIN_ALLOW_THREADS
        passed = PyThread_acquire_lock_timed(gate->lock, CLAIMED_AFTER, 1);
        Py_END_ALLOW_THREADS
        gate->waiting--;
        if (passed == PY_LOCK_ACQUIRED) gate->is_open = 0;
        if (passed == PY_LOCK_INTR && Py_MakePendingCalls() < 0) {
            if (self->claimer == me) self->claimer = 0;
            return -1;
        }
        if (self->claimer ? passed == PY_LOCK_FAILURE && !self->depth : now() - began > CLAIMED_AFTER * 1000) self->claimer = me;
    }
    if (self->claimer == me) self->claimer = 0;
    self->owner = me;
    return ++self->depth > 0;
}

static void let_go(Lock *self) {
    Gate *gate = &self->gates[self->claimer && self->gates[1].waiting];
    if (--self->depth || !gate->waiting || gate->is_open) return;
    gate->is_open = 1;
    PyThread_release_lock(gate->lock);
}

static _Thread_local Lock *own = NULL;  /* of this thread, borrowed: a simulated rank, which waits for others while it holds it, has its own */

int lock(void) {
    PyObject *here = in_world_of_process() ? Py_NewRef(python.lock) : PyObject_GetAttr(python.turn, interned.lock);
    Py_XDECREF(here);
    return here == NULL || take(own = (Lock *)here, 1) < 0 ? -1 : 0;
}

void unlock(void) { let_go(own); }

static PyObject *new_lock(PyTypeObject *type, PyObject *args, PyObject *options) {
    Lock *self = (Lock *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    for (int i = 0; i < 2; i++) {
        PyThread_type_lock gate = self->gates[i].lock = PyThread_allocate_lock();
        if (gate == NULL) return Py_DECREF(self), PyErr_NoMemory();
        PyThread_acquire_lock(gate, NOWAIT_LOCK);
    }
    return (PyObject *)self;
}

static void end_of_lock(PyObject *self) {
    for (int i = 0; i < 2; i++) {
        Gate *gate = &((Lock *)self)->gates[i];
        if (gate->lock != NULL && !gate->is_open) PyThread_release_lock(gate->lock);
        if (gate->lock != NULL) PyThread_free_lock(gate->lock);
    }
    free_object(self);
}

static PyObject *acquire(PyObject *self, PyObject *args) {
    int waits = 1;
    if (!PyArg_ParseTuple(args, "|p", &waits)) return NULL;
    int taken = take((Lock *)self, waits);
    return taken < 0 ? NULL : PyBool_FromLong(taken);
}

static PyObject *release(PyObject *self, PyObject *unused) {
    if (!((Lock *)self)->depth || ((Lock *)self)->owner != PyThread_get_thread_ident())
        return PyErr_Format(PyExc_RuntimeError, "a lock is released by a thread that has not taken it");
    let_go((Lock *)self);
    Py_RETURN_NONE;
}

static PyMethodDef lock_methods[] = {{"acquire", acquire, METH_VARARGS, "acquire(wait=True): take the lock; whether it was taken."},
                                     {"release", release, METH_NOARGS, "Give the lock back."},
                                     {"__enter__", acquire, METH_VARARGS, "Take the lock."},
                                     {"__exit__", release, METH_VARARGS, "Give the lock back."}, {NULL}};
static PyType_Slot lock_slots[] = {{Py_tp_new, new_lock}, {Py_tp_dealloc, end_of_lock}, {Py_tp_methods, lock_methods}, {Py_tp_doc, "A re-entrant lock."}, {0}};
PyType_Spec lock_spec = {"atoll._front.Lock", sizeof(Lock), 0, CLASS_FLAGS, lock_slots};
PyTypeObject *lock_type;

int in_world_of_process(void) {
    PyObject *world = NULL;
    if (!varied || python.world == NULL) return 1;
    if (PyContextVar_Get(python.world, Py_None, &world) < 0) PyErr_Clear();
    Py_XDECREF(world);  /* the context has it */
    return world == Py_None;
}

int among_ranks(void) {
    if (!worlds || python.world == NULL) return 0;
    PyObject *world = NULL, *size = NULL;
    if (in_world_of_process()) return ranks > 1;
    if (PyContextVar_Get(python.world, NULL, &world) == 0 && world != NULL) size = PyObject_GetAttr(world, interned.size);
    int several = size == NULL || PyLong_AsLong(size) != 1;
    PyErr_Clear();
    Py_XDECREF(size);
    Py_XDECREF(world);
    return several;
}

/* ---- what Python tells */

/* Adds to the number of worlds of several ranks; notes the number of ranks of the process where it is known. */
static PyObject *share(PyObject *module, PyObject *args) {
    int more, of_process = 0;
    if (!PyArg_ParseTuple(args, "i|i", &more, &of_process)) return NULL;
    worlds += more;
    if (of_process) ranks = of_process;
    Py_RETURN_NONE;
}

PyObject *counters_now(void) {
    PyObject *counters = NULL;
    return PyContextVar_Get(python.counters, NULL, &counters) < 0 ? NULL : counters;
}

/* A variable of contexts is given a value. */
static PyObject *vary(PyObject *module, PyObject *nothing) {
    varied = 1;
    Py_RETURN_NONE;
}

static PyObject *set_recording(PyObject *module, PyObject *wanted) {
    PyObject *before = PyBool_FromLong(recording);
    recording = PyObject_IsTrue(wanted);
    return before;
}

/* Adds to the number of explained calls. */
static PyObject *show(PyObject *module, PyObject *number) {
    shown += (int)PyLong_AsLong(number);
    Py_RETURN_NONE;
}

PyMethodDef runtime_methods[] = {
    {"share", share, METH_VARARGS, "Adds to the number of worlds of several ranks."},
    {"vary", vary, METH_NOARGS, "A variable of contexts is given a value."},
    {"explain", show, METH_O, "Adds to the number of calls that are explained instead of computed."},
    {"record", set_recording, METH_O, "Record without Python, or not; whether that was so before."},
    {NULL}};
