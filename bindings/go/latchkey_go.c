#include "latchkey_go.h"

#include <stdlib.h>
#include <string.h>

/* In log.go. */
extern void lkgoLog(uintptr_t context, int severity, char *message, size_t size);

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
                  size_t most_bytes, lkgo_scratch *scratch) {
  lk_code code = LK_OK;
  scratch->count = 0;
  if (seek == LKGO_BEHIND) {
    code = seek_behind(cursor, step, lk_slice(last, last_size), &scratch->error);
  } else if (seek == LKGO_START) {
    code = step == 1 ? lk_cursor_seek_first(cursor, NULL, NULL, &scratch->error)
                     : lk_cursor_seek_last(cursor, NULL, NULL, &scratch->error);
  }
  if (code != LK_OK) return code;
  return lk_cursor_read(cursor, step, most_records, most_bytes, &scratch->value, &scratch->count, &scratch->error);
}

lk_code lkgo_scan_new(lk_txn txn, lk_tree tree, lkgo_range range, const char *from, const char *to, int step,
                      size_t most_records, size_t most_bytes, lkgo_scratch *scratch) {
  lk_code code = lkgo_cursor_create(txn, tree, range, from, to, scratch);
  if (code != LK_OK) return code;
  code = lkgo_scan(scratch->cursor, step, LKGO_START, NULL, 0, most_records, most_bytes, scratch);
  if (code != LK_OK) {
    lk_cursor_release(scratch->cursor, NULL);
    scratch->cursor.id = 0;
  }
  return code;
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

lk_code lkgo_write(lk_db db, const char *packed, size_t size, lkgo_scratch *scratch) {
  lk_batch batch;
  lk_code code = lk_batch_create(&batch, &scratch->error);
  if (code != LK_OK) return code;
  code = fill_batch(batch, packed, packed + size, &scratch->error);
  if (code == LK_OK) code = lk_write(db, batch, &scratch->error);
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
