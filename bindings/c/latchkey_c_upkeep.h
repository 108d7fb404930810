/* Part of latchkey_c.h, which includes it: compaction and backups. Programs include that one. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Compaction. */

typedef struct lk_compact_progress {
  uint32_t struct_size; /* of the library that calls */
  uint32_t reserved;    /* 0 */
  uint64_t leaves;      /* of trees, looked at so far */
  uint64_t freed;       /* of these, united with another */
  uint64_t file_bytes;  /* of the data file, now */
} lk_compact_progress;
/* Called at least ten times a second, by the thread that called. 0: go on. Not 0: stop, and the call
 * returns LK_CANCELLED; what was done so far stays. */
typedef int (*lk_compact_progress_function)(void *context, const lk_compact_progress *progress);

typedef struct lk_compact_options {
  uint32_t struct_size;
  uint32_t reserved;                     /* 0 */
  uint64_t max_bytes_per_second;         /* of the leaves that are looked at; 0: no limit */
  lk_compact_progress_function progress; /* may be NULL */
  void *context;                         /* of progress */
} lk_compact_options;
#define LK_COMPACT_OPTIONS_INIT \
  { (uint32_t)sizeof(lk_compact_options), 0, 0, NULL, NULL }

typedef struct lk_compact_info {
  uint32_t struct_size;
  uint32_t reserved;                  /* 0 */
  uint64_t bytes_before, bytes_after; /* of the data file */
  uint64_t leaves, freed;             /* as in lk_compact_progress */
} lk_compact_info;
#define LK_COMPACT_INFO_INIT \
  { (uint32_t)sizeof(lk_compact_info), 0, 0, 0, 0, 0 }

/* Makes the data file small while other threads go on reading and writing: fills leaves that deletes
 * have left sparse, moves pages to the front of the file, and cuts it. A crash at any moment costs
 * nothing but the progress. `options` and `info` may be NULL.
 *   LK_FAILED_PRECONDITION  another lk_compact runs
 *   LK_CANCELLED            progress asked for it
 *   LK_DATA_LOSS            a page of the database is damaged; the message names it */
LK_API lk_code lk_compact(lk_db db, const lk_compact_options *options, lk_compact_info *info,
                          lk_error *error);

/* ---- Backups. */

enum {
  LK_BACKUP_CHECKPOINT = 0, /* the backup fixes its first point */
  LK_BACKUP_PAGES = 1,      /* pages are copied, checked or restored */
  LK_BACKUP_LOG = 2,        /* the rest of the log is copied, checked or restored */
  LK_BACKUP_CHECK = 3       /* the files are read back; a restored database is verified */
};
typedef struct lk_backup_progress {
  uint32_t struct_size; /* of the library that calls */
  int32_t phase;        /* LK_BACKUP_... */
  uint64_t done, total; /* of the phase: page ids or bytes; total 0: not known */
  uint64_t bytes;       /* written so far, or read by a check */
} lk_backup_progress;
/* Called at least every few MiB, by the thread that called. 0: go on. Not 0: stop, and the call
 * returns LK_CANCELLED. It must not call lk_bulk_loader_finish, which may wait for the backup. */
typedef int (*lk_backup_progress_function)(void *context, const lk_backup_progress *progress);

typedef struct lk_backup_info {
  uint32_t struct_size;
  uint32_t number;    /* 1: the full backup; the others are incremental */
  uint64_t id;        /* random */
  uint64_t parent_id; /* of the backup before; 0: none */
  uint64_t database_id;
  uint64_t pages;         /* page images in its files */
  uint64_t resumed_pages; /* of these, pages that an interrupted attempt had copied */
  uint64_t bytes;         /* of its files */
  uint64_t log_bytes;     /* of these, of the log */
} lk_backup_info;
#define LK_BACKUP_INFO_INIT \
  { (uint32_t)sizeof(lk_backup_info), 0, 0, 0, 0, 0, 0, 0, 0 }

typedef struct lk_backup_options {
  uint32_t struct_size;
  int32_t incremental;                  /* not 0: only what changed since the newest backup there */
  int32_t skip_check;                   /* not 0: do not read everything back at the end */
  uint32_t reserved;                    /* 0 */
  uint64_t max_bytes_per_second;        /* of copied pages; 0: no limit */
  lk_backup_progress_function progress; /* may be NULL */
  void *context;                        /* of progress */
} lk_backup_options;
#define LK_BACKUP_OPTIONS_INIT \
  { (uint32_t)sizeof(lk_backup_options), 0, 0, 0, 0, NULL, NULL }

/* Copies a consistent state into `directory` while other threads go on reading and writing. A full
 * backup needs a directory that is empty or missing, or that holds an unfinished backup of this
 * database, which is continued. `options` and `info` may be NULL.
 *   LK_FAILED_PRECONDITION  durability none; another backup runs; an incremental backup without a
 *                           full one, or of another database
 *   LK_ALREADY_EXISTS       the directory holds other files, or a finished backup
 *   LK_INVALID_ARGUMENT     the directory lies in that of the database
 *   LK_CANCELLED            progress asked for it; the same call continues later
 *   LK_DATA_LOSS            a page of the database is damaged; the message names it */
LK_API lk_code lk_backup(lk_db db, const char *directory, const lk_backup_options *options,
                         lk_backup_info *info, lk_error *error);

/* The finished backups in `directory`, oldest first. LK_NOT_FOUND: none. LK_DATA_LOSS names a file
 * that is damaged or missing. End with lk_backups_release. */
LK_API lk_code lk_list_backups(const char *directory, lk_backups *backups, lk_error *error);

typedef struct lk_backup_check_options {
  uint32_t struct_size;
  uint32_t number; /* the newest backup to check; 0: all */
  lk_backup_progress_function progress;
  void *context;
} lk_backup_check_options;
#define LK_BACKUP_CHECK_OPTIONS_INIT \
  { (uint32_t)sizeof(lk_backup_check_options), 0, NULL, NULL }
/* lk_list_backups that also reads and proves every byte. `options` may be NULL. */
LK_API lk_code lk_check_backups(const char *directory, const lk_backup_check_options *options,
                                lk_backups *backups, lk_error *error);

LK_API size_t lk_backups_count(lk_backups backups); /* 0 for a handle that is not valid */
/* LK_NOT_FOUND beyond the last. */
LK_API lk_code lk_backups_at(lk_backups backups, size_t index, lk_backup_info *info,
                             lk_error *error);
LK_API lk_code lk_backups_release(lk_backups backups, lk_error *error);

typedef struct lk_restore_options {
  uint32_t struct_size;
  uint32_t number;     /* of the backup; 0: the newest */
  lk_options database; /* of the new database; zero: every option has its default */
  int32_t skip_verify; /* not 0: do not walk every tree of the new database at the end */
  uint32_t reserved;   /* 0 */
  lk_backup_progress_function progress;
  void *context;
} lk_restore_options;
#define LK_RESTORE_OPTIONS_INIT \
  { (uint32_t)sizeof(lk_restore_options), 0, {0}, 0, 0, NULL, NULL }
/* Makes a database at `path` from the backups in `directory`. `path` must be missing or an empty
 * directory; it gets its content in one step, at the end. `options` may be NULL.
 *   LK_ALREADY_EXISTS     `path` is not empty
 *   LK_INVALID_ARGUMENT   one directory lies in the other; no backup has that number
 *   LK_NOT_FOUND, LK_DATA_LOSS, LK_CANCELLED  as lk_check_backups and lk_backup */
LK_API lk_code lk_restore_backup(const char *directory, const char *path,
                                 const lk_restore_options *options, lk_error *error);

#ifdef __cplusplus
}
#endif
