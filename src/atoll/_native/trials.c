/* The turns of loops, counted while their operations are recorded and while NumPy computes them.
 *
 * A call site of the program, the anchor, counts the turns of its loop: where operations are recorded, by the evaluations of traces
 * that contain it; where NumPy computes them, by the calls at it. Which way is quicker Python decides (lazy/trials.py).
 */
#include "trials.h"

enum { STRAYS = 4, MISSES = 64 };

static PyMemberDef loop_members[] = {
    {"left", T_PYSSIZET, offsetof(Loop, left), 0, "visits of the anchor until Python is asked"},
    {"work", T_DOUBLE, offsetof(Loop, work), 0, "elements of its visits so far"},
    {"anchor", T_OBJECT, offsetof(Loop, anchor), 0, "the call site that counts the turns"},
    {NULL}};

int eager_loops = 0;

static PyObject *get_eager(PyObject *self, void *unused) { return PyLong_FromLong(((Loop *)self)->eager); }

static int set_eager(PyObject *self, PyObject *value, void *unused) {
    int eager = value == NULL ? 0 : PyObject_IsTrue(value);
    if (eager < 0) return -1;
    eager_loops += eager - ((Loop *)self)->eager;
    ((Loop *)self)->eager = eager;
    return 0;
}

static PyGetSetDef loop_getset[] = {{"eager", get_eager, set_eager, "whether NumPy computes", NULL}, {NULL}};

static int traverse_loop(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((Loop *)self)->anchor);
    return 0;
}

static int clear_loop(PyObject *self) {
    Py_CLEAR(((Loop *)self)->anchor);
    return 0;
}

static void end_of_loop(PyObject *self) {
    PyObject_GC_UnTrack(self);
    eager_loops -= ((Loop *)self)->eager;
    clear_loop(self);
    free_object(self);
}

static PyType_Slot loop_slots[] = {
    {Py_tp_new, PyType_GenericNew}, {Py_tp_traverse, traverse_loop}, {Py_tp_clear, clear_loop}, {Py_tp_dealloc, end_of_loop},
    {Py_tp_members, loop_members}, {Py_tp_getset, loop_getset}, {Py_tp_doc, "Call sites whose operations are evaluated together."}, {0}};
PyType_Spec loop_spec = {"atoll._front.Loop", sizeof(Loop), 0, CLASS_FLAGS | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, loop_slots};
PyTypeObject *loop_type;

static PyMemberDef trace_members[] = {
    {"loop", T_OBJECT, offsetof(Traced, loop), 0, "the loop that such traces belong to"},
    {"anchor", T_OBJECT, offsetof(Traced, anchor), 0, "the loop's anchor when its visits were counted"},
    {"visits", T_PYSSIZET, offsetof(Traced, visits), 0, "how often the anchor is visited in such a trace"},
    {"work", T_DOUBLE, offsetof(Traced, work), 0, "the elements of these visits"},
    {NULL}};

static int traverse_traced(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((Traced *)self)->loop);
    Py_VISIT(((Traced *)self)->anchor);
    return 0;
}

static int clear_traced(PyObject *self) {
    Py_CLEAR(((Traced *)self)->loop);
    Py_CLEAR(((Traced *)self)->anchor);
    return 0;
}

static void end_of_traced(PyObject *self) {
    PyObject_GC_UnTrack(self);
    clear_traced(self);
    free_object(self);
}

static PyType_Slot traced_slots[] = {
    {Py_tp_new, PyType_GenericNew}, {Py_tp_traverse, traverse_traced}, {Py_tp_clear, clear_traced}, {Py_tp_dealloc, end_of_traced},
    {Py_tp_members, trace_members}, {Py_tp_doc, "A kind of trace whose evaluations are counted."}, {0}};
PyType_Spec traced_spec = {"atoll._front.Traced", sizeof(Traced), 0, CLASS_FLAGS | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, traced_slots};
PyTypeObject *traced_type;

/* Ask Python, which decides without errors of its own. */
static void ask(PyObject *function, PyObject *object) {
    Py_INCREF(object);
    PyObject *done = PyObject_CallOneArg(function, object);
    if (done == NULL) postpone_error();
    Py_XDECREF(done);
    Py_DECREF(object);
}

static void count(Loop *loop, Py_ssize_t visits, double work) {
    loop->misses = 0;
    loop->work += work;
    if ((loop->left -= visits) <= 0) ask(python.turned, (PyObject *)loop);
}

int computed_by_numpy(Loop *loop, PyObject *site, Py_ssize_t size) {
    if (loop->eager && site == loop->anchor) {
        loop->strays = 0;
        Py_INCREF(loop);
        count(loop, 1, (double)size);
        int eager = loop->eager;
        Py_DECREF(loop);
        return eager;
    }
    return loop->eager;
}

void was_evaluated(PyObject *object) {
    Traced *traced = (Traced *)object;
    Loop *loop = (Loop *)traced->loop;
    if (loop == NULL || !PyObject_TypeCheck(loop, loop_type)) return;
    if (traced->anchor == NULL || traced->anchor != loop->anchor) ask(python.anchored, object);
    if (traced->loop != (PyObject *)loop || traced->anchor != loop->anchor) return;
    if (!traced->visits) {
        if (++loop->misses % MISSES == 0) ask(python.lost, (PyObject *)loop);
    } else if (!loop->eager) {
        count(loop, traced->visits, traced->work);
    } else if (++loop->strays % STRAYS == 0) {
        ask(python.unheard, (PyObject *)loop);
    }
}

static PyObject *evaluated(PyObject *module, PyObject *traced) {
    if (PyObject_TypeCheck(traced, traced_type)) was_evaluated(traced);
    Py_RETURN_NONE;
}

PyMethodDef trial_methods[] = {
    {"evaluated", evaluated, METH_O, "Note that a trace was evaluated."},
    {NULL}};
