/* Functions of the namespace, and methods. */
#include "functions.h"

enum { ANY = 1, SHAPED = 2, SQUARE = 4, RANGE = 8, SPACED = 16, OUTER = 32, LARGE = 64, VIEWS = 128, WRITES = 256, RECORDED = 512, EXACT = 1024, DRAWS = 2048, BOUNDED = 4096,
       SHARED = 8192, WHOLE = 16384, LINES = 32768, DATA = 65536, INTEGERS = 131072, ALONE = 262144, ROLLS = 524288, ORDERS = 1048576 };

/* ANY needs no array among its arguments. Of the next ones the size of the result follows from the arguments: from a shape, the
 * length of a side, a range, a number of points, or the product of the sizes of all arrays. What is LARGE is NumPy's work, and
 * reads arrays of any size. A function that VIEWS returns views of its first argument, and WRITES says that it writes there. What is
 * RECORDED is never NumPy's at once. What is EXACT has the same bits however it is computed: NumPy folds arrays in memory at once, as
 * far as one thread does that quickly; what is WHOLE only without an axis. A call that may be SHARED by threads is Python's where it
 * is worth it. A function that DRAWS is a method of generators of random numbers; a BOUNDED one takes
 * NumPy's stream for up to `block` numbers, and its kind has the place of their number from the bit `SIZE_AT` on. What takes
 * LINES shows no argument in its result: it reads `a.flat` as `a.ravel()`, which need not be a copy. What runs on DATA is never
 * recorded: its arguments are computed first. What is exact for INTEGERS alone is NumPy's for those in memory with rows of some length; what
 * is WHOLE, but not EXACT, only along rows. What is NumPy's in a process ALONE is Python's on ranks; of the methods that draw, these are NumPy's on
 * the generator itself. On ranks a draw is NumPy's if every rank has all of it, but not one that ORDERS more than a few elements. NumPy's function that ROLLS takes
 * several times as long as its work, which is done here. */
enum { MOST = 16, SIZE_AT = 21 };  /* arguments of a call that is looked at */
Py_ssize_t exact = 0, truths = 0, row = 0, divided_from = 0, block = 0;

typedef struct Function {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject *original, *direct, *python, *known, *dict, *weak, *fold;  /* `direct` asks no argument for a protocol */
    int kind, way;
    Loops loops;
    struct Function *former, *next;
} Function;

/* The number of elements of a shape; infinite for an object that is no shape. */
static double elements(PyObject *shape) {
    double size = 1;
    Py_ssize_t n = PyTuple_CheckExact(shape) ? PyTuple_GET_SIZE(shape) : 1;
    for (Py_ssize_t k = 0; k < n; k++) {
        PyObject *item = PyTuple_CheckExact(shape) ? PyTuple_GET_ITEM(shape, k) : shape;
        double extent = PyLong_CheckExact(item) ? PyLong_AsDouble(item) : -1;
        if (extent < 0) return PyErr_Clear(), Py_HUGE_VAL;
        size *= extent;
    }
    return size;
}

/* The argument that a call names so, borrowed; NULL if it names none. */
static PyObject *argument_named(const char *name, PyObject *const *args, Py_ssize_t count, PyObject *keywords) {
    for (Py_ssize_t k = 0; keywords != NULL && k < PyTuple_GET_SIZE(keywords); k++)
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(keywords, k), name) == 0) return args[count + k];
    return NULL;
}

/* The number of elements of the array that a function of this kind makes; infinite where it is not known. */
static double made_by(int kind, PyObject *const *args, Py_ssize_t count, PyObject *keywords) {
    double size = 1, bounds[3] = {0, 0, 1};
    if (!(kind & (SHAPED | SQUARE | SPACED | RANGE | OUTER))) return 0;
    if (kind & OUTER) {
        for (; count--;) {
            PyObject *array = small_array(args[count]);
            if (array != NULL && PyArray_SIZE((PyArrayObject *)array)) size *= PyArray_SIZE((PyArrayObject *)array);
            Py_XDECREF(array);
        }
        return size;
    }
    PyObject *given = kind & SPACED ? count > 2 ? args[2] : argument_named("num", args, count, keywords) : NULL;
    if (kind & SPACED) return given == NULL ? 50 : elements(given);
    if (!count || (kind & SQUARE && argument_named("M", args, count, keywords) != NULL)) return Py_HUGE_VAL;
    if (kind & SQUARE) return count < 2 || args[1] == Py_None ? elements(args[0]) * elements(args[0]) : Py_HUGE_VAL;
    if (!(kind & RANGE)) return elements(args[0]);
    for (Py_ssize_t k = 0; k < count; k++) {
        if (k == 3 || !(PyLong_CheckExact(args[k]) || PyFloat_CheckExact(args[k]))) return Py_HUGE_VAL;
        bounds[count == 1 ? 1 : k] = PyFloat_AsDouble(args[k]);
    }
    PyErr_Clear();
    return (bounds[1] - bounds[0]) / bounds[2];
}

/* True if an array may show memory of an argument, or of one in a list of them. */
static int shows(PyArrayObject *array, PyObject *argument) {
    if (PyArray_CheckExact(argument)) {
        PyArrayObject *other = (PyArrayObject *)argument;
        char *low = PyArray_BYTES(array), *high = low + PyArray_ITEMSIZE(array) - 1, *first = PyArray_BYTES(other), *last = first + PyArray_ITEMSIZE(other) - 1;
        if (!PyArray_SIZE(array) || !PyArray_SIZE(other)) return PyArray_BASE(array) != NULL;
        reach_of(&low, &high, PyArray_NDIM(array), PyArray_DIMS(array), PyArray_STRIDES(array));
        reach_of(&first, &last, PyArray_NDIM(other), PyArray_DIMS(other), PyArray_STRIDES(other));
        return low <= last && first <= high;
    }
    if (PyTuple_CheckExact(argument) || PyList_CheckExact(argument))
        for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(argument); k++)
            if (shows(array, PySequence_Fast_GET_ITEM(argument, k))) return 1;
    return 0;
}

typedef struct {
    PyObject *const *args, **given;  /* the arguments, and what NumPy gets in their place */
    Py_ssize_t n, whole;  /* the elements of the largest array that every rank has */
    int kind, arrays;
} Call;

/* True if a result of short views may be taken: memory of its own, an argument, or a view that is known to be one. */
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
    if (!PyTuple_Check(result) && !PyList_CheckExact(result)) return is_of(python.plain_types, result);  /* tuples with names among them */
    for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(result); k++)
        if (!may_take(PySequence_Fast_GET_ITEM(result, k), call)) return 0;
    return 1;
}

/* True if a result is a tuple, or one with names, which is made of its items. */
static int has_items(PyObject *result) {
    return PyTuple_CheckExact(result) || (PyTuple_Check(result) && PyObject_HasAttrString((PyObject *)Py_TYPE(result), "_fields"));
}

/* True if a result consists of numbers and words; the items of a list are alike. */
static int has_no_array(PyObject *result) {
    int is_list = PyList_CheckExact(result);
    if (!is_list && !PyTuple_CheckExact(result)) return is_of(python.plain_types, result);
    Py_ssize_t k = is_list && PyList_GET_SIZE(result) ? 1 : PySequence_Fast_GET_SIZE(result);
    while (k && has_no_array(PySequence_Fast_GET_ITEM(result, k - 1))) k--;
    return !k;
}

/* The array among arguments in place of which NumPy got this one, also in a tuple for `out`; borrowed, or NULL. */
static PyObject *array_given(PyObject *array, PyObject *given, PyObject *argument, int kind) {
    if (given == array) return Py_TYPE(argument) == array_type || kind & DATA ? argument : NULL;
    if (!PyTuple_CheckExact(given) || !PyTuple_CheckExact(argument)) return NULL;
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(given); k++) {
        PyObject *found = array_given(array, PyTuple_GET_ITEM(given, k), PyTuple_GET_ITEM(argument, k), kind);
        if (found != NULL) return found;
    }
    return NULL;
}

/* The results of a function as arrays; steals the reference. */
static PyObject *taken_from(PyObject *result, const Call *call) {
    PyTypeObject *type = Py_TYPE(result);
    Py_ssize_t n = call->n;
    if (type == &PyArray_Type) {
        PyArrayObject *array = (PyArrayObject *)result;
        for (Py_ssize_t k = 0; k < n; k++) {
            PyObject *argument = array_given(result, call->given[k], call->args[k], call->kind);
            if (argument != NULL) {
                Py_DECREF(result);
                return Py_NewRef(argument);
            }
            if (k && call->args[k] == result && !(call->kind & VIEWS)) return result;  /* NumPy's, as it was given: it was written to */
        }
        if (call->kind & VIEWS && call->arrays & SHOWN && PyArray_BASE(array) != NULL && Py_TYPE(call->args[0]) == array_type && np_of(call->args[0]) == NULL && shows(array, call->given[0]))
            return view_in(call->args[0], array);
        if (PyArray_SIZE(array) < limit) return handle_of(result);
        if (PyArray_BASE(array) == NULL && is_kept(array) && (!among_ranks() || PyArray_SIZE(array) <= call->whole))
            return wrapped_beside(result, call->whole);
    } else if (type == &PyList_Type || has_items(result)) {
        Py_ssize_t length = PySequence_Fast_GET_SIZE(result);
        PyObject *items = type == &PyList_Type ? PyList_New(length) : PyTuple_New(length);
        for (Py_ssize_t k = 0; items != NULL && k < length; k++) {
            PyObject *item = taken_from(Py_NewRef(PySequence_Fast_GET_ITEM(result, k)), call);
            if (item == NULL) Py_CLEAR(items);
            else if (type == &PyList_Type) PyList_SET_ITEM(items, k, item);
            else PyTuple_SET_ITEM(items, k, item);
        }
        if (items != NULL && PyTuple_Check(items) && type != &PyTuple_Type) Py_SETREF(items, PyObject_CallObject((PyObject *)type, items));
        Py_DECREF(result);
        return items;
    } else if (type == array_type || is_of(python.plain_types, result)) {
        return result;
    }
    PyObject *values = tuple_of(call->args, n);
    PyObject *made = values == NULL ? NULL : call_two(python.taken, result, values);
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

/* True if a ufunc gets all operands and, behind them, what its only result is written into. */
static int is_into(Function *function, Py_ssize_t n, Py_ssize_t target) {
    if (target < 0 || Py_TYPE(function->original) != &PyUFunc_Type) return 0;
    PyUFuncObject *ufunc = (PyUFuncObject *)function->original;
    return ufunc->nout == 1 && target == ufunc->nin && n == target + 1;
}

/* True if a NumPy array is among the targets. */
static int holds_numpys(PyObject *target) {
    Py_ssize_t k = PyTuple_CheckExact(target) ? PyTuple_GET_SIZE(target) : 0;
    while (k > 0 && !PyArray_Check(PyTuple_GET_ITEM(target, k - 1))) k--;
    return k > 0;
}

/* True if several threads share a call with these arguments. */
static int is_shared(PyObject *const *given, Py_ssize_t n) {
    Py_ssize_t largest = 0;
    for (Py_ssize_t k = 0; k < n; k++)
        if (PyArray_CheckExact(given[k]) && PyArray_SIZE((PyArrayObject *)given[k]) > largest) largest = PyArray_SIZE((PyArrayObject *)given[k]);
    if (largest < divided_from || python.has_threads == NULL) return 0;
    PyObject *answer = PyObject_CallNoArgs(python.has_threads);
    int are_several = answer == NULL ? 1 : PyObject_IsTrue(answer);
    if (answer == NULL) drop_error();
    Py_XDECREF(answer);
    return are_several;
}

/* The memory of an array that NumPy folds at once; a new reference, or NULL. */
static PyObject *to_fold(PyObject *value) {
    PyObject *array = in_memory(value);
    if (array != NULL && PyArray_SIZE((PyArrayObject *)array) > (PyArray_ISBOOL((PyArrayObject *)array) ? truths : exact)) Py_CLEAR(array);
    return array;
}

/* True if a call with an axis, or none, goes along the rows of an array. */
static int is_along_rows(PyObject *const *args, Py_ssize_t n, PyObject *keywords, int axes) {
    if (n == 1) return 1;
    if (n > 2 || (keywords != NULL && PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(keywords, 0), "axis"))) return 0;
    long axis = PyLong_CheckExact(args[1]) ? PyLong_AsLong(args[1]) : 0;
    PyErr_Clear();
    return args[1] == Py_None || (PyLong_CheckExact(args[1]) && (axis == -1 || axis == axes - 1));
}

/* The memory of an array of integers that NumPy folds or scans at once; a new reference, or NULL. */
static PyObject *integers_of(Function *function, PyObject *const *args, Py_ssize_t n, PyObject *keywords) {
    PyArrayObject *array = (PyArrayObject *)to_fold(args[0]);
    int axes = array == NULL ? 0 : PyArray_NDIM(array);
    int fits = axes && PyArray_ISINTEGER(array) && PyArray_DIM(array, axes - 1) >= row;
    if (fits && (function->kind & (WHOLE | EXACT)) == WHOLE) fits = PyArray_ITEMSIZE(array) == sizeof(npy_long) && is_along_rows(args, n, keywords, axes);
    if (!fits) Py_CLEAR(array);
    return (PyObject *)array;
}

/* True for a number of elements that NumPy orders: see functions.random. */
static int counts_few(PyObject *value) {
    int beyond;
    return PyLong_CheckExact(value) && PyLong_AsLongAndOverflow(value, &beyond) < small_now() && !beyond;
}

/* The NumPy generator that a draw calls at once; a new reference, or NULL where atoll draws. `size` is the number of draws in the arguments. */
static PyObject *drawer_of(int kind, PyObject *const *args, Py_ssize_t count, PyObject *keywords, Py_ssize_t *size) {
    Py_ssize_t place = kind >> SIZE_AT, named = keywords == NULL ? 0 : PyTuple_GET_SIZE(keywords);
    PyObject *wanted = place < count ? args[place] : NULL;
    int together = among_ranks();
    if (!count || (together && kind & ORDERS && !(count > 1 && counts_few(args[1])))) return NULL;
    for (Py_ssize_t k = 0; k < named; k++)
        if (!PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(keywords, k), "size")) wanted = args[count + k];
    PyObject *array = wanted == NULL ? NULL : small_array(wanted);
    if (array != NULL) *size = PyArray_SIZE((PyArrayObject *)array);
    else if (wanted != NULL && PyArray_IsScalar(wanted, Integer)) *size = PyNumber_AsSsize_t(wanted, NULL);
    else if (wanted == NULL || wanted == Py_None) *size = 1;
    else *size = elements(wanted) < 1e15 ? (Py_ssize_t)elements(wanted) : 0;
    Py_XDECREF(array);
    if (kind & BOUNDED && (*size == 0 || *size > block)) return NULL;
    if (together && (*size == 0 || *size >= everywhere_now())) return NULL;
    if (kind & ALONE) return Py_NewRef(args[0]);
    PyObject *dict = PyObject_GenericGetDict(args[0], NULL);
    PyObject *drawer = dict == NULL ? NULL : Py_XNewRef(PyDict_GetItem(dict, interned._numpy));
    Py_XDECREF(dict);
    if (dict == NULL) PyErr_Clear();
    return drawer;
}

static PyObject *call_function(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *keywords);

/* Put arrays in the place of iterators over elements, targets excepted; their number, -1 with an error. `lines` gets
 * a new reference to each argument from there on. */
static Py_ssize_t lines_of(PyObject *const *args, Py_ssize_t n, Py_ssize_t target, PyObject **lines) {
    Py_ssize_t found = 0;
    for (Py_ssize_t k = 0; k < n; k++) {
        PyObject *base = k != target && Py_TYPE(args[k]) == flat_type ? PyObject_GetAttr(args[k], interned.base) : NULL, *line = NULL;
        if (base != NULL && Py_TYPE(base) == array_type) {
            if (k && args[k] == args[0]) line = Py_NewRef(lines[0]);
            else line = PyObject_CallMethodNoArgs(base, interned.ravel);
            found++;
        }
        Py_XDECREF(base);
        lines[k] = line == NULL ? Py_NewRef(args[k]) : line;
    }
    if (!PyErr_Occurred()) return found;
    while (n) Py_DECREF(lines[--n]);
    return -1;
}

/* A call with iterators over elements among its arguments; NULL without an error where there are none. */
static COLD PyObject *call_with_lines(PyObject *self, PyObject *const *args, size_t nargsf, Py_ssize_t n, Py_ssize_t target, PyObject *keywords) {
    PyObject *lines[MOST], *result = NULL;
    Py_ssize_t found = n > MOST ? 0 : lines_of(args, n, target, lines);
    if (found > 0) result = call_function(self, lines, PyVectorcall_NARGS(nargsf), keywords);
    for (Py_ssize_t k = 0; found >= 0 && n <= MOST && k < n; k++) Py_DECREF(lines[k]);
    return result;
}

/* Compute the pending arrays among arguments, targets excepted; -1 with an error. All values come before any memory is
 * handed out. */
static int compute_pending(PyObject *const *args, Py_ssize_t n, Py_ssize_t target) {
    for (Py_ssize_t k = 0; k < n; k++) {
        if (k != target && is_pending(args[k]) && settle_array((Front *)args[k]) < 0) return -1;
    }
    return 0;
}

/* True if no array among arguments is divided among ranks. */
static int are_whole(PyObject *const *args, Py_ssize_t n) {
    while (n && !(Py_TYPE(args[n - 1]) == array_type && on_ranks((Front *)args[n - 1]))) n--;
    return !n;
}

/* True if a call may get to code of the program, which is not called twice: by a ufunc with loops over objects only, or by arrays of
 * objects. */
static int may_call_program(PyObject *callee, PyObject *const *given, Py_ssize_t n) {
    if (PyCFunction_Check(callee) && PyCFunction_GET_SELF(callee) != NULL) callee = PyCFunction_GET_SELF(callee);
    if (Py_TYPE(callee) == &PyUFunc_Type) {
        PyUFuncObject *ufunc = (PyUFuncObject *)callee;
        int k = 0;
        while (k < ufunc->ntypes * ufunc->nargs && ufunc->types[k] == NPY_OBJECT) k++;
        if (k == ufunc->ntypes * ufunc->nargs) return 1;
    }
    for (Py_ssize_t k = 0; k < n; k++) {
        if (given[k] == NULL) continue;
        if (PyArray_Check(given[k]) && PyDataType_REFCHK(PyArray_DESCR((PyArrayObject *)given[k]))) return 1;
        if (!PyList_Check(given[k]) && !PyTuple_Check(given[k])) continue;
        if (may_call_program(Py_None, PySequence_Fast_ITEMS(given[k]), PySequence_Fast_GET_SIZE(given[k]))) return 1;
    }
    return 0;
}

/* Set the writeable flag of operands, and return a bit for each: NumPy copies read-only ones, and a copy hides that an operand overlaps with the target. */
static int open_shown(PyObject *const *args, PyObject *const *given, Py_ssize_t n, Py_ssize_t target) {
    int opened = 0;
    for (Py_ssize_t k = 0; k < n; k++) {
        if (k == target || Py_TYPE(args[k]) != array_type || np_of(args[k]) != NULL || PyArray_ISWRITEABLE((PyArrayObject *)given[k])) continue;
        PyArray_ENABLEFLAGS((PyArrayObject *)given[k], NPY_ARRAY_WRITEABLE);
        opened |= 1 << k;
    }
    return opened;
}

/* A function of arrays of medium size, recorded; NULL without an error where NumPy computes it. The array that it writes to is small then. */
static PyObject *medium_function(PyObject *self, PyObject *const *args, Py_ssize_t count, Py_ssize_t n, Py_ssize_t target) {
    Function *function = (Function *)self;
    PyObject *made = NULL;
    if (n == count && count && function->way == COPY && is_recording_medium && make_medium(args[0])) {
        made = record_function(self, function->way, NULL, NULL, args, count, NULL);
    } else if (n == count && count && count < 3 && function->loops.operands == count && function->known != NULL) {
        made = record_medium(function->original, &function->loops, function->known, args, count, 0, 1);
    }
    if (made != NULL || PyErr_Occurred()) return as_medium(made);
    if (target >= 0 && is_medium(args[target]) && make_small(args[target]) < 0) return NULL;
    if (n && function->kind & VIEWS && is_medium(args[0])) make_small(args[0]);
    return NULL;
}

static PyObject *call_function(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *keywords) {
    Function *function = (Function *)self;
    Py_ssize_t count = PyVectorcall_NARGS(nargsf), n = count + (keywords ? PyTuple_GET_SIZE(keywords) : 0);
    Py_ssize_t target = n > 1 || function->kind & WRITES ? target_of(function, count, n, keywords) : -1;
    if (count && function->kind & LINES && (Py_TYPE(args[0]) == flat_type || Py_TYPE(args[count - 1]) == flat_type)) {
        PyObject *result = call_with_lines(self, args, nargsf, n, target, keywords);
        if (result != NULL || PyErr_Occurred()) return result;
    }
    PyObject *space[MOST + 1], **given = space + 1;
    Py_ssize_t first_medium = 0;
    while (first_medium < n && !may_be_medium(args[first_medium])) first_medium++;
    if (first_medium < n) {
        PyObject *made = medium_function(self, args, count, n, target);
        if (made != NULL || PyErr_Occurred()) return made;
    }
    int arrays = 0, fits = n <= MOST && !(function->kind & RECORDED) && !(function->kind & ALONE && among_ranks()), was = 0;
    int alone = !among_ranks() && !shown;  /* on ranks a value may be there on some only, and bits must not differ; what is explained or counted stays undone */
    Py_ssize_t owned = 0, drawn = 0, whole = 0;
    PyObject *callee = function->direct;
    int is_product = function->way == DOT && count == 2 && has_view(args[0]) && has_view(args[1]) && axes_in((Front *)args[0]) == 1;
    int is_numpys_work = function->kind & DATA || (function->kind & LARGE && (function->way == DOT ? !is_product : function->way == ELEMENTWISE && function->known == NULL));
    is_numpys_work = is_numpys_work && fits && !shown && are_whole(args, n);  /* all arguments are computed first, on all ranks */
    int large = function->kind & LARGE && (alone || is_numpys_work);
    if (is_numpys_work && compute_pending(args, n, target) < 0) return ended(NULL);
    for (Py_ssize_t k = 0; fits && k < n; k++) {
        PyObject *value = args[k];
        given[k] = NULL;
        if (!k && function->kind & DRAWS) {
            given[k] = drawer_of(function->kind, args, count, keywords, &drawn);
            whole = drawn;
        } else if (Py_TYPE(value) == array_type) {
            int is_plain = np_of(value) != NULL;
            if (((Front *)value)->medium) given[k] = medium_memory(value);
            else if (function->kind & EXACT && !is_plain && !k && alone && (n == 1 || !(function->kind & WHOLE))) given[k] = to_fold(value);
            else if (!large || is_plain) given[k] = at_hand(value);
            else given[k] = in_memory(value);
            if (given[k] == NULL && function->kind & INTEGERS && !k && alone) given[k] = integers_of(function, args, n, keywords);
            arrays |= is_plain ? PLAIN : SHOWN;
            if (!is_plain && given[k] != NULL && PyArray_SIZE((PyArrayObject *)given[k]) > whole) whole = PyArray_SIZE((PyArrayObject *)given[k]);
            if (k == target && !is_plain && given[k] != NULL && !may_write((Front *)value)) Py_CLEAR(given[k]);
        } else if (is_of(python.plain_types, value)) {
            given[k] = Py_NewRef(value);
        } else if (PyArray_CheckExact(value) && alone && k != target && function->kind & DATA && !(function->kind & VIEWS)) {
            given[k] = Py_NewRef(value);
            arrays |= FOREIGN;
            callee = function->original;  /* whose words about arguments are known */
        } else if (is_numpys(value)) {
            given[k] = Py_NewRef(value);
            arrays |= PLAIN;
        } else if (k == target && holds_numpys(value)) {  /* which Python gives back */
            given[k] = NULL;
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
    if (fits && function->kind & ~(ANY | LINES | INTEGERS) && !(made_by(function->kind, args, count, keywords) < limit)) fits = 0;
    if (fits && n == 2 && n == count && function->loops.operands == 2 && spreads(given[0], given[1])) fits = 0;
    PyObject *result;
    if ((drawn || function->kind & ALONE) && arrays & SHOWN) fits = 0;  /* what draws is not called twice */
    if (fits && arrays & (SHOWN | FOREIGN) && may_call_program(callee, given, n)) fits = 0;
    if (!fits || !(arrays || function->kind & (ANY | SHAPED | SQUARE | RANGE | SPACED | OUTER | DRAWS))) {
        while (owned) Py_DECREF(given[--owned]);
        int writes = is_into(function, n, target) && Py_TYPE(args[target]) == array_type;
        int may_record = !PyErr_Occurred() && all_shown(args, n);
        result = NULL;
        if (may_record && writes)
            result = function->way == ELEMENTWISE && record_into(function->known, args[target], args, target) > 0 ? Py_NewRef(args[target]) : NULL;
        else if (may_record)
            result = record_function(self, function->way, function->known, function->python, args, count, keywords);
        if (result == NULL && !PyErr_Occurred()) result = PyObject_Vectorcall(function->python, args, nargsf, keywords);
    } else {
        Call call = {args, given, n, whole, function->kind, arrays};
        int opened = function->kind & (EXACT | WRITES) && arrays & SHOWN ? open_shown(args, given, n, target) : 0;
        int writes = target >= 0 && Py_TYPE(args[target]) == array_type && np_of(args[target]) == NULL;
        if (writes) was = begin_writing((Front *)args[target], (PyArrayObject *)given[target]);
        result = n && n == function->loops.operands && n == count ? by_loop(&function->loops, given[0], n > 1 ? given[1] : NULL) : NULL;
        if (function->fold != NULL && n == 1 && count == 1 && PyArray_CheckExact(given[0]) &&
            PyArray_DESCR((PyArrayObject *)given[0])->type_num < NPY_OBJECT)
            result = call_two(function->fold, given[0], Py_None);  /* all that the function does for numbers */
        if (function->kind & ROLLS && PyArray_CheckExact(given[0])) result = rolled(given, count, keywords);
        if (result == NULL && !PyErr_Occurred()) {
            result = PyObject_Vectorcall(callee, given, count | PY_VECTORCALL_ARGUMENTS_OFFSET, keywords);
        }
        if (writes) end_writing((PyArrayObject *)given[target], was);
        for (Py_ssize_t k = 0; opened >> k; k++)
            if (opened >> k & 1) PyArray_CLEARFLAGS((PyArrayObject *)given[k], NPY_ARRAY_WRITEABLE);
        int is_done = result != NULL && !PyArray_CheckExact(result) && has_no_array(result);
        int lacks = result == NULL && PyErr_ExceptionMatches(PyExc_MemoryError) && !writes && alone && !may_call_program(callee, given, n);
        int again = lacks || (arrays & (SHOWN | FOREIGN) && !writes && !is_done &&
                              (result == NULL ? arrays & SHOWN && PyErr_ExceptionMatches(PyExc_ValueError) && !is_from_outside() : !may_take(result, &call)));
        if (again) {  /* it would write into a short view, or shows it; or Python gives memory back first */
            PyErr_Clear();
            Py_XDECREF(result);
            result = PyObject_Vectorcall(function->python, args, nargsf, keywords);
        } else if (result != NULL && !is_done) {
            result = taken_from(result, &call);
        }
    }
    while (owned) Py_DECREF(given[--owned]);
    return ended(result);
}

/* The same where a profile is recorded. */
static COLD PyObject *call_function_seen(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *keywords) {
    int begun = begin_call();
    PyObject *result = call_function(self, args, nargsf, keywords);
    Raised raised = taken_error();
    PyObject *name = PyObject_GetAttr(self, interned.__name__);
    if (name == NULL) PyErr_Clear();
    end_call(begun, name == NULL ? empty : name);
    Py_XDECREF(name);
    raise_again(raised);
    return result;
}

/* All functions: each is called as it is while no profile is recorded. */
static Function *functions = NULL;

static void see_functions(int seen) {
    for (Function *function = functions; function != NULL; function = function->next)
        function->call = seen ? call_function_seen : call_function;
}

/* NumPy's functions become methods of classes that have them as attributes; ufuncs, which are of a subclass, do not. */
static PyObject *bound(PyObject *self, PyObject *object, PyObject *type) {
    if (object == NULL || object == Py_None || Py_TYPE(self) != function_type) return Py_NewRef(self);
    return PyMethod_New(self, object);
}

/* The implementation that NumPy calls where no argument has a protocol: arrays of NumPy's, numbers and words have none. */
static PyObject *direct_of(PyObject *original) {
    PyObject *direct = NULL;
    if (strstr(Py_TYPE(original)->tp_name, "_ArrayFunctionDispatcher") != NULL) direct = PyObject_GetAttrString(original, "_implementation");
    PyErr_Clear();
    return direct != NULL && PyCallable_Check(direct) ? direct : Py_NewRef(original);
}

static PyObject *function_new(PyTypeObject *type, PyObject *args, PyObject *options) {
    PyObject *original, *python;
    int kind = 0;
    if (!PyArg_ParseTuple(args, "OO|i", &original, &python, &kind)) return NULL;
    Function *self = (Function *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    if (type->tp_call == PyVectorcall_Call) type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;  /* Python 3.11 does not inherit it */
    self->call = profiling ? call_function_seen : call_function;
    if ((self->next = functions) != NULL) functions->former = self;
    functions = self;
    self->original = Py_NewRef(original);
    self->direct = direct_of(original);
    self->python = Py_NewRef(python);
    self->kind = kind;
    look_up(&self->loops, original);
    return (PyObject *)self;
}

#define FUNCTION_MEMBERS(DO) DO(original) DO(direct) DO(python) DO(known) DO(fold) DO(dict)
#define VISIT(MEMBER) Py_VISIT(((Function *)self)->MEMBER);
#define CLEAR(MEMBER) Py_CLEAR(((Function *)self)->MEMBER);

static int function_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    FUNCTION_MEMBERS(VISIT)
    return 0;
}

static int function_clear(PyObject *self) {
    FUNCTION_MEMBERS(CLEAR)
    return 0;
}

static void function_dealloc(PyObject *self) {
    PyObject_GC_UnTrack(self);
    Function *function = (Function *)self;
    if (function->weak != NULL) PyObject_ClearWeakRefs(self);
    if (function->former != NULL) function->former->next = function->next;
    else if (functions == function) functions = function->next;
    if (function->next != NULL) function->next->former = function->former;
    function_clear(self);
    free_object(self);
}

/* Functions are pickled by their names. */
static PyObject *function_reduce(PyObject *self, PyObject *nothing) {
    return PyObject_GetAttrString(self, "__qualname__");
}

static PyMethodDef methods[] = {{"__reduce__", function_reduce, METH_NOARGS, NULL}, {NULL}};

static PyMemberDef function_members[] = {
    {"_python", T_OBJECT, offsetof(Function, python), 0, "what is called where NumPy cannot be at once"},
    {"_known", T_OBJECT, offsetof(Function, known), 0, "what the recorder knows of its operands"},
    {"_way", T_INT, offsetof(Function, way), 0, "how the recorder records it"},
    {"_fold", T_OBJECT, offsetof(Function, fold), 0, "the method of a ufunc that folds a whole array"},
    {"__dictoffset__", T_PYSSIZET, offsetof(Function, dict), READONLY},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Function, weak), READONLY},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Function, call), READONLY},
    {NULL}};
static PyGetSetDef function_getset[] = {{"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict}, {NULL}};
static PyType_Slot function_slots[] = {
    {Py_tp_new, function_new}, {Py_tp_dealloc, function_dealloc}, {Py_tp_traverse, function_traverse}, {Py_tp_clear, function_clear},
    {Py_tp_call, PyVectorcall_Call}, {Py_tp_descr_get, bound}, {Py_tp_methods, methods}, {Py_tp_members, function_members},
    {Py_tp_getset, function_getset}, {Py_tp_doc, "A function that NumPy computes where all arrays are at hand."}, {0}};
PyType_Spec function_spec = {"atoll._front.Function", sizeof(Function), 0,
                             CLASS_FLAGS | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
                             function_slots};
PyTypeObject *function_type;

static PyObject *profile(PyObject *module, PyObject *args) {
    PyObject *done = record_profile(args);
    see_functions(profiling);
    return done;
}

PyMethodDef function_methods[] = {
    {"profile", profile, METH_VARARGS, "Record spans into some memory, or record none."},
    {NULL}};
