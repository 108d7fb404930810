/* Null arguments, zero handles, handles after their end, double ends, and wrong structs: each is an
 * error with a code and a message, and no crash. */
#include <pthread.h>

#include "test.h"

#define ZERO(call)                                \
  do {                                            \
    EXPECT(LK_INVALID_ARGUMENT, call);            \
    CHECK_MESSAGE("zero");                        \
  } while (0)
#define OVER(call) EXPECT(LK_FAILED_PRECONDITION, call)
#define NULL_ARGUMENT(call)                       \
  do {                                            \
    EXPECT(LK_INVALID_ARGUMENT, call);            \
    CHECK_MESSAGE("null pointer");                \
  } while (0)

static const lk_tree no_tree = {{0, 0}};
static const lk_txn no_txn = {0};
static const lk_db no_db = {0};
static const lk_cursor no_cursor = {0};

static lk_code no_body(void *context, lk_txn txn, lk_error *error) {
  (void)context, (void)txn, (void)error;
  return LK_OK;
}

static void a_zero_handle_is_an_error_of_every_call(void) {
  const lk_options options = {0};
  const lk_batch batch = {0};
  const lk_statistics statistics = {0};
  const lk_names names = {0};
  const lk_savepoint savepoint = {{0, 0}};
  lk_statistic statistic = LK_STATISTIC_INIT;
  lk_value value = LK_VALUE_INIT;
  lk_bytes bytes;
  lk_tree tree;
  lk_txn txn;
  lk_cursor cursor;
  lk_names made_names;
  lk_statistics made_statistics;
  lk_savepoint made_savepoint;
  const lk_bulk_loader loader = {0};
  const lk_backups backups = {0};
  lk_bulk_loader made_loader;
  lk_backup_info info = LK_BACKUP_INFO_INIT;
  uint64_t figure;
  uint32_t size;
  size_t count;
  lk_error *e = &test_error;
  ZERO(lk_options_set(options, "device", "file", e));
  ZERO(lk_options_get(options, "device", &value, e));
  ZERO(lk_options_set_log_sink(options, NULL, NULL, e));
  ZERO(lk_options_set_event_sink(options, NULL, NULL, e));
  ZERO(lk_options_release(options, e));
  ZERO(lk_close(no_db, e));
  ZERO(lk_open_tree(no_db, lk_text("t"), 1, &tree, e));
  ZERO(lk_drop_tree(no_db, lk_text("t"), e));
  ZERO(lk_rename_tree(no_db, lk_text("t"), lk_text("u"), e));
  ZERO(lk_list_trees(no_db, &made_names, e));
  ZERO(lk_names_at(names, 0, &bytes, e));
  ZERO(lk_names_release(names, e));
  ZERO(lk_get(no_db, no_tree, lk_text("k"), &value, e));
  ZERO(lk_put(no_db, no_tree, lk_text("k"), lk_text("v"), e));
  ZERO(lk_delete(no_db, no_tree, lk_text("k"), e));
  ZERO(lk_write(no_db, batch, e));
  ZERO(lk_write_with(no_db, batch, NULL, e));
  ZERO(lk_multi_get(no_db, no_tree, NULL, 0, &value, NULL, e));
  ZERO(lk_approximate_count(no_db, no_tree, NULL, NULL, &figure, e));
  ZERO(lk_approximate_bytes(no_db, no_tree, NULL, NULL, &figure, e));
  ZERO(lk_delete_range(no_db, no_tree, NULL, NULL, e));
  ZERO(lk_clear_tree(no_db, no_tree, e));
  ZERO(lk_sync(no_db, e));
  ZERO(lk_run(no_db, NULL, no_body, NULL, e));
  ZERO(lk_bulk_loader_create(no_db, lk_text("t"), NULL, &made_loader, e));
  ZERO(lk_bulk_loader_put(loader, lk_text("k"), lk_text("v"), e));
  ZERO(lk_bulk_loader_finish(loader, &tree, e));
  ZERO(lk_bulk_loader_release(loader, e));
  ZERO(lk_backup(no_db, "backups", NULL, NULL, e));
  ZERO(lk_compact(no_db, NULL, NULL, e));
  ZERO(lk_backups_at(backups, 0, &info, e));
  ZERO(lk_backups_release(backups, e));
  ZERO(lk_txn_commit_with(no_txn, NULL, e));
  ZERO(lk_txn_multi_get(no_txn, no_tree, NULL, 0, &value, NULL, e));
  ZERO(lk_checkpoint(no_db, e));
  ZERO(lk_set_cache_size(no_db, 1, e));
  ZERO(lk_verify(no_db, e));
  ZERO(lk_page_size(no_db, &size, e));
  ZERO(lk_device_description(no_db, &value, e));
  ZERO(lk_metrics(no_db, LK_METRICS_JSON, &value, e));
  ZERO(lk_reset_statistics_extremes(no_db, e));
  ZERO(lk_statistics_take(no_db, &made_statistics, e));
  ZERO(lk_statistics_at(statistics, 0, &statistic, e));
  ZERO(lk_statistics_find(statistics, "hits", &statistic, e));
  ZERO(lk_statistics_release(statistics, e));
  ZERO(lk_begin(no_db, NULL, &txn, e));
  ZERO(lk_txn_commit(no_txn, e));
  ZERO(lk_txn_rollback(no_txn, e));
  ZERO(lk_txn_get(no_txn, no_tree, lk_text("k"), &value, e));
  ZERO(lk_txn_get_for_update(no_txn, no_tree, lk_text("k"), &value, e));
  ZERO(lk_txn_put(no_txn, no_tree, lk_text("k"), lk_text("v"), e));
  ZERO(lk_txn_insert(no_txn, no_tree, lk_text("k"), lk_text("v"), e));
  ZERO(lk_txn_delete(no_txn, no_tree, lk_text("k"), e));
  ZERO(lk_txn_prefetch(no_txn, NULL, NULL, 0, e));
  ZERO(lk_txn_get_part(no_txn, no_tree, lk_text("k"), 0, 1, &value, NULL, e));
  ZERO(lk_txn_put_begin(no_txn, no_tree, lk_text("k"), e));
  ZERO(lk_txn_put_append(no_txn, lk_text("v"), e));
  ZERO(lk_txn_put_finish(no_txn, e));
  ZERO(lk_txn_put_give_up(no_txn, e));
  ZERO(lk_txn_set_savepoint(no_txn, &made_savepoint, e));
  ZERO(lk_txn_rollback_to(no_txn, savepoint, e));
  ZERO(lk_cursor_create(no_txn, no_tree, NULL, NULL, &cursor, e));
  ZERO(lk_cursor_seek_first(no_cursor, NULL, NULL, e));
  ZERO(lk_cursor_seek_last(no_cursor, NULL, NULL, e));
  ZERO(lk_cursor_seek(no_cursor, lk_text("k"), NULL, NULL, e));
  ZERO(lk_cursor_seek_for_prev(no_cursor, lk_text("k"), NULL, NULL, e));
  ZERO(lk_cursor_next(no_cursor, NULL, NULL, e));
  ZERO(lk_cursor_prev(no_cursor, NULL, NULL, e));
  ZERO(lk_cursor_current(no_cursor, NULL, NULL, e));
  ZERO(lk_cursor_read(no_cursor, 1, 1, 1, &value, &count, e));
  ZERO(lk_cursor_fill(no_cursor, 1, 1, NULL, 0, &count, &count, e));
  ZERO(lk_cursor_release(no_cursor, e));
  ZERO(lk_batch_put(batch, no_tree, lk_text("k"), lk_text("v"), e));
  ZERO(lk_batch_delete(batch, no_tree, lk_text("k"), e));
  ZERO(lk_batch_clear(batch, e));
  ZERO(lk_batch_release(batch, e));
  CHECK(lk_batch_count(batch) == 0 && lk_names_count(names) == 0);
  CHECK(lk_statistics_count(statistics) == 0 && lk_backups_count(backups) == 0);
  CHECK(lk_bulk_loader_count(loader) == 0 && !lk_txn_is_vain_to_repeat(no_txn));
  lk_value_release(&value);
  lk_value_release(&value);
  lk_value_release(NULL);
}

static void a_null_pointer_for_a_result_or_a_name_is_an_error(const char *folder) {
  lk_error *e = &test_error;
  lk_options options;
  lk_db db;
  lk_tree tree;
  lk_txn txn;
  const lk_backups no_backups = {0};
  lk_bulk_loader loader;
  lk_backups backups;
  lk_value value = LK_VALUE_INIT;
  open_in_memory(&db, &tree);
  NULL_ARGUMENT(lk_options_create(NULL, e));
  OK(lk_options_create(&options, e));
  NULL_ARGUMENT(lk_options_set(options, NULL, "1", e));
  NULL_ARGUMENT(lk_options_set(options, "seed", NULL, e));
  NULL_ARGUMENT(lk_options_get(options, "seed", NULL, e));
  NULL_ARGUMENT(lk_options_get(options, NULL, &value, e));
  NULL_ARGUMENT(lk_option_at(0, NULL, NULL, e));
  OK(lk_options_release(options, e));
  NULL_ARGUMENT(lk_open(folder, LK_NO_OPTIONS, NULL, e));
  NULL_ARGUMENT(lk_open_tree(db, lk_text("x"), 1, NULL, e));
  NULL_ARGUMENT(lk_list_trees(db, NULL, e));
  NULL_ARGUMENT(lk_get(db, tree, lk_text("k"), NULL, e));
  NULL_ARGUMENT(lk_get(db, tree, lk_slice(NULL, 3), &value, e));
  NULL_ARGUMENT(lk_put(db, tree, lk_slice(NULL, 3), lk_text("v"), e));
  NULL_ARGUMENT(lk_put(db, tree, lk_text("k"), lk_slice(NULL, 3), e));
  NULL_ARGUMENT(lk_page_size(db, NULL, e));
  NULL_ARGUMENT(lk_device_description(db, NULL, e));
  NULL_ARGUMENT(lk_metrics(db, LK_METRICS_JSON, NULL, e));
  NULL_ARGUMENT(lk_statistics_take(db, NULL, e));
  NULL_ARGUMENT(lk_batch_create(NULL, e));
  NULL_ARGUMENT(lk_bulk_loader_create(db, lk_text("x"), NULL, NULL, e));
  NULL_ARGUMENT(lk_bulk_loader_create(db, lk_slice(NULL, 1), NULL, &loader, e));
  NULL_ARGUMENT(lk_rename_tree(db, lk_slice(NULL, 1), lk_text("x"), e));
  NULL_ARGUMENT(lk_backup(db, NULL, NULL, NULL, e));
  NULL_ARGUMENT(lk_list_backups(NULL, &backups, e));
  NULL_ARGUMENT(lk_list_backups(folder, NULL, e));
  NULL_ARGUMENT(lk_check_backups(NULL, NULL, &backups, e));
  NULL_ARGUMENT(lk_check_backups(folder, NULL, NULL, e));
  NULL_ARGUMENT(lk_backups_at(no_backups, 0, NULL, e));
  NULL_ARGUMENT(lk_restore_backup(NULL, folder, NULL, e));
  NULL_ARGUMENT(lk_restore_backup(folder, NULL, NULL, e));
  NULL_ARGUMENT(lk_begin(db, NULL, NULL, e));
  OK(lk_begin(db, NULL, &txn, e));
  NULL_ARGUMENT(lk_txn_get(txn, tree, lk_text("k"), NULL, e));
  NULL_ARGUMENT(lk_txn_get_for_update(txn, tree, lk_slice(NULL, 1), &value, e));
  NULL_ARGUMENT(lk_txn_get_part(txn, tree, lk_text("k"), 0, 1, NULL, NULL, e));
  NULL_ARGUMENT(lk_txn_put_begin(txn, tree, lk_slice(NULL, 1), e));
  OK(lk_txn_put_begin(txn, tree, lk_text("k"), e));
  NULL_ARGUMENT(lk_txn_put_append(txn, lk_slice(NULL, 1), e));
  NULL_ARGUMENT(lk_txn_set_savepoint(txn, NULL, e));
  NULL_ARGUMENT(lk_txn_prefetch(txn, NULL, NULL, 1, e));
  NULL_ARGUMENT(lk_cursor_create(txn, tree, NULL, NULL, NULL, e));
  EXPECT(LK_INVALID_ARGUMENT, lk_txn_put(txn, no_tree, lk_text("k"), lk_text("v"), e));
  EXPECT(LK_INVALID_ARGUMENT, lk_txn_put(txn, no_tree, lk_text("k"), lk_text("v"), NULL));
  OK(lk_txn_rollback(txn, e));
  OK(lk_close(db, e));
  lk_value_release(&value);
}

static void handles_are_over_once_they_were_ended(void) {
  lk_error *e = &test_error;
  lk_db db;
  lk_tree tree;
  lk_txn txn;
  lk_cursor cursor;
  lk_batch batch;
  lk_value value = LK_VALUE_INIT;
  open_in_memory(&db, &tree);
  OK(lk_begin(db, NULL, &txn, e));
  OK(lk_cursor_create(txn, tree, NULL, NULL, &cursor, e));
  OK(lk_txn_commit(txn, e));
  OVER(lk_txn_commit(txn, e));
  OVER(lk_txn_rollback(txn, e));
  OVER(lk_txn_get(txn, tree, lk_text("k"), &value, e));
  OVER(lk_cursor_seek_first(cursor, NULL, NULL, e));
  OK(lk_cursor_release(cursor, e));
  OVER(lk_cursor_release(cursor, e));
  OVER(lk_cursor_next(cursor, NULL, NULL, e));
  OK(lk_batch_create(&batch, e));
  OK(lk_batch_release(batch, e));
  OVER(lk_batch_release(batch, e));
  OVER(lk_write(db, batch, e));
  OK(lk_begin(db, NULL, &txn, e));
  OK(lk_txn_put(txn, tree, lk_text("k"), lk_text("v"), e));
  OK(lk_cursor_create(txn, tree, NULL, NULL, &cursor, e));
  OK(lk_close(db, e));
  OVER(lk_close(db, e));
  CHECK_MESSAGE("database handle is over");
  OVER(lk_put(db, tree, lk_text("k"), lk_text("v"), e));
  OVER(lk_begin(db, NULL, &txn, e));
  CHECK(txn.id == 0);
  OVER(lk_cursor_seek_first(cursor, NULL, NULL, e));
  OK(lk_cursor_release(cursor, e));
  lk_value_release(&value);
}

static void the_transaction_of_a_closed_database_answers_until_it_is_ended(void) {
  lk_error *e = &test_error;
  lk_db db, next;
  lk_tree tree, next_tree;
  lk_txn txn, used_again;
  lk_value value = LK_VALUE_INIT;
  open_in_memory(&db, &tree);
  OK(lk_begin(db, NULL, &txn, e));
  OK(lk_close(db, e));
  OVER(lk_txn_get(txn, tree, lk_text("k"), &value, e));
  OVER(lk_txn_put(txn, tree, lk_text("k"), lk_text("v"), e));
  OK(lk_txn_rollback(txn, e));
  OVER(lk_txn_rollback(txn, e));
  /* Another database has the places of the old handles; these stay over. */
  open_in_memory(&next, &next_tree);
  OK(lk_begin(next, NULL, &used_again, e));
  OVER(lk_txn_put(txn, next_tree, lk_text("k"), lk_text("v"), e));
  OVER(lk_verify(db, e));
  OVER(lk_txn_put(used_again, tree, lk_text("k"), lk_text("v"), e)); /* a tree of the closed one */
  OK(lk_txn_rollback(used_again, e));
  OK(lk_close(next, e));
  lk_value_release(&value);
}

static void structs_of_another_size_are_read_as_far_as_they_are_known(void) {
  struct {
    lk_begin_options known;
    int32_t later;
  } newer = {LK_BEGIN_OPTIONS_INIT, 0};
  struct {
    uint32_t struct_size;
    lk_code code;
    char message[8];
  } small = {16, 0, "......."};
  lk_begin_options older = LK_BEGIN_OPTIONS_INIT;
  lk_error *e = &test_error;
  lk_db db;
  lk_tree tree;
  lk_txn txn;
  open_in_memory(&db, &tree);
  newer.known.struct_size = sizeof newer;
  OK(lk_begin(db, &newer.known, &txn, e));
  OK(lk_txn_rollback(txn, e));
  newer.later = 1;
  EXPECT(LK_INVALID_ARGUMENT, lk_begin(db, &newer.known, &txn, e));
  CHECK_MESSAGE("newer liblatchkey");
  older.struct_size = 3;
  EXPECT(LK_INVALID_ARGUMENT, lk_begin(db, &older, &txn, e));
  CHECK_MESSAGE("LK_BEGIN_OPTIONS_INIT");
  older.struct_size = sizeof older;
  {
    lk_commit_options commit = {3, 0};
    lk_run_options run = LK_RUN_OPTIONS_INIT;
    lk_bulk_load_options load = {4, 0, 0};
    lk_backup_options backup = {4, 0, 0, 0, 0, NULL, NULL};
    lk_backup_info info = {2, 0, 0, 0, 0, 0, 0, 0, 0};
    lk_backup_check_options check = {4, 0, NULL, NULL};
    lk_compact_options compaction = {4, 0, 0, NULL, NULL};
    lk_compact_info compacted = {2, 0, 0, 0, 0, 0};
    lk_restore_options restore = {4, 0, {0}, 0, 0, NULL, NULL};
    lk_bulk_loader loader;
    lk_backups backups;
    OK(lk_begin(db, NULL, &txn, e));
    EXPECT(LK_INVALID_ARGUMENT, lk_txn_commit_with(txn, &commit, e));
    CHECK_MESSAGE("LK_COMMIT_OPTIONS_INIT");
    OK(lk_txn_rollback(txn, e));
    run.reserved = 1;
    EXPECT(LK_INVALID_ARGUMENT, lk_run(db, &run, no_body, NULL, e));
    CHECK_MESSAGE("newer liblatchkey");
    EXPECT(LK_INVALID_ARGUMENT, lk_bulk_loader_create(db, lk_text("x"), &load, &loader, e));
    EXPECT(LK_INVALID_ARGUMENT, lk_backup(db, "nowhere", &backup, NULL, e));
    CHECK_MESSAGE("LK_BACKUP_OPTIONS_INIT");
    EXPECT(LK_INVALID_ARGUMENT, lk_backup(db, "nowhere", NULL, &info, e));
    CHECK_MESSAGE("LK_BACKUP_INFO_INIT");
    EXPECT(LK_INVALID_ARGUMENT, lk_compact(db, &compaction, NULL, e));
    CHECK_MESSAGE("LK_COMPACT_OPTIONS_INIT");
    EXPECT(LK_INVALID_ARGUMENT, lk_compact(db, NULL, &compacted, e));
    CHECK_MESSAGE("LK_COMPACT_INFO_INIT");
    EXPECT(LK_INVALID_ARGUMENT, lk_check_backups("nowhere", &check, &backups, e));
    EXPECT(LK_INVALID_ARGUMENT, lk_restore_backup("nowhere", "new", &restore, e));
  }
  older.isolation = 7;
  EXPECT(LK_INVALID_ARGUMENT, lk_begin(db, &older, &txn, e));
  CHECK_MESSAGE("isolation=7");
  OVER(lk_close((lk_db){99}, (lk_error *)(void *)&small)); /* the message is cut to its room */
  CHECK(small.code == LK_FAILED_PRECONDITION && strcmp(small.message, "the dat") == 0);
  OK(lk_close(db, e));
}

/* ---- Handles of many threads. */

struct work {
  lk_db db;
  lk_tree tree;
  int committed;
};
static void *commit_often(void *context) {
  struct work *work = context;
  char key[32];
  int i;
  for (i = 0; i < 500; ++i) {
    lk_txn txn;
    snprintf(key, sizeof key, "%p-%d", context, i);
    OK(lk_begin(work->db, NULL, &txn, NULL));
    OK(lk_txn_put(txn, work->tree, lk_text(key), lk_text("v"), NULL));
    OK(lk_txn_commit(txn, NULL));
    OVER(lk_txn_commit(txn, NULL));
    work->committed++;
  }
  return NULL;
}

static void threads_begin_and_end_transactions_at_once(void) {
  struct work work[4];
  pthread_t threads[4];
  lk_db db;
  lk_tree tree;
  int i;
  open_in_memory(&db, &tree);
  for (i = 0; i < 4; ++i) {
    work[i].db = db;
    work[i].tree = tree;
    work[i].committed = 0;
    CHECK(pthread_create(&threads[i], NULL, commit_often, &work[i]) == 0);
  }
  for (i = 0; i < 4; ++i) {
    CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK(work[i].committed == 500);
  }
  OK(lk_close(db, &test_error));
}

void test_misuse(const char *folder) {
  a_zero_handle_is_an_error_of_every_call();
  a_null_pointer_for_a_result_or_a_name_is_an_error(folder);
  handles_are_over_once_they_were_ended();
  the_transaction_of_a_closed_database_answers_until_it_is_ended();
  structs_of_another_size_are_read_as_far_as_they_are_known();
  threads_begin_and_end_transactions_at_once();
}
