/* Large arrays that NumPy computes: included by _front.c.
 *
 * The runtime enters call sites at which NumPy computes an operation as quickly as a recorded one is evaluated (see
 * lazy/profiles.py). At these, NumPy is called on the memory of large arrays, too, and its result is kept as it is. Such an
 * array is `at_hand`: here it is a NumPy array, and so are the views of it. As soon as Python asks for `_np` it becomes
 * one that is recorded, and its views become views of that.
 */

#include <sys/mman.h>

typedef struct {
    PyObject *code, *operation, *key;  /* `key` is how Python calls the call site */
    int instruction, first, second, magnitude;
    Loop *loop;
} Entry;
enum { ENTRIES = 1 << 13, NUMBER = -1, NOTHING = -2 };
static Entry entries[ENTRIES];
static int entered = 0;
static PyObject *operations;       /* a dict: what a function is entered as, True if NumPy computes it anyway, False for views */
static PyObject *evaluated;          /* the memory of an array whose value is pending, which is computed */
static PyObject *adopted;          /* makes an array that is at hand one that is recorded */
static PyObject *slot_ufuncs[SLOTS + 1]; /* of the operators; the last is the square */

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
    if (!PyArg_ParseTuple(args, "OiOiiiO!O", &code, &instruction, &operation, &first, &second, &magnitude, &LoopType, &loop, &key))
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

/* ---- arrays at hand */

/* The NumPy array of a small array, or of one that is at hand, borrowed; else NULL. */
static inline PyObject *np_of(PyObject *value) {
    if (Py_TYPE(value) != array_type) return NULL;
    PyObject *np = ((Front *)value)->np;
    return np == Py_None ? NULL : np;
}

static int is_kept(PyArrayObject *array) {
    int number = PyArray_TYPE(array);
    return (number <= NPY_DOUBLE || number == NPY_CFLOAT || number == NPY_CDOUBLE || number == NPY_HALF) &&
           PyArray_ISNBO(PyArray_DESCR(array)->byteorder);
}

/* What NumPy has made of memory at hand; steals the reference. `base` is the array that it may be a view of. */
static PyObject *kept(PyObject *result, PyObject *base) {
    if (result == NULL || Py_TYPE(result) != &PyArray_Type) return result;
    PyArrayObject *array = (PyArrayObject *)result;
    if (PyArray_SIZE(array) < limit) return handle_of(result);
    int is_view = PyArray_BASE(array) != NULL;
    if (!is_kept(array) || (is_view && base == NULL)) return wrapped(result);
    PyObject *self = handle_of(result);
    if (self == NULL) return NULL;
    Front *front = (Front *)self;
    front->large = 1;
    if (is_view) {
        PyObject *first = ((Front *)base)->large && ((Front *)base)->cell ? ((Front *)base)->cell : base;
        front->cell = Py_NewRef(first);
    }
    return self;
}

/* Let an array at hand be one that is recorded; -1 with an error. Another thread may do it meanwhile. */
static int adopt(PyObject *self) {
    Front *front = (Front *)self;
    PyObject *array = Py_NewRef(front->np), *base = Py_NewRef(front->cell ? front->cell : Py_None);
    PyObject *parts = PyObject_CallFunctionObjArgs(adopted, array, base, NULL);
    if (parts != NULL && front->large) {
        PyObject *np = front->np, *cell = front->cell, *geometry = front->geometry;
        front->large = 0;
        front->np = Py_NewRef(Py_None);
        front->cell = Py_NewRef(PyTuple_GET_ITEM(parts, 0));
        front->geometry = Py_NewRef(PyTuple_GET_ITEM(parts, 1));
        Py_XDECREF(np);
        Py_XDECREF(cell);
        Py_XDECREF(geometry);
    }
    Py_DECREF(array);
    Py_DECREF(base);
    Py_XDECREF(parts);
    return parts == NULL ? -1 : 0;
}

/* The type of an operand: NUMBER for a number, NOTHING if it is neither that nor an array of this process. `size` grows to its
 * size. */
static int type_of(PyObject *value, Py_ssize_t *size) {
    int is_ours = Py_TYPE(value) == array_type;
    if (!is_ours && !is_numpys(value)) return is_of(scalars, value) ? NUMBER : NOTHING;
    Front *front = (Front *)value;
    PyArrayObject *array = (PyArrayObject *)(is_ours ? np_of(value) : value);
    if (array == NULL && front->value != NULL) array = (PyArrayObject *)front->shown;
    if (array != NULL) {
        if (PyArray_SIZE(array) > *size) *size = PyArray_SIZE(array);
        return PyArray_TYPE(array);
    }
    if (among_ranks() || front->geometry == NULL || front->cell == NULL || field(field(front->cell, NODE), PLACE) != Py_None) return NOTHING;
    Py_ssize_t own = PyLong_AsSsize_t(field(front->geometry, SIZE));
    if (own > *size) *size = own;
    return ((PyArray_Descr *)field(front->geometry, DTYPE))->type_num;
}

/* Let `size` grow to that of what two small arrays are broadcast to. */
static void spread_out(PyObject *a, PyObject *b, Py_ssize_t *size) {
    if (*size >= limit || Py_TYPE(a) != array_type || Py_TYPE(b) != array_type) return;
    PyObject *x = at_hand(a), *y = x == NULL ? NULL : at_hand(b);
    Py_ssize_t made = y == NULL ? 0 : spread_over(x, y);
    if (made) *size = made;
    Py_XDECREF(x);
    Py_XDECREF(y);
}

/* What NumPy gets for an operand of a type, which is evaluated if it is pending; a new reference, NULL without an error for a value
 * that comes later. */
static PyObject *memory_for(PyObject *value) {
    PyObject *array = np_of(value);
    if (array != NULL || Py_TYPE(value) != array_type) return Py_NewRef(array ? array : value);
    if (is_tried(value)) return tried_memory(value);
    if ((array = in_memory(value)) != NULL) return array;
    if ((array = PyObject_CallOneArg(evaluated, value)) == Py_None) Py_CLEAR(array);
    return array;
}

/* Whether operands are too few to be timed both ways: smaller ones are views of large arrays. */
static inline int is_below(Py_ssize_t size) { return size < limit && size < least; }

/* Whether NumPy shall compute this operation at the call site that the program is at. */
static int is_left(PyObject *operation, int first, int second, Py_ssize_t size) {
    if (!entered || among_ranks()) return 0;
    PyFrameObject *frame = PyEval_GetFrame();
    if (frame == NULL) return 0;
    PyCodeObject *code = PyFrame_GetCode(frame);
    Entry *entry = entry_of((PyObject *)code, PyFrame_GetLasti(frame), operation, first, second, magnitude_of(size));
    Py_DECREF(code);
    return entry->code != NULL && computed_by_numpy(entry->loop, entry->key, size);
}

/* ---- memory: results take that of results which have ended, for new pages cost more than a pass over them */

enum { BLOCKS = 8, LEAST = 1 << 16, HUGE_PAGES = 1 << 22, MOST_KEPT = 1 << 26, HEADER = 64 };
static struct { char *memory; size_t size; } blocks[BLOCKS];  /* the latest one last */
static int kept_blocks = 0;
static size_t kept_bytes = 0;
static Py_ssize_t fresh_blocks = 0; /* the large ones that came from the system: touching them for the first time is dear */

static inline size_t *size_of_block(char *memory) { return (size_t *)(memory - HEADER); }

static char *taken_out(int place) {
    char *memory = blocks[place].memory;
    kept_bytes -= blocks[place].size;
    memmove(blocks + place, blocks + place + 1, (--kept_blocks - place) * sizeof *blocks);
    return memory;
}

/* Memory from the system; the largest asks for huge pages, as NumPy's own does. */
static void *from_system(char *memory, size_t size) {
    if (memory == NULL) return NULL;
    fresh_blocks += size >= LEAST;
#ifdef MADV_HUGEPAGE
    size_t page = 1 << 12, before = -(size_t)memory & (page - 1);
    if (size >= HUGE_PAGES) madvise(memory + before, (size - before) & ~(page - 1), MADV_HUGEPAGE);
#endif
    *(size_t *)memory = size;
    return memory + HEADER;
}

/* A block that was kept and suits, or NULL. */
static char *kept_block(size_t size) {
    int best = -1;
    for (int k = kept_blocks; size >= LEAST && k--;)
        if (blocks[k].size >= size && blocks[k].size / 2 <= size && (best < 0 || blocks[k].size < blocks[best].size)) best = k;
    return best < 0 ? NULL : taken_out(best);
}

static void *block_malloc(void *context, size_t size) {
    char *kept = kept_block(size);
    return kept != NULL ? kept : size > SIZE_MAX - HEADER ? NULL : from_system(malloc(size + HEADER), size);
}

static void *block_calloc(void *context, size_t count, size_t each) {
    if (each && count > (SIZE_MAX - HEADER) / each) return NULL;
    size_t size = count * each;
    char *kept = kept_block(size);
    return kept != NULL ? memset(kept, 0, size) : from_system(calloc(1, size + HEADER), size);
}

static void block_free(void *context, void *memory, size_t nbytes) {
    if (memory == NULL) return;
    size_t size = *size_of_block(memory);
    if (size < LEAST || size > MOST_KEPT / 2) {
        free((char *)memory - HEADER);
        return;
    }
    while (kept_blocks == BLOCKS || (kept_blocks && kept_bytes + size > MOST_KEPT)) free(taken_out(0) - HEADER);
    blocks[kept_blocks].memory = memory;
    blocks[kept_blocks++].size = size;
    kept_bytes += size;
}

static void *block_realloc(void *context, void *memory, size_t size) {
    if (memory == NULL) return block_malloc(context, size);
    size_t before = *size_of_block(memory);
    char *other = block_malloc(context, size);
    if (other == NULL) return NULL;
    memcpy(other, memory, before < size ? before : size);
    block_free(context, memory, before);
    return other;
}

static PyDataMem_Handler memory_handler = {"atoll", 1, {NULL, block_malloc, block_calloc, block_realloc, block_free}};
static PyObject *handler = NULL;

/* NumPy takes memory from here until `memory_left` gets what this returns. */
static PyObject *memory_entered(void) {
    if (handler == NULL) handler = PyCapsule_New(&memory_handler, "mem_handler", NULL);
    return handler == NULL ? NULL : PyDataMem_SetHandler(handler);
}

static void memory_left(PyObject *before) {
    PyObject *type, *value, *traceback;
    if (before == NULL) return;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *ours = PyDataMem_SetHandler(before);
    Py_XDECREF(ours);
    Py_DECREF(before);
    PyErr_Restore(type, value, traceback);
}

/* Whether an operation is one of those that have letters for names: fill, cast, where. */
static inline int is_named(PyObject *operation, char letter) {
    return PyUnicode_CheckExact(operation) && PyUnicode_READ_CHAR(operation, 0) == (Py_UCS4)letter;
}

/* ---- calls; NULL without an error where Python decides */

static PyObject *eager_two(PyObject *a, PyObject *b, int slot, binaryfunc call) {
    if (!entered && slot != MATMUL) return NULL;
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

static PyObject *eager_one(PyObject *a, int slot, unaryfunc call) {
    Py_ssize_t size = 0;
    int type = entered ? type_of(a, &size) : NOTHING;
    if (type == NOTHING || is_below(size) || !is_left(slot_ufuncs[slot], type, NOTHING, size)) return NULL;
    PyObject *x = memory_for(a);
    if (x == NULL) return NULL;
    PyObject *memory = memory_entered();
    PyObject *result = call(x);
    memory_left(memory);
    Py_DECREF(x);
    return kept(result, NULL);
}

static PyObject *eager_into(PyObject *a, PyObject *b, int slot, binaryfunc call) {
    int at = np_of(a) != NULL, was = 0;
    if (!entered || Py_TYPE(a) != array_type || !(at || (value_of((Front *)a) != NULL && may_write((Front *)a)))) return NULL;
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

static PyObject *eager_compare(PyObject *a, PyObject *b, int slot, int relation) {
    Py_ssize_t size = 0;
    int first = entered ? type_of(a, &size) : NOTHING, second = first == NOTHING ? NOTHING : type_of(b, &size);
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

/* What an index selects of an array at hand: views, elements, and copies by small arrays of indices. */
static PyObject *item_at_hand(PyObject *self, PyObject *key) {
    if (Py_TYPE(self) != array_type || !((Front *)self)->large) return NULL;
    PyArrayObject *array = (PyArrayObject *)((Front *)self)->np;
    char *element = element_at(array, key);
    if (element != NULL) return PyArray_Scalar(element, PyArray_DESCR(array), (PyObject *)array);
    Selection where;
    if (selected(array, key, &where) && !where.picks && !where.is_element)
        return kept(array_of(&where, array, (PyObject *)array, PyArray_FLAGS(array) & NPY_ARRAY_WRITEABLE), self);
    PyObject *index = index_of(key);
    if (index == NULL) return NULL;
    PyObject *result = with_two(PyObject_GetItem, (PyObject *)array, index);
    Py_DECREF(index);
    return kept(result, self);
}

/* Whether a value in memory, or a number, was written into an array at hand; -1 with an error. */
static int put_at_hand(PyObject *self, PyObject *key, PyObject *value) {
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

/* Whether NumPy may write into an array, however large it is. */
static int may_write_at_once(PyObject *array) {
    return Py_TYPE(array) == array_type && (np_of(array) != NULL || (value_of((Front *)array) != NULL && may_write((Front *)array)));
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

/* A function of large arrays in memory that is entered at this call site; of arrays at hand views and copies anywhere.
 * `sized` is the size of what a function makes, where it is not that of its arguments; `target` is what a ufunc writes into, or -1. */
static PyObject *eager_call(PyObject *original, PyObject *const *args, Py_ssize_t count, PyObject *keywords, Py_ssize_t sized, Py_ssize_t target) {
    PyObject *operation = operations == NULL ? NULL : PyDict_GetItemWithError(operations, original);
    Py_ssize_t n = count + (keywords ? PyTuple_GET_SIZE(keywords) : 0), size = sized, k = 0;
    if (operation == NULL || count < 1 || n > 4) return NULL;
    int views = operation == Py_False, own = is_named(operation, 'f'), types[2] = {NOTHING, NOTHING};
    int inputs = Py_TYPE(original) == &PyUFunc_Type ? ((PyUFuncObject *)original)->nin : is_named(operation, 'w') ? 3 : 2;
    if (target >= 0 && !may_write_at_once(args[target])) return NULL;
    if (target < 0 && n > count && (!own || n > count + 1 || PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(keywords, 0), "dtype"))) return NULL;
    if (!views && !entered) return NULL;
    if (views && (Py_TYPE(args[0]) != array_type || !((Front *)args[0])->large)) return NULL;
    for (; k < n; k++) {
        if (k >= inputs && k != target && Py_TYPE(args[k]) == array_type) return NULL;  /* which is written to */
        int type = k && views ? NOTHING : type_of(args[k], &size);
        if (type == NOTHING && !(is_of(passed, args[k]) || (!k && own && PyTuple_CheckExact(args[k])) ||
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

/* `number * array` of a number of NumPy's: what it asks the array for. */
static PyObject *eager_ufunc(PyObject *ufunc, PyObject *const *args, Py_ssize_t count) {
    Py_ssize_t size = 0;
    int types[2] = {NOTHING, NOTHING};
    if (!entered || count > 2) return NULL;
    for (Py_ssize_t k = 0; k < count; k++)
        if ((types[k] = type_of(args[k], &size)) == NOTHING) return NULL;
    if (count == 2) spread_out(args[0], args[1], &size);
    if (is_below(size) || !is_left(ufunc, types[0], types[1], size)) return NULL;
    return kept(computed(ufunc, args, count, NULL, -1), NULL);
}

static PyObject *fresh(PyObject *module, PyObject *nothing) { return PyLong_FromSsize_t(fresh_blocks); }

static PyObject *keep(PyObject *module, PyObject *array) {
    return Py_TYPE(array) == &PyArray_Type ? kept(Py_NewRef(array), NULL) : (PyErr_BadArgument(), NULL);
}

/* ---- what the runtime enters */

static PyObject *enter_operations(PyObject *module, PyObject *args) {
    PyObject *of_slots;
    if (!PyArg_ParseTuple(args, "O!O!OO", &PyDict_Type, &operations, &PyDict_Type, &of_slots, &evaluated, &adopted)) return NULL;
    Py_INCREF(operations);
    Py_INCREF(evaluated);
    Py_INCREF(adopted);
    for (int k = 0; k <= SLOTS; k++) {
        PyObject *ufunc = PyDict_GetItemString(of_slots, k < SLOTS ? names[k] : "square");
        Py_XSETREF(slot_ufuncs[k], Py_XNewRef(ufunc));
    }
    Py_RETURN_NONE;
}
