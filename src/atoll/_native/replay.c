/* The native evaluation: a trace that was evaluated before is recognised (traces.c), and its program run, without entering Python.
 *
 * Python plans, compiles and runs the program of a trace the first times (lazy.evaluation), and then tells its steps. For the next such
 * trace memory is taken from arrays that have just ended, kernels are called, and nodes get their values. A step of another
 * kind is run by Python. Whatever does not fit is left to Python altogether.
 */
#include <limits.h>
#include "replay.h"
#include "exchange.h"
#include "forms.h"
#include "placed.h"
#include "spans.h"
#include "stepwise.h"

enum { ALONE, WITHOUT_LOCK, SHARED };  /* how kernels run: quickly, without the interpreter lock, with other threads */
enum { COUNTED = 64 };             /* runs after which drafts are told that they have worked */

/* True if nothing but evaluating is to be done: what evaluate.evaluate asks. */
static int is_plain(void) {
    if (shown || !is_calm()) return 0;
    PyObject *list = field(python.calm, CALM_FILTERS);
    if (!PyList_Check(list) || !PyList_GET_SIZE(list) || PyList_GET_ITEM(list, 0) != field(python.calm, CALM_FIRST)) return 0;
    if (PyLong_AsUnsignedLong(field(python.calm, CALM_THREAD)) == PyThread_get_thread_ident()) return 1;
    PyObject *rules = PyObject_GetAttr(python.float_rules, interned.rules);
    int plain = rules == Py_None || rules == field(python.calm, CALM_RULES);
    Py_XDECREF(rules);
    if (rules == NULL) PyErr_Clear();
    return plain;
}

/* ---- running a program */

static _Thread_local Run *running = NULL;  /* the innermost one of this thread */

/* True if a run of this thread computes a node, or may have written over its value. */
static int is_in_work(PyObject *node) {
    for (Run *run = running; run != NULL; run = run->outer)
        for (int k = 0; k < run->trace->nodes; k++)
            if (run->nodes[k] == node && !(state_of(node) & READY && run->fit->alive[k])) return 1;
    return 0;
}

/* Refuse to evaluate what a run of this thread is computing: handlers of signals and finalisers come in its middle, where it may have
 * written over operands. -1 with an error. */
static int refuse_what_is_in_work(PyObject *const *roots, int count) {
    PyObject *seen = PySet_New(NULL), *stack = PyList_New(0);
    int status = seen == NULL || stack == NULL ? -1 : 0;
    for (int k = 0; !status && k < count; k++) status = PyList_Append(stack, roots[k]);
    while (!status && PyList_GET_SIZE(stack)) {
        Py_ssize_t last = PyList_GET_SIZE(stack) - 1;
        PyObject *node = Py_NewRef(PyList_GET_ITEM(stack, last));
        status = PyList_SetSlice(stack, last, last + 1, NULL);
        if (!status && is_in_work(node)) {
            PyErr_SetString(PyExc_RuntimeError, "a handler of signals, or a finaliser, looks at an array in the middle of the evaluation that computes it, where "
                                                "it has no value; let it set a flag, and look at the array when the program sees that");
            status = -1;
        }
        for (int k = 0; !status && k < arity_of(node); k++) {
            PyObject *arg = argument_of(node, k);
            int known = is_node(arg) ? PySet_Contains(seen, arg) : 1;
            if (known < 0 || (!known && (PySet_Add(seen, arg) < 0 || PyList_Append(stack, arg) < 0))) status = -1;
        }
        Py_DECREF(node);
    }
    Py_XDECREF(seen);
    Py_XDECREF(stack);
    return status;
}

/* The line that recorded what a step of NumPy's computes, borrowed: warnings name it. */
static PyObject *line_of(Run *run, Step *step) {
    if (step->kind != STEP_PYTHON || !step->count) return Py_None;
    return NODE(run->nodes[run->trace->order[step->registers[0]]])->site;
}

static int by_python(Run *run, Step *step) {
    PyObject *state = run_state(run, step->step);
    if (state != NULL && PyObject_SetAttr(state, interned.site, line_of(run, step)) < 0) return -1;
    return state == NULL ? -1 : status_of(PyObject_CallMethodOneArg(step->step, interned.run, state));
}

/* Let Python look at the floating-point flags of a step of kernels; -1 with an error. */
static int note_flags(Run *run, PyObject *step) {
    PyObject *state = run_state(run, step);
    return state == NULL ? -1 : status_of(PyObject_CallMethodOneArg(step, interned.flagged, state));
}

/* NumPy's memory for a small array in order; NULL without an error for others. */
static PyObject *small_memory(Step *step) {
    if (step->size >= limit) return NULL;
    Py_INCREF(step->dtype);
    PyArrayObject *array = (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, step->dtype, step->ndim, step->shape, NULL, NULL, 0, NULL);
    if (array != NULL && memcmp(PyArray_STRIDES(array), step->strides, step->ndim * sizeof *step->strides)) Py_CLEAR(array);
    return (PyObject *)array;
}

static int allocate(Run *run, Step *step) {
    PyObject *array = step->ndim <= MOST_AXES ? waiting_memory(step->dtype, step->ndim, step->shape, step->strides) : NULL, *value = NULL;
    run->reused += array != NULL;
    if (array == NULL && step->ndim <= MOST_AXES) array = small_memory(step);
    if (array != NULL) value = new_value(array, 1);
    else if (PyErr_Occurred()) return -1;
    if (value == NULL) value = PyObject_CallFunctionObjArgs(python.allocate, step->geometry, step->wanted, NULL);
    if (value == NULL) return -1;
    set_register(run, step->registers[0], value);
    return 0;
}

/* True if the settings let one thread compute alone. */
static int is_one_thread(void) {
    PyObject *settings = settings_now(), *threads = settings == NULL ? NULL : field(settings, SETTINGS_THREADS);
    int alone = threads != NULL && PyLong_CheckExact(threads) && PyLong_AsLong(threads) == 1;
    Py_XDECREF(settings);
    return alone;
}

static int kernels(Run *run, Step *step) {
    int way = step->release == SHARED && is_one_thread() ? WITHOUT_LOCK : step->release;
    if (PyList_GET_SIZE(step->wanted) && !(++step->runs % COUNTED) && status_of(PyObject_CallMethod(step->step, "worked", "i", COUNTED)) < 0) return -1;  /* drafts have worked */
    for (int k = 0; k < step->count; k++)
        step->starts[k] = (int64_t)(intptr_t)PyArray_DATA((PyArrayObject *)VALUE(value_in(run, step->registers[k]))->array);
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
    if (way == SHARED) {
        PyObject *team = PyObject_CallMethodNoArgs(step->step, interned.team);
        int known = team != NULL && PyArg_ParseTuple(team, "LLL", &launches, &block, &threads);
        Py_XDECREF(team);
        if (!known) return -1;
    }
    PyThreadState *released = way ? PyEval_SaveThread() : NULL;
    if (way == SHARED) {
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
    return flags ? note_flags(run, step->step) : 0;
}

/* The sum of few partial results, or the only one where the step has its dtype. */
static int add(Run *run, Step *step) {
    double total = 0;
    for (int k = 0; step->dtype == NULL && k < step->release; k++) total += step->partials[k];
    if (total - total != 0) return by_python(run, step);
    PyArray_Descr *dtype = step->dtype == NULL ? PyArray_DescrFromType(NPY_DOUBLE) : (PyArray_Descr *)Py_NewRef(step->dtype);
    PyObject *array = PyArray_NewFromDescr(&PyArray_Type, dtype, 0, NULL, NULL, NULL, 0, NULL);
    if (array != NULL) memcpy(PyArray_DATA((PyArrayObject *)array), step->dtype == NULL ? &total : step->partials, PyArray_ITEMSIZE((PyArrayObject *)array));
    PyObject *value = new_value(array, 0);
    if (value == NULL) return -1;
    set_register(run, step->registers[0], value);
    return 0;
}

static int run_step(Run *run, Step *step) {
    int (*together)(Run *, Step *) = NULL;
    switch (step->kind) {
        case STEP_ALLOCATE: return allocate(run, step);
        case STEP_KERNELS: return kernels(run, step);
        case STEP_ADD: return add(run, step);
        case STEP_COPY: {
            PyArrayObject *from = (PyArrayObject *)VALUE(value_in(run, step->registers[1]))->array;
            if (allocate(run, step) < 0) return -1;
            return PyArray_CopyInto((PyArrayObject *)VALUE(value_in(run, step->registers[0]))->array, from);
        }
        case STEP_RELEASE:
            for (int k = 0; k < step->count; k++) set_register(run, step->registers[k], Py_NewRef(Py_None));
            return 0;
        case STEP_SHARE: {
            PyObject *value = value_in(run, step->registers[1]);
            forget_what_is_known(value);
            set_register(run, step->registers[0], Py_NewRef(value));
            return 0;
        }
        case STEP_START: together = start_exchange; break;
        case STEP_FINISH: together = finish_exchange; break;
        case STEP_ACROSS: together = add_across; break;
    }
    int done = together == NULL || profiling ? 0 : together(run, step);
    return done ? (done < 0 ? -1 : 0) : by_python(run, step);
}

static PyObject *nodes_at(Run *run, const int *places, int count) {
    PyObject *list = PyList_New(count);
    for (int k = 0; list != NULL && k < count; k++) PyList_SET_ITEM(list, k, Py_NewRef(run->nodes[places == NULL ? k : places[k]]));
    return list;
}

/* The pending nodes of a trace, in the order of its walk. */
static PyObject *order_of(Run *run) { return nodes_at(run, run->trace->order, run->trace->pending); }

/* The same where a profile is recorded. */
static int seen_step(Run *run, Step *step) {
    if (step->kind != STEP_KERNELS && step->kind != STEP_PYTHON && step->kind != STEP_ADD && step->kind < STEP_START) return run_step(run, step);
    if (step->session != session) {
        PyObject *list = order_of(run);
        PyObject *event = list == NULL ? NULL : PyObject_CallFunctionObjArgs(python.event_of, step->step, run->fit->program, list, NULL);
        Py_XDECREF(list);
        if (event == NULL) return -1;
        Py_XSETREF(step->event, event);
        step->session = session;
    }
    if (step->event == Py_None) return run_step(run, step);
    begin_span();
    int status = run_step(run, step);
    Raised raised = taken_error();
    end_span(step->event);
    PyErr_Clear();
    raise_again(raised);
    return status;
}

/* The kernels that steps run by Python have counted. */
static long kernels_in(PyObject *state) {
    PyObject *number = state == NULL ? NULL : PyObject_GetAttr(state, interned.kernels);
    long amount = number == NULL ? 0 : PyLong_AsLong(number);
    Py_XDECREF(number);
    return amount;
}

/* Count the run in atoll.stats(). */
static void count_run(Run *run) {
    Raised raised = taken_error();
    PyObject *counters = counters_now();
    if (counters != NULL) {
        int64_t *counts = PyArray_DATA((PyArrayObject *)field(counters, COUNTERS_RUNS));  /* in the order of statistics.RUNS */
        counts[0] += run->kernels + kernels_in(run->state);
        counts[1] += run->reused;
        counts[2]++;
        counts[3] += run->messages;
        counts[4] += run->moved;
        counts[5] += run->fit->is_moved;
        run->fit->is_moved = 0;
    }
    Py_XDECREF(counters);
    PyErr_Clear();
    raise_again(raised);
}

/* A step has failed: the stored values are kept. The error stays set. */
static void rescue(Run *run, PyObject *step) {
    Raised raised = taken_exception();
    PyObject *state = run_state(run, step), *list = order_of(run);
    if (state == NULL || list == NULL || status_of(PyObject_CallFunctionObjArgs(python.rescued, run->fit->program, state, list, raised.error, NULL)) < 0) drop_error();
    Py_XDECREF(list);
    raise_again(raised);
}

/* True if kernels of a run have run, 2 if those of this step, which an interrupt has then left. */
static int has_run(Run *run, PyObject *step) {
    PyObject *done = run->state == NULL ? Py_None : field(run->state, STATE_DONE);
    if (run->done != step && done != step) return run->done != NULL || done != Py_None;
    Raised raised = taken_error();
    if (note_flags(run, step) < 0) drop_error();
    raise_again(raised);
    return 2;
}

static int computing = 0;          /* programs that run now */

/* Let ranks begin a program together: 0, or 1 where they have computed the values in another way; -1 with an error. */
static int begin(Run *run, PyObject *settings) {
    Trace *trace = run->trace;
    int done = begin_together(run, settings);
    if (done) return done < 0 ? -1 : 0;
    PyObject *state = run_state(run, NULL), *leaves = nodes_at(run, trace->leaf, trace->leaves), *order = order_of(run);
    PyObject *roots = nodes_at(run, NULL, trace->roots), *begun = NULL;
    if (state != NULL && leaves != NULL && order != NULL && roots != NULL)
        begun = PyObject_CallFunctionObjArgs(python.begun, run->fit->program, state, leaves, order, roots, settings, NULL);
    Py_XDECREF(leaves);
    Py_XDECREF(order);
    Py_XDECREF(roots);
    Py_XDECREF(begun);
    return begun == NULL ? -1 : begun == Py_False;
}

/* Give a value its birth, the number by which ranks compare it: a hash of their log. */
static int give_birth(PyObject *node, PyObject *log, PyObject *birth) {
    PyObject *hash = PyObject_GetAttr(log, interned.hash), *pair = hash == NULL ? NULL : PyTuple_Pack(2, hash, birth);
    if (pair != NULL) NODE(node)->born = PyObject_Hash(pair);
    Py_XDECREF(hash);
    Py_XDECREF(pair);
    return PyErr_Occurred() ? -1 : 0;
}

/* Run the steps. An interrupt after kernels have run is raised when all is done, but on ranks at once. */
static int run_steps(Run *run, Raised *late) {
    Fit *fit = run->fit;
    Step *step = fit->step;
    int status = 0;
    for (int k = 0; !status && k < fit->steps; k++, step++) {
        status = profiling ? seen_step(run, step) : run_step(run, step);
        if (status == 0) continue;
        int done = fit->log == NULL && is_from_outside() ? has_run(run, step->step) : 0;
        if (!done) {
            rescue(run, step->step);
        } else {                   /* kernels may have overwritten a part of their operands */
            drop_raised(late);
            *late = taken_error();
            status = 0;
            if (done < 2) k--, step--;
        }
    }
    return status;
}

/* Give the nodes that are stored their values, and issue the warnings for flags. */
static int settle_all(Run *run) {
    Fit *fit = run->fit;
    int status = 0;
    PyObject *flags = run->state == NULL ? NULL : field(run->state, STATE_FLAGS);
    PyObject *list = flags != NULL && PyList_GET_SIZE(flags) ? order_of(run) : NULL;
    for (int k = 0; k < fit->outputs; k++) {
        PyObject *value = value_in(run, fit->output[k]), *node = run->nodes[fit->kept[k]];
        Py_XSETREF(VALUE(value)->program, Py_NewRef(fit->shown));
        settle(node, value);
        if (fit->log != NULL && give_birth(node, fit->log, PyTuple_GET_ITEM(fit->births, k)) < 0) status = -1;
    }
    if (list != NULL) {
        if (status_of(PyObject_CallFunctionObjArgs(python.flags_reported, fit->program, run->state, list, NULL)) < 0) status = -1;
        Py_DECREF(list);
    }
    return status;
}

/* The distance of an operation from the end of its trace: see lazy.evaluation.distances. */
static int distance_of(Run *run, int place) {
    int distance = 0, k = run->trace->pending;
    do {
        Node *node = NODE(run->nodes[run->trace->order[--k]]);
        distance += node->place != Py_None && !node->passed;
    } while (run->trace->order[k] != place);
    return distance;
}

/* Note that ranks compute the operations of a trace, with their distances. */
static void pass_by(Run *run) {
    for (int k = run->trace->pending, distance = 0; k--;) {
        Node *node = NODE(run->nodes[run->trace->order[k]]);
        distance += node->place != Py_None && !node->passed;
        if (!node->passed) node->passed = distance ? distance : 1;
    }
}

static int run_program(Run *run, PyObject *settings) {
    Fit *fit = run->fit;
    PyObject *program = Py_NewRef(fit->program), *held = Py_NewRef((PyObject *)run->trace), *finish = Py_XNewRef(fit->finish), *opening = Py_XNewRef(fit->opening), *log = Py_XNewRef(fit->log);
    int status = 0, leaves = run->trace->leaves;
    for (int k = 0; k < run->trace->nodes; k++) Py_INCREF(run->nodes[k]);  /* which handlers of signals and finalisers may evaluate meanwhile */
    if ((run->registers = PyList_New(fit->registers)) == NULL) status = -1;
    for (int k = 0; !status && k < fit->registers; k++)
        PyList_SET_ITEM(run->registers, k, Py_NewRef(k < leaves ? NODE(run->nodes[run->trace->leaf[k]])->value : Py_None));
    set_running(program, Py_True);
    run->outer = running;
    running = run;
    Raised late = {NULL};
    computing++;
    if (!status && fit->log != NULL) status = begin(run, settings);
    int runs = !status;
    if (runs && log != NULL) pass_by(run);
    if (runs) status = run_steps(run, &late);
    computing--;
    set_running(program, Py_False);
    if (runs) count_run(run);
    if (!status) status = settle_all(run);
    running = run->outer;
    if (late.type != NULL) {
        Raised raised = taken_error();
        raise_again(late);
        if (status < 0) {
            postpone_error();
            raise_again(raised);
        }
        status = -1;
    }
    int finished = status || finish == NULL || opening == Py_None ? 0 : finish_together(opening, log);
    if (finished < 0) status = -1;
    if (!status && !finished && finish != NULL) status = status_of(PyObject_CallNoArgs(finish));
    Py_XDECREF(run->registers);
    Py_XDECREF(run->state);
    Py_XDECREF(finish);
    Py_XDECREF(opening);
    Py_XDECREF(log);
    for (int k = 0; k < run->trace->nodes; k++) Py_DECREF(run->nodes[k]);
    Py_DECREF(program);
    Py_DECREF(held);
    return status < 0 ? -1 : 1;
}

/* True if the line of a node that loops compute for others stores its value by now; -1 where Python has to say. */
static int is_stored(Run *run, int place) {
    PyObject *node = run->nodes[place], *site = NODE(node)->site, *number = site == Py_None ? NULL : number_of(site);
    if (number == NULL) return -1;
    PyObject *on = NODE(node)->place;
    PyObject *lines = on == Py_None ? Py_NewRef(python.stored_lines) : PyObject_GetAttr(field(on, PLACE_LOG), interned.stored_lines);
    PyObject *distances = lines == NULL ? NULL : PyDict_GetItemWithError(lines, number), *distance = NULL;
    int stored = distances != NULL;
    if (stored && on != Py_None) stored = (distance = PyLong_FromLong(distance_of(run, place))) == NULL ? -1 : PySet_Contains(distances, distance);
    Py_XDECREF(distance);
    Py_XDECREF(lines);
    Py_DECREF(number);
    return PyErr_Occurred() ? -1 : stored;
}

/* Compute nodes without a program, as long as that is not worth one. */
static int by_steps(PyObject *const *roots, int count) {
    size_t key[3];
    if (profiling) return 0;
    return key_of_roots(roots, count, key) < 0 ? -1 : step_through(roots, count, mixed(mixed(key[0], key[1]), key[2]));
}

/* True if a node that ranks have passed by is read by an operation that was recorded since then. */
static int is_read_again(Run *run, int place) {
    Trace *trace = run->trace;
    if (!NODE(run->nodes[place])->passed || place < trace->roots) return 0;
    if (!NODE(run->nodes[trace->reader[place]])->passed) return 1;
    for (int *crossing = trace->crossing, *end = crossing + 3 * trace->crossings; crossing < end; crossing += 3)
        if (crossing[2] == place && !NODE(run->nodes[crossing[0]])->passed) return 1;
    return 0;
}

/* `retried`: whether Python may try again after an error. */
static int replay_locked(PyObject *const *given, int count, PyObject *settings, int *retried) {
    PyObject *nodes[MOST_NODES], *roots[MOST_ROOTS];
    memcpy(roots, given, count * sizeof *roots);
    int picked = count == 1 && !profiling ? pick_masked(roots[0]) : 0;
    if (picked) return picked;
    for (;;) {                     /* with what is stored by now beside the roots */
        Trace *trace = trace_of(roots, count, nodes);
        Run run = {trace == NULL ? NULL : fit_of(trace, nodes, settings), trace, nodes};
        if (run.fit == NULL) return PyErr_Occurred() ? -1 : by_steps(roots, count);
        int more = 0;
        for (int p = 0; p < run.fit->passing; p++) {
            PyObject *node = nodes[run.fit->passed[p]];
            int again = run.fit->log != NULL ? is_read_again(&run, run.fit->passed[p]) : NODE(node)->passed;
            int stored = !again ? is_stored(&run, run.fit->passed[p]) : status_of(PyObject_CallOneArg(python.store_line, node)) < 0 ? -1 : 1;
            if (stored < 0 || count + more == MOST_ROOTS) return PyErr_Occurred() ? -1 : 0;
            if (stored) roots[count + more++] = node;
        }
        if (more) {
            count += more;
            continue;
        }
        if (run.fit->program == Py_None) return 0;
        for (int p = 0; run.fit->log == NULL && p < run.fit->passing; p++) NODE(nodes[run.fit->passed[p]])->passed = 1;
        *retried = run.fit->log == NULL;  /* ranks have noted the step */
        return run_program(&run, settings);
    }
}

/* True if this thread is a simulated rank: its traces are its own, and it waits for no lock of the process. */
static int is_simulated(void) {
    if (in_world_of_process()) return 0;
    PyObject *simulated = PyObject_GetAttr(python.turn, interned.simulated);
    Py_XDECREF(simulated);
    return simulated != Py_False;
}

int replay(PyObject *const *roots, int count) {
    if (running != NULL && refuse_what_is_in_work(roots, count) < 0) return -1;
    if (!recording || count < 1 || count > MOST_ROOTS || is_simulated() || !is_plain()) return 0;
    for (int k = 0; k < count; k++)
        if (state_of(roots[k]) & READY || weight_of(roots[k]) < 0) return 0;
    PyObject *settings = settings_now();
    if (settings == NULL) return -1;
    int done = lock(), retried = 1;
    if (!done) {
        int collects = PyGC_Disable();  /* finalisers would come in the middle */
        done = replay_locked(roots, count, settings, &retried);
        if (collects) PyGC_Enable();
        unlock();
        if (done < 0 && retried && PyErr_ExceptionMatches(PyExc_MemoryError)) {  /* Python finds memory for it, if there is some */
            PyErr_Clear();
            done = 0;
        }
    }
    Py_DECREF(settings);
    return PyObject_Size(python.left) > 0 && status_of(PyObject_CallNoArgs(python.catch_up)) < 0 ? -1 : done;
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

int evaluate_again(PyObject *node) { return replay(&node, 1); }

PyMethodDef replay_methods[] = {
    {"evaluate", evaluate, METH_O, "Give a list of nodes their values, if such a trace was evaluated before; whether it was done."},
    {"is_computing", is_computing, METH_NOARGS, "Whether a program runs now."},
    {NULL}};
