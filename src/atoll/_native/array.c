/* The type of arrays: how they end, what Python sees of them, and their attributes. */
#include "array.h"
#include "buffers.h"

static int traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((Front *)self)->np);
    Py_VISIT(((Front *)self)->cell);
    Py_VISIT(((Front *)self)->geometry);
    Py_VISIT(((Front *)self)->view.dtype);
    Py_VISIT(((Front *)self)->shown);
    Py_VISIT(((Front *)self)->value);
    return 0;
}

static void clear(PyObject *self) {
    Front *front = (Front *)self;
    PyObject_GC_UnTrack(self);
    if (front->weak != NULL) PyObject_ClearWeakRefs(self);
    PyObject *np = front->np;
    front->np = NULL;
    if (np != NULL && PyArray_CheckExact(np) && PyArray_SIZE((PyArrayObject *)np) <= shortest && has_own_memory((PyArrayObject *)np))
        keep_result((PyArrayObject *)np);
    else Py_XDECREF(np);
    Py_CLEAR(front->cell);
    set_geometry(front, NULL);
    front->medium = 0;
}

/* Arrays that weak references and views alone know. In NumPy views refer to their base, so it lives as long as they do: such an
 * array waits here for the end of its last view. */
enum { LOOKED_AT = 16 };
static PyObject *waiting = NULL;

/* True if other arrays show the memory of one that owns it. */
static int has_views(Front *front) {
    if (front->np != NULL && front->np != Py_None)
        return Py_REFCNT(front->np) > 1 && PyArray_BASE((PyArrayObject *)front->np) == NULL;
    return front->cell != NULL && front->geometry != NULL && GEOMETRY(front->geometry)->is_base && Py_REFCNT(front->cell) > 1;
}

/* Let an array wait that is about to end; whether it does. Its reference count is zero, or one within a finaliser. */
static int waits(PyObject *self) {
    Front *front = (Front *)self;
    if (front->weak == NULL || !has_views(front)) return 0;
    PyObject *first = front->cell != NULL && front->np == Py_None ? BOX(front->cell)->first : NULL;
    PyWeakReference *known = (PyWeakReference *)front->weak;
    while (known != NULL && Py_REFCNT(known) <= ((PyObject *)known == first)) known = known->wr_next;
    if (known == NULL) return 0;
    Raised raised = taken_error();  /* arrays end while an exception passes as well */
    Py_ssize_t count = Py_REFCNT(self);
    Py_SET_REFCNT(self, count + 1);
    if ((waiting == NULL && (waiting = PyList_New(0)) == NULL) || PyList_Append(waiting, self) < 0) PyErr_Clear();
    raise_again(raised);
    Py_SET_REFCNT(self, Py_REFCNT(self) - 1);
    return Py_REFCNT(self) > count;
}

/* Let those end whose last view has ended: some of them are looked at, when any array ends. */
static void end_waiting(void) {
    static Py_ssize_t place = 0;
    Raised raised = taken_error();
    for (int k = 0; k < LOOKED_AT; k++) {
        Py_ssize_t last = PyList_GET_SIZE(waiting) - 1;
        if (last < 0) break;
        place = place <= 0 || place > last ? last : place - 1;
        PyObject *array = PyList_GET_ITEM(waiting, place);
        if (has_views((Front *)array)) continue;
        PyList_SET_ITEM(waiting, place, PyList_GET_ITEM(waiting, last));
        PyList_SET_ITEM(waiting, last, array);
        if (PyList_SetSlice(waiting, last, last + 1, NULL) < 0) PyErr_Clear();
    }
    raise_again(raised);
}

/* The same for subclasses of a program, which still have their attributes here; the collector of garbage calls it with more references. */
static void finalize(PyObject *self) {
    if (Py_TYPE(self) != array_type && Py_REFCNT(self) == 1) waits(self);
}

/* The class of arrays adds nothing to Front, and ends as that does: Python's own way through all bases takes three times as long. */
static void dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    if (type == array_type && waits(self)) return;
    clear(self);
    if (type != array_type || !keep_spare(self)) type->tp_free(self);
    Py_DECREF(type);
    if (waiting != NULL) end_waiting();
}

static PyObject *get_part(PyObject *self, void *offset) {
    if (!all_shown(&self, 1)) return NULL;
    PyObject *part = *(PyObject **)((char *)self + (size_t)offset);
    if (part == NULL) PyErr_SetString(PyExc_AttributeError, "an array that atoll has not made");
    return Py_XNewRef(part);
}

static int set_part(PyObject *self, PyObject *value, void *offset) {
    if (!all_shown(&self, 1)) return -1;
    PyObject **part = (PyObject **)((char *)self + (size_t)offset);
    Py_XSETREF(*part, Py_XNewRef(value));
    return 0;
}

static PyGetSetDef front_getset[] = {
    {"_np", get_part, set_part, "the NumPy array of a small array; else None", (void *)offsetof(Front, np)},
    {"_cell", get_part, set_part, "the box of the base", (void *)offsetof(Front, cell)},
    {"_geometry", geometry_get, geometry_set, "the shape, strides and offset of the view", NULL}, {NULL}};

static PyMemberDef front_members[] = {{"__weaklistoffset__", T_PYSSIZET, offsetof(Front, weak), READONLY}, {NULL}};
static const PyType_Slot life_slots[] = {
    {Py_tp_dealloc, dealloc}, {Py_tp_traverse, traverse}, {Py_tp_finalize, finalize}, {Py_tp_members, front_members},
    {Py_tp_getset, front_getset}, {Py_tp_doc, "What arrays are to the native front."}, {0}};

PyType_Spec *front_spec(void) {
    static PyType_Slot slots[64];
    static PyType_Spec spec = {"atoll._front.Front", sizeof(Front), 0, CLASS_FLAGS | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};
    const PyType_Slot *all[] = {life_slots, operator_slots, item_slots, buffer_slots};
    int count = 0;
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        for (const PyType_Slot *slot = all[k]; slot->slot; slot++) slots[count++] = *slot;
    return &spec;
}

/* ---- attributes */

typedef struct {
    PyObject_HEAD
    PyObject *name, *python, *view;
    int lies;                      /* whether it tells how the memory lies, which is another one where it is brought together */
} Attribute;

static PyObject *attribute_of(PyObject *self, PyObject *object, PyObject *type) {
    Attribute *attribute = (Attribute *)self;
    if (object == NULL || object == Py_None) return Py_NewRef(attribute->python);
    PyObject *array = np_of(object);
    if (array == NULL && is_medium(object)) {
        PyObject *geometry = geometry_of((Front *)object), *shadow = geometry == NULL ? NULL : PyObject_GetAttr(geometry, interned.shadow);
        PyObject *result = shadow == NULL ? NULL : PyObject_GetAttr(shadow, attribute->name);
        Py_XDECREF(shadow);
        if (result == NULL || PyTuple_CheckExact(result) || PyLong_CheckExact(result) || PyArray_DescrCheck(result)) return result;
        Py_DECREF(result);
        if (make_small(object) < 0) return NULL;
        array = np_of(object);
    }
    if (array != NULL) {
        PyObject *result = PyObject_GetAttr(array, attribute->name);
        return wrapped(result);
    }
    array = has_view(object) && !(attribute->lies && on_ranks((Front *)object)) ? in_memory(object) : NULL;
    if (array != NULL) {
        PyObject *result = PyObject_GetAttr(array, attribute->name);
        Py_DECREF(array);
        return result == NULL || !PyArray_CheckExact(result) ? result : view_in(object, (PyArrayObject *)result);
    }
    PyObject *view = attribute->view == NULL ? NULL : record_attribute(attribute->view, object);
    if (view != NULL || PyErr_Occurred()) return view;
    return Py_TYPE(attribute->python)->tp_descr_get(attribute->python, object, type);
}

static PyObject *attribute_get(PyObject *self, PyObject *object, PyObject *type) {
    return ended(attribute_of(self, object, type));
}

static int attribute_set(PyObject *self, PyObject *object, PyObject *value) {
    PyObject *python = ((Attribute *)self)->python;
    return ended_with(Py_TYPE(python)->tp_descr_set(python, object, value));
}

static PyObject *attribute_new(PyTypeObject *type, PyObject *args, PyObject *options) {
    PyObject *name, *python;
    if (!PyArg_ParseTuple(args, "UO!", &name, &PyProperty_Type, &python)) return NULL;
    Attribute *self = (Attribute *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    PyUnicode_InternInPlace(&name);
    self->name = Py_NewRef(name);
    self->python = Py_NewRef(python);
    self->lies = !PyUnicode_CompareWithASCIIString(name, "strides");
    if (!PyUnicode_CompareWithASCIIString(name, "T") || !PyUnicode_CompareWithASCIIString(name, "mT")) {
        self->view = PyObject_GetAttrString(python, "fget");
        if (self->view == NULL) Py_CLEAR(self);
    }
    return (PyObject *)self;
}

static PyType_Slot attribute_slots[] = {
    {Py_tp_new, attribute_new}, {Py_tp_descr_get, attribute_get}, {Py_tp_descr_set, attribute_set},
    {Py_tp_doc, "A property that NumPy answers where the array is at hand."}, {0}};
PyType_Spec attribute_spec = {"atoll._front.Attribute", sizeof(Attribute), 0, CLASS_FLAGS, attribute_slots};

int install_array(void) {
    if (!PyType_Check(python.array_type) || !PyType_Check(python.flat_type)) return PyErr_Format(PyExc_TypeError, "arrays need classes"), -1;
    if (array_type == NULL) numbers_ask();
    array_type = (PyTypeObject *)python.array_type;
    flat_type = (PyTypeObject *)python.flat_type;
    if (array_type->tp_basicsize == front_type->tp_basicsize) array_type->tp_dealloc = dealloc;
    return 0;
}
