/* get_many, and the estimates of ranges. */
#include "latchkey_python.h"

/* The keys of an iterable, kept alive by `list`. 0 with an exception set. End with release_keys. */
typedef struct {
  PyObject *list; /* of bytes */
  lk_bytes *keys, *values;
  size_t count;
} Keys;

static void release_keys(Keys *keys) {
  PyMem_Free(keys->keys);
  Py_XDECREF(keys->list);
}

static int get_keys(PyObject *iterable, Keys *keys) {
  memset(keys, 0, sizeof *keys);
  keys->list = PySequence_List(iterable);
  if (keys->list == NULL) return 0;
  keys->count = (size_t)PyList_GET_SIZE(keys->list);
  keys->keys = PyMem_Calloc(2 * keys->count + 1, sizeof *keys->keys);
  if (keys->keys == NULL) {
    PyErr_NoMemory();
    release_keys(keys);
    return 0;
  }
  keys->values = keys->keys + keys->count;
  for (size_t i = 0; i < keys->count; ++i) {
    Bytes bytes;
    if (!get_bytes(PyList_GET_ITEM(keys->list, (Py_ssize_t)i), "key", &bytes)) {
      release_keys(keys);
      return 0;
    }
    keys->keys[i] = bytes.bytes;
    if (bytes.copy != NULL) PyList_SetItem(keys->list, (Py_ssize_t)i, bytes.copy); /* takes it over */
  }
  return 1;
}

static PyObject *list_of_values(const Keys *keys) {
  PyObject *list = PyList_New((Py_ssize_t)keys->count);
  for (size_t i = 0; list != NULL && i < keys->count; ++i) {
    PyObject *value = Py_None;
    if (keys->values[i].data == NULL) {
      Py_INCREF(value);
    } else {
      value = PyBytes_FromStringAndSize(keys->values[i].data, (Py_ssize_t)keys->values[i].size);
    }
    if (value == NULL) {
      Py_CLEAR(list);
    } else {
      PyList_SET_ITEM(list, (Py_ssize_t)i, value);
    }
  }
  return list;
}

PyObject *get_many(Database *db, Transaction *transaction, lk_tree tree, PyObject *iterable) {
  NEW_ERROR(error);
  PyObject *list = NULL;
  lk_value *memory;
  lk_code code;
  Keys keys;
  if (!get_keys(iterable, &keys)) return NULL;
  memory = (transaction == NULL ? may_enter(db) : may_use(transaction)) ? take_value(db) : NULL;
  if (memory != NULL) {
    if (transaction == NULL) {
      WITHOUT_GIL(db, code = lk_multi_get(db->handle, tree, keys.keys, keys.count, memory, keys.values, &error));
    } else {
      IN_TRANSACTION(transaction, code = lk_txn_multi_get(transaction->handle, tree, keys.keys, keys.count,
                                                          memory, keys.values, &error));
    }
    list = code == LK_OK ? list_of_values(&keys) : raise_error(code, error.message);
    give_value(db, memory);
  }
  release_keys(&keys);
  return list;
}

PyObject *estimate(Database *db, lk_tree tree, PyObject *args, PyObject *kwargs, EstimateCall call) {
  static char *names[] = {"start", "stop", "prefix", NULL};
  NEW_ERROR(error);
  PyObject *start = NULL, *stop = NULL, *prefix = NULL;
  uint64_t figure = 0;
  lk_code code;
  Range range;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO$O:approximate", names, &start, &stop, &prefix) ||
      !get_range(start, stop, prefix, &range)) {
    return NULL;
  }
  if (!may_enter(db)) {
    release_range(&range);
    return NULL;
  }
  WITHOUT_GIL(db, code = call(db->handle, tree, range.has_start ? &range.start.bytes : NULL,
                              range.has_stop ? &range.stop.bytes : NULL, &figure, &error));
  release_range(&range);
  return code == LK_OK ? PyLong_FromUnsignedLongLong(figure) : raise_error(code, error.message);
}
