/* The module latchkey._latchkey: the types, and what needs no database. */
#include "latchkey_python.h"

/* options() -> dict of name to the values allowed */
static PyObject *list_options(PyObject *module, PyObject *Py_UNUSED(ignored)) {
  PyObject *dict = PyDict_New();
  (void)module;
  for (size_t i = 0; dict != NULL && i < lk_option_count(); ++i) {
    const char *name, *help;
    PyObject *text;
    if (lk_option_at(i, &name, &help, NULL) != LK_OK) continue;
    text = PyUnicode_FromString(help);
    if (text == NULL || PyDict_SetItemString(dict, name, text) != 0) Py_CLEAR(dict);
    Py_XDECREF(text);
  }
  return dict;
}

static PyMethodDef functions[] = {
    {"options", list_options, METH_NOARGS,
     "options($module, /)\n--\n\nThe names of all options of open(), and the values that each takes. A hyphen of a name\n"
     "may be an underscore."},
    {"list_backups", list_backups, METH_VARARGS, NULL},
    {"check_backups", check_backups, METH_VARARGS, NULL},
    {"restore_backup", restore_backup, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_latchkey", "The C interface of Latchkey as Python types.", -1, functions, NULL, NULL,
    NULL, NULL};

static int add_types(PyObject *module) {
  static const struct {
    const char *name;
    PyTypeObject *type;
  } types[] = {{"Database", &database_type}, {"Tree", &tree_type},   {"Transaction", &transaction_type},
               {"Cursor", &cursor_type},     {"Scan", &scan_type},   {"WriteBatch", &batch_type},
               {"Savepoint", &savepoint_type}, {"BulkLoader", &bulk_loader_type}};
  for (size_t i = 0; i < sizeof types / sizeof types[0]; ++i) {
    if (PyType_Ready(types[i].type) != 0) return 0;
    Py_INCREF(types[i].type);
    if (PyModule_AddObject(module, types[i].name, (PyObject *)types[i].type) != 0) return 0;
  }
  return PyType_Ready(&value_type) == 0;
}

PyMODINIT_FUNC PyInit__latchkey(void) {
  PyObject *module = PyModule_Create(&definition);
  if (module == NULL) return NULL;
  if (!load_errors() || !add_types(module) ||
      PyModule_AddStringConstant(module, "version", lk_version()) != 0 ||
      PyModule_AddIntConstant(module, "MAX_KEY_SIZE", LK_MAX_KEY_SIZE) != 0 ||
      PyModule_AddIntConstant(module, "MAX_VALUE_SIZE", LK_MAX_VALUE_SIZE) != 0 ||
      PyModule_AddIntConstant(module, "MAX_TREE_NAME_SIZE", LK_MAX_TREE_NAME_SIZE) != 0) {
    Py_DECREF(module);
    return NULL;
  }
  return module;
}
