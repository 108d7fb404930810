/* Memory of reads: kept by the database for the next read, or handed to Python as a memoryview. */
#include "latchkey_python.h"

#define MOST_KEPT_BYTES (1u << 20) /* a larger value gives its memory back at once */

typedef struct {
  PyObject_HEAD
  lk_value *value;
} Value;

lk_value *take_value(Database *db) {
  lk_value *value;
  if (db->spares > 0) return db->spare[--db->spares];
  value = PyMem_Calloc(1, sizeof *value);
  if (value == NULL) PyErr_NoMemory();
  return value;
}

static void free_value(lk_value *value) {
  lk_value_release(value);
  PyMem_Free(value);
}

void give_value(Database *db, lk_value *value) {
  if (value->size > MOST_KEPT_BYTES || db->spares == MOST_SPARE_VALUES) {
    free_value(value);
  } else {
    db->spare[db->spares++] = value;
  }
}

PyObject *bytes_or_missing(lk_code code, const lk_value *value, const lk_error *error, PyObject *missing) {
  if (code == LK_OK) return PyBytes_FromStringAndSize(value->data, (Py_ssize_t)value->size);
  if (code != LK_NOT_FOUND || missing == NULL) return raise_error(code, error->message);
  Py_INCREF(missing);
  return missing;
}

PyObject *view_or_none(Database *db, lk_code code, lk_value *value, const lk_error *error) {
  Value *owner;
  PyObject *view;
  if (code != LK_OK) {
    give_value(db, value);
    if (code != LK_NOT_FOUND) return raise_error(code, error->message);
    Py_RETURN_NONE;
  }
  owner = PyObject_New(Value, &value_type);
  if (owner == NULL) {
    give_value(db, value);
    return NULL;
  }
  owner->value = value;
  view = PyMemoryView_FromObject((PyObject *)owner);
  Py_DECREF(owner);
  return view;
}

static void value_dealloc(Value *self) {
  free_value(self->value);
  PyObject_Free(self);
}

static int value_getbuffer(Value *self, Py_buffer *view, int flags) {
  return PyBuffer_FillInfo(view, (PyObject *)self, (void *)self->value->data,
                           (Py_ssize_t)self->value->size, 1, flags);
}

static PyBufferProcs value_as_buffer = {(getbufferproc)value_getbuffer, NULL};

PyTypeObject value_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "latchkey._latchkey.Value",
    .tp_basicsize = sizeof(Value),
    .tp_dealloc = (destructor)value_dealloc,
    .tp_as_buffer = &value_as_buffer,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_doc = "The owner of the memory that a memoryview of a value shows.",
};
