/* What was met before: the forms of nodes by their operands, geometries by how they lie, and the like. */
#ifndef ATOLL_FORMS_H
#define ATOLL_FORMS_H
#include "objects.h"

enum { KEY = 12 };
typedef struct {
    size_t part[KEY];
    int count;
    PyObject *parts, *form, *convert;  /* what keeps the parts alive; the form of a node, or what else is found; what converts its numbers, or None */
} Met;

typedef struct {
    PyObject_HEAD
    Met *met;
    Py_ssize_t room, used;         /* room is a power of two */
} Forms;

/* A part of a key: an integer, or an object by its address. */
static inline size_t part_of_object(PyObject *object) { return PyLong_CheckExact(object) ? (size_t)PyLong_AsLong(object) << 1 | 1 : (size_t)object; }

/* What is known of such a key; NULL where nothing is. */
Met *met_in(Forms *forms, const size_t *part, int count);

/* A table of C's own, which forgets everything when it has `most` entries, is NULL until something is kept in it: what it has for a key,
 * borrowed. Keep something, with what keeps the parts of its key alive, whose reference is stolen; -1 with an error. */
static inline PyObject *found_in(Forms *forms, const size_t *part, int count) {
    Met *met = forms == NULL ? NULL : met_in(forms, part, count);
    return met == NULL ? NULL : met->form;
}
int keep_in(Forms **forms, Py_ssize_t most, const size_t *part, int count, PyObject *parts, PyObject *found);

extern PyType_Spec forms_spec;
extern PyTypeObject *forms_type;

#endif
