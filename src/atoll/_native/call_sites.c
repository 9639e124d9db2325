/* Call sites: those met lately are kept, and the numbers by which context.call_sites knows them. */
#include "call_sites.h"

enum { SITES = 1 << 10 };
static struct {
    PyObject *site, *number;       /* a code object with an instruction, and the number once it was used */
    int instruction;
} sites[SITES];

static inline size_t place_of_site(void *code, int instruction) { return ((size_t)code / 16 * 31 + instruction / 2) & (SITES - 1); }

/* The call site at a place, borrowed, if it is this one; else NULL. */
static inline PyObject *site_in(size_t place, PyCodeObject *code, int instruction) {
    PyObject *site = sites[place].site;
    return site != NULL && sites[place].instruction == instruction && PyTuple_GET_ITEM(site, 0) == (PyObject *)code ? site : NULL;
}

/* The frame of the user's program that a frame of an installed package was called from; a new reference, NULL where there is none, or
 * Python has to say whose a file is. */
static PyFrameObject *users_frame(PyFrameObject *frame) {
    for (frame = PyFrame_GetBack(frame); frame != NULL;) {
        PyCodeObject *code = PyFrame_GetCode(frame);
        PyObject *origin = PyDict_GetItem(python.origins, code->co_filename);
        Py_DECREF(code);
        if (origin == Py_False) return frame;
        PyFrameObject *back = origin == NULL ? NULL : PyFrame_GetBack(frame);
        Py_SETREF(frame, back);
    }
    return NULL;
}

/* True if a call site in a package has this line of the user's program with it. */
static int is_called_from(PyObject *site, PyObject *code, int instruction) {
    if (PyTuple_GET_SIZE(site) != 3) return 0;
    PyObject *line = PyTuple_GET_ITEM(site, 2);
    return PyTuple_GET_ITEM(line, 0) == code && PyLong_AsLong(PyTuple_GET_ITEM(line, 1)) == instruction;
}

/* The line that a frame is at, which is no frame of atoll's, where Python does not have to say it; NULL with an error. Steals the reference to the code. */
static PyObject *site_at(PyFrameObject *frame, PyCodeObject *code, PyObject *origin) {
    PyCodeObject *user_code = NULL;
    int instruction = PyFrame_GetLasti(frame), of_user = 0;
    if (origin != Py_False) {
        PyFrameObject *user = origin == NULL ? NULL : users_frame(frame);
        if (user == NULL) {
            Py_DECREF(code);
            return PyObject_CallOneArg(python.site_from, (PyObject *)frame);
        }
        user_code = PyFrame_GetCode(user);
        of_user = PyFrame_GetLasti(user);
        Py_DECREF(user);
    }
    size_t place = place_of_site(code, instruction);
    PyObject *site = site_in(place, code, instruction);
    if (site != NULL && (user_code == NULL || is_called_from(site, (PyObject *)user_code, of_user))) {
        Py_DECREF(code);
        Py_XDECREF(user_code);
        return Py_NewRef(site);
    }
    site = user_code == NULL ? Py_BuildValue("Ni", code, instruction) : Py_BuildValue("Ni(Ni)", code, instruction, user_code, of_user);
    if (site == NULL) return NULL;
    Py_CLEAR(sites[place].number);
    sites[place].instruction = instruction;
    Py_XSETREF(sites[place].site, Py_NewRef(site));
    return site;
}

PyObject *site_here(void) {
    static PyCodeObject *latest = NULL;  /* which is the user's */
    PyFrameObject *frame = PyEval_GetFrame();
    PyCodeObject *current = frame == NULL ? NULL : PyFrame_GetCode(frame);
    Py_XDECREF(current);           /* the frame has it */
    if (current != NULL && current == latest) {
        int instruction = PyFrame_GetLasti(frame);
        PyObject *site = site_in(place_of_site(current, instruction), current, instruction);
        if (site != NULL) return Py_NewRef(site);
    }
    Py_XINCREF(frame);
    while (frame != NULL && python.origins != NULL) {
        PyCodeObject *code = PyFrame_GetCode(frame);
        PyObject *origin = code == latest ? Py_False : PyDict_GetItem(python.origins, code->co_filename);
        if (origin != Py_True) {
            if (code != latest && origin == Py_False) Py_XSETREF(latest, (PyCodeObject *)Py_NewRef((PyObject *)code));
            PyObject *site = site_at(frame, code, origin);
            Py_DECREF(frame);
            return site;
        }
        Py_DECREF(code);
        Py_SETREF(frame, PyFrame_GetBack(frame));
    }
    Py_XDECREF(frame);
    Py_RETURN_NONE;
}

static PyObject *site(PyObject *module, PyObject *nothing) { return site_here(); }

PyMethodDef call_site_methods[] = {
    {"site", site, METH_NOARGS, "The first line outside atoll, with the user's line where that is in a package."},
    {NULL}};

static PyObject *computed_number(PyObject *site) {
    PyObject *address = PyLong_FromVoidPtr(PyTuple_GET_ITEM(site, 0));
    PyObject *known = address == NULL ? NULL : PyDict_GetItem(python.numbered, address);
    Py_XDECREF(address);
    if (known == NULL || PyTuple_GET_ITEM(known, 0) != PyTuple_GET_ITEM(site, 0)) return NULL;
    PyObject *place = PyTuple_GET_ITEM(site, 1);
    int later = PySet_Contains(PyTuple_GET_ITEM(known, 2), place);
    PyObject *moved = later > 0 ? PyLong_FromLong(PyLong_AsLong(place) + 4) : Py_NewRef(place);
    PyObject *number = moved == NULL ? NULL : PyNumber_Add(PyTuple_GET_ITEM(known, 1), moved);
    Py_XDECREF(moved);
    return number;
}

PyObject *number_of(PyObject *site) {
    if (site == Py_None) return NULL;
    size_t place = place_of_site(PyTuple_GET_ITEM(site, 0), (int)PyLong_AsLong(PyTuple_GET_ITEM(site, 1)));
    if (sites[place].site != site) return computed_number(site);
    if (sites[place].number == NULL) sites[place].number = computed_number(site);
    return Py_XNewRef(sites[place].number);
}
