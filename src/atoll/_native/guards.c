/* Guards of plans: programs of integers, which say whether the planner would decide for other numbers as it did before, and come to
 * the numbers that follow. Their form is described in layout/symbolic.py, which runs them without C.
 */
#include "guards.h"

typedef long long number_t;
enum { ADD, SUBTRACT, MULTIPLY, DIVIDE, REMAINDER, EQUAL, LESS, LESS_EQUAL, CALL, END = -1 };
enum { LIST = -1, TUPLE = -2, SLICE = -3 };

/* What a function makes of numbers and things, by a line from behind its code on; -1 with an error. */
static int call(const number_t *word, PyObject *things, number_t *numbers) {
    Py_ssize_t count = (Py_ssize_t)word[2], made = 0;
    PyObject *operands[count + 1], *value = NULL;
    for (; made < count; made++) {
        number_t place = word[3 + made];
        operands[made] = place < 0 ? Py_NewRef(PyTuple_GET_ITEM(things, -1 - place)) : PyLong_FromLongLong(numbers[place]);
        if (operands[made] == NULL) break;
    }
    if (made == count) value = PyObject_Vectorcall(PyTuple_GET_ITEM(things, word[0]), operands, count, NULL);
    while (made > 0) Py_DECREF(operands[--made]);
    number_t result = numbers[word[1]] = value == NULL ? -1 : PyLong_AsLongLong(value);
    Py_XDECREF(value);
    return result == -1 && PyErr_Occurred() ? -1 : 0;
}

/* Run the lines from a word on, and find their end: 1 where all checks hold, 0 where one fails or a number cannot be had, -1 with an error. */
static int holds(const number_t **words, PyObject *things, number_t *numbers) {
    const number_t *word = *words;
    for (number_t code; (code = *word++) != END;) {
        if (code == CALL) {
            if (call(word, things, numbers) < 0) return -1;
            word += 3 + word[2];
            continue;
        }
        number_t a = numbers[*word++], b = numbers[*word++], place = *word++;
        int refused = 0;
        switch (code) {
        case ADD: refused = __builtin_add_overflow(a, b, &numbers[place]); break;
        case SUBTRACT: refused = __builtin_sub_overflow(a, b, &numbers[place]); break;
        case MULTIPLY: refused = __builtin_mul_overflow(a, b, &numbers[place]); break;
        case DIVIDE:
        case REMAINDER: {
            if (b == 0 || (b == -1 && a == LLONG_MIN)) return 0;
            int rounds_up = a % b != 0 && (a < 0) != (b < 0);
            numbers[place] = code == DIVIDE ? a / b - rounds_up : a % b + (rounds_up ? b : 0);
            break;
        }
        case EQUAL: refused = (a == b) != place; break;
        case LESS: refused = (a < b) != place; break;
        default: refused = (a <= b) != place;
        }
        if (refused) return 0;
    }
    *words = word;
    return 1;
}

/* The results of a form. */
static PyObject *filled(const number_t **words, const number_t *numbers) {
    number_t kind = *(*words)++;
    if (kind >= 0) return PyLong_FromLongLong(numbers[kind]);
    Py_ssize_t count = (Py_ssize_t)*(*words)++;
    PyObject *parts = kind == LIST ? PyList_New(count) : PyTuple_New(count);
    for (Py_ssize_t k = 0; parts != NULL && k < count; k++) {
        PyObject *part = filled(words, numbers);
        if (part == NULL) Py_CLEAR(parts);
        else if (kind == LIST) PyList_SET_ITEM(parts, k, part);
        else PyTuple_SET_ITEM(parts, k, part);
    }
    if (kind != SLICE || parts == NULL) return parts;
    PyObject *slice = PySlice_New(PyTuple_GET_ITEM(parts, 0), PyTuple_GET_ITEM(parts, 1), PyTuple_GET_ITEM(parts, 2));
    Py_DECREF(parts);
    return slice;
}

/* guarded(words, things, numbers): the results, or None. */
static PyObject *guarded(PyObject *module, PyObject *args) {
    Py_buffer view;
    PyObject *things, *given, *result = NULL;
    if (!PyArg_ParseTuple(args, "y*O!O!", &view, &PyTuple_Type, &things, &PyList_Type, &given)) return NULL;
    const number_t *word = view.buf, places = *word++;
    Py_ssize_t count = PyList_GET_SIZE(given);
    number_t *numbers = PyMem_Malloc(places * sizeof *numbers);
    int status = numbers == NULL ? PyErr_NoMemory(), -1 : 1, overflow = 0;
    if (count > places) status = (PyErr_Format(PyExc_ValueError, "%zd numbers for the %lld places of a guard", count, places), -1);
    for (Py_ssize_t k = 0; status > 0 && k < count; k++) {
        numbers[k] = PyLong_AsLongLongAndOverflow(PyList_GET_ITEM(given, k), &overflow);
        if (overflow || (numbers[k] == -1 && PyErr_Occurred())) status = overflow ? 0 : -1;
    }
    if (status > 0) {
        for (number_t constants = *word++; constants > 0; constants--, word += 2) numbers[word[0]] = word[1];
        status = holds(&word, things, numbers);
    }
    if (status >= 0) result = status ? filled(&word, numbers) : Py_NewRef(Py_None);
    PyMem_Free(numbers);
    PyBuffer_Release(&view);
    return result;
}

PyMethodDef guard_methods[] = {
    {"guarded", guarded, METH_VARARGS, "The results of a guard for the numbers and things of a trace, or None where a check fails."},
    {NULL}};
