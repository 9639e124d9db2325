/* Arrays of medium size: included by _front.c.
 *
 * An array with at least `least` elements, though fewer than those that are large, begins with NumPy. Once a program has spent some time on such
 * arrays its operations are recorded for a while, so that the runtime gets to know its loops, and tries both ways (lazy/trials.py).
 * At call sites that are quicker so, operations on arrays of medium size are recorded from then on. An array that takes part is `tried`: it has a
 * box and a geometry, as a large one, but Python sees it as the small array that it would be otherwise. Only operations are recorded of
 * which kernels and NumPy make the same bits. All others get the memory of what they read.
 */

enum { SAMPLED = 64, EXPLORED = 4096 };  /* operations that are looked at, and recorded, to get to know loops */
static const double REPAID = 10;   /* how much longer than all of that the program is to take */
static double patience;            /* the nanoseconds before the first time; with 0 it never ends */
static PyObject *apply;            /* lazy.elementwise.apply: records a ufunc on operands that were not met before */
static int sampling = 0, sampled, unknown, exploring = 0, explored, in_trials = 0;
static double spent = 0, looked = 0, cost = 0;  /* in all, until the latest look, and on getting to know loops */
static struct timespec explored_from;
static PyThreadState *explorer;
_Thread_local int is_recording_medium = 0;
Py_ssize_t least_recorded(void) { return least; }

/* Whether call sites count: something is explored, tried, or recorded. */
static void look_awake(void) { awake = sampling || exploring || in_trials || tried_arrays; }

static double thread_time(const struct timespec *from) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (now.tv_sec - from->tv_sec) * 1e9 + (now.tv_nsec - from->tv_nsec);
}

static void explore(void) {
    exploring = 1;
    explored = 0;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &explored_from);
}

/* NumPy has made an array of medium size. From time to time the next operations are looked at: a program whose phases change has
 * loops that are not known. */
static void count_medium(Py_ssize_t size) {
    spent += 500 + size / 3.0;
    if (spent < looked + patience / 8 || spent < patience || spent < REPAID * cost) return;
    if ((sampling || exploring) && (explorer == PyThreadState_Get() || spent < looked + patience)) return;  /* a thread may have ended */
    if (!records() || among_ranks() || !in_world_of_process()) return;
    looked = spent;
    explorer = PyThreadState_Get();
    sampled = unknown = exploring = 0;
    if (patience) sampling = 1;
    else explore();
    look_awake();
}

/* Note an operation at a call site that is known, or not. */
static void note_site_of_medium(int is_known) {
    if (exploring) {
        if (++explored < EXPLORED || patience == 0) return;
        cost += thread_time(&explored_from);
        exploring = 0;
    } else if (sampling) {
        unknown += !is_known;
        if (++sampled < SAMPLED) return;
        sampling = 0;
        if (unknown > SAMPLED / 2) explore();
    }
    look_awake();
}

/* ---- arrays that are tried */

static void mark_tried(PyObject *value, int tried) {
    Front *front = (Front *)value;
    tried_arrays += tried - front->tried;
    front->tried = tried;
    look_awake();
}

/* What was recorded with arrays that are tried is tried, too. */
static PyObject *as_tried(PyObject *made) {
    if (made != NULL && Py_TYPE(made) == array_type && ((Front *)made)->np == Py_None && !((Front *)made)->tried) mark_tried(made, 1);
    return made;
}

/* Compute the value of an array that is tried; -1 with an error. */
static int compute_tried(Front *front) {
    PyObject *box = Py_NewRef(front->cell), *value = field(field(box, NODE), VALUE), *done = NULL;
    if (value == Py_None) done = PyObject_CallMethod(box, "settle", NULL);
    int status = value == Py_None && done == NULL ? -1 : 0;
    Py_XDECREF(done);
    Py_DECREF(box);
    return status;
}

/* The memory of an array that is tried, for reading; a new reference; NULL with an error. */
static PyObject *tried_memory(PyObject *self) {
    if (compute_tried((Front *)self) < 0) return NULL;
    PyObject *memory = in_memory(self);
    if (memory == NULL && !PyErr_Occurred()) PyErr_SetString(PyExc_SystemError, "an array that is tried has no memory");
    if (memory != NULL && PyArray_ISWRITEABLE((PyArrayObject *)memory)) {  /* which others may share */
        Py_SETREF(memory, PyArray_View((PyArrayObject *)memory, NULL, NULL));
        if (memory != NULL) PyArray_CLEARFLAGS((PyArrayObject *)memory, NPY_ARRAY_WRITEABLE);
    }
    return memory;
}

/* What Python sees of an array that is tried: its own memory where no view of it lives, else memory that the box shares; NULL with
 * an error. The array is computed. */
static PyObject *small_form(Front *front) {
    PyObject *box = front->cell, *node = field(box, NODE), *value = field(node, VALUE), *memory, *form = NULL;
    PyArrayObject *array = memory_in(value);
    npy_intp shape[NPY_MAXDIMS], strides[NPY_MAXDIMS];
    int is_base = field(front->geometry, IS_BASE) == Py_True, n;
    if (is_base && Py_REFCNT(box) == 1 && !PyObject_IsTrue(field(box, PINS))) {
        int is_sole = Py_REFCNT(node) == 1 && Py_REFCNT(value) == 1 && Py_REFCNT(array) == 1 && PyArray_CHKFLAGS(array, NPY_ARRAY_OWNDATA);
        if (!is_sole) return PyArray_NewCopy(array, NPY_KEEPORDER);
        PyArray_ENABLEFLAGS(array, NPY_ARRAY_WRITEABLE);
        return Py_NewRef((PyObject *)array);
    }
    PyObject *geometry = Py_NewRef(front->geometry);
    if ((memory = PyObject_CallMethod(box, "lend", NULL)) != NULL && is_base) form = Py_NewRef(memory);
    if (memory != NULL && !is_base && (n = integers(field(geometry, SHAPE), shape)) >= 0 && integers(field(geometry, STRIDES), strides) >= 0) {
        Selection where = {.data = PyArray_BYTES((PyArrayObject *)memory), .axes = n};
        memcpy(where.shape, shape, n * sizeof *shape);
        memcpy(where.strides, strides, n * sizeof *strides);
        if (PyLong_AsSsize_t(field(geometry, SIZE))) where.data += PyLong_AsSsize_t(field(geometry, OFFSET));
        int flags = field(geometry, WRITEABLE) == Py_True ? NPY_ARRAY_WRITEABLE : 0;
        form = array_of(&where, (PyArrayObject *)memory, memory, flags);
    }
    Py_DECREF(geometry);
    Py_XDECREF(memory);
    return form;
}

/* Let an array that is tried be the small array that Python sees; -1 with an error. */
static int end_trial(PyObject *self) {
    Front *front = (Front *)self;
    if (compute_tried(front) < 0) return -1;
    PyObject *form = front->tried ? small_form(front) : NULL;
    if (form == NULL) return PyErr_Occurred() ? -1 : 0;  /* another thread was quicker */
    if (!front->tried) {
        Py_DECREF(form);
        return 0;
    }
    mark_tried(self, 0);
    Py_SETREF(front->np, form);
    Py_CLEAR(front->cell);
    Py_CLEAR(front->geometry);
    Py_CLEAR(front->shown);
    Py_CLEAR(front->value);
    return 0;
}

/* Let a small array that alone has its memory be tried; whether it is. */
static int begin_trial(PyObject *self) {
    PyArrayObject *array = (PyArrayObject *)plain(self);
    if (array == NULL) return is_tried(self);
    Py_ssize_t size = PyArray_SIZE(array);
    if (size < least || size >= limit || Py_REFCNT(array) > 1 || PyArray_BASE(array) != NULL || !PyArray_NDIM(array)) return 0;
    if (!PyArray_CHKFLAGS(array, NPY_ARRAY_OWNDATA | NPY_ARRAY_BEHAVED | NPY_ARRAY_C_CONTIGUOUS)) return 0;
    if (*(PyObject **)((char *)array + Py_TYPE(array)->tp_weaklistoffset) != NULL || !box_memory(self)) return 0;  /* it keeps its address */
    mark_tried(self, 1);
    return 1;
}

/* ---- operations */

/* The type of an operand of medium size, or of a small part of one, or NUMBER; else NOTHING. */
static int medium_type(PyObject *value, Py_ssize_t *size) {
    if (Py_TYPE(value) != array_type) return PyFloat_CheckExact(value) || PyLong_CheckExact(value) || PyArray_IsScalar(value, Double) ? NUMBER : NOTHING;
    PyArrayObject *array = (PyArrayObject *)plain(value);
    if (array == NULL && !((Front *)value)->tried) return NOTHING;
    Py_ssize_t own = array != NULL ? PyArray_SIZE(array) : PyLong_AsSsize_t(field(((Front *)value)->geometry, SIZE));
    if (own > *size) *size = own;
    return array != NULL ? PyArray_TYPE(array) : ((PyArray_Descr *)field(((Front *)value)->geometry, DTYPE))->type_num;
}

/* Whether kernels and NumPy make the same bits of such operands: of one type, which for some operations is one of floating point. */
static int is_alike(const Loops *of, PyObject *const *args, const int *types, Py_ssize_t count, int floats) {
    int type = NOTHING;
    if (!of->is_settled) return 0;
    for (Py_ssize_t k = 0; k < count; k++) {
        if (types[k] == NUMBER) continue;
        if (type != NOTHING && types[k] != type) return 0;
        type = types[k];
    }
    int is_whole = PyTypeNum_ISINTEGER(type);
    if (type != NPY_DOUBLE && type != NPY_FLOAT && (floats || !(is_whole || type == NPY_BOOL))) return 0;
    for (Py_ssize_t k = 0; k < count; k++) {
        if (types[k] != NUMBER) continue;
        if (type == NPY_BOOL || (is_whole && !PyLong_CheckExact(args[k])) || (type == NPY_FLOAT && PyArray_IsScalar(args[k], Generic))) return 0;
    }
    return 1;
}

/* Whether an operation on arrays of medium size is recorded at the call site that the program is at. */
static int is_recorded_here(PyObject *operation, int first, int second, Py_ssize_t size) {
    PyFrameObject *frame = PyEval_GetFrame();
    if (frame == NULL || among_ranks() || !in_world_of_process()) return is_recording_medium = 0;
    PyCodeObject *code = PyFrame_GetCode(frame);
    Entry *entry = entry_of((PyObject *)code, PyFrame_GetLasti(frame), operation, first, second, magnitude_of(size));
    Py_DECREF(code);
    int is_known = entry->code != NULL, is_explorer = explorer == PyThreadState_Get();
    is_recording_medium = is_known ? !computed_by_numpy(entry->loop, entry->key, size) : exploring && is_explorer;
    if (is_explorer) note_site_of_medium(is_known);
    return is_recording_medium;
}

/* An operation on arrays of medium size, recorded; NULL without an error where NumPy computes it. */
static PyObject *record_medium(PyObject *ufunc, const Loops *of, PyObject *forms, PyObject *const *args, Py_ssize_t count,
                               int squares, int floats) {
    Py_ssize_t size = 0;
    int types[2] = {NOTHING, NOTHING};
    for (Py_ssize_t k = 0; k < count; k++)
        if ((types[k] = medium_type(args[k], &size)) == NOTHING) return NULL;
    if (size < least || size >= limit || !is_alike(of, args, types, count, floats)) return NULL;
    if (!is_recorded_here(ufunc, types[0], types[1], size)) return NULL;
    int tried = 0;
    for (Py_ssize_t k = 0; k < count; k++)
        if (Py_TYPE(args[k]) == array_type) tried |= begin_trial(args[k]);
    if (!tried) return NULL;
    PyObject *result = forms == NULL ? NULL : squares ? record_power(forms, args) : record_call(forms, args, count);
    if (result == NULL && !PyErr_Occurred()) {
        PyObject *inputs = PyTuple_New(count);
        for (Py_ssize_t k = 0; inputs != NULL && k < count; k++) PyTuple_SET_ITEM(inputs, k, Py_NewRef(args[k]));
        revealed++;
        result = inputs == NULL ? NULL : PyObject_CallFunctionObjArgs(apply, ufunc, inputs, NULL);
        revealed--;
        Py_XDECREF(inputs);
        if (result == Py_NotImplemented) Py_CLEAR(result);
        if (result == NULL && PyErr_ExceptionMatches(PyExc_ValueError)) drop_error();  /* NumPy raises it, with its words */
    }
    return as_tried(result);
}

static PyObject *medium_operator(PyObject *a, PyObject *b, int slot) {
    PyObject *args[2] = {a, b}, *ufunc = slot_ufuncs[slot == POW ? SLOTS : slot];
    if (slot == POW && (!PyLong_CheckExact(b) || PyLong_AsLong(b) != 2)) return PyErr_Clear(), NULL;
    if (ufunc == NULL) return NULL;
    return record_medium(ufunc, &loops[slot == POW ? MUL : slot], known[slot], args, b == NULL || slot == POW ? 1 : 2, slot == POW, slot == DIV);
}

static PyObject *medium_ufunc(PyObject *ufunc, PyObject *const *args, Py_ssize_t count) {
    static Loops of;
    static PyObject *latest;
    if (Py_TYPE(ufunc) != &PyUFunc_Type || ((PyUFuncObject *)ufunc)->nin != count) return NULL;
    if (ufunc != latest) {
        look_up(&of, ufunc);
        Py_XSETREF(latest, Py_NewRef(ufunc));
    }
    return record_medium(ufunc, &of, NULL, args, count, 0, 1);
}

/* `a += b`, recorded: 1, or 0 where NumPy computes it; -1 with an error. */
static int medium_in_place(PyObject *a, PyObject *b, int slot, int plain_slot) {
    PyObject *result = plain_slot == POW ? NULL : medium_operator(a, b, plain_slot);
    if (result == NULL) return PyErr_Occurred() ? -1 : 0;
    int done = is_tried(result) && is_tried(a) ? record_in_place(known[slot], a, b) : 0;
    Py_DECREF(result);
    return done;
}

/* A function of arrays of medium size, recorded; NULL without an error where NumPy computes it. What it writes to is small then. */
static PyObject *medium_function(PyObject *self, PyObject *const *args, Py_ssize_t count, Py_ssize_t n, Py_ssize_t target) {
    Function *function = (Function *)self;
    PyObject *made = NULL;
    if (n == count && count && function->way == COPIED && is_recording_medium && begin_trial(args[0])) {
        made = record_function(self, function->way, NULL, NULL, args, count, NULL);
    } else if (n == count && count && count < 3 && function->loops.operands == count && function->known != NULL) {
        made = record_medium(function->original, &function->loops, function->known, args, count, 0, 1);
    }
    if (made != NULL || PyErr_Occurred()) return as_tried(made);
    if (target >= 0 && is_tried(args[target]) && end_trial(args[target]) < 0) return NULL;
    if (n && function->kind & VIEWS && is_tried(args[0])) end_trial(args[0]);
    return NULL;
}

static int end_trials(PyObject *const *args, Py_ssize_t n) {
    int others = 0;
    for (Py_ssize_t k = 0; k < n; k++) {
        if (is_tried(args[k])) {
            if (end_trial(args[k]) < 0) return -1;
        } else {
            others = 1;
        }
    }
    if (others) is_recording_medium = 0;
    return 0;
}

/* A view of an array that is tried, or of one that shall be; NULL without an error where NumPy makes it. */
static PyObject *medium_view(PyObject *self, PyObject *key) {
    if (!is_tried(self)) {
        Selection where;
        PyArrayObject *array = (PyArrayObject *)plain(self);
        if (!is_recording_medium || array == NULL || PyArray_SIZE(array) < least || PyArray_SIZE(array) >= limit) return NULL;
        if (!selected(array, key, &where) || where.picks || where.size < least || !begin_trial(self)) return NULL;
    }
    PyObject *view = is_recording_medium || Py_REFCNT(((Front *)self)->cell) > 1 ? record_any_view(self, key) : NULL;
    if (view != NULL) return as_tried(view);
    if (PyErr_Occurred() || compute_tried((Front *)self) < 0) return NULL;
    if ((view = get_in_memory(self, key)) != NULL && Py_TYPE(view) != array_type) return view;  /* an element */
    Py_XDECREF(view);
    if (!PyErr_Occurred()) end_trial(self);
    return NULL;
}

/* Whether an assignment to an array that is tried, or shall be, was recorded; -1 with an error. */
static int medium_store(PyObject *self, PyObject *key, PyObject *value) {
    if (!is_tried(self) && !(is_recording_medium && is_tried(value) && begin_trial(self))) return 0;
    int done = is_recording_medium ? set_in_memory(self, key, value) : 0;
    if (!done && is_recording_medium && !PyErr_Occurred()) done = record_store(self, key, value);
    if (!done && !PyErr_Occurred()) done = end_trial(self) < 0 ? -1 : 0;
    return PyErr_Occurred() ? -1 : done;
}

/* medium(least, patience, apply): arrays of so many elements may be recorded, by this function at first. */
static PyObject *set_medium(PyObject *module, PyObject *args) {
    PyObject *function;
    if (!PyArg_ParseTuple(args, "ndO", &least, &patience, &function)) return NULL;
    Py_XSETREF(apply, Py_NewRef(function));
    sampling = exploring = 0;
    spent = looked = cost = 0;
    look_awake();
    Py_RETURN_NONE;
}

/* So many loops over arrays of medium size are recorded, or tried. */
static PyObject *note_trials(PyObject *module, PyObject *number) {
    in_trials = (int)PyLong_AsLong(number);
    look_awake();
    Py_RETURN_NONE;
}
