/* The tables of Python, read: slots of objects by their offsets, settings and worlds through the objects. */
#include "runtime.h"

Py_ssize_t offsets[FIELDS];
PyObject *objects[OBJECTS], *zero, *one, *minus_one, *empty;
int recording = 0, shown = 0;
double light, near, most_pending, swept, most_held = Py_HUGE_VAL;
static PyObject *filters_name;

int worlds = 0;
PyObject *current_world;
int ranks = 1;

PyObject *settings_now(void) {
    PyObject *settings = NULL;
    PyContextVar_Get(objects[SETTINGS], field(objects[CONFIG], CONFIG_DEFAULT), &settings);
    return settings;
}

Py_ssize_t small_now(void) {
    PyObject *settings = objects[SETTINGS] == NULL ? NULL : settings_now();
    Py_ssize_t number = settings == NULL ? PY_SSIZE_T_MAX : PyLong_AsSsize_t(field(settings, SETTINGS_SMALL));
    Py_XDECREF(settings);
    return number;
}

int is_calm(void) {
    PyObject *state = NULL;
    if (objects[RULES] != Py_None && (PyContextVar_Get(objects[RULES], NULL, &state) < 0 || state == NULL)) {
        PyErr_Clear();
        return 0;
    }
    int same = (state == NULL ? Py_None : state) == field(objects[CALM], CALM_STATE);
    Py_XDECREF(state);
    return same && filters() == field(objects[CALM], CALM_FILTERS);
}

PyObject *filters(void) { return PyDict_GetItem(objects[WARNINGS], filters_name); }

int lock(void) {
    PyObject *done = PyObject_CallNoArgs(objects[ACQUIRE]);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

void unlock(void) {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *done = PyObject_CallNoArgs(objects[RELEASE_LOCK]);
    if (done == NULL) PyErr_Clear();
    Py_XDECREF(done);
    PyErr_Restore(type, value, trace);
}

int in_world_of_process(void) {
    PyObject *world = NULL;
    if (current_world == NULL) return 1;
    if (PyContextVar_Get(current_world, Py_None, &world) < 0) PyErr_Clear();
    Py_XDECREF(world);  /* the context has it */
    return world == Py_None;
}

int among_ranks(void) {
    if (!worlds) return 0;
    PyObject *world = NULL, *size = NULL;
    if (PyContextVar_Get(current_world, Py_None, &world) == 0 && world == Py_None) {
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

int install_runtime(PyObject *slots, PyObject *given) {
    if (PyTuple_GET_SIZE(slots) != FIELDS || PyTuple_GET_SIZE(given) != OBJECTS) {
        PyErr_SetString(PyExc_ValueError, "the recorder needs other slots and objects");
        return -1;
    }
    for (int k = 0; k < FIELDS; k++) {
        PyObject *member = PyTuple_GET_ITEM(slots, k);
        if (!Py_IS_TYPE(member, &PyMemberDescr_Type)) {
            PyErr_SetString(PyExc_TypeError, "a slot is no member descriptor");
            return -1;
        }
        offsets[k] = ((PyMemberDescrObject *)member)->d_member->offset;
    }
    for (int k = 0; k < OBJECTS; k++) objects[k] = Py_NewRef(PyTuple_GET_ITEM(given, k));
    zero = PyLong_FromLong(0);
    one = PyLong_FromLong(1);
    minus_one = PyLong_FromLong(-1);
    empty = PyTuple_New(0);
    filters_name = PyUnicode_InternFromString("filters");
    return zero == NULL || one == NULL || minus_one == NULL || empty == NULL || filters_name == NULL ? -1 : 0;
}

/* So many more worlds of several ranks, and the number of ranks of the process where it is known. */
static PyObject *share(PyObject *module, PyObject *args) {
    int more, of_process = 0;
    PyObject *variable;
    if (!PyArg_ParseTuple(args, "iO|i", &more, &variable, &of_process)) return NULL;
    worlds += more;
    if (of_process) ranks = of_process;
    Py_XSETREF(current_world, Py_NewRef(variable));
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
    {"limits", set_limits, METH_VARARGS, "The limits of the policy that hold now."},
    {"explain", show, METH_O, "There are so many more calls that are explained instead of computed."},
    {"record", set_recording, METH_O, "Record without Python, or not; whether that was so before."},
    {NULL}};
