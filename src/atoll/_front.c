/* The native front: arrays whose elements are at hand go to NumPy and back without entering Python.
 *
 * An array is an instance of a subclass of Front, the type of which is registered. `_np` is a NumPy array where the elements
 * are at hand. Operators, indexing, functions and methods then call NumPy on it and wrap the result; whatever else
 * they meet is handed to the Python function that the runtime has registered under the same name. So this file decides
 * nothing: without it everything takes the way through Python, and gives the same results.
 */
#define ATOLL_IMPORTS_NUMPY
#include "_loops.h"
#include "_profile.h"

PyTypeObject *array_type;
static PyTypeObject *flat_type;     /* of iterators over the elements of an array */
static inline PyObject *np_of(PyObject *value);
static int adopt(PyObject *self);
static PyObject *tried_memory(PyObject *self);
static int end_trial(PyObject *self);
static void mark_tried(PyObject *value, int tried);
static inline int is_tried(PyObject *value) { return Py_TYPE(value) == array_type && ((Front *)value)->tried; }
static Py_ssize_t least = PY_SSIZE_T_MAX;  /* elements of arrays of medium size: see _medium.h */
static int awake = 0;
static long tried_arrays = 0;
static _Thread_local int revealed = 0;

static PyTypeObject FrontType;
static PyObject *scalars;          /* a frozenset: classes of numbers that operators take */
static PyObject *passed;           /* a frozenset: classes of arguments that NumPy gets as they are */
static PyObject *from_numpy;       /* makes an array over memory that nobody else holds, of any size */
static PyObject *taken;            /* makes arrays of what a function has returned, wherever its memory lies */
Py_ssize_t limit = 0;

enum {
    ADD, SUB, MUL, DIV, FLOORDIV, MOD, POW, MATMUL, AND, OR, XOR, LSHIFT, RSHIFT, DIVMOD, BINARY,
    IADD = BINARY, ISUB, IMUL, IDIV, IFLOORDIV, IMOD, IPOW, IAND, IOR, IXOR, ILSHIFT, IRSHIFT,
    NEG, POS, ABS, INVERT, LT, LE, EQ, NE, GT, GE, GETITEM, SETITEM, LEN, UFUNC, BUFFER, SLOTS
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

static void count_medium(Py_ssize_t size);

/* The result of an operator or of indexing; steals the reference. */
static PyObject *wrapped(PyObject *result) {
    if (result == NULL || Py_TYPE(result) != &PyArray_Type) return result;
    PyArrayObject *array = (PyArrayObject *)result;
    Py_ssize_t size = PyArray_SIZE(array);
    if (size >= least && size < limit) count_medium(size);
    if (size >= limit && PyArray_BASE(array) == NULL) {
        PyObject *made = PyObject_CallOneArg(from_numpy, result);
        Py_DECREF(result);
        return made;
    }
    return handle_of(result);
}

/* Whether Python sees an array as another kind than it is: one at hand as recorded, one that is tried as small. */
static inline int is_hidden(Front *front) { return front->large || (front->tried && !revealed); }
static int show_to_python(PyObject *self) { return ((Front *)self)->large ? adopt(self) : end_trial(self); }

#include "_memory.h"

/* ---- what Python does where this file cannot */

static const char *const names[SLOTS] = {
    "__add__", "__sub__", "__mul__", "__truediv__", "__floordiv__", "__mod__", "__pow__", "__matmul__", "__and__",
    "__or__", "__xor__", "__lshift__", "__rshift__", "__divmod__",
    "__iadd__", "__isub__", "__imul__", "__itruediv__", "__ifloordiv__", "__imod__", "__ipow__", "__iand__", "__ior__",
    "__ixor__", "__ilshift__", "__irshift__",
    "__neg__", "__pos__", "__abs__", "__invert__", "__lt__", "__le__", "__eq__", "__ne__", "__gt__", "__ge__",
    "__getitem__", "__setitem__", "__len__", "__array_ufunc__",
    "__buffer__"};
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

/* Let arrays be what Python sees; whether that went well. */
static inline int adopted_all(PyObject *const *args, Py_ssize_t n) {
    for (Py_ssize_t k = 0; k < n; k++)
        if (Py_TYPE(args[k]) == array_type && is_hidden((Front *)args[k]) && show_to_python(args[k]) < 0) return 0;
    return 1;
}

/* What shortens the traceback of an error that leaves atoll: see context/tracebacks.py. */
static PyObject *shortening = NULL;

static void leave_with_error(void) {
    PyObject *type, *error, *traceback, *done = NULL;
    PyFrameObject *caller = PyEval_GetFrame();
    PyErr_Fetch(&type, &error, &traceback);
    if (traceback != NULL && shortening != NULL) {  /* else no frame of Python's has failed */
        PyErr_NormalizeException(&type, &error, &traceback);
        PyException_SetTraceback(error, traceback);
        done = PyObject_CallFunctionObjArgs(shortening, error, caller == NULL ? Py_None : (PyObject *)caller, NULL);
        if (done == NULL) drop_error();
        else Py_SETREF(traceback, PyException_GetTraceback(error));
        Py_XDECREF(done);
    }
    PyErr_Restore(type, error, traceback);
}

/* The result of an operation, as the program gets it. */
static inline PyObject *ended(PyObject *result) {
    if (result == NULL && PyErr_Occurred()) leave_with_error();
    return result;
}

static inline int ended_with(int status) {
    if (status < 0 && PyErr_Occurred()) leave_with_error();
    return status;
}

static PyObject *shorten_by(PyObject *module, PyObject *function) {
    Py_XSETREF(shortening, Py_NewRef(function));
    Py_RETURN_NONE;
}

static PyObject *call_two(PyObject *function, PyObject *a, PyObject *b) {
    if (function == NULL) Py_RETURN_NOTIMPLEMENTED;
    PyObject *args[3] = {NULL, a, b};
    return PyObject_Vectorcall(function, args + 1, 2 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
}

static int end_trials(PyObject *const *args, Py_ssize_t n);

/* An operator of two or one operands, recorded, or by Python. */
static PyObject *in_python(PyObject *a, PyObject *b, int slot, binaryfunc call) {
    PyObject *args[2] = {a, b}, *recorded = end_trials(args, 2) < 0 ? NULL : eager_two(a, b, slot, call);
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
    PyObject *recorded = end_trials(&a, 1) < 0 ? NULL : eager_one(a, slot, call);
    if (recorded != NULL || PyErr_Occurred() || !adopted_all(&a, 1)) return recorded;
    recorded = record_call(known[slot], &a, 1);
    return recorded != NULL || PyErr_Occurred() ? recorded : PyObject_CallOneArg(general[slot], a);
}

static PyObject *in_place_in_python(PyObject *a, PyObject *b, int slot, binaryfunc call) {
    PyObject *args[2] = {a, b}, *eager = end_trials(args, 2) < 0 ? NULL : eager_into(a, b, slot, call);
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
    {NE, "not_equal"}, {GT, "greater"}, {GE, "greater_equal"}, {MATMUL, "matmul"}};

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

/* What the program calls, seen by a profile: the function of the same name with `_now` does it. */
static Named called[SLOTS];
#define SEEN(NAME, SLOT, PARAMETERS, ARGUMENTS)                                                  \
    static COLD PyObject *NAME##_seen PARAMETERS {                                               \
        int begun = begin_call();                                                                \
        PyObject *result = NAME##_now ARGUMENTS;                                                 \
        end_call_named(begun, names[SLOT], &called[SLOT]);                                       \
        return result;                                                                           \
    }                                                                                            \
    static PyObject *NAME PARAMETERS {                                                           \
        return profiling ? NAME##_seen ARGUMENTS : NAME##_now ARGUMENTS;                         \
    }
#define SEEN_ONE(NAME, SLOT) SEEN(NAME, SLOT, (PyObject * a), (a))
#define SEEN_TWO(NAME, SLOT) SEEN(NAME, SLOT, (PyObject * a, PyObject * b), (a, b))
#define SEEN_THREE(NAME, SLOT) SEEN(NAME, SLOT, (PyObject * a, PyObject * b, PyObject * c), (a, b, c))

#include "_operators.h"

#include "_indexing.h"

#include "_buffers.h"

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
    if (front->tried) mark_tried(self, 0);
    front->large = 0;
}

static void dealloc(PyObject *self) {
    clear(self);
    Py_TYPE(self)->tp_free(self);
}

/* Arrays that weak references and views alone know. In NumPy views refer to their base, so it lives as long as they do: such an
 * array waits here for the end of its last view. */
enum { LOOKED_AT = 16 };
static PyObject *waiting = NULL;

/* Whether other arrays show the memory of one that owns it. */
static int has_views(Front *front) {
    if (front->np != NULL && front->np != Py_None)
        return Py_REFCNT(front->np) > 1 && PyArray_BASE((PyArrayObject *)front->np) == NULL;
    return front->cell != NULL && front->geometry != NULL && field(front->geometry, IS_BASE) == Py_True && Py_REFCNT(front->cell) > 1;
}

/* Let an array wait that is about to end; whether it does. Its reference count is zero, or one within a finaliser. */
static int waits(PyObject *self) {
    Front *front = (Front *)self;
    if (front->weak == NULL || !has_views(front)) return 0;
    PyObject *first = front->cell != NULL && front->np == Py_None ? field(front->cell, FIRST) : NULL;
    PyWeakReference *known = (PyWeakReference *)front->weak;
    while (known != NULL && Py_REFCNT(known) <= ((PyObject *)known == first)) known = known->wr_next;
    if (known == NULL) return 0;
    PyObject *type, *error, *traceback;  /* arrays end while an exception passes as well */
    PyErr_Fetch(&type, &error, &traceback);
    Py_ssize_t count = Py_REFCNT(self);
    Py_SET_REFCNT(self, count + 1);
    if ((waiting == NULL && (waiting = PyList_New(0)) == NULL) || PyList_Append(waiting, self) < 0) PyErr_Clear();
    PyErr_Restore(type, error, traceback);
    Py_SET_REFCNT(self, Py_REFCNT(self) - 1);
    return Py_REFCNT(self) > count;
}

/* Let those end whose last view has ended: some of them are looked at, when any array ends. */
static void end_waiting(void) {
    static Py_ssize_t place = 0;
    PyObject *type, *error, *traceback;
    PyErr_Fetch(&type, &error, &traceback);
    for (int k = 0; k < LOOKED_AT; k++) {
        Py_ssize_t last = PyList_GET_SIZE(waiting) - 1;
        if (last < 0) break;
        place = place <= 0 || place > last ? last : place - 1;
        PyObject *array = PyList_GET_ITEM(waiting, place);
        if (has_views((Front *)array)) continue;
        PyList_SET_ITEM(waiting, place, PyList_GET_ITEM(waiting, last));
        PyList_SET_ITEM(waiting, last, array);
        if (PyList_SetSlice(waiting, last, last + 1, NULL) < 0) PyErr_Clear();
    }
    PyErr_Restore(type, error, traceback);
}

/* The same for subclasses of a program, which still have their attributes here; the collector of garbage calls it with more references. */
static void finalize(PyObject *self) {
    if (Py_TYPE(self) != array_type && Py_REFCNT(self) == 1) waits(self);
}

/* The same for the class of arrays, which adds nothing to Front: Python's own way through all bases takes three times as long.
 * An object of a class of Python's holds a reference to it. */
static void dealloc_array(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    if (type == array_type && waits(self)) return;
    clear(self);
    if (type == array_type && spares < SPARE) spare[spares++] = self;
    else type->tp_free(self);
    Py_DECREF(type);
    if (waiting != NULL) end_waiting();
}

static PyObject *get_part(PyObject *self, void *offset) {
    if (is_hidden((Front *)self) && show_to_python(self) < 0) return NULL;
    PyObject *part = *(PyObject **)((char *)self + (size_t)offset);
    if (part == NULL) PyErr_SetString(PyExc_AttributeError, "an array that atoll has not made");
    return Py_XNewRef(part);
}

static int set_part(PyObject *self, PyObject *value, void *offset) {
    if (is_hidden((Front *)self) && show_to_python(self) < 0) return -1;
    PyObject **part = (PyObject **)((char *)self + (size_t)offset);
    Py_XSETREF(*part, Py_XNewRef(value));
    return 0;
}

static PyMethodDef front_methods[] = {
    {"__array_ufunc__", (PyCFunction)(void (*)(void))array_ufunc, METH_FASTCALL | METH_KEYWORDS,
     "__array_ufunc__($self, ufunc, method, /, *inputs, **kwargs)\n--\n\nWhat NumPy's ufuncs ask for."},
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
    .tp_weaklistoffset = offsetof(Front, weak), .tp_finalize = finalize,
    .tp_as_number = &number, .tp_as_buffer = &buffers, .tp_as_mapping = &mapping, .tp_iter = iterator_of, .tp_richcompare = compare,
    .tp_methods = front_methods, .tp_getset = front_getset,
    .tp_doc = "What arrays are to the native front."};

#include "_call_sites.h"
#include "_picking.h"

int adopt_array(PyObject *array) { return ((Front *)array)->large ? adopt(array) : 0; }

#include "_functions.h"

#include "_medium.h"

/* ---- attributes */

typedef struct {
    PyObject_HEAD
    PyObject *name, *python, *view;
    int lies;                      /* whether it tells how the memory lies, which is another one where it is brought together */
} Attribute;

static PyObject *attribute_of(PyObject *self, PyObject *object, PyObject *type) {
    Attribute *attribute = (Attribute *)self;
    if (object == NULL || object == Py_None) return Py_NewRef(attribute->python);
    PyObject *array = np_of(object);
    if (array == NULL && is_tried(object)) {
        PyObject *result = PyObject_GetAttr(field(((Front *)object)->geometry, SHADOW), attribute->name);
        if (result == NULL || PyTuple_CheckExact(result) || PyLong_CheckExact(result) || PyArray_DescrCheck(result)) return result;
        Py_DECREF(result);
        if (end_trial(object) < 0) return NULL;
        array = np_of(object);
    }
    if (array != NULL) {
        PyObject *result = PyObject_GetAttr(array, attribute->name);
        return ((Front *)object)->large ? kept(result, object) : wrapped(result);
    }
    array = Py_TYPE(object) == array_type ? ((Front *)object)->shown : NULL;
    if (array != NULL && !(attribute->lies && on_ranks((Front *)object))) {  /* which always has the form of the view, whatever value that has now */
        PyObject *result = PyObject_GetAttr(array, attribute->name);
        if (result == NULL || !PyArray_CheckExact(result)) return result;
        if (value_of((Front *)object) == ((Front *)object)->value) return view_in(object, (PyArrayObject *)result);
        Py_DECREF(result);
    }
    PyObject *view = attribute->view == NULL ? NULL : record_attribute(attribute->view, object);
    if (view != NULL || PyErr_Occurred()) return view;
    return Py_TYPE(attribute->python)->tp_descr_get(attribute->python, object, type);
}

static PyObject *attribute_get(PyObject *self, PyObject *object, PyObject *type) {
    return ended(attribute_of(self, object, type));
}

static int attribute_set(PyObject *self, PyObject *object, PyObject *value) {
    PyObject *python = ((Attribute *)self)->python;
    return ended_with(Py_TYPE(python)->tp_descr_set(python, object, value));
}

static PyObject *attribute_new(PyTypeObject *type, PyObject *args, PyObject *options) {
    PyObject *name, *python;
    if (!PyArg_ParseTuple(args, "UO!", &name, &PyProperty_Type, &python)) return NULL;
    Attribute *self = (Attribute *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    PyUnicode_InternInPlace(&name);
    self->name = Py_NewRef(name);
    self->python = Py_NewRef(python);
    self->lies = !PyUnicode_CompareWithASCIIString(name, "strides");
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
    PyObject *type, *flat;
    if (!PyArg_ParseTuple(args, "O!O!OOOOO", &PyType_Type, &type, &PyType_Type, &flat, &scalars, &passed, &from_numpy, &taken, &settled)) return NULL;
    flat_type = (PyTypeObject *)Py_NewRef(flat);
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
    if (!PyArg_ParseTuple(args, "nnn", &exact, &truths, &row)) return NULL;
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
    {"shorten", shorten_by, METH_O, "Call this function with each error that leaves atoll, and its caller."},
    {"install", install, METH_VARARGS, "Wrap results in this class, with these rules."},
    {"show", show, METH_VARARGS, "Let short views of large arrays show their memory, by these slots."},
    {"share", share, METH_VARARGS, "There are so many more worlds of several ranks."},
    {"limit", set_limit, METH_O, "Leave arrays of so many elements, and larger ones, to Python."},
    {"medium", set_medium, METH_VARARGS, "Arrays of at least so many elements may be recorded, by this function at first."},
    {"in_trials", note_trials, METH_O, "So many loops over arrays of medium size are recorded, or tried."},
    {"fresh", fresh, METH_NOARGS, "How many large blocks NumPy has taken from the system for arrays at hand."},
    {"keep", keep, METH_O, "An array over memory that nobody else holds: at hand, if it is large."},
    {"operations", enter_operations, METH_VARARGS, "What functions and operators are entered as."},
    {"shared", set_shared, METH_VARARGS, "Calls of so many elements are shared by threads, if there are several."},
    {"folded", set_folded, METH_VARARGS, "NumPy folds up to so many elements, or truth values, of arrays in memory at once, where that gives the same bits."},
    {"asking", set_asking, METH_VARARGS, "Ask by these functions which function asks for a buffer, and compute what it asks for."},
    {"drawn", set_drawn, METH_O, "Up to so many random numbers are those of NumPy's stream."},
    {"enter_site", enter_site, METH_VARARGS, "Let NumPy compute at this call site."},
    {"leave_sites", leave_sites, METH_NOARGS, "Let NumPy compute at no call site."},
    {"enter", enter, METH_VARARGS, "Call this Python function where an operator cannot do with NumPy."},
    {NULL}};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_front", "Arrays at hand, without entering Python.", -1, methods};

#ifndef ATOLL_SOURCES /* hatch_build.py defines it as a digest of the sources */
#define ATOLL_SOURCES ""
#endif

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
        PyModule_AddFunctions(module, trial_methods) < 0 || PyModule_AddFunctions(module, interrupt_methods) < 0 || PyModule_AddFunctions(module, profile_methods) < 0)
        return NULL;
    BoxType.tp_new = PyBaseObject_Type.tp_new;
    if (PyType_Ready(&BoxType) < 0 || PyModule_AddObjectRef(module, "Box", (PyObject *)&BoxType) < 0) return NULL;
    if (PyType_Ready(&FrontType) < 0 || PyType_Ready(&FunctionType) < 0 || PyType_Ready(&AttributeType) < 0 || PyType_Ready(&IteratorType) < 0 ||
        PyType_Ready(&LoopType) < 0 || PyModule_AddObjectRef(module, "Loop", (PyObject *)&LoopType) < 0 ||
        PyType_Ready(&NoticeType) < 0 || PyModule_AddObjectRef(module, "Notice", (PyObject *)&NoticeType) < 0 ||
        PyType_Ready(&TracedType) < 0 || PyModule_AddObjectRef(module, "Traced", (PyObject *)&TracedType) < 0 ||
        PyModule_AddObjectRef(module, "Front", (PyObject *)&FrontType) < 0 ||
        PyModule_AddObjectRef(module, "Function", (PyObject *)&FunctionType) < 0 ||
        PyModule_AddObjectRef(module, "Attribute", (PyObject *)&AttributeType) < 0 ||
        PyModule_AddObjectRef(module, "operators", operators) < 0 || PyModule_AddStringConstant(module, "sources", ATOLL_SOURCES) < 0)
        return NULL;
    Py_DECREF(operators);
    return module;
}
