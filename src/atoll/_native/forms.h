/* Hash tables of the native recorder: the forms of nodes by the geometries of their operands, views by base and numbers, plans by trace. */
#ifndef ATOLL_FORMS_H
#define ATOLL_FORMS_H
#include "objects.h"

enum { KEY = 14 };
typedef struct {
    size_t part[KEY];
    int count;
    Py_ssize_t next;               /* the entry that was looked for after this one */
    PyObject *parts, *form, *convert;  /* what keeps the parts alive; the form of a node, or what else is found; what converts its numbers, or None */
} Met;

typedef struct {
    PyObject_HEAD
    Met *met;
    Py_ssize_t room, used, latest; /* room is a power of two */
} Forms;

/* A part of a key: an integer, or an object by its address. */
static inline size_t part_of_object(PyObject *object) { return PyLong_CheckExact(object) ? (size_t)PyLong_AsLong(object) << 1 | 1 : (size_t)object; }

/* A hash with one number more. */
static inline size_t mixed(size_t hash, size_t more) { return (hash ^ more) * 0x9E3779B97F4A7C15u; }

/* Compare words one by one. (`memcmp` reads several at once, and waits for the stores of single words before it.) */
int are_same(const void *words, const void *others, int count);

/* The entry of a key, borrowed; NULL if the table has none. */
Met *met_in(Forms *forms, const size_t *part, int count);

/* Add the form of a key, and steal it and the objects whose addresses are in the key; the entry, NULL with an error. */
Met *keep_form(Forms *forms, const size_t *part, int count, PyObject *parts, PyObject *form, PyObject *convert);

/* A table that only C reads. It is NULL before its first entry, and forgets all entries when it has `entries`. `found_in` returns the object
 * of a key, borrowed. `keep_in` adds one, and steals `parts`, the objects whose addresses are in the key; -1 with an error. */
static inline PyObject *found_in(Forms *forms, const size_t *part, int count) {
    Met *met = forms == NULL ? NULL : met_in(forms, part, count);
    return met == NULL ? NULL : met->form;
}
extern Py_ssize_t entries;
int keep_in(Forms **forms, const size_t *part, int count, PyObject *parts, PyObject *found);

extern PyType_Spec forms_spec;
extern PyTypeObject *forms_type;

#endif
