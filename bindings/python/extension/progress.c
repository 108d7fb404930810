/* Python functions that are told the progress of a call of the library. */
#include "latchkey_python.h"

int tell_progress(Watch *self, const char *format, ...) {
  const PyGILState_STATE state = PyGILState_Ensure();
  int stop = PyErr_CheckSignals() != 0;
  if (!stop && self->progress != Py_None) {
    va_list figures;
    PyObject *args, *result;
    va_start(figures, format);
    args = Py_VaBuildValue(format, figures);
    va_end(figures);
    result = args == NULL ? NULL : PyObject_CallObject(self->progress, args);
    stop = result == NULL || result == Py_False;
    Py_XDECREF(args);
    Py_XDECREF(result);
  }
  if (PyErr_Occurred()) PyErr_Fetch(&self->type, &self->value, &self->traceback);
  PyGILState_Release(state);
  return stop;
}

int watched_call_succeeded(Watch *watch, lk_code code, const lk_error *error) {
  if (watch->type != NULL) {
    PyErr_Restore(watch->type, watch->value, watch->traceback);
    return 0;
  }
  if (code != LK_OK) raise_error(code, error->message);
  return code == LK_OK;
}
