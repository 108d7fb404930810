/* Compaction: the function that Database.compact wraps. */
#include "latchkey_python.h"

static int watch(void *context, const lk_compact_progress *progress) {
  return tell_progress(context, "(KKK)", progress->leaves, progress->freed, progress->file_bytes);
}

/* _compact(max_bytes_per_second, progress) */
PyObject *compact(Database *db, PyObject *args) {
  NEW_ERROR(error);
  lk_compact_options options = LK_COMPACT_OPTIONS_INIT;
  lk_compact_info info = LK_COMPACT_INFO_INIT;
  Watch watcher = {NULL, NULL, NULL, NULL};
  lk_code code;
  PyObject *rate;
  if (!PyArg_ParseTuple(args, "OO", &rate, &watcher.progress)) return NULL;
  options.max_bytes_per_second = PyLong_AsUnsignedLongLong(rate); /* refuses negative numbers */
  if (options.max_bytes_per_second == (unsigned long long)-1 && PyErr_Occurred()) return NULL;
  options.progress = watch;
  options.context = &watcher;
  if (!may_enter(db)) return NULL;
  WITHOUT_GIL(db, code = lk_compact(db->handle, &options, &info, &error));
  if (!watched_call_succeeded(&watcher, code, &error)) return NULL;
  return Py_BuildValue("(KKKK)", info.bytes_before, info.bytes_after, info.leaves, info.freed);
}
