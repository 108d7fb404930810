/* What the Go package calls: each function is one crossing from Go to C. Pointers into Go's memory are
 * `const char *`, which cgo passes without a check. Results go to a lkgo_scratch, which is C's memory. */
#pragma once

#include <latchkey/latchkey_c.h>

/* Where one call at a time leaves its results. */
typedef struct lkgo_scratch {
  lk_value value;
  lk_bytes key, record;
  lk_cursor cursor;
  size_t count, size;
  lk_error error;
} lkgo_scratch;

/* The bounds of a scan or cursor. */
typedef struct lkgo_range {
  int has_from, has_to;
  size_t from_size, to_size;
} lkgo_range;

lkgo_scratch *lkgo_make_scratch(void); /* NULL: no memory */
void lkgo_free_scratch(lkgo_scratch *scratch);

lk_code lkgo_set_event(lk_options options, uintptr_t context, lkgo_scratch *scratch);
lk_code lkgo_set_log(lk_options options, uintptr_t context, lkgo_scratch *scratch);
lk_code lkgo_begin(lk_db db, int isolation, int read_only, lk_txn *txn, lkgo_scratch *scratch);
lk_code lkgo_cursor_create(lk_txn txn, lk_tree tree, lkgo_range range, const char *from, const char *to,
                           lkgo_scratch *scratch);
/* A scan's next records, into `buffer`, as lk_cursor_fill; their number in scratch->count, their bytes in
 * scratch->size. `seek`: LKGO_ON from where the cursor stands, LKGO_START from the start of the range,
 * LKGO_BEHIND from behind `last`. */
enum { LKGO_ON = 0, LKGO_START = 1, LKGO_BEHIND = 2 };
lk_code lkgo_scan(lk_cursor cursor, int step, int seek, const char *last, size_t last_size,
                  size_t most_records, char *buffer, size_t capacity, lkgo_scratch *scratch);
/* Creates the cursor of a scan and reads its first records. Releases `retired` before, unless it is zero. */
lk_code lkgo_scan_new(lk_txn txn, lk_cursor retired, lk_tree tree, lkgo_range range,
                      const char *from, const char *to, int step, size_t most_records, char *buffer,
                      size_t capacity, lkgo_scratch *scratch);
/* Writes the operations of a packed batch: batch.go has the format. durability: LK_DURABILITY_... */
lk_code lkgo_write(lk_db db, const char *packed, size_t size, int durability,
                   lkgo_scratch *scratch);
lk_code lkgo_commit(lk_txn txn, int durability, lkgo_scratch *scratch);
/* Reads many keys, which lie one behind the other, by a transaction, or by one of its own if it is zero. The
 * values lie one behind the other in scratch->value, in `sizes` their sizes; LKGO_MISSING: no such key. */
#define LKGO_MISSING UINT64_MAX
lk_code lkgo_get_many(lk_db db, lk_txn txn, lk_tree tree, const char *keys,
                      const uint32_t *key_sizes, size_t count, uint64_t *sizes,
                      lkgo_scratch *scratch);
/* An estimate: of the records, or of the bytes. */
lk_code lkgo_delete_range(lk_db db, lk_tree tree, lkgo_range range, const char *from,
                          const char *to, lkgo_scratch *scratch);
static inline lk_code lkgo_clear_tree(lk_db db, lk_tree tree, lkgo_scratch *scratch) {
  return lk_clear_tree(db, tree, &scratch->error);
}
lk_code lkgo_estimate(lk_db db, lk_tree tree, lkgo_range range, const char *from, const char *to,
                      int of_bytes, uint64_t *figure, lkgo_scratch *scratch);
lk_code lkgo_bulk_create(lk_db db, const char *name, size_t size, double fill,
                         lk_bulk_loader *loader, lkgo_scratch *scratch);
/* Compaction and backups. `progress`: the handle of a watcher of Go. */
lk_code lkgo_compact(lk_db db, uint64_t max_bytes_per_second, uintptr_t progress,
                     lk_compact_info *info, lkgo_scratch *scratch);
lk_code lkgo_backup(lk_db db, const char *directory, int incremental, int skip_check,
                    uint64_t max_bytes_per_second, uintptr_t progress, lk_backup_info *info,
                    lkgo_scratch *scratch);
lk_code lkgo_check_backups(const char *directory, uint32_t number, uintptr_t progress,
                           lk_backups *backups, lkgo_scratch *scratch);
lk_code lkgo_restore(const char *directory, const char *path, uint32_t number, lk_options options,
                     int skip_verify, uintptr_t progress, lkgo_scratch *scratch);
lk_code lkgo_prefetch(lk_txn txn, lk_tree tree, const char *keys, const uint32_t *sizes, size_t count,
                      lkgo_scratch *scratch);

static inline lk_code lkgo_open_tree(lk_db db, const char *name, size_t size, int create, lk_tree *tree,
                                     lkgo_scratch *scratch) {
  return lk_open_tree(db, lk_slice(name, size), create, tree, &scratch->error);
}
static inline lk_code lkgo_drop_tree(lk_db db, const char *name, size_t size, lkgo_scratch *scratch) {
  return lk_drop_tree(db, lk_slice(name, size), &scratch->error);
}
static inline lk_code lkgo_rename_tree(lk_db db, const char *from, size_t from_size, const char *to,
                                       size_t to_size, lkgo_scratch *scratch) {
  return lk_rename_tree(db, lk_slice(from, from_size), lk_slice(to, to_size), &scratch->error);
}
static inline lk_code lkgo_bulk_put(lk_bulk_loader loader, const char *key, size_t size,
                                    const char *value, size_t value_size, lkgo_scratch *scratch) {
  return lk_bulk_loader_put(loader, lk_slice(key, size), lk_slice(value, value_size),
                            &scratch->error);
}
static inline lk_code lkgo_get(lk_db db, lk_tree tree, const char *key, size_t size, lkgo_scratch *scratch) {
  return lk_get(db, tree, lk_slice(key, size), &scratch->value, &scratch->error);
}
static inline lk_code lkgo_put(lk_db db, lk_tree tree, const char *key, size_t size, const char *value,
                               size_t value_size, lkgo_scratch *scratch) {
  return lk_put(db, tree, lk_slice(key, size), lk_slice(value, value_size), &scratch->error);
}
static inline lk_code lkgo_delete(lk_db db, lk_tree tree, const char *key, size_t size, lkgo_scratch *scratch) {
  return lk_delete(db, tree, lk_slice(key, size), &scratch->error);
}
static inline lk_code lkgo_txn_get(lk_txn txn, lk_tree tree, const char *key, size_t size, lkgo_scratch *scratch) {
  return lk_txn_get(txn, tree, lk_slice(key, size), &scratch->value, &scratch->error);
}
static inline lk_code lkgo_txn_get_for_update(lk_txn txn, lk_tree tree, const char *key, size_t size,
                                              lkgo_scratch *scratch) {
  return lk_txn_get_for_update(txn, tree, lk_slice(key, size), &scratch->value, &scratch->error);
}
static inline lk_code lkgo_txn_put(lk_txn txn, lk_tree tree, const char *key, size_t size, const char *value,
                                   size_t value_size, lkgo_scratch *scratch) {
  return lk_txn_put(txn, tree, lk_slice(key, size), lk_slice(value, value_size), &scratch->error);
}
static inline lk_code lkgo_txn_insert(lk_txn txn, lk_tree tree, const char *key, size_t size, const char *value,
                                      size_t value_size, lkgo_scratch *scratch) {
  return lk_txn_insert(txn, tree, lk_slice(key, size), lk_slice(value, value_size), &scratch->error);
}
static inline lk_code lkgo_txn_delete(lk_txn txn, lk_tree tree, const char *key, size_t size,
                                      lkgo_scratch *scratch) {
  return lk_txn_delete(txn, tree, lk_slice(key, size), &scratch->error);
}
static inline lk_code lkgo_get_part(lk_txn txn, lk_tree tree, const char *key, size_t size,
                                    uint64_t offset, size_t part_size, uint64_t *value_size,
                                    lkgo_scratch *scratch) {
  return lk_txn_get_part(txn, tree, lk_slice(key, size), offset, part_size, &scratch->value,
                         value_size, &scratch->error);
}
static inline lk_code lkgo_put_begin(lk_txn txn, lk_tree tree, const char *key, size_t size,
                                     lkgo_scratch *scratch) {
  return lk_txn_put_begin(txn, tree, lk_slice(key, size), &scratch->error);
}
static inline lk_code lkgo_put_append(lk_txn txn, const char *part, size_t size,
                                      lkgo_scratch *scratch) {
  return lk_txn_put_append(txn, lk_slice(part, size), &scratch->error);
}
enum { LKGO_FIRST, LKGO_LAST, LKGO_SEEK, LKGO_SEEK_FOR_PREV, LKGO_NEXT, LKGO_PREV };
static inline lk_code lkgo_move(lk_cursor cursor, int move, const char *key, size_t size, lkgo_scratch *scratch) {
  lk_bytes *at = &scratch->key, *value = &scratch->record;
  lk_error *error = &scratch->error;
  switch (move) {
    case LKGO_FIRST: return lk_cursor_seek_first(cursor, at, value, error);
    case LKGO_LAST: return lk_cursor_seek_last(cursor, at, value, error);
    case LKGO_SEEK: return lk_cursor_seek(cursor, lk_slice(key, size), at, value, error);
    case LKGO_SEEK_FOR_PREV: return lk_cursor_seek_for_prev(cursor, lk_slice(key, size), at, value, error);
    case LKGO_NEXT: return lk_cursor_next(cursor, at, value, error);
    default: return lk_cursor_prev(cursor, at, value, error);
  }
}
