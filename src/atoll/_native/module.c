/* The native front: arrays whose elements are at hand go to NumPy and back without entering Python.
 *
 * An array is an instance of a subclass of Front, the type of which is registered. `_np` is a NumPy array where the elements
 * are at hand. Operators, indexing, functions and methods then call NumPy on it and wrap the result; whatever else
 * they meet is handed to the Python function that the runtime has registered under the same name. So C decides
 * nothing: without it everything takes the way through Python, and gives the same results.
 */
#include "array.h"
#include "blocks.h"
#include "buffers.h"
#include "functions.h"

/* register(slots, **objects): work with these slots, a tuple, and objects by their names in the table. */
static PyObject *register_table(PyObject *module, PyObject *args, PyObject *objects) {
    PyObject *slots;
    if (!PyArg_ParseTuple(args, "O!", &PyTuple_Type, &slots)) return NULL;
    if (objects == NULL) return PyErr_Format(PyExc_TypeError, "no objects are registered");
    if (install_table(objects, slots) < 0 || install_operations() < 0 || install_nodes() < 0 || install_replay() < 0 || install_recorder() < 0 ||
        install_array() < 0)
        return NULL;
    recording = 1;
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"register", (PyCFunction)(void (*)(void))register_table, METH_VARARGS | METH_KEYWORDS, "Work with these objects, functions and slots of Python."},
    {NULL}};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_front", "Arrays at hand, without entering Python.", -1, methods};

#ifndef ATOLL_SOURCES /* hatch_build.py defines it as a digest of the sources */
#define ATOLL_SOURCES ""
#endif

PyMODINIT_FUNC PyInit__front(void) {
    struct {
        const char *name;
        PyTypeObject *type;
    } types[] = {{"Front", &FrontType}, {"Function", &FunctionType}, {"Attribute", &AttributeType}, {"Iterator", &IteratorType}, {"Box", &BoxType},
                 {"Loop", &LoopType}, {"Traced", &TracedType}, {"Notice", &NoticeType}};
    PyMethodDef *of_units[] = {block_methods, cut_methods, eager_methods, function_methods, handle_methods,
                              memory_methods, node_methods, replay_methods, runtime_methods, sampling_methods,
                              span_methods, trial_methods};
    if (import_numpy() < 0 || install_errors() < 0 || install_functions() < 0) return NULL;
    FrontType.tp_new = BoxType.tp_new = PyBaseObject_Type.tp_new;
    front_type = &FrontType;
    PyObject *module = PyModule_Create(&definition), *operators = PyList_New(0);
    if (module == NULL || operators == NULL) return NULL;
    for (int k = 0; k < SLOTS + BINARY; k++) {
        PyObject *name = PyUnicode_FromString(k < SLOTS ? names[k] : reflected_names[k - SLOTS]);
        if (name == NULL || PyList_Append(operators, name) < 0) return NULL;
        Py_DECREF(name);
    }
    for (size_t k = 0; k < sizeof types / sizeof *types; k++)
        if (PyType_Ready(types[k].type) < 0 || PyModule_AddObjectRef(module, types[k].name, (PyObject *)types[k].type) < 0) return NULL;
    for (size_t k = 0; k < sizeof of_units / sizeof *of_units; k++)
        if (PyModule_AddFunctions(module, of_units[k]) < 0) return NULL;
    if (PyModule_AddObjectRef(module, "operators", operators) < 0 || PyModule_AddStringConstant(module, "sources", ATOLL_SOURCES) < 0) return NULL;
    Py_DECREF(operators);
    return module;
}
