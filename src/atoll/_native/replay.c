/* The native evaluation: a trace that was evaluated before is recognised, and its program run, without entering Python.
 *
 * Python plans, compiles and runs the program of a trace the first times (lazy.evaluate). Then it is told here: how its nodes are
 * reached from the root (graph.pattern), which of them were alive, and the steps of the program. The next such trace is
 * compared node by node; memory is taken from arrays that have just ended, kernels are called, and nodes get their values. A
 * step of another kind is run by Python. Whatever does not fit is left to Python altogether.
 */
#include <limits.h>
#include "replay.h"
#include "spans.h"
#include "trials.h"

static PyObject *run_name, *step_name, *site_name, *rules_name,
    *append_name, *kernels_name, *reused_name, *plans_name,
    *ran_name, *flagged_name, *team_name;

enum { PYTHON, ALLOCATE, RELEASE, SHARE, KERNELS, ADD, COPY };
enum { ALONE, WITHOUT_LOCK, SHARED };  /* how kernels run: quickly, without the interpreter lock, with other threads */
enum { AXES = 8, FITS = 4, COUNTED = 64 };

typedef struct {
    double *address;           /* where a number is written; NULL where `view` has to convert it */
    PyObject *view, *place;
    int number;
} Scalar;

typedef struct {
    int kind, count, release, ndim, runs;
    PyObject *step;            /* what Python would run */
    PyObject *work;            /* what a profile says of it, and of which profile that is */
    int session;
    int *registers;
    Scalar *scalars;
    int scalar_count;
    int64_t *table, *starts;
    double *partials;
    PyObject *geometry, *wanted;  /* of memory; of kernels the drafts among them */
    PyArray_Descr *dtype;
    npy_intp shape[AXES], strides[AXES], nbytes;
} Step;

typedef struct {
    PyObject *alive, *settings;
    PyObject *program;         /* None where another program stores some of these nodes, too: those that are passed by */
    PyObject *judged;          /* what counts the evaluations; NULL where they do not count */
    int registers, steps, outputs, passing;
    Step *step;
    int *output, *kept, *passed;
} Fit;

typedef struct {
    PyObject_HEAD
    int roots, nodes, crossings, leaves, scalars, fits, next;
    int *reader, *argument;    /* how each node but the roots is reached */
    int *crossing;             /* reader, argument, node */
    int *leaf, *scalar;        /* positions; reader and argument */
    int *uses;                 /* references from inside the trace */
    long *mark;
    PyObject *order;
    Fit fit[FITS];
} Trace;

static int *integers(PyObject *tuple, Py_ssize_t *count) {
    *count = PyTuple_Check(tuple) ? PyTuple_GET_SIZE(tuple) : 0;
    int *made = PyMem_Calloc(*count + 1, sizeof(int));
    for (Py_ssize_t k = 0; made != NULL && k < *count; k++) made[k] = (int)PyLong_AsLong(PyTuple_GET_ITEM(tuple, k));
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
    Py_XDECREF(fit->alive);
    Py_XDECREF(fit->settings);
    Py_XDECREF(fit->program);
    Py_XDECREF(fit->judged);
    memset(fit, 0, sizeof *fit);
}

static void end_of_trace(PyObject *self) {
    Trace *trace = (Trace *)self;
    for (int k = 0; k < FITS; k++) clear_fit(&trace->fit[k]);
    int *all[] = {trace->reader, trace->argument, trace->crossing, trace->leaf, trace->scalar, trace->uses};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) PyMem_Free(all[k]);
    PyMem_Free(trace->mark);
    Py_XDECREF(trace->order);
    free_object(self);
}

static PyType_Slot trace_slots[] = {
    {Py_tp_dealloc, end_of_trace}, {Py_tp_doc, "How a trace is recognised, and the programs for it."}, {0}};
PyType_Spec trace_spec = {"atoll._front.Trace", sizeof(Trace), 0, CLASS_FLAGS | Py_TPFLAGS_DISALLOW_INSTANTIATION, trace_slots};
PyTypeObject *trace_type;

/* trace(roots, steps, crossings, marks, leaves, order, scalars): what a graph.pattern.Pattern consists of, in flat tuples. */
static PyObject *make_trace(PyObject *module, PyObject *args) {
    PyObject *steps, *crossings, *marks, *leaves, *order, *scalars;
    int roots;
    if (!PyArg_ParseTuple(args, "iO!O!O!O!O!O!", &roots, &PyTuple_Type, &steps, &PyTuple_Type, &crossings, &PyTuple_Type, &marks,
                          &PyTuple_Type, &leaves, &PyList_Type, &order, &PyTuple_Type, &scalars))
        return NULL;
    Trace *trace = PyObject_New(Trace, trace_type);
    if (trace == NULL) return NULL;
    memset((char *)trace + sizeof(PyObject), 0, sizeof(Trace) - sizeof(PyObject));
    Py_ssize_t n, many;
    int *both = integers(steps, &n);
    trace->roots = roots;
    trace->nodes = (int)n / 2 + roots;
    trace->reader = PyMem_Calloc(trace->nodes, sizeof(int));
    trace->argument = PyMem_Calloc(trace->nodes, sizeof(int));
    trace->uses = PyMem_Calloc(trace->nodes, sizeof(int));
    trace->mark = PyMem_Calloc(trace->nodes, sizeof(long));
    trace->crossing = integers(crossings, &many);
    trace->crossings = (int)many / 3;
    trace->leaf = integers(leaves, &many);
    trace->leaves = (int)many;
    trace->scalar = integers(scalars, &many);
    trace->scalars = (int)many / 2;
    trace->order = Py_NewRef(order);
    if (both != NULL && trace->reader && trace->argument && trace->uses && trace->mark && PyTuple_GET_SIZE(marks) == trace->nodes) {
        for (int k = roots; k < trace->nodes; k++) {
            trace->reader[k] = both[2 * (k - roots)];
            trace->argument[k] = both[2 * (k - roots) + 1];
            trace->uses[k] = 1;
        }
        for (int k = 0; k < trace->crossings; k++) trace->uses[trace->crossing[3 * k + 2]]++;
        for (int k = 0; k < trace->nodes; k++) trace->mark[k] = PyLong_AsLong(PyTuple_GET_ITEM(marks, k));
    }
    PyMem_Free(both);
    if (PyErr_Occurred()) Py_CLEAR(trace);
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
    Py_ssize_t n;
    if ((step->registers = integers(registers, &n)) == NULL) return -1;
    step->count = (int)n;
    step->table = (int64_t *)(intptr_t)table;
    step->starts = (int64_t *)(intptr_t)starts;
    if (step->kind == KERNELS) {
        step->wanted = Py_NewRef(wanted);
        return read_scalars(step, extra);
    }
    if (step->kind == ADD) step->partials = (double *)(intptr_t)table;
    if (step->kind != ALLOCATE && step->kind != COPY) return 0;
    step->geometry = Py_NewRef(extra);
    step->wanted = Py_NewRef(wanted);
    step->dtype = (PyArray_Descr *)field(extra, FORM_DTYPE);
    step->ndim = (int)PyTuple_GET_SIZE(field(extra, FORM_SHAPE));
    step->nbytes = size_of(extra) * PyDataType_ELSIZE(step->dtype);
    for (int k = 0; k < step->ndim && step->ndim <= AXES; k++) {
        step->shape[k] = PyLong_AsSsize_t(PyTuple_GET_ITEM(field(extra, FORM_SHAPE), k));
        step->strides[k] = PyLong_AsSsize_t(PyTuple_GET_ITEM(field(extra, FORM_STRIDES), k));
    }
    return 0;
}

/* fit(trace, alive, settings, program, registers, steps, outputs, kept, passing, judged): a program for such a trace. */
static PyObject *add_fit(PyObject *module, PyObject *args) {
    PyObject *self, *alive, *settings, *program, *steps, *outputs, *kept, *passing, *judged;
    int registers;
    if (!PyArg_ParseTuple(args, "O!O!OOiO!O!O!O!O", trace_type, &self, &PyBytes_Type, &alive, &settings, &program, &registers,
                          &PyTuple_Type, &steps, &PyTuple_Type, &outputs, &PyTuple_Type, &kept, &PyTuple_Type, &passing, &judged))
        return NULL;
    Trace *trace = (Trace *)self;
    if (PyBytes_GET_SIZE(alive) != trace->nodes) {
        PyErr_SetString(PyExc_ValueError, "a fit says of each node whether it is alive");
        return NULL;
    }
    Fit fit = {.alive = Py_NewRef(alive), .settings = Py_NewRef(settings), .program = Py_NewRef(program), .registers = registers};
    Py_ssize_t n;
    fit.output = integers(outputs, &n);
    fit.outputs = (int)n;
    fit.kept = integers(kept, &n);
    fit.passed = integers(passing, &n);
    fit.passing = (int)n;
    if (judged != Py_None) fit.judged = Py_NewRef(judged);
    fit.step = PyMem_Calloc(PyTuple_GET_SIZE(steps) + 1, sizeof(Step));
    for (Py_ssize_t k = 0; fit.step != NULL && !PyErr_Occurred() && k < PyTuple_GET_SIZE(steps); k++, fit.steps++)
        read_step(&fit.step[k], PyTuple_GET_ITEM(steps, k));
    if (PyErr_Occurred()) {
        clear_fit(&fit);
        return NULL;
    }
    Fit old = trace->fit[trace->next];
    trace->fit[trace->next] = fit;
    trace->next = (trace->next + 1) % FITS;
    clear_fit(&old);
    Py_RETURN_NONE;
}

/* ---- recognising a trace */


enum { MOST_NODES = 512 };

/* The mark of a node, borrowed: that of a node which Python has recorded is made when it is first asked for. */
static PyObject *mark_of(PyObject *node) {
    PyObject *mark = field(node, NODE_MARK);
    if (mark != Py_None) return mark;
    if (state_of(node) == READY)
        mark = PyLong_FromLong(-1 - PyLong_AsLong(field(field(node, NODE_GEOMETRY), FORM_NUMBER)));
    else
        mark = PyObject_CallOneArg(python.marked, node);
    if (mark != NULL) replace(node, NODE_MARK, mark);
    return mark;
}

static int all_differ(PyObject **nodes, int count) {
    static PyObject *seen[4 * MOST_NODES];
    size_t size = 16;
    while (size < 2 * (size_t)count) size *= 2;
    memset(seen, 0, size * sizeof *seen);
    for (int k = 0; k < count; k++) {
        size_t place = ((size_t)nodes[k] >> 4) * 0x9E3779B97F4A7C15u >> 40;
        for (; seen[place & (size - 1)] != NULL; place++)
            if (seen[place & (size - 1)] == nodes[k]) return 0;
        seen[place & (size - 1)] = nodes[k];
    }
    return 1;
}

static inline PyObject *argument_of(PyObject *node, int number) {
    PyObject *args = field(node, NODE_ARGS);
    return number < PyTuple_GET_SIZE(args) ? PyTuple_GET_ITEM(args, number) : NULL;
}

/* The nodes of a trace, borrowed, where it is one of this kind. */
static int recognised(Trace *trace, PyObject *const *roots, int count, PyObject **nodes) {
    if (trace->roots != count) return 0;
    for (int k = 0; k < count; k++) nodes[k] = roots[k];
    for (int k = 0; k < trace->nodes; k++) {
        if (k >= count) {
            nodes[k] = argument_of(nodes[trace->reader[k]], trace->argument[k]);
            if (nodes[k] == NULL || !is_node(nodes[k])) return 0;
        }
        PyObject *mark = mark_of(nodes[k]);
        if (mark == NULL || PyLong_AsLong(mark) != trace->mark[k]) return 0;
    }
    for (int k = 0; k < trace->crossings; k++) {
        int *crossing = trace->crossing + 3 * k;
        if (argument_of(nodes[crossing[0]], crossing[1]) != nodes[crossing[2]]) return 0;
    }
    for (int k = 0; k < trace->leaves; k++) {
        PyObject *value = field(nodes[trace->leaf[k]], NODE_VALUE);
        if (value == Py_None || field(value, VALUE_PINNED) != Py_False) return 0;
    }
    return all_differ(nodes, trace->nodes);
}

static int is_alike(PyObject *one, PyObject *other) {
    return one == other || (field(one, SETTINGS_FUSION) == field(other, SETTINGS_FUSION) &&
                            PyLong_AsSsize_t(field(one, SETTINGS_SMALL)) == PyLong_AsSsize_t(field(other, SETTINGS_SMALL)));
}

/* The program for a trace with this alive beside it, under these settings. */
static Fit *fit_of(Trace *trace, PyObject **nodes, PyObject *settings) {
    for (int k = 0; k < FITS; k++) {
        Fit *fit = &trace->fit[k];
        if (fit->program == NULL || !is_alike(fit->settings, settings)) continue;
        if (fit->program != Py_None && field(fit->program, PROGRAM_RUNNING) != Py_False) continue;
        const char *alive = PyBytes_AS_STRING(fit->alive);
        int n = trace->roots;
        while (n < trace->nodes && alive[n] == (Py_REFCNT(nodes[n]) > trace->uses[n])) n++;
        if (n == trace->nodes) return fit;
    }
    return NULL;
}

/* Whether nothing but evaluating is to be done: what evaluate.evaluate asks. */
static int is_plain(void) {
    if (shown || !is_calm()) return 0;  /* windows are open on ranks only */
    PyObject *list = filters();
    if (!PyList_Check(list) || !PyList_GET_SIZE(list) || PyList_GET_ITEM(list, 0) != field(python.calm, CALM_FIRST)) return 0;
    PyObject *rules = PyObject_GetAttr(python.float_rules, rules_name);
    int plain = rules == Py_None || rules == field(python.calm, CALM_RULES);
    Py_XDECREF(rules);
    if (rules == NULL) PyErr_Clear();
    return plain;
}

/* ---- running a program */


typedef struct {
    Fit *fit;
    Trace *trace;
    PyObject **nodes, *registers, *state;
    PyObject *done;                /* the latest step whose kernels have run, borrowed */
    long kernels, reused;
} Run;

static inline PyObject *value_in(Run *run, int number) { return PyList_GET_ITEM(run->registers, number); }

static inline void set_register(Run *run, int number, PyObject *value) {
    PyObject *old = PyList_GET_ITEM(run->registers, number);
    PyList_SET_ITEM(run->registers, number, value);
    Py_DECREF(old);
}

static PyObject *number_at(Run *run, int number) {
    int *place = run->trace->scalar + 2 * number;
    return argument_of(run->nodes[place[0]], place[1]);
}

/* The state of the run, as Python's steps need it; borrowed. */
static PyObject *run_state(Run *run, PyObject *step) {
    if (run->state == NULL) {
        PyObject *scalars = PyList_New(run->trace->scalars);
        for (int k = 0; scalars != NULL && k < run->trace->scalars; k++)
            PyList_SET_ITEM(scalars, k, Py_NewRef(number_at(run, k)));
        if (scalars == NULL) return NULL;
        run->state = PyObject_CallFunctionObjArgs(python.state_type, run->registers, scalars, NULL);
        Py_DECREF(scalars);
    }
    if (run->state != NULL && PyObject_SetAttr(run->state, step_name, step) < 0) return NULL;
    return run->state;
}

/* The line that recorded what a step of NumPy's computes, borrowed: warnings name it. */
static PyObject *line_of(Run *run, Step *step) {
    if (step->kind != PYTHON || !step->count) return Py_None;
    return field(run->nodes[PyLong_AsLong(PyList_GET_ITEM(run->trace->order, step->registers[0]))], NODE_SITE);
}

static int by_python(Run *run, Step *step) {
    PyObject *state = run_state(run, step->step);
    if (state != NULL && PyObject_SetAttr(state, site_name, line_of(run, step)) < 0) return -1;
    PyObject *done = state == NULL ? NULL : PyObject_CallMethodOneArg(step->step, run_name, state);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

static int allocate(Run *run, Step *step) {
    PyObject *value = NULL;
    PyObject *array = step->ndim <= AXES ? waiting_memory(step->dtype, step->ndim, step->shape, step->strides) : NULL;
    if (array != NULL) {
        value = new_value(array, 1);
        run->reused++;
    }
    if (value == NULL) value = PyObject_CallFunctionObjArgs(python.allocate, step->geometry, step->wanted, NULL);
    if (value == NULL) return -1;
    set_register(run, step->registers[0], value);
    return 0;
}

static int kernels(Run *run, Step *step) {
    if (PyList_GET_SIZE(step->wanted) && !(++step->runs % COUNTED)) {  /* drafts have worked */
        PyObject *done = PyObject_CallMethod(step->step, "worked", "i", COUNTED);
        if (done == NULL) return -1;
        Py_DECREF(done);
    }
    for (int k = 0; k < step->count; k++)
        step->starts[k] = (int64_t)(intptr_t)PyArray_DATA((PyArrayObject *)field(value_in(run, step->registers[k]), VALUE_ARRAY));
    for (int k = 0; k < step->scalar_count; k++) {
        Scalar *scalar = &step->scalars[k];
        PyObject *number = number_at(run, scalar->number);
        if (scalar->address != NULL) {
            *scalar->address = PyFloat_AsDouble(number);
            if (PyErr_Occurred()) return -1;
        } else if (PyObject_SetItem(scalar->view, scalar->place, number) < 0) {
            return -1;
        }
    }
    int64_t patches = step->table[0], count = step->table[1], *word = step->table + 2, *starts = step->starts, flags = 0;
    long long launches, block, threads;
    if (step->release == SHARED) {
        PyObject *team = PyObject_CallMethodNoArgs(step->step, team_name);
        int known = team != NULL && PyArg_ParseTuple(team, "LLL", &launches, &block, &threads);
        Py_XDECREF(team);
        if (!known) return -1;
    }
    PyThreadState *released = step->release ? PyEval_SaveThread() : NULL;
    if (step->release == SHARED) {
        flags = ((int64_t (*)(int64_t, int64_t *, int64_t *, int64_t))(intptr_t)launches)(block, step->table, starts, threads);
    } else {
        for (; patches--; word += 3) *(int64_t *)(intptr_t)word[0] = starts[word[1]] + word[2];
        for (int64_t k = 0; k < count; k++, word += 5) {
            ((void (*)(int64_t, int64_t, int64_t))(intptr_t)word[0])(word[1], word[2], word[3]);
            flags |= *(int64_t *)(intptr_t)word[1];
        }
    }
    if (released != NULL) PyEval_RestoreThread(released);
    run->kernels += count;
    run->done = step->step;
    if (!flags) return 0;
    PyObject *state = run_state(run, step->step);
    PyObject *done = state == NULL ? NULL : PyObject_CallMethodOneArg(step->step, flagged_name, state);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

/* The sum of few partial results. */
static int add(Run *run, Step *step) {
    double total = 0;
    for (int k = 0; k < step->release; k++) total += step->partials[k];
    if (total - total != 0) return by_python(run, step);
    PyObject *array = PyArray_SimpleNew(0, NULL, NPY_DOUBLE), *value = NULL;
    if (array != NULL) {
        *(double *)PyArray_DATA((PyArrayObject *)array) = total;
        value = new_value(array, 0);
    }
    if (value == NULL) return -1;
    set_register(run, step->registers[0], value);
    return 0;
}

static int run_step(Run *run, Step *step) {
    switch (step->kind) {
        case ALLOCATE: return allocate(run, step);
        case KERNELS: return kernels(run, step);
        case ADD: return add(run, step);
        case COPY: {
            PyArrayObject *from = (PyArrayObject *)field(value_in(run, step->registers[1]), VALUE_ARRAY);
            if (allocate(run, step) < 0) return -1;
            return PyArray_CopyInto((PyArrayObject *)field(value_in(run, step->registers[0]), VALUE_ARRAY), from);
        }
        case RELEASE:
            for (int k = 0; k < step->count; k++) set_register(run, step->registers[k], Py_NewRef(Py_None));
            return 0;
        case SHARE: {
            PyObject *value = value_in(run, step->registers[1]);
            replace(value, VALUE_COUNT, Py_NewRef(minus_one));
            replace(value, VALUE_TILES, Py_NewRef(Py_None));
            set_register(run, step->registers[0], Py_NewRef(value));
            return 0;
        }
        default: return by_python(run, step);
    }
}

static PyObject *nodes_of(Run *run) {
    PyObject *list = PyList_New(run->trace->nodes);
    for (int k = 0; list != NULL && k < run->trace->nodes; k++) PyList_SET_ITEM(list, k, Py_NewRef(run->nodes[k]));
    return list;
}

/* The same where a profile is recorded. */
static int seen_step(Run *run, Step *step) {
    if (step->kind != KERNELS && step->kind != PYTHON && step->kind != ADD) return run_step(run, step);
    if (step->session != session) {
        PyObject *list = nodes_of(run);
        PyObject *work = list == NULL ? NULL : PyObject_CallFunctionObjArgs(python.work_of, step->step, run->fit->program, list, run->trace->order, NULL);
        Py_XDECREF(list);
        if (work == NULL) return -1;
        Py_XSETREF(step->work, work);
        step->session = session;
    }
    if (step->work == Py_None) return run_step(run, step);
    begin_span();
    int status = run_step(run, step);
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    end_work(step->work);
    PyErr_Restore(type, value, trace);
    return status;
}

static void count(PyObject *counts, PyObject *name, long amount) {
    PyObject *old = amount ? PyDict_GetItem(counts, name) : NULL;
    PyObject *sum = old == NULL ? NULL : PyLong_FromLongLong(PyLong_AsLongLong(old) + amount);
    if (sum != NULL && PyDict_SetItem(counts, name, sum) < 0) PyErr_Clear();
    Py_XDECREF(sum);
}

/* Count the run in atoll.stats(). */
static void count_run(Run *run) {
    PyObject *type, *error, *trace, *counters = NULL;
    PyErr_Fetch(&type, &error, &trace);
    if (PyContextVar_Get(python.counters, NULL, &counters) == 0 && counters != NULL) {
        PyObject *counts = field(counters, COUNTERS_VALUES), *kernels = NULL;
        if (run->state != NULL) kernels = PyObject_GetAttr(run->state, kernels_name);
        count(counts, ran_name, run->kernels + (kernels ? PyLong_AsLong(kernels) : 0));
        count(counts, reused_name, run->reused);
        count(counts, plans_name, 1);
        Py_XDECREF(kernels);
    }
    Py_XDECREF(counters);
    PyErr_Clear();
    PyErr_Restore(type, error, trace);
}

static void settle(PyObject *node, PyObject *value) {
    replace(node, NODE_VALUE, Py_NewRef(value));
    replace(node, NODE_PARAMS, Py_NewRef(empty));
    replace(node, NODE_OP, Py_NewRef(python.source));
    replace(node, NODE_WEIGHT, Py_NewRef(zero));
    replace(node, NODE_MARK, Py_NewRef(Py_None));
    replace(node, NODE_ARGS, Py_NewRef(empty));
}

/* A step has failed: what was stored is kept. The error stays set. */
static void rescue(Run *run, PyObject *step) {
    PyObject *type, *error, *trace;
    PyErr_Fetch(&type, &error, &trace);
    PyErr_NormalizeException(&type, &error, &trace);
    PyObject *state = run_state(run, step), *list = nodes_of(run);
    PyObject *done = state == NULL || list == NULL ? NULL
        : PyObject_CallFunctionObjArgs(python.rescued, run->fit->program, state, list, run->trace->order, error, NULL);
    if (done == NULL) drop_error();
    Py_XDECREF(done);
    Py_XDECREF(list);
    PyErr_Restore(type, error, trace);
}

/* Whether kernels of a run have run, 2 if those of this step, which an interrupt has then left. */
static int has_run(Run *run, PyObject *step) {
    PyObject *done = run->state == NULL ? Py_None : field(run->state, STATE_DONE);
    if (run->done != step && done != step) return run->done != NULL || done != Py_None;
    PyObject *type, *error, *trace;
    PyErr_Fetch(&type, &error, &trace);
    PyObject *state = run_state(run, step), *noted = state == NULL ? NULL : PyObject_CallMethodOneArg(step, flagged_name, state);
    if (noted == NULL) drop_error();
    Py_XDECREF(noted);
    PyErr_Restore(type, error, trace);
    return 2;
}
static int computing = 0;          /* programs that run now */

static int run_program(Run *run) {
    Fit *fit = run->fit;
    PyObject *program = Py_NewRef(fit->program), *held = Py_NewRef((PyObject *)run->trace);
    int status = 0, leaves = run->trace->leaves;
    if ((run->registers = PyList_New(fit->registers)) == NULL) status = -1;
    for (int k = 0; !status && k < fit->registers; k++)
        PyList_SET_ITEM(run->registers, k, Py_NewRef(k < leaves ? field(run->nodes[run->trace->leaf[k]], NODE_VALUE) : Py_None));
    replace(program, PROGRAM_RUNNING, Py_NewRef(Py_True));
    Step *step = fit->step;
    PyObject *late[3] = {NULL, NULL, NULL};  /* an interrupt, which is raised when all is done */
    computing++;
    for (int k = 0; !status && k < fit->steps; k++, step++) {
        status = profiling ? seen_step(run, step) : run_step(run, step);
        if (status == 0) continue;
        int done = is_from_outside() ? has_run(run, step->step) : 0;
        if (!done) {
            rescue(run, step->step);
        } else {                   /* kernels may have overwritten a part of their operands */
            for (int n = 0; n < 3; n++) Py_CLEAR(late[n]);
            PyErr_Fetch(&late[0], &late[1], &late[2]);
            status = 0;
            if (done < 2) k--, step--;
        }
    }
    computing--;
    replace(program, PROGRAM_RUNNING, Py_NewRef(Py_False));
    count_run(run);
    PyObject *flags = run->state == NULL ? NULL : field(run->state, STATE_FLAGS);
    PyObject *list = !status && flags != NULL && PyList_GET_SIZE(flags) ? nodes_of(run) : NULL;
    for (int k = 0; !status && k < fit->outputs; k++) Py_INCREF(run->nodes[fit->kept[k]]);
    for (int k = 0; !status && k < fit->outputs; k++) {
        PyObject *value = value_in(run, fit->output[k]);
        replace(value, VALUE_PROGRAM, Py_NewRef(program));
        settle(run->nodes[fit->kept[k]], value);
    }
    for (int k = 0; !status && k < fit->outputs; k++) Py_DECREF(run->nodes[fit->kept[k]]);
    if (list != NULL) {
        PyObject *done = PyObject_CallFunctionObjArgs(python.flags_reported, program, flags, list, run->trace->order, NULL);
        status = done == NULL ? -1 : 0;
        Py_XDECREF(done);
        Py_DECREF(list);
    }
    if (late[0] != NULL && status < 0) {
        PyObject *type, *value, *trace;
        PyErr_Fetch(&type, &value, &trace);
        PyErr_Restore(late[0], late[1], late[2]);
        postpone_error();
        PyErr_Restore(type, value, trace);
    } else if (late[0] != NULL) {
        PyErr_Restore(late[0], late[1], late[2]);
        status = -1;
    }
    Py_XDECREF(run->registers);
    Py_XDECREF(run->state);
    Py_DECREF(program);
    Py_DECREF(held);
    return status < 0 ? -1 : 1;
}

/* Whether the line of a node that loops compute for others stores its value by now; -1 where Python has to say. */
static int is_stored(PyObject *node) {
    PyObject *site = field(node, NODE_SITE), *number = site == Py_None ? NULL : number_of(site);
    if (number == NULL) return -1;
    PyObject *profile = PyDict_GetItem(python.profiles, number);
    Py_DECREF(number);
    return profile != NULL && field(profile, PROFILE_AGAIN) == Py_True;
}

/* What selects the patterns of a root: its mark and line; a new reference. */
static PyObject *look_of(PyObject *root) {
    PyObject *site = field(root, NODE_SITE), *mark = mark_of(root), *look;
    if (mark == NULL) return NULL;
    if (site == Py_None) return Py_NewRef(mark);
    if ((look = PyTuple_New(3)) != NULL) {
        PyTuple_SET_ITEM(look, 0, Py_NewRef(mark));
        PyTuple_SET_ITEM(look, 1, PyLong_FromVoidPtr(PyTuple_GET_ITEM(site, 0)));
        PyTuple_SET_ITEM(look, 2, Py_NewRef(PyTuple_GET_ITEM(site, 1)));
    }
    return look;
}

/* The patterns that traces of such roots may have, borrowed; NULL where there are none. */
static PyObject *candidates_for(PyObject *const *roots, int count) {
    PyObject *key = count == 1 ? look_of(roots[0]) : PyTuple_New(count);
    for (int k = 0; key != NULL && count > 1 && k < count; k++) {
        PyObject *look = look_of(roots[k]);
        if (look == NULL) Py_CLEAR(key);
        else PyTuple_SET_ITEM(key, k, look);
    }
    PyObject *candidates = key == NULL ? NULL : PyDict_GetItemWithError(python.by_roots, key);
    Py_XDECREF(key);
    return candidates != NULL && PyList_Check(candidates) ? candidates : NULL;
}

/* The trace of these roots and its nodes, if it was met before. */
static Trace *trace_of(PyObject *const *roots, int count, PyObject **nodes) {
    PyObject *candidates = candidates_for(roots, count);
    for (Py_ssize_t k = 0; candidates != NULL && k < PyList_GET_SIZE(candidates); k++) {
        PyObject *native = field(PyList_GET_ITEM(candidates, k), PATTERN_NATIVE);
        if (native == NULL || !Py_IS_TYPE(native, trace_type)) continue;
        if (recognised((Trace *)native, roots, count, nodes)) return (Trace *)native;
        if (PyErr_Occurred()) break;
    }
    return NULL;
}

static int replay_locked(PyObject *const *given, int count, PyObject *settings) {
    PyObject *nodes[MOST_NODES], *roots[MOST_ROOTS];
    memcpy(roots, given, count * sizeof *roots);
    for (;;) {                     /* with what is stored by now beside the roots */
        Trace *trace = trace_of(roots, count, nodes);
        if (trace == NULL) return PyErr_Occurred() ? -1 : 0;
        Run run = {fit_of(trace, nodes, settings), trace, nodes};
        if (run.fit == NULL) return 0;
        int more = 0;
        for (int p = 0; p < run.fit->passing; p++) {
            PyObject *node = nodes[run.fit->passed[p]];
            int stored = is_stored(node);
            if (stored < 0 || count + more == MOST_ROOTS) return 0;
            if (stored) roots[count + more++] = node;
        }
        if (more) {
            count += more;
            continue;
        }
        if (run.fit->program == Py_None) return 0;
        for (int p = 0; p < run.fit->passing; p++) {
            PyObject *noted = PyObject_CallMethodOneArg(python.passed_by, append_name, field(nodes[run.fit->passed[p]], NODE_BORN));
            if (noted == NULL) return -1;
            Py_DECREF(noted);
        }
        PyObject *judged = Py_XNewRef(run.fit->judged);
        int done = run_program(&run);
        if (done > 0 && judged != NULL) was_evaluated(judged);
        Py_XDECREF(judged);
        return done;
    }
}

int replay(PyObject *const *roots, int count) {
    if (!recording || count < 1 || count > MOST_ROOTS || !in_world_of_process() || !PyDict_GET_SIZE(python.by_roots) || !is_plain()) return 0;
    for (int k = 0; k < count; k++)
        if (state_of(roots[k]) & READY || weight_of(roots[k]) < 0) return 0;
    PyObject *settings = settings_now();
    if (settings == NULL) return -1;
    int done = lock();
    if (!done) {
        done = replay_locked(roots, count, settings);
        unlock();
        if (done < 0 && PyErr_ExceptionMatches(PyExc_MemoryError)) {  /* Python finds memory for it, if there is some */
            PyErr_Clear();
            done = 0;
        }
    }
    Py_DECREF(settings);
    if (PyObject_Size(python.left) > 0) {
        PyObject *caught = PyObject_CallNoArgs(python.catch_up);
        if (caught == NULL) return -1;
        Py_DECREF(caught);
    }
    return done;
}

static PyObject *evaluate(PyObject *module, PyObject *list) {
    if (!recording || !PyList_CheckExact(list) || PyList_GET_SIZE(list) > MOST_ROOTS) Py_RETURN_FALSE;
    PyObject *roots[MOST_ROOTS];
    int count = (int)PyList_GET_SIZE(list);
    for (int k = 0; k < count; k++)
        if (!is_node(roots[k] = PyList_GET_ITEM(list, k))) Py_RETURN_FALSE;
    int done = replay(roots, count);
    return done < 0 ? NULL : PyBool_FromLong(done);
}

static PyObject *is_computing(PyObject *module, PyObject *nothing) { return PyBool_FromLong(computing); }

int install_replay(void) {
    struct {
        PyObject **name;
        const char *text;
    } names[] = {{&run_name, "run"}, {&step_name, "step"}, {&site_name, "site"},
                 {&rules_name, "rules"}, {&append_name, "append"}, {&kernels_name, "kernels"}, {&ran_name, "kernels_run"}, {&reused_name, "reused"},
                 {&plans_name, "plans_reused"}, {&flagged_name, "flagged"}, {&team_name, "team"}};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if ((*names[k].name = PyUnicode_InternFromString(names[k].text)) == NULL) return -1;
    return 0;
}

PyMethodDef replay_methods[] = {
    {"trace", make_trace, METH_VARARGS, "How traces of a pattern are recognised."},
    {"fit", add_fit, METH_VARARGS, "The program for such a trace."},
    {"evaluate", evaluate, METH_O, "Give a list of nodes their values, if such a trace was evaluated before; whether it was done."},
    {"is_computing", is_computing, METH_NOARGS, "Whether a program runs now."},
    {NULL}};
