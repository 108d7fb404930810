/* Calls on many keys, on whole trees and on backups, and transactions with options. */
#include <math.h>

#include "test.h"

static void open_on_files(const char *folder, const char *name, lk_db *db, lk_tree *tree) {
  lk_options options;
  char path[512];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  OK(lk_options_create(&options, &test_error));
  OK(lk_options_set(options, "cache-size", "4MiB", &test_error));
  OK(lk_open(path, options, db, &test_error));
  OK(lk_options_release(options, &test_error));
  OK(lk_open_tree(*db, lk_text("t"), 1, tree, &test_error));
}

static lk_bytes shown(const lk_value *value) { return lk_slice(value->data, value->size); }

static void many_keys_are_read_with_one_call(void) {
  const lk_bytes keys[] = {lk_text("b"), lk_text("none"), lk_text("empty"), lk_text("b")};
  lk_bytes values[4];
  lk_value memory = LK_VALUE_INIT;
  lk_db db;
  lk_tree tree;
  lk_txn txn;
  open_in_memory(&db, &tree);
  OK(lk_put(db, tree, lk_text("b"), lk_text("bee"), &test_error));
  OK(lk_put(db, tree, lk_text("empty"), lk_text(""), &test_error));
  OK(lk_multi_get(db, tree, keys, 4, &memory, values, &test_error));
  CHECK(same(values[0], "bee") && same(values[3], "bee") && same(values[2], ""));
  CHECK(values[1].data == NULL && values[2].data != NULL);
  OK(lk_begin(db, NULL, &txn, &test_error));
  OK(lk_txn_put(txn, tree, lk_text("none"), lk_text("mine"), &test_error));
  OK(lk_txn_multi_get(txn, tree, keys, 2, &memory, values, &test_error));
  CHECK(same(values[0], "bee") && same(values[1], "mine"));
  OK(lk_txn_rollback(txn, &test_error));
  OK(lk_multi_get(db, tree, NULL, 0, &memory, NULL, &test_error));
  EXPECT(LK_INVALID_ARGUMENT, lk_multi_get(db, tree, NULL, 1, &memory, values, &test_error));
  EXPECT(LK_INVALID_ARGUMENT, lk_multi_get(db, tree, keys, 1, NULL, values, &test_error));
  EXPECT(LK_INVALID_ARGUMENT, lk_multi_get(db, tree, keys, 1, &memory, NULL, &test_error));
  values[0] = keys[0];
  EXPECT(LK_INVALID_ARGUMENT, lk_multi_get(db, (lk_tree){{0, 0}}, keys, 1, &memory, values, &test_error));
  CHECK(values[0].data == NULL);
  OK(lk_close(db, &test_error));
  EXPECT(LK_FAILED_PRECONDITION, lk_multi_get(db, tree, keys, 4, &memory, values, &test_error));
  lk_value_release(&memory);
}

static void keys_of_parts_are_ordered_and_read_back(void) {
  lk_value first = LK_VALUE_INIT, second = LK_VALUE_INIT, name = LK_VALUE_INIT;
  lk_bytes rest;
  int64_t number;
  uint64_t count;
  double real;
  OK(lk_key_add_string(&first, lk_slice("a\0b", 3), &test_error));
  OK(lk_key_add_int(&first, -7, &test_error));
  OK(lk_key_add_uint(&first, 8, &test_error));
  OK(lk_key_add_double(&first, -1.5, &test_error));
  rest = shown(&first);
  EXPECT(LK_INVALID_ARGUMENT, lk_key_read_string(&(lk_bytes){"abc", 3}, &name, &test_error));
  OK(lk_key_read_string(&rest, &name, &test_error));
  CHECK(name.size == 3 && memcmp(name.data, "a\0b", 3) == 0);
  OK(lk_key_read_int(&rest, &number, &test_error));
  OK(lk_key_read_uint(&rest, &count, &test_error));
  OK(lk_key_read_double(&rest, &real, &test_error));
  CHECK(number == -7 && count == 8 && real == -1.5 && rest.size == 0);
  EXPECT(LK_INVALID_ARGUMENT, lk_key_read_uint(&rest, &count, &test_error));
  CHECK_MESSAGE("0 bytes are left");
  lk_key_clear(&first);
  CHECK(first.size == 0);
  OK(lk_key_add_int(&first, -1, &test_error));
  OK(lk_key_add_int(&second, 1, &test_error));
  CHECK(first.size == 8 && memcmp(first.data, second.data, 8) < 0);
  lk_key_clear(&first);
  OK(lk_key_add_double(&first, -0.0, &test_error));
  rest = shown(&first);
  OK(lk_key_read_double(&rest, &real, &test_error));
  CHECK(real == 0 && rest.size == 0);
  lk_key_clear(&first);
  OK(lk_key_add_double(&first, NAN, &test_error));
  rest = shown(&first);
  OK(lk_key_read_double(&rest, &real, &test_error));
  CHECK(isnan(real) && rest.size == 0);
  OK(lk_prefix_end(lk_slice("a\xff", 2), &name, &test_error));
  CHECK(holds(&name, "b"));
  EXPECT(LK_NOT_FOUND, lk_prefix_end(lk_slice("\xff\xff", 2), &name, &test_error));
  CHECK(name.size == 0);
  EXPECT(LK_INVALID_ARGUMENT, lk_prefix_end(lk_text("a"), NULL, &test_error));
  EXPECT(LK_INVALID_ARGUMENT, lk_key_add_int(NULL, 1, &test_error));
  EXPECT(LK_INVALID_ARGUMENT, lk_key_add_string(&first, lk_slice(NULL, 1), &test_error));
  EXPECT(LK_INVALID_ARGUMENT, lk_key_read_int(NULL, &number, &test_error));
  EXPECT(LK_INVALID_ARGUMENT, lk_key_read_int(&rest, NULL, &test_error));
  rest = lk_text("ab");
  EXPECT(LK_INVALID_ARGUMENT, lk_key_read_string(&rest, NULL, &test_error));
  CHECK(rest.size == 2);
  lk_key_clear(NULL);
  lk_value_release(&first);
  lk_value_release(&second);
  lk_value_release(&name);
}

/* The tests of Go and Python have the same vectors: they make the keys by themselves. */
static void keys_of_parts_have_the_documented_bytes(void) {
  static const char expected[] =
      "\x7f\xff\xff\xff\xff\xff\xff\xfe" /* -2 */
      "\x00\x00\x00\x00\x00\x00\x01\x03" /* 259 */
      "\xbf\xf8\x00\x00\x00\x00\x00\x00" /* 1.5 */
      "\x3f\xff\xff\xff\xff\xff\xff\xff" /* -2.0 */
      "\xff\xf8\x00\x00\x00\x00\x00\x00" /* NaN */
      "a\x00\xff" "b\x00\x01";
  lk_value key = LK_VALUE_INIT;
  OK(lk_key_add_int(&key, -2, &test_error));
  OK(lk_key_add_uint(&key, 259, &test_error));
  OK(lk_key_add_double(&key, 1.5, &test_error));
  OK(lk_key_add_double(&key, -2.0, &test_error));
  OK(lk_key_add_double(&key, -NAN, &test_error));
  OK(lk_key_add_string(&key, lk_slice("a\0b", 3), &test_error));
  CHECK(key.size == sizeof expected - 1 && memcmp(key.data, expected, key.size) == 0);
  lk_value_release(&key);
}

static void a_tree_is_renamed_and_its_ranges_are_estimated(void) {
  const lk_bytes from = lk_text("k0500");
  lk_batch batch;
  lk_db db;
  lk_tree tree;
  lk_value value = LK_VALUE_INIT;
  uint64_t all, half, bytes;
  char key[16];
  int i;
  open_in_memory(&db, &tree);
  OK(lk_batch_create(&batch, &test_error));
  for (i = 0; i < 1000; ++i) {
    snprintf(key, sizeof key, "k%04d", i);
    OK(lk_batch_put(batch, tree, lk_text(key), lk_text("a value of some length, for more pages"),
                    &test_error));
  }
  OK(lk_write(db, batch, &test_error));
  OK(lk_batch_release(batch, &test_error));
  OK(lk_approximate_count(db, tree, NULL, NULL, &all, &test_error));
  OK(lk_approximate_count(db, tree, &from, NULL, &half, &test_error));
  OK(lk_approximate_bytes(db, tree, NULL, NULL, &bytes, &test_error));
  CHECK(all > 800 && all < 1200 && half > 400 && half < 600 && bytes > 38 * 1000);
  EXPECT(LK_INVALID_ARGUMENT, lk_approximate_count(db, tree, NULL, NULL, NULL, &test_error));
  EXPECT(LK_INVALID_ARGUMENT,
         lk_approximate_bytes(db, tree, &(lk_bytes){NULL, 1}, NULL, &bytes, &test_error));
  EXPECT(LK_INVALID_ARGUMENT, lk_delete_range(db, tree, &(lk_bytes){NULL, 1}, NULL, &test_error));
  OK(lk_delete_range(db, tree, &from, NULL, &test_error));
  EXPECT(LK_NOT_FOUND, lk_get(db, tree, lk_text("k0999"), &value, &test_error));
  OK(lk_get(db, tree, lk_text("k0001"), &value, &test_error));
  OK(lk_clear_tree(db, tree, &test_error));
  EXPECT(LK_NOT_FOUND, lk_get(db, tree, lk_text("k0001"), &value, &test_error));
  OK(lk_put(db, tree, from, lk_text("again"), &test_error));
  CHECK(bytes == 0);
  OK(lk_rename_tree(db, lk_text("t"), lk_text("new name"), &test_error));
  OK(lk_get(db, tree, from, &value, &test_error)); /* its handle stays usable */
  EXPECT(LK_NOT_FOUND, lk_open_tree(db, lk_text("t"), 0, &tree, &test_error));
  OK(lk_open_tree(db, lk_text("new name"), 0, &tree, &test_error));
  EXPECT(LK_NOT_FOUND, lk_rename_tree(db, lk_text("t"), lk_text("u"), &test_error));
  OK(lk_open_tree(db, lk_text("t"), 1, &tree, &test_error));
  EXPECT(LK_ALREADY_EXISTS, lk_rename_tree(db, lk_text("t"), lk_text("new name"), &test_error));
  OK(lk_close(db, &test_error));
  lk_value_release(&value);
}

static void a_commit_has_the_durability_that_it_asks_for(const char *folder) {
  lk_commit_options how = LK_COMMIT_OPTIONS_INIT;
  lk_statistics statistics;
  lk_statistic syncs = LK_STATISTIC_INIT, later = LK_STATISTIC_INIT;
  lk_batch batch;
  lk_db db;
  lk_tree tree;
  lk_txn txn;
  int i;
  open_on_files(folder, "durability.db", &db, &tree);
  OK(lk_sync(db, &test_error));
  OK(lk_statistics_take(db, &statistics, &test_error));
  OK(lk_statistics_find(statistics, "log.syncs", &syncs, &test_error));
  CHECK(syncs.is_counter && strcmp(syncs.help, "syncs of the log") == 0);
  OK(lk_statistics_release(statistics, &test_error));
  how.durability = LK_DURABILITY_NONE;
  for (i = 0; i < 20; ++i) {
    OK(lk_begin(db, NULL, &txn, &test_error));
    OK(lk_txn_put(txn, tree, lk_text("k"), lk_text("v"), &test_error));
    OK(lk_txn_commit_with(txn, &how, &test_error));
  }
  OK(lk_statistics_take(db, &statistics, &test_error));
  OK(lk_statistics_find(statistics, "log.syncs", &later, &test_error));
  OK(lk_statistics_release(statistics, &test_error));
  CHECK(later.integer < syncs.integer + 20);
  OK(lk_batch_create(&batch, &test_error));
  OK(lk_batch_put(batch, tree, lk_text("b"), lk_text("v"), &test_error));
  how.durability = LK_DURABILITY_GROUP;
  OK(lk_write_with(db, batch, &how, &test_error));
  OK(lk_sync(db, &test_error));
  how.durability = 9;
  EXPECT(LK_INVALID_ARGUMENT, lk_write_with(db, batch, &how, &test_error));
  CHECK_MESSAGE("durability=9");
  OK(lk_batch_release(batch, &test_error));
  OK(lk_begin(db, NULL, &txn, &test_error));
  EXPECT(LK_INVALID_ARGUMENT, lk_txn_commit_with(txn, &how, &test_error));
  OK(lk_txn_commit(txn, &test_error)); /* it has gone on */
  OK(lk_close(db, &test_error));
}

static void a_refused_durability_leaves_the_transaction_open(void) {
  lk_commit_options how = LK_COMMIT_OPTIONS_INIT;
  lk_db db;
  lk_tree tree;
  lk_txn txn, other;
  open_in_memory(&db, &tree); /* durability none */
  EXPECT(LK_FAILED_PRECONDITION, lk_sync(db, &test_error));
  OK(lk_begin(db, NULL, &txn, &test_error));
  OK(lk_txn_put(txn, tree, lk_text("k"), lk_text("v"), &test_error));
  how.durability = LK_DURABILITY_COMMIT;
  EXPECT(LK_FAILED_PRECONDITION, lk_txn_commit_with(txn, &how, &test_error));
  CHECK_MESSAGE("durability none");
  OK(lk_txn_put(txn, tree, lk_text("k"), lk_text("w"), &test_error));
  OK(lk_begin(db, NULL, &other, &test_error));
  EXPECT(LK_ABORTED, lk_txn_put(other, tree, lk_text("k"), lk_text("x"), &test_error));
  CHECK(lk_txn_is_vain_to_repeat(other) && !lk_txn_is_vain_to_repeat(txn));
  EXPECT(LK_FAILED_PRECONDITION, lk_txn_commit(other, &test_error)); /* over: the handle is released */
  EXPECT(LK_FAILED_PRECONDITION, lk_txn_rollback(other, &test_error));
  CHECK_MESSAGE("handle is over");
  CHECK(!lk_txn_is_vain_to_repeat(other));
  how.durability = LK_DURABILITY_NONE;
  OK(lk_txn_commit_with(txn, &how, &test_error));
  OK(lk_close(db, &test_error));
}

/* ---- lk_run. */

enum { COUNT_UP, OWN_CODE, ABORT_ALWAYS, CONFLICT_ONCE, END_IT, WAIT_FOR_ITSELF };
struct run {
  lk_db db;
  lk_tree tree;
  int kind;
  int calls;
};

static lk_code body(void *context, lk_txn txn, lk_error *error) {
  struct run *run = context;
  lk_value value = LK_VALUE_INIT;
  lk_code code;
  run->calls++;
  switch (run->kind) {
    case OWN_CODE:
      (void)lk_txn_put(txn, run->tree, lk_text("own"), lk_text("v"), error);
      return 1234;
    case ABORT_ALWAYS:
      return LK_ABORTED;
    case CONFLICT_ONCE:
      code = lk_txn_get(txn, run->tree, lk_text("k"), &value, error);
      lk_value_release(&value);
      if (code == LK_OK && run->calls == 1) {
        code = lk_put(run->db, run->tree, lk_text("k"), lk_text("first"), error);
      }
      return code == LK_OK ? lk_txn_put(txn, run->tree, lk_text("k"), lk_text("second"), error) : code;
    case END_IT:
      return lk_txn_commit(txn, error);
    default:
      return lk_txn_put(txn, run->tree, lk_text("k"), lk_text("v"), error);
  }
}

static void a_body_is_run_again_until_it_commits(void) {
  lk_run_options how = LK_RUN_OPTIONS_INIT;
  struct run run;
  lk_value value = LK_VALUE_INIT;
  lk_txn holder;
  memset(&run, 0, sizeof run);
  open_in_memory(&run.db, &run.tree);
  OK(lk_run(run.db, NULL, body, &run, &test_error));
  run.kind = CONFLICT_ONCE;
  run.calls = 0;
  OK(lk_run(run.db, &how, body, &run, &test_error));
  OK(lk_get(run.db, run.tree, lk_text("k"), &value, &test_error));
  CHECK(run.calls == 2 && holds(&value, "second"));
  run.kind = OWN_CODE;
  EXPECT(1234, lk_run(run.db, NULL, body, &run, &test_error));
  EXPECT(LK_NOT_FOUND, lk_get(run.db, run.tree, lk_text("own"), &value, &test_error));
  run.kind = ABORT_ALWAYS;
  run.calls = 0;
  how.most_attempts = 3;
  EXPECT(LK_ABORTED, lk_run(run.db, &how, body, &run, &test_error));
  CHECK(run.calls == 3);
  run.kind = END_IT;
  EXPECT(LK_FAILED_PRECONDITION, lk_run(run.db, NULL, body, &run, &test_error));
  CHECK_MESSAGE("ended its transaction");
  run.kind = WAIT_FOR_ITSELF;
  run.calls = 0;
  OK(lk_begin(run.db, NULL, &holder, &test_error));
  OK(lk_txn_put(holder, run.tree, lk_text("k"), lk_text("held"), &test_error));
  EXPECT(LK_ABORTED, lk_run(run.db, NULL, body, &run, &test_error));
  CHECK_MESSAGE("this thread");
  CHECK(run.calls == 1);
  OK(lk_txn_rollback(holder, &test_error));
  how.read_only = 1;
  EXPECT(LK_FAILED_PRECONDITION, lk_run(run.db, &how, body, &run, &test_error));
  how.isolation = 5;
  EXPECT(LK_INVALID_ARGUMENT, lk_run(run.db, &how, body, &run, &test_error));
  EXPECT(LK_INVALID_ARGUMENT, lk_run(run.db, NULL, NULL, &run, &test_error));
  OK(lk_close(run.db, &test_error));
  EXPECT(LK_FAILED_PRECONDITION, lk_run(run.db, NULL, body, &run, &test_error));
  lk_value_release(&value);
}

/* ---- Bulk loads. */

static void a_bulk_load_makes_a_tree_at_its_end(void) {
  lk_bulk_load_options how = LK_BULK_LOAD_OPTIONS_INIT;
  lk_bulk_loader loader;
  lk_db db;
  lk_tree tree, loaded;
  lk_value value = LK_VALUE_INIT;
  open_in_memory(&db, &tree);
  how.fill = 0.7;
  EXPECT(LK_ALREADY_EXISTS,
         lk_bulk_loader_create(db, lk_text("t"), NULL, &loader, &test_error));
  OK(lk_bulk_loader_create(db, lk_text("new"), &how, &loader, &test_error));
  OK(lk_bulk_loader_put(loader, lk_text("a"), lk_text("1"), &test_error));
  EXPECT(LK_INVALID_ARGUMENT, lk_bulk_loader_put(loader, lk_text("a"), lk_text("2"), &test_error));
  CHECK_MESSAGE("equal to");
  EXPECT(LK_INVALID_ARGUMENT, lk_bulk_loader_put(loader, lk_slice(NULL, 1), lk_text("2"), &test_error));
  OK(lk_bulk_loader_put(loader, lk_text("b"), lk_text("2"), &test_error));
  CHECK(lk_bulk_loader_count(loader) == 2);
  EXPECT(LK_NOT_FOUND, lk_open_tree(db, lk_text("new"), 0, &loaded, &test_error));
  EXPECT(LK_INVALID_ARGUMENT, lk_bulk_loader_finish(loader, NULL, &test_error));
  OK(lk_bulk_loader_finish(loader, &loaded, &test_error));
  OK(lk_get(db, loaded, lk_text("b"), &value, &test_error));
  CHECK(holds(&value, "2") && lk_bulk_loader_count(loader) == 0);
  EXPECT(LK_FAILED_PRECONDITION, lk_bulk_loader_finish(loader, &loaded, &test_error));
  EXPECT(LK_FAILED_PRECONDITION, lk_bulk_loader_release(loader, &test_error));
  OK(lk_bulk_loader_create(db, lk_text("given up"), NULL, &loader, &test_error));
  OK(lk_bulk_loader_put(loader, lk_text("a"), lk_text("1"), &test_error));
  OK(lk_bulk_loader_release(loader, &test_error));
  EXPECT(LK_NOT_FOUND, lk_open_tree(db, lk_text("given up"), 0, &loaded, &test_error));
  how.fill = 0.1;
  EXPECT(LK_INVALID_ARGUMENT, lk_bulk_loader_create(db, lk_text("x"), &how, &loader, &test_error));
  CHECK_MESSAGE("0.5");
  OK(lk_bulk_loader_create(db, lk_text("outlives"), NULL, &loader, &test_error));
  OK(lk_close(db, &test_error));
  EXPECT(LK_FAILED_PRECONDITION, lk_bulk_loader_put(loader, lk_text("a"), lk_text("1"), &test_error));
  EXPECT(LK_FAILED_PRECONDITION, lk_bulk_loader_finish(loader, &loaded, &test_error));
  lk_value_release(&value);
}

/* ---- Backups. */

struct watch {
  int calls;
  int stop_at; /* the call that asks to stop; 0: none */
  uint64_t bytes;
};
static int watch(void *context, const lk_backup_progress *progress) {
  struct watch *seen = context;
  CHECK(progress->struct_size == sizeof *progress);
  CHECK(progress->phase >= LK_BACKUP_CHECKPOINT && progress->phase <= LK_BACKUP_CHECK);
  seen->bytes = progress->bytes;
  return ++seen->calls == seen->stop_at;
}

static int watch_compaction(void *context, const lk_compact_progress *progress) {
  struct watch *seen = context;
  CHECK(progress->struct_size == sizeof *progress && progress->freed <= progress->leaves);
  return ++seen->calls == seen->stop_at;
}

static void a_database_is_compacted(const char *folder) {
  lk_compact_options how = LK_COMPACT_OPTIONS_INIT;
  lk_compact_info info = LK_COMPACT_INFO_INIT;
  struct watch seen = {0, 1, 0};
  lk_db db;
  lk_tree tree;
  char key[16];
  int i;
  open_on_files(folder, "compacted.db", &db, &tree);
  for (i = 0; i < 3000; ++i) {
    snprintf(key, sizeof key, "key %06d", i);
    OK(lk_put(db, tree, lk_text(key), lk_text("a value of more than thirty bytes"), &test_error));
  }
  for (i = 0; i < 3000; ++i) {
    snprintf(key, sizeof key, "key %06d", i);
    if (i % 10 != 0) OK(lk_delete(db, tree, lk_text(key), &test_error));
  }
  how.progress = watch_compaction;
  how.context = &seen;
  EXPECT(LK_CANCELLED, lk_compact(db, &how, &info, &test_error));
  seen.stop_at = 0;
  how.max_bytes_per_second = 1 << 30;
  OK(lk_compact(db, &how, &info, &test_error));
  CHECK(info.leaves > 0 && info.bytes_before >= info.bytes_after && info.bytes_after > 0);
  OK(lk_compact(db, NULL, NULL, &test_error));
  OK(lk_close(db, &test_error));
}

static void a_backup_is_made_listed_checked_and_restored(const char *folder) {
  lk_backup_options how = LK_BACKUP_OPTIONS_INIT;
  lk_backup_check_options checking = LK_BACKUP_CHECK_OPTIONS_INIT;
  lk_restore_options restoring = LK_RESTORE_OPTIONS_INIT;
  lk_backup_info info = LK_BACKUP_INFO_INIT, listed = LK_BACKUP_INFO_INIT;
  struct watch seen = {0, 1, 0};
  lk_backups backups;
  lk_db db, copy;
  lk_tree tree;
  lk_value value = LK_VALUE_INIT;
  char directory[512], restored[512], inside[512];
  snprintf(directory, sizeof directory, "%s/backups", folder);
  snprintf(restored, sizeof restored, "%s/restored.db", folder);
  snprintf(inside, sizeof inside, "%s/source.db/backups", folder);
  open_on_files(folder, "source.db", &db, &tree);
  OK(lk_put(db, tree, lk_text("k"), lk_text("full"), &test_error));
  EXPECT(LK_NOT_FOUND, lk_list_backups(directory, &backups, &test_error));
  EXPECT(LK_INVALID_ARGUMENT, lk_backup(db, inside, NULL, NULL, &test_error));
  how.progress = watch;
  how.context = &seen;
  EXPECT(LK_CANCELLED, lk_backup(db, directory, &how, &info, &test_error));
  seen.stop_at = 0;
  OK(lk_backup(db, directory, &how, &info, &test_error));
  CHECK(info.number == 1 && info.pages > 0 && info.bytes > 0 && seen.calls > 2);
  EXPECT(LK_ALREADY_EXISTS, lk_backup(db, directory, NULL, NULL, &test_error));
  OK(lk_put(db, tree, lk_text("k"), lk_text("later"), &test_error));
  how.incremental = 1;
  how.skip_check = 1;
  OK(lk_backup(db, directory, &how, NULL, &test_error));
  OK(lk_close(db, &test_error));
  OK(lk_list_backups(directory, &backups, &test_error));
  CHECK(lk_backups_count(backups) == 2);
  OK(lk_backups_at(backups, 0, &listed, &test_error));
  CHECK(listed.number == 1 && listed.id == info.id && listed.database_id == info.database_id);
  OK(lk_backups_at(backups, 1, &listed, &test_error));
  CHECK(listed.number == 2 && listed.parent_id == info.id);
  EXPECT(LK_NOT_FOUND, lk_backups_at(backups, 2, &listed, &test_error));
  listed.struct_size = 8; /* an older caller: it gets the number alone */
  listed.id = 77;
  OK(lk_backups_at(backups, 0, &listed, &test_error));
  CHECK(listed.number == 1 && listed.id == 77);
  OK(lk_backups_release(backups, &test_error));
  EXPECT(LK_FAILED_PRECONDITION, lk_backups_release(backups, &test_error));
  CHECK(lk_backups_count(backups) == 0);
  checking.number = 1;
  checking.progress = watch;
  checking.context = &seen;
  seen.calls = 0;
  OK(lk_check_backups(directory, &checking, &backups, &test_error));
  CHECK(lk_backups_count(backups) == 1 && seen.calls > 0 && seen.bytes > 0);
  OK(lk_backups_release(backups, &test_error));
  OK(lk_options_create(&restoring.database, &test_error));
  OK(lk_options_set(restoring.database, "cache-size", "4MiB", &test_error));
  restoring.number = 3;
  EXPECT(LK_INVALID_ARGUMENT, lk_restore_backup(directory, restored, &restoring, &test_error));
  restoring.number = 0;
  restoring.progress = watch;
  restoring.context = &seen;
  OK(lk_restore_backup(directory, restored, &restoring, &test_error));
  EXPECT(LK_ALREADY_EXISTS, lk_restore_backup(directory, restored, NULL, &test_error));
  OK(lk_open(restored, restoring.database, &copy, &test_error));
  OK(lk_open_tree(copy, lk_text("t"), 0, &tree, &test_error));
  OK(lk_get(copy, tree, lk_text("k"), &value, &test_error));
  CHECK(holds(&value, "later"));
  OK(lk_close(copy, &test_error));
  OK(lk_options_release(restoring.database, &test_error));
  EXPECT(LK_FAILED_PRECONDITION, lk_restore_backup(directory, restored, &restoring, &test_error));
  lk_value_release(&value);
}

void test_calls(const char *folder) {
  many_keys_are_read_with_one_call();
  keys_of_parts_are_ordered_and_read_back();
  keys_of_parts_have_the_documented_bytes();
  a_tree_is_renamed_and_its_ranges_are_estimated();
  a_commit_has_the_durability_that_it_asks_for(folder);
  a_refused_durability_leaves_the_transaction_open();
  a_body_is_run_again_until_it_commits();
  a_bulk_load_makes_a_tree_at_its_end();
  a_database_is_compacted(folder);
  a_backup_is_made_listed_checked_and_restored(folder);
}
