/* What the files of the extension module share. Each file defines one Python type.
 *
 * Locks: Python's global interpreter lock (GIL) guards every member of the objects. A call of the library
 * runs without it. Three members then keep other threads away:
 *   Database.calls       calls in progress; close() waits until there are none
 *   Database.state       no call begins once close() has begun
 *   Transaction.in_use   a call of this transaction, or of a cursor or scan of it, is in progress
 */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <latchkey/latchkey_c.h>
#include <sys/types.h>

/* ---- Objects. */

enum { DATABASE_OPEN, DATABASE_CLOSING, DATABASE_CLOSED };
#define MOST_SPARE_VALUES 8

typedef struct {
  PyObject_HEAD lk_db handle;
  int state;
  Py_ssize_t calls;
  pid_t process;                      /* that opened it */
  PyObject *log;                      /* callable or NULL */
  PyObject *on_event;                 /* the same */
  lk_value *spare[MOST_SPARE_VALUES]; /* memory of former reads, to be used again */
  int spares;
} Database;

typedef struct {
  PyObject_HEAD Database *db;
  lk_tree handle;
  PyObject *name; /* str */
} Tree;

typedef struct {
  PyObject_HEAD Database *db;
  lk_txn handle;
  int is_over;
  int was_aborted;    /* by the library; known once it is over */
  int is_vain;        /* a repetition would wait for the same lock; known once it is over */
  int32_t durability; /* of the commit at the end of a with block: LK_DURABILITY_... */
  int in_use;
  unsigned long changes; /* grows with every write and with the end: scans then read again */
  lk_cursor *orphans;    /* of cursors that went away while a call was in progress */
  size_t orphan_count;
} Transaction;

extern PyTypeObject database_type, tree_type, transaction_type, cursor_type, scan_type, batch_type,
    savepoint_type, value_type, bulk_loader_type;

/* ---- Errors (errors.c). */

/* Of the caller's stack: not cleared, since it is large. */
#define NEW_ERROR(name)           \
  lk_error name;                  \
  name.struct_size = sizeof name; \
  name.code = LK_OK;              \
  name.message[0] = '\0'

/* Finds the classes of latchkey.errors. 0 with an exception set if it fails. */
int load_errors(void);
/* Sets the exception of `code`; returns NULL. */
PyObject *raise_error(lk_code code, const char *message);
/* None for LK_OK, else as raise_error. */
PyObject *none_or_raise(lk_code code, const lk_error *error);
/* True for LK_OK, False for LK_NOT_FOUND, else as raise_error. */
PyObject *found_or_raise(lk_code code, const lk_error *error);
/* Checks the number of positional arguments. 0 with an exception set if it is not in the range. */
int check_count(const char *function, Py_ssize_t given, Py_ssize_t least, Py_ssize_t most);

/* ---- Arguments (arguments.c). */

/* Bytes that stay unchanged while a call runs without the GIL. `bytes` is used in place. Any other
 * bytes-like object is copied, because another thread may write to it. */
typedef struct {
  lk_bytes bytes;
  PyObject *copy; /* or NULL */
} Bytes;

int copy_bytes(PyObject *object, const char *what, Bytes *bytes);
/* 0 with a TypeError set unless `object` is bytes-like. End with release_bytes. */
static inline int get_bytes(PyObject *object, const char *what, Bytes *bytes) {
  bytes->copy = NULL;
  if (!PyBytes_CheckExact(object)) return copy_bytes(object, what, bytes);
  bytes->bytes = lk_slice(PyBytes_AS_STRING(object), (size_t)PyBytes_GET_SIZE(object));
  return 1;
}
static inline void release_bytes(Bytes *bytes) { Py_CLEAR(bytes->copy); }

/* The tree handle of `object`; 0 with a TypeError set unless it is a Tree. */
int get_tree(PyObject *object, lk_tree *tree);

/* A range of keys, from (start, stop, prefix). */
typedef struct {
  Bytes start, stop;
  int has_start, has_stop;
  char after_prefix[LK_MAX_KEY_SIZE];
} Range;
/* Each argument may be NULL or None. 0 with an exception set. End with release_range. */
int get_range(PyObject *start, PyObject *stop, PyObject *prefix, Range *range);
void release_range(Range *range);

/* ---- Calls (database.c, transaction.c). */

/* 0 with an exception set unless a call of the database may begin. */
int enter_refused(Database *db);
extern __thread int log_depth; /* above 0: this thread runs a log callable */
static inline int may_enter(Database *db) {
  return db->state == DATABASE_OPEN && log_depth == 0 ? 1 : enter_refused(db);
}
int transaction_refused(Transaction *transaction);
static inline int may_use(Transaction *transaction) {
  if (transaction->is_over || transaction->in_use) return transaction_refused(transaction);
  return may_enter(transaction->db);
}

/* Runs `statement`, a call of the library, without the GIL. REQUIRES: may_enter. */
#define WITHOUT_GIL(database, statement) \
  do {                                   \
    PyThreadState *saved_state;          \
    (database)->calls++;                 \
    saved_state = PyEval_SaveThread();   \
    statement;                           \
    PyEval_RestoreThread(saved_state);   \
    (database)->calls--;                 \
  } while (0)
/* The same for a transaction and its cursors. REQUIRES: may_use. */
#define IN_TRANSACTION(transaction, statement) \
  do {                                         \
    (transaction)->in_use = 1;                 \
    WITHOUT_GIL((transaction)->db, statement); \
    (transaction)->in_use = 0;                 \
  } while (0)

/* Memory for a read. NULL with an exception set. */
lk_value *take_value(Database *db);
void give_value(Database *db, lk_value *value);
/* The value as bytes; `missing` (a borrowed reference) for LK_NOT_FOUND, or the exception if it is NULL. */
PyObject *bytes_or_missing(lk_code code, const lk_value *value, const lk_error *error,
                           PyObject *missing);
/* As bytes_or_missing, but a memoryview of the value, without a copy. Takes `value` over. */
PyObject *view_or_none(Database *db, lk_code code, lk_value *value, const lk_error *error);

PyObject *make_tree(Database *db, lk_tree handle, PyObject *name);
PyObject *make_batch(Database *db);
/* Runs lk_write. */
PyObject *write_batch(Database *db, PyObject *args, PyObject *kwargs);
/* Options of lk_options_set from a dict of str to str. 0 with an exception set. */
int set_options(lk_options options, PyObject *given);
/* LK_DURABILITY_... of None, 'none', 'group' or 'commit'. 0 with an exception set. */
int durability_of(PyObject *object, int32_t *durability);

/* ---- Progress (progress.c). */

/* The function that is told the progress of a call, and the exception that ended the call. */
typedef struct {
  PyObject *progress; /* callable or None */
  PyObject *type, *value, *traceback;
} Watch;
/* Calls the function with the arguments of a tuple's format of Py_BuildValue. Not 0: the call is to stop, as the
 * function or a signal says. Called without the GIL. */
int tell_progress(Watch *self, const char *format, ...);
/* Whether the call succeeded; if not, the exception is set: that of the function if it has raised one. */
int watched_call_succeeded(Watch *watch, lk_code code, const lk_error *error);

/* ---- Many keys, values in parts, bulk loads, backups and compaction (many.c, value_parts.c, bulk.c, backup.c,
 * compact.c). */

/* transaction: NULL for one of the call's own. */
PyObject *get_many(Database *db, Transaction *transaction, lk_tree tree, PyObject *iterable);
typedef lk_code (*EstimateCall)(lk_db, lk_tree, const lk_bytes *, const lk_bytes *, uint64_t *,
                                lk_error *);
PyObject *estimate(Database *db, lk_tree tree, PyObject *args, PyObject *kwargs, EstimateCall call);
PyObject *get_part(Transaction *transaction, PyObject *const *args, Py_ssize_t count);
PyObject *value_size(Transaction *transaction, PyObject *const *args, Py_ssize_t count);
PyObject *put_parts(Transaction *transaction, PyObject *const *args, Py_ssize_t count);
PyObject *make_bulk_loader(Database *db, PyObject *args, PyObject *kwargs);
PyObject *backup(Database *db, PyObject *args);
PyObject *compact(Database *db, PyObject *args);
PyObject *list_backups(PyObject *module, PyObject *args);
PyObject *check_backups(PyObject *module, PyObject *args);
PyObject *restore_backup(PyObject *module, PyObject *args);

/* NULL with an exception set. isolation: NULL, None, "snapshot" or "serializable". */
PyObject *begin_transaction(Database *db, PyObject *isolation, int read_only, PyObject *durability);
/* Rolls back; the transaction is over afterwards. Sets no exception. */
void abandon(Transaction *transaction);
/* Ends a cursor of the transaction, now or once no call is in progress. */
void release_cursor(Transaction *transaction, lk_cursor cursor);
/* Waits until a close() that another thread has begun is done. */
void await_close(Database *db);

enum { SCAN_ITEMS, SCAN_KEYS, SCAN_VALUES };
/* An iterator. If it owns the transaction, it rolls it back at its end. */
PyObject *make_scan(Transaction *transaction, lk_tree tree, const Range *range, int is_reverse,
                    int what, int owns_transaction);
PyObject *make_cursor(Transaction *transaction, lk_tree tree, const Range *range);
