/* Operators: their names, their ufuncs, and their functions in Python. */
#ifndef ATOLL_OPERATIONS_H
#define ATOLL_OPERATIONS_H
#include "loops.h"
#include "spans.h"

enum {
    ADD, SUB, MUL, DIV, FLOORDIV, MOD, POW, MATMUL, AND, OR, XOR, LSHIFT, RSHIFT, DIVMOD, BINARY,
    IADD = BINARY, ISUB, IMUL, IDIV, IFLOORDIV, IMOD, IPOW, IAND, IOR, IXOR, ILSHIFT, IRSHIFT,
    NEG, POS, ABS, INVERT, LT, LE, EQ, NE, GT, GE, GETITEM, SETITEM, LEN, UFUNC, BUFFER, SLOTS
};
extern PyObject *operator_names;   /* a list: of the slots, and of the reflected operators behind them */
static inline PyObject *name_of(int slot) { return PyList_GET_ITEM(operator_names, slot); }
extern PyObject *general[SLOTS], *reflected[BINARY];
extern PyObject *known[SLOTS];     /* what the recorder knows of an operator's operands */
extern PyObject *slot_ufuncs[SLOTS + 1]; /* of the operators; the last is the square */
extern Loops loops[SLOTS];         /* of operators */

/* List the names of operators; -1 with an error. */
int list_operators(void);

/* Take the operators that are registered; -1 with an error. */
int install_operations(void);

/* The result of a function of Python's; NotImplemented where it is NULL. */
PyObject *call_two(PyObject *function, PyObject *a, PyObject *b);

/* A call of the program as a profile sees it: the function of the same name with `_now` does the work. */
#define SEEN(NAME, SLOT, PARAMETERS, ARGUMENTS)                                                  \
    static COLD PyObject *NAME##_seen PARAMETERS {                                               \
        int begun = begin_call();                                                                \
        PyObject *result = NAME##_now ARGUMENTS;                                                 \
        end_call(begun, name_of(SLOT));                                                          \
        return result;                                                                           \
    }                                                                                            \
    static PyObject *NAME PARAMETERS { return profiling ? NAME##_seen ARGUMENTS : NAME##_now ARGUMENTS; }

#endif
