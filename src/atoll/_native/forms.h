/* The forms of nodes, by what their operands are. */
#ifndef ATOLL_FORMS_H
#define ATOLL_FORMS_H
#include "objects.h"

enum { KEY = 3 };
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

/* What is known of such operands; NULL where nothing is. */
Met *met_in(Forms *forms, const size_t *part, int count);

extern PyType_Spec forms_spec;
extern PyTypeObject *forms_type;

#endif
