/* Database: opening, closing, trees, and calls on the whole database. */
#include "latchkey_python.h"

#include <unistd.h>

__thread int log_depth = 0;

/* ---- The beginning and end of calls. */

int enter_refused(Database *db) {
  if (log_depth > 0) {
    raise_error(LK_FAILED_PRECONDITION,
                "a log callable must not use a database: leave that to another thread");
  } else {
    raise_error(LK_FAILED_PRECONDITION, db->state == DATABASE_CLOSING ? "the database is being closed"
                                                                      : "the database is closed");
  }
  return 0;
}

static void pause_without_gil(void) {
  Py_BEGIN_ALLOW_THREADS
  usleep(200);
  Py_END_ALLOW_THREADS
}

void await_close(Database *db) {
  while (db->state == DATABASE_CLOSING) pause_without_gil();
}

/* Calls of threads that a fork left behind never end. */
static int is_parents(const Database *db) { return db->process != getpid(); }

/* Waits until no call is in progress. 0 with an exception set after a signal. */
static int await_calls(Database *db) {
  while (db->calls > 0 && !is_parents(db)) {
    pause_without_gil();
    if (PyErr_CheckSignals() != 0) return 0;
  }
  return 1;
}

/* REQUIRES: the state is CLOSING and no call is in progress. */
static lk_code close_handle(Database *db, lk_error *error) {
  lk_code code;
  Py_BEGIN_ALLOW_THREADS
  code = lk_close(db->handle, error);
  Py_END_ALLOW_THREADS
  db->state = code == LK_RESOURCE_EXHAUSTED ? DATABASE_OPEN : DATABASE_CLOSED;
  return code;
}

static PyObject *database_close(Database *self, PyObject *Py_UNUSED(ignored)) {
  NEW_ERROR(error);
  if (!may_enter(self)) return NULL;
  self->state = DATABASE_CLOSING;
  if (!await_calls(self)) {
    self->state = DATABASE_OPEN;
    return NULL;
  }
  return none_or_raise(close_handle(self, &error), &error);
}

/* ---- The log callable. */

/* Called by any thread of the engine. Calls log(level, message) with the levels of `logging`. */
static void send_message(void *context, int severity, const char *message, size_t size) {
  PyGILState_STATE state;
  PyObject *log, *text, *result = NULL;
  if (!Py_IsInitialized()) return;
  state = PyGILState_Ensure();
  ++log_depth;
  log = ((Database *)context)->log;
  text = PyUnicode_DecodeUTF8(message, (Py_ssize_t)size, "replace");
  if (text != NULL) result = PyObject_CallFunction(log, "iO", 10 * (severity + 1), text);
  if (result == NULL) PyErr_WriteUnraisable(log);
  Py_XDECREF(result);
  Py_XDECREF(text);
  --log_depth;
  PyGILState_Release(state);
}

/* Called by any thread of the engine. Calls on_event(kind, message, seconds). */
static void send_event(void *context, int event, const char *message, size_t size, uint64_t duration_ns) {
  static const char *const kinds[] = {"checkpoint", "stall", "write_error", "read_only", "slow_call"};
  PyGILState_STATE state;
  PyObject *on_event, *text, *result = NULL;
  if (!Py_IsInitialized()) return;
  state = PyGILState_Ensure();
  ++log_depth;
  on_event = ((Database *)context)->on_event;
  text = PyUnicode_DecodeUTF8(message, (Py_ssize_t)size, "replace");
  if (text != NULL) result = PyObject_CallFunction(on_event, "sOd", kinds[event], text, (double)duration_ns * 1e-9);
  if (result == NULL) PyErr_WriteUnraisable(on_event);
  Py_XDECREF(result);
  Py_XDECREF(text);
  --log_depth;
  PyGILState_Release(state);
}

/* ---- Making and unmaking. */

int set_options(lk_options options, PyObject *given) {
  NEW_ERROR(error);
  PyObject *name, *value;
  Py_ssize_t position = 0;
  while (PyDict_Next(given, &position, &name, &value)) {
    const char *name_text = PyUnicode_AsUTF8(name);
    const char *value_text = name_text == NULL ? NULL : PyUnicode_AsUTF8(value);
    lk_code code;
    if (value_text == NULL) return 0;
    code = lk_options_set(options, name_text, value_text, &error);
    if (code != LK_OK) {
      raise_error(code, error.message);
      return 0;
    }
  }
  return 1;
}

static int open_handle(Database *self, const char *path, PyObject *given) {
  NEW_ERROR(error);
  lk_options options;
  lk_code code = lk_options_create(&options, &error);
  if (code == LK_OK && !set_options(options, given)) {
    lk_options_release(options, NULL);
    return 0;
  }
  if (code == LK_OK && self->log != NULL) {
    code = lk_options_set_log_sink(options, send_message, self, &error);
  }
  if (code == LK_OK && self->on_event != NULL) {
    code = lk_options_set_event_sink(options, send_event, self, &error);
  }
  if (code == LK_OK) {
    Py_BEGIN_ALLOW_THREADS
    code = lk_open(path, options, &self->handle, &error);
    Py_END_ALLOW_THREADS
  }
  lk_options_release(options, NULL);
  if (code != LK_OK) raise_error(code, error.message);
  return code == LK_OK;
}

static int is_callable(PyObject *given, const char *name) {
  if (given == Py_None || PyCallable_Check(given)) return 1;
  PyErr_Format(PyExc_TypeError, "%s must be callable, not %.100s", name, Py_TYPE(given)->tp_name);
  return 0;
}

static PyObject *kept(PyObject *given) {
  if (given == Py_None) return NULL;
  Py_INCREF(given);
  return given;
}

/* Database(path: bytes, options: dict[str, str], log: callable or None, on_event: callable or None) */
static PyObject *database_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  const char *path;
  PyObject *options, *log, *on_event;
  Database *self;
  if (!PyArg_ParseTuple(args, "yO!OO:Database", &path, &PyDict_Type, &options, &log, &on_event)) return NULL;
  if (kwargs != NULL && PyDict_GET_SIZE(kwargs) > 0) {
    PyErr_SetString(PyExc_TypeError, "Database takes no keyword arguments: use latchkey.open");
    return NULL;
  }
  if (!is_callable(log, "log") || !is_callable(on_event, "on_event")) return NULL;
  self = (Database *)type->tp_alloc(type, 0);
  if (self == NULL) return NULL;
  self->state = DATABASE_CLOSED;
  self->process = getpid();
  self->log = kept(log);
  self->on_event = kept(on_event);
  if (!open_handle(self, path, options)) {
    Py_DECREF(self);
    return NULL;
  }
  self->state = DATABASE_OPEN;
  return (PyObject *)self;
}

/* As of a file: what was not closed is closed, with a warning. */
static void database_finalize(Database *self) {
  PyObject *type, *value, *traceback;
  if (self->state != DATABASE_OPEN) return;
  PyErr_Fetch(&type, &value, &traceback);
  if (!is_parents(self) && PyErr_ResourceWarning((PyObject *)self, 1, "unclosed %R", self) != 0) {
    PyErr_WriteUnraisable((PyObject *)self);
  }
  self->state = DATABASE_CLOSING;
  close_handle(self, NULL);
  if (self->state == DATABASE_OPEN) lk_close(self->handle, NULL);
  self->state = DATABASE_CLOSED;
  PyErr_Restore(type, value, traceback);
}

static int database_traverse(Database *self, visitproc visit, void *arg) {
  Py_VISIT(self->log);
  Py_VISIT(self->on_event);
  return 0;
}

static int database_clear(Database *self) {
  if (self->state == DATABASE_CLOSED) {
    Py_CLEAR(self->log);
    Py_CLEAR(self->on_event);
  }
  return 0;
}

static void database_dealloc(Database *self) {
  if (PyObject_CallFinalizerFromDealloc((PyObject *)self) < 0) return;
  PyObject_GC_UnTrack(self);
  Py_CLEAR(self->log);
  Py_CLEAR(self->on_event);
  while (self->spares > 0) {
    lk_value *value = self->spare[--self->spares];
    lk_value_release(value);
    PyMem_Free(value);
  }
  Py_TYPE(self)->tp_free((PyObject *)self);
}

/* ---- Calls. */

static PyObject *database_tree(Database *self, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"name", "create", NULL};
  NEW_ERROR(error);
  PyObject *name;
  int create = 1;
  const char *text;
  Py_ssize_t size;
  lk_tree tree;
  lk_code code;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "U|$p:tree", names, &name, &create)) return NULL;
  text = PyUnicode_AsUTF8AndSize(name, &size);
  if (text == NULL || !may_enter(self)) return NULL;
  WITHOUT_GIL(self, code = lk_open_tree(self->handle, lk_slice(text, (size_t)size), create, &tree, &error));
  if (code != LK_OK) return raise_error(code, error.message);
  return make_tree(self, tree, name);
}

static PyObject *database_drop_tree(Database *self, PyObject *name) {
  NEW_ERROR(error);
  Py_ssize_t size;
  const char *text = PyUnicode_AsUTF8AndSize(name, &size);
  lk_code code;
  if (text == NULL || !may_enter(self)) return NULL;
  WITHOUT_GIL(self, code = lk_drop_tree(self->handle, lk_slice(text, (size_t)size), &error));
  return none_or_raise(code, &error);
}

static PyObject *database_rename_tree(Database *self, PyObject *args) {
  NEW_ERROR(error);
  const char *from, *to;
  Py_ssize_t from_size, to_size;
  lk_code code;
  if (!PyArg_ParseTuple(args, "s#s#:rename_tree", &from, &from_size, &to, &to_size) || !may_enter(self)) return NULL;
  WITHOUT_GIL(self, code = lk_rename_tree(self->handle, lk_slice(from, (size_t)from_size),
                                          lk_slice(to, (size_t)to_size), &error));
  return none_or_raise(code, &error);
}

static PyObject *list_of_names(lk_names names) {
  const Py_ssize_t count = (Py_ssize_t)lk_names_count(names);
  PyObject *list = PyList_New(count);
  for (Py_ssize_t i = 0; list != NULL && i < count; ++i) {
    lk_bytes name = {NULL, 0};
    PyObject *text;
    lk_names_at(names, (size_t)i, &name, NULL);
    /* A program in another language may have given it a name that is not UTF-8. */
    text = PyUnicode_DecodeUTF8(name.data, (Py_ssize_t)name.size, "backslashreplace");
    if (text == NULL) Py_CLEAR(list);
    if (list != NULL) PyList_SET_ITEM(list, i, text);
  }
  return list;
}

static PyObject *database_trees(Database *self, PyObject *Py_UNUSED(ignored)) {
  NEW_ERROR(error);
  lk_names names;
  lk_code code;
  PyObject *list;
  if (!may_enter(self)) return NULL;
  WITHOUT_GIL(self, code = lk_list_trees(self->handle, &names, &error));
  if (code != LK_OK) return raise_error(code, error.message);
  list = list_of_names(names);
  lk_names_release(names, NULL);
  return list;
}

static PyObject *database_transaction(Database *self, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"isolation", "read_only", "durability", NULL};
  PyObject *isolation = NULL, *durability = NULL;
  int read_only = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OpO:transaction", names, &isolation, &read_only,
                                   &durability)) {
    return NULL;
  }
  return begin_transaction(self, isolation, read_only, durability);
}

static PyObject *database_snapshot(Database *self, PyObject *Py_UNUSED(ignored)) {
  return begin_transaction(self, NULL, 1, NULL);
}

static PyObject *database_write_batch(Database *self, PyObject *Py_UNUSED(ignored)) {
  return make_batch(self);
}

static PyObject *database_sync(Database *self, PyObject *Py_UNUSED(ignored)) {
  NEW_ERROR(error);
  lk_code code;
  if (!may_enter(self)) return NULL;
  WITHOUT_GIL(self, code = lk_sync(self->handle, &error));
  return none_or_raise(code, &error);
}

static PyObject *database_checkpoint(Database *self, PyObject *Py_UNUSED(ignored)) {
  NEW_ERROR(error);
  lk_code code;
  if (!may_enter(self)) return NULL;
  WITHOUT_GIL(self, code = lk_checkpoint(self->handle, &error));
  return none_or_raise(code, &error);
}

static PyObject *database_verify(Database *self, PyObject *Py_UNUSED(ignored)) {
  NEW_ERROR(error);
  lk_code code;
  if (!may_enter(self)) return NULL;
  WITHOUT_GIL(self, code = lk_verify(self->handle, &error));
  return none_or_raise(code, &error);
}

static PyObject *database_set_cache_size(Database *self, PyObject *size) {
  NEW_ERROR(error);
  const unsigned long long bytes = PyLong_AsUnsignedLongLong(size);
  lk_code code;
  if (bytes == (unsigned long long)-1 && PyErr_Occurred()) return NULL;
  if (!may_enter(self)) return NULL;
  WITHOUT_GIL(self, code = lk_set_cache_size(self->handle, bytes, &error));
  return none_or_raise(code, &error);
}

static PyObject *database_enter(Database *self, PyObject *Py_UNUSED(ignored)) {
  if (!may_enter(self)) return NULL;
  Py_INCREF(self);
  return (PyObject *)self;
}

static PyObject *database_exit(Database *self, PyObject *const *args, Py_ssize_t count) {
  (void)args;
  if (!check_count("__exit__", count, 3, 3)) return NULL;
  if (self->state == DATABASE_CLOSED) Py_RETURN_NONE;
  return database_close(self, NULL);
}

/* ---- Figures. */

static PyObject *figure_of(const lk_statistic *statistic) {
  if (!statistic->is_measured) Py_RETURN_NONE;
  if (statistic->is_integer) return PyLong_FromUnsignedLongLong(statistic->integer);
  return PyFloat_FromDouble(statistic->real);
}

static PyObject *dict_of_statistics(lk_statistics statistics) {
  PyObject *dict = PyDict_New();
  for (size_t i = 0; dict != NULL && i < lk_statistics_count(statistics); ++i) {
    lk_statistic statistic = LK_STATISTIC_INIT;
    PyObject *figure;
    lk_statistics_at(statistics, i, &statistic, NULL);
    figure = figure_of(&statistic);
    if (figure == NULL || PyDict_SetItemString(dict, statistic.name, figure) != 0) Py_CLEAR(dict);
    Py_XDECREF(figure);
  }
  return dict;
}

static PyObject *database_statistics(Database *self, PyObject *Py_UNUSED(ignored)) {
  NEW_ERROR(error);
  lk_statistics statistics;
  lk_code code;
  PyObject *dict;
  if (!may_enter(self)) return NULL;
  WITHOUT_GIL(self, code = lk_statistics_take(self->handle, &statistics, &error));
  if (code != LK_OK) return raise_error(code, error.message);
  dict = dict_of_statistics(statistics);
  lk_statistics_release(statistics, NULL);
  return dict;
}

static PyObject *database_metrics(Database *self, PyObject *arguments, PyObject *named) {
  static char *names[] = {"format", NULL};
  NEW_ERROR(error);
  lk_value value = LK_VALUE_INIT;
  const char *format = "prometheus";
  lk_code code;
  PyObject *text;
  int is_json;
  if (!PyArg_ParseTupleAndKeywords(arguments, named, "|s:metrics", names, &format)) return NULL;
  is_json = strcmp(format, "json") == 0;
  if (!is_json && strcmp(format, "prometheus") != 0) {
    return raise_error(LK_INVALID_ARGUMENT, "the format is \"prometheus\" or \"json\"");
  }
  if (!may_enter(self)) return NULL;
  WITHOUT_GIL(self, code = lk_metrics(self->handle, is_json ? LK_METRICS_JSON : LK_METRICS_PROMETHEUS, &value,
                                      &error));
  text = code == LK_OK ? PyUnicode_DecodeUTF8(value.data, (Py_ssize_t)value.size, "replace")
                       : raise_error(code, error.message);
  lk_value_release(&value);
  return text;
}

static PyObject *database_reset_extremes(Database *self, PyObject *Py_UNUSED(ignored)) {
  NEW_ERROR(error);
  lk_code code;
  if (!may_enter(self)) return NULL;
  WITHOUT_GIL(self, code = lk_reset_statistics_extremes(self->handle, &error));
  return none_or_raise(code, &error);
}

static PyObject *database_get_closed(Database *self, void *Py_UNUSED(closure)) {
  return PyBool_FromLong(self->state != DATABASE_OPEN);
}

static PyObject *database_get_page_size(Database *self, void *Py_UNUSED(closure)) {
  NEW_ERROR(error);
  uint32_t bytes;
  lk_code code;
  if (!may_enter(self)) return NULL;
  WITHOUT_GIL(self, code = lk_page_size(self->handle, &bytes, &error));
  return code == LK_OK ? PyLong_FromUnsignedLong(bytes) : raise_error(code, error.message);
}

static PyObject *database_get_device(Database *self, void *Py_UNUSED(closure)) {
  NEW_ERROR(error);
  lk_value value = LK_VALUE_INIT;
  lk_code code;
  PyObject *text;
  if (!may_enter(self)) return NULL;
  WITHOUT_GIL(self, code = lk_device_description(self->handle, &value, &error));
  text = code == LK_OK ? PyUnicode_DecodeUTF8(value.data, (Py_ssize_t)value.size, "replace")
                       : raise_error(code, error.message);
  lk_value_release(&value);
  return text;
}

#define METHOD(name, function, flags, doc) {name, (PyCFunction)(void (*)(void))function, flags, doc}
static PyMethodDef database_methods[] = {
    METHOD("close", database_close, METH_NOARGS,
           "close($self, /)\n--\n\nWaits for the calls of other threads, rolls back running transactions and\n"
           "writes everything out. A second close is FailedPrecondition."),
    METHOD("tree", database_tree, METH_VARARGS | METH_KEYWORDS,
           "tree($self, name, *, create=True)\n--\n\nThe tree of that name. NotFound if it is missing and create "
           "is false."),
    METHOD("drop_tree", database_drop_tree, METH_O,
           "drop_tree($self, name, /)\n--\n\nDrops a tree and all its records."),
    METHOD("trees", database_trees, METH_NOARGS, "trees($self, /)\n--\n\nThe names of all trees."),
    METHOD("transaction", database_transaction, METH_VARARGS | METH_KEYWORDS,
           "transaction($self, *, isolation=None, read_only=False, durability=None)\n--\n\nBegins a transaction. "
           "isolation is None (as the database was opened),\n'snapshot' or 'serializable'. durability is that of the "
           "commit at the end of a with\nblock: None (as the database was opened), 'none', 'group' or 'commit'."),
    METHOD("snapshot", database_snapshot, METH_NOARGS,
           "snapshot($self, /)\n--\n\nBegins a read-only transaction. It waits for no other."),
    METHOD("write_batch", database_write_batch, METH_NOARGS,
           "write_batch($self, /)\n--\n\nAn empty WriteBatch."),
    METHOD("write", write_batch, METH_VARARGS | METH_KEYWORDS,
           "write($self, batch, /, *, durability=None)\n--\n\nApplies a WriteBatch."),
    METHOD("rename_tree", database_rename_tree, METH_VARARGS,
           "rename_tree($self, old, new, /)\n--\n\nGives a tree another name, for all transactions at once."),
    METHOD("bulk_loader", make_bulk_loader, METH_VARARGS | METH_KEYWORDS,
           "bulk_loader($self, name, *, fill=1.0)\n--\n\nBegins the load of a new tree from sorted records. fill: the "
           "share of each leaf\nthat is filled, 0.5 to 1."),
    METHOD("sync", database_sync, METH_NOARGS,
           "sync($self, /)\n--\n\nMakes every commit durable that returned before, whatever its durability."),
    METHOD("_backup", backup, METH_VARARGS, NULL),
    METHOD("_compact", compact, METH_VARARGS, NULL),
    METHOD("checkpoint", database_checkpoint, METH_NOARGS,
           "checkpoint($self, /)\n--\n\nWrites every dirty page."),
    METHOD("verify", database_verify, METH_NOARGS,
           "verify($self, /)\n--\n\nChecks every page. DataLoss names the first fault. Needs: no writers."),
    METHOD("set_cache_size", database_set_cache_size, METH_O,
           "set_cache_size($self, bytes, /)\n--\n\nChanges the option cache_size while running."),
    METHOD("statistics", database_statistics, METH_NOARGS,
           "statistics($self, /)\n--\n\nThe figures of now by name; None: not measured."),
    METHOD("metrics", database_metrics, METH_VARARGS | METH_KEYWORDS,
           "metrics($self, /, format=\"prometheus\")\n--\n\nAll statistics and latencies as text for monitoring\n"
           "systems; \"json\" is the other format."),
    METHOD("reset_statistics_extremes", database_reset_extremes, METH_NOARGS,
           "reset_statistics_extremes($self, /)\n--\n\nRestarts the extremes of space utilisation."),
    METHOD("__enter__", database_enter, METH_NOARGS, NULL),
    METHOD("__exit__", database_exit, METH_FASTCALL, NULL),
    {NULL, NULL, 0, NULL},
};
static PyGetSetDef database_properties[] = {
    {"closed", (getter)database_get_closed, NULL, "Whether close() was called.", NULL},
    {"page_size", (getter)database_get_page_size, NULL, "Bytes of a page.", NULL},
    {"device", (getter)database_get_device, NULL, "The device that holds the data.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyTypeObject database_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "latchkey._latchkey.Database",
    .tp_basicsize = sizeof(Database),
    .tp_new = database_new,
    .tp_dealloc = (destructor)database_dealloc,
    .tp_finalize = (destructor)database_finalize,
    .tp_traverse = (traverseproc)database_traverse,
    .tp_clear = (inquiry)database_clear,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .tp_doc = "The base of latchkey.Database.",
    .tp_methods = database_methods,
    .tp_getset = database_properties,
};
