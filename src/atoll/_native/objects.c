/* The classes that nodes, boxes, values and geometries of Python's derive from. As such objects end, their memory serves the next ones. */
#include <stddef.h>
#include "objects.h"

enum { SPARES = 128 };
typedef struct {
    PyObject *spare[SPARES];
    int count;
} Kind;
static Kind node_spares, box_spares, value_spares;

static PyObject *new_of(Kind *kind, PyObject *type) {
    if (kind->count) return PyObject_Init(kind->spare[--kind->count], (PyTypeObject *)type);
    PyObject *object = ((PyTypeObject *)type)->tp_alloc((PyTypeObject *)type, 0);
    if (object != NULL) PyObject_GC_UnTrack(object);  /* nodes, boxes and values refer to no object that refers back to them */
    return object;
}

/* Keep the memory of an object without members, or free it. */
static void end_of(PyObject *object, Kind *kind) {
    PyTypeObject *type = Py_TYPE(object);
    if (kind->count < SPARES) kind->spare[kind->count++] = object;
    else type->tp_free(object);
    Py_DECREF(type);
}

/* ---- members that the collector sees */

#define NODE_MEMBERS(DO)                                                                                                   \
    DO(self->op) DO(self->geometry) DO(self->params) DO(self->name) DO(self->site) DO(self->value) DO(self->code) DO(self->place) \
    DO(self->args) DO(self->operand[0]) DO(self->operand[1]) DO(self->operand[2])
#define BOX_MEMBERS(DO) DO(self->node) DO(self->geometry) DO(self->sites) DO(self->first)
#define VALUE_MEMBERS(DO) DO(self->array) DO(self->address) DO(self->program) DO(self->known)
#define GEOMETRY_MEMBERS(DO) \
    DO(self->base) DO(self->shape) DO(self->strides) DO(self->number) DO(self->offset) DO(self->through) DO(self->dtype)
#define VISIT(MEMBER) Py_VISIT(MEMBER);
#define CLEAR(MEMBER) Py_CLEAR(MEMBER);
#define COLLECTED(NAME, TYPE, MEMBERS, START)                                                          \
    static int traverse_##NAME(PyObject *object, visitproc visit, void *arg) {                   \
        TYPE *self = (TYPE *)object;                                                             \
        Py_VISIT(Py_TYPE(object));                                                               \
        MEMBERS(VISIT)                                                                           \
        return 0;                                                                                \
    }                                                                                            \
    static int clear_##NAME(PyObject *object) {                                                  \
        TYPE *self = (TYPE *)object;                                                             \
        START                                                                                    \
        MEMBERS(CLEAR)                                                                           \
        return 0;                                                                                \
    }
#define REUSED(NAME)                                                                             \
    void end_##NAME(PyObject *object) {                                                          \
        clear_##NAME(object);                                                                    \
        end_of(object, &NAME##_spares);                                                          \
    }                                                                                            \
    PyObject *new_##NAME##_object(void) { return new_of(&NAME##_spares, python.NAME##_type); }
COLLECTED(node, Node, NODE_MEMBERS, self->operands = 0;)
COLLECTED(box, Box, BOX_MEMBERS, )
COLLECTED(value, Value, VALUE_MEMBERS, )
COLLECTED(geometry, Geometry, GEOMETRY_MEMBERS, )
REUSED(node)
REUSED(box)
REUSED(value)

/* ---- members that Python sees */

PyObject *scalar_of(PyObject *number) {
    if (!PyFloat_CheckExact(number)) return Py_NewRef(number);
    PyObject *scalar = PyArrayScalar_New(Double);
    if (scalar != NULL) PyArrayScalar_ASSIGN(scalar, Double, PyFloat_AS_DOUBLE(number));
    return scalar;
}

void drop_operands(PyObject *node) {
    NODE(node)->operands = 0;
    for (int k = 0; k < INLINE; k++) Py_CLEAR(NODE(node)->operand[k]);
    Py_CLEAR(NODE(node)->args);
}

int set_operands(PyObject *node, PyObject *const *operands, int count) {
    Node *self = NODE(node);
    if (count > INLINE && (self->args = PyTuple_New(count)) == NULL) return -1;
    self->operands = count;
    for (int k = 0; k < count; k++) {
        if (count > INLINE) PyTuple_SET_ITEM(self->args, k, operands[k]);
        else self->operand[k] = operands[k];
    }
    return 0;
}

static PyObject *get_args(PyObject *self, void *unused) {
    Node *node = NODE(self);
    if (node->args != NULL) return Py_NewRef(node->args);
    PyObject *args = PyTuple_New(node->operands);
    for (int k = 0; args != NULL && k < node->operands; k++) {
        PyObject *operand = scalar_of(node->operand[k]);
        if (operand == NULL) Py_CLEAR(args);
        else PyTuple_SET_ITEM(args, k, operand);
    }
    if (args == NULL) return NULL;
    drop_operands(self);
    node->args = Py_NewRef(args);
    return args;
}

static int set_args(PyObject *self, PyObject *args, void *unused) {
    if (args == NULL || !PyTuple_CheckExact(args)) return PyErr_Format(PyExc_TypeError, "the operands of a node are a tuple"), -1;
    Py_INCREF(args);
    drop_operands(self);
    NODE(self)->args = args;
    return 0;
}

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
    OBJECT("op", Node, op), OBJECT("geometry", Node, geometry), OBJECT("params", Node, params),
    OBJECT("name", Node, name), OBJECT("site", Node, site), OBJECT("value", Node, value), OBJECT("code", Node, code),
    OBJECT("place", Node, place), {"born", T_LONGLONG, offsetof(Node, born), 0}, {"weight", T_DOUBLE, offsetof(Node, weight), 0},
    {"passed", T_INT, offsetof(Node, passed), 0}, {NULL}};
static PyGetSetDef node_getset[] = {{"args", get_args, set_args, "the operands, a tuple", NULL},
                                    {"mark", get_mark, set_mark, "a number for the operation with its geometries", NULL}, {NULL}};

static PyMemberDef box_members[] = {
    OBJECT("node", Box, node), OBJECT("geometry", Box, geometry), OBJECT("sites", Box, sites),
    OBJECT("_first", Box, first), {"pins", T_LONGLONG, offsetof(Box, pins), 0}, {"pieces", T_INT, offsetof(Box, pieces), 0},
    {"shared", T_BOOL, offsetof(Box, shared), 0}, {"writeable", T_BOOL, offsetof(Box, writeable), 0}, {NULL}};

static PyMemberDef value_members[] = {
    OBJECT("array", Value, array), OBJECT("_address", Value, address), OBJECT("program", Value, program),
    OBJECT("known", Value, known), {"counted", T_DOUBLE, offsetof(Value, counted), 0},
    {"pinned", T_BOOL, offsetof(Value, pinned), 0}, {"pooled", T_BOOL, offsetof(Value, pooled), 0}, {NULL}};

static PyMemberDef geometry_members[] = {
    OBJECT("base", Geometry, base), OBJECT("shape", Geometry, shape), OBJECT("strides", Geometry, strides), OBJECT("number", Geometry, number),
    OBJECT("offset", Geometry, offset), OBJECT("through", Geometry, through), OBJECT("dtype", Geometry, dtype),
    {"size", T_PYSSIZET, offsetof(Geometry, size), 0}, {"is_base", T_BOOL, offsetof(Geometry, is_base), 0},
    {"short", T_BOOL, offsetof(Geometry, is_short), 0}, {"overlapping", T_BOOL, offsetof(Geometry, overlapping), 0},
    {"writeable", T_BOOL, offsetof(Geometry, writeable), 0}, {"dense", T_BOOL, offsetof(Geometry, dense), 0},
    {"c_contiguous", T_BOOL, offsetof(Geometry, c_contiguous), 0}, {NULL}};

#define BASE_FLAGS (CLASS_FLAGS | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC)
static PyType_Slot node_slots[] = {{Py_tp_doc, "The members of nodes."}, {Py_tp_traverse, traverse_node}, {Py_tp_clear, clear_node},
                                   {Py_tp_members, node_members}, {Py_tp_getset, node_getset}, {0}};
static PyType_Slot box_slots[] = {{Py_tp_doc, "The members of boxes."}, {Py_tp_traverse, traverse_box}, {Py_tp_clear, clear_box},
                                  {Py_tp_members, box_members}, {0}};
static PyType_Slot value_slots[] = {{Py_tp_doc, "The members of values."}, {Py_tp_traverse, traverse_value}, {Py_tp_clear, clear_value},
                                    {Py_tp_members, value_members}, {0}};
static PyType_Slot geometry_slots[] = {{Py_tp_doc, "The members of geometries."}, {Py_tp_traverse, traverse_geometry}, {Py_tp_clear, clear_geometry},
                                       {Py_tp_members, geometry_members}, {0}};
PyType_Spec node_spec = {"atoll._front.Node", sizeof(Node), 0, BASE_FLAGS, node_slots};
PyType_Spec box_spec = {"atoll._front.Box", sizeof(Box), 0, BASE_FLAGS, box_slots};
PyType_Spec value_spec = {"atoll._front.Value", sizeof(Value), 0, BASE_FLAGS, value_slots};
PyType_Spec geometry_spec = {"atoll._front.Geometry", sizeof(Geometry), 0, BASE_FLAGS, geometry_slots};
PyTypeObject *node_base, *box_base, *value_base, *geometry_base;
