/* Tree: a handle to a named tree. Each call is a transaction of its own. It is a mapping of bytes to bytes. */
#include "latchkey_python.h"

PyObject *make_tree(Database *db, lk_tree handle, PyObject *name) {
  Tree *self = PyObject_New(Tree, &tree_type);
  if (self == NULL) return NULL;
  Py_INCREF(db);
  self->db = db;
  Py_INCREF(name);
  self->name = name;
  self->handle = handle;
  return (PyObject *)self;
}

static void tree_dealloc(Tree *self) {
  Py_DECREF(self->name);
  Py_DECREF(self->db);
  PyObject_Free(self);
}

/* The value of `key` as bytes; if it is missing, `missing`, or NotFound if that is NULL. */
static PyObject *read_value(Tree *self, PyObject *key_object, PyObject *missing) {
  NEW_ERROR(error);
  Bytes key;
  lk_value *value;
  lk_code code;
  PyObject *result;
  if (!may_enter(self->db) || !get_bytes(key_object, "key", &key)) return NULL;
  value = take_value(self->db);
  if (value == NULL) {
    release_bytes(&key);
    return NULL;
  }
  WITHOUT_GIL(self->db, code = lk_get(self->db->handle, self->handle, key.bytes, value, &error));
  release_bytes(&key);
  result = bytes_or_missing(code, value, &error, missing);
  give_value(self->db, value);
  return result;
}

static PyObject *tree_get(Tree *self, PyObject *const *args, Py_ssize_t count) {
  if (!check_count("get", count, 1, 2)) return NULL;
  return read_value(self, args[0], count == 2 ? args[1] : Py_None);
}

static PyObject *tree_subscript(Tree *self, PyObject *key) {
  PyObject *value = read_value(self, key, NULL);
  if (value == NULL && PyErr_ExceptionMatches(PyExc_KeyError)) {
    PyErr_Clear();
    return raise_error(LK_NOT_FOUND, "the tree does not hold the key");
  }
  return value;
}

static PyObject *tree_get_view(Tree *self, PyObject *key_object) {
  NEW_ERROR(error);
  Bytes key;
  lk_value *value;
  lk_code code;
  if (!may_enter(self->db) || !get_bytes(key_object, "key", &key)) return NULL;
  value = take_value(self->db);
  if (value == NULL) {
    release_bytes(&key);
    return NULL;
  }
  WITHOUT_GIL(self->db, code = lk_get(self->db->handle, self->handle, key.bytes, value, &error));
  release_bytes(&key);
  return view_or_none(self->db, code, value, &error);
}

static int tree_contains(Tree *self, PyObject *key) {
  PyObject *value = read_value(self, key, Py_None);
  const int found = value == NULL ? -1 : value != Py_None;
  Py_XDECREF(value);
  return found;
}

static PyObject *write_value(Tree *self, PyObject *key_object, PyObject *value_object) {
  NEW_ERROR(error);
  Bytes key, value;
  lk_code code;
  if (!may_enter(self->db) || !get_bytes(key_object, "key", &key)) return NULL;
  if (!get_bytes(value_object, "value", &value)) {
    release_bytes(&key);
    return NULL;
  }
  WITHOUT_GIL(self->db,
              code = lk_put(self->db->handle, self->handle, key.bytes, value.bytes, &error));
  release_bytes(&key);
  release_bytes(&value);
  return none_or_raise(code, &error);
}

static PyObject *tree_put(Tree *self, PyObject *const *args, Py_ssize_t count) {
  if (!check_count("put", count, 2, 2)) return NULL;
  return write_value(self, args[0], args[1]);
}

/* The code of lk_delete, or -1 with an exception set. */
static lk_code delete_key(Tree *self, PyObject *key_object, lk_error *error) {
  Bytes key;
  lk_code code;
  if (!may_enter(self->db) || !get_bytes(key_object, "key", &key)) return -1;
  WITHOUT_GIL(self->db, code = lk_delete(self->db->handle, self->handle, key.bytes, error));
  release_bytes(&key);
  return code;
}

static PyObject *tree_delete(Tree *self, PyObject *key) {
  NEW_ERROR(error);
  const lk_code code = delete_key(self, key, &error);
  return code == -1 ? NULL : found_or_raise(code, &error);
}

static int tree_assign(Tree *self, PyObject *key, PyObject *value) {
  NEW_ERROR(error);
  PyObject *done;
  lk_code code;
  if (value != NULL) {
    done = write_value(self, key, value);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
  }
  code = delete_key(self, key, &error);
  if (code > LK_OK) raise_error(code, error.message);
  return code == LK_OK ? 0 : -1;
}

/* ---- Scans: each reads a snapshot of its own. */

static PyObject *scan_of(Tree *self, PyObject *args, PyObject *kwargs, int what) {
  static char *names[] = {"start", "stop", "prefix", "reverse", NULL};
  PyObject *start = NULL, *stop = NULL, *prefix = NULL, *scan, *transaction;
  int is_reverse = 0;
  Range range;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO$Op:scan", names, &start, &stop, &prefix, &is_reverse)) {
    return NULL;
  }
  if (!get_range(start, stop, prefix, &range)) return NULL;
  transaction = begin_transaction(self->db, NULL, 1, NULL);
  scan = transaction == NULL
             ? NULL
             : make_scan((Transaction *)transaction, self->handle, &range, is_reverse, what, 1);
  Py_XDECREF(transaction);
  release_range(&range);
  return scan;
}
static PyObject *tree_scan(Tree *self, PyObject *args, PyObject *kwargs) {
  return scan_of(self, args, kwargs, SCAN_ITEMS);
}
static PyObject *tree_keys(Tree *self, PyObject *args, PyObject *kwargs) {
  return scan_of(self, args, kwargs, SCAN_KEYS);
}
static PyObject *tree_values(Tree *self, PyObject *args, PyObject *kwargs) {
  return scan_of(self, args, kwargs, SCAN_VALUES);
}

static PyObject *tree_get_many(Tree *self, PyObject *keys) { return get_many(self->db, NULL, self->handle, keys); }

static PyObject *tree_approximate_count(Tree *self, PyObject *args, PyObject *kwargs) {
  return estimate(self->db, self->handle, args, kwargs, lk_approximate_count);
}
static PyObject *tree_approximate_bytes(Tree *self, PyObject *args, PyObject *kwargs) {
  return estimate(self->db, self->handle, args, kwargs, lk_approximate_bytes);
}

static lk_code delete_range_of(lk_db db, lk_tree tree, const lk_bytes *from, const lk_bytes *to, uint64_t *figure,
                               lk_error *error) {
  *figure = 0;
  return lk_delete_range(db, tree, from, to, error);
}
static PyObject *tree_delete_range(Tree *self, PyObject *args, PyObject *kwargs) {
  PyObject *done = estimate(self->db, self->handle, args, kwargs, delete_range_of);
  if (done == NULL) return NULL;
  Py_DECREF(done);
  Py_RETURN_NONE;
}
static PyObject *tree_clear_records(Tree *self, PyObject *Py_UNUSED(ignored)) {
  PyObject *none = PyTuple_New(0);
  PyObject *done = none == NULL ? NULL : tree_delete_range(self, none, NULL);
  Py_XDECREF(none);
  return done;
}

static PyObject *tree_iter(Tree *self) {
  PyObject *none = PyTuple_New(0);
  PyObject *scan = none == NULL ? NULL : scan_of(self, none, NULL, SCAN_KEYS);
  Py_XDECREF(none);
  return scan;
}

static PyObject *tree_repr(Tree *self) { return PyUnicode_FromFormat("<latchkey.Tree %R>", self->name); }

static PyObject *tree_get_name(Tree *self, void *Py_UNUSED(closure)) {
  Py_INCREF(self->name);
  return self->name;
}

#define METHOD(name, function, flags, doc) {name, (PyCFunction)(void (*)(void))function, flags, doc}
#define RANGE "($self, start=None, stop=None, *, prefix=None, reverse=False)\n--\n\n"
static PyMethodDef tree_methods[] = {
    METHOD("get", tree_get, METH_FASTCALL,
           "get($self, key, default=None, /)\n--\n\nThe value of the key, or default."),
    METHOD("get_view", tree_get_view, METH_O,
           "get_view($self, key, /)\n--\n\nThe value as a read-only memoryview, or None. Saves the copy of a large\n"
           "value. It stays valid after the database is closed."),
    METHOD("get_many", tree_get_many, METH_O,
           "get_many($self, keys, /)\n--\n\nThe value of each key in one snapshot, None for a missing one. The reads of\n"
           "missing pages are in flight together."),
    METHOD("approximate_count", tree_approximate_count, METH_VARARGS | METH_KEYWORDS,
           "approximate_count($self, start=None, stop=None, *, prefix=None)\n--\n\nAn estimate of the records of a "
           "range, usually some percent off."),
    METHOD("approximate_bytes", tree_approximate_bytes, METH_VARARGS | METH_KEYWORDS,
           "approximate_bytes($self, start=None, stop=None, *, prefix=None)\n--\n\nAn estimate of the bytes of the "
           "pages of a range."),
    METHOD("delete_range", tree_delete_range, METH_VARARGS | METH_KEYWORDS,
           "delete_range($self, start=None, stop=None, *, prefix=None)\n--\n\nDeletes the records of a range in one "
           "step, as a transaction of its own.\nOlder snapshots go on reading them."),
    METHOD("clear", tree_clear_records, METH_NOARGS,
           "clear($self, /)\n--\n\nDeletes all records, as delete_range does."),
    METHOD("put", tree_put, METH_FASTCALL, "put($self, key, value, /)\n--\n\nInserts or replaces."),
    METHOD("delete", tree_delete, METH_O, "delete($self, key, /)\n--\n\nWhether the tree held the key."),
    METHOD("scan", tree_scan, METH_VARARGS | METH_KEYWORDS,
           "scan" RANGE "Pairs (key, value) with start <= key < stop, in order, of one snapshot."),
    METHOD("items", tree_scan, METH_VARARGS | METH_KEYWORDS, "items" RANGE "As scan."),
    METHOD("keys", tree_keys, METH_VARARGS | METH_KEYWORDS, "keys" RANGE "As scan, the keys alone."),
    METHOD("values", tree_values, METH_VARARGS | METH_KEYWORDS, "values" RANGE "As scan, the values alone."),
    {NULL, NULL, 0, NULL},
};
static PyGetSetDef tree_properties[] = {
    {"name", (getter)tree_get_name, NULL, "The name, a str.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyMappingMethods tree_as_mapping = {NULL, (binaryfunc)tree_subscript, (objobjargproc)tree_assign};
static PySequenceMethods tree_as_sequence = {.sq_contains = (objobjproc)tree_contains};

PyTypeObject tree_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "latchkey.Tree",
    .tp_basicsize = sizeof(Tree),
    .tp_dealloc = (destructor)tree_dealloc,
    .tp_repr = (reprfunc)tree_repr,
    .tp_iter = (getiterfunc)tree_iter,
    .tp_as_mapping = &tree_as_mapping,
    .tp_as_sequence = &tree_as_sequence,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_doc = "A named tree, which Database.tree returns. Each call is a transaction of its own and retries\n"
              "conflicts inside. All threads may use it at once.",
    .tp_methods = tree_methods,
    .tp_getset = tree_properties,
};
