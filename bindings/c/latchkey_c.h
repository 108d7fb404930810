/* Latchkey for C: an embedded, ordered, transactional key/value store. Plain C99.
 *
 *   #include <latchkey/latchkey_c.h>
 *
 *   lk_error error = LK_ERROR_INIT;
 *   lk_db db;
 *   lk_tree accounts;
 *   if (lk_open("accounts.db", LK_NO_OPTIONS, &db, &error) != LK_OK) return fail(error.message);
 *   if (lk_open_tree(db, lk_text("accounts"), 1, &accounts, &error) != LK_OK) ...
 *   lk_put(db, accounts, lk_text("alice"), lk_text("100"), &error);
 *
 * The calls are those of the C++ interface (engine/latchkey.h), which documents transactions,
 * isolation and durability in full. This header documents what C adds.
 *
 * Errors: a call that can fail returns an lk_code. Its last argument, an lk_error of the caller's or
 * NULL, receives code and message. A call that succeeds does not write to it. No message is shared
 * between threads, and none has to be freed. No C++ exception leaves the library, and no argument
 * makes it abort the process, except a pointer that is neither NULL nor valid.
 *
 * Handles (lk_db, lk_txn, lk_cursor, ...) are small structs that are passed by value. The zero handle
 * ({0}) is no object. A handle that was released is never valid again. Every call that gets a zero
 * or released handle returns an error and has no effect: LK_INVALID_ARGUMENT for a zero handle,
 * LK_FAILED_PRECONDITION for a released one. So a double close is an error, not a crash. Closing a
 * database ends its transactions and cursors: their calls then return LK_FAILED_PRECONDITION, and
 * each still takes up memory until it is released by its own call.
 *
 * Thread-safety: all threads may use an lk_db, an lk_tree and an lk_statistics at once. One thread at
 * a time may use any other handle. No other call on a database may be in progress during lk_close.
 *
 * ABI: the library's name is liblatchkey.so.0. Until that number changes, functions are added and
 * never changed or removed. Structs with a member `struct_size` may grow at the end. The caller sets
 * it to the size that it was compiled with (the _INIT macros do), and the library touches no more.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define LK_API __attribute__((visibility("default")))
#else
#define LK_API
#endif

#define LK_MAX_KEY_SIZE 1024u        /* bytes */
#define LK_MAX_VALUE_SIZE (1u << 30) /* bytes */
#define LK_MAX_TREE_NAME_SIZE 255u   /* bytes; at least 1 */

/* ---- Errors. The numbers are fixed; later versions may add some. */

typedef int lk_code;
enum {
  LK_OK = 0,
  LK_CANCELLED = 1,         /* the caller's progress function ended the call */
  LK_UNKNOWN = 2,           /* a failure of the system that has no other code */
  LK_INVALID_ARGUMENT = 3,  /* a limit, an option or a zero handle; the message states the remedy */
  LK_NOT_FOUND = 5,         /* no such key, tree, database or name; a cursor beyond its range */
  LK_ALREADY_EXISTS = 6,    /* lk_txn_insert: the tree holds the key; lk_open: error-if-exists */
  LK_PERMISSION_DENIED = 7, /* of the operating system */
  LK_RESOURCE_EXHAUSTED = 8,  /* disk full, out of memory: no effect, may be tried again */
  LK_FAILED_PRECONDITION = 9, /* a released handle, a transaction that is over */
  LK_ABORTED = 10,            /* conflict or deadlock: roll back and run the transaction again */
  LK_INTERNAL = 13,           /* a defect of the library */
  LK_UNAVAILABLE = 14,        /* the device failed */
  LK_DATA_LOSS = 15           /* a page failed its proof */
};

typedef struct lk_error {
  uint32_t struct_size; /* sizeof(lk_error) */
  lk_code code;
  char message[1016]; /* ends with NUL; a longer message is cut */
} lk_error;
#define LK_ERROR_INIT                        \
  {                                          \
    (uint32_t)sizeof(lk_error), LK_OK, { 0 } \
  }

/* "NOT_FOUND"; "?" for a number that is no code. */
LK_API const char *lk_code_name(lk_code code);
/* "0.1.0": the version of the library that is loaded. */
LK_API const char *lk_version(void);

/* ---- Bytes. */

/* Bytes that somebody else owns. {NULL, 0} is the empty string. */
typedef struct lk_bytes {
  const void *data;
  size_t size;
} lk_bytes;

static inline lk_bytes lk_slice(const void *data, size_t size) {
  lk_bytes bytes;
  bytes.data = data;
  bytes.size = size;
  return bytes;
}
/* The bytes of a string without its NUL; {NULL, 0} for NULL. */
static inline lk_bytes lk_text(const char *text) { return lk_slice(text, text ? strlen(text) : 0); }

/* Bytes that the library writes and owns: begin with LK_VALUE_INIT, use it for any number of calls,
 * and end with lk_value_release. Its memory is used again by the next call. `data` stays valid until
 * then, also after lk_close. After an error, `data` and `size` are unspecified. Do not copy the
 * struct. */
typedef struct lk_value {
  const char *data;
  size_t size;
  void *owner; /* the library's */
} lk_value;
#define LK_VALUE_INIT \
  { NULL, 0, NULL }
/* Frees the memory and sets *value to LK_VALUE_INIT. NULL and a second release have no effect. */
LK_API void lk_value_release(lk_value *value);

/* ---- Handles. */

typedef struct lk_options {
  uint64_t id;
} lk_options;
typedef struct lk_db {
  uint64_t id;
} lk_db;
typedef struct lk_txn {
  uint64_t id;
} lk_txn;
typedef struct lk_cursor {
  uint64_t id;
} lk_cursor;
typedef struct lk_batch {
  uint64_t id;
} lk_batch;
typedef struct lk_statistics {
  uint64_t id;
} lk_statistics;
typedef struct lk_names {
  uint64_t id;
} lk_names;
typedef struct lk_bulk_loader {
  uint64_t id;
} lk_bulk_loader;
typedef struct lk_backups {
  uint64_t id;
} lk_backups;
/* A tree needs no release. It stays usable until its database is closed or the tree is dropped. The
 * members are the library's: a tree comes from lk_open_tree, or is zero. */
typedef struct lk_tree {
  uint64_t opaque[2];
} lk_tree;
/* A point in a transaction; as lk_tree it needs no release. */
typedef struct lk_savepoint {
  uint64_t opaque[2];
} lk_savepoint;

/* ---- Options, by the names of the command line: "cache-size", "durability", ... */

#ifdef __cplusplus
#define LK_NO_OPTIONS (lk_options{0})
#else
#define LK_NO_OPTIONS ((lk_options){0}) /* for lk_open: every option has its default */
#endif

LK_API lk_code lk_options_create(lk_options *options, lk_error *error);
/* lk_options_set(options, "cache-size", "1GiB", &error). The message of a refused value states the
 * range; that of an unknown name lists the names. */
LK_API lk_code lk_options_set(lk_options options, const char *name, const char *value,
                              lk_error *error);
/* The value of one option as text that lk_options_set takes. */
LK_API lk_code lk_options_get(lk_options options, const char *name, lk_value *value,
                              lk_error *error);
LK_API lk_code lk_options_release(lk_options options, lk_error *error);

/* How many options there are, and their names and values allowed: index 0 to count - 1. Both strings
 * are static. `help` may be NULL. LK_NOT_FOUND beyond the last. */
LK_API size_t lk_option_count(void);
LK_API lk_code lk_option_at(size_t index, const char **name, const char **help, lk_error *error);

enum { LK_LOG_DEBUG = 0, LK_LOG_INFO = 1, LK_LOG_WARNING = 2, LK_LOG_ERROR = 3 };
/* Receives a one-line message of `size` bytes, which ends with NUL. Any thread may call it, several
 * at once. It must not call the library with the same database. */
typedef void (*lk_log_sink)(void *context, int severity, const char *message, size_t size);
/* NULL: silent, the default. `context` must live until the database is closed. */
LK_API lk_code lk_options_set_log_sink(lk_options options, lk_log_sink sink, void *context,
                                       lk_error *error);

/* Conditions that a program may want to react to. */
enum {
  LK_EVENT_CHECKPOINT = 0, /* a checkpoint is complete */
  LK_EVENT_STALL =
      1, /* a call has waited 100 ms or longer for a frame of the cache or for room in the log */
  LK_EVENT_WRITE_ERROR =
      2,                  /* the device refused a write; it is written again, elsewhere or later */
  LK_EVENT_READ_ONLY = 3, /* nothing more is written until the database is opened again */
  LK_EVENT_SLOW_CALL = 4  /* a call has taken the option slow-call-ms or longer */
};
/* Receives an event, as lk_log_sink does a message. `duration_ns`: of the checkpoint, the wait or the call;
 * otherwise 0. The engine may hold locks: it must return soon, and not call the library. */
typedef void (*lk_event_sink)(void *context, int event, const char *message, size_t size,
                              uint64_t duration_ns);
/* NULL: nobody is told, the default. `context` must live until the database is closed. */
LK_API lk_code lk_options_set_event_sink(lk_options options, lk_event_sink sink, void *context,
                                         lk_error *error);

/* ---- Databases. */

/* `path` is the directory of the files; created if it is missing. `options` may be LK_NO_OPTIONS. It
 * is copied, and may be released or used again. */
LK_API lk_code lk_open(const char *path, lk_options options, lk_db *db, lk_error *error);
/* Rolls back running transactions, writes everything out and releases the handle. It is released
 * also if an error is returned, except LK_RESOURCE_EXHAUSTED: then call lk_close again. */
LK_API lk_code lk_close(lk_db db, lk_error *error);

/* The tree of that name. Created if it is missing and `create` is not 0, else LK_NOT_FOUND. */
LK_API lk_code lk_open_tree(lk_db db, lk_bytes name, int create, lk_tree *tree, lk_error *error);
LK_API lk_code lk_drop_tree(lk_db db, lk_bytes name, lk_error *error);
/* Gives a tree another name, for all transactions at once; handles and cursors stay usable.
 * LK_NOT_FOUND: no tree `from`. LK_ALREADY_EXISTS: there is a tree `to`. */
LK_API lk_code lk_rename_tree(lk_db db, lk_bytes from, lk_bytes to, lk_error *error);
/* The names of all trees, as they are now; end with lk_names_release. */
LK_API lk_code lk_list_trees(lk_db db, lk_names *names, lk_error *error);
LK_API size_t lk_names_count(lk_names names); /* 0 for a handle that is not valid */
/* `name` is valid until the release. LK_NOT_FOUND beyond the last. */
LK_API lk_code lk_names_at(lk_names names, size_t index, lk_bytes *name, lk_error *error);
LK_API lk_code lk_names_release(lk_names names, lk_error *error);

/* Each is a transaction of its own, and retries conflicts inside. */
LK_API lk_code lk_get(lk_db db, lk_tree tree, lk_bytes key, lk_value *value, lk_error *error);
LK_API lk_code lk_put(lk_db db, lk_tree tree, lk_bytes key, lk_bytes value, lk_error *error);
LK_API lk_code lk_delete(lk_db db, lk_tree tree, lk_bytes key, lk_error *error);
LK_API lk_code lk_write(lk_db db, lk_batch batch, lk_error *error);
/* Reads many keys of one snapshot, with the reads of missing pages in flight together. `values` has
 * room for `count` results: values[i] receives a view of the value of keys[i], or {NULL, 0} if the
 * tree does not hold it (the data of an empty value is not NULL). The views are valid until the next
 * call with `memory`. After an error they are all {NULL, 0}. */
LK_API lk_code lk_multi_get(lk_db db, lk_tree tree, const lk_bytes *keys, size_t count,
                            lk_value *memory, lk_bytes *values, lk_error *error);

/* Estimates of the records with *from <= key < *to, and of the bytes of their pages, from inner pages
 * and a few leaves: usually some percent off. NULL: no bound. Writes that are not committed may
 * count. */
LK_API lk_code lk_approximate_count(lk_db db, lk_tree tree, const lk_bytes *from,
                                    const lk_bytes *to, uint64_t *count, lk_error *error);
LK_API lk_code lk_approximate_bytes(lk_db db, lk_tree tree, const lk_bytes *from,
                                    const lk_bytes *to, uint64_t *bytes, lk_error *error);

/* Deletes the records with *from <= key < *to, in one step, as a transaction of its own. NULL: no
 * bound. Older snapshots go on reading the records; until they have ended, writes to the range wait.
 * LK_INVALID_ARGUMENT: *from is above *to. LK_FAILED_PRECONDITION: this thread has begun a
 * transaction that has written in the tree. LK_ABORTED: another one has, and did not end. */
LK_API lk_code lk_delete_range(lk_db db, lk_tree tree, const lk_bytes *from, const lk_bytes *to,
                               lk_error *error);
/* Deletes all records of the tree, as lk_delete_range does. */
LK_API lk_code lk_clear_tree(lk_db db, lk_tree tree, lk_error *error);

/* On return every commit acknowledged before the call is durable, whatever its durability.
 * LK_FAILED_PRECONDITION: the database was opened with the durability none. */
LK_API lk_code lk_sync(lk_db db, lk_error *error);
/* Writes every dirty page and makes the file consistent with this moment. It may take long. */
LK_API lk_code lk_checkpoint(lk_db db, lk_error *error);
LK_API lk_code lk_set_cache_size(lk_db db, uint64_t bytes, lk_error *error);
/* LK_DATA_LOSS names the first fault. REQUIRES: no writers. */
LK_API lk_code lk_verify(lk_db db, lk_error *error);
LK_API lk_code lk_page_size(lk_db db, uint32_t *bytes, lk_error *error);
LK_API lk_code lk_device_description(lk_db db, lk_value *text, lk_error *error);

/* ---- Transactions. */

enum { LK_ISOLATION_DEFAULT = 0, LK_ISOLATION_SNAPSHOT = 1, LK_ISOLATION_SERIALIZABLE = 2 };

typedef struct lk_begin_options {
  uint32_t struct_size;
  int32_t isolation; /* LK_ISOLATION_...; default: as the option "isolation" says */
  int32_t read_only; /* not 0: a snapshot. Writes are refused, and it waits for nobody */
  int32_t reserved;  /* 0 */
} lk_begin_options;
#define LK_BEGIN_OPTIONS_INIT \
  { (uint32_t)sizeof(lk_begin_options), LK_ISOLATION_DEFAULT, 0, 0 }

/* `options` may be NULL. End each transaction with lk_txn_commit or lk_txn_rollback. */
LK_API lk_code lk_begin(lk_db db, const lk_begin_options *options, lk_txn *txn, lk_error *error);
/* Releases the handle, whatever it returns, except LK_RESOURCE_EXHAUSTED: the transaction is still
 * open; commit again or roll back. LK_ABORTED: run the transaction again. */
LK_API lk_code lk_txn_commit(lk_txn txn, lk_error *error);
/* Releases the handle. LK_OK also if the transaction had ended by LK_ABORTED or by lk_close. */
LK_API lk_code lk_txn_rollback(lk_txn txn, lk_error *error);

enum {
  LK_DURABILITY_DEFAULT = 0, /* as the option "durability" says */
  LK_DURABILITY_NONE = 1,    /* durable with a later commit, lk_sync, a checkpoint or the close */
  LK_DURABILITY_GROUP = 2,   /* durable within the option "group-commit-delay-ms" */
  LK_DURABILITY_COMMIT = 3   /* durable when the commit returns */
};
typedef struct lk_commit_options {
  uint32_t struct_size;
  int32_t durability; /* LK_DURABILITY_... of this commit */
} lk_commit_options;
#define LK_COMMIT_OPTIONS_INIT \
  { (uint32_t)sizeof(lk_commit_options), LK_DURABILITY_DEFAULT }

/* lk_txn_commit and lk_write with options, which may be NULL. If the options are refused, the
 * transaction goes on and its handle stays: LK_INVALID_ARGUMENT for a wrong struct,
 * LK_FAILED_PRECONDITION for LK_DURABILITY_GROUP or _COMMIT if the database was opened with the
 * durability none. In every other case the handle is released as by lk_txn_commit. */
LK_API lk_code lk_txn_commit_with(lk_txn txn, const lk_commit_options *options, lk_error *error);
LK_API lk_code lk_write_with(lk_db db, lk_batch batch, const lk_commit_options *options,
                             lk_error *error);

/* After LK_ABORTED of a write or of lk_txn_get_for_update: not 0 if a repetition would end in the
 * same way, because one other transaction has kept the key locked for the option "lock-wait-ms", or
 * because another transaction of this thread holds it. A loop that repeats transactions must end then. 0 for
 * a handle that is not valid. */
LK_API int lk_txn_is_vain_to_repeat(lk_txn txn);

/* The body of a transaction of lk_run. LK_OK: commit it. LK_ABORTED: roll back and run it again. Any
 * other code: roll back and return it. Pass `error` on to the calls of the library. The body neither
 * commits nor rolls back `txn`, and jumps over no frame of the library (longjmp, C++ exceptions). */
typedef lk_code (*lk_txn_body)(void *context, lk_txn txn, lk_error *error);
typedef struct lk_run_options {
  uint32_t struct_size;
  int32_t isolation;      /* as in lk_begin_options */
  int32_t read_only;      /* as in lk_begin_options */
  int32_t durability;     /* as in lk_commit_options */
  uint32_t most_attempts; /* LK_ABORTED is returned after this many; 0: no limit */
  uint32_t reserved;      /* 0 */
} lk_run_options;
#define LK_RUN_OPTIONS_INIT \
  { (uint32_t)sizeof(lk_run_options), LK_ISOLATION_DEFAULT, 0, LK_DURABILITY_DEFAULT, 0, 0 }
/* Begins a transaction, runs body(context, txn, error) and commits. If body or the commit returns
 * LK_ABORTED, rolls back, waits a little and runs body again, unless lk_txn_is_vain_to_repeat.
 * `options` may be NULL. */
LK_API lk_code lk_run(lk_db db, const lk_run_options *options, lk_txn_body body, void *context,
                      lk_error *error);

LK_API lk_code lk_txn_get(lk_txn txn, lk_tree tree, lk_bytes key, lk_value *value, lk_error *error);
/* Takes the write lock of the key as well. */
LK_API lk_code lk_txn_get_for_update(lk_txn txn, lk_tree tree, lk_bytes key, lk_value *value,
                                     lk_error *error);
LK_API lk_code lk_txn_put(lk_txn txn, lk_tree tree, lk_bytes key, lk_bytes value, lk_error *error);
/* LK_ALREADY_EXISTS if the tree holds the key. */
LK_API lk_code lk_txn_insert(lk_txn txn, lk_tree tree, lk_bytes key, lk_bytes value,
                             lk_error *error);
/* LK_NOT_FOUND if the tree does not hold the key. */
LK_API lk_code lk_txn_delete(lk_txn txn, lk_tree tree, lk_bytes key, lk_error *error);

/* As lk_multi_get, in the snapshot of the transaction and with its own writes. */
LK_API lk_code lk_txn_multi_get(lk_txn txn, lk_tree tree, const lk_bytes *keys, size_t count,
                                lk_value *memory, lk_bytes *values, lk_error *error);

/* Up to `size` bytes of the value from byte `offset` on: fewer at its end, none behind it. *value_size, unless NULL,
 * receives the size of the whole value. All calls of a transaction read the same value, unless it writes the key. */
LK_API lk_code lk_txn_get_part(lk_txn txn, lk_tree tree, lk_bytes key, uint64_t offset, size_t size,
                               lk_value *part, uint64_t *value_size, lk_error *error);
/* A put whose value comes in parts: begin, which locks the key, any number of appends, finish. Until then the key keeps its
 * value. A transaction has at most one such value that is not finished; LK_FAILED_PRECONDITION: it has none, or has one
 * already. It cannot be committed before the value is finished or given up, and goes on after that
 * LK_FAILED_PRECONDITION of lk_txn_commit. lk_txn_rollback_to and an error of append or finish give the value up, except
 * LK_INVALID_ARGUMENT of append: the value would exceed LK_MAX_VALUE_SIZE, and stays as it is. */
LK_API lk_code lk_txn_put_begin(lk_txn txn, lk_tree tree, lk_bytes key, lk_error *error);
LK_API lk_code lk_txn_put_append(lk_txn txn, lk_bytes part, lk_error *error);
LK_API lk_code lk_txn_put_finish(lk_txn txn, lk_error *error);
/* LK_OK also if there is none. */
LK_API lk_code lk_txn_put_give_up(lk_txn txn, lk_error *error);

/* A hint: brings the pages of the keys into the cache with many reads in flight. An error is about
 * the arguments only. `trees` has one tree for each key. */
LK_API lk_code lk_txn_prefetch(lk_txn txn, const lk_tree *trees, const lk_bytes *keys, size_t count,
                               lk_error *error);

LK_API lk_code lk_txn_set_savepoint(lk_txn txn, lk_savepoint *savepoint, lk_error *error);
/* Undoes the writes since the savepoint. It stays usable. */
LK_API lk_code lk_txn_rollback_to(lk_txn txn, lk_savepoint savepoint, lk_error *error);

/* ---- Keys. */

/* The end of the range of the keys that begin with `prefix`: pass the prefix as `from` and *end as
 * `to`. LK_NOT_FOUND, and *end is empty: no key lies behind them all, pass NULL as `to`. */
LK_API lk_code lk_prefix_end(lk_bytes prefix, lk_value *end, lk_error *error);

/* Append a part to a key whose bytewise order is the order of its parts: integers and doubles by value
 * (-0 is 0, every NaN is above all others), strings bytewise. All keys of a tree should have parts
 * of the same types. A number takes 8 bytes, a string 2 more than it has and one for each zero byte.
 *
 *   lk_value key = LK_VALUE_INIT;                       one customer's order:
 *   lk_key_add_string(&key, lk_text("ann"), &error);
 *   lk_key_add_uint(&key, 17, &error);
 *   lk_put(db, orders, lk_slice(key.data, key.size), ...);
 *   lk_key_clear(&key);                                 for the next key
 */
LK_API lk_code lk_key_add_int(lk_value *key, int64_t number, lk_error *error);
LK_API lk_code lk_key_add_uint(lk_value *key, uint64_t number, lk_error *error);
LK_API lk_code lk_key_add_double(lk_value *key, double number, lk_error *error);
LK_API lk_code lk_key_add_string(lk_value *key, lk_bytes string, lk_error *error);
/* Empties the key and keeps its memory. NULL has no effect. */
LK_API void lk_key_clear(lk_value *key);

/* Read the part at the beginning of *key, and move *key behind it. LK_INVALID_ARGUMENT: *key cannot
 * have such a part there, and stays as it is. */
LK_API lk_code lk_key_read_int(lk_bytes *key, int64_t *number, lk_error *error);
LK_API lk_code lk_key_read_uint(lk_bytes *key, uint64_t *number, lk_error *error);
LK_API lk_code lk_key_read_double(lk_bytes *key, double *number, lk_error *error);
LK_API lk_code lk_key_read_string(lk_bytes *key, lk_value *string, lk_error *error);

/* ---- Cursors. A move returns LK_OK if the cursor stands on a record, and LK_NOT_FOUND beyond the
 * end of its range. `key` and `value` receive views of the record, valid until the cursor's next
 * move or release. Each of them may be NULL.
 *
 *   lk_code at = lk_cursor_seek_first(cursor, &key, &value, &error);
 *   for (; at == LK_OK; at = lk_cursor_next(cursor, &key, &value, &error)) ...
 *   if (at != LK_NOT_FOUND) return fail(error.message);
 */

/* The keys from *from (NULL: from the first) to before *to (NULL: to the last). The cursor stands
 * before the range: seek first. It may outlive its transaction, but then answers
 * LK_FAILED_PRECONDITION. */
LK_API lk_code lk_cursor_create(lk_txn txn, lk_tree tree, const lk_bytes *from, const lk_bytes *to,
                                lk_cursor *cursor, lk_error *error);
LK_API lk_code lk_cursor_seek_first(lk_cursor cursor, lk_bytes *key, lk_bytes *value,
                                    lk_error *error);
LK_API lk_code lk_cursor_seek_last(lk_cursor cursor, lk_bytes *key, lk_bytes *value,
                                   lk_error *error);
/* To the first key that is not before `target`. */
LK_API lk_code lk_cursor_seek(lk_cursor cursor, lk_bytes target, lk_bytes *key, lk_bytes *value,
                              lk_error *error);
/* To the last key that is not behind `target`. */
LK_API lk_code lk_cursor_seek_for_prev(lk_cursor cursor, lk_bytes target, lk_bytes *key,
                                       lk_bytes *value, lk_error *error);
LK_API lk_code lk_cursor_next(lk_cursor cursor, lk_bytes *key, lk_bytes *value, lk_error *error);
LK_API lk_code lk_cursor_prev(lk_cursor cursor, lk_bytes *key, lk_bytes *value, lk_error *error);
/* The record that the cursor stands on. */
LK_API lk_code lk_cursor_current(lk_cursor cursor, lk_bytes *key, lk_bytes *value, lk_error *error);
/* Reads many records with one call, for languages in which each call of C costs something. Copies the
 * record that the cursor stands on, and those behind it, into *packed, and moves the cursor to the
 * first record that was not copied. `step` is 1 (forward) or -1 (backward). Copies at most
 * `max_records` records (at least 1), and ends after the record with which `max_bytes` of keys and
 * values are reached. *count receives their number.
 *
 * A record is four parts without padding: size of the key, size of the value (both uint32_t in the
 * machine's byte order), key, value. The copies do not show what the transaction writes afterwards.
 *
 * LK_OK: *count is at least 1. LK_NOT_FOUND: the cursor is beyond its range, and *count is 0. An
 * error behind the first record is returned by the next call. */
LK_API lk_code lk_cursor_read(lk_cursor cursor, int step, size_t max_records, size_t max_bytes,
                              lk_value *packed, size_t *count, lk_error *error);
/* As lk_cursor_read, into memory of the caller's: as many records as fit into `capacity` bytes, at most
 * `max_records`. *size receives their bytes. If the first record alone does not fit, *count is 0, *size
 * is what it needs, and LK_OK is returned. */
LK_API lk_code lk_cursor_fill(lk_cursor cursor, int step, size_t max_records, void *buffer,
                              size_t capacity, size_t *size, size_t *count, lk_error *error);
LK_API lk_code lk_cursor_release(lk_cursor cursor, lk_error *error);

/* ---- Batches: puts and deletes that lk_write applies together or not at all. */

LK_API lk_code lk_batch_create(lk_batch *batch, lk_error *error);
LK_API lk_code lk_batch_put(lk_batch batch, lk_tree tree, lk_bytes key, lk_bytes value,
                            lk_error *error);
LK_API lk_code lk_batch_delete(lk_batch batch, lk_tree tree, lk_bytes key, lk_error *error);
LK_API lk_code lk_batch_clear(lk_batch batch, lk_error *error);
LK_API size_t lk_batch_count(lk_batch batch); /* 0 for a handle that is not valid */
LK_API lk_code lk_batch_release(lk_batch batch, lk_error *error);

/* ---- Bulk loads: a new tree from records in ascending order of their keys. Pages are filled and
 * written once, past the cache and the log. The tree appears at the end with all its records.
 * Closing the database ends its loads; their calls then return LK_FAILED_PRECONDITION. */

typedef struct lk_bulk_load_options {
  uint32_t struct_size;
  uint32_t reserved; /* 0 */
  double fill;       /* share of each leaf that is filled, 0.5 to 1; 0: 1 */
} lk_bulk_load_options;
#define LK_BULK_LOAD_OPTIONS_INIT \
  { (uint32_t)sizeof(lk_bulk_load_options), 0, 0 }

/* `options` may be NULL. LK_ALREADY_EXISTS: there is a tree of that name. */
LK_API lk_code lk_bulk_loader_create(lk_db db, lk_bytes name, const lk_bulk_load_options *options,
                                     lk_bulk_loader *loader, lk_error *error);
/* LK_INVALID_ARGUMENT: the key is not above the one before, or a limit is exceeded; the load goes on
 * without this record. Any other error ends the load, and every later call returns it. */
LK_API lk_code lk_bulk_loader_put(lk_bulk_loader loader, lk_bytes key, lk_bytes value,
                                  lk_error *error);
/* Records accepted so far; 0 for a handle that is not valid. */
LK_API uint64_t lk_bulk_loader_count(lk_bulk_loader loader);
/* Makes the records durable, then the tree visible. Releases the handle, whatever it returns, except
 * LK_RESOURCE_EXHAUSTED: finish again, or release it. LK_ALREADY_EXISTS: another tree got the name
 * meanwhile, and nothing of the load stays. */
LK_API lk_code lk_bulk_loader_finish(lk_bulk_loader loader, lk_tree *tree, lk_error *error);
/* Gives the load up: nothing of it stays. */
LK_API lk_code lk_bulk_loader_release(lk_bulk_loader loader, lk_error *error);

/* ---- Statistics, by name: "hits", "commits", "log.syncs", ... */

typedef struct lk_statistic {
  uint32_t struct_size;
  int32_t is_measured; /* 0: not measured, and both values are 0 */
  int32_t is_integer;  /* not 0: `integer` is exact, and `real` the nearest double */
  int32_t is_counter;  /* not 0: it only grows while the database is open; 0: a state of now */
  const char *name;    /* static */
  uint64_t integer;
  double real;
  const char *help; /* a line about it; static */
} lk_statistic;
#define LK_STATISTIC_INIT \
  { (uint32_t)sizeof(lk_statistic), 0, 0, 0, NULL, 0, 0, NULL }

/* The figures of now; they do not change afterwards. End with lk_statistics_release. */
LK_API lk_code lk_statistics_take(lk_db db, lk_statistics *statistics, lk_error *error);
LK_API size_t lk_statistics_count(lk_statistics statistics); /* 0 for a handle that is not valid */
LK_API lk_code lk_statistics_at(lk_statistics statistics, size_t index, lk_statistic *statistic,
                                lk_error *error);
/* LK_NOT_FOUND: the message lists the names. */
LK_API lk_code lk_statistics_find(lk_statistics statistics, const char *name,
                                  lk_statistic *statistic, lk_error *error);
LK_API lk_code lk_statistics_release(lk_statistics statistics, lk_error *error);

/* Prometheus's text format, each figure as latchkey_NAME; or {"written_at": seconds since 1970, "statistics": {NAME: number
 * or null}, "latencies": {OPERATION: {"count", "mean_s", "p50_s", ..., "buckets": [[nanoseconds, count], ...]}}} */
enum { LK_METRICS_PROMETHEUS = 0, LK_METRICS_JSON = 1 };
/* All figures as text. Latencies: of one call in latency-sampling, each log sync, page read and page write. */
LK_API lk_code lk_metrics(lk_db db, int format, lk_value *text, lk_error *error);
/* Restarts the minimum and maximum of space utilisation from now. */
LK_API lk_code lk_reset_statistics_extremes(lk_db db, lk_error *error);

#ifdef __cplusplus
}
#endif

#include "bindings/c/latchkey_c_upkeep.h"
