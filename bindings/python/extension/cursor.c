/* Cursor: moves one record at a time in both directions. A move copies key and value, so that both stay valid
 * after it. */
#include "latchkey_python.h"

typedef struct {
  PyObject_HEAD
  Transaction *transaction; /* NULL: closed */
  lk_cursor handle;
  PyObject *key, *value; /* bytes, or NULL outside the range */
} Cursor;

PyObject *make_cursor(Transaction *transaction, lk_tree tree, const Range *range) {
  NEW_ERROR(error);
  const lk_bytes *from = range->has_start ? &range->start.bytes : NULL;
  const lk_bytes *to = range->has_stop ? &range->stop.bytes : NULL;
  lk_cursor handle;
  lk_code code;
  Cursor *self;
  if (!may_use(transaction)) return NULL;
  code = lk_cursor_create(transaction->handle, tree, from, to, &handle, &error); /* waits for nothing */
  if (code != LK_OK) return raise_error(code, error.message);
  self = PyObject_New(Cursor, &cursor_type);
  if (self == NULL) {
    release_cursor(transaction, handle);
    return NULL;
  }
  Py_INCREF(transaction);
  self->transaction = transaction;
  self->handle = handle;
  self->key = self->value = NULL;
  return (PyObject *)self;
}

static void close_cursor(Cursor *self) {
  Transaction *transaction = self->transaction;
  Py_CLEAR(self->key);
  Py_CLEAR(self->value);
  if (transaction == NULL) return;
  self->transaction = NULL;
  release_cursor(transaction, self->handle);
  Py_DECREF(transaction);
}

static void cursor_dealloc(Cursor *self) {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  close_cursor(self);
  PyErr_Restore(type, value, traceback);
  PyObject_Free(self);
}

static int cursor_may_use(Cursor *self) {
  if (self->transaction != NULL) return may_use(self->transaction);
  raise_error(LK_FAILED_PRECONDITION, "the cursor is closed");
  return 0;
}

/* Keeps copies of the record that a move has found. The result of the move, or NULL with an exception. */
static PyObject *tell(Cursor *self, lk_code code, lk_bytes key, lk_bytes value, const lk_error *error) {
  Py_CLEAR(self->key);
  Py_CLEAR(self->value);
  if (code != LK_OK) return found_or_raise(code, error);
  self->key = PyBytes_FromStringAndSize(key.data, (Py_ssize_t)key.size);
  self->value = PyBytes_FromStringAndSize(value.data, (Py_ssize_t)value.size);
  if (self->key == NULL || self->value == NULL) return NULL;
  Py_RETURN_TRUE;
}

static PyObject *move_by(Cursor *self, lk_code (*move)(lk_cursor, lk_bytes *, lk_bytes *, lk_error *)) {
  NEW_ERROR(error);
  lk_bytes key, value;
  lk_code code;
  if (!cursor_may_use(self)) return NULL;
  IN_TRANSACTION(self->transaction, code = move(self->handle, &key, &value, &error));
  return tell(self, code, key, value, &error);
}
static PyObject *cursor_first(Cursor *self, PyObject *Py_UNUSED(ignored)) {
  return move_by(self, lk_cursor_seek_first);
}
static PyObject *cursor_last(Cursor *self, PyObject *Py_UNUSED(ignored)) {
  return move_by(self, lk_cursor_seek_last);
}
static PyObject *cursor_next(Cursor *self, PyObject *Py_UNUSED(ignored)) {
  return move_by(self, lk_cursor_next);
}
static PyObject *cursor_prev(Cursor *self, PyObject *Py_UNUSED(ignored)) {
  return move_by(self, lk_cursor_prev);
}

static PyObject *seek_by(Cursor *self, PyObject *target_object,
                         lk_code (*seek)(lk_cursor, lk_bytes, lk_bytes *, lk_bytes *, lk_error *)) {
  NEW_ERROR(error);
  Bytes target;
  lk_bytes key, value;
  lk_code code;
  if (!cursor_may_use(self) || !get_bytes(target_object, "key", &target)) return NULL;
  IN_TRANSACTION(self->transaction, code = seek(self->handle, target.bytes, &key, &value, &error));
  release_bytes(&target);
  return tell(self, code, key, value, &error);
}
static PyObject *cursor_seek(Cursor *self, PyObject *target) { return seek_by(self, target, lk_cursor_seek); }
static PyObject *cursor_seek_for_prev(Cursor *self, PyObject *target) {
  return seek_by(self, target, lk_cursor_seek_for_prev);
}

static PyObject *part_of(Cursor *self, PyObject *part) {
  if (self->transaction == NULL && !cursor_may_use(self)) return NULL;
  if (part == NULL) return raise_error(LK_FAILED_PRECONDITION, "the cursor stands on no record: seek first");
  Py_INCREF(part);
  return part;
}
static PyObject *cursor_get_key(Cursor *self, void *Py_UNUSED(closure)) { return part_of(self, self->key); }
static PyObject *cursor_get_value(Cursor *self, void *Py_UNUSED(closure)) { return part_of(self, self->value); }

static PyObject *cursor_close(Cursor *self, PyObject *Py_UNUSED(ignored)) {
  if (self->transaction == NULL && !cursor_may_use(self)) return NULL;
  close_cursor(self);
  Py_RETURN_NONE;
}
static PyObject *cursor_enter(Cursor *self, PyObject *Py_UNUSED(ignored)) {
  if (!cursor_may_use(self)) return NULL;
  Py_INCREF(self);
  return (PyObject *)self;
}
static PyObject *cursor_exit(Cursor *self, PyObject *const *args, Py_ssize_t count) {
  (void)args;
  if (!check_count("__exit__", count, 3, 3)) return NULL;
  close_cursor(self);
  Py_RETURN_NONE;
}

#define METHOD(name, function, flags, doc) {name, (PyCFunction)(void (*)(void))function, flags, doc}
static PyMethodDef cursor_methods[] = {
    METHOD("first", cursor_first, METH_NOARGS, "first($self, /)\n--\n\nTo the first record; False: none."),
    METHOD("last", cursor_last, METH_NOARGS, "last($self, /)\n--\n\nTo the last record; False: none."),
    METHOD("next", cursor_next, METH_NOARGS, "next($self, /)\n--\n\nTo the next record; False: none."),
    METHOD("prev", cursor_prev, METH_NOARGS, "prev($self, /)\n--\n\nTo the previous record; False: none."),
    METHOD("seek", cursor_seek, METH_O,
           "seek($self, key, /)\n--\n\nTo the first key that is not before `key`; False: none."),
    METHOD("seek_for_prev", cursor_seek_for_prev, METH_O,
           "seek_for_prev($self, key, /)\n--\n\nTo the last key that is not behind `key`; False: none."),
    METHOD("close", cursor_close, METH_NOARGS,
           "close($self, /)\n--\n\nReleases the cursor. A second close is FailedPrecondition."),
    METHOD("__enter__", cursor_enter, METH_NOARGS, NULL),
    METHOD("__exit__", cursor_exit, METH_FASTCALL, NULL),
    {NULL, NULL, 0, NULL},
};
static PyGetSetDef cursor_properties[] = {
    {"key", (getter)cursor_get_key, NULL, "The key of the record, bytes.", NULL},
    {"value", (getter)cursor_get_value, NULL, "The value of the record, bytes.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyTypeObject cursor_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "latchkey.Cursor",
    .tp_basicsize = sizeof(Cursor),
    .tp_dealloc = (destructor)cursor_dealloc,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_doc = "Moves through a range in both directions. One thread at a time may use it.",
    .tp_methods = cursor_methods,
    .tp_getset = cursor_properties,
};
