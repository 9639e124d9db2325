/* The memory of arrays. */
#ifndef ATOLL_MEMORY_H
#define ATOLL_MEMORY_H
#include "forms.h"
#include "handles.h"

/* The selection of an index: a view of `size` elements, an element (`is_element`), or at most `size` elements to pick. It lies `offset` bytes
 * behind the first element of the array, or of the base. */
typedef struct {
    npy_intp offset;
    Py_ssize_t size;
    int axes, is_element, picks;
    npy_intp shape[NPY_MAXDIMS], strides[NPY_MAXDIMS];
} Selection;

/* The geometry of a view that was met before, borrowed, else NULL. Remember one, if there is memory for it. The key is the geometry of the base
 * and a dtype, a geometry and the method that makes the view, or a dtype and the function for memory; and numbers. */
enum { VIEW_NUMBERS = 2 * BY_VALUE + 1, TUPLE_ITEM = -3 };
PyObject *view_met(const size_t *key, int count);
void keep_view(const size_t *key, int count, PyObject *geometry);

/* The key of a view of a dtype that an array with a box has, or that is taken of it: how many parts it has, 0 for too many axes. Its geometry; a new
 * reference. */
int view_key(Front *front, PyArray_Descr *dtype, npy_intp offset, int axes, const npy_intp *shape, const npy_intp *strides, size_t *key);
PyObject *geometry_for(Front *front, PyArray_Descr *dtype, npy_intp offset, int axes, const npy_intp *shape, const npy_intp *strides);

enum { NUMBER = -1, NOTHING = -2 }; /* the type of an operand that is a number, or neither that nor an array of this process */

extern Py_ssize_t multiple;        /* of the elements of a small array, up to which every rank has all of an array unless the settings say otherwise */
extern Py_ssize_t pieces;          /* an array has small parts of at most its size divided by this */
extern Py_ssize_t most_filled;     /* elements up to which a new array is filled when a few are read or written */

/* NumPy's array of a selection in the memory at `data`, which `owner` keeps; a new reference. */
PyObject *array_at(const Selection *where, PyArray_Descr *dtype, char *data, PyObject *owner, int flags);

/* True if an index is one of integers, slices, short lists and few indices, for an array with these axes; else Python decides, as on
 * errors. The same for a NumPy array, and for an array with a box, in the memory of its base. */
int selected_along(int axes, const npy_intp *shape, const npy_intp *strides, PyObject *key, Selection *to);
static inline int selected(PyArrayObject *array, PyObject *key, Selection *to) {
    return selected_along(PyArray_NDIM(array), PyArray_DIMS(array), PyArray_STRIDES(array), key, to);
}
int selected_in(Front *front, PyObject *key, Selection *to);

/* The view that a geometry describes; returns true if its integers are those of the machine. */
int lies(PyObject *geometry, Selection *to);

/* The dtype of an array with a box, borrowed, how many elements and axes it has, and the length of the first one. */
PyArray_Descr *dtype_of(Front *front);
Py_ssize_t count_of(Front *front);
Py_ssize_t length_of(Front *front);
int axes_in(Front *front);

/* The number of elements of an array that views are taken of. */
static inline Py_ssize_t whole_of(Front *front) { return size_of(BOX(front->cell)->geometry); }

/* The elements up to which every rank has all of a new array, by the settings in force. */
Py_ssize_t everywhere_now(void);

/* True if NumPy may finish a view before a launch begins: few elements, or a small part of an array. On ranks, where a value may
 * be there on some only, this is as where it is pending: see lazy.conversion.present. */
int is_few(Front *front, Py_ssize_t size);

/* The value, or the tile of it, that has the elements of a computed array in memory, borrowed; else NULL. */
PyObject *value_of(Front *front);

static inline PyArrayObject *memory_in(PyObject *value) {
    return (PyArrayObject *)(PyArray_CheckExact(value) ? value : VALUE(value)->array);
}

/* True if a value is an array with a box, which is known by its view. */
static inline int has_view(PyObject *value) {
    Front *front = (Front *)value;
    return Py_TYPE(value) == array_type && front->np == Py_None && front->cell != NULL && (front->geometry != NULL || front->view.dtype != NULL);
}

/* True if an array with a box is not divided among ranks. */
static inline int is_whole(PyObject *value) { return has_view(value) && !on_ranks((Front *)value); }

/* The elements of an array in memory, of any size; a new reference, NULL without an error where they are not there. The same for few
 * elements, and for arrays that stay with NumPy; of arrays of NumPy's, too; as what NumPy takes in place of an operand. */
PyObject *in_memory(PyObject *array);
PyObject *at_hand(PyObject *array);
PyObject *small_array(PyObject *value);
PyObject *operand(PyObject *value);

/* The object that NumPy gets for an operand of a type, which is evaluated if it is pending; a new reference, NULL without an error for a value
 * that comes later. */
PyObject *memory_for(PyObject *value);

/* The type of an operand, to whose size `size` grows. */
int type_of(PyObject *value, Py_ssize_t *size);

/* Views of an array may be shown unless it is read-only, for then their geometries say so. An array in memory may be
 * written to if nothing else has the same value. */
int may_show(Front *front);
int may_write(Front *front);

/* True if the memory of a box is its own. */
int is_free(PyObject *box);

/* True if the program holds the memory of an array: NumPy writes into it at the call, however large it is. */
int is_open(PyObject *array);

/* An operand of any size for NumPy, which is computed now; a new reference, NULL with or without an error. */
PyObject *computed(PyObject *value);

/* The memory of a value may be written to: known facts of its elements hold no longer. */
void forget_what_is_known(PyObject *value);

/* The memory of an array may be written to, from here to the end. */
int begin_writing(Front *front, PyArrayObject *memory);
void end_writing(PyArrayObject *memory, int was);

/* Let a box know the array that views of it have as their base; -1 with an error. */
int remember_first(PyObject *box, PyObject *array);

/* A view of an array with a box. The same from NumPy's view of the memory that it has; steals the reference. */
PyObject *view_at(PyObject *array, const Selection *where, PyArray_Descr *dtype);
PyObject *view_in(PyObject *array, PyArrayObject *shown);

/* Give an array with a box a geometry; steals the reference. */
void set_geometry(Front *front, PyObject *geometry);

/* The geometry of an array with a box, borrowed, which a view by value is given when it is asked for; NULL with an error. */
PyObject *geometry_of(Front *front);

/* Give a node its value as it was computed before: 1, or 0 where Python has to do it; -1 with an error. Defined in replay.c, which works with
 * arrays in memory. */
int evaluate_again(PyObject *node);

/* True if an array of this process has a value that can be computed now, but is not. */
static inline int is_pending(PyObject *value) {
    Front *front = (Front *)value;
    if (Py_TYPE(value) != array_type || front->np != Py_None || front->cell == NULL) return 0;
    PyObject *node = BOX(front->cell)->node;
    return state_of(node) == PENDING && weight_of(node) >= 0;
}

/* Compute the value of an array with a box, or of a box; -1 with an error. The memory of one of medium size, for reading. */
int settle_array(Front *front);
int settle_box(PyObject *cell);
PyObject *medium_memory(PyObject *array);

/* A result, or NULL as it is, whose arrays are computed now; NULL with an error. Steals the result. */
PyObject *settled_result(PyObject *made);

/* The view of an array with a box, where its elements are in the memory of its base; whether it has one. */
int view_of(Front *front, Selection *room);

#endif
