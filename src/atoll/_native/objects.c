/* The classes that nodes, boxes and values of Python's derive from. As such objects end, their memory serves the next ones. */
#include <stddef.h>
#include "objects.h"

enum { SPARES = 128 };
typedef struct {
    PyObject *spare[SPARES];
    int count;
} Kind;
static Kind nodes, boxes, values;

static PyObject *new_of(Kind *kind, PyObject *type) {
    if (kind->count) return PyObject_Init(kind->spare[--kind->count], (PyTypeObject *)type);
    PyObject *object = ((PyTypeObject *)type)->tp_alloc((PyTypeObject *)type, 0);
    if (object != NULL) PyObject_GC_UnTrack(object);  /* what is recorded refers to nothing that could refer to it */
    return object;
}

PyObject *new_node_object(void) { return new_of(&nodes, python.node_type); }
PyObject *new_box_object(void) { return new_of(&boxes, python.box_type); }
PyObject *new_value_object(void) { return new_of(&values, python.value_type); }

/* Keep the memory of an object without members, or free it. */
static void end_of(PyObject *object, Kind *kind) {
    PyTypeObject *type = Py_TYPE(object);
    if (kind->count < SPARES) kind->spare[kind->count++] = object;
    else type->tp_free(object);
    Py_DECREF(type);
}

/* ---- members that the collector sees */

static PyObject **members_of(Node *node, int k) {
    PyObject **members[] = {&node->op, &node->args, &node->geometry, &node->params, &node->name, &node->site, &node->value, &node->code, &node->place};
    return members[k];
}
enum { NODE_MEMBERS = 9 };

static int traverse_node(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    for (int k = 0; k < NODE_MEMBERS; k++) Py_VISIT(*members_of(NODE(self), k));
    return 0;
}

static int clear_node(PyObject *self) {
    for (int k = 0; k < NODE_MEMBERS; k++) Py_CLEAR(*members_of(NODE(self), k));
    return 0;
}

static int traverse_box(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(BOX(self)->node);
    Py_VISIT(BOX(self)->geometry);
    Py_VISIT(BOX(self)->read_by_pieces);
    Py_VISIT(BOX(self)->sites);
    Py_VISIT(BOX(self)->first);
    return 0;
}

static int clear_box(PyObject *self) {
    Py_CLEAR(BOX(self)->node);
    Py_CLEAR(BOX(self)->geometry);
    Py_CLEAR(BOX(self)->read_by_pieces);
    Py_CLEAR(BOX(self)->sites);
    Py_CLEAR(BOX(self)->first);
    return 0;
}

static int traverse_value(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(VALUE(self)->array);
    Py_VISIT(VALUE(self)->address);
    Py_VISIT(VALUE(self)->program);
    Py_VISIT(VALUE(self)->tiles);
    return 0;
}

static int clear_value(PyObject *self) {
    Py_CLEAR(VALUE(self)->array);
    Py_CLEAR(VALUE(self)->address);
    Py_CLEAR(VALUE(self)->program);
    Py_CLEAR(VALUE(self)->tiles);
    return 0;
}

void end_node(PyObject *node) {
    clear_node(node);
    end_of(node, &nodes);
}

void end_box(PyObject *box) {
    clear_box(box);
    end_of(box, &boxes);
}

void end_value(PyObject *value) {
    clear_value(value);
    end_of(value, &values);
}

/* ---- members that Python sees */

static PyObject *get_mark(PyObject *self, void *unused) {
    if (!NODE(self)->mark) Py_RETURN_NONE;
    return PyLong_FromLong(NODE(self)->mark);
}

static int set_mark(PyObject *self, PyObject *mark, void *unused) {
    NODE(self)->mark = mark == NULL || mark == Py_None ? 0 : PyLong_AsLong(mark);
    return PyErr_Occurred() ? -1 : 0;
}

#define OBJECT(NAME, TYPE, MEMBER) {NAME, T_OBJECT_EX, offsetof(TYPE, MEMBER), 0}
static PyMemberDef node_members[] = {
    OBJECT("op", Node, op), OBJECT("args", Node, args), OBJECT("geometry", Node, geometry), OBJECT("params", Node, params),
    OBJECT("name", Node, name), OBJECT("site", Node, site), OBJECT("value", Node, value), OBJECT("code", Node, code),
    OBJECT("place", Node, place), {"born", T_LONGLONG, offsetof(Node, born), 0}, {"weight", T_DOUBLE, offsetof(Node, weight), 0}, {NULL}};
static PyGetSetDef node_getset[] = {{"mark", get_mark, set_mark, "a number for the operation with its geometries", NULL}, {NULL}};

static PyMemberDef box_members[] = {
    OBJECT("node", Box, node), OBJECT("geometry", Box, geometry), OBJECT("read_by_pieces", Box, read_by_pieces), OBJECT("sites", Box, sites),
    OBJECT("_first", Box, first), {"pins", T_LONGLONG, offsetof(Box, pins), 0}, {"pieces", T_INT, offsetof(Box, pieces), 0},
    {"shared", T_BOOL, offsetof(Box, shared), 0}, {"writeable", T_BOOL, offsetof(Box, writeable), 0}, {NULL}};

static PyMemberDef value_members[] = {
    OBJECT("array", Value, array), OBJECT("_address", Value, address), OBJECT("program", Value, program), OBJECT("tiles", Value, tiles),
    {"counted", T_DOUBLE, offsetof(Value, counted), 0}, {"count", T_PYSSIZET, offsetof(Value, count), 0},
    {"pinned", T_BOOL, offsetof(Value, pinned), 0}, {"pooled", T_BOOL, offsetof(Value, pooled), 0}, {NULL}};

#define BASE_FLAGS (CLASS_FLAGS | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC)
static PyType_Slot node_slots[] = {{Py_tp_doc, "The members of nodes."}, {Py_tp_traverse, traverse_node}, {Py_tp_clear, clear_node},
                                   {Py_tp_members, node_members}, {Py_tp_getset, node_getset}, {0}};
static PyType_Slot box_slots[] = {{Py_tp_doc, "The members of boxes."}, {Py_tp_traverse, traverse_box}, {Py_tp_clear, clear_box},
                                  {Py_tp_members, box_members}, {0}};
static PyType_Slot value_slots[] = {{Py_tp_doc, "The members of values."}, {Py_tp_traverse, traverse_value}, {Py_tp_clear, clear_value},
                                    {Py_tp_members, value_members}, {0}};
PyType_Spec node_spec = {"atoll._front.Node", sizeof(Node), 0, BASE_FLAGS, node_slots};
PyType_Spec box_spec = {"atoll._front.Box", sizeof(Box), 0, BASE_FLAGS, box_slots};
PyType_Spec value_spec = {"atoll._front.Value", sizeof(Value), 0, BASE_FLAGS, value_slots};
PyTypeObject *node_base, *box_base, *value_base;
