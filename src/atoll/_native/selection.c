/* Selections of indices: a view of the memory, an element of it, or elements that NumPy picks. */
#include "selection.h"

enum { MOST_LISTED = 64, DEEPEST = 4 };  /* numbers of a list that are looked at, and lists in lists */

PyObject *items_of(PyObject *value, int *arrays, int depth) {
    int is_list = PyList_CheckExact(value);
    Py_ssize_t n = PySequence_Fast_GET_SIZE(value), k = 0;
    if (n > MOST_LISTED || depth > DEEPEST) return NULL;
    while (k < n && is_of(python.plain_types, PySequence_Fast_GET_ITEM(value, k))) k++;
    if (k == n) return Py_NewRef(value);
    PyObject *made = is_list ? PyList_New(n) : PyTuple_New(n);
    int same = 1;
    for (k = 0; made != NULL && k < n; k++) {
        PyObject *item = PySequence_Fast_GET_ITEM(value, k), *given = NULL;
        if (Py_TYPE(item) == array_type || is_numpys(item)) {
            given = small_array(item);
            *arrays |= given == NULL ? 0 : given == item || np_of(item) != NULL ? PLAIN : SHOWN;
        } else if (PyList_CheckExact(item) || PyTuple_CheckExact(item)) {
            given = items_of(item, arrays, depth + 1);
        } else if (is_of(python.plain_types, item)) {
            given = Py_NewRef(item);
        }
        if (given == NULL) {
            Py_DECREF(made);
            return NULL;
        }
        same &= given == item;
        if (is_list) PyList_SET_ITEM(made, k, given);
        else PyTuple_SET_ITEM(made, k, given);
    }
    if (!same || made == NULL) return made;
    Py_DECREF(made);
    return Py_NewRef(value);
}

Py_ssize_t listed(PyObject *key) {
    Py_ssize_t n = PyList_CheckExact(key) ? PyList_GET_SIZE(key) : 0, k = 0;
    while (k < n && k < MOST_LISTED && (PyLong_CheckExact(PyList_GET_ITEM(key, k)) || PyArray_IsScalar(PyList_GET_ITEM(key, k), Integer))) k++;
    return n && k == n ? n : -1;
}

static int is_bound(PyObject *number) {
    return number == Py_None || PyLong_CheckExact(number) || PyArray_IsScalar(number, Integer);
}

/* True if a bound is a number of Python's that the machine has, or none. */
static inline int is_plain_bound(PyObject *number, Py_ssize_t none, Py_ssize_t *bound) {
    if (number == Py_None) return *bound = none, 1;
    if (!PyLong_CheckExact(number)) return 0;
    if ((*bound = PyLong_AsSsize_t(number)) != -1 || !PyErr_Occurred()) return 1;
    PyErr_Clear();
    return 0;
}

int is_unpacked(PyObject *item, Py_ssize_t *start, Py_ssize_t *stop, Py_ssize_t *step) {
    PySliceObject *slice = (PySliceObject *)item;
    *step = 1;
    if (slice->step == Py_None && is_plain_bound(slice->start, 0, start) && is_plain_bound(slice->stop, PY_SSIZE_T_MAX, stop)) return 1;
    if (!is_bound(slice->start) || !is_bound(slice->stop) || !is_bound(slice->step)) return 0;
    if (PySlice_Unpack(item, start, stop, step) == 0) return 1;
    PyErr_Clear();
    return 0;
}

/* The number of elements of a slice, and the first one. */
static inline Py_ssize_t extent_between(Py_ssize_t length, Py_ssize_t *start, Py_ssize_t stop, Py_ssize_t step) {
    if (step != 1) return PySlice_AdjustIndices(length, start, &stop, step);
    if (*start < 0 && (*start += length) < 0) *start = 0;
    if (stop < 0) stop += length;
    if (stop > length) stop = length;
    return stop > *start ? stop - *start : 0;
}

int selected_along(int axes, const npy_intp *shape, const npy_intp *strides, PyObject *key, Selection *to) {
    PyObject *const *items = PyTuple_CheckExact(key) ? &PyTuple_GET_ITEM(key, 0) : &key;
    Py_ssize_t n = PyTuple_CheckExact(key) ? PyTuple_GET_SIZE(key) : 1, picked = -1;
    int axis = 0, wide = 0, view = 0, rest;
    to->offset = 0;
    to->size = 1;
    to->axes = 0;
    if (n > NPY_MAXDIMS) return 0;
    for (Py_ssize_t k = 0; k < n; k++) {
        PyObject *item = items[k];
        if (PySlice_Check(item)) {
            Py_ssize_t start, stop, step;
            if (axis == axes || !is_unpacked(item, &start, &stop, &step) || to->axes == NPY_MAXDIMS) return 0;
            Py_ssize_t extent = extent_between(shape[axis], &start, stop, step);
            if (extent <= 0) start = 0, step = 1;  /* as NumPy does */
            to->offset += start * strides[axis];
            to->size *= to->shape[to->axes] = extent;
            to->strides[to->axes++] = step * strides[axis++];
            view = 1;
        } else if (PyLong_CheckExact(item) || PyArray_IsScalar(item, Integer)) {
            Py_ssize_t index = PyLong_CheckExact(item) ? PyLong_AsSsize_t(item) : PyNumber_AsSsize_t(item, NULL);
            if (index == -1 && PyErr_Occurred()) return PyErr_Clear(), 0;
            if (axis == axes) return 0;
            if (index < 0) index += shape[axis];
            if (index < 0 || index >= shape[axis]) return 0;
            to->offset += index * strides[axis++];
        } else if (item == Py_None) {
            if (to->axes == NPY_MAXDIMS) return 0;
            to->shape[to->axes] = 1;
            to->strides[to->axes++] = 0;
            view = 1;
        } else if (item == Py_Ellipsis) {
            if (wide++) return 0;
            rest = axes - axis;
            for (Py_ssize_t later = k + 1; later < n; later++) rest -= items[later] != Py_None;
            for (; rest > 0 && to->axes < NPY_MAXDIMS; rest--, axis++) {
                to->size *= to->shape[to->axes] = shape[axis];
                to->strides[to->axes++] = strides[axis];
            }
            view = 1;
        } else {  /* elements to pick, whose indices are broadcast */
            if (axis == axes) return 0;
            Py_ssize_t length = listed(item);
            int alike = picked == length, used = 1;
            if (length < 0) {
                PyArrayObject *index = (PyArrayObject *)small_array(item);
                int mask = index != NULL && PyArray_ISBOOL(index);
                int fits = index != NULL && PyArray_NDIM(index) && (mask || PyArray_ISINTEGER(index));
                if (fits) {
                    length = mask ? PyArray_CountNonzero(index) : PyArray_SIZE(index);
                    used = mask ? PyArray_NDIM(index) : 1;
                    alike = picked == length && PyArray_NDIM(index) == 1;
                }
                Py_XDECREF(index);
                if (!fits || used > axes - axis || (used > 1 && n > 1)) return 0;
            }
            if (!alike) picked = (picked < 0 ? 1 : picked) * length;
            axis += used;
        }
    }
    to->is_element = !view && axis == axes && picked < 0;
    if (to->axes + axes - axis > NPY_MAXDIMS) return 0;
    for (; axis < axes; axis++) {
        to->size *= to->shape[to->axes] = shape[axis];
        to->strides[to->axes++] = strides[axis];
    }
    to->picks = picked >= 0;
    if (to->picks) to->size *= picked;
    return 1;
}

inline char *element_at(PyArrayObject *array, PyObject *key) {
    int is_tuple = PyTuple_CheckExact(key), axes = PyArray_NDIM(array);
    if (!is_tuple && !PyLong_CheckExact(key)) return NULL;
    if (axes != (is_tuple ? PyTuple_GET_SIZE(key) : 1)) return NULL;
    char *data = PyArray_BYTES(array);
    for (int axis = 0; axis < axes; axis++) {
        PyObject *item = is_tuple ? PyTuple_GET_ITEM(key, axis) : key;
        if (!PyLong_CheckExact(item)) return NULL;
        Py_ssize_t index = PyLong_AsSsize_t(item), extent = PyArray_DIM(array, axis);
        if (index == -1 && PyErr_Occurred()) return PyErr_Clear(), NULL;
        if (index < 0) index += extent;
        if (index < 0 || index >= extent) return NULL;
        data += index * PyArray_STRIDE(array, axis);
    }
    return data;
}

inline char *element_for(PyObject *number, PyArrayObject *array, PyObject *key) {
    return PyFloat_Check(number) && PyArray_TYPE(array) == NPY_DOUBLE && PyArray_ISBEHAVED_RO(array) ? element_at(array, key) : NULL;
}

inline PyObject *element_of(const Selection *where, PyArrayObject *array) {
    return scalar_at(PyArray_BYTES(array) + where->offset, PyArray_DESCR(array), (PyObject *)array);
}

/* Compute an array that is only filled with a number so far, before a few elements are read or written; -1 with an error. */
static int fill_for(Front *front, const Selection *where) {
    PyObject *node = BOX(front->cell)->node;
    if (state_of(node) != PENDING || NODE(node)->op != python.fill) return 0;
    return whole_of(front) > most_filled || !is_few(front, where->size) ? 0 : status_of(PyObject_CallOneArg(python.settle, front->cell));
}

PyObject *get_selected(PyObject *self, PyObject *key) {
    Front *front = (Front *)self;
    Selection where;
    if (!has_view(self) || !selected_in(front, key, &where) || where.picks) return NULL;
    PyObject *value = value_of(front);
    if (value == NULL && fill_for(front, &where) < 0) return NULL;
    PyObject *node = BOX(front->cell)->node;
    if (value == NULL && where.is_element && state_of(node) == PENDING && weight_of(node) >= 0 && settle_array(front) < 0) return NULL;
    value = value_of(front);
    if (where.is_element) return value == NULL ? NULL : scalar_at(PyArray_BYTES(memory_in(value)) + where.offset, dtype_of(front), (PyObject *)memory_in(value));
    if (on_ranks(front) && !is_set(NODE(BOX(front->cell)->node)->place, PLACE_BOXES)) return NULL;  /* which Python may refuse */
    return view_at(self, &where, dtype_of(front));
}

PyObject *assigned(PyObject *value, PyArrayObject *array) {
    int arrays = 0, type = PyArray_DESCR(array)->type_num;
    PyObject *given = PyList_CheckExact(value) || PyTuple_CheckExact(value) ? items_of(value, &arrays, 0) : operand(value);
    if (given != NULL && given != value && type == NPY_OBJECT) Py_CLEAR(given);  /* which may hold arrays */
    if (given != NULL && given == value && type == NPY_OBJECT && !is_of(python.number_types, value)) Py_CLEAR(given);
    return given;
}

/* The steps of an array's axes behind those of a region, which it is broadcast to; 0 where it has another shape. */
static int steps_of(PyArrayObject *given, const Selection *where, npy_intp *steps) {
    int missing = where->axes - PyArray_NDIM(given);
    if (missing < 0) return 0;
    for (int axis = 0; axis < where->axes; axis++) {
        npy_intp extent = axis < missing ? 1 : PyArray_DIM(given, axis - missing);
        if (extent != 1 && extent != where->shape[axis]) return 0;
        steps[axis] = extent == 1 ? 0 : PyArray_STRIDE(given, axis - missing);
    }
    return 1;
}

void reach_of(char **low, char **high, int axes, const npy_intp *shape, const npy_intp *steps) {
    for (int axis = 0; axis < axes; axis++) *(steps[axis] < 0 ? low : high) += (shape[axis] - 1) * steps[axis];
}

enum { MOST_PUT = 4096 };          /* elements of a region that are put here; NumPy lets other threads run meanwhile */

int put_selected(const Selection *where, PyArrayObject *array, PyObject *given) {
    int type = PyArray_TYPE(array);
    npy_intp steps[NPY_MAXDIMS] = {0}, size = PyArray_ITEMSIZE(array);
    npy_cdouble number;
    if (where->size == 0 || where->size > MOST_PUT || !PyArray_ISBEHAVED(array)) return 0;
    if (!PyArray_CheckExact(given)) {
        if (!number_in(given, type, (char *)&number)) return 0;
        copy_axes(PyArray_BYTES(array) + where->offset, (char *)&number, where->axes, where->shape, where->strides, steps, size);
        return 1;
    }
    PyArrayObject *from = (PyArrayObject *)given;
    if (PyArray_TYPE(from) != type || !is_kept(from) || !PyArray_ISNBO(PyArray_DESCR(array)->byteorder)) return 0;
    if (!steps_of(from, where, steps)) return 0;
    char *data = PyArray_BYTES(array) + where->offset, *low = data, *high = data, *first = PyArray_BYTES(from), *last = first;
    int is_same = first == low;
    for (int axis = 0; axis < where->axes; axis++) is_same &= where->shape[axis] == 1 || steps[axis] == where->strides[axis];
    if (is_same) return 1;  /* as Python ends `a[key] += x` */
    reach_of(&low, &high, where->axes, where->shape, where->strides);
    reach_of(&first, &last, where->axes, where->shape, steps);
    if (low < last + size && first < high + size) {
        npy_intp step = where->axes == 1 && steps[0] == where->strides[0] ? (steps[0] < 0 ? -steps[0] : steps[0]) : 0;
        npy_intp between = step ? (PyArray_BYTES(from) - data) % step : 0;  /* as of two columns of a matrix */
        if (between < 0) between += step;
        if (between < size || step - between < size) return 0;
    }
    copy_axes(data, PyArray_BYTES(from), where->axes, where->shape, where->strides, steps, size);
    return 1;
}

int set_in_memory(PyObject *self, PyObject *key, PyObject *value) {
    Selection where;
    if (!has_view(self)) return 0;
    if (value_of((Front *)self) == NULL && selected_in((Front *)self, key, &where) && fill_for((Front *)self, &where) < 0) return -1;
    PyArrayObject *array = (PyArrayObject *)in_memory(self);
    if (array == NULL) return 0;
    PyObject *given = NULL, *value_before = value_of((Front *)self);
    int status = 0, held = is_open(self);
    char *element = may_write((Front *)self) ? element_for(value, array, key) : NULL;
    if (element != NULL) {
        int was = begin_writing((Front *)self, array);
        *(double *)element = PyFloat_AS_DOUBLE(value);
        end_writing(array, was);
        status = 1;
    } else if (may_write((Front *)self) && selected(array, key, &where) && !where.picks && (held || is_few((Front *)self, where.size)) &&
               (given = held && Py_TYPE(value) == array_type ? computed(value) : assigned(value, array)) != NULL &&
               value_of((Front *)self) == value_before && may_write((Front *)self)) {  /* as it was computed, other threads may have changed that */
        int was = begin_writing((Front *)self, array);
        status = put_selected(&where, array, given) || PyObject_SetItem((PyObject *)array, key, given) == 0 ? 1 : -1;
        end_writing(array, was);
    }
    Py_XDECREF(given);
    Py_DECREF(array);
    return PyErr_Occurred() ? -1 : status;
}
