/* The native front: arrays whose elements are at hand go to NumPy and back without entering Python.
 *
 * An array is an instance of a subclass of Front, the type of which is registered. `_np` is a NumPy array where the elements
 * are at hand. Operators, indexing, functions and methods then call NumPy on it and wrap the result; whatever else
 * they meet is handed to the Python function that the runtime has registered under the same name. So C decides
 * nothing: without it everything takes the way through Python, and gives the same results.
 */
#define ATOLL_IMPORTS_NUMPY /* the one unit that has the tables of NumPy's C functions */
#include "array.h"
#include "buffers.h"
#include "call_sites.h"
#include "forms.h"
#include "functions.h"
#include "guards.h"
#include "placed.h"
#include "stepwise.h"

/* register(slots, **objects): work with these slots, a tuple, and objects by their names in the table. */
static PyObject *register_table(PyObject *module, PyObject *args, PyObject *objects) {
    PyObject *slots;
    if (!PyArg_ParseTuple(args, "O!", &PyTuple_Type, &slots)) return NULL;
    if (objects == NULL) return PyErr_Format(PyExc_TypeError, "no objects are registered");
    if (install_table(objects, slots) < 0 || install_operations() < 0 || install_placed() < 0 || install_array() < 0) return NULL;
    install_nodes();
    recording = 1;
    Py_RETURN_NONE;
}

/* limit(size): leave arrays of `size` or more elements to Python. */
static PyObject *set_limit(PyObject *module, PyObject *number) {
    Py_ssize_t size = PyLong_AsSsize_t(number);
    if (size == -1 && PyErr_Occurred()) return NULL;
    limit = size;
    Py_RETURN_NONE;
}

/* limits(...): those of the policy that hold now, as lazy.recorder lists them. */
static PyObject *set_limits(PyObject *module, PyObject *args) {
    if (!PyArg_ParseTuple(args, "dddddddddnnnnnnnnnn", &most_pending, &longest_formula, &most_recorded, &swept, &most_held, &patience[PLANNED], &patience[LEARNT], &call_time, &rate, &shortest, &most_filled,
                          &divided_from, &exact, &truths, &row, &block, &pieces, &multiple, &entries))
        return NULL;
    close_accounts();
    Py_RETURN_NONE;
}

static PyMethodDef module_methods[] = {
    {"limit", set_limit, METH_O, "The elements from which on arrays are Python's."},
    {"limits", set_limits, METH_VARARGS, "The limits of the policy that hold now."},
    {"register", (PyCFunction)(void (*)(void))register_table, METH_VARARGS | METH_KEYWORDS, "Work with these objects, functions and slots of Python."},
    {NULL}};
#ifndef ATOLL_SOURCES /* hatch_build.py defines it as a digest of the sources */
#define ATOLL_SOURCES ""
#endif

static int fill_module(PyObject *module) {
    PyTypeObject *notice_type, *attribute_type;
    struct {
        PyTypeObject **type;
        PyType_Spec *spec;
    } types[] = {{&front_type, front_spec()}, {&function_type, &function_spec}, {&attribute_type, &attribute_spec}, {&node_base, &node_spec}, {&box_base, &box_spec}, {&value_base, &value_spec}, {&geometry_base, &geometry_spec},
                 {&forms_type, &forms_spec}, {&lock_type, &lock_spec}, {&iterator_type, &iterator_spec}, {&trace_type, &trace_spec},
                 {&notice_type, &notice_spec}};
    PyMethodDef *methods[] = {call_site_methods, cut_methods, function_methods, guard_methods, node_methods, replay_methods, runtime_methods, span_methods,
                              trace_methods};
    if (front_type != NULL) return PyErr_Format(PyExc_ImportError, "the native front is loaded once in a process"), -1;
    import_array1(-1);
    import_umath1(-1);
    if (install_errors() < 0) return -1;
    for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
        *types[k].type = (PyTypeObject *)PyType_FromModuleAndSpec(module, types[k].spec, NULL);
        if (*types[k].type == NULL || PyModule_AddType(module, *types[k].type) < 0) return -1;
    }
    for (size_t k = 0; k < sizeof methods / sizeof *methods; k++)
        if (PyModule_AddFunctions(module, methods[k]) < 0) return -1;
    if (list_operators() < 0 || PyModule_AddObjectRef(module, "operators", operator_names) < 0) return -1;
    return PyModule_AddStringConstant(module, "sources", ATOLL_SOURCES);
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, fill_module},
#ifdef Py_mod_multiple_interpreters
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
#ifdef Py_mod_gil
    {Py_mod_gil, Py_MOD_GIL_USED}, /* tables, spares and counters belong to the process */
#endif
    {0}};
static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "_front", .m_doc = "Arrays at hand, without entering Python.", .m_methods = module_methods, .m_slots = module_slots};

PyMODINIT_FUNC PyInit__front(void) { return PyModuleDef_Init(&definition); }
