/* Settings, the lock and worlds, as Python has them. */
#include "runtime.h"

int recording = 0, shown = 0;
static int varied = 0;             /* whether a variable of contexts was ever given a value: else all have the usual ones */
double light, near, most_pending, swept, most_held = Py_HUGE_VAL;

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
    static PyObject *name = NULL;
    static Py_ssize_t place = 0;   /* of the name among those of the module, which keep their order */
    PyObject *key, *list;
    Py_ssize_t next = place;
    if (name == NULL && (name = PyUnicode_InternFromString("filters")) == NULL) return NULL;
    if (PyDict_Next(python.warnings, &next, &key, &list) && key == name) return list;
    for (place = next = 0; PyDict_Next(python.warnings, &next, &key, &list); place = next)
        if (key == name) return list;
    return NULL;
}

int lock(void) {
    PyObject *done = PyObject_CallNoArgs(python.acquire);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

void unlock(void) {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *done = PyObject_CallNoArgs(python.release);
    if (done == NULL) PyErr_Clear();
    Py_XDECREF(done);
    PyErr_Restore(type, value, trace);
}

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
    if (!varied) return ranks > 1;
    if (PyContextVar_Get(python.world, Py_None, &world) == 0 && world == Py_None) {
        Py_DECREF(world);
        return ranks > 1;
    }
    if (world != NULL) size = PyObject_GetAttrString(world, "size");
    int several = size == NULL || PyLong_AsLong(size) != 1;
    PyErr_Clear();
    Py_XDECREF(size);
    Py_XDECREF(world);
    return several;
}

/* ---- what Python tells */

/* So many more worlds of several ranks, and the number of ranks of the process where it is known. */
static PyObject *share(PyObject *module, PyObject *args) {
    int more, of_process = 0;
    if (!PyArg_ParseTuple(args, "i|i", &more, &of_process)) return NULL;
    worlds += more;
    if (of_process) ranks = of_process;
    Py_RETURN_NONE;
}

PyObject *counters_now(void) {
    static PyObject *usual = NULL;
    PyObject *counters = NULL;
    if (usual != NULL && !varied) return Py_NewRef(usual);
    if (PyContextVar_Get(python.counters, NULL, &counters) == 0 && !varied) usual = Py_XNewRef(counters);
    return counters;
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

/* limits(light, near, pending, swept, held): those of the policy that hold now. */
static PyObject *set_limits(PyObject *module, PyObject *args) {
    if (!PyArg_ParseTuple(args, "ddddd", &light, &near, &most_pending, &swept, &most_held)) return NULL;
    Py_RETURN_NONE;
}

/* There are so many more calls that are explained. */
static PyObject *show(PyObject *module, PyObject *number) {
    shown += (int)PyLong_AsLong(number);
    Py_RETURN_NONE;
}

PyMethodDef runtime_methods[] = {
    {"share", share, METH_VARARGS, "There are so many more worlds of several ranks."},
    {"vary", vary, METH_NOARGS, "A variable of contexts is given a value."},
    {"limits", set_limits, METH_VARARGS, "The limits of the policy that hold now."},
    {"explain", show, METH_O, "There are so many more calls that are explained instead of computed."},
    {"record", set_recording, METH_O, "Record without Python, or not; whether that was so before."},
    {NULL}};
