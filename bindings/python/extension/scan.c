/* Scan: an iterator over a range. It reads many records with one call of the library.
 *
 * Invariants:
 *   1. Records at `next` were read when the transaction had made `seen` changes. After a further change they
 *      are dropped, and the scan seeks behind the last key that it returned. So a scan shows the same
 *      records as a cursor that moves one at a time.
 *   2. `left` is 0 while a call is in progress. So another thread never reads `packed` then.
 */
#include "latchkey_python.h"

#define FIRST_BATCH 4u /* records; doubles with each batch, so that a short scan reads little in vain */
#define MOST_BATCH 256u
#define MOST_BATCH_BYTES (64u << 10)

typedef struct {
  PyObject_HEAD
  Transaction *transaction; /* NULL: the scan is over */
  lk_cursor cursor;
  int step; /* 1 or -1 */
  int what;
  int owns_transaction;
  int is_reading; /* a call of its own is in progress: it uses `packed` */
  unsigned long seen;
  size_t batch;
  lk_value *packed;
  const char *next;
  size_t left;    /* records at `next` */
  lk_bytes last;  /* the key returned last, within `packed` */
  int has_last;
} Scan;

static lk_code create_cursor(Transaction *transaction, lk_tree tree, const Range *range, lk_cursor *cursor,
                             lk_error *error) {
  return lk_cursor_create(transaction->handle, tree, range->has_start ? &range->start.bytes : NULL,
                          range->has_stop ? &range->stop.bytes : NULL, cursor, error);
}

PyObject *make_scan(Transaction *transaction, lk_tree tree, const Range *range, int is_reverse, int what,
                    int owns_transaction) {
  NEW_ERROR(error);
  lk_cursor cursor;
  lk_value *packed;
  lk_code code;
  Scan *self;
  if (!may_use(transaction)) return NULL;
  code = create_cursor(transaction, tree, range, &cursor, &error); /* waits for nothing */
  if (code != LK_OK) return raise_error(code, error.message);
  packed = take_value(transaction->db);
  self = packed == NULL ? NULL : PyObject_New(Scan, &scan_type);
  if (self == NULL) {
    if (packed != NULL) give_value(transaction->db, packed);
    release_cursor(transaction, cursor);
    return NULL;
  }
  Py_INCREF(transaction);
  self->transaction = transaction;
  self->cursor = cursor;
  self->step = is_reverse ? -1 : 1;
  self->what = what;
  self->owns_transaction = owns_transaction;
  self->is_reading = 0;
  self->seen = transaction->changes;
  self->batch = FIRST_BATCH;
  self->packed = packed;
  self->next = NULL;
  self->left = 0;
  self->has_last = 0;
  return (PyObject *)self;
}

static void end_scan(Scan *self) {
  Transaction *transaction = self->transaction;
  if (transaction == NULL) return;
  self->transaction = NULL;
  self->left = 0;
  self->has_last = 0;
  release_cursor(transaction, self->cursor);
  give_value(transaction->db, self->packed);
  if (self->owns_transaction) abandon(transaction);
  Py_DECREF(transaction);
}

static void scan_dealloc(Scan *self) {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  end_scan(self);
  PyErr_Restore(type, value, traceback);
  PyObject_Free(self);
}

/* Behind the last key, in the direction of the scan. Runs without the GIL. */
static lk_code seek_behind_last(Scan *self, lk_error *error) {
  lk_bytes key;
  const int is_forward = self->step == 1;
  lk_code code = is_forward ? lk_cursor_seek(self->cursor, self->last, &key, NULL, error)
                            : lk_cursor_seek_for_prev(self->cursor, self->last, &key, NULL, error);
  const int is_same =
      code == LK_OK && key.size == self->last.size && memcmp(key.data, self->last.data, key.size) == 0;
  if (!is_same) return code;
  return is_forward ? lk_cursor_next(self->cursor, NULL, NULL, error)
                    : lk_cursor_prev(self->cursor, NULL, NULL, error);
}

/* Reads the next records into `packed`. Runs without the GIL. */
static lk_code read_records(Scan *self, int must_seek, size_t *count, lk_error *error) {
  lk_code code = LK_OK;
  *count = 0;
  if (must_seek && self->has_last) {
    code = seek_behind_last(self, error);
  } else if (must_seek) {
    code = self->step == 1 ? lk_cursor_seek_first(self->cursor, NULL, NULL, error)
                           : lk_cursor_seek_last(self->cursor, NULL, NULL, error);
  }
  if (code != LK_OK) return code;
  return lk_cursor_read(self->cursor, self->step, self->batch, MOST_BATCH_BYTES, self->packed, count, error);
}

/* 1: there are records. 0: the scan is at its end. -1: an exception is set. */
static int refill(Scan *self) {
  NEW_ERROR(error);
  Transaction *transaction = self->transaction;
  const int has_changed = transaction->changes != self->seen;
  size_t count;
  lk_code code;
  if (!may_use(transaction)) return -1;
  if (has_changed) self->batch = 1;
  self->left = 0;
  self->is_reading = 1;
  IN_TRANSACTION(transaction, code = read_records(self, has_changed || !self->has_last, &count, &error));
  self->is_reading = 0;
  if (code == LK_NOT_FOUND) return 0;
  if (code != LK_OK) {
    raise_error(code, error.message);
    return -1;
  }
  self->seen = transaction->changes;
  self->next = self->packed->data;
  self->left = count;
  if (self->batch < MOST_BATCH) self->batch *= 2;
  return 1;
}

static PyObject *pair_of(lk_bytes key, const char *value, size_t value_size) {
  PyObject *pair = PyTuple_New(2);
  PyObject *key_object = PyBytes_FromStringAndSize(key.data, (Py_ssize_t)key.size);
  PyObject *value_object = PyBytes_FromStringAndSize(value, (Py_ssize_t)value_size);
  if (pair == NULL || key_object == NULL || value_object == NULL) {
    Py_XDECREF(pair);
    Py_XDECREF(key_object);
    Py_XDECREF(value_object);
    return NULL;
  }
  PyTuple_SET_ITEM(pair, 0, key_object);
  PyTuple_SET_ITEM(pair, 1, value_object);
  return pair;
}

/* Takes the next of the records that were read. */
static PyObject *take_record(Scan *self) {
  uint32_t sizes[2];
  const char *key = self->next + sizeof sizes;
  const char *value;
  memcpy(sizes, self->next, sizeof sizes);
  value = key + sizes[0];
  self->next = value + sizes[1];
  --self->left;
  self->last = lk_slice(key, sizes[0]);
  self->has_last = 1;
  switch (self->what) {
    case SCAN_KEYS:
      return PyBytes_FromStringAndSize(key, sizes[0]);
    case SCAN_VALUES:
      return PyBytes_FromStringAndSize(value, sizes[1]);
    default:
      return pair_of(self->last, value, sizes[1]);
  }
}

static PyObject *scan_next(Scan *self) {
  const Transaction *transaction = self->transaction;
  if (transaction == NULL) return NULL;
  if (self->left == 0 || transaction->changes != self->seen || transaction->db->state != DATABASE_OPEN) {
    const int has_records = refill(self);
    if (has_records == 0) end_scan(self);
    if (has_records != 1) return NULL;
  }
  return take_record(self);
}

static PyObject *scan_close(Scan *self, PyObject *Py_UNUSED(ignored)) {
  if (self->is_reading) {
    transaction_refused(self->transaction);
    return NULL;
  }
  end_scan(self);
  Py_RETURN_NONE;
}

static PyObject *scan_enter(Scan *self, PyObject *Py_UNUSED(ignored)) {
  Py_INCREF(self);
  return (PyObject *)self;
}

static PyObject *scan_exit(Scan *self, PyObject *const *args, Py_ssize_t count) {
  (void)args;
  if (!check_count("__exit__", count, 3, 3)) return NULL;
  return scan_close(self, NULL);
}

static PyMethodDef scan_methods[] = {
    {"close", (PyCFunction)scan_close, METH_NOARGS,
     "close($self, /)\n--\n\nEnds the scan. The end of the iteration does the same."},
    {"__enter__", (PyCFunction)scan_enter, METH_NOARGS, NULL},
    {"__exit__", (PyCFunction)(void (*)(void))scan_exit, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

PyTypeObject scan_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "latchkey.Scan",
    .tp_basicsize = sizeof(Scan),
    .tp_dealloc = (destructor)scan_dealloc,
    .tp_iter = PyObject_SelfIter,
    .tp_iternext = (iternextfunc)scan_next,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_doc = "An iterator over the records of a range.",
    .tp_methods = scan_methods,
};
