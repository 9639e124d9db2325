/* Indexing, assignment and iteration: included by _front.c. */

enum { MOST_LISTED = 64, DEEPEST = 4 };  /* numbers of a list that are looked at, and lists in lists */
enum { PLAIN = 1, SHOWN = 2, FOREIGN = 4 };  /* what arrays are among arguments: that stay with NumPy, short views, and NumPy's own */

/* A list or tuple for NumPy: itself, or another with arrays unwrapped; a new reference, or NULL. */
static PyObject *items_of(PyObject *value, int *arrays, int depth) {
    int is_list = PyList_CheckExact(value);
    Py_ssize_t n = PySequence_Fast_GET_SIZE(value), k = 0;
    if (n > MOST_LISTED || depth > DEEPEST) return NULL;
    while (k < n && is_of(passed, PySequence_Fast_GET_ITEM(value, k))) k++;
    if (k == n) return Py_NewRef(value);
    PyObject *made = is_list ? PyList_New(n) : PyTuple_New(n);
    int same = 1;
    for (k = 0; made != NULL && k < n; k++) {
        PyObject *item = PySequence_Fast_GET_ITEM(value, k), *given = NULL;
        if (Py_TYPE(item) == array_type || is_numpys(item)) {
            given = small_array(item);
            *arrays |= given == NULL ? 0 : given == item || plain(item) != NULL ? PLAIN : SHOWN;
        } else if (PyList_CheckExact(item) || PyTuple_CheckExact(item)) {
            given = items_of(item, arrays, depth + 1);
        } else if (is_of(passed, item)) {
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

static inline int is_basic(PyObject *key) {
    return PyLong_CheckExact(key) || PySlice_Check(key) || key == Py_None || key == Py_Ellipsis ||
           (PyArray_IsScalar(key, Integer));
}

/* The length of a short list of integers, -1 for anything else. */
static Py_ssize_t listed(PyObject *key) {
    Py_ssize_t n = PyList_CheckExact(key) ? PyList_GET_SIZE(key) : 0, k = 0;
    while (k < n && k < MOST_LISTED && (PyLong_CheckExact(PyList_GET_ITEM(key, k)) || PyArray_IsScalar(PyList_GET_ITEM(key, k), Integer))) k++;
    return n && k == n ? n : -1;
}

/* What NumPy gets as the index: a new reference; NULL without an error where Python has to decide. */
static PyObject *index_of(PyObject *key) {
    if (is_basic(key) || listed(key) > 0) return Py_NewRef(key);
    PyObject *array = small_array(key);
    if (array != NULL) return array;
    if (!PyTuple_CheckExact(key)) return NULL;
    Py_ssize_t n = PyTuple_GET_SIZE(key), basic = 0;
    while (basic < n && is_basic(PyTuple_GET_ITEM(key, basic))) basic++;
    if (basic == n) return Py_NewRef(key);
    PyObject *items = PyTuple_New(n);
    for (Py_ssize_t k = 0; items != NULL && k < n; k++) {
        PyObject *item = PyTuple_GET_ITEM(key, k);
        item = k < basic || is_basic(item) || listed(item) > 0 ? Py_NewRef(item) : small_array(item);
        if (item == NULL) {
            Py_DECREF(items);
            return NULL;
        }
        PyTuple_SET_ITEM(items, k, item);
    }
    return items;
}

static int is_bound(PyObject *number) {
    return number == Py_None || PyLong_CheckExact(number) || PyArray_IsScalar(number, Integer);
}

int is_unpacked(PyObject *item, Py_ssize_t *start, Py_ssize_t *stop, Py_ssize_t *step) {
    PySliceObject *slice = (PySliceObject *)item;
    if (!is_bound(slice->start) || !is_bound(slice->stop) || !is_bound(slice->step)) return 0;
    if (PySlice_Unpack(item, start, stop, step) == 0) return 1;
    PyErr_Clear();
    return 0;
}

/* Whether an index is one of integers, slices, short lists and few indices; else Python decides, as on errors. */
static int selected(PyArrayObject *array, PyObject *key, Selection *to) {
    PyObject *const *items = PyTuple_CheckExact(key) ? &PyTuple_GET_ITEM(key, 0) : &key;
    Py_ssize_t n = PyTuple_CheckExact(key) ? PyTuple_GET_SIZE(key) : 1, picked = -1, extent;
    int axis = 0, axes = PyArray_NDIM(array), wide = 0, view = 0, rest;
    const npy_intp *shape = PyArray_DIMS(array), *strides = PyArray_STRIDES(array);
    to->data = PyArray_BYTES(array);
    to->size = 1;
    to->axes = 0;
    if (n > NPY_MAXDIMS) return 0;
    for (Py_ssize_t k = 0; k < n; k++) {
        PyObject *item = items[k];
        if (item == Py_None) {
            if (to->axes == NPY_MAXDIMS) return 0;
            to->shape[to->axes] = 1;
            to->strides[to->axes++] = 0;
            view = 1;
            continue;
        }
        if (item == Py_Ellipsis) {
            if (wide++) return 0;
            rest = axes - axis;
            for (Py_ssize_t later = k + 1; later < n; later++) rest -= items[later] != Py_None;
            for (; rest > 0 && to->axes < NPY_MAXDIMS; rest--, axis++) {
                to->size *= to->shape[to->axes] = shape[axis];
                to->strides[to->axes++] = strides[axis];
            }
            view = 1;
            continue;
        }
        if (axis >= axes) return 0;
        extent = shape[axis];
        if (PyLong_CheckExact(item) || PyArray_IsScalar(item, Integer)) {
            Py_ssize_t index = PyLong_CheckExact(item) ? PyLong_AsSsize_t(item) : PyNumber_AsSsize_t(item, NULL);
            if (index == -1 && PyErr_Occurred()) {
                PyErr_Clear();
                return 0;
            }
            if (index < 0) index += extent;
            if (index < 0 || index >= extent) return 0;
            to->data += index * strides[axis++];
        } else if (PySlice_Check(item)) {
            Py_ssize_t start, stop, step;
            if (!is_unpacked(item, &start, &stop, &step) || to->axes == NPY_MAXDIMS) return 0;
            extent = PySlice_AdjustIndices(extent, &start, &stop, step);
            if (extent > 0) to->data += start * strides[axis];
            to->size *= to->shape[to->axes] = extent;
            to->strides[to->axes++] = step * strides[axis++];
            view = 1;
        } else {  /* elements to pick, whose indices are broadcast */
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

/* The element at one integer for each axis; NULL for any other index. */
static inline char *element_at(PyArrayObject *array, PyObject *key) {
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

/* The element that takes a number of floating point without any conversion, at one integer for each axis; else NULL. */
static inline char *element_for(PyObject *number, PyArrayObject *array, PyObject *key) {
    return PyFloat_Check(number) && PyArray_TYPE(array) == NPY_DOUBLE && PyArray_ISBEHAVED_RO(array) ? element_at(array, key) : NULL;
}

static inline PyObject *element_of(const Selection *where, PyArrayObject *array) {
    return PyArray_Scalar(where->data, PyArray_DESCR(array), (PyObject *)array);
}

/* The elements of an array; one that is only filled with a number so far is computed before a part of it is read or written. */
static PyArrayObject *in_memory_for(PyObject *self, PyObject *key) {
    PyObject *array = in_memory(self);
    Front *front = (Front *)self;
    if (array != NULL || front->cell == NULL || front->np != Py_None || Py_TYPE(self) != array_type) return (PyArrayObject *)array;
    PyObject *node = field(front->cell, NODE), *value = field(node, VALUE);
    Selection where;
    if ((value != NULL && value != Py_None) || field(node, PLACE) != Py_None || field(node, OP) != filled) return NULL;
    if (front->geometry == NULL || !selected((PyArrayObject *)field(front->geometry, SHADOW), key, &where)) return NULL;
    if (!is_few(front, where.size) || whole_of(front) > most_filled) return NULL;
    PyObject *settled_value = PyObject_CallMethod(front->cell, "settle", NULL);
    if (settled_value == NULL) return NULL;
    Py_DECREF(settled_value);
    return (PyArrayObject *)in_memory(self);
}

/* Whether NumPy may pick so many elements; on ranks as lazy.indexing says. */
static inline int may_pick(Py_ssize_t size) { return among_ranks() ? size <= shortest && size < small_now() : size < limit; }

/* Elements of an array in memory, or a short view of it; NULL without an error where Python has to decide. */
static PyObject *get_in_memory(PyObject *self, PyObject *key) {
    PyArrayObject *array = in_memory_for(self, key);
    if (array == NULL) return NULL;
    Selection where;
    PyObject *result = NULL, *index;
    Front *front = (Front *)self;
    char *element = element_at(array, key);
    if (element != NULL) {
        result = PyArray_Scalar(element, PyArray_DESCR(array), (PyObject *)array);
    } else if (selected(array, key, &where)) {
        if (where.is_element) {
            result = element_of(&where, array);
        } else if (!where.picks) {
            if (is_few(front, where.size) && may_show(front)) result = array_of(&where, array, value_of(front), 0);
            if (result != NULL) result = view_in(self, (PyArrayObject *)result);
        } else if (may_pick(where.size) && (index = index_of(key)) != NULL) {
            result = wrapped(PyObject_GetItem((PyObject *)array, index));
            Py_DECREF(index);
        }
    }
    Py_DECREF(array);
    return result;
}

/* What NumPy takes in place of a value that is assigned: a list of numbers as it is. */
static PyObject *assigned(PyObject *value, PyArrayObject *array) {
    int arrays = 0, type = PyArray_DESCR(array)->type_num;
    PyObject *given = PyList_CheckExact(value) || PyTuple_CheckExact(value) ? items_of(value, &arrays, 0) : operand(value);
    if (given != NULL && given != value && type == NPY_OBJECT) Py_CLEAR(given);  /* which may hold arrays */
    if (given != NULL && given == value && type == NPY_OBJECT && !is_of(scalars, value)) Py_CLEAR(given);
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

/* The bytes from the first to the last element along some axes. */
static void reach_of(char **low, char **high, int axes, const npy_intp *shape, const npy_intp *steps) {
    for (int axis = 0; axis < axes; axis++) *(steps[axis] < 0 ? low : high) += (shape[axis] - 1) * steps[axis];
}

/* Rows of elements of one type; a number has no steps. */
#define COPY_ROW(TYPE)                                                                           \
    case sizeof(TYPE):                                                                           \
        if (from_step) {                                                                         \
            for (npy_intp k = 0; k < n; k++) *(TYPE *)(to + k * to_step) = *(TYPE *)(from + k * from_step); \
        } else {                                                                                 \
            TYPE value = *(TYPE *)from;                                                          \
            for (npy_intp k = 0; k < n; k++) *(TYPE *)(to + k * to_step) = value;                \
        }                                                                                        \
        break;

static void copy_axes(char *to, char *from, int axes, const npy_intp *shape, const npy_intp *to_steps, const npy_intp *from_steps, npy_intp size) {
    npy_intp n = axes ? shape[0] : 1, to_step = axes ? to_steps[0] : size, from_step = axes ? from_steps[0] : size;
    if (axes > 1) {
        for (; n--; to += to_step, from += from_step) copy_axes(to, from, axes - 1, shape + 1, to_steps + 1, from_steps + 1, size);
        return;
    }
    if (to_step == size && (from_step == size || (from_step == 0 && n > 64))) {
        npy_intp done = from_step ? n : 1;
        memcpy(to, from, done * size);
        for (; done < n; done *= 2) memcpy(to + done * size, to, (done < n - done ? done : n - done) * size);
        return;
    }
    switch (size) {
        COPY_ROW(npy_uint8)
        COPY_ROW(npy_uint16)
        COPY_ROW(npy_uint32)
        COPY_ROW(npy_uint64)
        default:
            for (; n--; to += to_step, from += from_step) memcpy(to, from, size);
    }
}

enum { MOST_PUT = 4096 };          /* elements of a region that are put here; NumPy lets other threads run meanwhile */

/* Whether elements of an array took a number, or those of an array of the same type, without any conversion; else NumPy assigns. */
static int put_selected(const Selection *where, PyArrayObject *array, PyObject *given) {
    int type = PyArray_TYPE(array);
    npy_intp steps[NPY_MAXDIMS] = {0}, size = PyArray_ITEMSIZE(array);
    npy_cdouble number;
    if (where->size == 0 || where->size > MOST_PUT || !PyArray_ISBEHAVED(array)) return 0;
    if (!PyArray_CheckExact(given)) {
        if (!number_in(given, type, (char *)&number)) return 0;
        copy_axes(where->data, (char *)&number, where->axes, where->shape, where->strides, steps, size);
        return 1;
    }
    PyArrayObject *from = (PyArrayObject *)given;
    if (PyArray_TYPE(from) != type || !is_kept(from) || !PyArray_ISNBO(PyArray_DESCR(array)->byteorder)) return 0;
    if (!steps_of(from, where, steps)) return 0;
    char *low = where->data, *high = where->data, *first = PyArray_BYTES(from), *last = first;
    int is_same = first == low;
    for (int axis = 0; axis < where->axes; axis++) is_same &= where->shape[axis] == 1 || steps[axis] == where->strides[axis];
    if (is_same) return 1;  /* as Python ends `a[key] += x` */
    reach_of(&low, &high, where->axes, where->shape, where->strides);
    reach_of(&first, &last, where->axes, where->shape, steps);
    if (low < last + size && first < high + size) {
        npy_intp step = where->axes == 1 && steps[0] == where->strides[0] ? (steps[0] < 0 ? -steps[0] : steps[0]) : 0;
        npy_intp between = step ? (PyArray_BYTES(from) - where->data) % step : 0;  /* as of two columns of a matrix */
        if (between < 0) between += step;
        if (between < size || step - between < size) return 0;
    }
    copy_axes(where->data, PyArray_BYTES(from), where->axes, where->shape, where->strides, steps, size);
    return 1;
}

/* Whether elements of an array in memory were written: a few, or as many as NumPy has computed; -1 with an error. */
static int set_in_memory(PyObject *self, PyObject *key, PyObject *value) {
    PyArrayObject *array = in_memory_for(self, key);
    if (array == NULL) return PyErr_Occurred() ? -1 : 0;
    PyObject *computed = Py_TYPE(value) == array_type && ((Front *)value)->large ? np_of(value) : NULL;
    PyObject *given = NULL, *index = NULL;
    Selection where;
    int status = 0;
    if (on_ranks((Front *)self) && may_show((Front *)self) && selected(array, key, &where) && !where.picks && is_few((Front *)self, where.size) &&
        (given = assigned(value, array)) != NULL) {
        PyObject *region = array_of(&where, array, (PyObject *)array, NPY_ARRAY_WRITEABLE);
        if (region == NULL) status = -1;
        else if (is_itself((Front *)self, (PyArrayObject *)region, value, given)) status = 1;
        else status = write_on_ranks((Front *)self, (PyArrayObject *)region, given);
        Py_XDECREF(region);
    }
    char *element = may_write((Front *)self) ? element_for(value, array, key) : NULL;
    if (element != NULL) {
        int was = begin_writing((Front *)self, array);
        *(double *)element = PyFloat_AS_DOUBLE(value);
        end_writing(array, was);
        status = 1;
    } else if (may_write((Front *)self) && selected(array, key, &where) &&
        (where.picks ? may_pick(where.size) : computed != NULL || is_few((Front *)self, where.size)) &&
        (given = computed != NULL ? Py_NewRef(computed) : assigned(value, array)) != NULL) {
        int was = begin_writing((Front *)self, array);
        if (!where.picks && put_selected(&where, array, given)) status = 1;
        else if ((index = index_of(key)) != NULL) status = PyObject_SetItem((PyObject *)array, index, given) < 0 ? -1 : 1;
        end_writing(array, was);
        Py_XDECREF(index);
    }
    Py_XDECREF(given);
    Py_DECREF(array);
    return status;
}

/* A large view of an array in memory, where slices move all the time: its geometry is made if anything asks for it. */
static PyObject *get_moving(PyObject *self, PyObject *key, int is_known) {
    static PyObject *moving;       /* the geometry whose slices have moved; only ever compared */
    static int times;
    Front *front = (Front *)self;
    if (is_known || front->geometry == NULL || front->geometry != moving) {
        if (!is_known || front->geometry == moving) times = 0;
        if (!is_known) moving = front->geometry;
        return NULL;
    }
    if (++times < MOVED || !may_show(front) || on_ranks(front)) return NULL;
    PyArrayObject *array = (PyArrayObject *)in_memory(self);
    Selection where;
    PyObject *view = NULL;
    if (array != NULL && selected(array, key, &where) && !where.is_element && !where.picks)
        view = array_of(&where, array, field(field(front->cell, NODE), VALUE), 0);
    Py_XDECREF(array);
    return view == NULL ? NULL : view_in(self, (PyArrayObject *)view);
}

static PyObject *medium_view(PyObject *self, PyObject *key);
static int medium_store(PyObject *self, PyObject *key, PyObject *value);

static PyObject *item_of(PyObject *self, PyObject *key) {
    PyObject *view = awake ? medium_view(self, key) : NULL;
    if (view != NULL || (awake && PyErr_Occurred())) return view;
    PyArrayObject *array = (PyArrayObject *)plain(self);
    if (array == NULL) {
        PyObject *result = item_at_hand(self, key);
        if (result == NULL && !PyErr_Occurred() && np_of(self) != NULL) result = picked(self, key);
        if (result == NULL && !PyErr_Occurred() && adopted_all(&self, 1)) result = get_in_memory(self, key);
        if (result == NULL && !PyErr_Occurred()) {
            result = record_view(self, key);
            if (!PyErr_Occurred() && is_front(self)) {
                PyObject *moved = get_moving(self, key, result != NULL);
                if (moved != NULL) result = moved;
            }
        }
        if (result == NULL && !PyErr_Occurred()) result = picked(self, key);
        if (result != NULL || PyErr_Occurred()) return result;
        result = call_two(general[GETITEM], self, key);
        if (result != NULL) remember_view(self, key, result);
        return result;
    }
    Selection where;
    char *element = PyArray_DESCR(array)->type_num < NPY_OBJECT ? element_at(array, key) : NULL;
    if (element != NULL) return PyArray_Scalar(element, PyArray_DESCR(array), (PyObject *)array);
    if (PyArray_DESCR(array)->type_num < NPY_OBJECT && selected(array, key, &where) && !where.picks) {
        PyObject *result = where.is_element ? element_of(&where, array)
                                            : array_of(&where, array, (PyObject *)array, PyArray_FLAGS(array) & NPY_ARRAY_WRITEABLE);
        return where.is_element || result == NULL ? result : handle_of(result);
    }
    PyObject *index = index_of(key), *result = NULL;
    if (index == NULL) {
        if (!PyErr_Occurred()) result = picked(self, key);
        return result != NULL || PyErr_Occurred() ? result : call_two(general[GETITEM], self, key);
    }
    result = with_two(PyObject_GetItem, (PyObject *)array, index);
    Py_DECREF(index);
    return wrapped(result);
}

static PyObject *get_item_now(PyObject *self, PyObject *key) { return ended(item_of(self, key)); }
SEEN_TWO(get_item, GETITEM)

static int put_item(PyObject *self, PyObject *key, PyObject *value) {
    if (value == NULL) {
        PyErr_SetString(PyExc_ValueError, "cannot delete array elements");
        return -1;
    }
    int stored = awake ? medium_store(self, key, value) : 0;
    if (stored) return stored < 0 ? -1 : 0;
    PyArrayObject *array = (PyArrayObject *)plain(self);
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
    if (given != NULL) index = index_of(key);
    if (index != NULL) {
        Py_INCREF(array);
        int status = PyObject_SetItem((PyObject *)array, index, given);
        Py_DECREF(array);
        Py_DECREF(given);
        Py_DECREF(index);
        return status;
    }
    Py_XDECREF(given);
    int set = array == NULL && !PyErr_Occurred() ? put_at_hand(self, key, value) : 0;
    if (!set && !PyErr_Occurred() && np_of(self) != NULL) set = put_picked(self, key, value);
    PyObject *large[2] = {self, value};
    if (!set && array == NULL && !PyErr_Occurred() && adopted_all(large, 1)) set = set_in_memory(self, key, value);
    if (!set && array == NULL && !PyErr_Occurred() && adopted_all(large, 2)) set = record_store(self, key, value);
    if (!set && array == NULL && !PyErr_Occurred()) set = put_picked(self, key, value);
    if (set > 0) return 0;
    if (PyErr_Occurred()) return -1;
    PyObject *args[4] = {NULL, self, key, value};
    PyObject *done = PyObject_Vectorcall(general[SETITEM], args + 1, 3 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

static int set_item_now(PyObject *self, PyObject *key, PyObject *value) { return ended_with(put_item(self, key, value)); }

static COLD int set_item_seen(PyObject *self, PyObject *key, PyObject *value) {
    int begun = begin_call(), status = set_item_now(self, key, value);
    end_call_named(begun, names[SETITEM], &called[SETITEM]);
    return status;
}

static int set_item(PyObject *self, PyObject *key, PyObject *value) {
    return profiling ? set_item_seen(self, key, value) : set_item_now(self, key, value);
}

static Py_ssize_t length(PyObject *self) {
    PyObject *array = np_of(self);
    if (array == NULL && Py_TYPE(self) == array_type) array = ((Front *)self)->shown;
    if (array == NULL && Py_TYPE(self) == array_type && ((Front *)self)->geometry != NULL) array = field(((Front *)self)->geometry, SHADOW);
    if (array != NULL && PyArray_NDIM((PyArrayObject *)array)) return PyArray_DIM((PyArrayObject *)array, 0);
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

static PyTypeObject IteratorType;

static unsigned long reads_only = 0; /* the thread that asks for a buffer now and writes nothing into it; 0 where none does */

/* NumPy iterates over the elements of a large array of one axis, in its memory; rows are ours. */
static PyObject *iterator_of(PyObject *self) {
    PyObject *shape = Py_TYPE(self) == array_type ? NULL : PyObject_GetAttrString(self, "shape");
    if (shape == NULL && !PyErr_Occurred()) {
        PyObject *array = np_of(self);
        if (array == NULL) array = ((Front *)self)->tried ? field(((Front *)self)->geometry, SHADOW) : ((Front *)self)->shown;
        shape = array != NULL ? PyTuple_New(PyArray_NDIM((PyArrayObject *)array)) : PyObject_GetAttrString(self, "shape");
    }
    if (shape == NULL) return NULL;
    int axes = PyTuple_CheckExact(shape) ? (int)PyTuple_GET_SIZE(shape) : 0;
    Py_DECREF(shape);
    if (axes == 0) {
        PyErr_SetString(PyExc_TypeError, "iteration over a 0-d array");
        return NULL;
    }
    if (axes == 1 && Py_TYPE(self) == array_type && np_of(self) == NULL) {
        PyObject *kind = PyObject_GetAttrString(self, "dtype");
        int fields = kind == NULL || PyDataType_HASFIELDS((PyArray_Descr *)kind);
        Py_XDECREF(kind);
        if (kind == NULL) return NULL;
        PyObject *elements = NULL;
        reads_only = PyThread_get_thread_ident();
        if (!fields) elements = on_ranks((Front *)self) ? PyObject_CallOneArg((PyObject *)flat_type, self) : PyArray_FROM_O(self);
        reads_only = 0;
        PyObject *iterator = elements == NULL ? NULL : PyObject_GetIter(elements);
        Py_XDECREF(elements);
        if (!fields) return iterator;
    }
    Iterator *iterator = PyObject_GC_New(Iterator, &IteratorType);
    if (iterator == NULL) return NULL;
    iterator->array = Py_NewRef(self);
    iterator->next = 0;
    PyObject_GC_Track(iterator);
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
    int tried = Py_TYPE(iterator->array) == array_type && ((Front *)iterator->array)->tried;
    PyObject *array = tried ? NULL : at_hand(iterator->array);
    if (array != NULL) {
        PyObject *item = PySequence_GetItem(array, iterator->next++);
        Py_DECREF(array);
        if (item == NULL || !PyArray_CheckExact(item)) return item;
        return plain(iterator->array) != NULL ? wrapped(item) : view_in(iterator->array, (PyArrayObject *)item);
    }
    PyObject *key = PyLong_FromSsize_t(iterator->next++);
    PyObject *item = key == NULL ? NULL : PyObject_GetItem(iterator->array, key);
    Py_XDECREF(key);
    return item;
}

static int iterator_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(((Iterator *)self)->array);
    return 0;
}

static void iterator_dealloc(PyObject *self) {
    PyObject_GC_UnTrack(self);
    Py_CLEAR(((Iterator *)self)->array);
    PyObject_GC_Del(self);
}

static PyTypeObject IteratorType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "atoll._front.Iterator", .tp_basicsize = sizeof(Iterator), .tp_dealloc = iterator_dealloc,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, .tp_traverse = iterator_traverse, .tp_iter = PyObject_SelfIter,
    .tp_iternext = iterator_next, .tp_doc = "The elements along the first axis."};
