/* Large arrays that NumPy computes: included by _front.c.
 *
 * The runtime enters call sites at which NumPy computes an operation as quickly as a recorded one is evaluated (see
 * lazy/profiles.py). At these, NumPy is called on the memory of large arrays, too, and its result is kept as it is. Such an
 * array is `at_hand`: here it is a NumPy array, and so are the views of it. As soon as Python asks for `_np` it becomes
 * one that is recorded, and its views become views of that.
 */

#include <time.h>

typedef struct {
    PyObject_HEAD
    long long best;                /* nanoseconds of the quickest call */
    Py_ssize_t left, given, size;  /* how many more calls NumPy computes, of how many, of up to so many elements */
} Times;

static PyMemberDef times_members[] = {
    {"best", T_LONGLONG, offsetof(Times, best), 0, "nanoseconds of the quickest call; 0 before the first"},
    {"left", T_PYSSIZET, offsetof(Times, left), 0, "how many more calls NumPy computes"},
    {"given", T_PYSSIZET, offsetof(Times, given), 0, "of how many"},
    {"size", T_PYSSIZET, offsetof(Times, size), 0, "of up to so many elements"},
    {NULL}};
static PyTypeObject TimesType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "atoll._front.Times", .tp_basicsize = sizeof(Times), .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_members = times_members, .tp_new = PyType_GenericNew, .tp_doc = "The calls of a call site that NumPy computes."};

typedef struct {
    PyObject *code, *operation;
    int instruction, first, second;
    Times *times;
} Entry;
enum { ENTRIES = 1 << 13, NUMBER = -1, NOTHING = -2 };
static Entry entries[ENTRIES];
static int entered = 0;
static PyObject *operations;       /* a dict: what a function is entered as, True if NumPy computes it anyway, False for views */
static PyObject *evaluated;          /* the memory of an array whose value is pending, which is computed */
static PyObject *adopted;          /* makes an array that is at hand one that is recorded */
static PyObject *slot_ufuncs[SLOTS + 1]; /* of the operators; the last is the square */

static Entry *entry_of(PyObject *code, int instruction, PyObject *operation, int first, int second) {
    size_t hash = (size_t)code / 16 * 31 + instruction * 7 + (size_t)operation / 16 + first * 3 + second * 5;
    for (hash &= ENTRIES - 1; entries[hash].code != NULL; hash = (hash + 1) & (ENTRIES - 1)) {
        Entry *entry = entries + hash;
        if (entry->code == code && entry->instruction == instruction && entry->operation == operation &&
            entry->first == first && entry->second == second)
            return entry;
    }
    return entries + hash;
}

static void forget_entries(void) {
    for (int k = 0; k < ENTRIES; k++) {
        Py_CLEAR(entries[k].code);
        Py_CLEAR(entries[k].operation);
        Py_CLEAR(entries[k].times);
    }
    entered = 0;
}

/* Enter a call site: code, instruction, operation, the types of its operands, times. */
static PyObject *enter_site(PyObject *module, PyObject *args) {
    PyObject *code, *operation;
    int instruction, first, second;
    Times *times;
    if (!PyArg_ParseTuple(args, "OiOiiO!", &code, &instruction, &operation, &first, &second, &TimesType, &times)) return NULL;
    if (entered >= ENTRIES / 2) forget_entries();
    Entry *entry = entry_of(code, instruction, operation, first, second);
    if (entry->code == NULL) {
        entry->code = Py_NewRef(code);
        entry->operation = Py_NewRef(operation);
        entry->instruction = instruction;
        entry->first = first;
        entry->second = second;
        entered++;
    }
    Py_XSETREF(entry->times, (Times *)Py_NewRef(times));
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
    if (Py_TYPE(value) != array_type) return is_of(scalars, value) ? NUMBER : NOTHING;
    Front *front = (Front *)value;
    PyArrayObject *array = (PyArrayObject *)np_of(value);
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

/* What NumPy gets for an operand of a type, which is evaluated if it is pending; a new reference, NULL without an error for a value
 * that comes later. */
static PyObject *memory_for(PyObject *value) {
    PyObject *array = np_of(value);
    if (array != NULL || Py_TYPE(value) != array_type) return Py_NewRef(array ? array : value);
    if ((array = in_memory(value)) != NULL) return array;
    if ((array = PyObject_CallOneArg(evaluated, value)) == Py_None) Py_CLEAR(array);
    return array;
}

/* The times of the call site that the program is at, if NumPy shall compute this operation there; borrowed. */
static Times *times_at(PyObject *operation, int first, int second, Py_ssize_t size) {
    if (!entered || among_ranks()) return NULL;
    PyFrameObject *frame = PyEval_GetFrame();
    if (frame == NULL) return NULL;
    PyCodeObject *code = PyFrame_GetCode(frame);
    Entry *entry = entry_of((PyObject *)code, PyFrame_GetLasti(frame), operation, first, second);
    Py_DECREF(code);
    if (entry->code == NULL || entry->times->left <= 0 || size > entry->times->size) return NULL;
    entry->times->left--;
    return entry->times;
}

/* ---- memory: results take that of results which have ended, for new pages cost more than a pass over them */

enum { BLOCKS = 8, LEAST = 1 << 16, MOST_KEPT = 1 << 26, HEADER = 64 };
static struct { char *memory; size_t size; } blocks[BLOCKS];  /* the latest one last */
static int kept_blocks = 0;
static size_t kept_bytes = 0;

static inline size_t *size_of_block(char *memory) { return (size_t *)(memory - HEADER); }

static char *taken_out(int place) {
    char *memory = blocks[place].memory;
    kept_bytes -= blocks[place].size;
    memmove(blocks + place, blocks + place + 1, (--kept_blocks - place) * sizeof *blocks);
    return memory;
}

static void *block_malloc(void *context, size_t size) {
    int best = -1;
    for (int k = kept_blocks; size >= LEAST && k--;)
        if (blocks[k].size >= size && blocks[k].size / 2 <= size && (best < 0 || blocks[k].size < blocks[best].size)) best = k;
    if (best >= 0) return taken_out(best);
    char *memory = size > SIZE_MAX - HEADER ? NULL : malloc(size + HEADER);
    if (memory == NULL) return NULL;
    *(size_t *)memory = size;
    return memory + HEADER;
}

static void *block_calloc(void *context, size_t count, size_t each) {
    if (each && count > (SIZE_MAX - HEADER) / each) return NULL;
    size_t size = count * each;
    for (int k = kept_blocks; size >= LEAST && k--;)
        if (blocks[k].size >= size && blocks[k].size / 2 <= size) return memset(block_malloc(context, size), 0, size);
    char *memory = calloc(1, size + HEADER);
    if (memory == NULL) return NULL;
    *(size_t *)memory = size;
    return memory + HEADER;
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

static long long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void took(Times *times, long long start) {
    if (times == NULL) return;
    long long span = now() - start;
    if (times->best == 0 || span < times->best) times->best = span > 0 ? span : 1;
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
    if (second == NOTHING || size < limit) return NULL;
    Times *times = NULL;
    if (slot == MATMUL) {          /* NumPy computes it anyway */
        if (among_ranks() || first == NUMBER || second == NUMBER || !(np_of(a) || np_of(b))) return NULL;
    } else if (slot == POW) {      /* of which the square alone is entered */
        if (!PyLong_CheckExact(b) || PyLong_AsLong(b) != 2 ||
            (times = times_at(slot_ufuncs[SLOTS], first, NOTHING, size)) == NULL)
            return PyErr_Clear(), NULL;
    } else if ((times = times_at(slot_ufuncs[slot], first, second, size)) == NULL) {
        return NULL;
    }
    PyObject *x = memory_for(a), *y = x == NULL ? NULL : memory_for(b), *result = NULL;
    Py_XINCREF(times);
    if (y != NULL) {
        PyObject *memory = memory_entered();
        long long start = now();
        result = call(x, y);
        took(times, start);
        memory_left(memory);
    }
    Py_XDECREF(x);
    Py_XDECREF(y);
    Py_XDECREF(times);
    return kept(result, NULL);
}

static PyObject *eager_one(PyObject *a, int slot, unaryfunc call) {
    Py_ssize_t size = 0;
    int type = entered ? type_of(a, &size) : NOTHING;
    Times *times = type == NOTHING || size < limit ? NULL : times_at(slot_ufuncs[slot], type, NOTHING, size);
    PyObject *x = times == NULL ? NULL : memory_for(a);
    if (x == NULL) return NULL;
    Py_INCREF(times);
    PyObject *memory = memory_entered();
    long long start = now();
    PyObject *result = call(x);
    took(times, start);
    memory_left(memory);
    Py_DECREF(times);
    Py_DECREF(x);
    return kept(result, NULL);
}

static PyObject *eager_into(PyObject *a, PyObject *b, int slot, binaryfunc call) {
    int at = np_of(a) != NULL, was = 0;
    if (!entered || Py_TYPE(a) != array_type || !(at || (value_of((Front *)a) != NULL && may_write((Front *)a)))) return NULL;
    Py_ssize_t size = 0;
    int first = type_of(a, &size), second = type_of(b, &size);
    if (first == NOTHING || second == NOTHING || size < limit) return NULL;
    Times *times = times_at(slot_ufuncs[slot], first, second, size);
    if (times == NULL) return NULL;
    PyObject *y = memory_for(b), *x = y == NULL ? NULL : memory_for(a), *result = NULL;
    Py_INCREF(times);
    if (x != NULL && (at || may_write((Front *)a))) {  /* evaluating the other one may have used it */
        if (!at) was = begin_writing((Front *)a, (PyArrayObject *)x);
        long long start = now();
        result = call(x, y);
        took(times, start);
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
    Py_DECREF(times);
    return result;
}

static PyObject *eager_compare(PyObject *a, PyObject *b, int slot, int relation) {
    Py_ssize_t size = 0;
    int first = entered ? type_of(a, &size) : NOTHING, second = first == NOTHING ? NOTHING : type_of(b, &size);
    if (second == NOTHING || size < limit) return NULL;
    Times *times = times_at(slot_ufuncs[slot], first, second, size);
    if (times == NULL) return NULL;
    PyObject *x = memory_for(a), *y = x == NULL ? NULL : memory_for(b), *result = NULL;
    Py_INCREF(times);
    if (y != NULL) {
        PyObject *memory = memory_entered();
        long long start = now();
        result = PyObject_RichCompare(x, y, relation);
        took(times, start);
        memory_left(memory);
    }
    Py_XDECREF(x);
    Py_XDECREF(y);
    Py_DECREF(times);
    return kept(result, NULL);
}

/* What an index selects of an array at hand: views, elements, and copies by small arrays of indices. */
static PyObject *item_at_hand(PyObject *self, PyObject *key) {
    if (Py_TYPE(self) != array_type || !((Front *)self)->large) return NULL;
    PyObject *index = index_of(key);
    if (index == NULL) return NULL;
    PyObject *result = with_two(PyObject_GetItem, ((Front *)self)->np, index);
    Py_DECREF(index);
    return kept(result, self);
}

/* Whether a value in memory, or a number, was written into an array at hand; -1 with an error. */
static int put_at_hand(PyObject *self, PyObject *key, PyObject *value) {
    if (Py_TYPE(self) != array_type || !((Front *)self)->large) return 0;
    Py_ssize_t size = 0;
    if (type_of(value, &size) == NOTHING) return 0;
    PyObject *index = Py_TYPE(key) == array_type && type_of(key, &size) == NPY_BOOL ? memory_for(key) : index_of(key);
    if (index == NULL) return PyErr_Occurred() ? -1 : 0;
    PyObject *array = Py_NewRef(((Front *)self)->np), *given = memory_for(value);
    int status = given == NULL ? -1 : PyObject_SetItem(array, index, given);
    Py_DECREF(array);
    Py_XDECREF(given);
    Py_DECREF(index);
    return status < 0 ? -1 : 1;
}

/* NumPy's result for at most four arguments, whose time counts for the call site; NULL without an error where a value comes later. */
static PyObject *timed(PyObject *function, PyObject *const *args, Py_ssize_t count, PyObject *keywords, Times *times) {
    PyObject *given[5] = {NULL, NULL, NULL, NULL, NULL}, *result = NULL;
    Py_ssize_t n = count + (keywords ? PyTuple_GET_SIZE(keywords) : 0), k = 0;
    Py_XINCREF(times);
    for (; k < n; k++)
        if ((given[k + 1] = memory_for(args[k])) == NULL) break;
    if (k == n) {
        PyObject *memory = memory_entered();
        long long start = now();
        result = PyObject_Vectorcall(function, given + 1, count | PY_VECTORCALL_ARGUMENTS_OFFSET, keywords);
        took(times, start);
        memory_left(memory);
    }
    for (k = 1; k <= n; k++) Py_XDECREF(given[k]);
    Py_XDECREF(times);
    return result;
}

/* A function of large arrays in memory that is entered at this call site; of arrays at hand views and copies anywhere.
 * `sized` is the size of what a function makes, where it is not that of its arguments. */
static PyObject *eager_call(PyObject *original, PyObject *const *args, Py_ssize_t count, PyObject *keywords, Py_ssize_t sized) {
    PyObject *operation = operations == NULL ? NULL : PyDict_GetItemWithError(operations, original);
    Py_ssize_t n = count + (keywords ? PyTuple_GET_SIZE(keywords) : 0), size = sized, k = 0;
    if (operation == NULL || count < 1 || n > 4) return NULL;
    int views = operation == Py_False, own = is_named(operation, 'f'), types[2] = {NOTHING, NOTHING};
    if (n > count && (!own || n > count + 1 || PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(keywords, 0), "dtype"))) return NULL;
    if (!views && !entered) return NULL;
    if (views && (Py_TYPE(args[0]) != array_type || !((Front *)args[0])->large)) return NULL;
    for (; k < n; k++) {
        int type = k && views ? NOTHING : type_of(args[k], &size);
        if (type == NOTHING && !(is_of(passed, args[k]) || (!k && own && PyTuple_CheckExact(args[k])) ||
                                 (k && views && PyTuple_CheckExact(args[k]))))
            return NULL;
        if (k < 2 && !own) types[k] = type;
    }
    Times *times = NULL;
    if (!views) {
        if (is_named(operation, 'w')) types[1] = NOTHING;
        if (is_named(operation, 'c')) {    /* the dtype is the second argument */
            PyArray_Descr *dtype = NULL;
            if (n != 2 || !PyArray_DescrConverter(args[1], &dtype)) return PyErr_Clear(), NULL;
            types[1] = dtype->type_num;
            Py_DECREF(dtype);
        }
        if (size < limit || (times = times_at(operation, types[0], types[1], size)) == NULL) return NULL;
    }
    return kept(timed(original, args, count, keywords, times), views ? args[0] : NULL);
}

/* `number * array` of a number of NumPy's: what it asks the array for. */
static PyObject *eager_ufunc(PyObject *ufunc, PyObject *const *args, Py_ssize_t count) {
    Py_ssize_t size = 0;
    int types[2] = {NOTHING, NOTHING};
    if (!entered || count > 2) return NULL;
    for (Py_ssize_t k = 0; k < count; k++)
        if ((types[k] = type_of(args[k], &size)) == NOTHING) return NULL;
    Times *times = size < limit ? NULL : times_at(ufunc, types[0], types[1], size);
    return times == NULL ? NULL : kept(timed(ufunc, args, count, NULL, times), NULL);
}

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
