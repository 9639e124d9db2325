/* The loops of ufuncs. */
#ifndef ATOLL_LOOPS_H
#define ATOLL_LOOPS_H
#include "table.h"

enum { KINDS = 6 };                /* the types whose loops are called */
typedef struct {
    PyUFuncGenericFunction call[KINDS];
    void *data[KINDS];
    int type[KINDS], operands;     /* of the result; how many there are */
    const char *name;              /* of the ufunc, in warnings */
    int is_product;                /* of matrices */
    int is_settled;                /* every bit follows from the operands, wherever they lie: python.settled_ufuncs, but for complex numbers */
} Loops;
extern Py_ssize_t limit;           /* results with fewer elements stay with NumPy, whatever the settings are */
extern Py_ssize_t shortest;        /* elements up to which a view is short, and a result serves the next one */
extern Py_ssize_t exact, row;      /* elements that NumPy folds at once; of a row for that */

/* Note which loops a ufunc has. */
void look_up(Loops *to, PyObject *ufunc);

/* The result of the loop as a new array; NULL without an error where NumPy is called. Whether the first has taken the result, which it has
 * with an error, too, where flags raise one. */
PyObject *by_loop(const Loops *of, PyObject *x, PyObject *y);
int by_loop_into(const Loops *of, PyArrayObject *into, PyObject *y);

/* The same array, but NULL where a flag was raised, which is not told. */
PyObject *unflagged(const Loops *of, PyObject *x, PyObject *y);

/* Copy elements of a size along some axes; those of a number have no steps. */
void copy_axes(char *to, char *from, int axes, const npy_intp *shape, const npy_intp *to_steps, const npy_intp *from_steps, npy_intp size);

/* The result of np.roll for an array and these arguments; NULL without an error where NumPy has to do it. */
PyObject *rolled(PyObject *const *given, Py_ssize_t count, PyObject *keywords);

/* Let a short result, which nobody else has and whose elements lie in order, be the next one of its shape; steals the reference. */
void keep_result(PyArrayObject *array);

/* True if a number was written as an element of this type, without any conversion but of whole numbers that floating point has. */
int number_in(PyObject *number, int type, char *to);

#endif
