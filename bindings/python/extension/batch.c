/* WriteBatch: puts and deletes that are applied together or not at all. Its calls do not wait, so they keep
 * the GIL, except the write. */
#include "latchkey_python.h"

typedef struct {
  PyObject_HEAD
  Database *db;
  lk_batch handle;
  int in_use; /* by a write */
} Batch;

static int batch_may_use(Batch *self) {
  if (!self->in_use) return 1;
  raise_error(LK_FAILED_PRECONDITION, "another thread writes this batch: wait for it");
  return 0;
}

PyObject *make_batch(Database *db) {
  NEW_ERROR(error);
  Batch *self;
  lk_batch handle;
  lk_code code;
  if (!may_enter(db)) return NULL;
  code = lk_batch_create(&handle, &error);
  if (code != LK_OK) return raise_error(code, error.message);
  self = PyObject_New(Batch, &batch_type);
  if (self == NULL) {
    lk_batch_release(handle, NULL);
    return NULL;
  }
  Py_INCREF(db);
  self->db = db;
  self->handle = handle;
  self->in_use = 0;
  return (PyObject *)self;
}

static void batch_dealloc(Batch *self) {
  lk_batch_release(self->handle, NULL);
  Py_DECREF(self->db);
  PyObject_Free(self);
}

static PyObject *batch_put(Batch *self, PyObject *const *args, Py_ssize_t count) {
  NEW_ERROR(error);
  Bytes key, value;
  lk_tree tree;
  lk_code code;
  if (!check_count("put", count, 3, 3) || !batch_may_use(self) || !get_tree(args[0], &tree)) return NULL;
  if (!get_bytes(args[1], "key", &key)) return NULL;
  if (!get_bytes(args[2], "value", &value)) {
    release_bytes(&key);
    return NULL;
  }
  code = lk_batch_put(self->handle, tree, key.bytes, value.bytes, &error);
  release_bytes(&key);
  release_bytes(&value);
  return none_or_raise(code, &error);
}

static PyObject *batch_delete(Batch *self, PyObject *const *args, Py_ssize_t count) {
  NEW_ERROR(error);
  Bytes key;
  lk_tree tree;
  lk_code code;
  if (!check_count("delete", count, 2, 2) || !batch_may_use(self) || !get_tree(args[0], &tree)) return NULL;
  if (!get_bytes(args[1], "key", &key)) return NULL;
  code = lk_batch_delete(self->handle, tree, key.bytes, &error);
  release_bytes(&key);
  return none_or_raise(code, &error);
}

static PyObject *batch_clear(Batch *self, PyObject *Py_UNUSED(ignored)) {
  NEW_ERROR(error);
  if (!batch_may_use(self)) return NULL;
  return none_or_raise(lk_batch_clear(self->handle, &error), &error);
}

static PyObject *write_with(Database *db, PyObject *object, PyObject *durability) {
  NEW_ERROR(error);
  lk_commit_options options = LK_COMMIT_OPTIONS_INIT;
  Batch *batch = (Batch *)object;
  lk_code code;
  if (!PyObject_TypeCheck(object, &batch_type)) {
    PyErr_Format(PyExc_TypeError, "batch must be a latchkey.WriteBatch, not %.100s", Py_TYPE(object)->tp_name);
    return NULL;
  }
  if (!durability_of(durability, &options.durability) || !batch_may_use(batch) || !may_enter(db)) return NULL;
  batch->in_use = 1;
  WITHOUT_GIL(db, code = lk_write_with(db->handle, batch->handle, &options, &error));
  batch->in_use = 0;
  return none_or_raise(code, &error);
}

PyObject *write_batch(Database *db, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"", "durability", NULL};
  PyObject *batch, *durability = NULL;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$O:write", names, &batch, &durability)) return NULL;
  return write_with(db, batch, durability);
}

static PyObject *batch_enter(Batch *self, PyObject *Py_UNUSED(ignored)) {
  Py_INCREF(self);
  return (PyObject *)self;
}

/* Writes the batch unless an exception ends the block, and empties it. */
static PyObject *batch_exit(Batch *self, PyObject *const *args, Py_ssize_t count) {
  PyObject *done;
  if (!check_count("__exit__", count, 3, 3)) return NULL;
  if (args[0] == Py_None) {
    done = write_with(self->db, (PyObject *)self, NULL);
    if (done == NULL) return NULL;
    Py_DECREF(done);
  }
  return batch_clear(self, NULL);
}

static Py_ssize_t batch_length(Batch *self) {
  return batch_may_use(self) ? (Py_ssize_t)lk_batch_count(self->handle) : -1;
}

static PyMethodDef batch_methods[] = {
    {"put", (PyCFunction)(void (*)(void))batch_put, METH_FASTCALL,
     "put($self, tree, key, value, /)\n--\n\nAdds a put."},
    {"delete", (PyCFunction)(void (*)(void))batch_delete, METH_FASTCALL,
     "delete($self, tree, key, /)\n--\n\nAdds a delete. It has no effect if the tree lacks the key."},
    {"clear", (PyCFunction)batch_clear, METH_NOARGS, "clear($self, /)\n--\n\nRemoves everything."},
    {"__enter__", (PyCFunction)batch_enter, METH_NOARGS, NULL},
    {"__exit__", (PyCFunction)(void (*)(void))batch_exit, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};
static PySequenceMethods batch_as_sequence = {.sq_length = (lenfunc)batch_length};

PyTypeObject batch_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "latchkey.WriteBatch",
    .tp_basicsize = sizeof(Batch),
    .tp_dealloc = (destructor)batch_dealloc,
    .tp_as_sequence = &batch_as_sequence,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_doc = "Puts and deletes that Database.write applies together or not at all. As a context manager it is\n"
              "written at the end of the block, unless an exception ends it.",
    .tp_methods = batch_methods,
};
