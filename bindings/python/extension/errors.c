/* Codes of the library as exceptions of latchkey.errors. */
#include "latchkey_python.h"

#define MOST_CODES 16
static PyObject *classes[MOST_CODES];
static PyObject *base_class;

int load_errors(void) {
  PyObject *module = PyImport_ImportModule("latchkey.errors");
  PyObject *by_code, *class;
  Py_ssize_t position = 0;
  PyObject *code;
  if (module == NULL) return 0;
  base_class = PyObject_GetAttrString(module, "Error");
  by_code = PyObject_GetAttrString(module, "BY_CODE");
  Py_DECREF(module);
  if (base_class == NULL || by_code == NULL) return 0;
  while (PyDict_Next(by_code, &position, &code, &class)) {
    const long number = PyLong_AsLong(code);
    if (number < 0 || number >= MOST_CODES) continue;
    Py_INCREF(class);
    classes[number] = class;
  }
  Py_DECREF(by_code);
  return 1;
}

PyObject *raise_error(lk_code code, const char *message) {
  PyObject *class = code > 0 && code < MOST_CODES ? classes[code] : NULL;
  PyObject *text = PyUnicode_DecodeUTF8(message, (Py_ssize_t)strlen(message), "replace");
  if (text == NULL) return NULL;
  PyErr_SetObject(class != NULL ? class : base_class, text);
  Py_DECREF(text);
  return NULL;
}

PyObject *none_or_raise(lk_code code, const lk_error *error) {
  if (code != LK_OK) return raise_error(code, error->message);
  Py_RETURN_NONE;
}

PyObject *found_or_raise(lk_code code, const lk_error *error) {
  if (code == LK_OK) Py_RETURN_TRUE;
  if (code == LK_NOT_FOUND) Py_RETURN_FALSE;
  return raise_error(code, error->message);
}

int check_count(const char *function, Py_ssize_t given, Py_ssize_t least, Py_ssize_t most) {
  if (given >= least && given <= most) return 1;
  if (least == most) {
    PyErr_Format(PyExc_TypeError, "%s() takes %zd arguments (%zd given)", function, least, given);
  } else {
    PyErr_Format(PyExc_TypeError, "%s() takes %zd to %zd arguments (%zd given)", function, least, most,
                 given);
  }
  return 0;
}
