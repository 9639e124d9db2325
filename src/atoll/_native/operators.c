/* Operators: by NumPy where operands are at hand, else recorded, or by Python. */
#include "operators.h"

/* An operator of two or one operands, recorded, or by Python. */
static PyObject *in_python(PyObject *a, PyObject *b, int slot) {
    PyObject *args[2] = {a, b};
    if (make_all_small(args, 2) < 0) return NULL;
    PyObject *recorded = slot == POW ? record_power(known[slot], args) : record_call(known[slot], args, 2);
    if (recorded != NULL || PyErr_Occurred()) return recorded;
    if (slot >= BINARY) return call_two(general[slot], a, b);  /* a comparison */
    if (is_front(a)) {
        PyObject *result = call_two(general[slot], a, b);
        if (result != Py_NotImplemented || !is_front(b) || Py_TYPE(a) == Py_TYPE(b)) return result;
        Py_DECREF(result);
    }
    return call_two(reflected[slot], b, a);
}

static PyObject *alone_in_python(PyObject *a, int slot) {
    if (make_all_small(&a, 1) < 0) return NULL;
    PyObject *recorded = record_call(known[slot], &a, 1);
    return recorded != NULL || PyErr_Occurred() ? recorded : PyObject_CallOneArg(general[slot], a);
}

/* The result of an operator; steals the references to the operands. A comparison has no function of its own. */
static inline PyObject *of_two(int slot, binaryfunc call, PyObject *x, PyObject *y, Py_ssize_t whole) {
    PyObject *result = by_loop(&loops[slot], x, y);
    if (result == NULL && !PyErr_Occurred()) result = call == NULL ? PyObject_RichCompare(x, y, slot - LT) : call(x, y);
    Py_DECREF(x);
    Py_DECREF(y);
    return wrapped_beside(result, whole);
}

static PyObject *without(PyObject *x, PyObject *a, PyObject *b, int slot) {
    Py_XDECREF(x);
    return PyErr_Occurred() ? NULL : ended(in_python(a, b, slot));
}

static PyObject *power_of(PyObject *x, PyObject *y) { return PyNumber_Power(x, y, Py_None); }
static PyObject *power_into(PyObject *x, PyObject *y) { return PyNumber_InPlacePower(x, y, Py_None); }

static PyObject *divided_by(PyObject *x, PyObject *y) {
    PyObject *both = PyNumber_Divmod(x, y);
    for (Py_ssize_t k = 0; both != NULL && PyTuple_CheckExact(both) && k < PyTuple_GET_SIZE(both); k++) {
        PyObject *part = wrapped(PyTuple_GET_ITEM(both, k));
        PyTuple_SET_ITEM(both, k, part);
        if (part == NULL) Py_CLEAR(both);
    }
    return both;
}

static inline PyObject *binary_now(PyObject *a, PyObject *b, int slot, binaryfunc call) {
    if (may_be_medium(a) || may_be_medium(b)) {
        PyObject *made = medium_operator(a, b, slot);
        if (made != NULL || PyErr_Occurred()) return made;
    }
    PyObject *x = operand(a), *y = x == NULL ? NULL : operand(b);
    if (y != NULL && slot != POW && spreads(x, y)) Py_CLEAR(y);
    return y == NULL ? without(x, a, b, slot) : of_two(slot, call, x, y, 0);
}
SEEN(binary, slot, (PyObject * a, PyObject *b, int slot, binaryfunc call), (a, b, slot, call))

#define BINARY_OPERATOR(NAME, SLOT, CALL) \
    static PyObject *NAME(PyObject *a, PyObject *b) { return binary(a, b, SLOT, CALL); }
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
BINARY_OPERATOR(divided, DIVMOD, divided_by)

static PyObject *power(PyObject *a, PyObject *b, PyObject *modulo) {
    if (modulo != Py_None) Py_RETURN_NOTIMPLEMENTED;
    return binary(a, b, POW, power_of);
}

static PyObject *compare(PyObject *a, PyObject *b, int relation) { return binary(a, b, LT + relation, NULL); }

/* True if an array of any size may be in memory here, and is not explained or counted instead. */
static inline int is_here(PyObject *value) { return !shown && is_front(value) && np_of(value) == NULL && !on_ranks((Front *)value); }

/* Products of matrices are NumPy's, whatever their size, unless ranks divide a factor. */
static PyObject *matrix_multiply_now(PyObject *a, PyObject *b) {
    PyObject *factors[2] = {a, b}, *given[2] = {NULL, NULL};
    int here = !(is_front(a) && on_ranks((Front *)a)) && !(is_front(b) && on_ranks((Front *)b));
    Py_ssize_t whole = 0;
    for (int k = 0; k < 2 && here; k++)
        if (is_here(factors[k]) && is_pending(factors[k]) && settle_array((Front *)factors[k]) < 0) return NULL;
    for (int k = 0; k < 2 && here; k++) {
        given[k] = is_here(factors[k]) ? in_memory(factors[k]) : operand(factors[k]);
        here = given[k] != NULL;
        if (here && is_here(factors[k]) && count_of((Front *)factors[k]) > whole) whole = count_of((Front *)factors[k]);
    }
    return here ? of_two(MATMUL, PyNumber_MatrixMultiply, given[0], given[1], whole) : without(given[0], a, b, MATMUL);
}
SEEN(matrix_multiply, MATMUL, (PyObject * a, PyObject *b), (a, b))

/* `a += b`: NumPy writes into the memory of `a`. */
static inline PyObject *written_now(PyObject *a, PyObject *b, int slot, int plain_slot, binaryfunc call) {
    int done = may_be_medium(a) || may_be_medium(b) ? medium_in_place(a, b, slot, plain_slot) : 0;
    if (done) return done > 0 ? Py_NewRef(a) : NULL;
    PyObject *x = NULL, *y, *both[2] = {a, b};
    int held = is_open(a), shown = 0;
    for (int asked = 0; x == NULL; asked = 1) {
        y = held || (np_of(a) != NULL && !among_ranks()) ? computed(b) : operand(b);  /* first: as it is computed, other threads may change `a` */
        x = y == NULL ? NULL : held ? in_memory(a) : at_hand(a);
        shown = x != NULL && np_of(a) == NULL;
        if (shown && !may_write((Front *)a)) Py_CLEAR(x);
        if (x != NULL) break;
        Py_XDECREF(y);
        if (PyErr_Occurred() || (!asked && make_all_small(both, 2) < 0)) return NULL;
        int done = asked ? 0 : record_in_place(known[slot], a, b);
        if (done) return ended(done > 0 ? Py_NewRef(a) : NULL);
        if (asked || value_of((Front *)a) == NULL) return ended(call_two(general[slot], a, b));
    }
    int was = shown ? begin_writing((Front *)a, (PyArrayObject *)x) : 0;
    PyObject *result = by_loop_into(&loops[plain_slot], (PyArrayObject *)x, y) ? Py_NewRef(x) : PyErr_Occurred() ? NULL : call(x, y);
    if (shown) end_writing((PyArrayObject *)x, was);
    Py_DECREF(y);
    Py_DECREF(x);
    if (result != x) return wrapped(result);
    Py_DECREF(result);
    return Py_NewRef(a);
}
SEEN(written, slot, (PyObject * a, PyObject *b, int slot, int plain_slot, binaryfunc call), (a, b, slot, plain_slot, call))

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

static inline PyObject *unary_now(PyObject *a, int slot, unaryfunc call) {
    PyObject *made = may_be_medium(a) ? medium_operator(a, NULL, slot) : NULL;
    if (made != NULL || PyErr_Occurred()) return made;
    PyObject *x = at_hand(a);
    if (x == NULL) return ended(alone_in_python(a, slot));
    PyObject *result = by_loop(&loops[slot], x, NULL);
    if (result == NULL && !PyErr_Occurred()) result = call(x);
    Py_DECREF(x);
    return wrapped(result);
}
SEEN(unary, slot, (PyObject * a, int slot, unaryfunc call), (a, slot, call))

#define UNARY_OPERATOR(NAME, SLOT, CALL) \
    static PyObject *NAME(PyObject *a) { return unary(a, SLOT, CALL); }
UNARY_OPERATOR(negative, NEG, PyNumber_Negative)
UNARY_OPERATOR(positive, POS, PyNumber_Positive)
UNARY_OPERATOR(absolute, ABS, PyNumber_Absolute)
UNARY_OPERATOR(invert, INVERT, PyNumber_Invert)

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

void numbers_ask(void) {
    single_asks(PyFloatArrType_Type.tp_as_number);
    real_asks(PyDoubleArrType_Type.tp_as_number);
    complex_number_asks(PyCDoubleArrType_Type.tp_as_number);
    integer_asks(PyLongArrType_Type.tp_as_number);
}

/* The answer to NumPy's ufuncs with arrays among their operands. */
static PyObject *array_ufunc_now(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords) {
    PyObject *result = NULL, *given[2];
    Py_ssize_t inputs = count - 2;
    PyUFuncObject *ufunc = (PyUFuncObject *)(count > 2 && Py_TYPE(args[0]) == &PyUFunc_Type ? args[0] : NULL);
    if (ufunc != NULL && keywords == NULL && inputs == ufunc->nin && inputs <= 2 && ufunc->nout == 1 &&
        PyUnicode_CompareWithASCIIString(args[1], "__call__") == 0) {
        given[0] = operand(args[2]);
        given[1] = given[0] == NULL || inputs == 1 ? NULL : operand(args[3]);
        int fits = given[inputs - 1] != NULL && (inputs == 1 || !spreads(given[0], given[1]));
        if (fits) result = wrapped(PyObject_Vectorcall(args[0], given, inputs, NULL));
        Py_XDECREF(given[0]);
        Py_XDECREF(given[1]);
        if (fits) return result;
        if (PyErr_Occurred() || make_all_small(args + 2, inputs) < 0) return NULL;
    }
    Py_ssize_t n = count + (keywords ? PyTuple_GET_SIZE(keywords) : 0);
    PyObject **all = PyMem_Malloc((n + 1) * sizeof(PyObject *));
    if (all == NULL) return PyErr_NoMemory();
    all[0] = self;
    for (Py_ssize_t k = 0; k < n; k++) all[k + 1] = args[k];
    result = PyObject_Vectorcall(general[UFUNC], all, count + 1, keywords);
    PyMem_Free(all);
    return ended(result);
}
SEEN(array_ufunc, UFUNC, (PyObject * self, PyObject *const *args, Py_ssize_t count, PyObject *keywords), (self, args, count, keywords))

static PyMethodDef methods[] = {
    {"__array_ufunc__", (PyCFunction)(void (*)(void))array_ufunc, METH_FASTCALL | METH_KEYWORDS,
     "__array_ufunc__($self, ufunc, method, /, *inputs, **kwargs)\n--\n\nWhat NumPy's ufuncs ask for."},
    {NULL}};
const PyType_Slot operator_slots[] = {
    {Py_nb_add, add}, {Py_nb_subtract, subtract}, {Py_nb_multiply, multiply}, {Py_nb_true_divide, divide},
    {Py_nb_floor_divide, floor_divide}, {Py_nb_remainder, remainder_of}, {Py_nb_divmod, divided}, {Py_nb_power, power},
    {Py_nb_matrix_multiply, matrix_multiply}, {Py_nb_and, and_of}, {Py_nb_or, or_of}, {Py_nb_xor, xor_of},
    {Py_nb_lshift, left_shift}, {Py_nb_rshift, right_shift}, {Py_nb_inplace_add, iadd}, {Py_nb_inplace_subtract, isub},
    {Py_nb_inplace_multiply, imul}, {Py_nb_inplace_true_divide, idiv}, {Py_nb_inplace_floor_divide, ifloordiv},
    {Py_nb_inplace_remainder, imod}, {Py_nb_inplace_power, ipow}, {Py_nb_inplace_and, iand}, {Py_nb_inplace_or, ior},
    {Py_nb_inplace_xor, ixor}, {Py_nb_inplace_lshift, ilshift}, {Py_nb_inplace_rshift, irshift}, {Py_nb_negative, negative},
    {Py_nb_positive, positive}, {Py_nb_absolute, absolute}, {Py_nb_invert, invert}, {Py_tp_richcompare, compare},
    {Py_tp_methods, methods}, {0}};
