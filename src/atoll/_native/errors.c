/* Exceptions from outside, which a signal handler raises at whatever line Python is at.
 *
 * Where C code goes on after an error of a Python function of atoll's, or NumPy does, an exception from outside waits here, and the
 * interpreter raises it soon after. For the same reason callbacks of weak references are no Python functions: Python prints what these
 * raise, and goes on. A Notice leaves the reference in a queue, and the interpreter does the work soon after.
 */
#include "errors.h"

static PyObject *waiting = NULL;

static int raise_waiting(void *nothing) {
    PyObject *error = PyList_GET_SIZE(waiting) ? Py_NewRef(PyList_GET_ITEM(waiting, 0)) : NULL;
    if (error == NULL || PyList_SetSlice(waiting, 0, 1, NULL) < 0) return Py_XDECREF(error), 0;
    if (PyList_GET_SIZE(waiting)) Py_AddPendingCall(raise_waiting, NULL);
    PyErr_Restore(Py_NewRef((PyObject *)Py_TYPE(error)), error, PyException_GetTraceback(error));
    return -1;
}

static int is_main_thread(void) {
    PyObject *ident = python.main_thread == NULL ? NULL : PyObject_GetAttrString(python.main_thread, "ident");
    int is_main = ident == NULL || PyLong_AsUnsignedLong(ident) == PyThread_get_thread_ident();
    Py_XDECREF(ident);
    PyErr_Clear();
    return is_main;
}

void postpone_error(void) {
    if (!PyErr_Occurred()) return;
    Raised raised = taken_exception();
    if (!is_main_thread()) {
        PyThreadState_SetAsyncExc(PyThread_get_thread_ident(), raised.type);
    } else if (PyList_Append(waiting, raised.error) < 0) {
        raise_again(raised);
        PyErr_WriteUnraisable(NULL);
        return;
    } else {
        Py_AddPendingCall(raise_waiting, NULL);  /* if too many calls are due, the next exception that waits raises this one */
    }
    drop_raised(&raised);
}

int is_from_outside(void) {
    if (!PyErr_Occurred()) return 0;
    if (!PyErr_ExceptionMatches(PyExc_Exception)) return 1;
    Raised raised = taken_exception();
    int is = 0;
    if (raised.trace != NULL && python.outside != NULL) {  /* else no Python function has failed */
        PyObject *answer = PyObject_CallOneArg(python.outside, raised.error);
        is = answer != Py_None;
        if (answer == NULL) postpone_error();
        Py_XDECREF(answer);
    }
    raise_again(raised);
    return is;
}

void drop_error(void) {
    if (is_from_outside()) postpone_error();
    else PyErr_Clear();
}

void leave_with_error(void) {
    PyObject *caller = (PyObject *)PyEval_GetFrame();
    Raised raised = taken_exception();
    if (raised.trace != NULL && python.shorten != NULL) {  /* else no frame of Python's has failed */
        if (status_of(PyObject_CallFunctionObjArgs(python.shorten, raised.error, caller == NULL ? Py_None : caller, NULL)) < 0) drop_error();
        else Py_SETREF(raised.trace, PyException_GetTraceback(raised.error));
    }
    raise_again(raised);
}

int install_errors(void) { return (waiting = PyList_New(0)) == NULL ? -1 : 0; }

/* ---- notices */

typedef struct {
    PyObject_HEAD
    PyObject *append, *work;
    vectorcallfunc call;
    int often, count, is_due;
} Notice;

static int do_work(void *given) {
    Notice *notice = given;
    notice->is_due = notice->count = 0;
    int status = status_of(PyObject_CallNoArgs(notice->work));
    Py_DECREF(notice);
    return status;
}

static PyObject *notice_end(PyObject *self, PyObject *const *args, size_t count, PyObject *keywords) {
    Notice *notice = (Notice *)self;
    PyObject *done = PyObject_Vectorcall(notice->append, args, count, keywords);
    if (done != NULL && ++notice->count >= notice->often && !notice->is_due) {
        notice->is_due = 1;
        if (Py_AddPendingCall(do_work, Py_NewRef(self)) < 0) {  /* too many calls are due: the next end asks again */
            notice->is_due = 0;
            Py_DECREF(self);
        }
    }
    return done;
}

static PyObject *new_notice(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    PyObject *append, *work;
    int often = 1;
    if (!PyArg_ParseTuple(args, "OO|i", &append, &work, &often)) return NULL;
    Notice *notice = (Notice *)type->tp_alloc(type, 0);
    if (notice == NULL) return NULL;
    notice->append = Py_NewRef(append);
    notice->work = Py_NewRef(work);
    notice->call = notice_end;
    notice->often = often;
    return (PyObject *)notice;
}

static void end_of_notice(PyObject *self) {
    Py_XDECREF(((Notice *)self)->append);
    Py_XDECREF(((Notice *)self)->work);
    free_object(self);
}

static PyMemberDef notice_members[] = {{"__vectorcalloffset__", T_PYSSIZET, offsetof(Notice, call), READONLY}, {NULL}};
static PyType_Slot notice_slots[] = {
    {Py_tp_new, new_notice}, {Py_tp_dealloc, end_of_notice}, {Py_tp_call, PyVectorcall_Call}, {Py_tp_members, notice_members},
    {Py_tp_doc, "Notice(append, work, often=1): append each ended object, and have the work done after `often` ends."}, {0}};
PyType_Spec notice_spec = {"atoll._front.Notice", sizeof(Notice), 0, CLASS_FLAGS | Py_TPFLAGS_HAVE_VECTORCALL, notice_slots};
