/* BulkLoader: a new tree from sorted records. Its calls may wait for the device. */
#include "latchkey_python.h"

typedef struct {
  PyObject_HEAD
  Database *db;
  lk_bulk_loader handle; /* zero: over */
  PyObject *name;        /* str */
  int in_use;
} BulkLoader;

static int loader_may_use(BulkLoader *self) {
  if (self->in_use) {
    raise_error(LK_FAILED_PRECONDITION, "another thread is in a call of this bulk loader: one at a time may use it");
    return 0;
  }
  if (!may_enter(self->db)) return 0;
  if (self->handle.id != 0) return 1;
  raise_error(LK_FAILED_PRECONDITION, "the bulk load is over: it was finished or closed");
  return 0;
}

/* Runs `statement` without the GIL. REQUIRES: loader_may_use. */
#define IN_LOAD(loader, statement)         \
  do {                                     \
    (loader)->in_use = 1;                  \
    WITHOUT_GIL((loader)->db, statement);  \
    (loader)->in_use = 0;                  \
  } while (0)

PyObject *make_bulk_loader(Database *db, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"name", "fill", NULL};
  NEW_ERROR(error);
  lk_bulk_load_options options = LK_BULK_LOAD_OPTIONS_INIT;
  lk_bulk_loader handle;
  PyObject *name;
  Py_ssize_t size;
  const char *text;
  BulkLoader *self;
  lk_code code;
  options.fill = 1;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "U|$d:bulk_loader", names, &name, &options.fill)) return NULL;
  if (options.fill == 0) options.fill = -1; /* C takes 0 for the default */
  text = PyUnicode_AsUTF8AndSize(name, &size);
  if (text == NULL || !may_enter(db)) return NULL;
  WITHOUT_GIL(db, code = lk_bulk_loader_create(db->handle, lk_slice(text, (size_t)size), &options, &handle, &error));
  if (code != LK_OK) return raise_error(code, error.message);
  self = PyObject_New(BulkLoader, &bulk_loader_type);
  if (self == NULL) {
    lk_bulk_loader_release(handle, NULL);
    return NULL;
  }
  Py_INCREF(db);
  Py_INCREF(name);
  self->db = db;
  self->name = name;
  self->handle = handle;
  self->in_use = 0;
  return (PyObject *)self;
}

/* Also of a database that is closed: that has ended the load, but not its handle. */
static void give_up(BulkLoader *self) {
  const lk_bulk_loader handle = self->handle;
  if (handle.id == 0) return;
  self->handle.id = 0;
  await_close(self->db);
  WITHOUT_GIL(self->db, lk_bulk_loader_release(handle, NULL));
}

static void loader_dealloc(BulkLoader *self) {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  give_up(self);
  PyErr_Restore(type, value, traceback);
  Py_DECREF(self->name);
  Py_DECREF(self->db);
  PyObject_Free(self);
}

static PyObject *loader_put(BulkLoader *self, PyObject *const *args, Py_ssize_t count) {
  NEW_ERROR(error);
  Bytes key, value;
  lk_code code;
  if (!check_count("put", count, 2, 2) || !loader_may_use(self) || !get_bytes(args[0], "key", &key)) return NULL;
  if (!get_bytes(args[1], "value", &value)) {
    release_bytes(&key);
    return NULL;
  }
  IN_LOAD(self, code = lk_bulk_loader_put(self->handle, key.bytes, value.bytes, &error));
  release_bytes(&key);
  release_bytes(&value);
  return none_or_raise(code, &error);
}

static PyObject *loader_finish(BulkLoader *self, PyObject *Py_UNUSED(ignored)) {
  NEW_ERROR(error);
  lk_tree tree;
  lk_code code;
  if (!loader_may_use(self)) return NULL;
  IN_LOAD(self, code = lk_bulk_loader_finish(self->handle, &tree, &error));
  if (code != LK_RESOURCE_EXHAUSTED) self->handle.id = 0;
  return code == LK_OK ? make_tree(self->db, tree, self->name) : raise_error(code, error.message);
}

static PyObject *loader_close(BulkLoader *self, PyObject *Py_UNUSED(ignored)) {
  if (self->in_use && !loader_may_use(self)) return NULL;
  give_up(self);
  Py_RETURN_NONE;
}

static PyObject *loader_enter(BulkLoader *self, PyObject *Py_UNUSED(ignored)) {
  if (!loader_may_use(self)) return NULL;
  Py_INCREF(self);
  return (PyObject *)self;
}

/* Finishes the load unless an exception ends the block. Nothing is left to do if the block did it. */
static PyObject *loader_exit(BulkLoader *self, PyObject *const *args, Py_ssize_t count) {
  PyObject *tree;
  if (!check_count("__exit__", count, 3, 3)) return NULL;
  if (args[0] != Py_None) return loader_close(self, NULL);
  if (self->handle.id == 0) Py_RETURN_NONE;
  tree = loader_finish(self, NULL);
  if (tree == NULL) return NULL;
  Py_DECREF(tree);
  Py_RETURN_NONE;
}

static PyObject *loader_get_records(BulkLoader *self, void *Py_UNUSED(closure)) {
  if (self->in_use && !loader_may_use(self)) return NULL;
  return PyLong_FromUnsignedLongLong(lk_bulk_loader_count(self->handle));
}

static PyMethodDef loader_methods[] = {
    {"put", (PyCFunction)(void (*)(void))loader_put, METH_FASTCALL,
     "put($self, key, value, /)\n--\n\nAdds a record. InvalidArgument: the key is not above the one before; the load goes\n"
     "on without it. Any other error ends the load."},
    {"finish", (PyCFunction)loader_finish, METH_NOARGS,
     "finish($self, /)\n--\n\nMakes the records durable, then the tree visible, and returns the tree."},
    {"close", (PyCFunction)loader_close, METH_NOARGS,
     "close($self, /)\n--\n\nGives the load up, unless it was finished: nothing of it stays."},
    {"__enter__", (PyCFunction)loader_enter, METH_NOARGS, NULL},
    {"__exit__", (PyCFunction)(void (*)(void))loader_exit, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};
static PyGetSetDef loader_properties[] = {
    {"records", (getter)loader_get_records, NULL, "Records accepted so far; 0 after the end.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyTypeObject bulk_loader_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "latchkey.BulkLoader",
    .tp_basicsize = sizeof(BulkLoader),
    .tp_dealloc = (destructor)loader_dealloc,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_doc = "Makes a new tree out of records in ascending order of their keys: pages are filled and written once.\n"
              "Database.bulk_loader returns it. As a context manager it is finished at the end of the block, and given\n"
              "up if an exception ends it. One thread at a time may use it.",
    .tp_methods = loader_methods,
    .tp_getset = loader_properties,
};
