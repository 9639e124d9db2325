/* Steps of programs that ranks take together: that of their log, exchanges of ghost regions, and sums over ranks.
 *
 * Python has set up MPI's operations (comm.mpi_requests), which are started and tested here by the methods of mpi4py. Python does what is rare:
 * the first run of a program, long waits, warnings, errors, and exchanges that allocate or copy.
 */
#include "exchange.h"
#include "forms.h"

/* Tuples from Python: of a program (lazy.runs.opening), of an exchange (exchange.schedule), and of a sum (execute.exchange). */
enum { OPENING_FINGERPRINT, OPENING_STRUCTURE, OPENING_DIVIDED, OPENING_SCALARS, OPENING_TAKERS, OPENING_COMPUTES, OPENING_PRICES, OPENING_TO_ALL,
       OPENING_DIVIDES, OPENING_BYTES, OPENING_MOVES, OPENING_STEP };
enum { ENDS_FAILED, ENDS_VERIFY, ENDS_BUFFERS, ENDS_MARKED, ENDS_MOVED, ENDS_DIRECT, ENDS_SENT, ENDS_BYTES, ENDS_TRIES, ENDS_CALL, ENDS_HANDLES, ENDS_TRAFFIC, ENDS_COUNTED };
enum { SUM_JOIN, SUM_HEAR, SUM_WAIT, SUM_WHAT, SUM_TRIES, SUM_ROWS, SUM_START, SUM_TEST, SUM_MARK, SUM_MARKS, SUM_GIVEN, SUM_FOUND, SUM_TRAFFIC, SUM_COUNTED };
enum { MOST_BYTES = 1024, MOST_RANKS = 64 };
#define TOLD(NUMBER) PyTuple_GET_ITEM(told, NUMBER)

PyObject *run_state(Run *run, PyObject *step) {
    if (run->state == NULL) {
        PyObject *scalars = PyList_New(run->trace->scalars);
        for (int k = 0; scalars != NULL && k < run->trace->scalars; k++) PyList_SET_ITEM(scalars, k, scalar_of(number_at(run, k)));
        if (scalars == NULL || PyErr_Occurred()) return Py_XDECREF(scalars), NULL;
        run->state = PyObject_CallFunctionObjArgs(python.state_type, run->registers, scalars, NULL);
        Py_DECREF(scalars);
        if (run->state != NULL && run->fit->log != NULL && PyObject_SetAttr(run->state, interned.log, run->fit->log) < 0) return NULL;
    }
    if (run->state != NULL && step != NULL && PyObject_SetAttr(run->state, interned.step, step) < 0) return NULL;
    return run->state;
}

/* ---- the step of the log */

/* The bytes of the numbers that ranks compare, as ops.fingerprint has them; how many, or -1 where Python has to say. */
static int bytes_of_numbers(Run *run, PyObject *scalars, char *to) {
    int used = 0;
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(scalars); k++) {
        PyObject *number = number_at(run, (int)PyLong_AsLong(PyTuple_GET_ITEM(scalars, k)));
        int is_float = PyFloat_CheckExact(number), size = sizeof(double);
        PyArray_Descr *dtype = is_float ? NULL : PyArray_IsScalar(number, Number) || PyArray_IsScalar(number, Bool) ? PyArray_DescrFromScalar(number) : NULL;
        if (!is_float && dtype == NULL) return PyErr_Clear(), -1;
        if (dtype != NULL) size = (int)PyDataType_ELSIZE(dtype);
        Py_XDECREF(dtype);
        if (used + size > MOST_BYTES) return -1;
        if (is_float) memcpy(to + used, &(double){PyFloat_AS_DOUBLE(number)}, size);
        else PyArray_ScalarAsCtype(number, to + used);
        used += size;
    }
    return used;
}

/* The fingerprint of what a trace is given: Outline.given; NULL without an error where Python has to say. */
static PyObject *given(Run *run, PyObject *told) {
    PyObject *divided = TOLD(OPENING_DIVIDED), *scalars = TOLD(OPENING_SCALARS);
    char numbers[MOST_BYTES];
    int used = bytes_of_numbers(run, scalars, numbers), some = PyTuple_GET_SIZE(scalars) > 0;
    Py_ssize_t n = PyTuple_GET_SIZE(divided);
    PyObject *words = used < 0 ? NULL : PyTuple_New(n + some);
    if (words == NULL) return NULL;
    for (Py_ssize_t k = 0; k < n; k++) {
        PyObject *leaf = run->nodes[run->trace->leaf[PyLong_AsLong(PyTuple_GET_ITEM(divided, k))]];
        PyTuple_SET_ITEM(words, k, PyLong_FromLongLong(NODE(leaf)->born));
    }
    if (some) {
        PyObject *bytes = PyBytes_FromStringAndSize(numbers, used), *digest = bytes == NULL ? NULL : PyObject_CallOneArg(python.crc32, bytes);
        Py_XDECREF(bytes);
        if (digest == NULL) return Py_DECREF(words), NULL;
        PyTuple_SET_ITEM(words, n, digest);
    }
    unsigned long long mark = (unsigned long long)PyObject_Hash(words);
    Py_DECREF(words);
    return PyErr_Occurred() ? NULL : PyLong_FromUnsignedLongLong(mark ^ PyLong_AsUnsignedLongLong(TOLD(OPENING_FINGERPRINT)));
}

/* The function that a report of diverging ranks calls for the words of this computation; a new reference. */
static PyObject *words_for(Run *run, PyObject *told) {
    PyObject *scalars = TOLD(OPENING_SCALARS), *takers = TOLD(OPENING_TAKERS), *more = NULL;
    Py_ssize_t n = PyTuple_GET_SIZE(scalars), m = PyTuple_GET_SIZE(takers);
    PyObject *numbers = PyTuple_New(n), *sites = PyTuple_New(m);
    for (Py_ssize_t k = 0; numbers != NULL && k < n; k++)
        PyTuple_SET_ITEM(numbers, k, scalar_of(number_at(run, (int)PyLong_AsLong(PyTuple_GET_ITEM(scalars, k)))));
    for (Py_ssize_t k = 0; sites != NULL && k < m; k++)
        PyTuple_SET_ITEM(sites, k, Py_NewRef(NODE(run->nodes[run->trace->order[PyLong_AsLong(PyTuple_GET_ITEM(takers, k))]])->site));
    if (numbers != NULL && sites != NULL && !PyErr_Occurred())
        more = PyObject_CallFunctionObjArgs(python.partial, python.computed_words, TOLD(OPENING_COMPUTES), NODE(run->nodes[run->trace->roots - 1])->site,
                                            numbers, sites, NULL);
    Py_XDECREF(numbers);
    Py_XDECREF(sites);
    return more;
}

/* An attribute of an object that keeps it, borrowed. */
static PyObject *attribute(PyObject *object, PyObject *name) {
    PyObject *value = PyObject_GetAttr(object, name);
    Py_XDECREF(value);
    return value;
}

/* What more is lost by a program that ranks bind to these extents for the first time: numpy_evaluation.begun; -1 with an error. */
static double price_of_moving(PyObject *told, PyObject *log) {
    PyObject *extents = attribute(log, interned.extents);
    if (extents == NULL) return -1;
    if (PySet_GET_SIZE(extents) >= entries || PySet_Contains(extents, TOLD(OPENING_FINGERPRINT))) return 0;
    return PySet_Add(extents, TOLD(OPENING_FINGERPRINT)) < 0 ? -1 : PyFloat_AsDouble(TOLD(OPENING_MOVES));
}

/* Note what dividing arrays loses; -1 with an error. */
static int note_prices(PyObject *prices, double more, PyObject *log, PyObject *settings) {
    PyObject *losses = attribute(log, interned.losses);
    if (losses == NULL) return -1;
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(prices); k++) {
        PyObject *told = PyTuple_GET_ITEM(prices, k), *before = PyDict_GetItemWithError(losses, TOLD(0));
        double loss = PyFloat_AsDouble(TOLD(2)) + more;
        if (loss <= 0 && (before == NULL || !PyObject_IsTrue(before))) continue;
        PyObject *lost = PyFloat_FromDouble(loss);
        int noted = lost == NULL ? -1 : status_of(PyObject_CallFunctionObjArgs(python.priced, log, TOLD(0), TOLD(1), lost, settings, NULL));
        Py_XDECREF(lost);
        if (noted < 0) return -1;
    }
    return PyErr_Occurred() ? -1 : 0;
}

int begin_together(Run *run, PyObject *settings) {
    PyObject *told = run->fit->opening, *log = run->fit->log, *plans, *what;
    if (told == Py_None || attribute(settings, interned.debug) != Py_False) return 0;
    if ((plans = attribute(log, interned.plans)) == NULL || (what = attribute(python.asked, interned.look)) == NULL) return -1;
    if (PyDict_GetItemWithError(plans, TOLD(OPENING_STRUCTURE)) != Py_True) return PyErr_Occurred() ? -1 : 0;
    PyObject *mark = given(run, told), *words = mark == NULL ? NULL : words_for(run, told);
    if (mark == NULL) return PyErr_Occurred() ? -1 : 0;
    int noted = words == NULL ? -1 : status_of(PyObject_CallFunctionObjArgs(TOLD(OPENING_STEP), mark, PyUnicode_GET_LENGTH(what) ? what : python.usual_look, words, NULL));
    Py_DECREF(mark);
    Py_XDECREF(words);
    double more = noted < 0 ? -1 : run->fit->is_moved ? price_of_moving(told, log) : 0;
    if (more < 0 || note_prices(TOLD(OPENING_PRICES), more, log, settings) < 0) return -1;
    return PyObject_SetAttr(log, interned.unasked, Py_True) < 0 ? -1 : 1;
}

int finish_together(PyObject *told, PyObject *log) {
    PyObject *unasked = attribute(log, interned.unasked), *raised = attribute(log, interned.raised), *stored = attribute(log, interned.stored);
    if (unasked == NULL || raised == NULL || stored == NULL) return -1;
    double bytes = PyFloat_AsDouble(stored) + PyFloat_AsDouble(TOLD(OPENING_BYTES));
    if ((TOLD(OPENING_TO_ALL) == Py_True && (unasked == Py_True || raised == Py_True)) || bytes > most_held) return 0;
    if (TOLD(OPENING_DIVIDES) == Py_True && PyObject_SetAttr(log, interned.unasked, Py_True) < 0) return -1;
    if ((stored = PyFloat_FromDouble(bytes)) == NULL) return -1;
    int done = PyObject_SetAttr(log, interned.stored, stored) < 0 ? -1 : 1;
    Py_DECREF(stored);
    return done;
}

/* ---- messages */

static PyObject *array_in(Run *run, int number) { return VALUE(value_in(run, number))->array; }

/* The hash of the log; -1 with an error. */
static int hash_of(PyObject *log, uint64_t *hash) {
    PyObject *number = attribute(log, interned.hash);
    if (number != NULL) *hash = PyLong_AsUnsignedLongLong(number);
    return PyErr_Occurred() ? -1 : 0;
}

static void count_traffic(PyObject *traffic, PyObject *counted) {
    for (int k = 0; k < PyTuple_GET_SIZE(counted); k++) {
        long long more = PyLong_AsLongLong(PyTuple_GET_ITEM(counted, k));
        if (more) replace(traffic, TRAFFIC + k, PyLong_FromLongLong(PyLong_AsLongLong(field(traffic, TRAFFIC + k)) + more));
    }
}

/* Call a function of Python's, with an argument or none (NULL); -1 with an error. */
static int call(PyObject *function, PyObject *arg) {
    return status_of(arg == NULL ? PyObject_CallNoArgs(function) : PyObject_CallOneArg(function, arg));
}

int start_exchange(Run *run, Step *step) {
    PyObject *told = step->geometry, *buffers = TOLD(ENDS_BUFFERS), *moved = TOLD(ENDS_MOVED), *marked = TOLD(ENDS_MARKED), *direct = TOLD(ENDS_DIRECT);
    int pieces = (int)PyTuple_GET_SIZE(moved);
    uint64_t hash;
    if (attribute(buffers, interned.under_way) != Py_False) return 0;  /* a failed run has left them */
    if (hash_of(run->fit->log, &hash) < 0) return -1;
    for (int k = 0; k < pieces; k++) {
        PyObject *pair = PyTuple_GET_ITEM(moved, k), *piece = PyObject_GetItem(array_in(run, step->registers[k]), PyTuple_GET_ITEM(pair, 0));
        int copied = piece == NULL ? -1 : PyArray_CopyInto((PyArrayObject *)PyTuple_GET_ITEM(pair, 1), (PyArrayObject *)piece);
        Py_XDECREF(piece);
        if (copied < 0) return -1;
    }
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(direct); k++) set_register(run, step->registers[pieces + k], Py_NewRef(PyTuple_GET_ITEM(direct, k)));
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(marked); k++) *(uint64_t *)PyArray_DATA((PyArrayObject *)PyTuple_GET_ITEM(marked, k)) = hash;
    if (PyObject_SetAttr(buffers, interned.under_way, Py_True) < 0 || call(TOLD(ENDS_CALL), TOLD(ENDS_HANDLES)) < 0) return -1;
    count_traffic(TOLD(ENDS_TRAFFIC), TOLD(ENDS_COUNTED));
    run->messages += PyLong_AsLong(TOLD(ENDS_SENT));
    run->moved += PyLong_AsLong(TOLD(ENDS_BYTES));
    return 1;
}

int finish_exchange(Run *run, Step *step) {
    PyObject *told = step->geometry, *buffers = TOLD(ENDS_BUFFERS), *moved = TOLD(ENDS_MOVED), *marked = TOLD(ENDS_MARKED), *done = Py_False;
    uint64_t hash;
    for (long tries = PyLong_AsLong(TOLD(ENDS_TRIES)); tries && done == Py_False; tries--) {
        if ((done = PyObject_CallOneArg(TOLD(ENDS_CALL), TOLD(ENDS_HANDLES))) == NULL) {
            Raised raised = taken_exception();
            if (call(TOLD(ENDS_FAILED), raised.error) == 0) raise_again(raised);
            else drop_raised(&raised);
            return -1;
        }
        Py_DECREF(done);
    }
    if (done == Py_False) return 0;
    count_traffic(TOLD(ENDS_TRAFFIC), TOLD(ENDS_COUNTED));
    if (PyObject_SetAttr(buffers, interned.under_way, Py_False) < 0 || hash_of(run->fit->log, &hash) < 0) return -1;
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(marked); k++)
        if (*(uint64_t *)PyArray_DATA((PyArrayObject *)PyTuple_GET_ITEM(marked, k)) != hash) return call(TOLD(ENDS_VERIFY), NULL) < 0 ? -1 : 1;
    for (int k = 0; k < PyTuple_GET_SIZE(moved); k++) {
        PyObject *pair = PyTuple_GET_ITEM(moved, k);
        if (PyObject_SetItem(array_in(run, step->registers[k]), PyTuple_GET_ITEM(pair, 0), PyTuple_GET_ITEM(pair, 1)) < 0) return -1;
    }
    return 1;
}

/* ---- sums */

/* The sum of a number of each rank, in the order of exchange.trees.in_pairs. */
static double sum_of(PyArrayObject *found) {
    double parts[MOST_RANKS];
    int n = (int)PyArray_DIM(found, 0);
    for (int k = 0; k < n; k++) parts[k] = *(double *)PyArray_GETPTR1(found, k);
    for (; n > 1; n = (n + 1) / 2) {
        for (int k = 0; k < n / 2; k++) parts[k] = parts[2 * k] + parts[2 * k + 1];
        if (n % 2) parts[n / 2] = parts[n - 1];
    }
    return parts[0];
}

int add_across(Run *run, Step *step) {
    PyObject *told = step->geometry, *log = run->fit->log, *rows = TOLD(SUM_ROWS), *active = attribute(rows, interned.active), *noted = attribute(log, interned.noted);
    PyArrayObject *marks = (PyArrayObject *)TOLD(SUM_MARKS);
    uint64_t hash;
    if (active == NULL || noted == NULL || hash_of(log, &hash) < 0) return -1;
    if (active != Py_False || PyDict_GET_SIZE(noted) || PyArray_DIM(marks, 0) > MOST_RANKS) return 0;
    if (run->state != NULL && PyList_GET_SIZE(field(run->state, STATE_FLAGS))) return 0;
    *(uint64_t *)PyArray_DATA((PyArrayObject *)TOLD(SUM_MARK)) = hash;
    for (int k = 0; k < step->count; k++)
        *(double *)PyArray_DATA((PyArrayObject *)PyTuple_GET_ITEM(TOLD(SUM_GIVEN), k)) = *(double *)PyArray_DATA((PyArrayObject *)array_in(run, step->registers[k]));
    PyObject *done = PyObject_CallNoArgs(TOLD(SUM_START));
    for (long tries = PyLong_AsLong(TOLD(SUM_TRIES)); done != NULL && done != Py_True && tries; tries--) {
        Py_DECREF(done);
        done = PyObject_CallNoArgs(TOLD(SUM_TEST));
    }
    Py_XDECREF(done);
    if (done == NULL) return -1;
    count_traffic(TOLD(SUM_TRAFFIC), TOLD(SUM_COUNTED));
    if (done != Py_True && call(TOLD(SUM_WAIT), TOLD(SUM_WHAT)) < 0) return -1;
    if (PyObject_SetAttr(log, interned.unasked, Py_False) < 0) return -1;
    for (npy_intp k = 0; k < PyArray_DIM(marks, 0); k++) {
        if (*(uint64_t *)PyArray_GETPTR1(marks, k) == hash) continue;
        if (call(TOLD(SUM_HEAR), NULL) < 0) return -1;
        break;
    }
    for (int k = 0; k < step->count; k++) {
        double total = sum_of((PyArrayObject *)PyTuple_GET_ITEM(TOLD(SUM_FOUND), k));
        if (total - total != 0) {  /* NumPy says what overflowed, or is no number */
            PyObject *state = run_state(run, step->step);
            return state == NULL || call(TOLD(SUM_JOIN), state) < 0 ? -1 : 1;
        }
        *(double *)PyArray_DATA((PyArrayObject *)array_in(run, step->registers[k])) = total;
    }
    return 1;
}
