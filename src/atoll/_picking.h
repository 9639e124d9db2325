/* Elements at index arrays: included by _front.c.
 *
 * In a process by itself NumPy reads and writes elements at index arrays, in memory, whatever their size. A mask for all elements of an
 * array is left to the runtime, which may record what is under it: only where both are at hand NumPy takes it.
 */

/* The memory of an array of this process, which is evaluated if it is pending; a new reference, NULL without an error where Python
 * has to decide. */
static PyObject *memory_here(PyObject *value) {
    Py_ssize_t size = 0;
    return type_of(value, &size) < 0 ? NULL : memory_for(value);
}

static int is_mask(PyObject *value) {
    Py_ssize_t size = 0;
    return type_of(value, &size) == NPY_BOOL;
}

static Py_ssize_t axes_of(PyObject *value) {
    Front *front = (Front *)value;
    if (Py_TYPE(value) != array_type) return -1;
    PyObject *array = np_of(value) != NULL ? np_of(value) : front->shown;
    if (array != NULL) return PyArray_NDIM((PyArrayObject *)array);
    return front->geometry == NULL ? -1 : PyTuple_GET_SIZE(field(front->geometry, SHAPE));
}

/* Whether NumPy takes the masks of an index: the array is at hand, or they are none for all of its elements. */
static int takes_masks(PyObject *self, PyObject *key) {
    return np_of(self) != NULL || PyTuple_CheckExact(key) || axes_of(key) != axes_of(self);
}

/* Whether an index array picks elements: one of integers without axes is an integer, though NumPy copies what it selects, which Python
 * records. */
static int picks(PyObject *value) {
    PyArrayObject *array = (PyArrayObject *)value;
    return PyArray_NDIM(array) || !PyArray_ISINTEGER(array);
}

/* An index for NumPy with at least one index array that picks elements; a new reference, NULL without an error where it is none. */
static PyObject *picking(PyObject *self, PyObject *key) {
    PyObject *const *items = PyTuple_CheckExact(key) ? &PyTuple_GET_ITEM(key, 0) : &key;
    Py_ssize_t n = PyTuple_CheckExact(key) ? PyTuple_GET_SIZE(key) : 1, arrays = 0;
    PyObject *given = PyTuple_New(n);
    int masks = takes_masks(self, key);
    for (Py_ssize_t k = 0; given != NULL && k < n; k++) {
        PyObject *item = items[k], *value = NULL;
        if (is_basic(item) || listed(item) > 0) {
            value = Py_NewRef(item);
        } else if ((Py_TYPE(item) == array_type || is_numpys(item)) && (masks || plain(item) != NULL || !is_mask(item))) {
            value = memory_here(item);
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

/* The elements of an array that index arrays pick; NULL without an error where Python has to decide. */
static PyObject *picked(PyObject *self, PyObject *key) {
    if (Py_TYPE(self) != array_type || among_ranks()) return NULL;
    PyObject *index = picking(self, key), *array = index == NULL ? NULL : memory_here(self), *result = NULL;
    if (array != NULL) {
        PyObject *memory = memory_entered();
        result = PyObject_GetItem(array, index);
        if (result != NULL && PyArray_CheckExact(result) && PyArray_BASE((PyArrayObject *)result) != NULL)
            Py_SETREF(result, PyArray_NewCopy((PyArrayObject *)result, NPY_KEEPORDER));
        memory_left(memory);
    }
    Py_XDECREF(index);
    Py_XDECREF(array);
    return kept(result, NULL);
}

/* Whether a number, or the elements of an array, were written to where index arrays say; -1 with an error. */
static int put_picked(PyObject *self, PyObject *key, PyObject *value) {
    int at = np_of(self) != NULL, was = 0, status = 0;
    if (Py_TYPE(self) != array_type || among_ranks() || !(at || may_show((Front *)self))) return 0;
    PyObject *index = picking(self, key), *array = NULL;
    PyObject *given = index == NULL ? NULL : is_of(scalars, value) ? Py_NewRef(value) : memory_here(value);
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
