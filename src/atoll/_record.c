/* The native recorder: operations on large arrays whose like was recorded before become nodes without entering Python.
 *
 * Python decides everything: it records the first operation of a kind and remembers the form of its node by the geometries of
 * the operands (lazy.elementwise). Here the same operation on such operands makes the same node: operands that lie on no ranks,
 * no memory that the program holds, floating-point rules that have not changed. Whatever else is met is left to
 * Python. Nodes, boxes, geometries and values are the objects of Python, whose slots are read and written by their offsets.
 */
#include "_record.h"

Py_ssize_t offsets[FIELDS];
PyObject *objects[OBJECTS];
int recording = 0, shown = 0;
double light, near, most_pending;
static double swept;  /* the bytes from which Python decides what is computed together */
enum { AXES = 8 };
static PyObject *nothing, *no_name;
static PyObject *zero, *one, *held_name, *write_name, *index_name, *unshared;

PyObject *settings_now(void) {
    PyObject *settings = NULL;
    PyContextVar_Get(objects[SETTINGS], field(objects[CONFIG], CONFIG_DEFAULT), &settings);
    return settings;
}

Py_ssize_t small_now(void) {
    PyObject *settings = objects[SETTINGS] == NULL ? NULL : settings_now();
    Py_ssize_t number = settings == NULL ? PY_SSIZE_T_MAX : PyLong_AsSsize_t(field(settings, SETTINGS_SMALL));
    Py_XDECREF(settings);
    return number;
}

/* Whether NumPy may be asked to do it: for few elements that are there. */
int is_short(PyObject *geometry) {
    if (field(geometry, FORM_SHORT) != Py_True || (is_recording_medium && size_of(geometry) >= least_recorded())) return 0;
    return size_of(geometry) < small_now();
}

/* ---- nodes and boxes: as they end, their memory serves the next ones */

static Kind nodes = {.first = NODE_OP, .end = NODE_END}, boxes = {.first = BOX_NODE, .end = BOX_END};

PyObject *new_of(Kind *kind, PyObject *type) {
    if (kind->count) return PyObject_Init(kind->spare[--kind->count], (PyTypeObject *)type);
    PyObject *object = ((PyTypeObject *)type)->tp_alloc((PyTypeObject *)type, 0);
    if (object != NULL) PyObject_GC_UnTrack(object);  /* what is recorded refers to nothing that could refer to it */
    return object;
}

void end_of(PyObject *object, Kind *kind) {
    PyTypeObject *type = Py_TYPE(object);
    for (int k = kind->first; k < kind->end; k++) Py_CLEAR(*slot(object, k));
    if (kind->count < SPARE) kind->spare[kind->count++] = object;
    else type->tp_free(object);
    Py_DECREF(type);
}

static void end_of_node(PyObject *node) {
    PyObject_GC_UnTrack(node);
    Py_TRASHCAN_BEGIN(node, end_of_node)
    end_of(node, &nodes);
    Py_TRASHCAN_END
}

PyTypeObject BoxType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "atoll._front.Box", .tp_basicsize = sizeof(Box), .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .tp_doc = "What boxes begin with."};

/* All boxes, in the order in which they were made. A thread, which may be a simulated rank, computes its own. */
static Box *first_box = NULL, *last_box = NULL;

static long this_thread(void) {
    static long threads = 0;
    static _Thread_local long number = 0;
    if (!number) number = ++threads;
    return number;
}

static void link_box(Box *box) {
    box->thread = this_thread();
    box->former = last_box;
    box->next = NULL;
    if (last_box != NULL) last_box->next = box;
    else first_box = box;
    last_box = box;
}

static void unlink_box(Box *box) {
    if (!box->thread) return;
    if (box->former != NULL) box->former->next = box->next;
    else first_box = box->next;
    if (box->next != NULL) box->next->former = box->former;
    else last_box = box->former;
    box->thread = 0;
}

static void end_of_box(PyObject *box) {
    PyObject_GC_UnTrack(box);
    unlink_box((Box *)box);
    Py_TRASHCAN_BEGIN(box, end_of_box)
    PyObject_ClearWeakRefs(box);
    end_of(box, &boxes);
    Py_TRASHCAN_END
}

/* ---- call sites: those met lately are kept, and the numbers by which context.call_sites knows them */

enum { SITES = 1 << 10 };
static struct {
    PyObject *site, *number;       /* a code object with an instruction; NULL until it is asked for */
    int instruction;
} sites[SITES];

static inline size_t place_of_site(void *code, int instruction) { return ((size_t)code / 16 * 31 + instruction / 2) & (SITES - 1); }

/* The frame of the user's program that a frame of an installed package was called from; a new reference, NULL where there is none, or
 * Python has to say whose a file is. */
static PyFrameObject *users_frame(PyFrameObject *frame) {
    for (frame = PyFrame_GetBack(frame); frame != NULL;) {
        PyCodeObject *code = PyFrame_GetCode(frame);
        PyObject *origin = PyDict_GetItem(objects[ORIGINS], code->co_filename);
        Py_DECREF(code);
        if (origin == Py_False) return frame;
        PyFrameObject *back = origin == NULL ? NULL : PyFrame_GetBack(frame);
        Py_SETREF(frame, back);
    }
    return NULL;
}

/* Whether a call site in a package has this line of the user's program with it. */
static int is_called_from(PyObject *site, PyObject *code, int instruction) {
    if (PyTuple_GET_SIZE(site) != 3) return 0;
    PyObject *line = PyTuple_GET_ITEM(site, 2);
    return PyTuple_GET_ITEM(line, 0) == code && PyLong_AsLong(PyTuple_GET_ITEM(line, 1)) == instruction;
}

/* The line outside atoll that is at work, as a call site, with the user's line where that is in a package; NULL with an error. */
PyObject *site_here(void) {
    PyFrameObject *frame = PyEval_GetFrame();
    if (frame == NULL) Py_RETURN_NONE;
    static PyCodeObject *latest = NULL;  /* which is the user's */
    PyCodeObject *code = PyFrame_GetCode(frame), *user_code = NULL;
    PyObject *origin = code == latest ? Py_False : PyDict_GetItem(objects[ORIGINS], code->co_filename);
    if (code != latest && origin == Py_False) Py_XSETREF(latest, (PyCodeObject *)Py_NewRef(code));
    int instruction = PyFrame_GetLasti(frame), of_user = 0;
    if (origin != Py_False) {
        PyFrameObject *user = origin == NULL || origin == Py_True ? NULL : users_frame(frame);
        if (user == NULL) {
            Py_DECREF(code);
            return PyObject_CallOneArg(objects[SITE_FROM], (PyObject *)frame);
        }
        user_code = PyFrame_GetCode(user);
        of_user = PyFrame_GetLasti(user);
        Py_DECREF(user);
    }
    size_t place = place_of_site(code, instruction);
    PyObject *site = sites[place].site;
    if (site != NULL && PyTuple_GET_ITEM(site, 0) == (PyObject *)code && sites[place].instruction == instruction &&
        (user_code == NULL || is_called_from(site, (PyObject *)user_code, of_user))) {
        Py_DECREF(code);
        Py_XDECREF(user_code);
        return Py_NewRef(site);
    }
    site = user_code == NULL ? Py_BuildValue("Ni", code, instruction) : Py_BuildValue("Ni(Ni)", code, instruction, user_code, of_user);
    if (site == NULL) return NULL;
    Py_CLEAR(sites[place].number);
    sites[place].instruction = instruction;
    Py_XSETREF(sites[place].site, Py_NewRef(site));
    return site;
}

static PyObject *computed_number(PyObject *site) {
    PyObject *address = PyLong_FromVoidPtr(PyTuple_GET_ITEM(site, 0));
    PyObject *known = address == NULL ? NULL : PyDict_GetItem(objects[NUMBERED], address);
    Py_XDECREF(address);
    if (known == NULL || PyTuple_GET_ITEM(known, 0) != PyTuple_GET_ITEM(site, 0)) return NULL;
    PyObject *place = PyTuple_GET_ITEM(site, 1);
    int later = PySet_Contains(PyTuple_GET_ITEM(known, 2), place);
    PyObject *moved = later > 0 ? PyLong_FromLong(PyLong_AsLong(place) + 4) : Py_NewRef(place);
    PyObject *number = moved == NULL ? NULL : PyNumber_Add(PyTuple_GET_ITEM(known, 1), moved);
    Py_XDECREF(moved);
    return number;
}

/* The number of a call site, as context.call_sites counts; a new reference; NULL where Python has to say. */
PyObject *number_of(PyObject *site) {
    if (site == Py_None) return NULL;
    size_t place = place_of_site(PyTuple_GET_ITEM(site, 0), (int)PyLong_AsLong(PyTuple_GET_ITEM(site, 1)));
    if (sites[place].site != site) return computed_number(site);
    if (sites[place].number == NULL) sites[place].number = computed_number(site);
    return Py_XNewRef(sites[place].number);
}

/* ---- the bytes that pending work refers to: see graph.held */

static double held = 0, base = 0, slack = 0, most_held = Py_HUGE_VAL;

static double bytes_of(PyObject *value) {
    PyArrayObject *array = (PyArrayObject *)field(value, VALUE_ARRAY), *owner = (PyArrayObject *)PyArray_BASE(array);
    return (double)PyArray_NBYTES(owner != NULL && PyArray_CheckExact(owner) ? owner : array);
}

static void count_value(PyObject *value) {
    if (field(value, VALUE_COUNTED) != Py_False) return;
    PyObject *nbytes = PyFloat_FromDouble(bytes_of(value));
    if (nbytes == NULL) return PyErr_Clear();
    held += PyFloat_AS_DOUBLE(nbytes);
    replace(value, VALUE_COUNTED, nbytes);
}

/* A value has ended, which counts no longer. */
void discount(PyObject *value) {
    PyObject *nbytes = field(value, VALUE_COUNTED);
    if (nbytes == NULL || nbytes == Py_False) return;
    held -= PyFloat_AS_DOUBLE(nbytes);
    if (held < base) base = held;
}

static int holds_too_much(void) { return held - base > most_held + slack && !learning; }

/* Let Python evaluate what keeps too many bytes alive; -1 with an error. */
static int relieve(void) {
    if (!holds_too_much()) return 0;
    PyObject *done = PyObject_CallNoArgs(objects[RELIEVE]);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

/* A node of a form, none of whose operands lies on ranks: what graph.node.node_of makes. Steals `args` and `site`. */
PyObject *new_node(PyObject *form, PyObject *args, PyObject *site) {
    PyObject *node = args == NULL || site == NULL || relieve() < 0 ? NULL : new_of(&nodes, objects[NODE_TYPE]);
    if (node == NULL) {
        Py_XDECREF(args);
        Py_XDECREF(site);
        return NULL;
    }
    put(node, NODE_OP, PyTuple_GET_ITEM(form, 0));
    put(node, NODE_GEOMETRY, PyTuple_GET_ITEM(form, 1));
    put(node, NODE_PARAMS, PyTuple_GET_ITEM(form, 2));
    put(node, NODE_NAME, PyTuple_GET_ITEM(form, 3));
    put(node, NODE_CODE, PyTuple_GET_ITEM(form, 4));
    put(node, NODE_MARK, PyTuple_GET_ITEM(form, 5));
    put(node, NODE_VALUE, Py_None);
    put(node, NODE_PLACE, Py_None);
    *slot(node, NODE_ARGS) = args;
    *slot(node, NODE_SITE) = site;
    PyObject *weight = Py_NewRef(one);
    for (Py_ssize_t k = 0; weight != NULL && k < PyTuple_GET_SIZE(args); k++) {
        PyObject *arg = PyTuple_GET_ITEM(args, k);
        if (!is_node(arg)) continue;
        if (field(arg, NODE_WEIGHT) == zero) {
            if (field(arg, NODE_VALUE) != Py_None) count_value(field(arg, NODE_VALUE));
            continue;
        }
        PyObject *sum = PyNumber_Add(weight, field(arg, NODE_WEIGHT));
        Py_DECREF(weight);
        weight = sum;
    }
    *slot(node, NODE_WEIGHT) = weight;
    *slot(node, NODE_BORN) = PyIter_Next(objects[NEXT_BORN]);
    if (weight == NULL || field(node, NODE_BORN) == NULL) Py_CLEAR(node);
    else if (weight_of(node) < 0) PyObject_GC_Track(node);  /* behind it is an object that may refer to it */
    return node;
}

/* A box for a node, noted among those of this thread: what lazy.views.boxed makes. Steals the node. */
static PyObject *new_box(PyObject *node) {
    PyObject *box = new_of(&boxes, objects[BOX_TYPE]);
    if (box == NULL) {
        Py_DECREF(node);
        return NULL;
    }
    *slot(box, BOX_NODE) = node;
    put(box, BOX_GEOMETRY, field(node, NODE_GEOMETRY));
    put(box, BOX_SHARED, Py_False);
    put(box, BOX_PINS, zero);
    put(box, BOX_PIECES, zero);
    put(box, BOX_READ, Py_None);
    put(box, BOX_SITES, Py_None);
    put(box, BOX_WRITEABLE, Py_True);
    put(box, BOX_FIRST, Py_None);
    link_box((Box *)box);
    return box;
}

/* An array of a box with a geometry; steals the box. */
static PyObject *handle_on(PyObject *box, PyObject *geometry) {
    PyObject *handle = box == NULL ? NULL : new_handle();
    if (handle == NULL) {
        Py_XDECREF(box);
        return NULL;
    }
    ((Front *)handle)->np = Py_NewRef(Py_None);
    ((Front *)handle)->cell = box;
    ((Front *)handle)->geometry = Py_NewRef(geometry);
    return handle;
}

/* ---- operands */

/* A large array of the class of arrays. */
int is_large(PyObject *value) {
    return Py_TYPE(value) == array_type && ((Front *)value)->np == Py_None && has_geometry(value);
}

/* Whether floating-point errors are treated as they were at the last operation. */
int is_calm(void) {
    PyObject *state = NULL;
    if (objects[RULES] != Py_None && (PyContextVar_Get(objects[RULES], NULL, &state) < 0 || state == NULL)) {
        PyErr_Clear();
        return 0;
    }
    int same = (state == NULL ? Py_None : state) == field(objects[CALM], CALM_STATE);
    Py_XDECREF(state);
    return same && filters() == field(objects[CALM], CALM_FILTERS);
}

/* Whether the memory of a box is its own, and it lies on no ranks. */
int is_free(PyObject *box) {
    if (field(field(box, BOX_NODE), NODE_PLACE) != Py_None) return 0;
    PyObject *pins = field(box, BOX_PINS);
    if (pins == zero) return 1;
    PyObject *held = PyObject_CallMethodNoArgs(box, held_name);
    int free = held == Py_False;
    if (held == NULL) drop_error();
    Py_XDECREF(held);
    return free;
}

/* What the nodes of a view have in common, borrowed; NULL with an error. */
static PyObject *through_of(PyObject *view) {
    if (field(view, FORM_THROUGH) != Py_None) return field(view, FORM_THROUGH);
    PyObject *through = PyObject_CallOneArg(objects[THROUGH_FOR], view);
    Py_XDECREF(through);
    return through == NULL ? NULL : field(view, FORM_THROUGH);
}

/* The value of an array as a node, which reads the view where it is one; a new reference. */
static PyObject *node_of(PyObject *array) {
    PyObject *geometry = ((Front *)array)->geometry, *box = ((Front *)array)->cell;
    if (field(geometry, FORM_IS_BASE) == Py_True) return Py_NewRef(field(box, BOX_NODE));
    PyObject *through = through_of(geometry), *args = through == NULL ? NULL : PyTuple_New(1);
    if (args == NULL) return NULL;
    PyTuple_SET_ITEM(args, 0, Py_NewRef(field(box, BOX_NODE)));
    return new_node(field(through, THROUGH_READ), args, Py_NewRef(Py_None));
}

/* A number that was computed, of NumPy's class for its dtype. */
static PyObject *number_from(PyObject *node) {
    PyObject *array = field(field(node, NODE_VALUE), VALUE_ARRAY), *number = PyObject_GetItem(array, nothing);
    PyObject *usual = (PyObject *)PyArray_DESCR((PyArrayObject *)array)->typeobj;
    if (number == NULL || (PyObject *)Py_TYPE(number) == usual) return number;
    PyObject *same = PyObject_CallOneArg(usual, number);
    Py_DECREF(number);
    return same;
}

/* What the program gets of a node that was just recorded; steals it. */
PyObject *array_of(PyObject *node) {
    if (node == NULL) return NULL;
    PyObject *geometry = field(node, NODE_GEOMETRY), *made;
    if (PyLong_AsLong(field(geometry, FORM_NDIM)) == 0) {
        int done = learning ? 0 : replay(&node, 1);
        made = done < 0 ? NULL : done ? number_from(node) : PyObject_CallOneArg(objects[EVALUATED], node);
        Py_DECREF(node);
        return made;
    }
    int cut = weight_of(node) > light && may_be_heavy(node) ? cut_again(node) : 1;
    if (cut < 0) Py_CLEAR(node);
    if (!cut) {
        PyObject *lighter = PyObject_CallOneArg(objects[BOUNDED], node);
        Py_DECREF(node);
        node = lighter;
    }
    if (node == NULL) return NULL;
    geometry = field(node, NODE_GEOMETRY);
    return handle_on(new_box(node), geometry);
}

/* Whether kernels have a dtype. */
static int is_native(PyObject *dtype) {
    PyArray_Descr *form = (PyArray_Descr *)dtype;
    const char *native = sizeof(long) == sizeof(long long) ? "?bhilBHILefdFD" : "?bhlqBHLQefdFD";  /* of equal dtypes the usual one */
    return form->type && strchr(native, form->type) != NULL && PyArray_ISNBO(form->byteorder);
}

/* ---- operations of one or two operands */

enum { SMALLS = 256 };

/* The geometry of memory; a new reference. */
static PyObject *geometry_of(PyArrayObject *array) {
    static PyObject *known[SMALLS];
    int n = PyArray_NDIM(array), same = n <= AXES;
    size_t hash = (size_t)PyArray_DESCR(array) >> 4;
    for (int k = 0; k < n; k++) hash = (hash * 31 + (size_t)PyArray_DIM(array, k)) * 31 + (size_t)PyArray_STRIDE(array, k);
    PyObject **place = &known[(hash ^ hash >> 9) % SMALLS], *geometry = *place;
    same = same && geometry != NULL && field(geometry, FORM_DTYPE) == (PyObject *)PyArray_DESCR(array) &&
           PyTuple_GET_SIZE(field(geometry, FORM_SHAPE)) == n;
    for (int k = 0; same && k < n; k++)
        same = PyLong_AsSsize_t(PyTuple_GET_ITEM(field(geometry, FORM_SHAPE), k)) == PyArray_DIM(array, k) &&
               PyLong_AsSsize_t(PyTuple_GET_ITEM(field(geometry, FORM_STRIDES), k)) == PyArray_STRIDE(array, k);
    if (same) return Py_NewRef(geometry);
    if ((geometry = PyObject_CallOneArg(objects[MEMORY_GEOMETRY], (PyObject *)array)) == NULL) return NULL;
    Py_XSETREF(*place, Py_NewRef(geometry));
    return geometry;
}

int records(void) { return recording; }

/* Memory as a node; a new reference. Steals the memory. */
static PyObject *source_of(PyArrayObject *array) {
    PyObject *geometry = array == NULL ? NULL : geometry_of(array);
    PyObject *value = geometry == NULL ? NULL : new_value(Py_NewRef(array), 0), *node = value == NULL ? NULL : new_of(&nodes, objects[NODE_TYPE]);
    Py_XDECREF(array);
    if (node != NULL) {
        put(node, NODE_OP, objects[SOURCE]);
        put(node, NODE_ARGS, nothing);
        put(node, NODE_GEOMETRY, geometry);
        put(node, NODE_PARAMS, nothing);
        put(node, NODE_NAME, no_name);
        put(node, NODE_SITE, Py_None);
        put(node, NODE_VALUE, value);
        put(node, NODE_CODE, Py_None);
        put(node, NODE_MARK, Py_None);
        put(node, NODE_PLACE, Py_None);
        put(node, NODE_WEIGHT, zero);
        put(node, NODE_BORN, zero);
    }
    Py_XDECREF(geometry);
    Py_XDECREF(value);
    return node;
}

/* A small array as it is now, as a node; a new reference. */
static PyObject *snapshot(PyArrayObject *array) { return source_of((PyArrayObject *)PyArray_NewCopy(array, NPY_KEEPORDER)); }

int box_memory(PyObject *array) {
    Front *front = (Front *)array;
    if (!is_native((PyObject *)PyArray_DESCR((PyArrayObject *)front->np))) return 0;
    PyObject *node = source_of((PyArrayObject *)Py_NewRef(front->np)), *box = node == NULL ? NULL : new_box(node);
    if (box == NULL) {
        drop_error();
        return 0;
    }
    Py_SETREF(front->np, Py_NewRef(Py_None));
    Py_XSETREF(front->geometry, Py_NewRef(field(box, BOX_GEOMETRY)));
    Py_XSETREF(front->cell, box);
    return 1;
}

/* A small array as an operand beside large ones, borrowed; NULL where there is none. */
static PyArrayObject *small_operand(PyObject *value) {
    PyArrayObject *array = (PyArrayObject *)((Front *)value)->np;
    if ((PyObject *)array == Py_None || ((Front *)value)->large || !PyArray_CheckExact(array) || !PyArray_NDIM(array)) return NULL;
    return PyArray_ISALIGNED(array) && is_native((PyObject *)PyArray_DESCR(array)) ? array : NULL;
}

/* The operands of an operation as a tuple of nodes and numbers; a new reference; NULL where Python has to make it. */
static PyObject *operands_of(PyObject *const *args, PyObject *const *smalls, Py_ssize_t count, PyObject *convert) {
    PyObject *operands = PyTuple_New(count);
    for (Py_ssize_t k = 0; operands != NULL && k < count; k++) {
        PyObject *operand;
        if (k && args[k] == args[0]) {
            operand = Py_NewRef(PyTuple_GET_ITEM(operands, 0));  /* `a * a` reads a view once */
        } else if (Py_TYPE(args[k]) != array_type) {
            operand = PyObject_CallOneArg(convert, args[k]);
            if (operand == NULL && PyErr_ExceptionMatches(PyExc_OverflowError)) drop_error();
        } else {
            operand = smalls[k] == NULL ? node_of(args[k]) : Py_NewRef(smalls[k]);
        }
        if (operand == NULL) Py_CLEAR(operands);
        else PyTuple_SET_ITEM(operands, k, operand);
    }
    return operands;
}

/* An operation that was met before; `smalls` are the nodes of small arrays. */
static PyObject *met_call(PyObject *known, PyObject *const *args, PyObject *const *smalls, Py_ssize_t count) {
    PyObject *key = PyTuple_New(count), *met = NULL, *operands = NULL, *result = NULL;
    for (Py_ssize_t k = 0; key != NULL && k < count; k++) {
        PyObject *part = (PyObject *)Py_TYPE(args[k]);
        if (smalls[k] != NULL) part = field(field(smalls[k], NODE_GEOMETRY), FORM_NUMBER);
        else if ((PyTypeObject *)part == array_type) part = field(((Front *)args[k])->geometry, FORM_NUMBER);
        PyTuple_SET_ITEM(key, k, Py_NewRef(part));
    }
    if (key != NULL) met = Py_XNewRef(PyDict_GetItemWithError(known, key));
    Py_XDECREF(key);
    if (met == NULL) return NULL;
    int recorded = is_calm();
    for (Py_ssize_t k = 0; recorded && k < count; k++)
        recorded = Py_TYPE(args[k]) != array_type || smalls[k] != NULL || is_free(((Front *)args[k])->cell);
    if (recorded) operands = operands_of(args, smalls, count, PyTuple_GET_ITEM(met, 2));
    if (operands != NULL) result = array_of(new_node(PyTuple_GET_ITEM(met, 0), operands, site_here()));
    Py_DECREF(met);
    return result;
}

/* `known` has the forms of nodes by the numbers of geometries and the classes of numbers: see lazy.elementwise.binary. */
PyObject *record_call(PyObject *known, PyObject *const *args, Py_ssize_t count) {
    if (!recording || known == NULL || count < 1 || count > 3) return NULL;
    PyObject *smalls[3] = {NULL, NULL, NULL}, *result = NULL;
    int large = 0, fits = 1;
    for (Py_ssize_t k = 0; k < count; k++)
        if (is_large(args[k])) large += !is_short(((Front *)args[k])->geometry);
    if (!large) return NULL;       /* NumPy may compute it */
    for (Py_ssize_t k = 0; fits && k < count; k++) {
        if (Py_TYPE(args[k]) != array_type || is_large(args[k])) continue;
        PyArrayObject *array = small_operand(args[k]);
        fits = array != NULL && (smalls[k] = snapshot(array)) != NULL;
    }
    if (fits) result = met_call(known, args, smalls, count);
    for (Py_ssize_t k = 0; k < count; k++) Py_XDECREF(smalls[k]);
    return result;
}

/* A power; of some exponents it is another operation: see lazy.operators. */
PyObject *record_power(PyObject *known, PyObject *const *args) {
    PyObject *exponent = args[1];
    if (!recording || !is_large(args[0]) || !(PyLong_CheckExact(exponent) || PyFloat_CheckExact(exponent)))
        return record_call(known, args, 2);
    PyObject *other = PyDict_GetItemWithError(objects[POWERS], exponent);
    if (other == NULL) return PyErr_Occurred() ? NULL : record_call(known, args, 2);
    const char *kinds = PyLong_CheckExact(exponent) && PyLong_AsLong(exponent) == 2 ? "biufc" : "fc";
    char kind = ((PyArray_Descr *)field(((Front *)args[0])->geometry, FORM_DTYPE))->kind;
    return kind && strchr(kinds, kind) != NULL ? record_call(other, args, 1) : record_call(known, args, 2);
}

/* ---- views */

enum { VIEWS = 2048, ITEMS = 4, NEW_AXIS = -2, INTEGER = -1, TUPLE = -3 };
typedef struct {
    Py_ssize_t start, length, step;  /* the length is below zero where it is no slice */
} Item;
typedef struct {
    PyObject *from, *to, *by;        /* the method that makes the view; NULL for an index */
    int count;
    Item items[ITEMS];
} View;
static View views[VIEWS];

/* The place of a view of a geometry among those that are remembered, with its key in `wanted`; NULL where Python has to see it. */
static View *view_at(PyObject *geometry, PyObject *key, View *wanted) {
    PyObject *shape = field(geometry, FORM_SHAPE);
    int is_tuple = PyTuple_CheckExact(key);
    Py_ssize_t n = is_tuple ? PyTuple_GET_SIZE(key) : 1, ndim = PyTuple_GET_SIZE(shape), axis = 0;
    if (n > ITEMS) return NULL;
    size_t hash = (size_t)geometry >> 4;
    wanted->count = 0;
    wanted->from = geometry;
    wanted->by = NULL;
    for (Py_ssize_t k = 0; k < n; k++) {
        PyObject *item = is_tuple ? PyTuple_GET_ITEM(key, k) : key;
        Item *last = &wanted->items[wanted->count++];
        if (item == Py_None) {
            *last = (Item){0, NEW_AXIS, 0};
        } else if (item == Py_Ellipsis) {
            return NULL;
        } else {
            if (axis >= ndim) return NULL;
            Py_ssize_t extent = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, axis++));
            if (PySlice_Check(item)) {
                Py_ssize_t stop;
                if (!is_unpacked(item, &last->start, &stop, &last->step)) return NULL;
                last->length = PySlice_AdjustIndices(extent, &last->start, &stop, last->step);
                if (!last->length) last->start = 0, last->step = 1;
            } else if (PyLong_CheckExact(item)) {
                Py_ssize_t index = PyLong_AsSsize_t(item);
                if (index == -1 && PyErr_Occurred()) {
                    PyErr_Clear();
                    return NULL;
                }
                if (index < 0) index += extent;
                if (index < 0 || index >= extent) return NULL;
                *last = (Item){index, INTEGER, 0};
            } else {
                return NULL;
            }
        }
        hash = ((hash * 31 + last->start) * 31 + last->length) * 31 + last->step;
    }
    return &views[(hash ^ hash >> 11) % VIEWS];
}

static inline int is_same_view(const View *known, const View *wanted) {
    return known->from == wanted->from && known->by == wanted->by && known->count == wanted->count &&
           !memcmp(known->items, wanted->items, wanted->count * sizeof(Item));
}

/* The same for a method that makes a view of integers, or of one tuple of them. */
static View *view_by(PyObject *geometry, PyObject *by, PyObject *const *args, Py_ssize_t count, View *wanted) {
    size_t hash = ((size_t)geometry >> 4) * 31 + ((size_t)by >> 4);
    int is_tuple = count == 1 && PyTuple_CheckExact(args[0]);
    Py_ssize_t n = is_tuple ? PyTuple_GET_SIZE(args[0]) : count;
    if (n >= ITEMS) return NULL;
    wanted->from = geometry;
    wanted->by = by;
    wanted->count = (int)n + is_tuple;
    if (is_tuple) wanted->items[n] = (Item){0, TUPLE, 0};
    for (Py_ssize_t k = 0; k < n; k++) {
        PyObject *item = is_tuple ? PyTuple_GET_ITEM(args[0], k) : args[k];
        if (!PyLong_CheckExact(item)) return NULL;
        wanted->items[k] = (Item){PyLong_AsSsize_t(item), INTEGER, 0};
        if (PyErr_Occurred()) {
            PyErr_Clear();
            return NULL;
        }
        hash = hash * 31 + wanted->items[k].start;
    }
    return &views[(hash ^ hash >> 11) % VIEWS];
}

static void keep(View *known, View *wanted, PyObject *geometry) {
    wanted->from = Py_NewRef(wanted->from);
    wanted->to = Py_NewRef(geometry);
    View old = *known;
    *known = *wanted;
    Py_XDECREF(old.from);
    Py_XDECREF(old.to);
}

/* Remember which view of an array Python has made. */
static void remember(PyObject *array, PyObject *view, View *known, View *wanted) {
    if (known == NULL || !is_large(view) || ((Front *)view)->cell != ((Front *)array)->cell) return;
    keep(known, wanted, ((Front *)view)->geometry);
}

void remember_view(PyObject *array, PyObject *key, PyObject *view) {
    View wanted;
    if (recording && is_large(array)) remember(array, view, view_at(((Front *)array)->geometry, key, &wanted), &wanted);
}

/* The geometry of a view that was met before; a new reference; else NULL. */
static PyObject *met_view(PyObject *geometry, PyObject *key) {
    View wanted, *known = view_at(geometry, key, &wanted);
    return known != NULL && is_same_view(known, &wanted) ? Py_NewRef(known->to) : NULL;
}

static int remember_first(PyObject *box, PyObject *array) {
    if (field(box, BOX_FIRST) != Py_None || field(((Front *)array)->geometry, FORM_IS_BASE) != Py_True) return 0;
    PyObject *first = PyWeakref_NewRef(array, NULL);
    if (first == NULL) return -1;
    replace(box, BOX_FIRST, first);
    return 0;
}

/* Another array of the same box; steals the geometry. */
static PyObject *view_on(PyObject *array, PyObject *geometry) {
    PyObject *box = ((Front *)array)->cell, *made = NULL;
    if (field(field(box, BOX_NODE), NODE_PLACE) == Py_None && remember_first(box, array) == 0)
        made = handle_on(Py_NewRef(box), geometry);
    Py_DECREF(geometry);
    return made;
}

PyObject *record_view(PyObject *array, PyObject *key) {
    PyObject *view = recording && is_large(array) ? met_view(((Front *)array)->geometry, key) : NULL;
    return view == NULL ? NULL : view_on(array, view);
}

/* A method that makes views: what was met before is made here, else Python's view is remembered. */
static PyObject *viewed(PyObject *by, PyObject *python, PyObject *const *args, Py_ssize_t count) {
    View wanted, *known = view_by(((Front *)args[0])->geometry, by, args + 1, count - 1, &wanted);
    if (known == NULL) return NULL;
    if (is_same_view(known, &wanted)) return view_on(args[0], Py_NewRef(known->to));
    PyObject *made = PyObject_Vectorcall(python, args, count, NULL);
    if (made != NULL) remember(args[0], made, known, &wanted);
    return made;
}

/* A copy of a whole array has its value, until one of them is written to. */
static PyObject *copied(PyObject *array) {
    PyObject *geometry = ((Front *)array)->geometry, *box = ((Front *)array)->cell;
    if (field(geometry, FORM_DENSE) != Py_True || field(geometry, FORM_C_CONTIGUOUS) != Py_True || !is_free(box)) return NULL;
    PyObject *copy = new_box(Py_NewRef(field(box, BOX_NODE)));
    if (copy == NULL) return NULL;
    replace(box, BOX_SHARED, Py_NewRef(Py_True));
    replace(copy, BOX_SHARED, Py_NewRef(Py_True));
    return handle_on(copy, geometry);
}

/* ---- reductions */

/* The fold of a node that was met before with this geometry: `known` has forms by ufunc, geometry and axis. Steals the node. */
static PyObject *folded(PyObject *known, PyObject *ufunc, PyObject *geometry, PyObject *axis, PyObject *node) {
    PyObject *key = PyTuple_Pack(3, ufunc, field(geometry, FORM_NUMBER), axis), *args = NULL;
    PyObject *form = key == NULL ? NULL : Py_XNewRef(PyDict_GetItemWithError(known, key)), *made = NULL;
    Py_XDECREF(key);
    if (form != NULL && node != NULL && (args = PyTuple_New(1)) != NULL) {
        PyTuple_SET_ITEM(args, 0, Py_NewRef(node));
        made = new_node(form, args, site_here());
    }
    Py_XDECREF(node);
    Py_XDECREF(form);
    if (made == NULL) return NULL;
    geometry = field(made, NODE_GEOMETRY);
    return PyTuple_GET_SIZE(field(geometry, FORM_SHAPE)) ? handle_on(new_box(made), geometry) : array_of(made);
}

/* `array.sum(axis)`; `known` is the pair of the forms of folds and the ufunc. */
static PyObject *reduced(PyObject *known, PyObject *const *args, Py_ssize_t count, PyObject *keywords) {
    PyObject *array = args[0], *axis = Py_None, *geometry = ((Front *)array)->geometry;
    Py_ssize_t named = keywords == NULL ? 0 : PyTuple_GET_SIZE(keywords);
    if (count + named > 2 || !PyTuple_CheckExact(known)) return NULL;
    if (named && PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(keywords, 0), "axis")) return NULL;
    if (count + named == 2) axis = args[1];
    if ((axis != Py_None && !PyLong_CheckExact(axis)) || is_short(geometry)) return NULL;
    if (((PyArray_Descr *)field(geometry, FORM_DTYPE))->kind == 'b' || !is_calm() || !is_free(((Front *)array)->cell)) return NULL;
    PyObject *node = node_of(array);
    return node == NULL ? NULL : folded(PyTuple_GET_ITEM(known, 0), PyTuple_GET_ITEM(known, 1), geometry, axis, node);
}

/* The product of two vectors; `known` is the forms of folds, the ufunc, and the forms of products. */
static PyObject *product_of(PyObject *known, PyObject *const *args, Py_ssize_t count, PyObject *keywords) {
    if (count != 2 || keywords != NULL || !PyTuple_CheckExact(known) || !is_large(args[1])) return NULL;
    PyObject *first = ((Front *)args[0])->geometry, *second = ((Front *)args[1])->geometry;
    PyArray_Descr *dtype = (PyArray_Descr *)field(first, FORM_DTYPE);
    if (PyLong_AsLong(field(first, FORM_NDIM)) != 1 || PyLong_AsLong(field(second, FORM_NDIM)) != 1) return NULL;
    if ((PyObject *)dtype != field(second, FORM_DTYPE) || !strchr("fdFD", dtype->type)) return NULL;
    if (size_of(first) != size_of(second) || !size_of(first)) return NULL;
    PyObject *product = record_call(PyTuple_GET_ITEM(known, 2), args, 2), *made = NULL;
    if (product == NULL) return NULL;
    if (is_large(product)) {
        PyObject *geometry = Py_NewRef(((Front *)product)->geometry), *node = Py_NewRef(field(((Front *)product)->cell, BOX_NODE));
        Py_CLEAR(product);  /* which would count as alive */
        made = folded(PyTuple_GET_ITEM(known, 0), PyTuple_GET_ITEM(known, 1), geometry, Py_None, node);
        Py_DECREF(geometry);
    }
    Py_XDECREF(product);
    return made;
}

enum { ELEMENTWISE, VIEW, COPY, FOLD, DOT, RECIPE };

PyObject *record_function(PyObject *function, int way, PyObject *known, PyObject *python, PyObject *const *args,
                          Py_ssize_t count, PyObject *keywords) {
    if (way == ELEMENTWISE) return keywords == NULL ? record_call(known, args, count) : NULL;
    if (!recording) return NULL;
    if (way == RECIPE) return by_recipe(function, python, args, count, keywords);
    if (!count || !is_large(args[0])) return NULL;
    if (way == FOLD) {
        PyObject *made = known == NULL ? NULL : reduced(known, args, count, keywords);
        return made != NULL || PyErr_Occurred() ? made : by_recipe(function, python, args, count, keywords);
    }
    if (way == DOT) return known == NULL ? NULL : product_of(known, args, count, keywords);
    if (keywords != NULL) return NULL;
    return way == VIEW ? viewed(function, python, args, count) : count == 1 ? copied(args[0]) : NULL;
}

/* An attribute of a large array that is a view. */
PyObject *record_attribute(PyObject *getter, PyObject *array) {
    return recording && is_large(array) ? viewed(getter, getter, &array, 1) : NULL;
}

/* ---- assignments */

/* Whether an array may be so large that others are computed with it, as lazy.pending decides. */
static int may_be_swept(PyObject *geometry) {
    double nbytes = size_of(geometry) * (double)PyDataType_ELSIZE((PyArray_Descr *)field(geometry, FORM_DTYPE));
    return nbytes > swept;
}

/* Note an assignment as the latest of a box, whose value is computed if a loop has come round to it: 1, and 2 if so, or 0 where
 * Python has to do it; -1 with an error. */
static int note_site(PyObject *box, PyObject *region, PyObject *place) {
    PyObject *sites = field(box, BOX_SITES), *node = field(box, BOX_NODE);
    int known = 0;
    if (field(node, NODE_VALUE) == Py_None && sites != Py_None) {
        known = PySet_Contains(sites, place);
        if (known <= 0) return known < 0 || PySet_Add(sites, place) < 0 ? -1 : 1;
        if ((region != NULL && is_short(region)) || may_be_swept(field(box, BOX_GEOMETRY))) return 0;
        Py_INCREF(node);
        int done = replay(&node, 1);
        Py_DECREF(node);
        if (done <= 0) return done;
    }
    if (sites != Py_None && PySet_GET_SIZE(sites) == 1) {
        int same = PySet_Contains(sites, place);
        if (same) return same < 0 ? -1 : 1 + known;
    }
    PyObject *only = PySet_New(NULL);
    if (only == NULL || PySet_Add(only, place) < 0) {
        Py_XDECREF(only);
        return -1;
    }
    replace(box, BOX_SITES, only);
    return 1 + known;
}

/* Evaluate what a box holds, if that has grown too heavy. */
static int lighten(PyObject *box) {
    PyObject *node = Py_NewRef(field(box, BOX_NODE));
    int cut = cut_again(node);
    Py_DECREF(node);
    if (cut) {
        if (cut > 0) replace(box, BOX_SITES, Py_NewRef(Py_None));
        return cut;
    }
    PyObject *nodes = PyTuple_Pack(1, field(box, BOX_NODE)), *done = NULL;
    PyObject *heavy = nodes == NULL ? NULL : PyObject_CallOneArg(objects[TOO_HEAVY], PyTuple_GET_ITEM(nodes, 0));
    if (heavy == Py_True && (done = PyObject_CallOneArg(objects[CUT], nodes)) != NULL)
        replace(box, BOX_SITES, Py_NewRef(Py_None));
    int status = heavy == NULL || (heavy == Py_True && done == NULL) ? -1 : 1;
    Py_XDECREF(nodes);
    Py_XDECREF(heavy);
    Py_XDECREF(done);
    return status;
}

/* What Cell.write does: 1, or 0 where Python has to do it. The lock is held. `region` is NULL where `value` replaces all of the
 * array. */
static int write_locked(PyObject *box, PyObject *region, PyObject *value, PyObject *site, PyObject *place) {
    if (!is_free(box)) return 0;
    PyObject *node = field(box, BOX_NODE);
    if (region != NULL && field(node, NODE_GEOMETRY) != field(region, FORM_BASE)) return 0;
    int noted = note_site(box, region, place), stale = noted == 2 && weight_of(value) > near;
    if (noted <= 0) return noted;
    if (region == NULL && !stale) {
        node = Py_NewRef(value);
    } else {
        if (region == NULL) return 0;
        PyObject *through = through_of(region), *args = through == NULL ? NULL : PyTuple_New(2);
        if (args == NULL) return -1;
        PyTuple_SET_ITEM(args, 0, Py_NewRef(field(box, BOX_NODE)));
        PyTuple_SET_ITEM(args, 1, Py_NewRef(value));
        node = new_node(field(through, is_node(value) ? THROUGH_UPDATE : THROUGH_UPDATE_NUMBER), args, Py_NewRef(site));
        if (node == NULL) return -1;
        long weight = stale ? weigh(node, 1 << 10) : -1;  /* else it would weigh as much as all turns before it */
        if (weight >= 0) replace(node, NODE_WEIGHT, PyLong_FromLong(weight));
    }
    replace(box, BOX_SHARED, Py_NewRef(Py_False));
    int heavy = weight_of(node) > near && (region == NULL || may_be_heavy(node));
    replace(box, BOX_NODE, node);
    return heavy ? lighten(box) : 1;
}

/* Cell.write, at the line that is at work: 1, or 0 where NumPy may write the few elements; -1 with an error. */
static int write_into(PyObject *box, PyObject *region, PyObject *value) {
    PyObject *site = site_here(), *place = site == NULL ? NULL : number_of(site);
    int done = PyErr_Occurred() ? -1 : 0;
    if (place != NULL && (done = lock()) == 0) {
        done = write_locked(box, region, value, site, place);
        unlock();
    }
    if (!done && !(region != NULL && is_short(region))) {
        PyObject *all = region == NULL ? field(value, NODE_GEOMETRY) : region;
        PyObject *args[6] = {box, all, value, Py_None, site, Py_False};
        PyObject *written = PyObject_VectorcallMethod(write_name, args, 5, region == NULL ? unshared : NULL);
        done = written == NULL ? -1 : 1;
        Py_XDECREF(written);
    }
    Py_XDECREF(site);
    Py_XDECREF(place);
    return done;
}

/* A number as it is written into a region: what lazy.elementwise.value_for gives for the commonest; else NULL. */
static PyObject *number_in(PyObject *region, PyObject *value) {
    PyArray_Descr *dtype = (PyArray_Descr *)field(region, FORM_DTYPE);
    int fits = PyFloat_CheckExact(value) ? strchr("fc", dtype->kind) != NULL
                                         : PyLong_CheckExact(value) && strchr("iufc", dtype->kind) != NULL;
    if (!fits || !dtype->kind) return NULL;
    PyObject *number = PyObject_CallOneArg((PyObject *)dtype->typeobj, value);
    if (number == NULL) PyErr_Clear();
    return number;
}

static int may_write(PyObject *array) {
    PyObject *box = ((Front *)array)->cell;
    return field(box, BOX_WRITEABLE) == Py_True && field(((Front *)array)->geometry, FORM_WRITEABLE) == Py_True;
}

/* Whether a loop of ours may write into a part of an array. */
static int is_region(PyObject *region) {
    return field(region, FORM_IS_BASE) != Py_True && field(region, FORM_OVERLAPPING) != Py_True && size_of(region) &&
           is_native(field(region, FORM_DTYPE));
}

/* Write an array of the region's shape and dtype into it; as `write_into`. */
static int write_array(PyObject *box, PyObject *region, PyObject *value) {
    PyObject *theirs = ((Front *)value)->geometry, *other = ((Front *)value)->cell;
    if (field(theirs, FORM_DTYPE) != field(region, FORM_DTYPE) || !is_free(box) || !is_free(other)) return 0;
    PyObject *mine = field(region, FORM_SHAPE), *shape = field(theirs, FORM_SHAPE);
    int same = mine == shape ? 1 : PyObject_RichCompareBool(mine, shape, Py_EQ);
    if (same <= 0 || !is_calm()) return same < 0 ? -1 : 0;
    PyObject *node = node_of(value);
    if (node == NULL) return PyErr_Occurred() ? -1 : 0;
    int done = write_into(box, region, node);
    Py_DECREF(node);
    return done;
}

static int write_number(PyObject *box, PyObject *region, PyObject *value) {
    PyObject *node = field(box, BOX_NODE);
    if (field(node, NODE_VALUE) != Py_None && field(region, FORM_SHORT) == Py_True) return 0;
    if (!is_free(box) || !is_calm()) return 0;
    PyObject *number = number_in(region, value);
    if (number == NULL) return PyErr_Occurred() ? -1 : 0;
    int done = write_into(box, region, number);
    Py_DECREF(number);
    return done;
}

/* The geometry of what is written to; a new reference; NULL where Python has to see it. */
static PyObject *region_of(PyObject *geometry, PyObject *key) {
    View wanted, *known = view_at(geometry, key, &wanted);
    if (known == NULL) return NULL;
    if (is_same_view(known, &wanted)) return Py_NewRef(known->to);
    PyObject *items = PyTuple_CheckExact(key) ? Py_NewRef(key) : PyTuple_Pack(1, key);
    PyObject *region = items == NULL ? NULL : PyObject_CallMethodOneArg(geometry, index_name, items);
    Py_XDECREF(items);
    if (region == NULL) {
        drop_error();  /* Python raises it, with its words */
    } else if (PyTuple_GET_SIZE(field(region, FORM_SHAPE))) {
        keep(known, &wanted, region);
    } else {
        Py_CLEAR(region);
    }
    return region;
}

/* A view of an array, whether it was met before or not; NULL without an error for what is none, or no array. */
PyObject *record_any_view(PyObject *array, PyObject *key) {
    PyObject *region = recording ? region_of(((Front *)array)->geometry, key) : NULL;
    return region == NULL ? NULL : view_on(array, region);
}

/* Whether `array[key] = value` was recorded; -1 with an error. */
int record_store(PyObject *array, PyObject *key, PyObject *value) {
    if (!recording || !in_world_of_process() || !is_large(array)) return 0;
    PyObject *box = ((Front *)array)->cell, *region = region_of(((Front *)array)->geometry, key);
    int done = 0;
    if (region == NULL) return PyErr_Occurred() ? -1 : 0;
    int there = field(field(box, BOX_NODE), NODE_VALUE) != Py_None;
    if (may_write(array) && is_region(region) && !(there && is_short(region))) {
        if (!is_large(value)) done = write_number(box, region, value);
        else if (((Front *)value)->cell == box && ((Front *)value)->geometry == region) done = 1;  /* how Python ends `a[key] += x` */
        else done = write_array(box, region, value);
    }
    Py_DECREF(region);
    return done;
}

/* Whether an operation whose result goes into an array was recorded; -1 with an error. */
int record_into(PyObject *known, PyObject *array, PyObject *const *args, Py_ssize_t count) {
    if (!recording || !in_world_of_process() || !is_large(array) || !may_write(array)) return 0;
    PyObject *region = ((Front *)array)->geometry, *box = ((Front *)array)->cell;
    int whole = field(region, FORM_IS_BASE) == Py_True, done = 0;
    if (!whole && (!is_region(region) || is_short(region))) return 0;
    PyObject *result = record_call(known, args, count);
    if (result == NULL) return PyErr_Occurred() ? -1 : 0;
    if (is_large(result) && field(((Front *)result)->geometry, FORM_DTYPE) == field(region, FORM_DTYPE)) {
        if (!whole) {
            done = write_array(box, region, result);
        } else if (((Front *)result)->geometry == region && is_free(box)) {
            PyObject *node = Py_NewRef(field(((Front *)result)->cell, BOX_NODE));
            Py_CLEAR(result);
            done = write_into(box, NULL, node);
            Py_DECREF(node);
        }
    }
    Py_XDECREF(result);
    return done;
}

/* The same for `array += other`. */
int record_in_place(PyObject *known, PyObject *array, PyObject *other) {
    PyObject *args[2] = {array, other};
    return record_into(known, array, args, 2);
}

/* ---- the module */

static PyObject *install(PyObject *module, PyObject *args) {
    PyObject *slots, *given;
    if (!PyArg_ParseTuple(args, "O!O!", &PyTuple_Type, &slots, &PyTuple_Type, &given)) return NULL;
    if (PyTuple_GET_SIZE(slots) != FIELDS || PyTuple_GET_SIZE(given) != OBJECTS) {
        PyErr_SetString(PyExc_ValueError, "the recorder needs other slots and objects");
        return NULL;
    }
    for (int k = 0; k < FIELDS; k++) {
        PyObject *member = PyTuple_GET_ITEM(slots, k);
        if (!Py_IS_TYPE(member, &PyMemberDescr_Type)) {
            PyErr_SetString(PyExc_TypeError, "a slot is no member descriptor");
            return NULL;
        }
        offsets[k] = ((PyMemberDescrObject *)member)->d_member->offset;
    }
    for (int k = 0; k < OBJECTS; k++) objects[k] = Py_NewRef(PyTuple_GET_ITEM(given, k));
    zero = PyLong_FromLong(0);
    one = PyLong_FromLong(1);
    nothing = PyTuple_New(0);
    no_name = PyUnicode_FromString("");
    struct {
        PyObject **name;
        const char *text;
    } names[] = {{&held_name, "held"}, {&write_name, "write"}, {&index_name, "index"}};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if ((*names[k].name = PyUnicode_InternFromString(names[k].text)) == NULL) return NULL;
    if ((unshared = Py_BuildValue("(s)", "shared")) == NULL) return NULL;
    ((PyTypeObject *)objects[NODE_TYPE])->tp_dealloc = end_of_node;
    ((PyTypeObject *)objects[BOX_TYPE])->tp_dealloc = end_of_box;
    if (install_replay() < 0) return NULL;
    recording = 1;
    Py_RETURN_NONE;
}

static PyObject *set_recording(PyObject *module, PyObject *wanted) {
    PyObject *before = PyBool_FromLong(recording);
    recording = PyObject_IsTrue(wanted);
    return before;
}

/* limits(light, near, pending, swept, held): those of the policy that hold now. */
static PyObject *set_limits(PyObject *module, PyObject *args) {
    if (!PyArg_ParseTuple(args, "ddddd", &light, &near, &most_pending, &swept, &most_held)) return NULL;
    Py_RETURN_NONE;
}

static PyObject *hold(PyObject *module, PyObject *value) {
    count_value(value);
    Py_RETURN_NONE;
}

static PyObject *is_due(PyObject *module, PyObject *nothing) { return PyBool_FromLong(holds_too_much()); }

/* begin(nbytes, slack): start a count at `nbytes`, which may exceed the bound by `slack`. */
static PyObject *begin(PyObject *module, PyObject *args) {
    double nbytes;
    if (!PyArg_ParseTuple(args, "dd", &nbytes, &slack)) return NULL;
    base = held - nbytes;
    Py_RETURN_NONE;
}

/* weigh(node, most): the pending operations of a node; None where there are more, or some lie on ranks. */
static PyObject *weigh_node(PyObject *module, PyObject *args) {
    PyObject *node;
    long most, count;
    if (!PyArg_ParseTuple(args, "Ol", &node, &most)) return NULL;
    count = recording && is_node(node) && field(node, NODE_PLACE) == Py_None ? weigh(node, most) : -1;
    if (count < 0) Py_RETURN_NONE;
    return PyLong_FromLong(count);
}

/* There are so many more calls that are explained. */
static PyObject *show(PyObject *module, PyObject *number) {
    shown += (int)PyLong_AsLong(number);
    Py_RETURN_NONE;
}

/* Link a box that Python has made. */
static PyObject *link_made(PyObject *module, PyObject *box) {
    if (!PyObject_TypeCheck(box, &BoxType)) return PyErr_Format(PyExc_TypeError, "a box is wanted");
    if (!((Box *)box)->thread) link_box((Box *)box);
    Py_RETURN_NONE;
}

/* The boxes of this thread, in the order in which they were made. */
static PyObject *list_boxes(PyObject *module, PyObject *nothing) {
    PyObject *list = PyList_New(0);
    long thread = this_thread();
    for (Box *box = first_box; list != NULL && box != NULL; box = box->next)
        if (box->thread == thread && field((PyObject *)box, BOX_NODE) != NULL && PyList_Append(list, (PyObject *)box) < 0) Py_CLEAR(list);
    return list;
}

PyMethodDef record_methods[] = {
    {"limits", set_limits, METH_VARARGS, "The limits of the policy that hold now."},
    {"hold", hold, METH_O, "Count the memory of a value that pending work refers to."},
    {"holds_too_much", is_due, METH_NOARGS, "Whether pending work may keep too many bytes alive."},
    {"holding", begin, METH_VARARGS, "Start the count of held bytes, with a slack."},
    {"weigh", weigh_node, METH_VARARGS, "How many operations are pending in a node and behind it."},
    {"explain", show, METH_O, "There are so many more calls that are explained instead of computed."},
    {"link", link_made, METH_O, "Note a box that Python has made among those of this thread."},
    {"boxes", list_boxes, METH_NOARGS, "The boxes of this thread, in the order in which they were made."},
    {"behind", behind, METH_VARARGS, "The pending nodes behind some, and these, without those that are known."},
    {"install_recorder", install, METH_VARARGS, "Record by these slots and objects."},
    {"record", set_recording, METH_O, "Record without Python, or not; whether that was so before."},
    {NULL}};
