/* Backups: the functions that latchkey.backups wraps. */
#include "latchkey_python.h"

static int watch(void *context, const lk_backup_progress *progress) {
  return tell_progress(context, "(iKKK)", progress->phase, progress->done, progress->total, progress->bytes);
}

static PyObject *tuple_of(const lk_backup_info *info) {
  return Py_BuildValue("(IKKKKKKK)", info->number, info->id, info->parent_id, info->database_id, info->pages,
                       info->resumed_pages, info->bytes, info->log_bytes);
}

static PyObject *list_of(lk_backups backups) {
  const Py_ssize_t count = (Py_ssize_t)lk_backups_count(backups);
  PyObject *list = PyList_New(count);
  for (Py_ssize_t i = 0; list != NULL && i < count; ++i) {
    lk_backup_info info = LK_BACKUP_INFO_INIT;
    PyObject *tuple;
    lk_backups_at(backups, (size_t)i, &info, NULL);
    tuple = tuple_of(&info);
    if (tuple == NULL) {
      Py_CLEAR(list);
    } else {
      PyList_SET_ITEM(list, i, tuple);
    }
  }
  lk_backups_release(backups, NULL);
  return list;
}

/* _backup(directory, incremental, max_bytes_per_second, check, progress) */
PyObject *backup(Database *db, PyObject *args) {
  NEW_ERROR(error);
  lk_backup_options options = LK_BACKUP_OPTIONS_INIT;
  lk_backup_info info = LK_BACKUP_INFO_INIT;
  Watch watcher = {NULL, NULL, NULL, NULL};
  const char *directory;
  int check;
  lk_code code;
  unsigned long long rate;
  PyObject *rate_object;
  if (!PyArg_ParseTuple(args, "ypOpO", &directory, &options.incremental, &rate_object, &check, &watcher.progress)) {
    return NULL;
  }
  rate = PyLong_AsUnsignedLongLong(rate_object); /* refuses negative numbers */
  if (rate == (unsigned long long)-1 && PyErr_Occurred()) return NULL;
  options.max_bytes_per_second = rate;
  options.skip_check = !check;
  options.progress = watch;
  options.context = &watcher;
  if (!may_enter(db)) return NULL;
  WITHOUT_GIL(db, code = lk_backup(db->handle, directory, &options, &info, &error));
  return watched_call_succeeded(&watcher, code, &error) ? tuple_of(&info) : NULL;
}

/* list_backups(directory) */
PyObject *list_backups(PyObject *module, PyObject *args) {
  NEW_ERROR(error);
  const char *directory;
  lk_backups backups;
  lk_code code;
  (void)module;
  if (!PyArg_ParseTuple(args, "y", &directory)) return NULL;
  Py_BEGIN_ALLOW_THREADS
  code = lk_list_backups(directory, &backups, &error);
  Py_END_ALLOW_THREADS
  return code == LK_OK ? list_of(backups) : raise_error(code, error.message);
}

/* check_backups(directory, number, progress) */
PyObject *check_backups(PyObject *module, PyObject *args) {
  NEW_ERROR(error);
  lk_backup_check_options options = LK_BACKUP_CHECK_OPTIONS_INIT;
  Watch watcher = {NULL, NULL, NULL, NULL};
  const char *directory;
  lk_backups backups;
  lk_code code;
  (void)module;
  if (!PyArg_ParseTuple(args, "yIO", &directory, &options.number, &watcher.progress)) return NULL;
  options.progress = watch;
  options.context = &watcher;
  Py_BEGIN_ALLOW_THREADS
  code = lk_check_backups(directory, &options, &backups, &error);
  Py_END_ALLOW_THREADS
  return watched_call_succeeded(&watcher, code, &error) ? list_of(backups) : NULL;
}

/* restore_backup(directory, path, number, options, verify, progress) */
PyObject *restore_backup(PyObject *module, PyObject *args) {
  NEW_ERROR(error);
  lk_restore_options options = LK_RESTORE_OPTIONS_INIT;
  Watch watcher = {NULL, NULL, NULL, NULL};
  const char *directory, *path;
  PyObject *given;
  int verify;
  lk_code code;
  (void)module;
  if (!PyArg_ParseTuple(args, "yyIO!pO", &directory, &path, &options.number, &PyDict_Type, &given, &verify,
                        &watcher.progress)) {
    return NULL;
  }
  options.skip_verify = !verify;
  options.progress = watch;
  options.context = &watcher;
  code = lk_options_create(&options.database, &error);
  if (code != LK_OK) return raise_error(code, error.message);
  if (!set_options(options.database, given)) {
    lk_options_release(options.database, NULL);
    return NULL;
  }
  Py_BEGIN_ALLOW_THREADS
  code = lk_restore_backup(directory, path, &options, &error);
  Py_END_ALLOW_THREADS
  lk_options_release(options.database, NULL);
  if (!watched_call_succeeded(&watcher, code, &error)) return NULL;
  Py_RETURN_NONE;
}
