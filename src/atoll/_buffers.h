/* The buffer protocol of arrays: included by _front.c.
 *
 * Python decides what memory a consumer gets (lazy/showing.py), and answers with a memoryview of it. The array exports that
 * memoryview again under its own name, so `memoryview(a).obj` is `a`, as in NumPy. The memoryview is released with the export:
 * until then the memory stays where it is.
 */

static int get_buffer(PyObject *self, Py_buffer *view, int flags) {
    Py_buffer *inner = PyMem_Malloc(sizeof *inner);
    PyObject *number = PyLong_FromLong(flags);
    PyObject *memory = inner == NULL || number == NULL ? NULL : call_two(general[BUFFER], self, number);
    Py_XDECREF(number);
    view->obj = NULL;
    if (memory == NULL || PyObject_GetBuffer(memory, inner, flags) < 0) {
        if (inner == NULL) PyErr_NoMemory();
        Py_XDECREF(memory);
        PyMem_Free(inner);
        return -1;
    }
    Py_DECREF(memory);
    *view = *inner;
    view->obj = Py_NewRef(self);
    view->internal = inner;
    return 0;
}

static void release_buffer(PyObject *self, Py_buffer *view) {
    PyBuffer_Release(view->internal);
    PyMem_Free(view->internal);
}

static PyBufferProcs buffers = {.bf_getbuffer = get_buffer, .bf_releasebuffer = release_buffer};
