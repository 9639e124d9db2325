/* The loops of ufuncs: an operation on a few numbers takes NumPy longer to begin than to do.
 *
 * Where operands are alike, the inner loop that NumPy has for their type is called at once, and gives the same bits. NumPy warns of the
 * floating-point flags that it raises.
 */
#include <fenv.h>
#include "loops.h"
#include "forms.h"

enum { DEEP = 4 };                 /* axes that are looped over; NumPy is quicker from row to row where these are short */
enum { FLAGS = FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW | FE_INVALID };

/* True if a loop has raised a flag. None computes with long doubles, whose flags are elsewhere and take as long to read as a loop over ten elements. */
#ifdef __SSE2_MATH__
#include <xmmintrin.h>
static inline int is_flagged(void) { return _mm_getcsr() & FLAGS; }
#else
static inline int is_flagged(void) { return fetestexcept(FLAGS); }
#endif
static const int types[KINDS] = {NPY_DOUBLE, NPY_LONG, NPY_FLOAT, NPY_BOOL, NPY_CDOUBLE, NPY_UBYTE};

static inline int kind_of(int type) {
    int kind = 0;
    while (kind < KINDS && types[kind] != type) kind++;
    return kind < KINDS ? kind : -1;
}

void look_up(Loops *to, PyObject *object) {
    memset(to, 0, sizeof *to);
    if (Py_TYPE(object) != &PyUFunc_Type) return;
    PyUFuncObject *ufunc = (PyUFuncObject *)object;
    if (ufunc->nout != 1 || ufunc->nin > 2 || ufunc->functions == NULL) return;
    to->is_product = ufunc->core_enabled && strcmp(ufunc->name, "matmul") == 0;
    if (ufunc->core_enabled && !to->is_product) return;
    to->operands = ufunc->nin;
    to->name = ufunc->name;
    PyObject *name = PyUnicode_FromString(ufunc->name);
    to->is_settled = name != NULL && PySet_Contains(python.settled_ufuncs, name) > 0;
    Py_XDECREF(name);
    PyErr_Clear();
    for (int kind = 0; kind < KINDS; kind++)
        for (int k = 0; k < ufunc->ntypes && to->call[kind] == NULL; k++) {
            const char *row = ufunc->types + k * ufunc->nargs;
            int fits = row[0] == types[kind] && (ufunc->nin == 1 || row[1] == types[kind]);
            if (!fits || kind_of(row[ufunc->nin]) < 0) continue;
            to->call[kind] = ufunc->functions[k];
            to->data[kind] = ufunc->data == NULL ? NULL : (void *)ufunc->data[k];
            to->type[kind] = row[ufunc->nin];
        }
}

/* A number as an element of an array of this kind, where NumPy takes it for one. */
static inline int number_as(PyObject *number, int kind, char *to) {
    int overflow = 0;
    if (kind == 0 && PyFloat_Check(number)) {
        *(double *)to = PyFloat_AS_DOUBLE(number);
        return 1;
    }
    if (kind == 1 && Py_TYPE(number) == &PyLongArrType_Type) {
        *(long *)to = PyArrayScalar_VAL(number, Long);
        return 1;
    }
    if (kind == 3 && (PyBool_Check(number) || PyArray_IsScalar(number, Bool))) {
        *(npy_bool *)to = number == Py_True || (number != Py_False && PyArrayScalar_VAL(number, Bool));
        return 1;
    }
    if (kind > 1 || !PyLong_CheckExact(number)) return 0;
    long whole = PyLong_AsLongAndOverflow(number, &overflow);
    if (overflow) return 0;
    if (kind == 1) *(long *)to = whole;
    else *(double *)to = (double)whole;
    return kind == 1 || ((long long)whole >= -(1LL << 53) && (long long)whole <= 1LL << 53);
}

int number_in(PyObject *number, int type, char *to) {
    int kind = kind_of(type);
    if (type == NPY_CDOUBLE && (PyComplex_Check(number) || PyFloat_Check(number))) {
        Py_complex value = PyComplex_AsCComplex(number);
        memcpy(to, &value, sizeof value);
        return 1;
    }
    return kind >= 0 && number_as(number, kind, to);
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

void copy_axes(char *to, char *from, int axes, const npy_intp *shape, const npy_intp *to_steps, const npy_intp *from_steps, npy_intp size) {
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

PyObject *rolled(PyObject *const *given, Py_ssize_t count, PyObject *keywords) {
    PyArrayObject *from = (PyArrayObject *)given[0];
    Py_ssize_t named = keywords == NULL ? 0 : PyTuple_GET_SIZE(keywords);
    int has_axis = count + named == 3 && (!named || !PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(keywords, 0), "axis"));
    if (!has_axis && (named || count != 2 || PyArray_NDIM(from) != 1)) return NULL;
    if (count < 2 || !PyLong_CheckExact(given[1]) || (has_axis && !PyLong_CheckExact(given[2])) || PyDataType_REFCHK(PyArray_DESCR(from)) || !PyArray_ISALIGNED(from)) return NULL;
    Py_ssize_t by = PyLong_AsSsize_t(given[1]), along = has_axis ? PyLong_AsSsize_t(given[2]) : 0;
    if (along < 0) along += PyArray_NDIM(from);
    if (PyErr_Occurred()) return PyErr_Clear(), NULL;
    if (along < 0 || along >= PyArray_NDIM(from) || !PyArray_SIZE(from)) return NULL;
    PyArrayObject *to = (PyArrayObject *)PyArray_NewLikeArray(from, NPY_KEEPORDER, NULL, 0);
    if (to == NULL) return NULL;
    npy_intp shape[NPY_MAXDIMS], *there = PyArray_STRIDES(to), *here = PyArray_STRIDES(from), n = PyArray_DIM(from, along), size = PyArray_ITEMSIZE(from);
    memcpy(shape, PyArray_DIMS(from), PyArray_NDIM(from) * sizeof *shape);
    by = (by % n + n) % n;
    shape[along] = n - by;
    copy_axes(PyArray_BYTES(to) + by * there[along], PyArray_BYTES(from), PyArray_NDIM(from), shape, there, here, size);
    shape[along] = by;
    if (by) copy_axes(PyArray_BYTES(to), PyArray_BYTES(from) + (n - by) * here[along], PyArray_NDIM(from), shape, there, here, size);
    return (PyObject *)to;
}

/* Axes that are looped over: the steps of the operands, and of the result behind them. */
typedef struct {
    int axes;
    npy_intp shape[DEEP], steps[DEEP][3];
} Nest;

/* The axes of all operands; 0 where NumPy may put those of the result in another order, or the shapes do not fit. */
static int nest_of(PyObject *const *operands, int n, Nest *nest) {
    nest->axes = 0;
    for (int k = 0; k < n; k++)
        if (PyArray_CheckExact(operands[k]) && PyArray_NDIM((PyArrayObject *)operands[k]) > nest->axes)
            nest->axes = PyArray_NDIM((PyArrayObject *)operands[k]);
    if (nest->axes == 0 || nest->axes > DEEP) return 0;
    for (int axis = 0; axis < nest->axes; axis++) nest->shape[axis] = 1;
    for (int k = 0; k < n; k++) {
        int is_array = PyArray_CheckExact(operands[k]);
        int missing = is_array ? nest->axes - PyArray_NDIM((PyArrayObject *)operands[k]) : nest->axes;
        npy_intp before = 0;
        for (int axis = 0; axis < nest->axes; axis++) {
            npy_intp extent = axis < missing ? 1 : PyArray_DIM((PyArrayObject *)operands[k], axis - missing);
            npy_intp step = extent == 1 ? 0 : PyArray_STRIDE((PyArrayObject *)operands[k], axis - missing);
            if (extent == 0 || (extent != 1 && nest->shape[axis] != 1 && nest->shape[axis] != extent)) return 0;
            if (extent != 1) nest->shape[axis] = extent;
            if (nest->axes > 1 && step < 0) return 0;
            if (step != 0 && before != 0 && step > before) return 0;
            if (step != 0) before = step;
            nest->steps[axis][k] = step;
        }
    }
    return 1;
}

/* Steps of a result in C order; axes that lie one behind the other in all arrays become one. */
static void joined(Nest *nest, int n, npy_intp size) {
    npy_intp count = 1;
    for (int axis = nest->axes; axis-- > 0; count *= nest->shape[axis]) nest->steps[axis][n] = count * size;
    int last = 0;
    for (int axis = 1; axis < nest->axes; axis++) {
        int alike = 1;
        if (nest->shape[axis] == 1) continue;
        for (int k = 0; k <= n; k++) alike &= nest->steps[last][k] == nest->steps[axis][k] * nest->shape[axis];
        if (alike || nest->shape[last] == 1) nest->shape[last] *= nest->shape[axis];
        else nest->shape[++last] = nest->shape[axis];
        memcpy(nest->steps[last], nest->steps[axis], sizeof nest->steps[axis]);
    }
    nest->axes = last + 1;
}

/* Call a loop for the rows of all arrays, from an axis on. */
static void along(const Loops *of, int kind, const Nest *nest, int axis, char *const *data) {
    const int last = nest->axes - 1;
    char *at[3] = {data[0], data[1], data[2]};
    for (npy_intp n = axis == last ? 1 : nest->shape[axis]; n--;) {
        char *row[3] = {at[0], at[1], at[2]};  /* a loop may move the pointers that it is given */
        if (axis < last - 1) along(of, kind, nest, axis + 1, row);
        else of->call[kind](row, &nest->shape[last], nest->steps[last], of->data[kind]);
        for (int k = 0; k < 3; k++) at[k] += nest->steps[axis][k];
    }
}

/* Let NumPy warn of the flags that a loop has raised; -1 with an error. */
static inline int warned(const Loops *of) { return is_flagged() ? PyUFunc_GiveFloatingpointErrors(of->name, PyUFunc_getfperr()) : 0; }

/* A new array that a loop has filled; NULL where it failed: NumPy does it again, with its words. Steals the array. */
static inline PyObject *filled(PyObject *result) {
    if (!PyErr_Occurred()) return result;
    PyErr_Clear();
    Py_DECREF(result);
    return NULL;
}

/* The product of vectors and matrices, for which the loop is given what NumPy gives it: an axis of one element has no step. */
static PyObject *product(const Loops *of, PyObject *x, PyObject *y) {
    PyArrayObject *first = (PyArrayObject *)x, *second = (PyArrayObject *)y;
    if (!PyArray_CheckExact(x) || y == NULL || !PyArray_CheckExact(y)) return NULL;
    int rows = PyArray_NDIM(first) == 2, columns = PyArray_NDIM(second) == 2, kind = kind_of(PyArray_TYPE(first));
    if (kind < 0 || of->call[kind] == NULL || PyArray_TYPE(second) != types[kind] || of->type[kind] != types[kind]) return NULL;
    if (!(rows || PyArray_NDIM(first) == 1) || !(columns || PyArray_NDIM(second) == 1)) return NULL;
    if (!PyArray_ISBEHAVED_RO(first) || !PyArray_ISBEHAVED_RO(second)) return NULL;
    npy_intp m = rows ? PyArray_DIM(first, 0) : 1, n = PyArray_DIM(first, rows), p = columns ? PyArray_DIM(second, 1) : 1;
    if (PyArray_DIM(second, 0) != n || m * p >= limit || m * p == 0 || n == 0 || 2 * n > exact / (m * p)) return NULL;
    npy_intp shape[2] = {rows ? m : p, p}, dimensions[4] = {1, m, n, p}, size = PyArray_ITEMSIZE(first);
    npy_intp steps[9] = {0, 0, 0,
                         m == 1 ? 0 : PyArray_STRIDE(first, 0), n == 1 ? 0 : PyArray_STRIDE(first, rows),
                         n == 1 ? 0 : PyArray_STRIDE(second, 0), p == 1 ? 0 : PyArray_STRIDE(second, 1),
                         m == 1 ? 0 : p * size, p == 1 ? 0 : size};
    PyObject *result = PyArray_SimpleNew(rows + columns, shape, types[kind]);
    if (result == NULL) return NULL;
    char *data[3] = {PyArray_BYTES(first), PyArray_BYTES(second), PyArray_BYTES((PyArrayObject *)result)};
    if (is_flagged()) feclearexcept(FLAGS);
    of->call[kind](data, dimensions, steps, of->data[kind]);
    return filled(result);
}

/* Results that have ended, for the next ones: most live for one operation. */
enum { ENDED = 8 };
static PyArrayObject *ended[ENDED];
static int latest = 0;

void keep_result(PyArrayObject *array) {
    PyArray_Descr *usual = PyArray_NDIM(array) && PyTypeNum_ISNUMBER(PyArray_TYPE(array)) ? PyArray_DescrFromType(PyArray_TYPE(array)) : NULL;
    if (usual != NULL && usual == PyArray_DESCR(array)) {
        latest = (latest + 1) % ENDED;
        Py_XDECREF(ended[latest]);
        ended[latest] = array;
    } else {
        Py_DECREF(array);
    }
    Py_XDECREF(usual);
}

/* An array for a result, in C order; steals the dtype. */
static PyObject *new_result(PyArray_Descr *dtype, int axes, const npy_intp *shape, npy_intp size) {
    for (int k = 0; size <= shortest && k < ENDED; k++) {
        int place = (latest + ENDED - k) % ENDED;
        PyArrayObject *array = ended[place];
        if (array == NULL || PyArray_DESCR(array) != dtype || PyArray_NDIM(array) != axes || !are_same(PyArray_DIMS(array), shape, axes)) continue;
        ended[place] = NULL;
        Py_DECREF(dtype);
        return (PyObject *)array;
    }
    return PyArray_NewFromDescr(&PyArray_Type, dtype, axes, shape, NULL, NULL, 0, NULL);
}

/* True if all arrays among operands have the shape of the first one, and lie in C order. */
static int are_rows(PyObject *const *operands, int n, PyArrayObject *first) {
    for (int k = 0; k < n; k++) {
        PyArrayObject *array = (PyArrayObject *)operands[k];
        if (PyArray_CheckExact(array) && !(PyArray_IS_C_CONTIGUOUS(array) && PyArray_SAMESHAPE(array, first))) return 0;
    }
    return 1;
}

/* The result of the loop row by row; NULL where NumPy is called. */
static PyObject *by_rows(const Loops *of, int kind, int n, PyObject *const *operands, char **data) {
    Nest nest = {0};
    npy_intp shape[DEEP];
    if (!nest_of(operands, n, &nest)) return NULL;
    int axes = nest.axes, is_free = of->is_settled && types[kind] != NPY_CDOUBLE, is_line = axes == 1 && nest.shape[0] > 1;
    for (int k = 0; k < n; k++) is_line &= !PyArray_CheckExact(operands[k]) || PyArray_SIZE((PyArrayObject *)operands[k]) == nest.shape[0];
    if (!is_free && !is_line) return NULL;  /* of a line NumPy calls its loop once, with the same steps */
    npy_intp count = PyArray_MultiplyList(memcpy(shape, nest.shape, sizeof shape), axes);
    PyArray_Descr *dtype = PyArray_DescrFromType(of->type[kind]);
    joined(&nest, n, PyDataType_ELSIZE(dtype));
    npy_intp length = nest.shape[nest.axes - 1];
    int fits = count < limit && (length >= row || count / length <= row);
    PyObject *result = fits ? new_result(dtype, axes, shape, count) : NULL;
    if (!fits) Py_DECREF(dtype);
    if (result == NULL) return NULL;
    data[n] = PyArray_BYTES((PyArrayObject *)result);
    if (is_flagged()) feclearexcept(FLAGS);
    along(of, kind, &nest, 0, data);
    return result;
}

static inline PyObject *looped(const Loops *of, PyObject *x, PyObject *y) {
    if (of->is_product) return product(of, x, y);
    PyObject *operands[2] = {x, y}, *result;
    PyArrayObject *first = (PyArrayObject *)(PyArray_CheckExact(x) ? x : y);
    int n = of->operands, kind;
    if (n != 1 + (y != NULL) || first == NULL || !PyArray_CheckExact(first)) return NULL;
    if ((kind = kind_of(PyArray_TYPE(first))) < 0 || of->call[kind] == NULL) return NULL;
    char *data[3] = {NULL};
    double numbers[2];
    npy_intp steps[3] = {0}, count = PyArray_SIZE(first);
    for (int k = 0; k < n; k++) {
        PyArrayObject *array = (PyArrayObject *)operands[k];
        if (!PyArray_CheckExact(array)) {
            data[k] = (char *)&numbers[k];
            if (!number_as(operands[k], kind, data[k])) return NULL;
        } else {
            if (PyArray_TYPE(array) != types[kind] || !PyArray_ISBEHAVED_RO(array)) return NULL;
            data[k] = PyArray_BYTES(array);
            steps[k] = PyArray_ITEMSIZE(array);
        }
    }
    if (PyArray_NDIM(first) && count > 1 && count < limit && are_rows(operands, n, first)) {
        PyArray_Descr *dtype = PyArray_DescrFromType(of->type[kind]);
        steps[n] = PyDataType_ELSIZE(dtype);
        if ((result = new_result(dtype, PyArray_NDIM(first), PyArray_DIMS(first), count)) == NULL) return NULL;
        data[n] = PyArray_BYTES((PyArrayObject *)result);
        if (is_flagged()) feclearexcept(FLAGS);
        of->call[kind](data, &count, steps, of->data[kind]);
    } else if ((result = by_rows(of, kind, n, operands, data)) == NULL) {
        return NULL;
    }
    return filled(result);
}

PyObject *unflagged(const Loops *of, PyObject *x, PyObject *y) {
    PyObject *result = looped(of, x, y);
    if (result == NULL || !is_flagged()) return result;
    return Py_DECREF(result), NULL;
}

PyObject *by_loop(const Loops *of, PyObject *x, PyObject *y) {
    PyObject *result = looped(of, x, y);
    if (result == NULL) return NULL;
    if (warned(of) < 0) return Py_DECREF(result), NULL;
    return PyArray_Return((PyArrayObject *)result);
}

/* True if no two elements of an array share memory. */
static int is_apart(PyArrayObject *array) {
    npy_intp size = PyArray_ITEMSIZE(array);
    for (int axis = PyArray_NDIM(array); axis-- > 0;) {
        npy_intp step = PyArray_STRIDE(array, axis) < 0 ? -PyArray_STRIDE(array, axis) : PyArray_STRIDE(array, axis);
        if (PyArray_DIM(array, axis) > 1 && step < size) return 0;
        size += (PyArray_DIM(array, axis) - 1) * step;
    }
    return 1;
}

int by_loop_into(const Loops *of, PyArrayObject *into, PyObject *y) {
    int type = PyArray_TYPE(into), kind = kind_of(type);
    if (kind < 0 || type == NPY_CDOUBLE || !of->is_settled || of->type[kind] != type || PyArray_SIZE(into) > shortest) return 0;
    if (!PyArray_ISWRITEABLE(into) || !is_apart(into)) return 0;
    PyArrayObject *result = (PyArrayObject *)looped(of, (PyObject *)into, y);
    if (result == NULL) return 0;
    int fits = PyArray_SAMESHAPE(result, into);
    if (fits) copy_axes(PyArray_BYTES(into), PyArray_BYTES(result), PyArray_NDIM(into), PyArray_DIMS(into), PyArray_STRIDES(into), PyArray_STRIDES(result), PyArray_ITEMSIZE(into));
    keep_result(result);
    return fits && warned(of) == 0;
}
