/* Large arrays that NumPy computes.
 *
 * The runtime enters call sites at which NumPy computes an operation as quickly as a recorded one is evaluated (see
 * lazy/profiles.py). At these, NumPy is called on the memory of large arrays, too, and its result is kept as it is. Such an
 * array is `at_hand`: here it is a NumPy array, and so are the views of it. As soon as Python asks for `_np` it becomes
 * one that is recorded, and its views become views of that.
 */
#include "eager.h"
#include "blocks.h"

enum { ENTRIES = 1 << 13 };
static Entry entries[ENTRIES];
static int entered = 0;

/* What arrays of about one size have in common: profiles.magnitude computes the same. */
static inline int magnitude_of(Py_ssize_t size) {
    int bits = 0;
    for (size_t rest = (size_t)size; rest; rest >>= 1) bits++;
    return bits / 2;
}

static Entry *entry_of(PyObject *code, int instruction, PyObject *operation, int first, int second, int magnitude) {
    size_t hash = (size_t)code / 16 * 31 + instruction * 7 + (size_t)operation / 16 + first * 3 + second * 5 + magnitude * 11;
    for (hash &= ENTRIES - 1; entries[hash].code != NULL; hash = (hash + 1) & (ENTRIES - 1)) {
        Entry *entry = entries + hash;
        if (entry->code == code && entry->instruction == instruction && entry->operation == operation &&
            entry->first == first && entry->second == second && entry->magnitude == magnitude)
            return entry;
    }
    return entries + hash;
}

static void forget_entries(void) {
    for (int k = 0; k < ENTRIES; k++) {
        Py_CLEAR(entries[k].code);
        Py_CLEAR(entries[k].operation);
        Py_CLEAR(entries[k].key);
        Py_CLEAR(entries[k].loop);
    }
    entered = 0;
}

/* Enter a call site: code, instruction, operation, the types of its operands, their magnitude, loop, key. */
static PyObject *enter_site(PyObject *module, PyObject *args) {
    PyObject *code, *operation, *key;
    int instruction, first, second, magnitude;
    Loop *loop;
    if (!PyArg_ParseTuple(args, "OiOiiiO!O", &code, &instruction, &operation, &first, &second, &magnitude, loop_type, &loop, &key))
        return NULL;
    if (entered >= ENTRIES / 2) forget_entries();
    Entry *entry = entry_of(code, instruction, operation, first, second, magnitude);
    if (entry->code == NULL) {
        entry->code = Py_NewRef(code);
        entry->operation = Py_NewRef(operation);
        entry->instruction = instruction;
        entry->first = first;
        entry->second = second;
        entry->magnitude = magnitude;
        entered++;
    }
    Py_XSETREF(entry->loop, (Loop *)Py_NewRef(loop));
    Py_XSETREF(entry->key, Py_NewRef(key));
    Py_RETURN_NONE;
}

static PyObject *leave_sites(PyObject *module, PyObject *nothing) {
    forget_entries();
    Py_RETURN_NONE;
}

Entry *entry_here(PyObject *operation, int first, int second, Py_ssize_t size) {
    PyFrameObject *frame = PyEval_GetFrame();
    if (frame == NULL) return NULL;
    PyCodeObject *code = PyFrame_GetCode(frame);
    Entry *entry = entry_of((PyObject *)code, PyFrame_GetLasti(frame), operation, first, second, magnitude_of(size));
    Py_DECREF(code);
    return entry;
}

/* Whether operands are too few to be timed both ways: smaller ones are views of large arrays. */
static inline int is_below(Py_ssize_t size) { return size < limit && size < least; }

/* Whether NumPy shall compute this operation at the call site that the program is at. */
static int is_left(PyObject *operation, int first, int second, Py_ssize_t size) {
    Entry *entry = !eager_loops || among_ranks() ? NULL : entry_here(operation, first, second, size);
    return entry != NULL && entry->code != NULL && computed_by_numpy(entry->loop, entry->key, size);
}

/* Whether an operation is one of those that have letters for names: fill, cast, where. */
static inline int is_named(PyObject *operation, char letter) {
    return PyUnicode_CheckExact(operation) && PyUnicode_READ_CHAR(operation, 0) == (Py_UCS4)letter;
}

PyObject *eager_two(PyObject *a, PyObject *b, int slot, binaryfunc call) {
    if (!eager_loops && slot != MATMUL) return NULL;
    Py_ssize_t size = 0;
    int first = type_of(a, &size), second = first == NOTHING ? NOTHING : type_of(b, &size);
    if (slot != MATMUL) spread_out(a, b, &size);
    if (second == NOTHING || is_below(size)) return NULL;
    if (slot == MATMUL) {          /* NumPy computes it anyway */
        if (among_ranks() || first == NUMBER || second == NUMBER || !(np_of(a) || np_of(b))) return NULL;
    } else if (slot == POW) {      /* of which the square alone is entered */
        if (!PyLong_CheckExact(b) || PyLong_AsLong(b) != 2 || !is_left(slot_ufuncs[SLOTS], first, NOTHING, size))
            return PyErr_Clear(), NULL;
    } else if (!is_left(slot_ufuncs[slot], first, second, size)) {
        return NULL;
    }
    PyObject *x = memory_for(a), *y = x == NULL ? NULL : memory_for(b), *result = NULL;
    if (y != NULL) {
        PyObject *memory = memory_entered();
        result = call(x, y);
        memory_left(memory);
    }
    Py_XDECREF(x);
    Py_XDECREF(y);
    return kept(result, NULL);
}

PyObject *eager_one(PyObject *a, int slot, unaryfunc call) {
    Py_ssize_t size = 0;
    int type = eager_loops ? type_of(a, &size) : NOTHING;
    if (type == NOTHING || is_below(size) || !is_left(slot_ufuncs[slot], type, NOTHING, size)) return NULL;
    PyObject *x = memory_for(a);
    if (x == NULL) return NULL;
    PyObject *memory = memory_entered();
    PyObject *result = call(x);
    memory_left(memory);
    Py_DECREF(x);
    return kept(result, NULL);
}

PyObject *eager_into(PyObject *a, PyObject *b, int slot, binaryfunc call) {
    int at = np_of(a) != NULL, was = 0;
    if (!eager_loops || Py_TYPE(a) != array_type || !(at || (value_of((Front *)a) != NULL && may_write((Front *)a)))) return NULL;
    Py_ssize_t size = 0;
    int first = type_of(a, &size), second = type_of(b, &size);
    if (first == NOTHING || second == NOTHING || is_below(size)) return NULL;
    if (!is_left(slot_ufuncs[slot], first, second, size)) return NULL;
    PyObject *y = memory_for(b), *x = y == NULL ? NULL : memory_for(a), *result = NULL;
    if (x != NULL && (at || may_write((Front *)a))) {  /* evaluating the other one may have used it */
        if (!at) was = begin_writing((Front *)a, (PyArrayObject *)x);
        result = call(x, y);
        if (!at) end_writing((PyArrayObject *)x, was);
    }
    if (result != NULL && result == x) {
        Py_DECREF(result);
        result = Py_NewRef(a);
    } else {
        result = kept(result, NULL);
    }
    Py_XDECREF(x);
    Py_XDECREF(y);
    return result;
}

PyObject *eager_compare(PyObject *a, PyObject *b, int slot, int relation) {
    Py_ssize_t size = 0;
    int first = eager_loops ? type_of(a, &size) : NOTHING, second = first == NOTHING ? NOTHING : type_of(b, &size);
    spread_out(a, b, &size);
    if (second == NOTHING || is_below(size)) return NULL;
    if (!is_left(slot_ufuncs[slot], first, second, size)) return NULL;
    PyObject *x = memory_for(a), *y = x == NULL ? NULL : memory_for(b), *result = NULL;
    if (y != NULL) {
        PyObject *memory = memory_entered();
        result = PyObject_RichCompare(x, y, relation);
        memory_left(memory);
    }
    Py_XDECREF(x);
    Py_XDECREF(y);
    return kept(result, NULL);
}

PyObject *item_at_hand(PyObject *self, PyObject *key) {
    if (Py_TYPE(self) != array_type || !((Front *)self)->large) return NULL;
    PyArrayObject *array = (PyArrayObject *)((Front *)self)->np;
    char *element = element_at(array, key);
    if (element != NULL) return scalar_at(element, PyArray_DESCR(array), (PyObject *)array);
    Selection where;
    if (selected(array, key, &where) && !where.picks && !where.is_element)
        return kept(array_at(&where, PyArray_DESCR(array), PyArray_BYTES(array), (PyObject *)array, PyArray_FLAGS(array) & NPY_ARRAY_WRITEABLE), self);
    PyObject *index = index_of(key);
    if (index == NULL) return NULL;
    PyObject *result = with_two(PyObject_GetItem, (PyObject *)array, index);
    Py_DECREF(index);
    return kept(result, self);
}

int put_at_hand(PyObject *self, PyObject *key, PyObject *value) {
    if (Py_TYPE(self) != array_type || !((Front *)self)->large) return 0;
    PyArrayObject *memory = (PyArrayObject *)((Front *)self)->np;
    char *element = element_for(value, memory, key);
    if (element != NULL && PyArray_FailUnlessWriteable(memory, "assignment destination") < 0) return -1;
    if (element != NULL) return *(double *)element = PyFloat_AS_DOUBLE(value), 1;
    Py_ssize_t size = 0;
    if (type_of(value, &size) == NOTHING) return 0;
    PyObject *index = Py_TYPE(key) == array_type && type_of(key, &size) == NPY_BOOL ? memory_for(key) : index_of(key);
    if (index == NULL) return PyErr_Occurred() ? -1 : 0;
    PyObject *array = Py_NewRef(((Front *)self)->np), *given = memory_for(value);
    Selection where;
    int status = given == NULL ? -1 : 0, is_region = given != NULL && selected((PyArrayObject *)array, key, &where) && !where.picks;
    if (is_region) status = PyArray_FailUnlessWriteable((PyArrayObject *)array, "assignment destination");
    if (status == 0 && !(is_region && put_selected(&where, (PyArrayObject *)array, given))) status = PyObject_SetItem(array, index, given);
    Py_DECREF(array);
    Py_XDECREF(given);
    Py_DECREF(index);
    return status < 0 ? -1 : 1;
}

/* NumPy's result for at most four arguments, written into the `target` among them unless that is -1; NULL without an error where a value
 * comes later. */
static PyObject *computed(PyObject *function, PyObject *const *args, Py_ssize_t count, PyObject *keywords, Py_ssize_t target) {
    PyObject *given[5] = {NULL, NULL, NULL, NULL, NULL}, *result = NULL;
    Py_ssize_t n = count + (keywords ? PyTuple_GET_SIZE(keywords) : 0), k = 0;
    for (; k < n; k++)
        if (k != target && (given[k + 1] = memory_for(args[k])) == NULL) break;
    if (k == n && target >= 0 && (!may_write_at_once(args[target]) || (given[target + 1] = memory_for(args[target])) == NULL)) k = 0;
    if (k == n) {
        Front *into = target >= 0 && np_of(args[target]) == NULL ? (Front *)args[target] : NULL;
        int was = into == NULL ? 0 : begin_writing(into, (PyArrayObject *)given[target + 1]);
        PyObject *memory = memory_entered();
        result = PyObject_Vectorcall(function, given + 1, count | PY_VECTORCALL_ARGUMENTS_OFFSET, keywords);
        memory_left(memory);
        if (into != NULL) end_writing((PyArrayObject *)given[target + 1], was);
        if (target >= 0 && result == given[target + 1]) Py_SETREF(result, Py_NewRef(args[target]));
    }
    for (k = 1; k <= n; k++) Py_XDECREF(given[k]);
    return result;
}

PyObject *eager_call(PyObject *original, PyObject *const *args, Py_ssize_t count, PyObject *keywords, Py_ssize_t sized, Py_ssize_t target) {
    Py_ssize_t n = count + (keywords ? PyTuple_GET_SIZE(keywords) : 0), size = sized, k = 0;
    int is_at_hand = count && Py_TYPE(args[0]) == array_type && ((Front *)args[0])->large;
    if (count < 1 || n > 4 || !(eager_loops || is_at_hand)) return NULL;
    PyObject *operation = PyDict_GetItemWithError(python.operations, original);
    if (operation == NULL) return NULL;
    int views = operation == Py_False, own = is_named(operation, 'f'), types[2] = {NOTHING, NOTHING};
    int inputs = Py_TYPE(original) == &PyUFunc_Type ? ((PyUFuncObject *)original)->nin : is_named(operation, 'w') ? 3 : 2;
    if (target >= 0 && !may_write_at_once(args[target])) return NULL;
    if (target < 0 && n > count && (!own || n > count + 1 || PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(keywords, 0), "dtype"))) return NULL;
    if (!(views ? is_at_hand : eager_loops)) return NULL;
    for (; k < n; k++) {
        if (k >= inputs && k != target && Py_TYPE(args[k]) == array_type) return NULL;  /* which is written to */
        int type = k && views ? NOTHING : type_of(args[k], &size);
        if (type == NOTHING && !(is_of(python.plain_types, args[k]) || (!k && own && PyTuple_CheckExact(args[k])) ||
                                 (k && views && PyTuple_CheckExact(args[k]))))
            return NULL;
        if (k < 2 && k != target && !own) types[k] = type;
    }
    if (!views) {
        if (is_named(operation, 'w')) types[1] = NOTHING;
        if (is_named(operation, 'c')) {    /* the dtype is the second argument */
            PyArray_Descr *dtype = NULL;
            if (n != 2 || !PyArray_DescrConverter(args[1], &dtype)) return drop_error(), NULL;
            types[1] = dtype->type_num;
            Py_DECREF(dtype);
        }
        if (n == 2) spread_out(args[0], args[1], &size);
        if (is_below(size) || !is_left(operation, types[0], types[1], size)) return NULL;
    }
    return kept(computed(original, args, count, keywords, target), views ? args[0] : NULL);
}

PyObject *eager_ufunc(PyObject *ufunc, PyObject *const *args, Py_ssize_t count) {
    Py_ssize_t size = 0;
    int types[2] = {NOTHING, NOTHING};
    if (!eager_loops || count > 2) return NULL;
    for (Py_ssize_t k = 0; k < count; k++)
        if ((types[k] = type_of(args[k], &size)) == NOTHING) return NULL;
    if (count == 2) spread_out(args[0], args[1], &size);
    if (is_below(size) || !is_left(ufunc, types[0], types[1], size)) return NULL;
    return kept(computed(ufunc, args, count, NULL, -1), NULL);
}

PyMethodDef eager_methods[] = {
    {"enter_site", enter_site, METH_VARARGS, "Let NumPy compute at this call site."},
    {"leave_sites", leave_sites, METH_NOARGS, "Let NumPy compute at no call site."},
    {NULL}};
