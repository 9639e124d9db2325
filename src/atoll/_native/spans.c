/* The native side of the profiler (context/profiler.py): spans of time, by the line of the user's program that they belong to.
 *
 * A span begins and ends; spans nest. What a span took without those inside it is added to the totals of its line. The span
 * itself becomes an event of the timeline if it is long enough. Totals and events are in memory that Python has mapped,
 * perhaps from a file: what is written there survives the end of the process, whatever that is.
 */
#include "spans.h"
#include "call_sites.h"

/* As context.profiler lists them. */
enum { MAGIC, VERSION, COUNT, THRESHOLD, LINES, PEERS, CAPACITY, LATEST, HEADER };
enum { TIMES, NANOSECONDS, BYTES, COLUMNS };
typedef struct {
    int64_t start, length, bytes;
    int32_t kind, line, name, thread, peer, count;
} Event;

int profiling = 0, session = 0;
static Py_buffer memory;
static int64_t *header, *totals, *peers;
static Event *events;
static PyObject *line_at, *number_of_name, *thin;  /* of Python */
enum { DEEPEST = 64 };
typedef struct {
    int64_t start, inner;
} Open;
static _Thread_local struct {
    Open open[DEEPEST];
    int depth, calls, line, thread, session;
} here;
static int threads = 0;

/* The open spans of this thread belong to this profile. */
static void enter_session(void) {
    if (here.session == session) return;
    here.session = session;
    here.depth = here.calls = here.line = 0;
    here.thread = threads++;
}

/* ---- numbers */

static Forms *known = NULL;        /* the numbers of call sites and names */

/* The number of a call site or a name in the profile; Python gives it once. */
static int number_for(PyObject *ask, PyObject *thing) {
    size_t key[2] = {(size_t)thing, (size_t)ask};
    Raised raised = taken_error();
    PyObject *number = Py_XNewRef(found_in(known, key, 2));
    if (number == NULL && (number = PyObject_CallOneArg(ask, thing)) != NULL && keep_in(&known, key, 2, Py_NewRef(thing), number) < 0) PyErr_Clear();
    int found = number == NULL ? 0 : (int)PyLong_AsLong(number);
    Py_XDECREF(number);
    drop_error();
    raise_again(raised);
    return found < 0 ? 0 : found;
}

/* The number of the line of the user's program that is at work. */
static int line_here(void) {
    Raised raised = taken_error();
    PyObject *site = site_here();
    int line = site == NULL ? 0 : number_for(line_at, site);
    Py_XDECREF(site);
    drop_error();
    raise_again(raised);
    return line;
}

/* ---- spans */

static void add(int kind, int line, int64_t spent, int64_t bytes, int64_t count) {
    if (line < 0 || line >= header[LINES]) line = 0;
    int64_t *total = totals + ((int64_t)line * SPAN_KINDS + kind) * COLUMNS;
    total[TIMES] += count;
    total[NANOSECONDS] += spent;
    total[BYTES] += bytes;
}

static void note_event(int kind, int line, int name, int64_t start, int64_t length, int64_t bytes, int peer, int count) {
    header[LATEST] = start + length;
    if (length < header[THRESHOLD]) return;
    if (header[COUNT] >= header[CAPACITY]) {
        Raised raised = taken_error();
        if (status_of(PyObject_CallNoArgs(thin)) < 0) drop_error();
        raise_again(raised);
        if (!profiling || header[COUNT] >= header[CAPACITY] || length < header[THRESHOLD]) return;
    }
    events[header[COUNT]] = (Event){start, length, bytes, kind, line, name, here.thread, peer, count};
    header[COUNT]++;
}

void begin_span(void) {
    enter_session();
    if (here.depth < DEEPEST) here.open[here.depth] = (Open){now(), 0};
    here.depth++;
}

/* End the innermost span; its length, and the time outside its inner spans. */
static int64_t closed(int64_t *start, int64_t *length) {
    if (!profiling || here.session != session || here.depth <= 0) return -1;
    if (--here.depth >= DEEPEST) return -1;
    Open *open = &here.open[here.depth];
    *start = open->start;
    *length = now() - open->start;
    if (here.depth) here.open[here.depth - 1].inner += *length;
    return *length - open->inner;
}

int begin_call(void) {
    enter_session();
    if (here.calls++) return session;
    here.line = line_here();
    begin_span();
    return session;
}

static int is_outermost(int begun) {
    if (!profiling || begun != session || here.session != session) return 0;
    return --here.calls == 0;
}

static void end_outermost(int name) {
    int64_t start, length, own = closed(&start, &length);
    if (own < 0) return;
    add(CALL_SPAN, here.line, own, 0, 1);
    note_event(CALL_SPAN, here.line, name, start, length, 0, -1, 1);
    here.line = 0;
}

void end_call(int begun, PyObject *name) {
    if (is_outermost(begun)) end_outermost(number_for(number_of_name, name));
}

void end_span(PyObject *event) {
    int64_t start, length, own = closed(&start, &length);
    if (own < 0) return;
    int kind, name, count, peer;
    long long bytes;
    PyObject *lines, *parts;
    if (!PyArg_ParseTuple(event, "iiLiO!O!i", &kind, &name, &bytes, &count, &PyTuple_Type, &lines, &PyTuple_Type, &parts, &peer)) return;
    Py_ssize_t n = PyTuple_GET_SIZE(lines);
    int first = n ? (int)PyLong_AsLong(PyTuple_GET_ITEM(lines, 0)) : here.calls ? here.line : line_here();
    if (!n) add(kind, first, own, bytes, count);
    for (Py_ssize_t k = 0; k < n; k++) {
        double part = PyFloat_AsDouble(PyTuple_GET_ITEM(parts, k));
        add(kind, (int)PyLong_AsLong(PyTuple_GET_ITEM(lines, k)), (int64_t)(own * part), (int64_t)(bytes * part), count);
    }
    if (kind == SEND_SPAN && peer >= 0 && peer < header[PEERS]) {
        peers[2 * peer] += count;
        peers[2 * peer + 1] += bytes;
    }
    note_event(kind, first, name, start, length, bytes, peer, count);
}

/* ---- for Python */

static PyObject *py_begin(PyObject *module, PyObject *nothing) {
    if (profiling) begin_span();
    Py_RETURN_NONE;
}

static PyObject *py_line(PyObject *module, PyObject *nothing) {
    if (!profiling) return PyLong_FromLong(0);
    enter_session();
    return PyLong_FromLong(here.calls ? here.line : line_here());
}

static PyObject *py_end(PyObject *module, PyObject *event) {
    if (profiling) end_span(event);
    if (PyErr_Occurred()) return NULL;
    Py_RETURN_NONE;
}

/* begin_call() and end_call(begun, name): for functions that are Python's. */
static PyObject *py_begin_call(PyObject *module, PyObject *nothing) { return PyLong_FromLong(profiling ? begin_call() : -1); }

static PyObject *py_end_call(PyObject *module, PyObject *args) {
    int begun, name;
    if (!PyArg_ParseTuple(args, "ii", &begun, &name)) return NULL;
    if (is_outermost(begun)) end_outermost(name);
    Py_RETURN_NONE;
}

static void stop(void) {
    if (!profiling) return;
    profiling = 0;
    Py_CLEAR(known);
    PyBuffer_Release(&memory);
    Py_CLEAR(line_at);
    Py_CLEAR(number_of_name);
    Py_CLEAR(thin);
}

PyObject *record_profile(PyObject *args) {
    PyObject *mapped = NULL, *line, *number, *thinner;
    Py_ssize_t totals_at, peers_at, events_at;
    if (PyTuple_GET_SIZE(args) && !PyArg_ParseTuple(args, "OnnnOOO", &mapped, &totals_at, &peers_at, &events_at, &line, &number, &thinner)) return NULL;
    stop();
    if (mapped == NULL) Py_RETURN_NONE;
    if (PyObject_GetBuffer(mapped, &memory, PyBUF_WRITABLE) < 0) return NULL;
    header = memory.buf;
    totals = (int64_t *)((char *)memory.buf + totals_at);
    peers = (int64_t *)((char *)memory.buf + peers_at);
    events = (Event *)((char *)memory.buf + events_at);
    line_at = Py_NewRef(line);
    number_of_name = Py_NewRef(number);
    thin = Py_NewRef(thinner);
    session++;
    threads = 0;
    profiling = 1;
    Py_RETURN_NONE;
}

PyMethodDef span_methods[] = {
    {"begin", py_begin, METH_NOARGS, "Begin a span."},
    {"end", py_end, METH_VARARGS, "End a span."},
    {"line", py_line, METH_NOARGS, "The line at work."},
    {"begin_call", py_begin_call, METH_NOARGS, "Begin a call of the user's program."},
    {"end_call", py_end_call, METH_VARARGS, "End such a call."},
    {NULL}};
