/* Indexing, assignment and iteration: in memory, at index arrays, recorded, or by Python. */
#include "items.h"
#include "buffers.h"
#include "masked.h"

/* ---- elements at index arrays
 *
 * In a process by itself NumPy reads and writes elements at index arrays, in memory, whatever their size. A mask for all elements of an
 * array is left to the runtime, which may record the elements under it, unless NumPy has the mask at hand.
 */

/* The memory of an array of this process, which is evaluated if it is pending; a new reference, NULL without an error where Python
 * has to decide. */
static PyObject *memory_here(PyObject *value) {
    Py_ssize_t size = 0;
    return !is_whole(value) && type_of(value, &size) < 0 ? NULL : memory_for(value);
}

static int is_mask(PyObject *value) {
    Py_ssize_t size = 0;
    return (is_whole(value) ? dtype_of((Front *)value)->type_num : type_of(value, &size)) == NPY_BOOL;
}

static Py_ssize_t axes_of(PyObject *value) {
    Front *front = (Front *)value;
    if (Py_TYPE(value) != array_type) return -1;
    if (np_of(value) != NULL) return PyArray_NDIM((PyArrayObject *)np_of(value));
    return has_view(value) ? axes_in(front) : -1;
}

/* True if NumPy takes the masks of an index: the array is at hand, or they are none for all of its elements. */
static int takes_masks(PyObject *self, PyObject *key) {
    return np_of(self) != NULL || PyTuple_CheckExact(key) || axes_of(key) != axes_of(self);
}

/* A test for index arrays that pick elements. One of integers without axes is an integer, though NumPy copies the selection, which
 * Python records. */
static int picks(PyObject *value) {
    PyArrayObject *array = (PyArrayObject *)value;
    return PyArray_NDIM(array) || !PyArray_ISINTEGER(array);
}

/* An index for NumPy, of an array that is not at hand with at least one index array, or list, that picks elements; a new reference, NULL without
 * an error where it is none. */
static PyObject *picking(PyObject *self, PyObject *key) {
    PyObject *const *items = PyTuple_CheckExact(key) ? &PyTuple_GET_ITEM(key, 0) : &key;
    Py_ssize_t n = PyTuple_CheckExact(key) ? PyTuple_GET_SIZE(key) : 1, arrays = np_of(self) != NULL, basic = 0;
    while (arrays && basic < n && is_basic(items[basic])) basic++;
    if (basic == n) return Py_NewRef(key);
    PyObject *given = PyTuple_New(n);
    int masks = takes_masks(self, key);
    for (Py_ssize_t k = 0; given != NULL && k < n; k++) {
        PyObject *item = items[k], *value = NULL;
        if (is_basic(item)) {
            value = Py_NewRef(item);
        } else if (listed(item) > 0) {
            value = Py_NewRef(item);
            arrays++;
        } else if ((Py_TYPE(item) == array_type || is_numpys(item)) && (masks || np_of(item) != NULL || is_medium(item) || !is_mask(item))) {
            value = is_whole(item) || !among_ranks() ? memory_here(item) : small_array(item);
            arrays += value != NULL && picks(value);
        }
        if (value == NULL) Py_CLEAR(given);
        else PyTuple_SET_ITEM(given, k, value);
    }
    if (given != NULL && !arrays) Py_CLEAR(given);
    if (given == NULL || PyTuple_CheckExact(key)) return given;
    PyObject *only = Py_NewRef(PyTuple_GET_ITEM(given, 0));
    Py_DECREF(given);
    return only;
}

/* True if NumPy may pick elements of an array that is not at hand. */
static int may_pick(PyObject *self) { return is_whole(self) || !among_ranks(); }

/* The elements of an array that index arrays pick; NULL without an error where Python has to decide. */
static PyObject *picked(PyObject *self, PyObject *key) {
    int at = np_of(self) != NULL;
    if (Py_TYPE(self) != array_type || !(at || may_pick(self))) return NULL;
    PyObject *index = picking(self, key), *array = index == NULL ? NULL : memory_here(self), *result = NULL;
    if (array != NULL) {
        result = PyObject_GetItem(array, index);
        if (!at && result != NULL && PyArray_CheckExact(result) && PyArray_BASE((PyArrayObject *)result) != NULL)
            Py_SETREF(result, PyArray_NewCopy((PyArrayObject *)result, NPY_KEEPORDER));
    }
    Py_ssize_t whole = array == NULL ? 0 : PyArray_SIZE((PyArrayObject *)array);
    Py_XDECREF(index);
    Py_XDECREF(array);
    return wrapped_beside(result, whole);
}

/* True if a number, or the elements of an array, were written to where index arrays say; -1 with an error. */
static int put_picked(PyObject *self, PyObject *key, PyObject *value) {
    int at = np_of(self) != NULL, was = 0, status = 0;
    if (Py_TYPE(self) != array_type || !(at || (may_show((Front *)self) && may_pick(self)))) return 0;
    PyObject *index = picking(self, key), *array = NULL, *given = NULL;
    int arrays = 0, is_list = PyList_CheckExact(value) || PyTuple_CheckExact(value);
    if (index != NULL) given = is_list ? items_of(value, &arrays, 0) : is_whole(value) || (is_front(value) && !among_ranks()) ? memory_here(value) : operand(value);
    if (given != NULL) array = memory_here(self);
    if (!(at || (value_of((Front *)self) != NULL && may_write((Front *)self)))) Py_CLEAR(array);  /* evaluating it, or the others, may have changed that */
    if (array != NULL && !(at && PyArray_TYPE((PyArrayObject *)array) == NPY_OBJECT)) {
        if (!at) was = begin_writing((Front *)self, (PyArrayObject *)array);
        status = PyObject_SetItem(array, index, given) < 0 ? -1 : 1;
        if (!at) end_writing((PyArrayObject *)array, was);
    }
    Py_XDECREF(index);
    Py_XDECREF(given);
    Py_XDECREF(array);
    return PyErr_Occurred() ? -1 : status;
}

/* ---- items */

static PyObject *item_of(PyObject *self, PyObject *key) {
    if (may_be_medium(self)) {
        PyObject *view = medium_view(self, key);
        if (view != NULL || PyErr_Occurred()) return view;
    }
    PyArrayObject *array = (PyArrayObject *)np_of(self);
    if (array == NULL) {
        PyObject *result = all_shown(&self, 1) ? get_selected(self, key) : NULL;
        if (result == NULL && !PyErr_Occurred()) result = picked(self, key);
        if (result == NULL && !PyErr_Occurred()) result = record_masked(self, key);
        return result != NULL || PyErr_Occurred() ? result : call_two(general[GETITEM], self, key);
    }
    Selection where;
    char *element = PyArray_DESCR(array)->type_num < NPY_OBJECT ? element_at(array, key) : NULL;
    if (element != NULL) return scalar_at(element, PyArray_DESCR(array), (PyObject *)array);
    if (PyArray_DESCR(array)->type_num < NPY_OBJECT && selected(array, key, &where) && !where.picks) {
        PyObject *result = where.is_element ? element_of(&where, array)
                                            : array_at(&where, PyArray_DESCR(array), PyArray_BYTES(array), (PyObject *)array, PyArray_FLAGS(array) & NPY_ARRAY_WRITEABLE);
        return where.is_element || result == NULL ? result : handle_of(result);
    }
    PyObject *result = picked(self, key);
    return result != NULL || PyErr_Occurred() ? result : call_two(general[GETITEM], self, key);
}

static PyObject *get_item_now(PyObject *self, PyObject *key) { return ended(item_of(self, key)); }
SEEN(get_item, GETITEM, (PyObject * a, PyObject *b), (a, b))

static int put_item(PyObject *self, PyObject *key, PyObject *value) {
    if (value == NULL) {
        PyErr_SetString(PyExc_ValueError, "cannot delete array elements");
        return -1;
    }
    int stored = may_be_medium(self) ? medium_store(self, key, value) : 0;
    if (stored) return stored < 0 ? -1 : 0;
    PyArrayObject *array = (PyArrayObject *)np_of(self);
    char *element = array == NULL ? NULL : element_for(value, array, key);
    if (element != NULL) {
        if (PyArray_FailUnlessWriteable(array, "assignment destination") < 0) return -1;
        *(double *)element = PyFloat_AS_DOUBLE(value);
        return 0;
    }
    PyObject *given = array == NULL ? NULL : assigned(value, array), *index = NULL;
    Selection where;
    if (given != NULL && selected(array, key, &where) && !where.picks) {
        if (PyArray_FailUnlessWriteable(array, "assignment destination") < 0) return Py_DECREF(given), -1;
        if (put_selected(&where, array, given)) return Py_DECREF(given), 0;
    }
    if (given != NULL) index = picking(self, key);
    if (index != NULL) {
        Py_INCREF(array);
        int status = PyObject_SetItem((PyObject *)array, index, given);
        Py_DECREF(array);
        Py_DECREF(given);
        Py_DECREF(index);
        return status;
    }
    Py_XDECREF(given);
    int set = array != NULL && !PyErr_Occurred() ? put_picked(self, key, value) : 0;
    PyObject *both[2] = {self, value};
    int waits = array == NULL && value_of((Front *)self) == NULL;
    if (!set && array == NULL && !PyErr_Occurred() && all_shown(both, 1)) set = set_in_memory(self, key, value);
    if (!set && array == NULL && !PyErr_Occurred() && all_shown(both, 2)) set = record_store(self, key, value);
    if (!set && waits && !PyErr_Occurred() && value_of((Front *)self) != NULL) set = set_in_memory(self, key, value);  /* it was computed meanwhile */
    if (!set && array == NULL && !PyErr_Occurred()) set = store_masked(self, key, value);
    if (!set && array == NULL && !PyErr_Occurred()) set = put_picked(self, key, value);
    if (set > 0) return 0;
    if (PyErr_Occurred()) return -1;
    PyObject *args[4] = {NULL, self, key, value};
    return status_of(PyObject_Vectorcall(general[SETITEM], args + 1, 3 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL));
}

static int set_item(PyObject *self, PyObject *key, PyObject *value) {
    if (!profiling) return ended_with(put_item(self, key, value));
    int begun = begin_call(), status = ended_with(put_item(self, key, value));
    end_call(begun, name_of(SETITEM));
    return status;
}

static Py_ssize_t length(PyObject *self) {
    PyObject *array = np_of(self);
    if (array != NULL && PyArray_NDIM((PyArrayObject *)array)) return PyArray_DIM((PyArrayObject *)array, 0);
    if (has_view(self) && axes_in((Front *)self)) return length_of((Front *)self);
    PyObject *number = ended(PyObject_CallOneArg(general[LEN], self));
    if (number == NULL) return -1;
    Py_ssize_t n = PyLong_AsSsize_t(number);
    Py_DECREF(number);
    return n;
}

typedef struct {
    PyObject_HEAD
    PyObject *array;
    Py_ssize_t next;
} Iterator;

static PyObject *iterator_of(PyObject *self) {
    int axes = (int)axes_of(self);
    if (axes < 0) {
        PyObject *shape = PyObject_GetAttrString(self, "shape");
        if (shape == NULL) return NULL;
        axes = PyTuple_CheckExact(shape) ? (int)PyTuple_GET_SIZE(shape) : 0;
        Py_DECREF(shape);
    }
    if (axes == 0) {
        PyErr_SetString(PyExc_TypeError, "iteration over a 0-d array");
        return NULL;
    }
    if (axes == 1 && Py_TYPE(self) == array_type && np_of(self) == NULL) {
        int fields = PyDataType_HASFIELDS(dtype_of((Front *)self));
        PyObject *elements = NULL;
        reads_only = PyThread_get_thread_ident();
        if (!fields) elements = on_ranks((Front *)self) ? PyObject_CallOneArg((PyObject *)flat_type, self) : PyArray_FROM_O(self);
        reads_only = 0;
        PyObject *iterator = elements == NULL ? NULL : PyObject_GetIter(elements);
        Py_XDECREF(elements);
        if (!fields) return iterator;
    }
    Iterator *iterator = PyObject_New(Iterator, iterator_type);
    if (iterator == NULL) return NULL;
    iterator->array = Py_NewRef(self);
    iterator->next = 0;
    return (PyObject *)iterator;
}

static PyObject *iterator_next(PyObject *self) {
    Iterator *iterator = (Iterator *)self;
    if (iterator->array == NULL) return NULL;
    Py_ssize_t n = PyObject_Size(iterator->array);
    if (n < 0) return NULL;
    if (iterator->next >= n) {
        Py_CLEAR(iterator->array);
        return NULL;
    }
    PyObject *key = PyLong_FromSsize_t(iterator->next++);
    PyObject *item = key == NULL ? NULL : PyObject_GetItem(iterator->array, key);
    Py_XDECREF(key);
    return item;
}

static void iterator_dealloc(PyObject *self) {
    Py_CLEAR(((Iterator *)self)->array);
    free_object(self);
}

static PyType_Slot iterator_slots[] = {
    {Py_tp_dealloc, iterator_dealloc}, {Py_tp_iter, PyObject_SelfIter}, {Py_tp_iternext, iterator_next},
    {Py_tp_doc, "The elements along the first axis."}, {0}};
PyType_Spec iterator_spec = {"atoll._front.Iterator", sizeof(Iterator), 0, CLASS_FLAGS | Py_TPFLAGS_DISALLOW_INSTANTIATION, iterator_slots};
PyTypeObject *iterator_type;

const PyType_Slot item_slots[] = {
    {Py_mp_length, length}, {Py_mp_subscript, get_item}, {Py_mp_ass_subscript, set_item}, {Py_tp_iter, iterator_of}, {0}};
