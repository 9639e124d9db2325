/* Nodes, boxes and values as structs, which Python's classes of these names add methods to. */
#ifndef ATOLL_OBJECTS_H
#define ATOLL_OBJECTS_H
#include "table.h"

enum { INLINE = 3 };

/* An operation or its value: see graph.node. A field without an object has None. */
typedef struct {
    PyObject_HEAD
    PyObject *op, *geometry, *params, *name, *site, *value, *code, *place;
    PyObject *args, *operand[INLINE];  /* args is a tuple; NULL if the operands are in `operand`, where a float stands for NumPy's scalar */
    int operands;
    long mark;                     /* 0 as long as nobody has asked for it */
    long long born, seen;          /* `seen` by which look at a trace: see traces.c */
    double weight;
    int passed;                    /* 0, unless a loop, or ranks, have computed it for others without storing it: see graph.node */
} Node;

/* The box of a base array: see lazy.views. Boxes are linked in the order in which they were made. */
typedef struct Box {
    PyObject_HEAD
    struct Box *former, *next;
    long thread;
    PyObject *node, *geometry, *sites, *first;
    long long pins;
    int pieces;
    char shared, writeable;
} Box;

/* Shape, strides and offset of an array in its base: see graph.geometry. */
typedef struct {
    PyObject_HEAD
    PyObject *base, *shape, *strides, *number, *offset, *through;
    PyArray_Descr *dtype;
    Py_ssize_t size;
    char is_base, is_short, overlapping, writeable, dense, c_contiguous;
} Geometry;

/* Data in memory: see graph.node. */
typedef struct {
    PyObject_HEAD
    PyObject *array, *address, *program, *known;
    double counted;                /* the bytes that are counted of it */
    char pinned, pooled;
} Value;

#define NODE(OBJECT) ((Node *)(OBJECT))
#define BOX(OBJECT) ((Box *)(OBJECT))
#define GEOMETRY(OBJECT) ((Geometry *)(OBJECT))
#define VALUE(OBJECT) ((Value *)(OBJECT))

static inline Py_ssize_t size_of(PyObject *geometry) { return GEOMETRY(geometry)->size; }

static inline int is_node(PyObject *value) { return (PyObject *)Py_TYPE(value) == python.node_type; }

/* The four states of a value: pending or ready, whole or divided among ranks. */
enum { PENDING = 0, READY = 1, DIVIDED = 2 };
static inline int state_of(PyObject *node) {
    return (NODE(node)->value == Py_None ? PENDING : READY) | (NODE(node)->place == Py_None ? 0 : DIVIDED);
}

/* The pending operations that a node consists of; those of a number are none. */
static inline double weight_of(PyObject *value) { return is_node(value) ? NODE(value)->weight : 0; }

/* The operands of a node, nodes and numbers; one of them, borrowed. */
static inline int arity_of(PyObject *node) { return NODE(node)->args == NULL ? NODE(node)->operands : (int)PyTuple_GET_SIZE(NODE(node)->args); }
static inline PyObject *argument_of(PyObject *node, int number) {
    return NODE(node)->args == NULL ? NODE(node)->operand[number] : PyTuple_GET_ITEM(NODE(node)->args, number);
}

/* Give a node that has none operands, whose references it takes; -1 with an error. Let it have none any more. */
int set_operands(PyObject *node, PyObject *const *operands, int count);
void drop_operands(PyObject *node);

/* A number among operands as Python sees it; a new reference. */
PyObject *scalar_of(PyObject *number);

/* A new object with all of its members unset, but for its class; no object of these kinds is tracked by the collector at first. */
PyObject *new_node_object(void);
PyObject *new_box_object(void);
PyObject *new_value_object(void);

/* The end of a box, and of a value, as others see it first. */
void end_box(PyObject *box);
void end_node(PyObject *node);
void end_value(PyObject *value);

extern PyType_Spec node_spec, box_spec, value_spec, geometry_spec;
extern PyTypeObject *node_base, *box_base, *value_base, *geometry_base;

#endif
