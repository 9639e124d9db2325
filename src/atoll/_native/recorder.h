/* Operations on large arrays, recorded. */
#ifndef ATOLL_RECORDER_H
#define ATOLL_RECORDER_H
#include "forms.h"
#include "recipes.h"

enum { ELEMENTWISE, VIEW, COPY, FOLD, DOT, PRODUCTS, RECIPE };  /* how a function is recorded: front.Way has the same numbers */

/* The recorder answers NULL or 0 without an error where Python has to decide, and -1 or NULL with an error. `known` has the forms of nodes
 * by the numbers of geometries and the classes of numbers: see lazy.elementwise.binary. */
PyObject *record_call(PyObject *known, PyObject *const *args, Py_ssize_t count);
PyObject *record_power(PyObject *known, PyObject *const *args);
PyObject *record_function(PyObject *function, int way, PyObject *known, PyObject *python, PyObject *const *args,
                          Py_ssize_t count, PyObject *keywords);

/* An attribute that is a view. */
PyObject *record_attribute(PyObject *getter, PyObject *array);

/* True if `array[key] = value`, a number or a node written through a view (under a mask, if it is not NULL), an operation whose result goes into an array, or `array += other` was recorded. */
int record_store(PyObject *array, PyObject *key, PyObject *value);
int record_number(PyObject *box, PyObject *region, PyObject *value, PyObject *mask);
int record_elements(PyObject *box, PyObject *region, PyObject *node, PyObject *mask);
int record_into(PyObject *known, PyObject *array, PyObject *const *args, Py_ssize_t count);
int record_in_place(PyObject *known, PyObject *array, PyObject *other);

#endif
