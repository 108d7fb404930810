#include "latchkey_go.h"

#include <stdlib.h>
#include <string.h>

/* In log.go. */
extern void lkgoLog(uintptr_t context, int severity, char *message, size_t size);
extern void lkgoEvent(uintptr_t context, int event, char *message, size_t size, uint64_t duration_ns);

lkgo_scratch *lkgo_make_scratch(void) {
  lkgo_scratch *scratch = calloc(1, sizeof *scratch);
  if (scratch != NULL) scratch->error.struct_size = sizeof scratch->error;
  return scratch;
}

void lkgo_free_scratch(lkgo_scratch *scratch) {
  lk_value_release(&scratch->value);
  free(scratch);
}

static void pass_message(void *context, int severity, const char *message, size_t size) {
  lkgoLog((uintptr_t)context, severity, (char *)message, size);
}

lk_code lkgo_set_log(lk_options options, uintptr_t context, lkgo_scratch *scratch) {
  return lk_options_set_log_sink(options, pass_message, (void *)context, &scratch->error);
}

static void pass_event(void *context, int event, const char *message, size_t size, uint64_t duration_ns) {
  lkgoEvent((uintptr_t)context, event, (char *)message, size, duration_ns);
}

lk_code lkgo_set_event(lk_options options, uintptr_t context, lkgo_scratch *scratch) {
  return lk_options_set_event_sink(options, pass_event, (void *)context, &scratch->error);
}

lk_code lkgo_begin(lk_db db, int isolation, int read_only, lk_txn *txn, lkgo_scratch *scratch) {
  lk_begin_options options = LK_BEGIN_OPTIONS_INIT;
  options.isolation = isolation;
  options.read_only = read_only;
  return lk_begin(db, &options, txn, &scratch->error);
}

lk_code lkgo_cursor_create(lk_txn txn, lk_tree tree, lkgo_range range, const char *from, const char *to,
                           lkgo_scratch *scratch) {
  const lk_bytes first = lk_slice(from, range.from_size), end = lk_slice(to, range.to_size);
  return lk_cursor_create(txn, tree, range.has_from ? &first : NULL, range.has_to ? &end : NULL, &scratch->cursor,
                          &scratch->error);
}

static lk_code seek_behind(lk_cursor cursor, int step, lk_bytes last, lk_error *error) {
  lk_bytes key;
  const lk_code code = step == 1 ? lk_cursor_seek(cursor, last, &key, NULL, error)
                                 : lk_cursor_seek_for_prev(cursor, last, &key, NULL, error);
  const int is_same = code == LK_OK && key.size == last.size && (key.size == 0 || memcmp(key.data, last.data, key.size) == 0);
  if (!is_same) return code;
  return step == 1 ? lk_cursor_next(cursor, NULL, NULL, error) : lk_cursor_prev(cursor, NULL, NULL, error);
}

lk_code lkgo_scan(lk_cursor cursor, int step, int seek, const char *last, size_t last_size, size_t most_records,
                  char *buffer, size_t capacity, lkgo_scratch *scratch) {
  lk_code code = LK_OK;
  scratch->count = 0;
  if (seek == LKGO_BEHIND) {
    code = seek_behind(cursor, step, lk_slice(last, last_size), &scratch->error);
  } else if (seek == LKGO_START) {
    code = step == 1 ? lk_cursor_seek_first(cursor, NULL, NULL, &scratch->error)
                     : lk_cursor_seek_last(cursor, NULL, NULL, &scratch->error);
  }
  if (code != LK_OK) return code;
  return lk_cursor_fill(cursor, step, most_records, buffer, capacity, &scratch->size, &scratch->count, &scratch->error);
}

lk_code lkgo_scan_new(lk_txn txn, lk_cursor retired, lk_tree tree, lkgo_range range, const char *from,
                      const char *to, int step, size_t most_records, char *buffer, size_t capacity,
                      lkgo_scratch *scratch) {
  lk_code code;
  if (retired.id != 0) lk_cursor_release(retired, NULL);
  code = lkgo_cursor_create(txn, tree, range, from, to, scratch);
  if (code != LK_OK) return code;
  code = lkgo_scan(scratch->cursor, step, LKGO_START, NULL, 0, most_records, buffer, capacity, scratch);
  if (code != LK_OK) {
    lk_cursor_release(scratch->cursor, NULL);
    scratch->cursor.id = 0;
  }
  return code;
}

lk_code lkgo_commit(lk_txn txn, int durability, lkgo_scratch *scratch) {
  lk_commit_options options = LK_COMMIT_OPTIONS_INIT;
  options.durability = durability;
  return lk_txn_commit_with(txn, &options, &scratch->error);
}

/* One operation of a packed batch without its bytes. */
typedef struct {
  lk_tree tree;
  uint32_t is_delete, key_size;
  uint64_t value_size;
} operation;

static lk_code fill_batch(lk_batch batch, const char *at, const char *end, lk_error *error) {
  lk_code code = LK_OK;
  while (code == LK_OK && at < end) {
    operation next;
    lk_bytes key, value;
    memcpy(&next, at, sizeof next);
    key = lk_slice(at + sizeof next, next.key_size);
    value = lk_slice(at + sizeof next + next.key_size, next.value_size);
    at += sizeof next + next.key_size + next.value_size;
    code = next.is_delete ? lk_batch_delete(batch, next.tree, key, error)
                          : lk_batch_put(batch, next.tree, key, value, error);
  }
  return code;
}

lk_code lkgo_write(lk_db db, const char *packed, size_t size, int durability, lkgo_scratch *scratch) {
  lk_commit_options options = LK_COMMIT_OPTIONS_INIT;
  lk_batch batch;
  lk_code code = lk_batch_create(&batch, &scratch->error);
  if (code != LK_OK) return code;
  code = fill_batch(batch, packed, packed + size, &scratch->error);
  options.durability = durability;
  if (code == LK_OK) code = lk_write_with(db, batch, &options, &scratch->error);
  lk_batch_release(batch, NULL);
  return code;
}

lk_code lkgo_prefetch(lk_txn txn, lk_tree tree, const char *keys, const uint32_t *sizes, size_t count,
                      lkgo_scratch *scratch) {
  enum { kAtOnce = 64 };
  lk_tree trees[kAtOnce];
  lk_bytes views[kAtOnce];
  while (count > 0) {
    const size_t now = count < kAtOnce ? count : kAtOnce;
    lk_code code;
    for (size_t i = 0; i < now; ++i) {
      trees[i] = tree;
      views[i] = lk_slice(keys, sizes[i]);
      keys += sizes[i];
    }
    code = lk_txn_prefetch(txn, trees, views, now, &scratch->error);
    if (code != LK_OK) return code;
    sizes += now;
    count -= now;
  }
  return LK_OK;
}

static lk_code get_many(lk_db db, lk_txn txn, lk_tree tree, const lk_bytes *keys, lk_bytes *values, size_t count,
                        uint64_t *sizes, lkgo_scratch *scratch) {
  const lk_code code =
      txn.id == 0 ? lk_multi_get(db, tree, keys, count, &scratch->value, values, &scratch->error)
                  : lk_txn_multi_get(txn, tree, keys, count, &scratch->value, values, &scratch->error);
  for (size_t i = 0; i < count; ++i) sizes[i] = values[i].data == NULL ? LKGO_MISSING : values[i].size;
  return code;
}

lk_code lkgo_get_many(lk_db db, lk_txn txn, lk_tree tree, const char *keys, const uint32_t *key_sizes, size_t count,
                      uint64_t *sizes, lkgo_scratch *scratch) {
  lk_bytes *views = calloc(2 * count + 1, sizeof *views);
  lk_code code = LK_RESOURCE_EXHAUSTED;
  if (views == NULL) {
    strcpy(scratch->error.message, "out of memory");
    return code;
  }
  for (size_t i = 0; i < count; ++i) {
    views[i] = lk_slice(keys, key_sizes[i]);
    keys += key_sizes[i];
  }
  code = get_many(db, txn, tree, views, views + count, count, sizes, scratch);
  free(views);
  return code;
}

lk_code lkgo_estimate(lk_db db, lk_tree tree, lkgo_range range, const char *from, const char *to, int of_bytes,
                      uint64_t *figure, lkgo_scratch *scratch) {
  const lk_bytes first = lk_slice(from, range.from_size), end = lk_slice(to, range.to_size);
  const lk_bytes *const begin = range.has_from ? &first : NULL, *const behind = range.has_to ? &end : NULL;
  return of_bytes ? lk_approximate_bytes(db, tree, begin, behind, figure, &scratch->error)
                  : lk_approximate_count(db, tree, begin, behind, figure, &scratch->error);
}

lk_code lkgo_delete_range(lk_db db, lk_tree tree, lkgo_range range, const char *from, const char *to,
                          lkgo_scratch *scratch) {
  const lk_bytes first = lk_slice(from, range.from_size), end = lk_slice(to, range.to_size);
  return lk_delete_range(db, tree, range.has_from ? &first : NULL, range.has_to ? &end : NULL, &scratch->error);
}

lk_code lkgo_bulk_create(lk_db db, const char *name, size_t size, double fill, lk_bulk_loader *loader,
                         lkgo_scratch *scratch) {
  lk_bulk_load_options options = LK_BULK_LOAD_OPTIONS_INIT;
  options.fill = fill;
  return lk_bulk_loader_create(db, lk_slice(name, size), &options, loader, &scratch->error);
}

/* In progress.go. */
extern int lkgoProgress(uintptr_t context, void *progress);

static int pass_progress(void *context, const lk_backup_progress *progress) {
  return lkgoProgress((uintptr_t)context, (void *)progress);
}

static int pass_compact_progress(void *context, const lk_compact_progress *progress) {
  return lkgoProgress((uintptr_t)context, (void *)progress);
}

lk_code lkgo_compact(lk_db db, uint64_t max_bytes_per_second, uintptr_t progress, lk_compact_info *info,
                     lkgo_scratch *scratch) {
  lk_compact_options options = LK_COMPACT_OPTIONS_INIT;
  options.max_bytes_per_second = max_bytes_per_second;
  options.progress = pass_compact_progress;
  options.context = (void *)progress;
  return lk_compact(db, &options, info, &scratch->error);
}

lk_code lkgo_backup(lk_db db, const char *directory, int incremental, int skip_check, uint64_t max_bytes_per_second,
                    uintptr_t progress, lk_backup_info *info, lkgo_scratch *scratch) {
  lk_backup_options options = LK_BACKUP_OPTIONS_INIT;
  options.incremental = incremental;
  options.skip_check = skip_check;
  options.max_bytes_per_second = max_bytes_per_second;
  options.progress = pass_progress;
  options.context = (void *)progress;
  return lk_backup(db, directory, &options, info, &scratch->error);
}

lk_code lkgo_check_backups(const char *directory, uint32_t number, uintptr_t progress, lk_backups *backups,
                           lkgo_scratch *scratch) {
  lk_backup_check_options options = LK_BACKUP_CHECK_OPTIONS_INIT;
  options.number = number;
  options.progress = pass_progress;
  options.context = (void *)progress;
  return lk_check_backups(directory, &options, backups, &scratch->error);
}

lk_code lkgo_restore(const char *directory, const char *path, uint32_t number, lk_options database, int skip_verify,
                     uintptr_t progress, lkgo_scratch *scratch) {
  lk_restore_options options = LK_RESTORE_OPTIONS_INIT;
  options.number = number;
  options.database = database;
  options.skip_verify = skip_verify;
  options.progress = pass_progress;
  options.context = (void *)progress;
  return lk_restore_backup(directory, path, &options, &scratch->error);
}
