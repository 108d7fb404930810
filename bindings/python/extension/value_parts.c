/* Values in parts, of a Transaction. */
#include "latchkey_python.h"

/* Reads up to `size` bytes from `offset` on into *value, which the caller gives back. 0 with an exception set before the
 * call. */
static int read_part(Transaction *self, PyObject *const *args, uint64_t offset, size_t size, lk_value **value,
                     uint64_t *value_size, lk_code *code, lk_error *error) {
  Bytes key;
  lk_tree tree;
  if (!may_use(self) || !get_tree(args[0], &tree) || !get_bytes(args[1], "key", &key)) return 0;
  *value = take_value(self->db);
  if (*value != NULL) {
    IN_TRANSACTION(self, *code = lk_txn_get_part(self->handle, tree, key.bytes, offset, size, *value, value_size, error));
  }
  release_bytes(&key);
  return *value != NULL;
}

/* A number that is not negative. 0 with an exception set. */
static int get_number(PyObject *object, const char *what, unsigned long long *number) {
  *number = PyLong_AsUnsignedLongLong(object);
  if (!PyErr_Occurred()) return 1;
  if (PyErr_ExceptionMatches(PyExc_OverflowError)) {
    PyErr_Format(PyExc_ValueError, "%s=%R: give 0 or more", what, object);
  }
  return 0;
}

PyObject *get_part(Transaction *self, PyObject *const *args, Py_ssize_t count) {
  NEW_ERROR(error);
  lk_value *value;
  lk_code code;
  unsigned long long offset, size;
  PyObject *result;
  if (!check_count("get_part", count, 4, 4) || !get_number(args[2], "offset", &offset) ||
      !get_number(args[3], "size", &size)) {
    return NULL;
  }
  if (!read_part(self, args, offset, (size_t)size, &value, NULL, &code, &error)) return NULL;
  result = bytes_or_missing(code, value, &error, Py_None);
  give_value(self->db, value);
  return result;
}

PyObject *value_size(Transaction *self, PyObject *const *args, Py_ssize_t count) {
  NEW_ERROR(error);
  lk_value *value;
  lk_code code;
  uint64_t size = 0;
  if (!check_count("value_size", count, 2, 2) || !read_part(self, args, 0, 0, &value, &size, &code, &error)) return NULL;
  give_value(self->db, value);
  if (code == LK_OK) return PyLong_FromUnsignedLongLong(size);
  if (code == LK_NOT_FOUND) Py_RETURN_NONE;
  return raise_error(code, error.message);
}

/* Appends what the iterator gives. 0 with an exception set. The iterator's code may use the transaction. */
static int append_all(Transaction *self, PyObject *iterator) {
  NEW_ERROR(error);
  PyObject *item;
  while ((item = PyIter_Next(iterator)) != NULL) {
    Bytes part;
    lk_code code = LK_OK;
    const int is_bytes = get_bytes(item, "part", &part);
    const int is_fit = is_bytes && may_use(self);
    if (is_fit) IN_TRANSACTION(self, code = lk_txn_put_append(self->handle, part.bytes, &error));
    if (is_bytes) release_bytes(&part);
    Py_DECREF(item);
    if (code != LK_OK) raise_error(code, error.message);
    if (!is_fit || code != LK_OK) return 0;
  }
  return !PyErr_Occurred() && may_use(self);
}

/* Gives up what was begun, and keeps the exception that is set. */
static void give_up(Transaction *self) {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  if (may_use(self)) IN_TRANSACTION(self, lk_txn_put_give_up(self->handle, NULL));
  PyErr_Clear();
  PyErr_Restore(type, value, traceback);
}

PyObject *put_parts(Transaction *self, PyObject *const *args, Py_ssize_t count) {
  NEW_ERROR(error);
  PyObject *iterator;
  Bytes key;
  lk_tree tree;
  lk_code code;
  if (!check_count("put_parts", count, 3, 3) || !may_use(self) || !get_tree(args[0], &tree)) return NULL;
  iterator = PyObject_GetIter(args[2]);
  if (iterator == NULL) return NULL;
  if (!may_use(self) || !get_bytes(args[1], "key", &key)) {
    Py_DECREF(iterator);
    return NULL;
  }
  IN_TRANSACTION(self, code = lk_txn_put_begin(self->handle, tree, key.bytes, &error));
  release_bytes(&key);
  if (code == LK_OK && !append_all(self, iterator)) {
    give_up(self);
    Py_DECREF(iterator);
    return NULL;
  }
  Py_DECREF(iterator);
  self->changes++;
  if (code == LK_OK) IN_TRANSACTION(self, code = lk_txn_put_finish(self->handle, &error));
  return none_or_raise(code, &error);
}
