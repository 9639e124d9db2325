/* The native recorder: operations on large arrays whose like was recorded before become nodes without entering Python.
 *
 * Python decides everything: it records the first operation of a kind and remembers the form of its node by the geometries of
 * the operands (lazy.elementwise). Here the same operation on such operands makes the same node: operands that lie on no ranks,
 * floating-point rules that have not changed. An operation that reads memory that the program holds is computed at once. Whatever else is met is left to
 * Python. Nodes, boxes, geometries and values are the objects of Python, whose slots are read and written by their offsets.
 */
#include "recorder.h"
#include "placed.h"

/* A method that makes views: a known view is made here; one that Python makes is remembered. */
static PyObject *viewed(PyObject *by, PyObject *python, PyObject *const *args, Py_ssize_t count) {
    PyObject *geometry = ((Front *)args[0])->geometry;
    int is_tuple = count == 2 && PyTuple_CheckExact(args[1]);
    Py_ssize_t n = is_tuple ? PyTuple_GET_SIZE(args[1]) : count - 1;
    size_t key[KEY] = {(size_t)geometry, (size_t)by};
    if (n >= VIEW_NUMBERS) return NULL;
    if (is_tuple) key[n + 2] = (size_t)TUPLE_ITEM;
    for (Py_ssize_t k = 0; k < n; k++) {
        PyObject *item = is_tuple ? PyTuple_GET_ITEM(args[1], k) : args[k + 1];
        if (!PyLong_CheckExact(item)) return NULL;
        key[k + 2] = (size_t)PyLong_AsSsize_t(item);
        if (PyErr_Occurred()) return PyErr_Clear(), NULL;
    }
    PyObject *known = view_met(key, (int)n + is_tuple + 2);
    if (known != NULL) return view_on(args[0], Py_NewRef(known));
    PyObject *made = PyObject_Vectorcall(python, args, count, NULL);
    if (made != NULL && is_large(made) && ((Front *)made)->cell == ((Front *)args[0])->cell)
        keep_view(key, (int)n + is_tuple + 2, ((Front *)made)->geometry);
    return made;
}

/* The geometry of a target; a new reference; NULL if Python has to decide. */
static PyObject *region_of(PyObject *array, PyObject *key) {
    Front *front = (Front *)array;
    Selection where;
    if (!may_show(front) || !selected_in(front, key, &where) || where.picks || !where.axes) return NULL;
    PyObject *region = geometry_for(front, dtype_of(front), where.offset, where.axes, where.shape, where.strides);
    if (region == NULL) drop_error();  /* Python raises it, with its words */
    return region;
}

PyObject *record_attribute(PyObject *getter, PyObject *array) {
    return recording && is_large(array) ? viewed(getter, getter, &array, 1) : NULL;
}

/* A small array as an operand beside large ones, borrowed; NULL where there is none. */
static PyArrayObject *small_operand(PyObject *value) {
    PyArrayObject *array = (PyArrayObject *)((Front *)value)->np;
    if ((PyObject *)array == Py_None || !PyArray_CheckExact(array) || !PyArray_NDIM(array)) return NULL;
    return PyArray_ISALIGNED(array) && is_native((PyObject *)PyArray_DESCR(array)) ? array : NULL;
}

/* A number among operands, in the dtype of a loop, by its class. */
static PyObject *converted(PyObject *convert, PyObject *number) {
    if (convert == (PyObject *)&PyDoubleArrType_Type && PyFloat_CheckExact(number)) return Py_NewRef(number);
    number = PyObject_CallOneArg(convert, number);
    if (number == NULL && PyErr_ExceptionMatches(PyExc_OverflowError)) drop_error();  /* Python raises it, or knows better */
    return number;
}

/* The nodes of small arrays among operands. What a call is found by: geometries, or the classes of numbers. Where the operands lie. */
typedef struct {
    PyObject *small[3];
    size_t part[3];
    PyObject *whole;               /* the box of a pending array of which the first such operand is a short part */
    int large, views, few, divided, held, is_short;
} Given;

/* The box of the pending array of which an array is a short part; NULL for other arrays. Its `pieces` counts the reads of such parts, as
 * lazy.conversion.present does; Python computes the array at the last one. */
static PyObject *pending_whole(Front *front) {
    int is_part = state_of(BOX(front->cell)->node) == PENDING && is_short(front->geometry) && size_of(front->geometry) <= shortest;
    return is_part ? front->cell : NULL;
}

static int is_last_part(PyObject *whole) { return whole != NULL && BOX(whole)->pieces + 1 >= pieces; }

/* Look at an operand; whether C can record it. */
static int look_at(Given *given, int k, PyObject *value) {
    Front *front = (Front *)value;
    PyObject *geometry = (PyObject *)Py_TYPE(value);
    if (Py_TYPE(value) == array_type && front->np == Py_None && is_large(value)) {
        if (given->whole == NULL) given->whole = pending_whole(front);
        given->is_short &= is_short(front->geometry);
        if ((geometry = read_of(front->geometry)) == NULL) return drop_error(), 0;
        given->views++;
        given->large = given->large || !is_read_at_once(value);
        given->divided += on_ranks(front);
        given->held |= !is_free(front->cell);
    } else if (Py_TYPE(value) == array_type) {
        if (small_operand(value) == NULL) return 0;
        given->few++;
    }
    given->part[k] = (size_t)geometry;
    return 1;
}

/* Copy the small operands; whether that was possible. */
static int copy_small(Given *given, PyObject *const *args, int count) {
    for (int k = 0; k < count; k++) {
        if (given->part[k] != (size_t)array_type) continue;
        if ((given->small[k] = snapshot(small_operand(args[k]))) == NULL) return 0;
        given->part[k] = (size_t)NODE(given->small[k])->geometry;
    }
    return 1;
}

/* The operands of an operation, nodes and numbers: new references, of which one is NULL where Python has to make it. */
static void fill_operands(PyObject **to, PyObject *const *args, const Given *given, int count, PyObject *convert) {
    for (int k = 0; k < count; k++) {
        if (k && to[k - 1] == NULL) to[k] = NULL;
        else if (k && args[k] == args[0]) to[k] = Py_NewRef(to[0]);  /* `a * a` reads a view once */
        else if (Py_TYPE(args[k]) != array_type) to[k] = converted(convert, args[k]);
        else to[k] = given->small[k] == NULL ? node_of(args[k]) : Py_NewRef(given->small[k]);
    }
}

/* The extents of an array that fills its memory in C order, with more than one element along each axis; how many, 0 where it is another one. */
static int plain_extents(PyObject *geometry, Py_ssize_t *to) {
    PyObject *shape = GEOMETRY(geometry)->shape;
    int axes = (int)PyTuple_GET_SIZE(shape);
    if (!GEOMETRY(geometry)->dense || !GEOMETRY(geometry)->c_contiguous || !GEOMETRY(geometry)->writeable) return 0;
    if (axes > BY_VALUE) return 0;
    for (int k = 0; k < axes; k++)
        if ((to[k] = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, k))) < 2) return 0;
    return axes;
}

/* The entry of an operation on such arrays of one shape, of which an operation on another shape is known; NULL with or without an error. */
static Met *met_in_other_shape(Forms *known, const size_t *parts, PyObject *const *args, int count) {
    Py_ssize_t shape[BY_VALUE], extents[BY_VALUE];
    size_t part[KEY] = {(size_t)python.call_op};
    int axes = 0;
    for (int k = 0; k < count; k++) {
        part[k + 2] = parts[k];
        if (Py_TYPE(args[k]) != array_type) continue;
        int own = plain_extents((PyObject *)parts[k], axes ? extents : shape);
        if (!own || (axes && (own != axes || memcmp(shape, extents, axes * sizeof *shape)))) return NULL;
        part[k + 2] = (size_t)GEOMETRY(parts[k])->dtype;
        axes = own;
    }
    part[1] = (size_t)axes << 1 | 1;  /* as an integer of Python is found */
    Met *like = met_in(known, part, count + 2);
    if (like == NULL) return NULL;
    PyObject *old = Py_NewRef(like->form), *convert = Py_XNewRef(like->convert);
    PyObject *geometry = dense_geometry(axes, shape, GEOMETRY(PyTuple_GET_ITEM(old, 1))->dtype), *mark = geometry == NULL ? NULL : PyObject_CallNoArgs(python.new_mark);
    PyObject *form = mark == NULL ? NULL : PyTuple_Pack(6, PyTuple_GET_ITEM(old, 0), geometry, PyTuple_GET_ITEM(old, 2), PyTuple_GET_ITEM(old, 3),
                                                        PyTuple_GET_ITEM(old, 4), mark);
    Met *met = form == NULL ? NULL : keep_form(known, parts, count, tuple_of((PyObject **)parts, count), form, convert);
    Py_XDECREF(geometry);
    Py_XDECREF(mark);
    Py_XDECREF(convert);
    Py_DECREF(old);
    return met;
}

/* True if broadcasting makes a large array of smaller ones, which ranks may divide: see lazy.conversion.spread_place. */
static int spreads_out(const Given *given, Py_ssize_t size, int count) {
    if (size < pieces * small_now()) return 0;
    for (int k = 0; k < count; k++)
        if (!PyType_Check((PyObject *)given->part[k]) && size_of((PyObject *)given->part[k]) == size) return 0;
    return 1;
}

/* An operation that was met before. */
static PyObject *met_call(Forms *known, PyObject *const *args, const Given *given, int count) {
    Met *met = met_in(known, given->part, count);
    if (met == NULL && !given->few && !given->divided) met = met_in_other_shape(known, given->part, args, count);
    if (met == NULL || !is_calm()) return NULL;
    PyObject *form = met->form, *operands[3];
    if (!given->divided && among_ranks() && spreads_out(given, size_of(PyTuple_GET_ITEM(form, 1)), count)) return NULL;
    /* NumPy computes with few elements, unless these are broadcast to many: see lazy.elementwise.spreads */
    if (!given->large && size_of(PyTuple_GET_ITEM(form, 1)) < small_now()) return NULL;
    /* ranks compare a mask that all of them have before it selects elements */
    if (given->divided && (given->few || (PyTuple_GET_ITEM(form, 0) != python.call_op && !(is_front(args[0]) && on_ranks((Front *)args[0]))))) return NULL;
    PyObject *whole = given->is_short && size_of(PyTuple_GET_ITEM(form, 1)) < small_now() ? given->whole : NULL;
    if (is_last_part(whole)) return NULL;
    Py_INCREF(form);
    fill_operands(operands, args, given, count, met->convert);
    PyObject *node = new_node(form, operands, count, site_here());
    if (whole != NULL && node != NULL) BOX(whole)->pieces++;
    Py_DECREF(form);
    return node;
}

/* The node of an operation that was met before, and whether the program holds memory that it reads; NULL with or without an error. */
static PyObject *node_of_call(PyObject *known, PyObject *const *args, Py_ssize_t count, int *held) {
    if (!recording || known == NULL || Py_TYPE(known) != forms_type || count < 1 || count > 3) return NULL;
    Given given = {.is_short = 1};
    PyObject *node = NULL;
    int k = 0;
    while (k < count && look_at(&given, k, args[k])) k++;
    *held = given.held;
    if (k == count && (given.large || (count == 2 && given.views + given.few == 2)) && !(given.held && among_ranks()) && (!given.few || copy_small(&given, args, (int)count)))
        node = met_call((Forms *)known, args, &given, (int)count);
    for (k = 0; given.few && k < 3; k++) Py_XDECREF(given.small[k]);
    return node;
}

PyObject *record_call(PyObject *known, PyObject *const *args, Py_ssize_t count) {
    int held = 0;
    PyObject *node = node_of_call(known, args, count, &held);
    if (held && node != NULL && weight_of(node) < 0) Py_CLEAR(node);  /* Python reads the memory for later */
    return held ? settled_result(array_of(node)) : array_of(node);
}

PyObject *record_power(PyObject *known, PyObject *const *args) {
    PyObject *exponent = args[1];
    if (!recording || !is_large(args[0]) || !(PyLong_CheckExact(exponent) || PyFloat_CheckExact(exponent)))
        return record_call(known, args, 2);
    PyObject *other = PyDict_GetItemWithError(python.powers, exponent);
    if (other == NULL) return PyErr_Occurred() ? NULL : record_call(known, args, 2);
    const char *kinds = PyLong_CheckExact(exponent) && PyLong_AsLong(exponent) == 2 ? "biufc" : "fc";
    char kind = dtype_of((Front *)args[0])->kind;
    return kind && strchr(kinds, kind) != NULL ? record_call(other, args, 1) : record_call(known, args, 2);
}

/* A copy of a whole array has its value, until one of them is written to; that of a part reads it, and NumPy copies memory that the program holds. */
static PyObject *copied(PyObject *array) {
    PyObject *box = ((Front *)array)->cell, *own = read_of(((Front *)array)->geometry);
    if (own == NULL || !GEOMETRY(own)->dense || !GEOMETRY(own)->c_contiguous) return NULL;
    if (!is_free(box)) {
        PyObject *memory = among_ranks() ? NULL : in_memory(array), *copy = memory == NULL ? NULL : PyArray_NewCopy((PyArrayObject *)memory, NPY_CORDER);
        Py_XDECREF(memory);
        return wrapped(copy);
    }
    int whole = own == ((Front *)array)->geometry;
    PyObject *counted = whole ? NULL : pending_whole((Front *)array);
    if (!whole && (is_read_at_once(array) || is_counted(array) || is_last_part(counted))) return NULL;
    if (counted != NULL) BOX(counted)->pieces++;
    PyObject *node = whole ? Py_NewRef(BOX(box)->node) : node_of(array), *copy = node == NULL ? NULL : new_box(node);
    if (copy == NULL) return NULL;
    if (whole) BOX(box)->shared = BOX(copy)->shared = 1;
    return handle_on(copy, own);
}

/* The fold of a node that was met before with this geometry: `known` has forms by ufunc, geometry and axis. Steals the node. */
static PyObject *folded(PyObject *known, PyObject *ufunc, PyObject *geometry, PyObject *axis, PyObject *node) {
    int foldable = !(state_of(node) & DIVIDED) || is_set(NODE(node)->place, PLACE_HELD_ONCE);
    size_t key[5] = {(size_t)ufunc, (size_t)geometry, part_of_object(axis)};
    Met *met = foldable ? met_in((Forms *)known, key, 3) : NULL;
    Py_ssize_t extents[BY_VALUE];
    if (met == NULL && foldable && axis == Py_None && (key[4] = (size_t)plain_extents(geometry, extents) << 1 | 1) > 1) {
        key[1] = (size_t)python.call_op;  /* of all axes of any shape */
        key[3] = (size_t)GEOMETRY(geometry)->dtype;
        met = met_in((Forms *)known, key, 5);
    }
    if (met == NULL) return Py_DECREF(node), NULL;
    PyObject *form = Py_NewRef(met->form), *made = new_node(form, &node, 1, site_here());
    Py_DECREF(form);
    if (made == NULL) return NULL;
    geometry = NODE(made)->geometry;
    return PyTuple_GET_SIZE(GEOMETRY(geometry)->shape) ? handle_on(new_box(made), geometry) : array_of(made);
}

/* `array.sum(axis)`; `known` is the pair of the forms of folds and the ufunc. */
static PyObject *reduced(PyObject *known, PyObject *const *args, Py_ssize_t count, PyObject *keywords) {
    PyObject *array = args[0], *axis = Py_None, *geometry = ((Front *)array)->geometry;
    Py_ssize_t named = keywords == NULL ? 0 : PyTuple_GET_SIZE(keywords);
    if (count + named > 2 || !PyTuple_CheckExact(known)) return NULL;
    if (named && PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(keywords, 0), "axis")) return NULL;
    if (count + named == 2) axis = args[1];
    if ((axis != Py_None && !PyLong_CheckExact(axis)) || is_read_at_once(array)) return NULL;
    PyObject *whole = pending_whole((Front *)array);
    if (is_last_part(whole)) return NULL;
    int held = !is_free(((Front *)array)->cell);
    if ((GEOMETRY(geometry)->dtype)->kind == 'b' || !is_calm() || (held && among_ranks())) return NULL;
    if (on_ranks((Front *)array) && !GEOMETRY(geometry)->is_base) return NULL;
    PyObject *node = (geometry = read_of(geometry)) == NULL ? NULL : node_of(array);
    PyObject *made = node == NULL ? NULL : folded(PyTuple_GET_ITEM(known, 0), PyTuple_GET_ITEM(known, 1), geometry, axis, node);
    if (whole != NULL && made != NULL) BOX(whole)->pieces++;
    return held ? settled_result(made) : made;
}

/* The product of two vectors; `known` is the forms of folds, the ufunc, and the forms of products. */
static PyObject *product_of(PyObject *known, PyObject *const *args, Py_ssize_t count, PyObject *keywords) {
    if (count != 2 || keywords != NULL || !PyTuple_CheckExact(known) || !is_large(args[1])) return NULL;
    PyObject *first = ((Front *)args[0])->geometry, *second = ((Front *)args[1])->geometry;
    PyArray_Descr *dtype = GEOMETRY(first)->dtype;
    if (axes_in((Front *)args[0]) != 1 || axes_in((Front *)args[1]) != 1) return NULL;
    if (dtype != GEOMETRY(second)->dtype || !strchr("fdFD", dtype->type)) return NULL;
    if (size_of(first) != size_of(second) || !size_of(first)) return NULL;
    int held;                      /* a number is computed at once */
    PyObject *node = node_of_call(PyTuple_GET_ITEM(known, 2), args, 2, &held);
    return node == NULL ? NULL : folded(PyTuple_GET_ITEM(known, 0), PyTuple_GET_ITEM(known, 1), NODE(node)->geometry, Py_None, node);
}

static int is_vector(PyObject *value) {
    if (Py_TYPE(value) != array_type) return 0;
    return is_large(value) ? axes_in((Front *)value) == 1 : small_operand(value) != NULL && PyArray_NDIM(small_operand(value)) == 1;
}

/* The products of the elements of two vectors; `known` is the forms of products. */
static PyObject *outer_of(PyObject *known, PyObject *const *args, Py_ssize_t count, PyObject *keywords) {
    if (count != 2 || keywords != NULL || !is_vector(args[0]) || !is_vector(args[1])) return NULL;
    PyObject *key = Py_BuildValue("NO", PySlice_New(NULL, NULL, NULL), Py_None), *column = key == NULL ? NULL : PyObject_GetItem(args[0], key);
    PyObject *factors[2] = {column, args[1]}, *made = column == NULL ? NULL : record_call(known, factors, 2);
    Py_XDECREF(key);
    Py_XDECREF(column);
    return made;
}

PyObject *record_function(PyObject *function, int way, PyObject *known, PyObject *python, PyObject *const *args,
                          Py_ssize_t count, PyObject *keywords) {
    if (way == ELEMENTWISE) return keywords == NULL ? record_call(known, args, count) : NULL;
    if (!recording) return NULL;
    if (way == PRODUCTS) return outer_of(known, args, count, keywords);
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

/* True if an array may be so large that others are computed with it, as lazy.pending decides. */
static int may_be_swept(PyObject *geometry) {
    double nbytes = size_of(geometry) * (double)PyDataType_ELSIZE(GEOMETRY(geometry)->dtype);
    return nbytes > swept;
}

/* Note an assignment as the latest of a box, whose value is computed if a loop has come round to it: 1, and 2 if so, or 0 where
 * Python has to do it; -1 with an error. */
static int note_site(PyObject *box, PyObject *region, PyObject *place) {
    PyObject *sites = BOX(box)->sites, *node = BOX(box)->node;
    int known = 0;
    if (!(state_of(node) & READY) && sites != Py_None) {
        known = PySet_Contains(sites, place);
        if (known <= 0) return known < 0 || PySet_Add(sites, place) < 0 ? -1 : 1;
        int few = region != NULL && is_short(region), divided = state_of(node) & DIVIDED;
        if (divided ? few : may_be_swept(BOX(box)->geometry)) return 0;
        Py_INCREF(node);
        int done = replay(&node, 1);
        Py_DECREF(node);
        if (done <= 0 || few) return done < 0 ? -1 : 0;  /* NumPy writes few elements into the computed array */
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
    Py_XSETREF(BOX(box)->sites, only);
    return 1 + known;
}

/* The form of an assignment through a view; `kept`: other boxes on ranks may have the old value. A new reference. */
static PyObject *update_form(PyObject *region, int is_array, int kept, int is_masked) {
    PyObject *through = through_of(region);
    if (through == NULL) return NULL;
    if (!kept && !is_masked) return Py_NewRef(field(through, is_array ? THROUGH_UPDATE : THROUGH_UPDATE_NUMBER));
    PyObject *forms = field(through, THROUGH_RARE);
    if (forms != Py_None) return Py_NewRef(PyTuple_GET_ITEM(forms, 2 * is_masked + is_array));
    return PyObject_CallFunction(python.rare_update, "Oii", region, is_array, is_masked);
}

/* Cell.write: 1, or 0 where Python has to do it. The lock is held. `region` is NULL where `value` replaces all of the
 * array, and `mask` where it is written everywhere. */
static int write_locked(PyObject *box, PyObject *region, PyObject *value, PyObject *mask, PyObject *site, PyObject *place) {
    if (!is_free(box)) return 0;
    PyObject *node = BOX(box)->node;
    if (region != NULL && NODE(node)->geometry != GEOMETRY(region)->base) return 0;
    int divided = state_of(node) & DIVIDED, kept = divided && BOX(box)->shared;
    int few = GEOMETRY(region == NULL ? BOX(box)->geometry : region)->is_short;
    if (region == NULL && NODE(value)->place != NODE(node)->place) return 0;  /* an array lies where it did */
    if (divided && (mask != NULL || (few && state_of(node) & READY))) return 0;
    if (!few) BOX(box)->pieces = 0;
    int noted = note_site(box, mask == NULL ? region : NULL, place);
    if (noted <= 0) return noted;
    if (region == NULL) {
        node = Py_NewRef(value);
    } else {
        PyObject *form = update_form(region, is_node(value), kept, mask != NULL), *operands[] = {BOX(box)->node, value, mask};
        int arity = mask == NULL ? 2 : 3;
        if (form == NULL) return -1;
        for (int k = 0; k < arity; k++) Py_INCREF(operands[k]);
        node = new_node(form, operands, arity, Py_NewRef(site));
        Py_DECREF(form);
        if (node == NULL) return -1;
    }
    BOX(box)->shared = 0;
    Py_XSETREF(BOX(box)->node, node);
    if ((node = bounded(Py_NewRef(node))) == NULL) return -1;
    Py_XSETREF(BOX(box)->node, node);
    return 1;
}

/* Cell.write, at the line that is at work: 1, or 0 where NumPy may write the few elements; -1 with an error. */
static int write_into(PyObject *box, PyObject *region, PyObject *value, PyObject *mask) {
    PyObject *site = site_here(), *place = site == NULL ? NULL : number_of(site);
    int done = PyErr_Occurred() ? -1 : 0;
    if (place != NULL && (done = lock()) == 0) {
        done = write_locked(box, region, value, mask, site, place);
        unlock();
    }
    if (!done && !(mask == NULL && region != NULL && is_short(region))) {
        PyObject *all = region == NULL ? NODE(value)->geometry : region;
        PyObject *args[6] = {box, all, value, mask == NULL ? Py_None : mask, site, Py_False};
        done = status_of(PyObject_Vectorcall(python.write, args, 5, region == NULL ? python.unshared : NULL)) < 0 ? -1 : 1;
    }
    Py_XDECREF(site);
    Py_XDECREF(place);
    return done;
}

/* A number as it is written into a region: what lazy.elementwise.value_for gives for the commonest; else NULL. */
static PyObject *number_for(PyObject *region, PyObject *value) {
    PyArray_Descr *dtype = GEOMETRY(region)->dtype;
    int fits = PyFloat_CheckExact(value) ? strchr("fc", dtype->kind) != NULL
                                         : PyLong_CheckExact(value) && strchr("iufc", dtype->kind) != NULL;
    if (!fits || !dtype->kind) return NULL;
    PyObject *number = PyObject_CallOneArg((PyObject *)dtype->typeobj, value);
    if (number == NULL) PyErr_Clear();
    return number;
}

/* True if a kernel may write into a part of an array. */
static int is_region(PyObject *region) {
    return !GEOMETRY(region)->is_base && !GEOMETRY(region)->overlapping && size_of(region) &&
           is_native((PyObject *)GEOMETRY(region)->dtype);
}

/* Write an array of the region's shape and dtype into it; as `write_into`. */
static int write_array(PyObject *box, PyObject *region, PyObject *value) {
    PyObject *theirs = ((Front *)value)->geometry;
    int held = !is_free(((Front *)value)->cell);
    if (GEOMETRY(theirs)->dtype != GEOMETRY(region)->dtype || !is_free(box) || (held && among_ranks())) return 0;
    PyObject *mine = GEOMETRY(region)->shape, *shape = GEOMETRY(theirs)->shape;
    int same = mine == shape ? 1 : PyObject_RichCompareBool(mine, shape, Py_EQ);
    if (same <= 0) return same;
    PyObject *node = node_of(value);
    if (node == NULL) return PyErr_Occurred() ? -1 : 0;
    int done = write_into(box, region, node, NULL);
    Py_DECREF(node);
    return done > 0 && held && settle_box(box) < 0 ? -1 : done;
}

int record_elements(PyObject *box, PyObject *region, PyObject *node, PyObject *mask) {
    return is_free(box) ? write_into(box, region, node, mask) : 0;
}

int record_number(PyObject *box, PyObject *region, PyObject *value, PyObject *mask) {
    PyObject *node = BOX(box)->node;
    if (mask == NULL && state_of(node) & READY && GEOMETRY(region)->is_short) return 0;
    if (!is_free(box) || !is_calm()) return 0;
    PyObject *number = number_for(region, value);
    if (number == NULL) return PyErr_Occurred() ? -1 : 0;
    int done = write_into(box, region, number, mask);
    Py_DECREF(number);
    return done;
}

int record_store(PyObject *array, PyObject *key, PyObject *value) {
    if (!recording || !is_large(array) || !(on_ranks((Front *)array) || in_world_of_process())) return 0;
    PyObject *box = ((Front *)array)->cell, *region = region_of(array, key);
    int done = 0;
    if (region == NULL) return PyErr_Occurred() ? -1 : 0;
    int state = state_of(BOX(box)->node), there = state & READY;
    if (state & DIVIDED && ((there && GEOMETRY(region)->is_short) || !GEOMETRY(((Front *)array)->geometry)->is_base)) {
        done = 0;                  /* Python asks what every rank has, and how a view crosses axes */
    } else if (may_show((Front *)array) && is_region(region) && !(there && is_short(region))) {
        if (!is_large(value)) done = record_number(box, region, value, NULL);
        else if (((Front *)value)->cell == box && ((Front *)value)->geometry == region) done = 1;  /* how Python ends `a[key] += x` */
        else done = write_array(box, region, value);
    }
    Py_DECREF(region);
    return done;
}

int record_into(PyObject *known, PyObject *array, PyObject *const *args, Py_ssize_t count) {
    if (!recording || !is_large(array) || !(on_ranks((Front *)array) || in_world_of_process()) || !may_show((Front *)array) || is_counted(array)) return 0;
    PyObject *region = ((Front *)array)->geometry, *box = ((Front *)array)->cell;
    int whole = GEOMETRY(region)->is_base, done = 0;
    if (!whole && (!is_region(region) || (state_of(BOX(box)->node) & READY && is_short(region)))) return 0;
    PyObject *result = record_call(known, args, count);
    if (result == NULL) return PyErr_Occurred() ? -1 : 0;
    if (is_large(result) && GEOMETRY(((Front *)result)->geometry)->dtype == GEOMETRY(region)->dtype) {
        if (!whole) {
            done = write_array(box, region, result);
        } else if (((Front *)result)->geometry == region && is_free(box)) {
            PyObject *node = Py_NewRef(BOX(((Front *)result)->cell)->node);
            Py_CLEAR(result);
            done = write_into(box, NULL, node, NULL);
            Py_DECREF(node);
        }
    }
    Py_XDECREF(result);
    return done;
}

int record_in_place(PyObject *known, PyObject *array, PyObject *other) {
    PyObject *args[2] = {array, other};
    return record_into(known, array, args, 2);
}
