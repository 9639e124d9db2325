/* The native front: arrays whose elements are at hand go to NumPy and back without entering Python.
 *
 * An array is an instance of a subclass of Front, the type of which is registered. `_np` is a NumPy array where the elements
 * are at hand. Operators, indexing, functions and methods then call NumPy on it and wrap the result; whatever else
 * they meet is handed to the Python function that the runtime has registered under the same name. So this file decides
 * nothing: without it everything takes the way through Python, and gives the same results.
 */
#define ATOLL_IMPORTS_NUMPY
#include "_loops.h"

static inline PyObject *np_of(PyObject *value);
static int adopt(PyObject *self);

static PyTypeObject FrontType;
PyTypeObject *array_type;
static PyObject *scalars;          /* a frozenset: classes of numbers that operators take */
static PyObject *passed;           /* a frozenset: classes of arguments that NumPy gets as they are */
static PyObject *from_numpy;       /* makes an array over memory that nobody else holds, of any size */
static PyObject *taken;            /* makes arrays of what a function has returned, wherever its memory lies */
Py_ssize_t limit = 0;

enum {
    ADD, SUB, MUL, DIV, FLOORDIV, MOD, POW, MATMUL, AND, OR, XOR, LSHIFT, RSHIFT, DIVMOD, BINARY,
    IADD = BINARY, ISUB, IMUL, IDIV, IFLOORDIV, IMOD, IPOW, IAND, IOR, IXOR, ILSHIFT, IRSHIFT,
    NEG, POS, ABS, INVERT, LT, LE, EQ, NE, GT, GE, GETITEM, SETITEM, LEN, UFUNC, SLOTS
};

/* ---- wrapping and unwrapping */

static inline int is_front(PyObject *value) { return PyObject_TypeCheck(value, &FrontType); }

/* The NumPy array of an array whose elements are at hand, borrowed; else NULL. */
static inline PyObject *plain(PyObject *value) {
    if (Py_TYPE(value) != array_type) return NULL;
    PyObject *np = ((Front *)value)->np;
    return np == Py_None || ((Front *)value)->large ? NULL : np;
}

static inline int is_of(PyObject *classes, PyObject *value) {
    PyTypeObject *type = Py_TYPE(value);
    if (type == &PyFloat_Type || type == &PyLong_Type || type == &PyDoubleArrType_Type) return 1;
    int found = PySet_Contains(classes, (PyObject *)type);
    if (found < 0) PyErr_Clear();
    return found > 0;
}

/* Arrays that have ended, for the next ones: most live for one operation. */
enum { SPARE = 64 };
static PyObject *spare[SPARE];
static int spares = 0;

PyObject *new_handle(void) {
    if (!spares) return array_type->tp_alloc(array_type, 0);
    PyObject *self = PyObject_Init(spare[--spares], array_type);
    PyObject_GC_Track(self);
    return self;
}

/* An array over a NumPy array that stays with NumPy; steals the reference. */
static PyObject *handle_of(PyObject *array) {
    PyObject *self = new_handle();
    if (self == NULL) Py_DECREF(array);
    else ((Front *)self)->np = array;
    return self;
}

/* The result of an operator or of indexing; steals the reference. */
static PyObject *wrapped(PyObject *result) {
    if (result == NULL || Py_TYPE(result) != &PyArray_Type) return result;
    PyArrayObject *array = (PyArrayObject *)result;
    if (PyArray_SIZE(array) >= limit && PyArray_BASE(array) == NULL) {
        PyObject *made = PyObject_CallOneArg(from_numpy, result);
        Py_DECREF(result);
        return made;
    }
    return handle_of(result);
}

/* ---- arrays in memory
 *
 * A large array that is computed, and does not lie on ranks, has its elements in the memory of its value. A short view of it is
 * NumPy's view of that memory, as long as the array has that value. It is read-only, for other arrays may have the same value;
 * what writes through it asks whether that is so. Its geometry is made when Python asks for it.
 */
enum {
    NODE, BOX_WRITEABLE, BOX_GEOMETRY, FIRST, VALUE, PLACE, ARRAY, COUNT, TILES, PROGRAM, IS_BASE, WRITEABLE, SIZE, OFFSET,
    SHAPE, STRIDES, DTYPE, SHADOW, OP, PINNED, PINS, TILE_WHOLE, TILE_HOME, FIELDS
};
static Py_ssize_t offsets[FIELDS];
static PyObject *filled;           /* the operation that fills an array with a number */
static PyObject *located;          /* the geometry of a view that lies so many bytes into memory */
static Py_ssize_t shortest = 0;    /* elements up to which a view is short */
static Py_ssize_t most_filled = 0; /* elements up to which a new array is filled when a few are read or written */
enum { PART = 8, MOVED = 16 };     /* a small part of an array is this part of it at most; slices move that have moved so often */
int worlds = 0;
static PyObject *current_world;    /* the context variable, in which no world stands for that of the process */
int ranks = 1;                     /* of the process */

static inline PyObject *field(PyObject *object, int which) {
    return *(PyObject **)((char *)object + offsets[which]);
}

static inline void set_field(PyObject *object, int which, PyObject *value) {
    PyObject **slot = (PyObject **)((char *)object + offsets[which]), *old = *slot;
    *slot = Py_NewRef(value);
    Py_XDECREF(old);
}

/* The number of elements of an array that views are taken of. */
static inline Py_ssize_t whole_of(Front *front) { return PyLong_AsSsize_t(field(field(front->cell, BOX_GEOMETRY), SIZE)); }

int in_world_of_process(void) {
    PyObject *world = NULL;
    if (current_world == NULL) return 1;
    if (PyContextVar_Get(current_world, Py_None, &world) < 0) PyErr_Clear();
    Py_XDECREF(world);  /* the context has it */
    return world == Py_None;
}

int among_ranks(void) {
    if (!worlds) return 0;
    PyObject *world = NULL, *size = NULL;
    if (PyContextVar_Get(current_world, Py_None, &world) == 0 && world == Py_None) {
        Py_DECREF(world);
        return ranks > 1;
    }
    if (world != NULL) size = PyObject_GetAttrString(world, "size");
    int several = size == NULL || PyLong_AsLong(size) != 1;
    PyErr_Clear();
    Py_XDECREF(size);
    Py_XDECREF(world);
    return several;
}

#include "_tiles.h"

/* Whether NumPy may finish a view before a launch begins: few elements, or a small part of an array. On ranks, where a value may
 * be there on some only, this is as where it is pending: see lazy.making.present. */
static inline int is_few(Front *front, Py_ssize_t size) {
    if (among_ranks()) return size <= shortest && size < small_now();
    return size < limit && (size <= shortest || size <= whole_of(front) / PART);
}

/* Whether NumPy may take elements out of an array that lies here, by its size: see lazy.making.is_at_hand. */
static inline int may_take_from(Front *front) { return !among_ranks() || whole_of(front) >= small_now(); }

/* What has the elements of an array that is computed in memory, its value or a tile of it, borrowed; else NULL. */
static inline PyObject *value_of(Front *front) {
    if (front->cell == NULL || front->np != Py_None || Py_TYPE(front) != array_type) return NULL;
    PyObject *node = field(front->cell, NODE), *value = field(node, VALUE);
    if (value == NULL || value == Py_None) return NULL;
    if (field(node, PLACE) != Py_None) return among_ranks() ? whole_tile(front, value) : NULL;
    return may_take_from(front) ? value : NULL;
}

static inline PyArrayObject *memory_in(PyObject *value) {
    return (PyArrayObject *)(PyArray_CheckExact(value) ? value : field(value, ARRAY));
}

/* The integers of a tuple; -1 where it holds others. */
static int integers(PyObject *tuple, npy_intp *to) {
    Py_ssize_t n = PyTuple_GET_SIZE(tuple);
    for (Py_ssize_t k = 0; k < n; k++) to[k] = PyLong_AsSsize_t(PyTuple_GET_ITEM(tuple, k));
    return PyErr_Occurred() ? -1 : (int)n;
}

/* NumPy's view of a value, as a view of its array shows it; a new reference. */
static PyObject *shown_in(Front *front, PyObject *value) {
    PyArrayObject *array = memory_in(value), *old = (PyArrayObject *)front->shown;
    PyArray_Descr *dtype;
    npy_intp shape[NPY_MAXDIMS], strides[NPY_MAXDIMS];
    Py_ssize_t offset;
    int n;
    if (old != NULL) {  /* of a value that the array had before */
        offset = PyArray_BYTES(old) - PyArray_BYTES(memory_in(front->value));
        n = PyArray_NDIM(old);
        memcpy(shape, PyArray_DIMS(old), n * sizeof(npy_intp));
        memcpy(strides, PyArray_STRIDES(old), n * sizeof(npy_intp));
        dtype = PyArray_DESCR(old);
    } else {
        offset = PyLong_AsSsize_t(field(front->geometry, OFFSET));
        n = integers(field(front->geometry, SHAPE), shape);
        if (n < 0 || integers(field(front->geometry, STRIDES), strides) < 0) return NULL;
        dtype = (PyArray_Descr *)field(front->geometry, DTYPE);
    }
    for (int k = 0; k < n; k++)
        if (shape[k] == 0) offset = 0;
    Py_INCREF(dtype);
    PyObject *shown = PyArray_NewFromDescr(&PyArray_Type, dtype, n, shape, strides, PyArray_BYTES(array) + offset, 0, NULL);
    if (shown == NULL) return NULL;
    if (PyArray_SetBaseObject((PyArrayObject *)shown, Py_NewRef(value)) < 0) {
        Py_DECREF(shown);
        return NULL;
    }
    return shown;
}

/* The elements of an array in memory, of any size; a new reference, NULL without an error where they are not there. */
static PyObject *in_memory(PyObject *self) {
    Front *front = (Front *)self;
    PyObject *value = value_of(front);
    if (value == NULL) return NULL;
    if (front->value == value) return Py_NewRef(front->shown);
    if (front->geometry != NULL && field(front->geometry, IS_BASE) == Py_True) return Py_NewRef((PyObject *)memory_in(value));
    if (front->geometry == NULL && front->shown == NULL) return NULL;
    PyObject *shown = shown_in(front, value);
    if (shown == NULL) {
        PyErr_Clear();
        return NULL;
    }
    if (is_few(front, PyArray_SIZE((PyArrayObject *)shown))) {  /* a large one must not keep memory that is not needed any more */
        Py_XSETREF(front->shown, Py_NewRef(shown));
        Py_XSETREF(front->value, Py_NewRef(value));
    }
    return shown;
}

/* The same for few elements, and for arrays that stay with NumPy. */
static inline PyObject *at_hand(PyObject *self) {
    if (Py_TYPE(self) != array_type) return NULL;
    Front *front = (Front *)self;
    if (front->np != Py_None) return front->large ? NULL : Py_XNewRef(front->np);
    if (front->value == NULL && front->geometry == NULL) return NULL;
    Py_ssize_t size = front->value == NULL ? PyLong_AsSsize_t(field(front->geometry, SIZE)) : PyArray_SIZE((PyArrayObject *)front->shown);
    if (!is_few(front, size)) return NULL;
    return in_memory(self);
}

/* What NumPy takes in place of an operand; a new reference, or NULL. */
static inline PyObject *operand(PyObject *value) {
    if (Py_TYPE(value) == array_type) return at_hand(value);
    return is_of(scalars, value) ? Py_NewRef(value) : NULL;
}

/* Whether views of an array may be shown: what may not be written to has geometries that say so. */
static inline int may_show(Front *front) {
    return field(front->cell, BOX_WRITEABLE) == Py_True &&
           (front->geometry == NULL || field(front->geometry, WRITEABLE) == Py_True);
}

/* Whether an array in memory may be written to: nothing else has the same value. */
static inline int may_write(Front *front) {
    return may_show(front) && !on_ranks(front) && Py_REFCNT(field(front->cell, NODE)) == 1;
}

/* The memory of an array may be written to, from here to the end. */
static int begin_writing(Front *front, PyArrayObject *memory) {
    PyObject *value = field(field(front->cell, NODE), VALUE), *unknown = PyLong_FromLong(-1);
    set_field(value, COUNT, unknown);
    Py_DECREF(unknown);
    set_field(value, TILES, Py_None);
    set_field(value, PROGRAM, Py_None);
    int was = PyArray_FLAGS(memory) & NPY_ARRAY_WRITEABLE;
    PyArray_ENABLEFLAGS(memory, NPY_ARRAY_WRITEABLE);
    return was;
}

static inline void end_writing(PyArrayObject *memory, int was) {
    if (!was) PyArray_CLEARFLAGS(memory, NPY_ARRAY_WRITEABLE);
}

/* A short view of an array; steals the reference to NumPy's. */
static PyObject *view_in(PyObject *self, PyArrayObject *shown) {
    Front *parent = (Front *)self;
    PyArray_CLEARFLAGS(shown, NPY_ARRAY_WRITEABLE);
    PyObject *value = value_of(parent), *view = value == NULL ? NULL : handle_of(Py_NewRef(Py_None));
    if (view == NULL) {
        Py_DECREF(shown);
        return NULL;
    }
    ((Front *)view)->shown = (PyObject *)shown;
    ((Front *)view)->cell = Py_NewRef(parent->cell);
    ((Front *)view)->value = Py_NewRef(value);
    if (field(parent->cell, FIRST) == Py_None && parent->geometry != NULL && field(parent->geometry, IS_BASE) == Py_True) {
        PyObject *first = PyWeakref_NewRef(self, NULL);  /* the array that views have as their base */
        if (first == NULL) {
            Py_DECREF(view);
            return NULL;
        }
        set_field(parent->cell, FIRST, first);
        Py_DECREF(first);
    }
    return view;
}

static PyObject *geometry_get(PyObject *self, void *unused) {
    Front *front = (Front *)self;
    if (front->large && adopt(self) < 0) return NULL;
    if (front->geometry == NULL && front->shown != NULL) {
        PyArrayObject *shown = (PyArrayObject *)front->shown;
        Py_ssize_t offset = PyArray_BYTES(shown) - PyArray_BYTES(memory_in(front->value));
        PyObject *geometry = PyObject_CallFunction(
            located, "OOn", field(front->cell, BOX_GEOMETRY), front->shown, PyArray_SIZE(shown) ? offset : 0);
        if (geometry == NULL) return NULL;
        Py_XSETREF(front->geometry, geometry);
        if (!is_few(front, PyArray_SIZE(shown))) {  /* as in in_memory */
            Py_CLEAR(front->shown);
            Py_CLEAR(front->value);
        }
    }
    if (front->geometry == NULL) {
        PyErr_SetString(PyExc_AttributeError, "_geometry");
        return NULL;
    }
    return Py_NewRef(front->geometry);
}

int has_geometry(PyObject *self) {
    if (((Front *)self)->geometry != NULL) return 1;
    PyObject *geometry = geometry_get(self, NULL);
    if (geometry == NULL) PyErr_Clear();
    Py_XDECREF(geometry);
    return geometry != NULL;
}

static int geometry_set(PyObject *self, PyObject *geometry, void *unused) {
    Front *front = (Front *)self;
    if (front->large && adopt(self) < 0) return -1;
    Py_XSETREF(front->geometry, Py_XNewRef(geometry));
    Py_CLEAR(front->shown);
    Py_CLEAR(front->value);
    return 0;
}

/* ---- what Python does where this file cannot */

static const char *const names[SLOTS] = {
    "__add__", "__sub__", "__mul__", "__truediv__", "__floordiv__", "__mod__", "__pow__", "__matmul__", "__and__",
    "__or__", "__xor__", "__lshift__", "__rshift__", "__divmod__",
    "__iadd__", "__isub__", "__imul__", "__itruediv__", "__ifloordiv__", "__imod__", "__ipow__", "__iand__", "__ior__",
    "__ixor__", "__ilshift__", "__irshift__",
    "__neg__", "__pos__", "__abs__", "__invert__", "__lt__", "__le__", "__eq__", "__ne__", "__gt__", "__ge__",
    "__getitem__", "__setitem__", "__len__", "__array_ufunc__"};
static const char *const reflected_names[BINARY] = {
    "__radd__", "__rsub__", "__rmul__", "__rtruediv__", "__rfloordiv__", "__rmod__", "__rpow__", "__rmatmul__",
    "__rand__", "__ror__", "__rxor__", "__rlshift__", "__rrshift__", "__rdivmod__"};
static PyObject *general[SLOTS], *reflected[BINARY];
static PyObject *known[SLOTS];     /* what the recorder knows of an operator's operands */

static PyObject *eager_one(PyObject *a, int slot, unaryfunc call);
static PyObject *eager_two(PyObject *a, PyObject *b, int slot, binaryfunc call);
static PyObject *eager_into(PyObject *a, PyObject *b, int slot, binaryfunc call);
static PyObject *eager_compare(PyObject *a, PyObject *b, int slot, int relation);
static PyObject *eager_ufunc(PyObject *ufunc, PyObject *const *args, Py_ssize_t count);
static PyObject *item_at_hand(PyObject *self, PyObject *key);
static int put_at_hand(PyObject *self, PyObject *key, PyObject *value);
static PyObject *picked(PyObject *self, PyObject *key);
static int put_picked(PyObject *self, PyObject *key, PyObject *value);
static PyObject *kept(PyObject *result, PyObject *base);
static int is_kept(PyArrayObject *array);
static PyObject *memory_entered(void);
static void memory_left(PyObject *before);

/* An array that is large and at hand becomes one that is recorded; whether that went well. */
static inline int adopted_all(PyObject *const *args, Py_ssize_t n) {
    for (Py_ssize_t k = 0; k < n; k++)
        if (Py_TYPE(args[k]) == array_type && ((Front *)args[k])->large && adopt(args[k]) < 0) return 0;
    return 1;
}

static PyObject *call_two(PyObject *function, PyObject *a, PyObject *b) {
    if (function == NULL) Py_RETURN_NOTIMPLEMENTED;
    PyObject *args[3] = {NULL, a, b};
    return PyObject_Vectorcall(function, args + 1, 2 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
}

/* An operator of two or one operands, recorded, or by Python. */
static PyObject *in_python(PyObject *a, PyObject *b, int slot, binaryfunc call) {
    PyObject *args[2] = {a, b}, *recorded = eager_two(a, b, slot, call);
    if (recorded != NULL || PyErr_Occurred() || !adopted_all(args, 2)) return recorded;
    recorded = slot == POW ? record_power(known[slot], args) : record_call(known[slot], args, 2);
    if (recorded != NULL || PyErr_Occurred()) return recorded;
    if (is_front(a)) {
        PyObject *result = call_two(general[slot], a, b);
        if (result != Py_NotImplemented || !is_front(b) || Py_TYPE(a) == Py_TYPE(b)) return result;
        Py_DECREF(result);
    }
    return call_two(reflected[slot], b, a);
}

static PyObject *alone_in_python(PyObject *a, int slot, unaryfunc call) {
    PyObject *recorded = eager_one(a, slot, call);
    if (recorded != NULL || PyErr_Occurred() || !adopted_all(&a, 1)) return recorded;
    recorded = record_call(known[slot], &a, 1);
    return recorded != NULL || PyErr_Occurred() ? recorded : PyObject_CallOneArg(general[slot], a);
}

static PyObject *in_place_in_python(PyObject *a, PyObject *b, int slot, binaryfunc call) {
    PyObject *args[2] = {a, b}, *eager = eager_into(a, b, slot, call);
    if (eager != NULL || PyErr_Occurred() || !adopted_all(args, 2)) return eager;
    int done = record_in_place(known[slot], a, b);
    return done > 0 ? Py_NewRef(a) : done < 0 ? NULL : call_two(general[slot], a, b);
}

static Loops loops[SLOTS];         /* of operators */

/* The ufuncs of operators; a power has shorter ways in NumPy. */
static const struct {
    int slot;
    const char *name;
} ufuncs[] = {
    {ADD, "add"}, {SUB, "subtract"}, {MUL, "multiply"}, {DIV, "true_divide"}, {FLOORDIV, "floor_divide"}, {MOD, "remainder"},
    {AND, "bitwise_and"}, {OR, "bitwise_or"}, {XOR, "bitwise_xor"}, {LSHIFT, "left_shift"}, {RSHIFT, "right_shift"},
    {NEG, "negative"}, {POS, "positive"}, {ABS, "absolute"}, {INVERT, "invert"}, {LT, "less"}, {LE, "less_equal"}, {EQ, "equal"},
    {NE, "not_equal"}, {GT, "greater"}, {GE, "greater_equal"}};

static int look_up_operators(void) {
    PyObject *numpy = PyImport_ImportModule("numpy");
    for (size_t k = 0; numpy != NULL && k < sizeof ufuncs / sizeof *ufuncs; k++) {
        PyObject *ufunc = PyObject_GetAttrString(numpy, ufuncs[k].name);
        if (ufunc == NULL) Py_CLEAR(numpy);
        else look_up(&loops[ufuncs[k].slot], ufunc);
        Py_XDECREF(ufunc);
    }
    Py_XDECREF(numpy);
    return numpy == NULL ? -1 : 0;
}

/* ---- operators
 *
 * Operands are held while NumPy works: another thread may give an array another memory meanwhile, and memory with one reference
 * counts as a temporary that NumPy may write into. */

static inline PyObject *with_two(binaryfunc call, PyObject *x, PyObject *y) {
    Py_INCREF(x);
    Py_INCREF(y);
    PyObject *result = call(x, y);
    Py_DECREF(x);
    Py_DECREF(y);
    return result;
}

/* The same for references that end here. */
static inline PyObject *of_two(int slot, binaryfunc call, PyObject *x, PyObject *y) {
    PyObject *result = by_loop(&loops[slot], x, y, NULL);
    if (result == NULL && !PyErr_Occurred()) result = call(x, y);
    Py_DECREF(x);
    Py_DECREF(y);
    return wrapped(result);
}

static PyObject *without(PyObject *x, PyObject *a, PyObject *b, int slot, binaryfunc call) {
    Py_XDECREF(x);
    return in_python(a, b, slot, call);
}

static PyObject *power_of(PyObject *x, PyObject *y) { return PyNumber_Power(x, y, Py_None); }
static PyObject *power_into(PyObject *x, PyObject *y) { return PyNumber_InPlacePower(x, y, Py_None); }

#define BINARY_OPERATOR(NAME, SLOT, CALL)                                                        \
    static PyObject *NAME(PyObject *a, PyObject *b) {                                            \
        PyObject *x = operand(a), *y = x == NULL ? NULL : operand(b);                            \
        return y == NULL ? without(x, a, b, SLOT, CALL) : of_two(SLOT, CALL, x, y);              \
    }
BINARY_OPERATOR(add, ADD, PyNumber_Add)
BINARY_OPERATOR(subtract, SUB, PyNumber_Subtract)
BINARY_OPERATOR(multiply, MUL, PyNumber_Multiply)
BINARY_OPERATOR(divide, DIV, PyNumber_TrueDivide)
BINARY_OPERATOR(floor_divide, FLOORDIV, PyNumber_FloorDivide)
BINARY_OPERATOR(remainder_of, MOD, PyNumber_Remainder)
BINARY_OPERATOR(and_of, AND, PyNumber_And)
BINARY_OPERATOR(or_of, OR, PyNumber_Or)
BINARY_OPERATOR(xor_of, XOR, PyNumber_Xor)
BINARY_OPERATOR(left_shift, LSHIFT, PyNumber_Lshift)
BINARY_OPERATOR(right_shift, RSHIFT, PyNumber_Rshift)

static PyObject *divided(PyObject *a, PyObject *b) {
    PyObject *x = operand(a), *y = x == NULL ? NULL : operand(b);
    if (y == NULL) return without(x, a, b, DIVMOD, PyNumber_Divmod);
    PyObject *both = of_two(DIVMOD, PyNumber_Divmod, x, y);
    if (both == NULL || !PyTuple_CheckExact(both) || PyTuple_GET_SIZE(both) != 2) return both;
    PyObject *first = wrapped(Py_NewRef(PyTuple_GET_ITEM(both, 0)));
    PyObject *second = first == NULL ? NULL : wrapped(Py_NewRef(PyTuple_GET_ITEM(both, 1)));
    PyObject *pair = second == NULL ? NULL : PyTuple_Pack(2, first, second);
    Py_XDECREF(first);
    Py_XDECREF(second);
    Py_DECREF(both);
    return pair;
}

/* Whether an array of any size may be in memory here. */
static inline int is_here(PyObject *value) { return is_front(value) && plain(value) == NULL && !on_ranks((Front *)value); }

/* Products of matrices in memory are NumPy's, whatever their size. */
static PyObject *matrix_multiply(PyObject *a, PyObject *b) {
    PyObject *x = is_here(a) ? in_memory(a) : operand(a);
    PyObject *y = x == NULL ? NULL : is_here(b) ? in_memory(b) : operand(b);
    return y == NULL ? without(x, a, b, MATMUL, PyNumber_MatrixMultiply) : of_two(MATMUL, PyNumber_MatrixMultiply, x, y);
}

static PyObject *power(PyObject *a, PyObject *b, PyObject *modulo) {
    if (modulo != Py_None) Py_RETURN_NOTIMPLEMENTED;
    PyObject *x = operand(a), *y = x == NULL ? NULL : operand(b);
    return y == NULL ? without(x, a, b, POW, power_of) : of_two(POW, power_of, x, y);
}

/* What an index selects of an array: a view of so many elements, an element (`is_element`), or elements to pick, at most so many. */
typedef struct {
    char *data;
    Py_ssize_t size;
    int axes, is_element, picks;
    npy_intp shape[NPY_MAXDIMS], strides[NPY_MAXDIMS];
} Selection;

/* NumPy's array of what was selected, which `owner` keeps; a new reference. */
static PyObject *array_of(const Selection *where, PyArrayObject *array, PyObject *owner, int flags) {
    PyArray_Descr *dtype = PyArray_DESCR(array);
    Py_INCREF(dtype);
    PyObject *view = PyArray_NewFromDescr(&PyArray_Type, dtype, where->axes, where->shape, where->strides, where->data, flags, NULL);
    if (view != NULL && PyArray_SetBaseObject((PyArrayObject *)view, Py_NewRef(owner)) < 0) Py_CLEAR(view);
    return view;
}

/* `a += b` of few elements of an array on ranks; as `write_on_ranks`. */
static int written_on_ranks(Front *a, PyArrayObject *x, PyObject *b, int slot) {
    PyObject *y = may_show(a) ? operand(b) : NULL;
    PyObject *result = y == NULL ? NULL : by_loop(&loops[slot], (PyObject *)x, y, NULL);
    int status = PyErr_Occurred() ? -1 : 0;
    if (result != NULL && PyArray_CheckExact(result) && PyArray_SAMESHAPE((PyArrayObject *)result, x)) {
        Selection all = {.data = PyArray_BYTES(x), .axes = PyArray_NDIM(x)};
        memcpy(all.shape, PyArray_DIMS(x), all.axes * sizeof *all.shape);
        memcpy(all.strides, PyArray_STRIDES(x), all.axes * sizeof *all.strides);
        PyObject *region = array_of(&all, x, (PyObject *)x, NPY_ARRAY_WRITEABLE);
        status = region == NULL ? -1 : write_on_ranks(a, (PyArrayObject *)region, result);
        Py_XDECREF(region);
    }
    Py_XDECREF(y);
    Py_XDECREF(result);
    return status;
}

/* `a += b`: NumPy writes into the memory of `a`. */
static PyObject *written(PyObject *a, PyObject *b, int slot, int plain_slot, binaryfunc call) {
    PyObject *x = at_hand(a), *y = NULL;
    int shown = x != NULL && plain(a) == NULL;
    if (x != NULL && (!shown || may_write((Front *)a))) y = operand(b);
    if (y == NULL) {
        int done = shown && on_ranks((Front *)a) ? written_on_ranks((Front *)a, (PyArrayObject *)x, b, plain_slot) : 0;
        Py_XDECREF(x);
        return done > 0 ? Py_NewRef(a) : done < 0 ? NULL : in_place_in_python(a, b, slot, call);
    }
    int was = shown ? begin_writing((Front *)a, (PyArrayObject *)x) : 0;
    PyObject *result = by_loop(&loops[plain_slot], x, y, (PyArrayObject *)x);
    if (result == NULL && !PyErr_Occurred()) result = call(x, y);
    if (shown) end_writing((PyArrayObject *)x, was);
    Py_DECREF(y);
    Py_DECREF(x);
    if (result != x) return wrapped(result);
    Py_DECREF(result);
    return Py_NewRef(a);
}
#define IN_PLACE_OPERATOR(NAME, SLOT, CALL) \
    static PyObject *NAME(PyObject *a, PyObject *b) { return written(a, b, I##SLOT, SLOT, CALL); }
IN_PLACE_OPERATOR(iadd, ADD, PyNumber_InPlaceAdd)
IN_PLACE_OPERATOR(isub, SUB, PyNumber_InPlaceSubtract)
IN_PLACE_OPERATOR(imul, MUL, PyNumber_InPlaceMultiply)
IN_PLACE_OPERATOR(idiv, DIV, PyNumber_InPlaceTrueDivide)
IN_PLACE_OPERATOR(ifloordiv, FLOORDIV, PyNumber_InPlaceFloorDivide)
IN_PLACE_OPERATOR(imod, MOD, PyNumber_InPlaceRemainder)
IN_PLACE_OPERATOR(iand, AND, PyNumber_InPlaceAnd)
IN_PLACE_OPERATOR(ior, OR, PyNumber_InPlaceOr)
IN_PLACE_OPERATOR(ixor, XOR, PyNumber_InPlaceXor)
IN_PLACE_OPERATOR(ilshift, LSHIFT, PyNumber_InPlaceLshift)
IN_PLACE_OPERATOR(irshift, RSHIFT, PyNumber_InPlaceRshift)

static PyObject *ipow(PyObject *a, PyObject *b, PyObject *modulo) {
    if (modulo != Py_None) Py_RETURN_NOTIMPLEMENTED;
    return written(a, b, IPOW, POW, power_into);
}

#define UNARY_OPERATOR(NAME, SLOT, CALL)                                                         \
    static PyObject *NAME(PyObject *a) {                                                         \
        PyObject *x = at_hand(a);                                                                \
        if (x == NULL) return alone_in_python(a, SLOT, CALL);                                    \
        PyObject *result = by_loop(&loops[SLOT], x, NULL, NULL);                                 \
        if (result == NULL && !PyErr_Occurred()) result = CALL(x);                               \
        Py_DECREF(x);                                                                            \
        return wrapped(result);                                                                  \
    }
UNARY_OPERATOR(negative, NEG, PyNumber_Negative)
UNARY_OPERATOR(positive, POS, PyNumber_Positive)
UNARY_OPERATOR(absolute, ABS, PyNumber_Absolute)
UNARY_OPERATOR(invert, INVERT, PyNumber_Invert)

static PyObject *compare(PyObject *a, PyObject *b, int relation) {
    static const int slots[] = {[Py_LT] = LT, [Py_LE] = LE, [Py_EQ] = EQ, [Py_NE] = NE, [Py_GT] = GT, [Py_GE] = GE};
    PyObject *x = operand(a), *y = x == NULL ? NULL : operand(b);
    if (y == NULL) {
        Py_XDECREF(x);
        PyObject *args[2] = {a, b}, *recorded = eager_compare(a, b, slots[relation], relation);
        if (recorded != NULL || PyErr_Occurred() || !adopted_all(args, 2)) return recorded;
        recorded = record_call(known[slots[relation]], args, 2);
        return recorded != NULL || PyErr_Occurred() ? recorded : call_two(general[slots[relation]], a, b);
    }
    PyObject *result = by_loop(&loops[slots[relation]], x, y, NULL);
    if (result == NULL && !PyErr_Occurred()) result = PyObject_RichCompare(x, y, relation);
    Py_DECREF(x);
    Py_DECREF(y);
    return wrapped(result);
}

/* `number * array`, where the number is NumPy's: its operators ask ours first, for the way through NumPy's ufuncs and back takes as
 * long as the operation. Everything else is what it was. */
#define NUMBER_OPERATOR(TYPE, CALL)                                                        \
    static binaryfunc TYPE##_##CALL##_was;                                                       \
    static PyObject *TYPE##_##CALL(PyObject *a, PyObject *b) {                                   \
        return Py_TYPE(b) == array_type ? CALL(a, b) : TYPE##_##CALL##_was(a, b);                \
    }
#define NUMBER(TYPE)                                                                             \
    NUMBER_OPERATOR(TYPE, add)                                                           \
    NUMBER_OPERATOR(TYPE, subtract)                                                 \
    NUMBER_OPERATOR(TYPE, multiply)                                                 \
    NUMBER_OPERATOR(TYPE, divide)                                                \
    static void TYPE##_asks(PyNumberMethods *methods) {                                          \
        TYPE##_add_was = methods->nb_add;                                                        \
        TYPE##_subtract_was = methods->nb_subtract;                                              \
        TYPE##_multiply_was = methods->nb_multiply;                                              \
        TYPE##_divide_was = methods->nb_true_divide;                                             \
        methods->nb_add = TYPE##_add;                                                            \
        methods->nb_subtract = TYPE##_subtract;                                                  \
        methods->nb_multiply = TYPE##_multiply;                                                  \
        methods->nb_true_divide = TYPE##_divide;                                                 \
    }
NUMBER(single)
NUMBER(real)
NUMBER(complex_number)
NUMBER(integer)

static void numbers_ask(void) {
    single_asks(PyFloatArrType_Type.tp_as_number);
    real_asks(PyDoubleArrType_Type.tp_as_number);
    complex_number_asks(PyCDoubleArrType_Type.tp_as_number);
    integer_asks(PyLongArrType_Type.tp_as_number);
}

/* What NumPy's ufuncs ask for arrays among their operands. */
static PyObject *array_ufunc(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords) {
    PyObject *result = NULL, *given[2];
    if (count == 4 && keywords == NULL && Py_TYPE(args[0]) == &PyUFunc_Type &&
        ((PyUFuncObject *)args[0])->nout == 1 && PyUnicode_CompareWithASCIIString(args[1], "__call__") == 0) {
        given[0] = operand(args[2]);
        given[1] = given[0] == NULL ? NULL : operand(args[3]);
        int fits = given[1] != NULL;
        if (fits) result = wrapped(PyObject_Vectorcall(args[0], given, 2, NULL));
        Py_XDECREF(given[0]);
        Py_XDECREF(given[1]);
        if (fits) return result;
        result = eager_ufunc(args[0], args + 2, 2);
        if (result != NULL || PyErr_Occurred()) return result;
    }
    Py_ssize_t n = count + (keywords ? PyTuple_GET_SIZE(keywords) : 0);
    PyObject **all = PyMem_Malloc((n + 1) * sizeof(PyObject *));
    if (all == NULL) return PyErr_NoMemory();
    all[0] = self;
    for (Py_ssize_t k = 0; k < n; k++) all[k + 1] = args[k];
    result = PyObject_Vectorcall(general[UFUNC], all, count + 1, keywords);
    PyMem_Free(all);
    return result;
}

/* ---- indexing */

enum { MOST_LISTED = 64, DEEPEST = 4 };  /* numbers of a list that are looked at, and lists in lists */
enum { PLAIN = 1, SHOWN = 2 };     /* what arrays are among arguments: that stay with NumPy, and short views */

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
        if (Py_TYPE(item) == array_type) {
            given = at_hand(item);
            *arrays |= given == NULL ? 0 : plain(item) != NULL ? PLAIN : SHOWN;
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
    PyObject *array = at_hand(key);
    if (array != NULL) return array;
    if (!PyTuple_CheckExact(key)) return NULL;
    Py_ssize_t n = PyTuple_GET_SIZE(key), basic = 0;
    while (basic < n && is_basic(PyTuple_GET_ITEM(key, basic))) basic++;
    if (basic == n) return Py_NewRef(key);
    PyObject *items = PyTuple_New(n);
    for (Py_ssize_t k = 0; items != NULL && k < n; k++) {
        PyObject *item = PyTuple_GET_ITEM(key, k);
        item = k < basic || is_basic(item) || listed(item) > 0 ? Py_NewRef(item) : at_hand(item);
        if (item == NULL) {
            Py_DECREF(items);
            return NULL;
        }
        PyTuple_SET_ITEM(items, k, item);
    }
    return items;
}

/* Whether a bound of a slice is a number without a method of the program's. */
static inline int is_bound(PyObject *number) {
    return number == Py_None || PyLong_CheckExact(number) || PyArray_IsScalar(number, Integer);
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
            PySliceObject *slice = (PySliceObject *)item;
            if (!is_bound(slice->start) || !is_bound(slice->stop) || !is_bound(slice->step)) return 0;
            if (PySlice_Unpack(item, &start, &stop, &step) < 0 || to->axes == NPY_MAXDIMS) {
                PyErr_Clear();
                return 0;
            }
            extent = PySlice_AdjustIndices(extent, &start, &stop, step);
            if (extent > 0) to->data += start * strides[axis];
            to->size *= to->shape[to->axes] = extent;
            to->strides[to->axes++] = step * strides[axis++];
            view = 1;
        } else {  /* elements to pick, whose indices are broadcast */
            Py_ssize_t length = listed(item);
            int alike = picked == length, used = 1;
            if (length < 0) {
                PyArrayObject *index = (PyArrayObject *)at_hand(item);
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
    if (!is_few(front, where.size) || whole_of(front) > most_filled || !may_take_from(front)) return NULL;
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
    if (selected(array, key, &where)) {
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

/* Whether an element took a number without any conversion; where it is of another kind NumPy assigns. */
static inline int put_element(const Selection *where, PyArrayObject *array, PyObject *number) {
    if (!PyFloat_Check(number) || PyArray_TYPE(array) != NPY_DOUBLE || !PyArray_ISBEHAVED(array)) return 0;
    *(double *)where->data = PyFloat_AS_DOUBLE(number);
    return 1;
}

/* Whether elements of an array in memory were written; -1 with an error. */
static int set_in_memory(PyObject *self, PyObject *key, PyObject *value) {
    PyArrayObject *array = in_memory_for(self, key);
    if (array == NULL) return PyErr_Occurred() ? -1 : 0;
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
    if (may_write((Front *)self) && selected(array, key, &where) &&
        (where.picks ? may_pick(where.size) : is_few((Front *)self, where.size)) && (given = assigned(value, array)) != NULL)
        index = index_of(key);
    if (index != NULL) {
        int was = begin_writing((Front *)self, array);
        if (where.is_element && put_element(&where, array, given)) status = 1;
        else status = PyObject_SetItem((PyObject *)array, index, given) < 0 ? -1 : 1;
        end_writing(array, was);
        Py_DECREF(index);
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

static PyObject *get_item(PyObject *self, PyObject *key) {
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

static int set_item(PyObject *self, PyObject *key, PyObject *value) {
    if (value == NULL) {
        PyErr_SetString(PyExc_ValueError, "cannot delete array elements");
        return -1;
    }
    PyArrayObject *array = (PyArrayObject *)plain(self);
    PyObject *given = array == NULL ? NULL : assigned(value, array), *index = NULL;
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
    if (!set && array == NULL && !PyErr_Occurred() && adopted_all(large, 2)) set = set_in_memory(self, key, value);
    if (!set && array == NULL && !PyErr_Occurred()) set = record_store(self, key, value);
    if (!set && array == NULL && !PyErr_Occurred()) set = put_picked(self, key, value);
    if (set > 0) return 0;
    if (PyErr_Occurred()) return -1;
    PyObject *args[4] = {NULL, self, key, value};
    PyObject *done = PyObject_Vectorcall(general[SETITEM], args + 1, 3 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

static Py_ssize_t length(PyObject *self) {
    PyObject *array = np_of(self);
    if (array == NULL && Py_TYPE(self) == array_type) array = ((Front *)self)->shown;
    if (array != NULL && PyArray_NDIM((PyArrayObject *)array)) return PyArray_DIM((PyArrayObject *)array, 0);
    PyObject *number = PyObject_CallOneArg(general[LEN], self);
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

static PyObject *iterator_of(PyObject *self) {
    PyObject *shape = Py_TYPE(self) == array_type ? NULL : PyObject_GetAttrString(self, "shape");
    if (shape == NULL && !PyErr_Occurred()) {
        PyObject *array = np_of(self);
        if (array == NULL) array = ((Front *)self)->shown;
        shape = array != NULL ? PyTuple_New(PyArray_NDIM((PyArrayObject *)array)) : PyObject_GetAttrString(self, "shape");
    }
    if (shape == NULL) return NULL;
    int axes = PyTuple_CheckExact(shape) ? (int)PyTuple_GET_SIZE(shape) : 0;
    Py_DECREF(shape);
    if (axes == 0) {
        PyErr_SetString(PyExc_TypeError, "iteration over a 0-d array");
        return NULL;
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
    PyObject *array = at_hand(iterator->array);
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

/* ---- the type */

static int traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(((Front *)self)->np);
    Py_VISIT(((Front *)self)->cell);
    Py_VISIT(((Front *)self)->geometry);
    Py_VISIT(((Front *)self)->shown);
    Py_VISIT(((Front *)self)->value);
    return 0;
}

static void clear(PyObject *self) {
    Front *front = (Front *)self;
    PyObject_GC_UnTrack(self);
    if (front->weak != NULL) PyObject_ClearWeakRefs(self);
    Py_CLEAR(front->np);
    Py_CLEAR(front->cell);
    Py_CLEAR(front->geometry);
    Py_CLEAR(front->shown);
    Py_CLEAR(front->value);
    front->large = 0;
}

static void dealloc(PyObject *self) {
    clear(self);
    Py_TYPE(self)->tp_free(self);
}

/* The same for the class of arrays, which adds nothing to Front: Python's own way through all bases takes three times as long.
 * An object of a class of Python's holds a reference to it. */
static void dealloc_array(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    clear(self);
    if (type == array_type && spares < SPARE) spare[spares++] = self;
    else type->tp_free(self);
    Py_DECREF(type);
}

/* Python sees an array that is large and at hand as one that is recorded. */
static PyObject *get_part(PyObject *self, void *offset) {
    if (((Front *)self)->large && adopt(self) < 0) return NULL;
    PyObject *part = *(PyObject **)((char *)self + (size_t)offset);
    if (part == NULL) PyErr_SetString(PyExc_AttributeError, "an array that atoll has not made");
    return Py_XNewRef(part);
}

static int set_part(PyObject *self, PyObject *value, void *offset) {
    if (((Front *)self)->large && adopt(self) < 0) return -1;
    PyObject **part = (PyObject **)((char *)self + (size_t)offset);
    Py_XSETREF(*part, Py_XNewRef(value));
    return 0;
}

static PyMethodDef front_methods[] = {
    {"__array_ufunc__", (PyCFunction)(void (*)(void))array_ufunc, METH_FASTCALL | METH_KEYWORDS, "What NumPy's ufuncs ask for."},
    {NULL}};
static PyGetSetDef front_getset[] = {
    {"_np", get_part, set_part, "the NumPy array of a small array; else None", (void *)offsetof(Front, np)},
    {"_cell", get_part, set_part, "the box of the base", (void *)offsetof(Front, cell)},
    {"_geometry", geometry_get, geometry_set, "the shape, strides and offset of the view", NULL}, {NULL}};
static PyNumberMethods number = {
    .nb_add = add, .nb_subtract = subtract, .nb_multiply = multiply, .nb_true_divide = divide,
    .nb_floor_divide = floor_divide, .nb_remainder = remainder_of, .nb_divmod = divided, .nb_power = power,
    .nb_matrix_multiply = matrix_multiply, .nb_and = and_of, .nb_or = or_of, .nb_xor = xor_of, .nb_lshift = left_shift,
    .nb_rshift = right_shift, .nb_inplace_add = iadd, .nb_inplace_subtract = isub, .nb_inplace_multiply = imul,
    .nb_inplace_true_divide = idiv, .nb_inplace_floor_divide = ifloordiv, .nb_inplace_remainder = imod,
    .nb_inplace_power = ipow, .nb_inplace_and = iand, .nb_inplace_or = ior, .nb_inplace_xor = ixor,
    .nb_inplace_lshift = ilshift, .nb_inplace_rshift = irshift, .nb_negative = negative, .nb_positive = positive,
    .nb_absolute = absolute, .nb_invert = invert};
static PyMappingMethods mapping = {.mp_length = length, .mp_subscript = get_item, .mp_ass_subscript = set_item};
static PyTypeObject FrontType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "atoll._front.Front", .tp_basicsize = sizeof(Front), .tp_dealloc = dealloc,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, .tp_traverse = traverse,
    .tp_weaklistoffset = offsetof(Front, weak),
    .tp_as_number = &number, .tp_as_mapping = &mapping, .tp_iter = iterator_of, .tp_richcompare = compare,
    .tp_methods = front_methods, .tp_getset = front_getset,
    .tp_doc = "What arrays are to the native front."};

#include "_call_sites.h"
#include "_picking.h"

int adopt_array(PyObject *array) { return ((Front *)array)->large ? adopt(array) : 0; }

/* ---- functions and methods */

enum { ANY = 1, SHAPED = 2, SQUARE = 4, RANGE = 8, SPACED = 16, OUTER = 32, LARGE = 64, VIEWS = 128, WRITES = 256, RECORDED = 512, EXACT = 1024, DRAWS = 2048, BOUNDED = 4096,
       SHARED = 8192, WHOLE = 16384 };
/* ANY needs no array among its arguments. Of the next ones the size of the result follows from the arguments: from a shape, the
 * length of a side, a range, a number of points, or the product of the sizes of all arrays. What is LARGE is NumPy's work, and
 * reads arrays of any size. A function that VIEWS returns views of its first argument, and WRITES says that it writes there. What is
 * RECORDED is never NumPy's at once. What is EXACT has the same bits however it is computed: NumPy folds arrays in memory at once, as
 * far as one thread does that quickly; what is WHOLE only without an axis. A call that may be SHARED by threads is Python's where it
 * is worth it. A function that DRAWS is a method of generators of random numbers; a BOUNDED one takes
 * NumPy's stream for up to so many numbers (`block`), and its kind has the place of their number from the bit `SIZE_AT` on. */
enum { MOST = 16, SIZE_AT = 16 };  /* arguments of a call that is looked at */
static Py_ssize_t exact = 0, truths = 0; /* elements that are folded at once; truth values */
static Py_ssize_t block = 0;
static Py_ssize_t divided_from = 0; /* elements of a call that several threads share */
static PyObject *has_threads;      /* whether there are several */
static PyObject *drawer_name;      /* where our generators have NumPy's, whose methods call each other */

typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject *original, *python, *known, *dict, *weak, *fold;
    int kind, way;
    Loops loops;
} Function;

static PyTypeObject FunctionType;

/* The product of a shape, or `limit` where there is none. */
static Py_ssize_t elements(PyObject *shape) {
    Py_ssize_t size = 1, n = PyTuple_CheckExact(shape) ? PyTuple_GET_SIZE(shape) : 1;
    for (Py_ssize_t k = 0; k < n; k++) {
        PyObject *item = PyTuple_CheckExact(shape) ? PyTuple_GET_ITEM(shape, k) : shape;
        if (!PyLong_CheckExact(item)) return limit;
        Py_ssize_t extent = PyLong_AsSsize_t(item);
        if (extent < 0 || extent >= limit) {
            PyErr_Clear();
            return limit;
        }
        if ((size *= extent) >= limit) return limit;
    }
    return size;
}

/* The product of a shape, however large; 0 where there is none. */
static Py_ssize_t extent_of(PyObject *shape) {
    double size = 1;
    Py_ssize_t n = PyTuple_CheckExact(shape) ? PyTuple_GET_SIZE(shape) : 1;
    for (Py_ssize_t k = 0; k < n; k++) {
        PyObject *item = PyTuple_CheckExact(shape) ? PyTuple_GET_ITEM(shape, k) : shape;
        if (!PyLong_CheckExact(item)) return 0;
        size *= PyLong_AsDouble(item);
    }
    PyErr_Clear();
    return size > 0 && size < 1e15 ? (Py_ssize_t)size : 0;
}

/* What a function makes of a shape, or of two arrays that are multiplied; 0 where its size is that of its arguments. */
static Py_ssize_t size_made(int kind, PyObject *const *args, Py_ssize_t count) {
    Py_ssize_t first = 0, second = 0;
    if (kind & SHAPED) return count ? extent_of(args[0]) : 0;
    if (!(kind & OUTER) || count != 2) return 0;
    int fits = type_of(args[0], &first) != NOTHING && type_of(args[1], &second) != NOTHING;
    return fits ? first * second : 0;
}

/* The number of elements of what a function of this kind makes, `limit` where that is not known. */
static Py_ssize_t made_by(int kind, PyObject *const *args, Py_ssize_t count, int keywords) {
    Py_ssize_t n;
    if (!(kind & (SHAPED | SQUARE | SPACED | RANGE | OUTER))) return 0;
    if (kind & SHAPED) return count ? elements(args[0]) : limit;
    if (kind & SQUARE) {
        if (keywords) return limit;  /* the number of columns may be among them */
        n = count ? elements(args[0]) : limit;
        return n < 1 << 15 && (count < 2 || args[1] == Py_None) ? n * n : limit;
    }
    if (kind & SPACED) {
        if (keywords) return limit;
        return count < 3 ? 50 : PyLong_CheckExact(args[2]) ? elements(args[2]) : limit;
    }
    if (kind & RANGE) {
        double bounds[3] = {0, 0, 1};
        for (Py_ssize_t k = 0; k < count; k++) {
            if (k == 3 || !(PyLong_CheckExact(args[k]) || PyFloat_CheckExact(args[k]))) return limit;
            bounds[count == 1 ? 1 : k] = PyFloat_AsDouble(args[k]);
        }
        double size = (bounds[1] - bounds[0]) / bounds[2];
        PyErr_Clear();
        return count && size < limit ? (Py_ssize_t)(size > 0 ? size : 0) : limit;
    }
    for (n = 1; count--;) {
        PyObject *array = at_hand(args[count]);
        Py_ssize_t size = array == NULL ? 0 : PyArray_SIZE((PyArrayObject *)array);
        Py_XDECREF(array);
        if (size) n *= size;
        if (n >= limit) return limit;
    }
    return n;
}

/* The first and the last byte of an array that has elements. */
static void bounds_of(PyArrayObject *array, char **low, char **high) {
    *low = *high = PyArray_BYTES(array);
    for (int k = 0; k < PyArray_NDIM(array); k++) {
        npy_intp reach = (PyArray_DIM(array, k) - 1) * PyArray_STRIDE(array, k);
        if (reach < 0) *low += reach;
        else *high += reach;
    }
    *high += PyArray_ITEMSIZE(array) - 1;
}

/* Whether an array may show memory of an argument, or of one in a list of them. */
static int shows(PyArrayObject *array, PyObject *argument) {
    if (PyArray_CheckExact(argument)) {
        char *low, *high, *first, *last;
        if (!PyArray_SIZE(array) || !PyArray_SIZE((PyArrayObject *)argument)) return PyArray_BASE(array) != NULL;
        bounds_of(array, &low, &high);
        bounds_of((PyArrayObject *)argument, &first, &last);
        return low <= last && first <= high;
    }
    if (PyTuple_CheckExact(argument) || PyList_CheckExact(argument))
        for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(argument); k++)
            if (shows(array, PySequence_Fast_GET_ITEM(argument, k))) return 1;
    return 0;
}

typedef struct {
    PyObject *const *args, **given;  /* the arguments, and what NumPy gets in their place */
    Py_ssize_t n;
    int kind, arrays;
} Call;

/* Whether a result of short views may be taken: memory of its own, an argument, or a view that is known to be one. */
static int may_take(PyObject *result, const Call *call) {
    if (PyArray_CheckExact(result)) {
        PyArrayObject *array = (PyArrayObject *)result;
        if (PyArray_BASE(array) == NULL) return 1;
        for (Py_ssize_t k = 0; k < call->n; k++)
            if (call->given[k] == result) return 1;
        for (Py_ssize_t k = 0; k < call->n; k++)
            if (shows(array, call->given[k])) return k == 0 && call->kind & VIEWS;
        return 1;
    }
    if (!PyTuple_Check(result) && !PyList_CheckExact(result)) return is_of(passed, result);  /* tuples with names among them */
    for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(result); k++)
        if (!may_take(PySequence_Fast_GET_ITEM(result, k), call)) return 0;
    return 1;
}

/* What a function has returned, as arrays; steals the reference. */
static PyObject *taken_from(PyObject *result, const Call *call) {
    PyTypeObject *type = Py_TYPE(result);
    Py_ssize_t n = call->n;
    if (type == &PyArray_Type) {
        PyArrayObject *array = (PyArrayObject *)result;
        for (Py_ssize_t k = 0; k < n; k++) {
            if (call->given[k] == result && Py_TYPE(call->args[k]) == array_type) {
                Py_DECREF(result);
                return Py_NewRef(call->args[k]);
            }
        }
        if (call->kind & VIEWS && call->arrays & SHOWN && PyArray_BASE(array) != NULL && plain(call->args[0]) == NULL && shows(array, call->given[0]))
            return view_in(call->args[0], array);
        if (PyArray_SIZE(array) < limit) return handle_of(result);
        if (PyArray_BASE(array) == NULL && is_kept(array) && !among_ranks()) return kept(result, NULL);
    } else if (type == &PyTuple_Type || type == &PyList_Type) {
        Py_ssize_t length = PySequence_Fast_GET_SIZE(result);
        PyObject *items = type == &PyTuple_Type ? PyTuple_New(length) : PyList_New(length);
        for (Py_ssize_t k = 0; items != NULL && k < length; k++) {
            PyObject *item = taken_from(Py_NewRef(PySequence_Fast_GET_ITEM(result, k)), call);
            if (item == NULL) Py_CLEAR(items);
            else if (type == &PyTuple_Type) PyTuple_SET_ITEM(items, k, item);
            else PyList_SET_ITEM(items, k, item);
        }
        Py_DECREF(result);
        return items;
    } else if (is_of(passed, result)) {
        return result;
    }
    PyObject *values = PyTuple_New(n);
    for (Py_ssize_t k = 0; values != NULL && k < n; k++) PyTuple_SET_ITEM(values, k, Py_NewRef(call->args[k]));
    PyObject *made = values == NULL ? NULL : call_two(taken, result, values);
    Py_XDECREF(values);
    Py_DECREF(result);
    return made;
}

/* The place of the one argument that is written into, -1 where there is none. */
static Py_ssize_t target_of(Function *function, Py_ssize_t count, Py_ssize_t n, PyObject *keywords) {
    if (function->kind & WRITES) return count ? 0 : -1;
    if (Py_TYPE(function->original) == &PyUFunc_Type && count == ((PyUFuncObject *)function->original)->nin + 1) return count - 1;
    for (Py_ssize_t k = count; k < n; k++)
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(keywords, k - count), "out") == 0) return k;
    return -1;
}

/* Whether several threads share a call with these arguments. */
static int is_shared(PyObject *const *given, Py_ssize_t n) {
    Py_ssize_t largest = 0;
    for (Py_ssize_t k = 0; k < n; k++)
        if (PyArray_CheckExact(given[k]) && PyArray_SIZE((PyArrayObject *)given[k]) > largest) largest = PyArray_SIZE((PyArrayObject *)given[k]);
    if (largest < divided_from || has_threads == NULL) return 0;
    PyObject *answer = PyObject_CallNoArgs(has_threads);
    int are_several = answer == NULL ? 1 : PyObject_IsTrue(answer);
    if (answer == NULL) PyErr_Clear();
    Py_XDECREF(answer);
    return are_several;
}

/* The memory of an array that NumPy folds at once; a new reference, or NULL. */
static PyObject *to_fold(PyObject *value) {
    PyObject *array = ((Front *)value)->large ? Py_NewRef(np_of(value)) : in_memory(value);
    if (array != NULL && PyArray_SIZE((PyArrayObject *)array) > (PyArray_ISBOOL((PyArrayObject *)array) ? truths : exact)) Py_CLEAR(array);
    return array;
}

/* NumPy's generator of one of ours, where it draws so many numbers; a new reference, or NULL. `size` is how many, as far as is known. */
static PyObject *drawer_of(int kind, PyObject *const *args, Py_ssize_t count, PyObject *keywords, Py_ssize_t *size) {
    Py_ssize_t place = kind >> SIZE_AT, named = keywords == NULL ? 0 : PyTuple_GET_SIZE(keywords);
    PyObject *wanted = place < count ? args[place] : NULL;
    if (!count || among_ranks()) return NULL;
    for (Py_ssize_t k = 0; k < named; k++)
        if (!PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(keywords, k), "size")) wanted = args[count + k];
    if (wanted != NULL && PyArray_IsScalar(wanted, Integer)) *size = PyNumber_AsSsize_t(wanted, NULL);
    else *size = wanted == NULL || wanted == Py_None ? 1 : extent_of(wanted);
    if (kind & BOUNDED && (*size == 0 || *size > block)) return NULL;
    PyObject *dict = PyObject_GenericGetDict(args[0], NULL);
    PyObject *drawer = dict == NULL ? NULL : Py_XNewRef(PyDict_GetItem(dict, drawer_name));
    Py_XDECREF(dict);
    if (dict == NULL) PyErr_Clear();
    return drawer;
}

static PyObject *call_function(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *keywords) {
    Function *function = (Function *)self;
    Py_ssize_t count = PyVectorcall_NARGS(nargsf), n = count + (keywords ? PyTuple_GET_SIZE(keywords) : 0);
    Py_ssize_t target = n > 1 || function->kind & WRITES ? target_of(function, count, n, keywords) : -1;
    PyObject *space[MOST + 1], **given = space + 1;
    int arrays = 0, fits = n <= MOST && !(function->kind & RECORDED), was = 0;
    int large = function->kind & LARGE && !among_ranks();  /* on ranks a value may be there on some only, and bits must not differ */
    Py_ssize_t owned = 0, drawn = 0;
    for (Py_ssize_t k = 0; fits && k < n; k++) {
        PyObject *value = args[k];
        given[k] = NULL;
        if (!k && function->kind & DRAWS) {
            given[k] = drawer_of(function->kind, args, count, keywords, &drawn);
        } else if (Py_TYPE(value) == array_type) {
            int is_plain = plain(value) != NULL;
            int in_place = ((Front *)value)->large && k != target;
            if (function->kind & EXACT && !is_plain && !k && !among_ranks() && (n == 1 || !(function->kind & WHOLE))) given[k] = to_fold(value);
            else if (!large || is_plain) given[k] = at_hand(value);
            else given[k] = in_place ? Py_NewRef(np_of(value)) : in_memory(value);
            arrays |= is_plain ? PLAIN : SHOWN;
            if (k == target && !is_plain && given[k] != NULL && !may_write((Front *)value)) Py_CLEAR(given[k]);
        } else if (is_of(passed, value)) {
            given[k] = Py_NewRef(value);
        } else if (PyList_CheckExact(value) || PyTuple_CheckExact(value)) {
            given[k] = items_of(value, &arrays, 0);
        }
        fits = given[k] != NULL;
        owned += fits;
    }
    for (Py_ssize_t k = count; fits && k < n; k++) {
        PyObject *name = PyTuple_GET_ITEM(keywords, k - count);
        fits = PyUnicode_CompareWithASCIIString(name, "like") &&
               PyUnicode_CompareWithASCIIString(name, "layout");
    }
    if (fits && function->kind & SHARED) fits = !is_shared(given, n);
    if (fits && function->kind > ANY) fits = made_by(function->kind, args, count, keywords != NULL) < limit;
    PyObject *result;
    if (drawn && arrays & SHOWN) fits = 0;  /* what draws is not called twice */
    if (!fits || !(arrays || function->kind & (ANY | SHAPED | SQUARE | RANGE | SPACED | OUTER | DRAWS))) {
        while (owned) Py_DECREF(given[--owned]);
        result = PyErr_Occurred() ? NULL : eager_call(function->original, args, count, keywords,
                                                      size_made(function->kind, args, count));
        if (result == NULL && !PyErr_Occurred() && adopted_all(args, n))
            result = record_function(self, function->way, function->known, function->python, args, count, keywords);
        if (result == NULL && !PyErr_Occurred()) result = PyObject_Vectorcall(function->python, args, nargsf, keywords);
    } else {
        Call call = {args, given, n, function->kind, arrays};
        int writes = target >= 0 && Py_TYPE(args[target]) == array_type && plain(args[target]) == NULL;
        if (writes) was = begin_writing((Front *)args[target], (PyArrayObject *)given[target]);
        result = n == function->loops.operands && n == count ? by_loop(&function->loops, given[0], n > 1 ? given[1] : NULL, NULL) : NULL;
        if (function->fold != NULL && n == 1 && count == 1 && PyArray_CheckExact(given[0]) &&
            PyArray_DESCR((PyArrayObject *)given[0])->type_num < NPY_OBJECT)
            result = call_two(function->fold, given[0], Py_None);  /* all that the function does for numbers */
        if (result == NULL && !PyErr_Occurred()) {
            PyObject *memory = drawn >= limit || (large && arrays & SHOWN) ? memory_entered() : NULL;
            result = PyObject_Vectorcall(function->original, given, count | PY_VECTORCALL_ARGUMENTS_OFFSET, keywords);
            memory_left(memory);
        }
        if (writes) end_writing((PyArrayObject *)given[target], was);
        int again = arrays & SHOWN && !writes &&
                    (result == NULL ? PyErr_ExceptionMatches(PyExc_ValueError) : !may_take(result, &call));
        if (again) {  /* it would write into a short view, or shows it */
            PyErr_Clear();
            Py_XDECREF(result);
            result = PyObject_Vectorcall(function->python, args, nargsf, keywords);
        } else if (result != NULL) {
            result = taken_from(result, &call);
        }
    }
    while (owned) Py_DECREF(given[--owned]);
    return result;
}

/* NumPy's functions become methods of classes that have them as attributes; ufuncs, which are of a subclass, do not. */
static PyObject *bound(PyObject *self, PyObject *object, PyObject *type) {
    if (object == NULL || object == Py_None || Py_TYPE(self) != &FunctionType) return Py_NewRef(self);
    return PyMethod_New(self, object);
}

static PyObject *function_new(PyTypeObject *type, PyObject *args, PyObject *options) {
    PyObject *original, *python;
    int kind = 0;
    if (!PyArg_ParseTuple(args, "OO|i", &original, &python, &kind)) return NULL;
    Function *self = (Function *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    if (type->tp_call == PyVectorcall_Call) type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;  /* Python 3.11 does not inherit it */
    self->call = call_function;
    self->original = Py_NewRef(original);
    self->python = Py_NewRef(python);
    self->kind = kind;
    look_up(&self->loops, original);
    return (PyObject *)self;
}

static int function_traverse(PyObject *self, visitproc visit, void *arg) {
    Function *function = (Function *)self;
    Py_VISIT(function->original);
    Py_VISIT(function->python);
    Py_VISIT(function->known);
    Py_VISIT(function->fold);
    Py_VISIT(function->dict);
    return 0;
}

static int function_clear(PyObject *self) {
    Function *function = (Function *)self;
    Py_CLEAR(function->original);
    Py_CLEAR(function->python);
    Py_CLEAR(function->known);
    Py_CLEAR(function->fold);
    Py_CLEAR(function->dict);
    return 0;
}

static void function_dealloc(PyObject *self) {
    PyObject_GC_UnTrack(self);
    if (((Function *)self)->weak != NULL) PyObject_ClearWeakRefs(self);
    function_clear(self);
    Py_TYPE(self)->tp_free(self);
}

/* Functions are pickled by their names. */
static PyObject *function_reduce(PyObject *self, PyObject *nothing) {
    return PyObject_GetAttrString(self, "__qualname__");
}

static PyMethodDef function_methods[] = {{"__reduce__", function_reduce, METH_NOARGS, NULL}, {NULL}};
static PyMemberDef function_members[] = {
    {"_python", T_OBJECT, offsetof(Function, python), 0, "what is called where NumPy cannot be at once"},
    {"_known", T_OBJECT, offsetof(Function, known), 0, "what the recorder knows of its operands"},
    {"_way", T_INT, offsetof(Function, way), 0, "how the recorder records it"},
    {"_fold", T_OBJECT, offsetof(Function, fold), 0, "the method of a ufunc that folds a whole array"},
    {"__dictoffset__", T_PYSSIZET, offsetof(Function, dict), READONLY},
    {NULL}};
static PyGetSetDef function_getset[] = {{"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict}, {NULL}};
static PyTypeObject FunctionType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "atoll._front.Function", .tp_basicsize = sizeof(Function), .tp_dealloc = function_dealloc,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                Py_TPFLAGS_METHOD_DESCRIPTOR,
    .tp_vectorcall_offset = offsetof(Function, call), .tp_call = PyVectorcall_Call, .tp_descr_get = bound,
    .tp_dictoffset = offsetof(Function, dict), .tp_weaklistoffset = offsetof(Function, weak),
    .tp_traverse = function_traverse, .tp_clear = function_clear, .tp_methods = function_methods,
    .tp_members = function_members,
    .tp_getset = function_getset, .tp_getattro = PyObject_GenericGetAttr, .tp_setattro = PyObject_GenericSetAttr,
    .tp_new = function_new, .tp_doc = "A function that NumPy computes where all arrays are at hand."};

/* ---- attributes */

typedef struct {
    PyObject_HEAD
    PyObject *name, *python, *view;
} Attribute;

static PyObject *attribute_get(PyObject *self, PyObject *object, PyObject *type) {
    Attribute *attribute = (Attribute *)self;
    if (object == NULL || object == Py_None) return Py_NewRef(attribute->python);
    PyObject *array = np_of(object);
    if (array != NULL) {
        PyObject *result = PyObject_GetAttr(array, attribute->name);
        return ((Front *)object)->large ? kept(result, object) : wrapped(result);
    }
    array = Py_TYPE(object) == array_type ? ((Front *)object)->shown : NULL;
    if (array != NULL) {  /* which always has the form of the view, whatever value that has now */
        PyObject *result = PyObject_GetAttr(array, attribute->name);
        if (result == NULL || !PyArray_CheckExact(result)) return result;
        if (value_of((Front *)object) == ((Front *)object)->value) return view_in(object, (PyArrayObject *)result);
        Py_DECREF(result);
    }
    PyObject *view = attribute->view == NULL ? NULL : record_attribute(attribute->view, object);
    if (view != NULL || PyErr_Occurred()) return view;
    return Py_TYPE(attribute->python)->tp_descr_get(attribute->python, object, type);
}

static int attribute_set(PyObject *self, PyObject *object, PyObject *value) {
    PyObject *python = ((Attribute *)self)->python;
    return Py_TYPE(python)->tp_descr_set(python, object, value);
}

static PyObject *attribute_new(PyTypeObject *type, PyObject *args, PyObject *options) {
    PyObject *name, *python;
    if (!PyArg_ParseTuple(args, "UO!", &name, &PyProperty_Type, &python)) return NULL;
    Attribute *self = (Attribute *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    PyUnicode_InternInPlace(&name);
    self->name = Py_NewRef(name);
    self->python = Py_NewRef(python);
    if (!PyUnicode_CompareWithASCIIString(name, "T") || !PyUnicode_CompareWithASCIIString(name, "mT")) {
        self->view = PyObject_GetAttrString(python, "fget");
        if (self->view == NULL) Py_CLEAR(self);
    }
    return (PyObject *)self;
}

static void attribute_dealloc(PyObject *self) {
    Py_CLEAR(((Attribute *)self)->view);
    Py_CLEAR(((Attribute *)self)->name);
    Py_CLEAR(((Attribute *)self)->python);
    Py_TYPE(self)->tp_free(self);
}

static PyTypeObject AttributeType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "atoll._front.Attribute", .tp_basicsize = sizeof(Attribute), .tp_dealloc = attribute_dealloc,
    .tp_flags = Py_TPFLAGS_DEFAULT, .tp_descr_get = attribute_get, .tp_descr_set = attribute_set,
    .tp_new = attribute_new, .tp_doc = "A property that NumPy answers where the array is at hand."};

/* ---- the module */

static PyObject *install(PyObject *module, PyObject *args) {
    PyObject *type;
    if (!PyArg_ParseTuple(args, "O!OOOOO", &PyType_Type, &type, &scalars, &passed, &from_numpy, &taken, &settled)) return NULL;
    Py_INCREF(settled);
    if (array_type == NULL) numbers_ask();
    if (look_up_operators() < 0) return NULL;
    array_type = (PyTypeObject *)Py_NewRef(type);
    if (array_type->tp_basicsize == FrontType.tp_basicsize) array_type->tp_dealloc = dealloc_array;
    Py_INCREF(scalars);
    Py_INCREF(passed);
    Py_INCREF(from_numpy);
    Py_INCREF(taken);
    Py_RETURN_NONE;
}

/* The offsets of the slots of boxes, nodes, values and geometries, in the order of the enumeration. */
static PyObject *show(PyObject *module, PyObject *args) {
    PyObject *slots;
    if (!PyArg_ParseTuple(args, "O!OOnn", &PyTuple_Type, &slots, &located, &filled, &shortest, &most_filled)) return NULL;
    Py_INCREF(filled);
    for (int k = 0; k < FIELDS; k++) {
        PyObject *slot = PyTuple_GetItem(slots, k);
        if (slot == NULL) return NULL;
        if (!Py_IS_TYPE(slot, &PyMemberDescr_Type)) {
            PyErr_SetString(PyExc_TypeError, "a slot is no member descriptor");
            return NULL;
        }
        offsets[k] = ((PyMemberDescrObject *)slot)->d_member->offset;
        if (k == TILE_WHOLE) tiles_type = (PyTypeObject *)Py_NewRef((PyObject *)PyDescr_TYPE(slot));
    }
    Py_INCREF(located);
    Py_RETURN_NONE;
}

/* So many more worlds of several ranks, and the number of ranks of the process where it is known. */
static PyObject *share(PyObject *module, PyObject *args) {
    int more, of_process = 0;
    PyObject *variable;
    if (!PyArg_ParseTuple(args, "iO|i", &more, &variable, &of_process)) return NULL;
    worlds += more;
    if (of_process) ranks = of_process;
    Py_XSETREF(current_world, Py_NewRef(variable));
    Py_RETURN_NONE;
}

static PyObject *set_limit(PyObject *module, PyObject *number) {
    Py_ssize_t n = PyLong_AsSsize_t(number);
    if (n == -1 && PyErr_Occurred()) return NULL;
    limit = n;
    Py_RETURN_NONE;
}

static PyObject *set_folded(PyObject *module, PyObject *args) {
    if (!PyArg_ParseTuple(args, "nn", &exact, &truths)) return NULL;
    Py_RETURN_NONE;
}

static PyObject *set_shared(PyObject *module, PyObject *args) {
    PyObject *function;
    if (!PyArg_ParseTuple(args, "nO", &divided_from, &function)) return NULL;
    Py_XSETREF(has_threads, Py_NewRef(function));
    Py_RETURN_NONE;
}

static PyObject *set_drawn(PyObject *module, PyObject *number) {
    block = PyLong_AsSsize_t(number);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

static PyObject *enter(PyObject *module, PyObject *args) {
    const char *name;
    PyObject *function;
    if (!PyArg_ParseTuple(args, "sO", &name, &function)) return NULL;
    for (int k = 0; k < SLOTS; k++)
        if (strcmp(name, names[k]) == 0) {
            Py_XSETREF(general[k], Py_NewRef(function));
            Py_RETURN_NONE;
        }
    for (int k = 0; k < BINARY; k++)
        if (strcmp(name, reflected_names[k]) == 0) {
            Py_XSETREF(reflected[k], Py_NewRef(function));
            Py_RETURN_NONE;
        }
    PyErr_Format(PyExc_ValueError, "no operator is called %s", name);
    return NULL;
}

/* What the recorder knows of the operands of an operator. */
static PyObject *know(PyObject *module, PyObject *args) {
    const char *name;
    PyObject *forms;
    if (!PyArg_ParseTuple(args, "sO!", &name, &PyDict_Type, &forms)) return NULL;
    for (int k = 0; k < SLOTS; k++)
        if (strcmp(name, names[k]) == 0) Py_XSETREF(known[k], Py_NewRef(forms));
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"know", know, METH_VARARGS, "Record an operator on operands by these forms."},
    {"install", install, METH_VARARGS, "Wrap results in this class, with these rules."},
    {"show", show, METH_VARARGS, "Let short views of large arrays show their memory, by these slots."},
    {"share", share, METH_VARARGS, "There are so many more worlds of several ranks."},
    {"limit", set_limit, METH_O, "Leave arrays of so many elements, and larger ones, to Python."},
    {"keep", keep, METH_O, "An array over memory that nobody else holds: at hand, if it is large."},
    {"operations", enter_operations, METH_VARARGS, "What functions and operators are entered as."},
    {"shared", set_shared, METH_VARARGS, "Calls of so many elements are shared by threads, if there are several."},
    {"folded", set_folded, METH_VARARGS, "NumPy folds up to so many elements, or truth values, of arrays in memory at once, where that gives the same bits."},
    {"drawn", set_drawn, METH_O, "Up to so many random numbers are those of NumPy's stream."},
    {"enter_site", enter_site, METH_VARARGS, "Let NumPy compute at this call site."},
    {"leave_sites", leave_sites, METH_NOARGS, "Let NumPy compute at no call site."},
    {"enter", enter, METH_VARARGS, "Call this Python function where an operator cannot do with NumPy."},
    {NULL}};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_front", "Arrays at hand, without entering Python.", -1, methods};

PyMODINIT_FUNC PyInit__front(void) {
    import_array();
    import_umath();
    if ((drawer_name = PyUnicode_InternFromString("_numpy")) == NULL) return NULL;
    FrontType.tp_new = PyBaseObject_Type.tp_new;
    PyObject *module = PyModule_Create(&definition), *operators = PyList_New(0);
    if (module == NULL || operators == NULL) return NULL;
    for (int k = 0; k < SLOTS + BINARY; k++) {
        PyObject *name = PyUnicode_FromString(k < SLOTS ? names[k] : reflected_names[k - SLOTS]);
        if (name == NULL || PyList_Append(operators, name) < 0) return NULL;
        Py_DECREF(name);
    }
    if (PyModule_AddFunctions(module, record_methods) < 0 || PyModule_AddFunctions(module, replay_methods) < 0 ||
        PyModule_AddFunctions(module, trial_methods) < 0)
        return NULL;
    BoxType.tp_new = PyBaseObject_Type.tp_new;
    if (PyType_Ready(&BoxType) < 0 || PyModule_AddObjectRef(module, "Box", (PyObject *)&BoxType) < 0) return NULL;
    if (PyType_Ready(&FrontType) < 0 || PyType_Ready(&FunctionType) < 0 || PyType_Ready(&AttributeType) < 0 || PyType_Ready(&IteratorType) < 0 ||
        PyType_Ready(&LoopType) < 0 || PyModule_AddObjectRef(module, "Loop", (PyObject *)&LoopType) < 0 ||
        PyType_Ready(&TracedType) < 0 || PyModule_AddObjectRef(module, "Traced", (PyObject *)&TracedType) < 0 ||
        PyModule_AddObjectRef(module, "Front", (PyObject *)&FrontType) < 0 ||
        PyModule_AddObjectRef(module, "Function", (PyObject *)&FunctionType) < 0 ||
        PyModule_AddObjectRef(module, "Attribute", (PyObject *)&AttributeType) < 0 ||
        PyModule_AddObjectRef(module, "operators", operators) < 0)
        return NULL;
    Py_DECREF(operators);
    return module;
}
