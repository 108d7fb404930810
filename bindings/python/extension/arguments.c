/* Keys, values, trees and ranges from Python objects. */
#include "latchkey_python.h"

int copy_bytes(PyObject *object, const char *what, Bytes *bytes) {
  if (!PyObject_CheckBuffer(object)) {
    const char *remedy = PyUnicode_Check(object) ? ": call .encode()" : "";
    PyErr_Format(PyExc_TypeError, "%s must be bytes-like, not %.100s%s", what, Py_TYPE(object)->tp_name,
                 remedy);
    return 0;
  }
  bytes->copy = PyBytes_FromObject(object);
  if (bytes->copy == NULL) return 0;
  bytes->bytes = lk_slice(PyBytes_AS_STRING(bytes->copy), (size_t)PyBytes_GET_SIZE(bytes->copy));
  return 1;
}

int get_tree(PyObject *object, lk_tree *tree) {
  if (!PyObject_TypeCheck(object, &tree_type)) {
    PyErr_Format(PyExc_TypeError, "tree must be a latchkey.Tree, which Database.tree returns, not %.100s",
                 Py_TYPE(object)->tp_name);
    return 0;
  }
  *tree = ((Tree *)object)->handle;
  return 1;
}

static int is_given(PyObject *object) { return object != NULL && object != Py_None; }

/* The range of a prefix ends before the shortest key that is behind every key with it: the prefix without
 * the 0xFF at its end, and its last byte greater by 1. No such key: the range has no end. */
static void set_prefix(Range *range) {
  const lk_bytes prefix = range->start.bytes;
  size_t size = prefix.size;
  const unsigned char *bytes = prefix.data;
  while (size > 0 && bytes[size - 1] == 0xFF) --size;
  range->has_stop = size > 0;
  if (size == 0) return;
  memcpy(range->after_prefix, bytes, size);
  range->after_prefix[size - 1] = (char)(bytes[size - 1] + 1);
  range->stop.bytes = lk_slice(range->after_prefix, size);
}

int get_range(PyObject *start, PyObject *stop, PyObject *prefix, Range *range) {
  range->has_start = range->has_stop = 0;
  range->start.copy = range->stop.copy = NULL;
  if (is_given(prefix)) {
    if (is_given(start) || is_given(stop)) {
      PyErr_SetString(PyExc_TypeError, "give either prefix, or start and stop");
      return 0;
    }
    if (!get_bytes(prefix, "prefix", &range->start)) return 0;
    if (range->start.bytes.size > LK_MAX_KEY_SIZE) {
      PyErr_Format(PyExc_ValueError, "prefix has %zu bytes: a key has at most %u", range->start.bytes.size,
                   LK_MAX_KEY_SIZE);
      release_range(range);
      return 0;
    }
    range->has_start = 1;
    set_prefix(range);
    return 1;
  }
  range->has_start = is_given(start);
  range->has_stop = is_given(stop);
  if ((range->has_start && !get_bytes(start, "start", &range->start)) ||
      (range->has_stop && !get_bytes(stop, "stop", &range->stop))) {
    release_range(range);
    return 0;
  }
  return 1;
}

void release_range(Range *range) {
  release_bytes(&range->start);
  release_bytes(&range->stop);
}
