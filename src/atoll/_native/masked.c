/* Elements under a mask for all of an array.
 *
 * The mask is computed, since the result has as many elements as it is true. The elements are not: arithmetic on them that is assigned
 * through the same mask is done on the whole arrays (lazy.masks). Read in any other way, they are picked (stepwise.c).
 */
#include "masked.h"
#include "call_sites.h"
#include "recorder.h"

/* An array of this process whose memory the program does not hold, and whose value can be computed now. */
static int is_own(PyObject *array) {
    Front *front = (Front *)array;
    return !is_medium(array) && is_large(array) && !on_ranks(front) && weight_of(BOX(front->cell)->node) >= 0 && is_free(front->cell);
}

static int is_mask_for(Front *mask, Front *front) {
    Selection where, elements;
    if (dtype_of(mask)->type_num != NPY_BOOL || !GEOMETRY(mask->geometry)->is_base) return 0;
    return view_of(mask, &where) && view_of(front, &elements) && where.axes == elements.axes && are_same(where.shape, elements.shape, where.axes);
}

/* The number of true elements of a mask in memory, counted once. */
static Py_ssize_t true_elements(PyObject *value) {
    if (VALUE(value)->count < 0) VALUE(value)->count = PyArray_CountNonzero(memory_in(value));
    return VALUE(value)->count;
}

/* True if C records operations on an array under a mask. */
static int are_masked(PyObject *array, PyObject *mask) {
    if (!recording || shown || Py_TYPE(mask) != array_type || Py_TYPE(array) != array_type || among_ranks() || !in_world_of_process()) return 0;
    return is_own(array) && is_own(mask) && is_mask_for((Front *)mask, (Front *)array);
}

PyObject *record_masked(PyObject *array, PyObject *mask) {
    if (!are_masked(array, mask)) return NULL;
    PyArray_Descr *dtype = dtype_of((Front *)array);
    PyObject *box = ((Front *)mask)->cell;
    if (!is_native((PyObject *)dtype) || settle_box(box) < 0) return NULL;
    PyObject *chosen = Py_NewRef(BOX(box)->node), *geometry = NULL, *form = NULL, *node = NULL;
    if (state_of(chosen) == READY) {
        Py_ssize_t elements = true_elements(NODE(chosen)->value);
        geometry = dense_geometry(1, &elements, dtype);
    }
    if (geometry != NULL) form = Py_BuildValue("OO()sOO", python.compress_op, geometry, "", Py_None, Py_None);
    if (form != NULL) {
        PyObject *operands[2] = {node_of(array), Py_NewRef(chosen)};
        node = new_node(form, operands, 2, site_here());
    }
    Py_DECREF(chosen);
    Py_XDECREF(geometry);
    Py_XDECREF(form);
    return array_of(node);
}

int store_masked(PyObject *array, PyObject *mask, PyObject *number) {
    Front *front = (Front *)array;
    if (!are_masked(array, mask) || !may_show(front) || GEOMETRY(front->geometry)->overlapping) return 0;
    return record_number(front->cell, front->geometry, number, BOX(((Front *)mask)->cell)->node);
}
