/* Traces are recognised by how their nodes are reached from the roots, without walking them.
 *
 * To compare a trace with one that was walked before, its nodes are fetched along the same steps, and three comparisons decide:
 * their codes, which stand for operations, and the forms of the leaves' geometries; that different steps lead to different nodes, and some to
 * numbers; and that the steps which came to a node a second time, crossings, come to it again. So traces that differ in the numbers of geometries alone are one.
 *
 * The codes and the call sites of the roots select the traces to try. Each has the programs that compute it, by what is alive beside it. A
 * program is bound to the numbers of one trace, known by the marks of its nodes (Node.marked), and is bound to others where a guard says that
 * the planner would decide alike (guards.c).
 */
#include "traces.h"
#include "forms.h"

enum { TRIED = 8, MOST_GEOMETRIES = 1 << 10 };  /* traces for roots that look alike; geometries of a trace that is bound to others */
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
    Py_XDECREF(step->event);
    Py_XDECREF(step->geometry);
    Py_XDECREF(step->wanted);
}

static void end_fit(Fit *fit) {
    for (int k = 0; k < fit->steps; k++) clear_step(&fit->step[k]);
    PyMem_Free(fit->step);
    PyMem_Free(fit->output);
    PyMem_Free(fit->kept);
    PyMem_Free(fit->passed);
    PyMem_Free(fit->alive);
    PyMem_Free(fit->mark);
    drop_motion(&fit->motion);
    Py_XDECREF(fit->settings);
    Py_XDECREF(fit->program);
    Py_XDECREF(fit->shown);
    Py_XDECREF(fit->log);
    Py_XDECREF(fit->births);
    Py_XDECREF(fit->opening);
    Py_XDECREF(fit->finish);
    PyMem_Free(fit);
}

static void end_of_trace(PyObject *self) {
    Trace *trace = (Trace *)self;
    while (trace->fits) end_fit(trace->fit[--trace->fits]);
    for (int k = 0; trace->code != NULL && k < trace->nodes; k++) Py_XDECREF(trace->code[k]);
    int *all[] = {trace->reader, trace->argument, trace->crossing, trace->leaf, trace->order, trace->scalar, trace->uses};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) PyMem_Free(all[k]);
    PyMem_Free(trace->code);
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

/* The form of a node's geometry, borrowed. */
static PyObject *form_of(PyObject *node) {
    PyObject *form = PyObject_GetAttr(NODE(node)->geometry, interned.form);
    Py_XDECREF(form);              /* the geometry has it */
    return form;
}

/* The identity of a node apart from the numbers of its geometry: an operation, or the form of a leaf's geometry. NULL for a leaf on ranks, which is known by its
 * mark, and with an error. Borrowed. */
static PyObject *code_of(PyObject *node) {
    if (!mark_of(node)) return NULL;
    if (!(state_of(node) & READY)) return NODE(node)->code;
    return state_of(node) & DIVIDED ? NULL : form_of(node);
}

/* The nodes of a trace, borrowed, where it has this structure. */
static int recognised(Trace *trace, PyObject *const *roots, int count, PyObject **nodes) {
    if (trace->roots != count) return 0;
    long *likely = trace->fits ? trace->fit[0]->mark : NULL;
    for (int k = 0; k < count; k++) nodes[k] = roots[k];
    for (int k = 0; k < trace->nodes; k++) {
        if (k >= count) {
            nodes[k] = operand_of(nodes[trace->reader[k]], trace->argument[k]);
            if (nodes[k] == NULL || !is_node(nodes[k])) return 0;
        }
        if (likely != NULL && mark_of(nodes[k]) == likely[k]) continue;
        if (code_of(nodes[k]) != trace->code[k] || PyErr_Occurred()) return 0;
    }
    for (int k = 0; k < trace->crossings; k++) {
        int *crossing = trace->crossing + 3 * k;
        if (operand_of(nodes[crossing[0]], crossing[1]) != nodes[crossing[2]]) return 0;
    }
    for (int k = 0; k < trace->scalars; k++)
        if (is_node(operand_of(nodes[trace->scalar[2 * k]], trace->scalar[2 * k + 1]))) return 0;
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

/* True if the program refers to a node beside its trace, or to the memory of its value. */
static int is_alive(PyObject *node, int uses) {
    PyObject *value = NODE(node)->value;
    return Py_REFCNT(node) > uses || (value != Py_None && VALUE(value)->pinned);
}

/* The memory that a step takes. */
static void set_memory(Step *step, PyObject *geometry) {
    Selection where;
    int fits = lies(geometry, &where) && where.axes <= MOST_AXES;
    Py_XSETREF(step->geometry, Py_NewRef(geometry));
    step->dtype = GEOMETRY(geometry)->dtype;
    step->ndim = fits ? where.axes : MOST_AXES + 1;
    step->size = where.size;
    if (fits) memcpy(step->shape, where.shape, sizeof step->shape);
    if (fits) memcpy(step->strides, where.strides, sizeof step->strides);
}

/* The geometries that a plan depends on, borrowed, in the order of planning.sample_of; how many, 0 for more than `most`. */
static int geometries_of(Trace *trace, PyObject **nodes, PyObject **to, int most) {
    int n = 0, whole = trace->nodes;
    if (whole > most) return 0;
    for (int k = 0; k < trace->leaves; k++) to[n++] = NODE(nodes[trace->leaf[k]])->geometry;
    for (int k = 0; k < trace->pending; k++) to[n++] = NODE(nodes[trace->order[k]])->geometry;
    for (int k = 0; k < trace->pending; k++) {
        PyObject *params = NODE(nodes[trace->order[k]])->params;
        for (Py_ssize_t part = 0; part < PyTuple_GET_SIZE(params); part++) {
            if (Py_TYPE(PyTuple_GET_ITEM(params, part)) != Py_TYPE(to[0])) continue;
            if (n == most) return 0;
            to[n++] = PyTuple_GET_ITEM(params, part);
        }
    }
    if (2 * n - whole > most) return 0;
    for (int k = whole, end = n; k < end; k++) to[n++] = GEOMETRY(to[k])->base;
    return n;
}

static PyObject *list_of(PyObject *const *items, int count) {
    PyObject *list = PyList_New(count);
    for (int k = 0; list != NULL && k < count; k++) PyList_SET_ITEM(list, k, Py_NewRef(items[k]));
    return list;
}

static int read_step(Step *step, PyObject *told);

/* Add the places of nodes to a list; of assignments those of the regions. -1 with an error. */
static int add_places(PyObject *list, Trace *trace, const int *numbers, int count, PyObject **nodes, int of_regions) {
    for (int k = 0; k < count; k++) {
        PyObject *node = nodes[numbers[k]], *place = NODE(node)->place, *region = NULL;
        if (of_regions) {
            PyObject *updates = PyObject_GetAttr(NODE(node)->op, interned.is_update);
            Py_XDECREF(updates);
            if (updates != Py_True) {
                if (updates == NULL) return -1;
                continue;
            }
            if (place != Py_None) place = region = PyObject_CallFunctionObjArgs(python.placed_view, place, PyTuple_GET_ITEM(NODE(node)->params, 0), NULL);
        }
        int added = place == NULL ? -1 : PyList_Append(list, place);
        Py_XDECREF(region);
        if (added < 0) return -1;
    }
    return 0;
}

/* The places that a plan depends on, in the order of planning.sample_of; a new reference, NULL with an error. */
static PyObject *places_of(Trace *trace, PyObject **nodes) {
    PyObject *list = PyList_New(0);
    if (list != NULL && (add_places(list, trace, trace->leaf, trace->leaves, nodes, 0) < 0 || add_places(list, trace, trace->order, trace->pending, nodes, 0) < 0 ||
                         add_places(list, trace, trace->order, trace->pending, nodes, 1) < 0))
        Py_CLEAR(list);
    return list;
}

/* True if the leaves on ranks have geometries of these forms, and their shares fill their memory in C order. */
static int have_shares(Trace *trace, PyObject **nodes, PyObject *forms) {
    for (int k = 0; k < trace->leaves; k++) {
        PyObject *leaf = nodes[trace->leaf[k]];
        if (!(state_of(leaf) & DIVIDED)) continue;
        if (form_of(leaf) != PyTuple_GET_ITEM(forms, k)) return 0;
        PyArrayObject *array = memory_in(NODE(leaf)->value);
        npy_intp stride = PyArray_ITEMSIZE(array);
        for (int axis = PyArray_NDIM(array); axis--; stride *= PyArray_DIM(array, axis) > 1 ? PyArray_DIM(array, axis) : 1)
            if (PyArray_STRIDE(array, axis) != stride) return 0;
    }
    return 1;
}

/* Bind the steps that ranks take together to what Python has made of them: the steps, how the program begins and how it ends. -1 with an error. */
static int write_together(Fit *fit, PyObject *bound) {
    PyObject *steps, *opening, *finish;
    if (!PyArg_ParseTuple(bound, "O!OO", &PyList_Type, &steps, &opening, &finish)) return -1;
    for (Py_ssize_t k = 0; k < PyList_GET_SIZE(steps); k++) {
        PyObject *pair = PyList_GET_ITEM(steps, k);
        Step *step = &fit->step[PyLong_AsLong(PyTuple_GET_ITEM(pair, 0))];
        clear_step(step);
        *step = (Step){0};
        if (read_step(step, PyTuple_GET_ITEM(pair, 1)) < 0) return -1;
    }
    Py_XSETREF(fit->opening, Py_NewRef(opening));
    Py_XSETREF(fit->finish, Py_NewRef(finish));
    return 0;
}

/* Write what follows from the geometries and places of a trace into the steps of a program: 1, or 0 where it serves others; -1 with an error. */
static int write_numbers(Trace *trace, Fit *fit, PyObject **nodes) {
    PyObject *geometries[MOST_GEOMETRIES], *pending[MOST_NODES], *bound = NULL;
    const number_t *word;
    int count = fit->motion.told == NULL || !have_shares(trace, nodes, fit->motion.leaves) ? 0 : geometries_of(trace, nodes, geometries, MOST_GEOMETRIES);
    if (!count) return PyErr_Occurred() ? -1 : 0;
    int is_shared = fit->motion.together != Py_None;
    for (int k = 0; k < trace->pending; k++) pending[k] = nodes[trace->order[k]];
    PyObject *places = is_shared ? places_of(trace, nodes) : PyList_New(0), *order = is_shared ? list_of(pending, trace->pending) : NULL;
    PyObject *shown = NULL;
    Sampled given = {geometries, count, places, order};
    int done = PyErr_Occurred() ? -1 : moved(&fit->motion, &given, &word, &bound, &fit->mark[0]);
    if (done < 0 && is_shared && !is_from_outside()) drop_error(), done = 0;
    if (done > 0) fit->mark[0] = 0;  /* an error may come before it is bound to these */
    if (done > 0 && bound != NULL && write_together(fit, bound) < 0) done = -1;
    if (done > 0) shown = Py_BuildValue("(ONO)", fit->program, list_of(geometries, count), places);
    Py_XDECREF(places);
    Py_XDECREF(order);
    Py_XDECREF(bound);
    if (done <= 0) return done;
    if (shown == NULL) return -1;
    Py_XSETREF(fit->shown, shown);
    for (number_t left = *word++; left > 0; left--, word += 2) {
        Step *step = &fit->step[word[0]];
        set_memory(step, geometries[word[1]]);
        if (PyObject_SetAttr(step->wanted, interned.geometry, step->geometry) < 0) return -1;
    }
    for (number_t left = *word++; left > 0; left--, word += 2)
        if (status_of(PyObject_CallFunctionObjArgs(fit->motion.again, fit->step[word[0]].step, nodes[trace->order[word[1]]], NULL)) < 0) return -1;
    fit->is_moved = 1;
    for (int k = 0; k < trace->nodes; k++) fit->mark[k] = mark_of(nodes[k]);
    return 1;
}

/* Bind a program to the geometries of a trace, if it is still among those of the trace. Handlers of signals may look for others meanwhile. */
static int bind(Trace *trace, Fit *fit, PyObject **nodes) {
    int at = 0;
    while (at < trace->fits && trace->fit[at] != fit) at++;
    if (at == trace->fits) return 0;
    set_running(fit->program, Py_True);
    int done = write_numbers(trace, fit, nodes);
    set_running(fit->program, Py_False);
    return done;
}

/* True if a program is for these numbers; one that passes values by is for all. */
static int is_bound(Trace *trace, Fit *fit, PyObject **nodes) {
    int k = fit->program == Py_None ? trace->nodes : 0;
    while (k < trace->nodes && fit->mark[k] == mark_of(nodes[k])) k++;
    return k == trace->nodes;
}

/* The program for a trace with these nodes alive, `alive` if it is given; NULL with or without an error. */
static Fit *fit_where(Trace *trace, PyObject **nodes, PyObject *settings, const char *alive) {
    Fit *others[FITS], *fit = NULL;
    int found = 0, done = 0, at = 0;
    for (int k = 0; k < trace->fits && !done; k++) {
        fit = trace->fit[k];
        if (!is_alike(fit->settings, settings) || is_running(fit)) continue;
        int n = trace->roots;
        while (n < trace->nodes && fit->alive[n] == (alive == NULL ? is_alive(nodes[n], trace->uses[n]) : alive[n])) n++;
        if (n < trace->nodes) continue;
        done = is_bound(trace, fit, nodes);
        if (!done) others[found++] = fit;
    }
    for (int k = 0; !done && k < found; k++) done = bind(trace, fit = others[k], nodes);
    if (done <= 0) return NULL;
    while (trace->fit[at] != fit) at++;
    memmove(trace->fit + 1, trace->fit, at * sizeof fit);
    return trace->fit[0] = fit;
}

Fit *fit_of(Trace *trace, PyObject **nodes, PyObject *settings) { return fit_where(trace, nodes, settings, NULL); }

int key_of_roots(PyObject *const *roots, int count, size_t *key) {
    key[0] = key[1] = key[2] = (size_t)count;
    for (int k = 0; k < count; k++) {
        PyObject *site = NODE(roots[k])->site;
        if (!mark_of(roots[k])) return -1;
        key[0] = mixed(key[0], (size_t)NODE(roots[k])->code);
        for (int n = 0; n < arity_of(roots[k]); n++) {
            PyObject *arg = argument_of(roots[k], n);
            if (!is_node(arg)) continue;
            if (!mark_of(arg)) return -1;
            key[0] = mixed(key[0], state_of(arg) & READY ? 1 : (size_t)NODE(arg)->code);
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
    if ((trace->code = PyMem_Calloc(trace->nodes + 1, sizeof *trace->code)) == NULL) return PyErr_NoMemory(), -1;
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
        trace->code[k] = Py_XNewRef(code_of(nodes[k]));
        if (PyErr_Occurred()) return -1;
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
    step->wanted = Py_NewRef(wanted);
    set_memory(step, extra);
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

/* The nodes of a trace that its roots have; 0 with an error where it is of others. */
static int nodes_of(Trace *trace, PyObject *roots, PyObject **nodes) {
    if (recognised(trace, PySequence_Fast_ITEMS(roots), (int)PyList_GET_SIZE(roots), nodes)) return 1;
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "a trace is of its roots");
    return 0;
}

/* is_taught(trace, roots, alive, settings): whether there is a program for such a trace. */
static PyObject *ask(PyObject *module, PyObject *args) {
    PyObject *self, *roots, *given, *settings, *nodes[MOST_NODES];
    if (!PyArg_ParseTuple(args, "O!O!O!O", trace_type, &self, &PyList_Type, &roots, &PyBytes_Type, &given, &settings)) return NULL;
    Trace *trace = (Trace *)self;
    char *alive = nodes_of(trace, roots, nodes) ? alive_in(trace, given) : NULL;
    Fit *fit = alive == NULL ? NULL : fit_where(trace, nodes, settings, alive);
    PyMem_Free(alive);
    return alive == NULL || PyErr_Occurred() ? NULL : PyBool_FromLong(fit != NULL);
}

/* Add a program to a trace; a full one drops the program that served longest ago, -1 if that runs. */
static int add_to(Trace *trace, Fit *fit) {
    if (trace->fits == FITS) {
        Fit *last = trace->fit[FITS - 1];
        if (is_running(last)) return -1;
        trace->fits--;
        end_fit(last);
    }
    memmove(trace->fit + 1, trace->fit, trace->fits++ * sizeof fit);
    trace->fit[0] = fit;
    return 0;
}

/* fit(trace, roots, alive, settings, program, registers, steps, outputs, kept, passing, motion, log, births, opening, finish): a program for such a
 * trace. */
static PyObject *add_fit(PyObject *module, PyObject *args) {
    PyObject *self, *roots, *alive, *settings, *program, *steps, *outputs, *kept, *passing, *motion, *log, *births, *opening, *finish, *nodes[MOST_NODES];
    int registers;
    if (!PyArg_ParseTuple(args, "O!O!O!OOiO!O!O!O!OOO!OO", trace_type, &self, &PyList_Type, &roots, &PyBytes_Type, &alive, &settings, &program, &registers,
                          &PyTuple_Type, &steps, &PyTuple_Type, &outputs, &PyTuple_Type, &kept, &PyTuple_Type, &passing, &motion, &log,
                          &PyTuple_Type, &births, &opening, &finish))
        return NULL;
    Trace *trace = (Trace *)self;
    Fit *fit = nodes_of(trace, roots, nodes) ? PyMem_Calloc(1, sizeof *fit) : NULL;
    if (fit == NULL) return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    fit->settings = Py_NewRef(settings);
    fit->program = Py_NewRef(program);
    fit->shown = Py_NewRef(program);
    fit->registers = registers;
    fit->alive = alive_in(trace, alive);
    fit->output = integers(outputs, &fit->outputs);
    fit->kept = positions_in(trace, kept, &fit->outputs);
    fit->passed = positions_in(trace, passing, &fit->passing);
    fit->mark = PyMem_Calloc(trace->nodes + 1, sizeof *fit->mark);
    for (int k = 0; fit->mark != NULL && k < trace->nodes; k++) fit->mark[k] = mark_of(nodes[k]);
    if (log != Py_None) {
        fit->log = Py_NewRef(log);
        fit->births = Py_NewRef(births);
        fit->opening = Py_NewRef(opening);
        fit->finish = Py_NewRef(finish);
    }
    fit->step = PyMem_Calloc(PyTuple_GET_SIZE(steps) + 1, sizeof(Step));
    if (fit->step == NULL || fit->mark == NULL) PyErr_NoMemory();
    for (Py_ssize_t k = 0; !PyErr_Occurred() && k < PyTuple_GET_SIZE(steps); k++, fit->steps++)
        read_step(&fit->step[k], PyTuple_GET_ITEM(steps, k));
    if (PyErr_Occurred() || read_motion(&fit->motion, motion) < 0 || add_to(trace, fit) < 0) end_fit(fit);
    if (PyErr_Occurred()) return NULL;
    Py_RETURN_NONE;
}

PyMethodDef trace_methods[] = {
    {"trace", make_trace, METH_VARARGS, "The trace of a walk, to be recognised."},
    {"is_taught", ask, METH_VARARGS, "Whether there is a program for such a trace."},
    {"fit", add_fit, METH_VARARGS, "The program for such a trace."},
    {NULL}};
