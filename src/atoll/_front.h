/* What the native front (_front.c) and the native recorder (_record.c) know of each other. */
#ifndef ATOLL_FRONT_H
#define ATOLL_FRONT_H
#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL atoll_numpy
#define PY_UFUNC_UNIQUE_SYMBOL atoll_ufuncs
#include <Python.h>
#ifndef ATOLL_IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#define NO_IMPORT_UFUNC
#endif
#include <numpy/arrayobject.h>
#include <structmember.h>

#pragma GCC visibility push(hidden)

typedef struct {
    PyObject_HEAD
    PyObject *np, *cell, *geometry, *weak;
    PyObject *shown, *value;       /* of a short view: NumPy's view of the memory of this value, read-only */
    int large;                     /* whether `np` is large: see _call_sites.h */
    int tried;                     /* whether it is recorded, but small where Python sees it: see _medium.h */
} Front;

extern PyTypeObject *array_type;   /* the class of arrays; subclasses of a program take the way through Python */
extern int worlds;                 /* of more than one rank */
extern int ranks;                  /* of the process */

/* Whether the current world has several ranks; no error may be pending. */
int among_ranks(void);
extern int shown; /* how many calls are explained or counted instead of computed */

/* Whether the current world is that of the process, whose profiles native code looks at. */
int in_world_of_process(void);

/* The elements of arrays that are small by the settings in force; the recorder knows where these are. */
Py_ssize_t small_now(void);

/* Whether an array has a geometry, which a short view is given when it is asked for. */
int has_geometry(PyObject *array);

/* Let an array at hand be one that is recorded; -1 with an error. */
int adopt_array(PyObject *array);

/* Whether operations are recorded natively. Whether the thread's latest operation on arrays of medium size was recorded; the fewest
 * elements of such arrays. */
int records(void);
extern _Thread_local int is_recording_medium;
Py_ssize_t least_recorded(void);

/* Give the memory of a small array to a box; whether that was possible. */
int box_memory(PyObject *array);

/* A new array without a value. */
PyObject *new_handle(void);

/* The bounds of a slice, if reading them calls no method of the program's; whether it was done. */
int is_unpacked(PyObject *item, Py_ssize_t *start, Py_ssize_t *stop, Py_ssize_t *step);

/* The recorder answers NULL without an error where Python has to decide, and -1 or NULL with an error. */
PyObject *record_call(PyObject *known, PyObject *const *args, Py_ssize_t count);
PyObject *record_power(PyObject *known, PyObject *const *args);
PyObject *record_function(PyObject *function, int way, PyObject *known, PyObject *python, PyObject *const *args,
                          Py_ssize_t count, PyObject *keywords);
PyObject *record_attribute(PyObject *getter, PyObject *array);
PyObject *record_view(PyObject *array, PyObject *key);
int record_store(PyObject *array, PyObject *key, PyObject *value);
int record_into(PyObject *known, PyObject *array, PyObject *const *args, Py_ssize_t count);
int record_in_place(PyObject *known, PyObject *array, PyObject *other);
PyObject *record_any_view(PyObject *array, PyObject *key);
void remember_view(PyObject *array, PyObject *key, PyObject *view);
extern PyTypeObject BoxType;
extern PyMethodDef record_methods[], replay_methods[], trial_methods[], interrupt_methods[];

/* Exceptions from outside: see _interrupts.c. Whether the error that is set is one, or came of one; raise it soon instead of now; the
 * same if it is one, and forget it if it is not. */
int is_from_outside(void);
void postpone_error(void);
void drop_error(void);
extern PyTypeObject NoticeType;

/* Call sites whose operations are evaluated together, and traces of them: see _trials.c. */
typedef struct {
    PyObject_HEAD
    PyObject *anchor;
    Py_ssize_t left, misses, strays;
    double work;
    int eager;
} Loop;
typedef struct {
    PyObject_HEAD
    PyObject *loop, *anchor;
    Py_ssize_t visits;
    double work;
} Traced;
extern PyTypeObject LoopType, TracedType;

/* Whether NumPy computes the operation of a call site, which is visited. */
int computed_by_numpy(Loop *loop, PyObject *site, Py_ssize_t size);

/* Count an evaluation of a kind of trace. */
void was_evaluated(PyObject *traced);

#pragma GCC visibility pop
#endif
