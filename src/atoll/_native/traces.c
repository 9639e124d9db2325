/* Traces are recognised by how their nodes are reached from the roots, without walking them.
 *
 * To compare a trace with one that was walked before, its nodes are fetched along the same steps, and three comparisons decide:
 * their marks, numbers that stand for an operation with its geometries, and for a leaf, for how it lies (Node.marked); that
 * different steps lead to different nodes; and that the steps which came to a node a second time, crossings, come to it again.
 *
 * The marks and the call sites of the roots select the traces to try. Each has the programs that compute it, by what is alive beside it.
 */
#include "traces.h"
#include "forms.h"

enum { TRIED = 32 };               /* traces for roots that look alike */
static long long stamps = 0;       /* the largest number that a node was seen by */

long long stamp(long count) {
    long long first = stamps + 1;
    stamps += count;
    return first;
}

static int *integers(PyObject *tuple, int *count) {
    *count = (int)PyTuple_GET_SIZE(tuple);
    int *made = PyMem_Calloc(*count + 1, sizeof(int));
    for (int k = 0; made != NULL && k < *count; k++) made[k] = (int)PyLong_AsLong(PyTuple_GET_ITEM(tuple, k));
    if (made == NULL) PyErr_NoMemory();
    return made;
}

static void clear_step(Step *step) {
    for (int k = 0; k < step->scalar_count; k++) {
        Py_XDECREF(step->scalars[k].view);
        Py_XDECREF(step->scalars[k].place);
    }
    PyMem_Free(step->scalars);
    PyMem_Free(step->registers);
    Py_XDECREF(step->step);
    Py_XDECREF(step->work);
    Py_XDECREF(step->geometry);
    Py_XDECREF(step->wanted);
}

static void clear_fit(Fit *fit) {
    for (int k = 0; k < fit->steps; k++) clear_step(&fit->step[k]);
    PyMem_Free(fit->step);
    PyMem_Free(fit->output);
    PyMem_Free(fit->kept);
    PyMem_Free(fit->passed);
    PyMem_Free(fit->alive);
    Py_XDECREF(fit->settings);
    Py_XDECREF(fit->program);
    Py_XDECREF(fit->log);
    Py_XDECREF(fit->births);
    Py_XDECREF(fit->opening);
    Py_XDECREF(fit->finish);
    memset(fit, 0, sizeof *fit);
}

static void end_of_trace(PyObject *self) {
    Trace *trace = (Trace *)self;
    for (int k = 0; k < FITS; k++) clear_fit(&trace->fit[k]);
    int *all[] = {trace->reader, trace->argument, trace->crossing, trace->leaf, trace->order, trace->scalar, trace->uses};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) PyMem_Free(all[k]);
    PyMem_Free(trace->mark);
    free_object(self);
}

static PyType_Slot trace_slots[] = {
    {Py_tp_dealloc, end_of_trace}, {Py_tp_doc, "How a trace is recognised, and the programs for it."}, {0}};
PyType_Spec trace_spec = {"atoll._front.Trace", sizeof(Trace), 0, CLASS_FLAGS | Py_TPFLAGS_DISALLOW_INSTANTIATION, trace_slots};
PyTypeObject *trace_type;

/* ---- recognising */

/* The mark of a value on ranks, by how it lies; a new reference, NULL where Python has to make it. */
static PyObject *mark_of_block(PyObject *node) {
    PyArrayObject *array = (PyArrayObject *)VALUE(NODE(node)->value)->array;
    PyObject *number = geometry_number(node), *place = field(NODE(node)->place, PLACE_NUMBER);
    PyObject *strides = PyArray_IntTupleFromIntp(PyArray_NDIM(array), PyArray_STRIDES(array));
    PyObject *key = strides == NULL ? NULL : Py_BuildValue("sOON", "leaf", number, place, strides);
    PyObject *mark = key == NULL ? NULL : Py_XNewRef(PyDict_GetItemWithError(python.marks, key));
    Py_XDECREF(key);
    if (mark == NULL) PyErr_Clear();
    return mark;
}

/* The mark of a node: that of a node which Python has recorded is made when it is first asked for; 0 with an error. */
static long mark_of(PyObject *node) {
    PyObject *mark = NULL;
    if (NODE(node)->mark) return NODE(node)->mark;
    if (state_of(node) == READY) return NODE(node)->mark = -1 - PyLong_AsLong(geometry_number(node));
    if ((mark = state_of(node) & READY ? mark_of_block(node) : NULL) == NULL) mark = PyObject_CallOneArg(python.marked, node);
    if (mark != NULL) NODE(node)->mark = PyLong_AsLong(mark);
    Py_XDECREF(mark);
    return NODE(node)->mark;
}

/* The nodes of a trace, borrowed, where it is one of this kind. */
static int recognised(Trace *trace, PyObject *const *roots, int count, PyObject **nodes) {
    if (trace->roots != count) return 0;
    for (int k = 0; k < count; k++) nodes[k] = roots[k];
    for (int k = 0; k < trace->nodes; k++) {
        if (k >= count) {
            nodes[k] = operand_of(nodes[trace->reader[k]], trace->argument[k]);
            if (nodes[k] == NULL || !is_node(nodes[k])) return 0;
        }
        if (mark_of(nodes[k]) != trace->mark[k]) return 0;
    }
    for (int k = 0; k < trace->crossings; k++) {
        int *crossing = trace->crossing + 3 * k;
        if (operand_of(nodes[crossing[0]], crossing[1]) != nodes[crossing[2]]) return 0;
    }
    for (int k = 0; k < trace->leaves; k++)
        if (NODE(nodes[trace->leaf[k]])->value == Py_None) return 0;
    stamps++;
    for (int k = 0; k < trace->nodes; NODE(nodes[k++])->seen = stamps)
        if (NODE(nodes[k])->seen == stamps) return 0;
    return 1;
}

static int is_alike(PyObject *one, PyObject *other) {
    return one == other || (field(one, SETTINGS_FUSION) == field(other, SETTINGS_FUSION) &&
                            PyLong_AsSsize_t(field(one, SETTINGS_SMALL)) == PyLong_AsSsize_t(field(other, SETTINGS_SMALL)));
}

/* Whether the program refers to a node beside its trace, or to the memory of its value. */
static int is_alive(PyObject *node, int uses) {
    PyObject *value = NODE(node)->value;
    return Py_REFCNT(node) > uses || (value != Py_None && VALUE(value)->pinned);
}

Fit *fit_of(Trace *trace, PyObject **nodes, PyObject *settings) {
    for (int k = 0; k < FITS; k++) {
        Fit *fit = &trace->fit[k];
        if (fit->program == NULL || !is_alike(fit->settings, settings)) continue;
        if (fit->program != Py_None && field(fit->program, PROGRAM_RUNNING) != Py_False) continue;
        int n = trace->roots;
        while (n < trace->nodes && fit->alive[n] == is_alive(nodes[n], trace->uses[n])) n++;
        if (n == trace->nodes) return fit;
    }
    return NULL;
}

int key_of_roots(PyObject *const *roots, int count, size_t *key) {
    key[0] = key[1] = key[2] = (size_t)count;
    for (int k = 0; k < count; k++) {
        PyObject *site = NODE(roots[k])->site;
        if (!mark_of(roots[k])) return -1;
        key[0] = mixed(key[0], (size_t)mark_of(roots[k]));
        for (int n = 0; n < arity_of(roots[k]); n++) {
            PyObject *arg = argument_of(roots[k], n);
            if (!is_node(arg)) continue;
            if (!mark_of(arg)) return -1;
            key[0] = mixed(key[0], (size_t)mark_of(arg));
        }
        if (site == Py_None) continue;
        key[1] = mixed(key[1], (size_t)PyTuple_GET_ITEM(site, 0));
        key[2] = mixed(key[2], (size_t)PyLong_AsLong(PyTuple_GET_ITEM(site, 1)));
    }
    for (int k = 0; k < 3; k++) key[k] = key[k] >> 2 << 1 | 1;  /* as the parts of keys that are integers */
    return 0;
}

Trace *trace_of(PyObject *const *roots, int count, PyObject **nodes) {
    size_t key[3];
    Met *met = key_of_roots(roots, count, key) < 0 ? NULL : met_in((Forms *)python.traces, key, 3);
    PyObject *tried = met == NULL ? NULL : met->form;
    for (Py_ssize_t k = 0; tried != NULL && k < PyList_GET_SIZE(tried); k++) {
        PyObject *found = PyList_GET_ITEM(tried, k);
        if (recognised((Trace *)found, roots, count, nodes)) {
            for (; k; k--) PyList_SET_ITEM(tried, k, PyList_GET_ITEM(tried, k - 1));
            PyList_SET_ITEM(tried, 0, found);  /* the one to try first next time */
            return (Trace *)found;
        }
        if (PyErr_Occurred()) break;
    }
    return NULL;
}

/* ---- what Python tells */

static int *room(int count) { return PyMem_Calloc(count + 1, sizeof(int)); }

/* Reach all nodes of a trace from its roots: `seen` says where each is, counted from a number that is returned; -1 where they are others. */
static long long reach(Trace *trace, PyObject *roots, PyObject **nodes) {
    long long first = stamp(MOST_NODES), place;
    int count = 0;
    for (; count < trace->roots; count++) {
        nodes[count] = PyList_GET_ITEM(roots, count);
        if (NODE(nodes[count])->seen >= first) return -1;
        NODE(nodes[count])->seen = first + count;
    }
    for (int k = 0; k < count; k++) {
        for (int slot = 0; slot < arity_of(nodes[k]); slot++) {
            PyObject *arg = argument_of(nodes[k], slot);
            if (!is_node(arg)) continue;
            if ((place = NODE(arg)->seen - first) < 0) {
                if (count == trace->nodes) return -1;
                trace->reader[place = count] = k;
                trace->argument[count] = slot;
                nodes[count] = arg;
                NODE(arg)->seen = first + count++;
            } else {
                memcpy(trace->crossing + 3 * trace->crossings++, (int[]){k, slot, (int)place}, 3 * sizeof(int));
            }
            trace->uses[place]++;
        }
    }
    return count == trace->nodes ? first : -1;
}

/* Fill a trace from a walk; -1 where it stands for none, or with an error. */
static int read_walk(Trace *trace, PyObject *roots, PyObject *leaves, PyObject *order) {
    PyObject *nodes[MOST_NODES];
    int arguments = 0;
    trace->roots = (int)PyList_GET_SIZE(roots);
    trace->leaves = (int)PyList_GET_SIZE(leaves);
    trace->pending = (int)PyList_GET_SIZE(order);
    trace->nodes = trace->leaves + trace->pending;
    for (int k = 0; k < trace->pending; k++) arguments += arity_of(PyList_GET_ITEM(order, k));
    int **numbers[] = {&trace->reader, &trace->argument, &trace->uses, &trace->leaf, &trace->order, &trace->crossing, &trace->scalar};
    for (int k = 0; k < 7; k++)
        if ((*numbers[k] = room(k < 5 ? trace->nodes : 3 * arguments)) == NULL) return PyErr_NoMemory(), -1;
    if ((trace->mark = PyMem_Calloc(trace->nodes + 1, sizeof(long))) == NULL) return PyErr_NoMemory(), -1;
    long long first = reach(trace, roots, nodes);
    if (first < 0) return -1;
    for (int k = 0; k < trace->leaves; k++) trace->leaf[k] = (int)(NODE(PyList_GET_ITEM(leaves, k))->seen - first);
    for (int k = 0; k < trace->pending; k++) {
        PyObject *node = PyList_GET_ITEM(order, k);
        trace->order[k] = (int)(NODE(node)->seen - first);
        for (int slot = 0; slot < arity_of(node); slot++)
            if (!is_node(argument_of(node, slot)))
                memcpy(trace->scalar + 2 * trace->scalars++, (int[]){trace->order[k], slot}, 2 * sizeof(int));
    }
    for (int k = 0; k < trace->nodes; k++) {
        if (!(trace->mark[k] = mark_of(nodes[k]))) return -1;
    }
    return 0;
}

/* Remember a trace for roots that look like these. */
static int remember(Trace *trace, PyObject *const *roots) {
    size_t key[3];
    if (key_of_roots(roots, trace->roots, key) < 0) return -1;
    Met *met = met_in((Forms *)python.traces, key, 3);
    PyObject *tried = met == NULL ? PyList_New(0) : Py_NewRef(met->form), *parts = NULL, *kept = NULL;
    if (met == NULL) parts = Py_BuildValue("nnn", key[0] >> 1, key[1] >> 1, key[2] >> 1);
    if (parts != NULL) kept = PyObject_CallFunctionObjArgs(python.tried_traces, parts, tried, NULL);
    int done = tried == NULL || (met == NULL && kept == NULL) || PyList_Insert(tried, 0, (PyObject *)trace) < 0 || PyList_SetSlice(tried, TRIED, PY_SSIZE_T_MAX, NULL) < 0 ? -1 : 0;
    Py_XDECREF(parts);
    Py_XDECREF(kept);
    Py_XDECREF(tried);
    return done;
}

/* trace(roots, leaves, order): the trace of a walk; None where it is too large, or a root stands twice. */
static PyObject *make_trace(PyObject *module, PyObject *args) {
    PyObject *roots, *leaves, *order, *nodes[MOST_NODES];
    if (!PyArg_ParseTuple(args, "O!O!O!", &PyList_Type, &roots, &PyList_Type, &leaves, &PyList_Type, &order)) return NULL;
    int count = (int)PyList_GET_SIZE(roots);
    if (count > MOST_ROOTS || PyList_GET_SIZE(leaves) + PyList_GET_SIZE(order) > MOST_NODES) Py_RETURN_NONE;
    for (Py_ssize_t k = 0; k < PyList_GET_SIZE(leaves); k++)
        if (NODE(PyList_GET_ITEM(leaves, k))->value == Py_None) Py_RETURN_NONE;
    Trace *trace = trace_of(PySequence_Fast_ITEMS(roots), count, nodes);
    if (trace != NULL || PyErr_Occurred()) return Py_XNewRef(trace);
    trace = PyObject_New(Trace, trace_type);
    if (trace != NULL) {
        memset((char *)trace + sizeof(PyObject), 0, sizeof(Trace) - sizeof(PyObject));
        if (read_walk(trace, roots, leaves, order) < 0 || remember(trace, PySequence_Fast_ITEMS(roots)) < 0) Py_CLEAR(trace);
    }
    if (trace == NULL && !PyErr_Occurred()) Py_RETURN_NONE;
    return (PyObject *)trace;
}

static int read_scalars(Step *step, PyObject *numbers) {
    Py_ssize_t n = PyTuple_GET_SIZE(numbers);
    step->scalars = PyMem_Calloc(n + 1, sizeof(Scalar));
    if (step->scalars == NULL) return -1;
    for (Py_ssize_t k = 0; k < n; k++, step->scalar_count++) {
        PyObject *view, *place;
        int number;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(numbers, k), "OOi", &view, &place, &number)) return -1;
        Scalar *scalar = &step->scalars[k];
        *scalar = (Scalar){NULL, Py_NewRef(view), Py_NewRef(place), number};
        if (PyMemoryView_Check(view) && !strcmp(PyMemoryView_GET_BUFFER(view)->format, "d"))
            scalar->address = (double *)PyMemoryView_GET_BUFFER(view)->buf + PyLong_AsSsize_t(place);
    }
    return 0;
}

static int read_step(Step *step, PyObject *told) {
    PyObject *registers, *extra = NULL, *wanted = NULL;
    long long table = 0, starts = 0;
    if (!PyArg_ParseTuple(told, "iOO!|OOLLi", &step->kind, &step->step, &PyTuple_Type, &registers, &extra, &wanted, &table,
                          &starts, &step->release))
        return -1;
    Py_INCREF(step->step);
    if ((step->registers = integers(registers, &step->count)) == NULL) return -1;
    step->table = (int64_t *)(intptr_t)table;
    step->starts = (int64_t *)(intptr_t)starts;
    if (step->kind == STEP_KERNELS) {
        step->wanted = Py_NewRef(wanted);
        return read_scalars(step, extra);
    }
    if (step->kind == STEP_ADD) {
        step->partials = (double *)(intptr_t)table;
        if (extra != Py_None) step->dtype = (PyArray_Descr *)(step->geometry = Py_NewRef(extra));
    }
    if (step->kind >= STEP_START) step->geometry = Py_NewRef(extra);
    if (step->kind != STEP_ALLOCATE && step->kind != STEP_COPY) return 0;
    step->geometry = Py_NewRef(extra);
    step->wanted = Py_NewRef(wanted);
    Selection where;
    int fits = lies(extra, &where) && where.axes <= MOST_AXES;
    step->dtype = (PyArray_Descr *)field(extra, FORM_DTYPE);
    step->ndim = fits ? where.axes : MOST_AXES + 1;
    step->size = where.size;
    if (fits) memcpy(step->shape, where.shape, sizeof step->shape);
    if (fits) memcpy(step->strides, where.strides, sizeof step->strides);
    return 0;
}

/* A flag for each node of a trace, by position, that says whether the program refers to it; `given` has the flags in the order of a walk, leaves first. */
static char *alive_in(Trace *trace, PyObject *given) {
    char *alive = NULL;
    if (PyBytes_GET_SIZE(given) != trace->nodes)
        PyErr_SetString(PyExc_ValueError, "a fit says of each node whether it is alive");
    else if ((alive = PyMem_Calloc(trace->nodes + 1, 1)) == NULL)
        PyErr_NoMemory();
    for (int k = 0; alive != NULL && k < trace->nodes; k++)
        alive[k < trace->leaves ? trace->leaf[k] : trace->order[k - trace->leaves]] = PyBytes_AS_STRING(given)[k];
    return alive;
}

/* The positions of nodes that are given by their order in a walk. */
static int *positions_in(Trace *trace, PyObject *numbers, int *count) {
    int *made = integers(numbers, count);
    for (int k = 0; made != NULL && k < *count; k++) made[k] = trace->order[made[k]];
    return made;
}

/* is_taught(trace, alive, settings): whether there is a program for such a trace. */
static PyObject *ask(PyObject *module, PyObject *args) {
    PyObject *self, *given, *settings;
    if (!PyArg_ParseTuple(args, "O!O!O", trace_type, &self, &PyBytes_Type, &given, &settings)) return NULL;
    Trace *trace = (Trace *)self;
    char *alive = alive_in(trace, given);
    int taught = 0, rest = trace->roots;
    for (Fit *fit = trace->fit; alive != NULL && fit < trace->fit + FITS; fit++)
        taught |= fit->program != NULL && is_alike(fit->settings, settings) && !memcmp(fit->alive + rest, alive + rest, trace->nodes - rest);
    PyMem_Free(alive);
    return alive == NULL ? NULL : PyBool_FromLong(taught);
}

/* fit(trace, alive, settings, program, registers, steps, outputs, kept, passing, log, births, opening, finish): a program for such a trace. */
static PyObject *add_fit(PyObject *module, PyObject *args) {
    PyObject *self, *alive, *settings, *program, *steps, *outputs, *kept, *passing, *log, *births, *opening, *finish;
    int registers;
    if (!PyArg_ParseTuple(args, "O!O!OOiO!O!O!O!OO!OO", trace_type, &self, &PyBytes_Type, &alive, &settings, &program, &registers,
                          &PyTuple_Type, &steps, &PyTuple_Type, &outputs, &PyTuple_Type, &kept, &PyTuple_Type, &passing, &log,
                          &PyTuple_Type, &births, &opening, &finish))
        return NULL;
    Trace *trace = (Trace *)self;
    Fit old = trace->fit[trace->next];
    if (old.program != NULL && old.program != Py_None && field(old.program, PROGRAM_RUNNING) != Py_False) Py_RETURN_NONE;
    Fit fit = {.settings = Py_NewRef(settings), .program = Py_NewRef(program), .registers = registers};
    fit.alive = alive_in(trace, alive);
    fit.output = integers(outputs, &fit.outputs);
    fit.kept = positions_in(trace, kept, &fit.outputs);
    fit.passed = positions_in(trace, passing, &fit.passing);
    if (log != Py_None) {
        fit.log = Py_NewRef(log);
        fit.births = Py_NewRef(births);
        fit.opening = Py_NewRef(opening);
        fit.finish = Py_NewRef(finish);
    }
    fit.step = PyMem_Calloc(PyTuple_GET_SIZE(steps) + 1, sizeof(Step));
    for (Py_ssize_t k = 0; fit.step != NULL && !PyErr_Occurred() && k < PyTuple_GET_SIZE(steps); k++, fit.steps++)
        read_step(&fit.step[k], PyTuple_GET_ITEM(steps, k));
    if (PyErr_Occurred()) {
        clear_fit(&fit);
        return NULL;
    }
    trace->fit[trace->next] = fit;
    trace->next = (trace->next + 1) % FITS;
    clear_fit(&old);
    Py_RETURN_NONE;
}

PyMethodDef trace_methods[] = {
    {"trace", make_trace, METH_VARARGS, "The trace of a walk, to be recognised."},
    {"is_taught", ask, METH_VARARGS, "Whether there is a program for such a trace."},
    {"fit", add_fit, METH_VARARGS, "The program for such a trace."},
    {NULL}};
