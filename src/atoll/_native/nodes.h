/* Nodes, boxes and values: objects of Python's that C makes. */
#ifndef ATOLL_NODES_H
#define ATOLL_NODES_H
#include "call_sites.h"
#include "memory.h"

/* A node of a form: what graph.node.node_of makes, and on ranks lazy.rank_operands.entered of it. Takes the references to the operands, of which one
 * may be NULL with an error, and to `site`. */
PyObject *new_node(PyObject *form, PyObject *const *operands, int count, PyObject *site);

/* A value over memory; steals the reference. An array of NumPy's that waits for a value of this shape, or NULL. */
PyObject *new_value(PyObject *array, int pooled);
PyObject *waiting_memory(PyArray_Descr *dtype, int ndim, const npy_intp *shape, const npy_intp *strides);

/* Give a node its value, which it needs no operands for any more. */
void settle(PyObject *node, PyObject *value);

/* A box for a node, noted among those of this thread: what lazy.views.boxed makes. Steals the node. */
PyObject *new_box(PyObject *node);

/* An array of a box with a geometry; steals the box. Another array of the same box; steals the geometry. */
PyObject *handle_on(PyObject *box, PyObject *geometry);
PyObject *view_on(PyObject *array, PyObject *geometry);

/* A small array as it is now, as a node; a new reference. */
PyObject *snapshot(PyArrayObject *array);

/* The key of the geometry of memory among those of views: the number of its parts, 0 for too many axes. */
int memory_key(PyArrayObject *array, size_t *key);

/* True if a node has one reference, and its memory no other owners than the node and as many holders. */
int is_sole(PyObject *node, int holders);

/* True if an array is all that knows its memory, in which the elements lie in order. Give the memory of an array that stays with NumPy to a box;
 * whether that was possible. */
int has_own_memory(PyArrayObject *array);
int box_memory(PyObject *array);

/* An array over what NumPy has made; steals the reference. A large one is recorded from here on. On ranks it stays whole beside an array of at
 * least as many elements that every rank has, `whole`. */
PyObject *wrapped(PyObject *result);
PyObject *wrapped_beside(PyObject *result, Py_ssize_t whole);

/* The value of an array as a node, which reads the view where it is one; a new reference. What the nodes of a view have in common,
 * borrowed; NULL with an error. */
PyObject *node_of(PyObject *array);
PyObject *through_of(PyObject *view);

/* The geometry by which operations on a view are found, borrowed: that of its elements in memory of their own, whose order decides that of results
 * as the view's does, unless it repeats elements. NULL with an error. */
PyObject *read_of(PyObject *geometry);

/* True if an array is large, NumPy may be asked for few elements, and for those of this array, which are there, and
 * kernels have a dtype. */
int is_large(PyObject *value);
int is_short(PyObject *geometry);

/* The geometry of an array that fills its memory in C order; a new reference. */
PyObject *dense_geometry(int axes, const Py_ssize_t *shape, PyArray_Descr *dtype);

int is_read_at_once(PyObject *array);

/* True if an array is a short view of an array on ranks. Python counts the reads of such views, alike on all ranks. */
int is_counted(PyObject *array);

int is_native(PyObject *dtype);

/* Note the ends of Python's classes. */
void install_nodes(void);

extern _Thread_local int is_recording_medium; /* whether the thread's latest operation on arrays of medium size was recorded */
extern int learning;               /* calls of which recipes are learnt */
extern PyMethodDef node_methods[];

#endif
