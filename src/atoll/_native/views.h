/* The geometries of views, which are remembered by what they were made of. */
#ifndef ATOLL_VIEWS_H
#define ATOLL_VIEWS_H
#include "forms.h"
#include "tiles.h"

/* What an index selects of an array: a view of so many elements, an element (`is_element`), or elements to pick, at most so many. It is
 * so many bytes behind the first element of the array, or of the base. */
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

#endif
