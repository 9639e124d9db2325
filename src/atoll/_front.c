/* The native front: arrays whose elements are at hand go to NumPy and back without entering Python.
 *
 * An array is an instance of a subclass of Front, the type of which is registered. `_np` is a NumPy array where the elements
 * are at hand. Operators, indexing, functions and methods then call NumPy on it and wrap the result; whatever else
 * they meet is handed to the Python function that the runtime has registered under the same name. So this file decides
 * nothing: without it everything takes the way through Python, and gives the same results.
 */
#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <Python.h>
#include <numpy/arrayobject.h>
#include <structmember.h>

typedef struct {
    PyObject_HEAD
    PyObject *np, *cell, *geometry, *weak;
} Front;

static PyTypeObject FrontType;
static PyTypeObject *array_type;   /* the class of arrays; subclasses of a program take the way through Python */
static PyObject *scalars;          /* a frozenset: classes of numbers that operators take */
static PyObject *passed;           /* a frozenset: classes of arguments that NumPy gets as they are */
static PyObject *from_numpy;       /* makes an array over memory that nobody else holds, of any size */
static PyObject *taken;            /* makes arrays of what a function has returned, wherever its memory lies */
static Py_ssize_t limit = 0;       /* results with fewer elements stay with NumPy, whatever the settings are */

/* ---- wrapping and unwrapping */

static inline int is_front(PyObject *value) { return PyObject_TypeCheck(value, &FrontType); }

/* The NumPy array of an array whose elements are at hand, borrowed; else NULL. */
static inline PyObject *plain(PyObject *value) {
    if (Py_TYPE(value) != array_type) return NULL;
    PyObject *np = ((Front *)value)->np;
    return np == Py_None ? NULL : np;
}

static inline int is_of(PyObject *classes, PyObject *value) {
    PyTypeObject *type = Py_TYPE(value);
    if (type == &PyFloat_Type || type == &PyLong_Type || type == &PyDoubleArrType_Type) return 1;
    int found = PySet_Contains(classes, (PyObject *)type);
    if (found < 0) PyErr_Clear();
    return found > 0;
}

static inline PyObject *operand(PyObject *value) {
    if (Py_TYPE(value) == array_type) return plain(value);
    return is_of(scalars, value) ? value : NULL;
}

/* Arrays that have ended, for the next ones: most live for one operation. */
enum { SPARE = 64 };
static PyObject *spare[SPARE];
static int spares = 0;

/* An array over a NumPy array that stays with NumPy; steals the reference. */
static PyObject *handle_of(PyObject *array) {
    PyObject *self;
    if (spares) {
        self = PyObject_Init(spare[--spares], array_type);
        PyObject_GC_Track(self);
    } else if ((self = array_type->tp_alloc(array_type, 0)) == NULL) {
        Py_DECREF(array);
        return NULL;
    }
    ((Front *)self)->np = array;
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

/* ---- what Python does where this file cannot */

enum {
    ADD, SUB, MUL, DIV, FLOORDIV, MOD, POW, MATMUL, AND, OR, XOR, LSHIFT, RSHIFT, BINARY,
    IADD = BINARY, ISUB, IMUL, IDIV, IFLOORDIV, IMOD, IPOW, IAND, IOR, IXOR, ILSHIFT, IRSHIFT,
    NEG, POS, ABS, INVERT, LT, LE, EQ, NE, GT, GE, GETITEM, SETITEM, LEN, SLOTS
};
static const char *const names[SLOTS] = {
    "__add__", "__sub__", "__mul__", "__truediv__", "__floordiv__", "__mod__", "__pow__", "__matmul__", "__and__",
    "__or__", "__xor__", "__lshift__", "__rshift__",
    "__iadd__", "__isub__", "__imul__", "__itruediv__", "__ifloordiv__", "__imod__", "__ipow__", "__iand__", "__ior__",
    "__ixor__", "__ilshift__", "__irshift__",
    "__neg__", "__pos__", "__abs__", "__invert__", "__lt__", "__le__", "__eq__", "__ne__", "__gt__", "__ge__",
    "__getitem__", "__setitem__", "__len__"};
static const char *const reflected_names[BINARY] = {
    "__radd__", "__rsub__", "__rmul__", "__rtruediv__", "__rfloordiv__", "__rmod__", "__rpow__", "__rmatmul__",
    "__rand__", "__ror__", "__rxor__", "__rlshift__", "__rrshift__"};
static PyObject *general[SLOTS], *reflected[BINARY];

static PyObject *call_two(PyObject *function, PyObject *a, PyObject *b) {
    if (function == NULL) Py_RETURN_NOTIMPLEMENTED;
    PyObject *args[3] = {NULL, a, b};
    return PyObject_Vectorcall(function, args + 1, 2 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
}

static PyObject *in_python(PyObject *a, PyObject *b, int slot) {
    if (is_front(a)) {
        PyObject *result = call_two(general[slot], a, b);
        if (result != Py_NotImplemented || !is_front(b) || Py_TYPE(a) == Py_TYPE(b)) return result;
        Py_DECREF(result);
    }
    return call_two(reflected[slot], b, a);
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

static inline PyObject *with_one(unaryfunc call, PyObject *x) {
    Py_INCREF(x);
    PyObject *result = call(x);
    Py_DECREF(x);
    return result;
}

static PyObject *power_of(PyObject *x, PyObject *y) { return PyNumber_Power(x, y, Py_None); }
static PyObject *power_into(PyObject *x, PyObject *y) { return PyNumber_InPlacePower(x, y, Py_None); }

#define BINARY_OPERATOR(NAME, SLOT, CALL)                                                        \
    static PyObject *NAME(PyObject *a, PyObject *b) {                                            \
        PyObject *x = operand(a), *y = x == NULL ? NULL : operand(b);                            \
        return y == NULL ? in_python(a, b, SLOT) : wrapped(with_two(CALL, x, y));                \
    }
BINARY_OPERATOR(add, ADD, PyNumber_Add)
BINARY_OPERATOR(subtract, SUB, PyNumber_Subtract)
BINARY_OPERATOR(multiply, MUL, PyNumber_Multiply)
BINARY_OPERATOR(divide, DIV, PyNumber_TrueDivide)
BINARY_OPERATOR(floor_divide, FLOORDIV, PyNumber_FloorDivide)
BINARY_OPERATOR(remainder_of, MOD, PyNumber_Remainder)
BINARY_OPERATOR(matrix_multiply, MATMUL, PyNumber_MatrixMultiply)
BINARY_OPERATOR(and_of, AND, PyNumber_And)
BINARY_OPERATOR(or_of, OR, PyNumber_Or)
BINARY_OPERATOR(xor_of, XOR, PyNumber_Xor)
BINARY_OPERATOR(left_shift, LSHIFT, PyNumber_Lshift)
BINARY_OPERATOR(right_shift, RSHIFT, PyNumber_Rshift)

static PyObject *power(PyObject *a, PyObject *b, PyObject *modulo) {
    if (modulo != Py_None) Py_RETURN_NOTIMPLEMENTED;
    PyObject *x = operand(a), *y = x == NULL ? NULL : operand(b);
    return y == NULL ? in_python(a, b, POW) : wrapped(with_two(power_of, x, y));
}

/* `a += b`: NumPy writes into the memory of `a`. */
static PyObject *written(PyObject *self, PyObject *memory, PyObject *result) {
    if (result != memory) return wrapped(result);
    Py_DECREF(result);
    return Py_NewRef(self);
}
#define IN_PLACE_OPERATOR(NAME, SLOT, CALL)                                                      \
    static PyObject *NAME(PyObject *a, PyObject *b) {                                            \
        PyObject *x = plain(a), *y = x == NULL ? NULL : operand(b);                              \
        return y == NULL ? call_two(general[SLOT], a, b) : written(a, x, with_two(CALL, x, y));  \
    }
IN_PLACE_OPERATOR(iadd, IADD, PyNumber_InPlaceAdd)
IN_PLACE_OPERATOR(isub, ISUB, PyNumber_InPlaceSubtract)
IN_PLACE_OPERATOR(imul, IMUL, PyNumber_InPlaceMultiply)
IN_PLACE_OPERATOR(idiv, IDIV, PyNumber_InPlaceTrueDivide)
IN_PLACE_OPERATOR(ifloordiv, IFLOORDIV, PyNumber_InPlaceFloorDivide)
IN_PLACE_OPERATOR(imod, IMOD, PyNumber_InPlaceRemainder)
IN_PLACE_OPERATOR(iand, IAND, PyNumber_InPlaceAnd)
IN_PLACE_OPERATOR(ior, IOR, PyNumber_InPlaceOr)
IN_PLACE_OPERATOR(ixor, IXOR, PyNumber_InPlaceXor)
IN_PLACE_OPERATOR(ilshift, ILSHIFT, PyNumber_InPlaceLshift)
IN_PLACE_OPERATOR(irshift, IRSHIFT, PyNumber_InPlaceRshift)

static PyObject *ipow(PyObject *a, PyObject *b, PyObject *modulo) {
    if (modulo != Py_None) Py_RETURN_NOTIMPLEMENTED;
    PyObject *x = plain(a), *y = x == NULL ? NULL : operand(b);
    return y == NULL ? call_two(general[IPOW], a, b) : written(a, x, with_two(power_into, x, y));
}

#define UNARY_OPERATOR(NAME, SLOT, CALL)                                                         \
    static PyObject *NAME(PyObject *a) {                                                         \
        PyObject *x = plain(a);                                                                  \
        return x == NULL ? PyObject_CallOneArg(general[SLOT], a) : wrapped(with_one(CALL, x));   \
    }
UNARY_OPERATOR(negative, NEG, PyNumber_Negative)
UNARY_OPERATOR(positive, POS, PyNumber_Positive)
UNARY_OPERATOR(absolute, ABS, PyNumber_Absolute)
UNARY_OPERATOR(invert, INVERT, PyNumber_Invert)

static PyObject *compare(PyObject *a, PyObject *b, int relation) {
    static const int slots[] = {[Py_LT] = LT, [Py_LE] = LE, [Py_EQ] = EQ, [Py_NE] = NE, [Py_GT] = GT, [Py_GE] = GE};
    PyObject *x = operand(a), *y = x == NULL ? NULL : operand(b);
    if (y == NULL) return call_two(general[slots[relation]], a, b);
    Py_INCREF(x);
    Py_INCREF(y);
    PyObject *result = PyObject_RichCompare(x, y, relation);
    Py_DECREF(x);
    Py_DECREF(y);
    return wrapped(result);
}

/* ---- indexing */

static inline int is_basic(PyObject *key) {
    return PyLong_CheckExact(key) || PySlice_Check(key) || key == Py_None || key == Py_Ellipsis ||
           (PyArray_IsScalar(key, Integer));
}

/* What NumPy gets as the index: a new reference; NULL without an error where Python has to decide. */
static PyObject *index_of(PyObject *key) {
    if (is_basic(key)) return Py_NewRef(key);
    PyObject *array = plain(key);
    if (array != NULL) return Py_NewRef(array);
    if (!PyTuple_CheckExact(key)) return NULL;
    Py_ssize_t n = PyTuple_GET_SIZE(key), basic = 0;
    while (basic < n && is_basic(PyTuple_GET_ITEM(key, basic))) basic++;
    if (basic == n) return Py_NewRef(key);
    PyObject *items = PyTuple_New(n);
    for (Py_ssize_t k = 0; items != NULL && k < n; k++) {
        PyObject *item = PyTuple_GET_ITEM(key, k);
        if (k >= basic && !is_basic(item) && (item = plain(item)) == NULL) {
            Py_DECREF(items);
            return NULL;
        }
        PyTuple_SET_ITEM(items, k, Py_NewRef(item));
    }
    return items;
}

/* Elements and short views of a large array that is computed, in a process by itself, are NumPy's. While such a view
 * lives, the memory stays where it is: the box says so by LENT in its pins, until nobody but the value refers to the
 * memory (see Cell.held). A view is only lent where no pending operation reads the value, so writing through it is safe.
 */
enum { NODE, PINS, BOX_WRITEABLE, VALUE, PLACE, ARRAY, PINNED, COUNT, TILES, PROGRAM, IS_BASE, WRITEABLE, FIRST, FIELDS };
static Py_ssize_t offsets[FIELDS];
static PyObject *lent;             /* the number that pins of a lent box consist of */
static Py_ssize_t shortest = 0;    /* elements up to which a view is short */
static int worlds = 0;             /* of more than one rank */

static inline PyObject *field(PyObject *object, int which) {
    return *(PyObject **)((char *)object + offsets[which]);
}

static inline void set_field(PyObject *object, int which, PyObject *value) {
    PyObject **slot = (PyObject **)((char *)object + offsets[which]), *old = *slot;
    *slot = Py_NewRef(value);
    Py_XDECREF(old);
}

/* What an index of integers and slices selects: 0 for an element, 1 more than the size of a short view, -1 where Python decides. */
static Py_ssize_t selected(PyArrayObject *array, PyObject *key) {
    int is_tuple = PyTuple_CheckExact(key), view = 0;
    Py_ssize_t n = is_tuple ? PyTuple_GET_SIZE(key) : 1, size = 1, k = 0;
    if (n > PyArray_NDIM(array)) return -1;
    for (; k < n; k++) {
        PyObject *item = is_tuple ? PyTuple_GET_ITEM(key, k) : key;
        if (PyLong_CheckExact(item) || PyArray_IsScalar(item, Integer)) continue;
        Py_ssize_t start, stop, step;
        if (!PySlice_Check(item)) return -1;
        if (PySlice_Unpack(item, &start, &stop, &step) < 0) {
            PyErr_Clear();
            return -1;
        }
        size *= PySlice_AdjustIndices(PyArray_DIM(array, k), &start, &stop, step);
        view = 1;
    }
    for (; k < PyArray_NDIM(array); k++, view = 1) size *= PyArray_DIM(array, k);
    return !view ? 0 : size > shortest ? -1 : size + 1;
}

/* The memory of a large array that is computed, borrowed; else NULL. */
static PyObject *memory_of(PyObject *self) {
    if (worlds || Py_TYPE(self) != array_type) return NULL;
    Front *front = (Front *)self;
    if (front->geometry == NULL || front->cell == NULL || field(front->geometry, IS_BASE) != Py_True) return NULL;
    PyObject *node = field(front->cell, NODE), *value = field(node, VALUE);
    if (value == NULL || value == Py_None || field(node, PLACE) != Py_None) return NULL;
    return field(value, ARRAY);
}

static inline int may_write(Front *front) {
    return field(front->cell, BOX_WRITEABLE) == Py_True && field(front->geometry, WRITEABLE) == Py_True &&
           Py_REFCNT(field(front->cell, NODE)) == 1;
}

static void written_to(PyObject *value) {
    set_field(value, COUNT, PyLong_FromLong(-1));
    Py_DECREF(field(value, COUNT));
    set_field(value, TILES, Py_None);
    set_field(value, PROGRAM, Py_None);
}

/* An element or a short view of a large array; NULL without an error where Python has to decide. */
static PyObject *get_short(PyObject *self, PyObject *key) {
    PyObject *array = memory_of(self);
    Py_ssize_t size = array == NULL ? -1 : selected((PyArrayObject *)array, key);
    if (size < 0) return NULL;
    if (size > 0) {
        Front *front = (Front *)self;
        PyObject *pins = field(front->cell, PINS);
        if (!may_write(front)) return NULL;
        if (pins != lent && !PyObject_IsTrue(pins)) {
            PyObject *base = PyArray_BASE((PyArrayObject *)array);
            if (Py_REFCNT(array) != 1 || (base && Py_TYPE(base) == &PyArray_Type && Py_REFCNT(base) != 1)) return NULL;
            PyObject *value = field(field(front->cell, NODE), VALUE);
            set_field(front->cell, PINS, lent);
            set_field(value, PINNED, Py_True);
            written_to(value);
            if (field(front->cell, FIRST) == Py_None) {  /* the array that views have as their base */
                PyObject *first = PyWeakref_NewRef(self, NULL);
                if (first == NULL) return NULL;
                set_field(front->cell, FIRST, first);
                Py_DECREF(first);
            }
        }
    }
    return wrapped(with_two(PyObject_GetItem, array, key));
}

/* Whether elements or a short view of a large array were written; -1 with an error. */
static int set_short(PyObject *self, PyObject *key, PyObject *value) {
    PyObject *array = memory_of(self), *given = array == NULL ? NULL : operand(value);
    if (given == NULL || selected((PyArrayObject *)array, key) < 0 || !may_write((Front *)self)) return 0;
    if (given != value && PyArray_DESCR((PyArrayObject *)array)->type_num == NPY_OBJECT) return 0;
    written_to(field(field(((Front *)self)->cell, NODE), VALUE));
    Py_INCREF(array);
    Py_INCREF(given);
    int status = PyObject_SetItem(array, key, given);
    Py_DECREF(array);
    Py_DECREF(given);
    return status < 0 ? -1 : 1;
}

static PyObject *get_item(PyObject *self, PyObject *key) {
    PyObject *array = plain(self), *index = array == NULL ? NULL : index_of(key);
    if (array == NULL) {
        PyObject *result = get_short(self, key);
        if (result != NULL || PyErr_Occurred()) return result;
    }
    if (index == NULL) return PyErr_Occurred() ? NULL : call_two(general[GETITEM], self, key);
    PyObject *result = with_two(PyObject_GetItem, array, index);
    Py_DECREF(index);
    return wrapped(result);
}

static int set_item(PyObject *self, PyObject *key, PyObject *value) {
    if (value == NULL) {
        PyErr_SetString(PyExc_ValueError, "cannot delete array elements");
        return -1;
    }
    PyObject *array = plain(self), *given = array == NULL ? NULL : operand(value);
    if (given != NULL && given != value && PyArray_DESCR((PyArrayObject *)array)->type_num == NPY_OBJECT) given = NULL;
    PyObject *index = given == NULL ? NULL : index_of(key);
    if (index != NULL) {
        Py_INCREF(array);
        Py_INCREF(given);
        int status = PyObject_SetItem(array, index, given);
        Py_DECREF(array);
        Py_DECREF(given);
        Py_DECREF(index);
        return status;
    }
    int done_short = array == NULL ? set_short(self, key, value) : 0;
    if (done_short > 0) return 0;
    if (PyErr_Occurred()) return -1;
    PyObject *args[4] = {NULL, self, key, value};
    PyObject *done = PyObject_Vectorcall(general[SETITEM], args + 1, 3 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

static Py_ssize_t length(PyObject *self) {
    PyObject *array = plain(self);
    if (array != NULL && PyArray_NDIM((PyArrayObject *)array)) return PyArray_DIM((PyArrayObject *)array, 0);
    PyObject *number = PyObject_CallOneArg(general[LEN], self);
    if (number == NULL) return -1;
    Py_ssize_t n = PyLong_AsSsize_t(number);
    Py_DECREF(number);
    return n;
}

/* ---- the type */

static int traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(((Front *)self)->np);
    Py_VISIT(((Front *)self)->cell);
    Py_VISIT(((Front *)self)->geometry);
    return 0;
}

static void clear(PyObject *self) {
    Front *front = (Front *)self;
    PyObject_GC_UnTrack(self);
    if (front->weak != NULL) PyObject_ClearWeakRefs(self);
    Py_CLEAR(front->np);
    Py_CLEAR(front->cell);
    Py_CLEAR(front->geometry);
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

static PyMemberDef members[] = {
    {"_np", T_OBJECT_EX, offsetof(Front, np), 0, "the NumPy array, where the elements are at hand; else None"},
    {"_cell", T_OBJECT_EX, offsetof(Front, cell), 0, "the box of the base"},
    {"_geometry", T_OBJECT_EX, offsetof(Front, geometry), 0, "the shape, strides and offset of the view"},
    {NULL}};
static PyNumberMethods number = {
    .nb_add = add, .nb_subtract = subtract, .nb_multiply = multiply, .nb_true_divide = divide,
    .nb_floor_divide = floor_divide, .nb_remainder = remainder_of, .nb_power = power,
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
    .tp_as_number = &number, .tp_as_mapping = &mapping, .tp_richcompare = compare, .tp_members = members,
    .tp_doc = "What arrays are to the native front."};

/* ---- functions and methods */

enum { ANY = 1, SHAPED = 2, SQUARE = 4, RANGE = 8, SPACED = 16, OUTER = 32 };
/* ANY needs no array among its arguments. Of the others the size of the result follows from the arguments: from a shape, the
 * length of a side, a range, a number of points, or the product of the sizes of all arrays. */
enum { MOST = 16 };                /* arguments of a call that is looked at */

typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject *original, *python, *dict, *weak;
    int kind;
} Function;

static PyTypeObject FunctionType;

/* A list or tuple for NumPy: itself, or another with arrays unwrapped; a new reference, or NULL. */
static PyObject *items_of(PyObject *value, int *arrays) {
    int is_list = PyList_CheckExact(value);
    Py_ssize_t n = PySequence_Fast_GET_SIZE(value), k = 0;
    PyObject **items = PySequence_Fast_ITEMS(value);
    if (n > 64) return NULL;
    while (k < n && is_of(passed, items[k])) k++;
    if (k == n) return Py_NewRef(value);
    PyObject *made = is_list ? PyList_New(n) : PyTuple_New(n);
    for (k = 0; made != NULL && k < n; k++) {
        PyObject *item = items[k];
        if (Py_TYPE(item) == array_type) {
            item = plain(item);
            *arrays += item != NULL;
        } else if (!is_of(passed, item)) {
            item = NULL;
        }
        if (item == NULL) {
            Py_DECREF(made);
            return NULL;
        }
        if (is_list) PyList_SET_ITEM(made, k, Py_NewRef(item));
        else PyTuple_SET_ITEM(made, k, Py_NewRef(item));
    }
    return made;
}

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

/* The number of elements of what a function of this kind makes, `limit` where that is not known. */
static Py_ssize_t made_by(int kind, PyObject *const *args, Py_ssize_t count, int keywords) {
    Py_ssize_t n;
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
        PyObject *array = plain(args[count]);
        if (array != NULL && PyArray_SIZE((PyArrayObject *)array)) n *= PyArray_SIZE((PyArrayObject *)array);
        if (n >= limit) return limit;
    }
    return n;
}

/* What a function has returned, as arrays; steals the reference. */
static PyObject *taken_from(PyObject *result, PyObject *const *args, PyObject *const *given, Py_ssize_t n) {
    PyTypeObject *type = Py_TYPE(result);
    if (type == &PyArray_Type) {
        PyArrayObject *array = (PyArrayObject *)result;
        for (Py_ssize_t k = 0; k < n; k++) {
            if (given[k] == result && plain(args[k]) == result) {
                Py_DECREF(result);
                return Py_NewRef(args[k]);
            }
        }
        if (PyArray_SIZE(array) < limit) return handle_of(result);
    } else if (type == &PyTuple_Type || type == &PyList_Type) {
        Py_ssize_t length = PySequence_Fast_GET_SIZE(result);
        PyObject *items = type == &PyTuple_Type ? PyTuple_New(length) : PyList_New(length);
        for (Py_ssize_t k = 0; items != NULL && k < length; k++) {
            PyObject *item = taken_from(Py_NewRef(PySequence_Fast_GET_ITEM(result, k)), args, given, n);
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
    for (Py_ssize_t k = 0; values != NULL && k < n; k++) PyTuple_SET_ITEM(values, k, Py_NewRef(args[k]));
    PyObject *made = values == NULL ? NULL : call_two(taken, result, values);
    Py_XDECREF(values);
    Py_DECREF(result);
    return made;
}

static PyObject *call_function(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *keywords) {
    Function *function = (Function *)self;
    Py_ssize_t count = PyVectorcall_NARGS(nargsf), n = count + (keywords ? PyTuple_GET_SIZE(keywords) : 0);
    PyObject *space[MOST + 1], **given = space + 1;
    int arrays = 0, fits = n <= MOST;
    Py_ssize_t owned = 0;
    for (Py_ssize_t k = 0; fits && k < n; k++) {
        PyObject *value = args[k];
        given[k] = NULL;
        if (Py_TYPE(value) == array_type) {
            given[k] = Py_XNewRef(plain(value));
            arrays++;
        } else if (is_of(passed, value)) {
            given[k] = Py_NewRef(value);
        } else if (PyList_CheckExact(value) || PyTuple_CheckExact(value)) {
            given[k] = items_of(value, &arrays);
        }
        fits = given[k] != NULL;
        owned += fits;
    }
    for (Py_ssize_t k = count; fits && k < n; k++) {
        PyObject *name = PyTuple_GET_ITEM(keywords, k - count);
        fits = PyUnicode_CompareWithASCIIString(name, "like") &&
               PyUnicode_CompareWithASCIIString(name, "layout");
    }
    if (fits && function->kind > ANY) fits = made_by(function->kind, args, count, keywords != NULL) < limit;
    PyObject *result;
    if (!fits || !(arrays || function->kind)) {
        while (owned) Py_DECREF(given[--owned]);
        result = PyErr_Occurred() ? NULL : PyObject_Vectorcall(function->python, args, nargsf, keywords);
    } else {
        result = PyObject_Vectorcall(function->original, given, count | PY_VECTORCALL_ARGUMENTS_OFFSET, keywords);
        if (result != NULL) result = taken_from(result, args, given, n);
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
    return (PyObject *)self;
}

static int function_traverse(PyObject *self, visitproc visit, void *arg) {
    Function *function = (Function *)self;
    Py_VISIT(function->original);
    Py_VISIT(function->python);
    Py_VISIT(function->dict);
    return 0;
}

static int function_clear(PyObject *self) {
    Function *function = (Function *)self;
    Py_CLEAR(function->original);
    Py_CLEAR(function->python);
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
    PyObject *name, *python;
} Attribute;

static PyObject *attribute_get(PyObject *self, PyObject *object, PyObject *type) {
    Attribute *attribute = (Attribute *)self;
    if (object == NULL || object == Py_None) return Py_NewRef(attribute->python);
    PyObject *array = plain(object);
    if (array != NULL) return wrapped(PyObject_GetAttr(array, attribute->name));
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
    return (PyObject *)self;
}

static void attribute_dealloc(PyObject *self) {
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
    if (!PyArg_ParseTuple(args, "O!OOOO", &PyType_Type, &type, &scalars, &passed, &from_numpy, &taken)) return NULL;
    array_type = (PyTypeObject *)Py_NewRef(type);
    if (array_type->tp_basicsize == FrontType.tp_basicsize) array_type->tp_dealloc = dealloc_array;
    Py_INCREF(scalars);
    Py_INCREF(passed);
    Py_INCREF(from_numpy);
    Py_INCREF(taken);
    Py_RETURN_NONE;
}

/* The offsets of the slots of boxes, nodes, values and geometries, in the order of the enumeration. */
static PyObject *lend(PyObject *module, PyObject *args) {
    PyObject *slots;
    if (!PyArg_ParseTuple(args, "O!On", &PyTuple_Type, &slots, &lent, &shortest)) return NULL;
    for (int k = 0; k < FIELDS; k++) {
        PyObject *slot = PyTuple_GetItem(slots, k);
        if (slot == NULL) return NULL;
        if (!Py_IS_TYPE(slot, &PyMemberDescr_Type)) {
            PyErr_SetString(PyExc_TypeError, "a slot is no member descriptor");
            return NULL;
        }
        offsets[k] = ((PyMemberDescrObject *)slot)->d_member->offset;
    }
    Py_INCREF(lent);
    Py_RETURN_NONE;
}

static PyObject *share(PyObject *module, PyObject *number) {
    worlds += (int)PyLong_AsLong(number);
    Py_RETURN_NONE;
}

static PyObject *set_limit(PyObject *module, PyObject *number) {
    Py_ssize_t n = PyLong_AsSsize_t(number);
    if (n == -1 && PyErr_Occurred()) return NULL;
    limit = n;
    Py_RETURN_NONE;
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

static PyMethodDef methods[] = {
    {"install", install, METH_VARARGS, "Wrap results in this class, with these rules."},
    {"lend", lend, METH_VARARGS, "Lend short views of large arrays, by these slots."},
    {"share", share, METH_O, "There are so many more worlds of several ranks."},
    {"limit", set_limit, METH_O, "Leave arrays of so many elements, and larger ones, to Python."},
    {"enter", enter, METH_VARARGS, "Call this Python function where an operator cannot do with NumPy."},
    {NULL}};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_front", "Arrays at hand, without entering Python.", -1, methods};

PyMODINIT_FUNC PyInit__front(void) {
    import_array();
    FrontType.tp_new = PyBaseObject_Type.tp_new;
    PyObject *module = PyModule_Create(&definition), *operators = PyList_New(0);
    if (module == NULL || operators == NULL) return NULL;
    for (int k = 0; k < SLOTS + BINARY; k++) {
        PyObject *name = PyUnicode_FromString(k < SLOTS ? names[k] : reflected_names[k - SLOTS]);
        if (name == NULL || PyList_Append(operators, name) < 0) return NULL;
        Py_DECREF(name);
    }
    if (PyType_Ready(&FrontType) < 0 || PyType_Ready(&FunctionType) < 0 || PyType_Ready(&AttributeType) < 0 ||
        PyModule_AddObjectRef(module, "Front", (PyObject *)&FrontType) < 0 ||
        PyModule_AddObjectRef(module, "Function", (PyObject *)&FunctionType) < 0 ||
        PyModule_AddObjectRef(module, "Attribute", (PyObject *)&AttributeType) < 0 ||
        PyModule_AddObjectRef(module, "operators", operators) < 0)
        return NULL;
    Py_DECREF(operators);
    return module;
}
