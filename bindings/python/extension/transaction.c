/* Transaction and Savepoint. */
#include "latchkey_python.h"

typedef struct {
  PyObject_HEAD
  lk_savepoint handle;
} Savepoint;

/* ---- Beginning and ending. */

int transaction_refused(Transaction *self) {
  if (self->is_over) {
    raise_error(LK_FAILED_PRECONDITION, "the transaction is over: begin another one");
  } else {
    raise_error(LK_FAILED_PRECONDITION,
                "another thread is in a call of this transaction: one thread at a time may use it");
  }
  return 0;
}

static int isolation_of(PyObject *object, int32_t *isolation) {
  *isolation = LK_ISOLATION_DEFAULT;
  if (object == NULL || object == Py_None) return 1;
  if (PyUnicode_Check(object)) {
    if (PyUnicode_CompareWithASCIIString(object, "snapshot") == 0) *isolation = LK_ISOLATION_SNAPSHOT;
    if (PyUnicode_CompareWithASCIIString(object, "serializable") == 0) *isolation = LK_ISOLATION_SERIALIZABLE;
  }
  if (*isolation != LK_ISOLATION_DEFAULT) return 1;
  PyErr_Format(PyExc_ValueError, "isolation=%R: give None, 'snapshot' or 'serializable'", object);
  return 0;
}

int durability_of(PyObject *object, int32_t *durability) {
  static const char *const names[] = {"none", "group", "commit"}; /* LK_DURABILITY_NONE and on */
  *durability = LK_DURABILITY_DEFAULT;
  if (object == NULL || object == Py_None) return 1;
  for (int32_t i = 0; PyUnicode_Check(object) && i < 3; ++i) {
    if (PyUnicode_CompareWithASCIIString(object, names[i]) == 0) *durability = LK_DURABILITY_NONE + i;
  }
  if (*durability != LK_DURABILITY_DEFAULT) return 1;
  PyErr_Format(PyExc_ValueError, "durability=%R: give None, 'none', 'group' or 'commit'", object);
  return 0;
}

PyObject *begin_transaction(Database *db, PyObject *isolation, int read_only, PyObject *durability) {
  NEW_ERROR(error);
  int32_t of_commit;
  lk_begin_options options = LK_BEGIN_OPTIONS_INIT;
  Transaction *self;
  lk_txn handle;
  lk_code code;
  if (!isolation_of(isolation, &options.isolation) || !durability_of(durability, &of_commit) || !may_enter(db)) {
    return NULL;
  }
  options.read_only = read_only;
  WITHOUT_GIL(db, code = lk_begin(db->handle, &options, &handle, &error));
  if (code != LK_OK) return raise_error(code, error.message);
  self = PyObject_New(Transaction, &transaction_type);
  if (self == NULL) {
    WITHOUT_GIL(db, lk_txn_rollback(handle, NULL));
    return NULL;
  }
  Py_INCREF(db);
  self->db = db;
  self->handle = handle;
  self->is_over = self->in_use = self->was_aborted = self->is_vain = 0;
  self->durability = of_commit;
  self->changes = 0;
  self->orphans = NULL;
  self->orphan_count = 0;
  return (PyObject *)self;
}

static void release_orphans(Transaction *self) {
  for (size_t i = 0; i < self->orphan_count; ++i) lk_cursor_release(self->orphans[i], NULL);
  PyMem_Free(self->orphans);
  self->orphans = NULL;
  self->orphan_count = 0;
}

void release_cursor(Transaction *self, lk_cursor cursor) {
  lk_cursor *grown;
  if (!self->in_use && self->db->state != DATABASE_CLOSING) {
    lk_cursor_release(cursor, NULL); /* waits for nothing */
    return;
  }
  grown = PyMem_Realloc(self->orphans, (self->orphan_count + 1) * sizeof cursor);
  if (grown == NULL) return; /* its memory is lost, as that of Python is */
  self->orphans = grown;
  self->orphans[self->orphan_count++] = cursor;
}

/* Whether the library has ended the transaction. A read of no tree is refused with one code or another. */
static int has_ended(Transaction *self) {
  const lk_tree none = {{0, 0}};
  lk_value value = LK_VALUE_INIT;
  const int ended = lk_txn_get(self->handle, none, lk_text(""), &value, NULL) == LK_FAILED_PRECONDITION;
  lk_value_release(&value);
  return ended;
}

/* REQUIRES, as commit: neither over nor in use. */
static lk_code roll_back(Transaction *self, lk_error *error) {
  lk_code code;
  self->changes++;
  self->was_aborted = has_ended(self);
  self->is_vain = lk_txn_is_vain_to_repeat(self->handle);
  IN_TRANSACTION(self, code = lk_txn_rollback(self->handle, error));
  self->is_over = 1;
  return code;
}

static lk_code commit(Transaction *self, int32_t durability, lk_error *error) {
  lk_commit_options options = LK_COMMIT_OPTIONS_INIT;
  int has_been_ended;
  lk_code code;
  options.durability = durability;
  self->changes++;
  IN_TRANSACTION(self, code = lk_txn_commit_with(self->handle, &options, error));
  has_been_ended = code == LK_FAILED_PRECONDITION && has_ended(self);
  self->was_aborted = code == LK_ABORTED || has_been_ended;
  /* Otherwise it goes on: out of memory, or a durability that the database does not have. */
  self->is_over = code != LK_RESOURCE_EXHAUSTED && (code != LK_FAILED_PRECONDITION || has_been_ended);
  return code;
}

void abandon(Transaction *self) {
  if (self->is_over) return;
  await_close(self->db);
  roll_back(self, NULL);
}

static void transaction_dealloc(Transaction *self) {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  await_close(self->db);
  release_orphans(self);
  abandon(self);
  PyErr_Restore(type, value, traceback);
  Py_DECREF(self->db);
  PyObject_Free(self);
}

static PyObject *commit_with(Transaction *self, int32_t durability) {
  NEW_ERROR(error);
  if (!may_use(self)) return NULL;
  return none_or_raise(commit(self, durability, &error), &error);
}

static PyObject *transaction_commit(Transaction *self, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"durability", NULL};
  PyObject *object = NULL;
  int32_t durability;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$O:commit", names, &object) ||
      !durability_of(object, &durability)) {
    return NULL;
  }
  return commit_with(self, durability == LK_DURABILITY_DEFAULT ? self->durability : durability);
}

static PyObject *transaction_rollback(Transaction *self, PyObject *Py_UNUSED(ignored)) {
  NEW_ERROR(error);
  if (!may_use(self)) return NULL;
  return none_or_raise(roll_back(self, &error), &error);
}

static PyObject *transaction_enter(Transaction *self, PyObject *Py_UNUSED(ignored)) {
  if (!may_use(self)) return NULL;
  Py_INCREF(self);
  return (PyObject *)self;
}

/* Commits, or rolls back if an exception ends the block. Nothing is left to do if the block did it. */
static PyObject *transaction_exit(Transaction *self, PyObject *const *args, Py_ssize_t count) {
  if (!check_count("__exit__", count, 3, 3)) return NULL;
  if (self->is_over) Py_RETURN_NONE;
  if (args[0] == Py_None) return commit_with(self, self->durability);
  if (self->in_use) {
    transaction_refused(self);
    return NULL;
  }
  abandon(self); /* of a closed database, too: the exception of the block counts */
  Py_RETURN_NONE;
}

/* ---- Reads. */

typedef lk_code (*ReadCall)(lk_txn, lk_tree, lk_bytes, lk_value *, lk_error *);

/* Reads into *value, which the caller gives back. 0 with an exception set before the call. */
static int read_with(Transaction *self, PyObject *const *args, ReadCall call, lk_value **value, lk_code *code,
                     lk_error *error) {
  Bytes key;
  lk_tree tree;
  if (!may_use(self) || !get_tree(args[0], &tree) || !get_bytes(args[1], "key", &key)) return 0;
  *value = take_value(self->db);
  if (*value != NULL) IN_TRANSACTION(self, *code = call(self->handle, tree, key.bytes, *value, error));
  release_bytes(&key);
  return *value != NULL;
}

static PyObject *read_bytes(Transaction *self, PyObject *const *args, Py_ssize_t count, const char *name,
                            ReadCall call) {
  NEW_ERROR(error);
  lk_value *value;
  lk_code code;
  PyObject *result;
  if (!check_count(name, count, 2, 3) || !read_with(self, args, call, &value, &code, &error)) return NULL;
  result = bytes_or_missing(code, value, &error, count == 3 ? args[2] : Py_None);
  give_value(self->db, value);
  return result;
}

static PyObject *transaction_get(Transaction *self, PyObject *const *args, Py_ssize_t count) {
  return read_bytes(self, args, count, "get", lk_txn_get);
}
static PyObject *transaction_get_for_update(Transaction *self, PyObject *const *args, Py_ssize_t count) {
  return read_bytes(self, args, count, "get_for_update", lk_txn_get_for_update);
}

static PyObject *transaction_get_view(Transaction *self, PyObject *const *args, Py_ssize_t count) {
  NEW_ERROR(error);
  lk_value *value;
  lk_code code;
  if (!check_count("get_view", count, 2, 2) ||
      !read_with(self, args, lk_txn_get, &value, &code, &error)) {
    return NULL;
  }
  return view_or_none(self->db, code, value, &error);
}

static PyObject *transaction_get_many(Transaction *self, PyObject *const *args, Py_ssize_t count) {
  lk_tree tree;
  if (!check_count("get_many", count, 2, 2) || !get_tree(args[0], &tree)) return NULL;
  return get_many(self->db, self, tree, args[1]);
}

/* prefetch(tree, keys): a hint. */
static PyObject *transaction_prefetch(Transaction *self, PyObject *const *args, Py_ssize_t count) {
  NEW_ERROR(error);
  lk_tree tree, *trees = NULL;
  lk_bytes *keys = NULL;
  PyObject *list;
  Py_ssize_t size;
  lk_code code = LK_OK;
  if (!check_count("prefetch", count, 2, 2) || !get_tree(args[0], &tree)) return NULL;
  list = PySequence_Tuple(args[1]);
  if (list == NULL) return NULL;
  size = PyTuple_GET_SIZE(list);
  for (Py_ssize_t i = 0; i < size; ++i) {
    if (!PyBytes_Check(PyTuple_GET_ITEM(list, i))) {
      PyErr_SetString(PyExc_TypeError, "keys must be bytes");
      goto done;
    }
  }
  if (!may_use(self)) goto done;
  trees = PyMem_Calloc((size_t)size + 1, sizeof *trees);
  keys = PyMem_Calloc((size_t)size + 1, sizeof *keys);
  if (trees == NULL || keys == NULL) {
    PyErr_NoMemory();
    goto done;
  }
  for (Py_ssize_t i = 0; i < size; ++i) {
    PyObject *key = PyTuple_GET_ITEM(list, i);
    trees[i] = tree;
    keys[i] = lk_slice(PyBytes_AS_STRING(key), (size_t)PyBytes_GET_SIZE(key));
  }
  IN_TRANSACTION(self, code = lk_txn_prefetch(self->handle, trees, keys, (size_t)size, &error));
done:
  PyMem_Free(trees);
  PyMem_Free(keys);
  Py_DECREF(list);
  return PyErr_Occurred() ? NULL : none_or_raise(code, &error);
}

/* ---- Writes. */

static PyObject *write_with(Transaction *self, PyObject *const *args, Py_ssize_t count, const char *name,
                            lk_code (*call)(lk_txn, lk_tree, lk_bytes, lk_bytes, lk_error *)) {
  NEW_ERROR(error);
  Bytes key, value;
  lk_tree tree;
  lk_code code;
  if (!check_count(name, count, 3, 3) || !may_use(self) || !get_tree(args[0], &tree)) return NULL;
  if (!get_bytes(args[1], "key", &key)) return NULL;
  if (!get_bytes(args[2], "value", &value)) {
    release_bytes(&key);
    return NULL;
  }
  self->changes++;
  IN_TRANSACTION(self, code = call(self->handle, tree, key.bytes, value.bytes, &error));
  release_bytes(&key);
  release_bytes(&value);
  return none_or_raise(code, &error);
}

static PyObject *transaction_put(Transaction *self, PyObject *const *args, Py_ssize_t count) {
  return write_with(self, args, count, "put", lk_txn_put);
}
static PyObject *transaction_insert(Transaction *self, PyObject *const *args, Py_ssize_t count) {
  return write_with(self, args, count, "insert", lk_txn_insert);
}

static PyObject *transaction_delete(Transaction *self, PyObject *const *args, Py_ssize_t count) {
  NEW_ERROR(error);
  Bytes key;
  lk_tree tree;
  lk_code code;
  if (!check_count("delete", count, 2, 2) || !may_use(self) || !get_tree(args[0], &tree)) return NULL;
  if (!get_bytes(args[1], "key", &key)) return NULL;
  self->changes++;
  IN_TRANSACTION(self, code = lk_txn_delete(self->handle, tree, key.bytes, &error));
  release_bytes(&key);
  return found_or_raise(code, &error);
}

/* ---- Savepoints. */

static PyObject *transaction_savepoint(Transaction *self, PyObject *Py_UNUSED(ignored)) {
  NEW_ERROR(error);
  Savepoint *savepoint;
  lk_savepoint handle;
  lk_code code;
  if (!may_use(self)) return NULL;
  IN_TRANSACTION(self, code = lk_txn_set_savepoint(self->handle, &handle, &error));
  if (code != LK_OK) return raise_error(code, error.message);
  savepoint = PyObject_New(Savepoint, &savepoint_type);
  if (savepoint != NULL) savepoint->handle = handle;
  return (PyObject *)savepoint;
}

static PyObject *transaction_rollback_to(Transaction *self, PyObject *object) {
  NEW_ERROR(error);
  lk_savepoint savepoint;
  lk_code code;
  if (!PyObject_TypeCheck(object, &savepoint_type)) {
    PyErr_Format(PyExc_TypeError, "savepoint must be what Transaction.savepoint returned, not %.100s",
                 Py_TYPE(object)->tp_name);
    return NULL;
  }
  savepoint = ((Savepoint *)object)->handle;
  if (!may_use(self)) return NULL;
  self->changes++;
  IN_TRANSACTION(self, code = lk_txn_rollback_to(self->handle, savepoint, &error));
  return none_or_raise(code, &error);
}

/* ---- Scans and cursors. */

/* What scan() and cursor() get; borrowed references. */
typedef struct {
  PyObject *tree, *start, *stop, *prefix;
  int is_reverse;
} RangeArguments;

/* Positional arguments as a tuple, the named ones as a dict, for PyArg_ParseTupleAndKeywords. */
static int pack_arguments(PyObject *const *args, Py_ssize_t count, PyObject *names, PyObject **tuple,
                          PyObject **dict) {
  const Py_ssize_t named = names == NULL ? 0 : PyTuple_GET_SIZE(names);
  *tuple = PyTuple_New(count);
  *dict = PyDict_New();
  if (*tuple == NULL || *dict == NULL) return 0;
  for (Py_ssize_t i = 0; i < count; ++i) {
    Py_INCREF(args[i]);
    PyTuple_SET_ITEM(*tuple, i, args[i]);
  }
  for (Py_ssize_t i = 0; i < named; ++i) {
    if (PyDict_SetItem(*dict, PyTuple_GET_ITEM(names, i), args[count + i]) != 0) return 0;
  }
  return 1;
}

/* Mostly a tree and a start are given, by position: then nothing is packed. 0 with an exception set. */
static int get_range_arguments(PyObject *const *args, Py_ssize_t count, PyObject *names, int is_scan,
                               RangeArguments *to) {
  static char *of_scan[] = {"tree", "start", "stop", "prefix", "reverse", NULL};
  static char *of_cursor[] = {"tree", "start", "stop", "prefix", NULL};
  PyObject *tuple, *dict;
  int is_fit;
  *to = (RangeArguments){NULL, NULL, NULL, NULL, 0};
  if (names == NULL && count >= 1 && count <= 3) {
    to->tree = args[0];
    to->start = count > 1 ? args[1] : NULL;
    to->stop = count > 2 ? args[2] : NULL;
    return 1;
  }
  is_fit = pack_arguments(args, count, names, &tuple, &dict);
  if (is_fit && is_scan) {
    is_fit = PyArg_ParseTupleAndKeywords(tuple, dict, "O|OO$Op:scan", of_scan, &to->tree, &to->start, &to->stop,
                                         &to->prefix, &to->is_reverse);
  } else if (is_fit) {
    is_fit = PyArg_ParseTupleAndKeywords(tuple, dict, "O|OO$O:cursor", of_cursor, &to->tree, &to->start,
                                         &to->stop, &to->prefix);
  }
  Py_XDECREF(tuple); /* the caller of the method holds the objects */
  Py_XDECREF(dict);
  return is_fit;
}

static PyObject *scan_of(Transaction *self, PyObject *const *args, Py_ssize_t count, PyObject *names, int what) {
  RangeArguments given;
  PyObject *scan;
  lk_tree tree;
  Range range;
  if (!get_range_arguments(args, count, names, 1, &given) || !get_tree(given.tree, &tree) ||
      !get_range(given.start, given.stop, given.prefix, &range)) {
    return NULL;
  }
  scan = make_scan(self, tree, &range, given.is_reverse, what, 0);
  release_range(&range);
  return scan;
}
static PyObject *transaction_scan(Transaction *self, PyObject *const *args, Py_ssize_t count, PyObject *names) {
  return scan_of(self, args, count, names, SCAN_ITEMS);
}
static PyObject *transaction_keys(Transaction *self, PyObject *const *args, Py_ssize_t count, PyObject *names) {
  return scan_of(self, args, count, names, SCAN_KEYS);
}
static PyObject *transaction_values(Transaction *self, PyObject *const *args, Py_ssize_t count, PyObject *names) {
  return scan_of(self, args, count, names, SCAN_VALUES);
}

static PyObject *transaction_cursor(Transaction *self, PyObject *const *args, Py_ssize_t count, PyObject *names) {
  RangeArguments given;
  PyObject *cursor;
  lk_tree tree;
  Range range;
  if (!get_range_arguments(args, count, names, 0, &given) || !get_tree(given.tree, &tree) ||
      !get_range(given.start, given.stop, given.prefix, &range)) {
    return NULL;
  }
  cursor = make_cursor(self, tree, &range);
  release_range(&range);
  return cursor;
}

static PyObject *transaction_get_is_open(Transaction *self, void *Py_UNUSED(closure)) {
  return PyBool_FromLong(!self->is_over && self->db->state == DATABASE_OPEN);
}

static PyObject *transaction_get_was_aborted(Transaction *self, void *Py_UNUSED(closure)) {
  if (!self->is_over && self->in_use) {
    transaction_refused(self);
    return NULL;
  }
  return PyBool_FromLong(self->is_over ? self->was_aborted : has_ended(self));
}

static PyObject *transaction_get_is_vain(Transaction *self, void *Py_UNUSED(closure)) {
  return PyBool_FromLong(self->is_over ? self->is_vain : lk_txn_is_vain_to_repeat(self->handle));
}

#define METHOD(name, function, flags, doc) {name, (PyCFunction)(void (*)(void))function, flags, doc}
#define RANGE "($self, tree, start=None, stop=None, *, prefix=None, reverse=False)\n--\n\n"
static PyMethodDef transaction_methods[] = {
    METHOD("get", transaction_get, METH_FASTCALL,
           "get($self, tree, key, default=None, /)\n--\n\nThe value of the key, or default."),
    METHOD("get_for_update", transaction_get_for_update, METH_FASTCALL,
           "get_for_update($self, tree, key, default=None, /)\n--\n\nAs get, and takes the write lock of the key."),
    METHOD("get_view", transaction_get_view, METH_FASTCALL,
           "get_view($self, tree, key, /)\n--\n\nThe value as a read-only memoryview, or None."),
    METHOD("get_many", transaction_get_many, METH_FASTCALL,
           "get_many($self, tree, keys, /)\n--\n\nThe value of each key, None for a missing one. The reads of missing "
           "pages are in\nflight together."),
    METHOD("prefetch", transaction_prefetch, METH_FASTCALL,
           "prefetch($self, tree, keys, /)\n--\n\nA hint: reads the pages of the keys with many reads in flight."),
    METHOD("put", transaction_put, METH_FASTCALL, "put($self, tree, key, value, /)\n--\n\nInserts or replaces."),
    METHOD("put_parts", put_parts, METH_FASTCALL,
           "put_parts($self, tree, key, parts, /)\n--\n\nAs put, of a value whose parts an iterable gives: only one part is "
           "in memory at a\ntime. The key is locked from the start, and keeps its value until the last part. If\n"
           "the iterable raises, the key keeps its value, and the transaction goes on."),
    METHOD("get_part", get_part, METH_FASTCALL,
           "get_part($self, tree, key, offset, size, /)\n--\n\nUp to size bytes of the value from byte offset on: fewer at "
           "its end, b\"\" behind it.\nNone: no such key."),
    METHOD("value_size", value_size, METH_FASTCALL,
           "value_size($self, tree, key, /)\n--\n\nThe size of the value in bytes; it is not read. None: no such key."),
    METHOD("insert", transaction_insert, METH_FASTCALL,
           "insert($self, tree, key, value, /)\n--\n\nAlreadyExists if the tree holds the key."),
    METHOD("delete", transaction_delete, METH_FASTCALL,
           "delete($self, tree, key, /)\n--\n\nWhether the tree held the key."),
    METHOD("scan", transaction_scan, METH_FASTCALL | METH_KEYWORDS,
           "scan" RANGE "Pairs (key, value) with start <= key < stop, in order. It shows the writes of this\n"
           "transaction, also those made ahead of it meanwhile."),
    METHOD("items", transaction_scan, METH_FASTCALL | METH_KEYWORDS, "items" RANGE "As scan."),
    METHOD("keys", transaction_keys, METH_FASTCALL | METH_KEYWORDS, "keys" RANGE "As scan, the keys alone."),
    METHOD("values", transaction_values, METH_FASTCALL | METH_KEYWORDS, "values" RANGE "As scan, the values alone."),
    METHOD("cursor", transaction_cursor, METH_FASTCALL | METH_KEYWORDS,
           "cursor($self, tree, start=None, stop=None, *, prefix=None)\n--\n\nA cursor before the range."),
    METHOD("savepoint", transaction_savepoint, METH_NOARGS,
           "savepoint($self, /)\n--\n\nA point to which rollback_to returns."),
    METHOD("rollback_to", transaction_rollback_to, METH_O,
           "rollback_to($self, savepoint, /)\n--\n\nUndoes the writes since the savepoint."),
    METHOD("commit", transaction_commit, METH_VARARGS | METH_KEYWORDS,
           "commit($self, *, durability=None)\n--\n\nAborted: run the transaction again, as Database.run does. "
           "durability: as of\nDatabase.transaction. FailedPrecondition: the database was opened without durability,\n"
           "and the transaction goes on."),
    METHOD("rollback", transaction_rollback, METH_NOARGS, "rollback($self, /)\n--\n\nUndoes everything."),
    METHOD("__enter__", transaction_enter, METH_NOARGS, NULL),
    METHOD("__exit__", transaction_exit, METH_FASTCALL, NULL),
    {NULL, NULL, 0, NULL},
};
static PyGetSetDef transaction_properties[] = {
    {"was_aborted", (getter)transaction_get_was_aborted, NULL,
     "Whether the library has ended it, by Aborted: run it again.", NULL},
    {"is_vain_to_repeat", (getter)transaction_get_is_vain, NULL,
     "After Aborted: whether a repetition would end in the same way. One other transaction\nhas kept the key "
     "locked for lock_wait_ms, or another transaction of this thread holds it.", NULL},
    {"is_open", (getter)transaction_get_is_open, NULL, "Whether it was neither committed nor rolled back.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyTypeObject transaction_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "latchkey.Transaction",
    .tp_basicsize = sizeof(Transaction),
    .tp_dealloc = (destructor)transaction_dealloc,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_doc = "Reads one snapshot and its own writes. As a context manager it commits at the end of the block, or\n"
              "rolls back if an exception ends it. One thread at a time may use it.",
    .tp_methods = transaction_methods,
    .tp_getset = transaction_properties,
};

PyTypeObject savepoint_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "latchkey.Savepoint",
    .tp_basicsize = sizeof(Savepoint),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_doc = "A point in a transaction.",
};
