/* Guards of plans: programs of integers, which say whether the planner would decide for other numbers as it did before, and come to
 * the numbers that follow. Their form is described in layout/symbolic.py, which runs them without C.
 */
#include "guards.h"
#include "memory.h"

enum { ADD, SUBTRACT, MULTIPLY, DIVIDE, REMAINDER, LEAST, GREATEST, EQUAL, LESS, LESS_EQUAL, CALL, END = -1 };
enum { LIST = -1, TUPLE = -2, SLICE = -3, MOST_LEADERS = 64 };

/* The result of a function of numbers and objects, by a line from behind its code on; -1 with an error. */
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
        case LEAST: numbers[place] = a < b ? a : b; break;
        case GREATEST: numbers[place] = a < b ? b : a; break;
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

/* ---- programs that are bound to other numbers */

static const number_t *numbers_in(PyObject *array) {
    Py_buffer view;
    if (PyObject_GetBuffer(array, &view, PyBUF_SIMPLE) < 0) return NULL;
    const number_t *numbers = view.buf;
    PyBuffer_Release(&view);       /* nothing changes or moves it */
    return numbers;
}

int read_motion(Motion *motion, PyObject *told) {
    PyObject *guard, *words;
    if (told == Py_None) return 0;
    if (!PyArg_ParseTuple(told, "OO!OOO!O!O", &guard, &PyTuple_Type, &motion->things, &words, &motion->again, &PyTuple_Type, &motion->leaves,
                          &PyTuple_Type, &motion->forms, &motion->together))
        return -1;
    if ((motion->guard = numbers_in(guard)) == NULL || (motion->words = numbers_in(words)) == NULL) return -1;
    motion->told = Py_NewRef(told);
    return 0;
}

void drop_motion(Motion *motion) { Py_CLEAR(motion->told); }

/* The word after the pairs; NULL unless the same pairs of geometries are equal as in the planned trace, and the geometries that stay are unchanged. */
static const number_t *are_alike(const number_t *word, PyObject *const *geometries, int count) {
    PyObject *leaders[MOST_LEADERS];
    int found = 0;
    if (*word++ != count) return NULL;
    for (int k = 0; k < count; k++, word++) {
        if (*word != k) {
            if (geometries[*word] != geometries[k]) return NULL;
            continue;
        }
        for (int n = 0; n < found; n++)
            if (leaders[n] == geometries[k]) return NULL;
        if (found == MOST_LEADERS) return NULL;
        leaders[found++] = geometries[k];
    }
    for (number_t left = *word++; left > 0; left--, word += 2)
        if (PyLong_AsLongLong(GEOMETRY(geometries[word[0]])->number) != word[1]) return NULL;
    return word;
}

/* The word after the places; NULL unless the same pairs of places are equal as in the planned trace, and each has the form of the planned one;
 * perhaps with an error. */
static const number_t *have_forms(const number_t *word, PyObject *forms, PyObject *places) {
    PyObject *leaders[MOST_LEADERS];
    int found = 0;
    for (int k = 0; k < PyTuple_GET_SIZE(forms); k++, word++) {
        PyObject *place = PyList_GET_ITEM(places, k), *form;
        if (*word != k) {
            if (PyList_GET_ITEM(places, *word) != place) return NULL;
            continue;
        }
        for (int n = 0; n < found; n++)
            if (leaders[n] == place) return NULL;
        if (found == MOST_LEADERS) return NULL;
        leaders[found++] = place;
        form = place == Py_None ? Py_NewRef(Py_None) : PyObject_GetAttr(place, interned.form);
        Py_XDECREF(form);          /* the place has it */
        if (form != PyTuple_GET_ITEM(forms, k)) return NULL;
    }
    return word;
}

/* The places that the guard is given, and the things of the plan behind them; a new reference. */
static PyObject *given_things(const number_t **words, PyObject *places, PyObject *things) {
    Py_ssize_t leads = (Py_ssize_t)*(*words)++, more = PyTuple_GET_SIZE(things);
    if (!leads) return Py_NewRef(things);
    PyObject *all = PyTuple_New(leads + more);
    for (Py_ssize_t k = 0; k < leads; k++, (*words)++)
        if (all != NULL) PyTuple_SET_ITEM(all, k, Py_NewRef(PyList_GET_ITEM(places, **words)));
    for (Py_ssize_t k = 0; all != NULL && k < more; k++) PyTuple_SET_ITEM(all, leads + k, Py_NewRef(PyTuple_GET_ITEM(things, k)));
    return all;
}

/* The integers of the geometries that the guard is given; the words behind, NULL where they are none of the machine's. */
static const number_t *given_numbers(const number_t *word, PyObject *const *geometries, number_t *numbers) {
    Selection where;
    for (number_t left = *word++; left > 0; left--, word++) {
        if (!lies(geometries[*word], &where)) return NULL;
        for (int k = 0; k < where.axes; k++) *numbers++ = where.shape[k];
        for (int k = 0; k < where.axes; k++) *numbers++ = where.strides[k];
        *numbers++ = where.offset;
    }
    return word;
}

/* The word after the bounds; NULL unless the fixed results are unchanged, and the others lie on the same side of their bounds. */
static const number_t *are_allowed(const number_t *word, const number_t *numbers) {
    for (number_t left = *word++; left > 0; left--, word += 2)
        if (numbers[word[0]] != word[1]) return NULL;
    for (number_t left = *word++; left > 0; left--, word += 3)
        if ((numbers[word[0]] >= word[1]) != word[2]) return NULL;
    return word;
}

/* Let Python bind what ranks do together, from the results of the guard: 1 or 0, -1 with an error. */
static int bound_together(const Motion *motion, const Sampled *given, const number_t *form, const number_t *numbers, PyObject **bound, long *mark) {
    PyObject *results = filled(&form, numbers), *geometries = results == NULL ? NULL : PyList_New(given->count);
    for (int k = 0; geometries != NULL && k < given->count; k++) PyList_SET_ITEM(geometries, k, Py_NewRef(given->geometries[k]));
    *mark = 0;                     /* an error may come before it is bound to these */
    if (geometries != NULL) *bound = PyObject_CallFunctionObjArgs(motion->together, results, geometries, given->places, given->order, NULL);
    Py_XDECREF(results);
    Py_XDECREF(geometries);
    if (*bound == Py_None) Py_CLEAR(*bound);
    return *bound != NULL ? 1 : PyErr_Occurred() ? -1 : 0;
}

int moved(const Motion *motion, const Sampled *given, const number_t **steps, PyObject **bound, long *mark) {
    const number_t *guard = motion->guard, *word = have_forms(motion->words, motion->forms, given->places);
    PyObject *const *geometries = given->geometries, *things = word == NULL ? NULL : given_things(&word, given->places, motion->things);
    number_t places = *guard++, *numbers = things == NULL ? NULL : PyMem_Malloc(places * sizeof *numbers);
    if (things != NULL && numbers == NULL) PyErr_NoMemory();
    int status = PyErr_Occurred() ? -1 : word != NULL;
    if (status > 0) status = (word = are_alike(word, geometries, given->count)) != NULL;
    if (status > 0) status = (word = given_numbers(word, geometries, numbers)) != NULL;
    for (number_t constants = *guard++; status > 0 && constants > 0; constants--, guard += 2) numbers[guard[0]] = guard[1];
    if (status > 0) status = holds(&guard, things, numbers);
    if (status > 0) status = (word = are_allowed(word, numbers)) != NULL;
    if (status > 0 && motion->together != Py_None) status = bound_together(motion, given, guard, numbers, bound, mark);
    Py_XDECREF(things);
    if (status > 0) {
        for (number_t left = *word++; left > 0; left--, word += 2) *(number_t *)(intptr_t)word[0] = numbers[word[1]];
        *steps = word;
    }
    PyMem_Free(numbers);
    return status;
}

PyMethodDef guard_methods[] = {
    {"guarded", guarded, METH_VARARGS, "The results of a guard for the numbers and things of a trace, or None where a check fails."},
    {NULL}};
