/* Goes through every function of the C interface: latchkey_c_tests FOLDER. The databases on files go
 * below FOLDER, which is empty. */
#include "test.h"

lk_error test_error = LK_ERROR_INIT;

void open_in_memory(lk_db *db, lk_tree *tree) {
  lk_options options;
  OK(lk_options_create(&options, &test_error));
  OK(lk_options_set(options, "device", "memory", &test_error));
  OK(lk_options_set(options, "cache-size", "8MiB", &test_error));
  OK(lk_options_set(options, "durability", "none", &test_error));
  OK(lk_open("memory", options, db, &test_error));
  OK(lk_options_release(options, &test_error));
  OK(lk_open_tree(*db, lk_text("t"), 1, tree, &test_error));
}

static void every_option_is_set_by_the_text_that_reads_it(void) {
  lk_options options;
  lk_value value = LK_VALUE_INIT;
  const char *name, *help;
  size_t i;
  OK(lk_options_create(&options, &test_error));
  CHECK(lk_option_count() > 20);
  for (i = 0; i < lk_option_count(); ++i) {
    OK(lk_option_at(i, &name, &help, &test_error));
    CHECK(strlen(name) > 0 && strlen(help) > 0);
    OK(lk_options_get(options, name, &value, &test_error));
    OK(lk_options_set(options, name, value.data, &test_error));
  }
  OK(lk_options_set(options, "cache_size", "12MiB", &test_error));
  OK(lk_options_get(options, "cache-size", &value, &test_error));
  CHECK(holds(&value, "12582912"));
  EXPECT(LK_INVALID_ARGUMENT, lk_options_set(options, "cache-size", "12Q", &test_error));
  CHECK_MESSAGE("cache-size=12Q");
  CHECK_MESSAGE("1048576");
  EXPECT(LK_INVALID_ARGUMENT, lk_options_set(options, "cash-size", "1", &test_error));
  CHECK_MESSAGE("cache-size, page-size");
  EXPECT(LK_NOT_FOUND, lk_options_get(options, "cash-size", &value, &test_error));
  EXPECT(LK_NOT_FOUND, lk_option_at(lk_option_count(), &name, NULL, &test_error));
  lk_value_release(&value);
  OK(lk_options_release(options, &test_error));
}

struct messages {
  int count;
  int ends_with_nul;
};
static void note_message(void *context, int severity, const char *message, size_t size) {
  struct messages *messages = context;
  CHECK(severity >= LK_LOG_DEBUG && severity <= LK_LOG_ERROR);
  messages->count++;
  messages->ends_with_nul = message[size] == '\0' && strlen(message) == size;
}

static void note_event(void *context, int event, const char *message, size_t size, uint64_t duration_ns) {
  int *events = context;
  CHECK(event >= LK_EVENT_CHECKPOINT && event <= LK_EVENT_SLOW_CALL);
  CHECK(message[size] == '\0' && duration_ns > 0);
  events[event]++;
}

static void a_database_on_files_keeps_its_records_and_logs_to_the_sink(const char *folder) {
  struct messages messages = {0, 1};
  int events[LK_EVENT_SLOW_CALL + 1] = {0};
  lk_options options;
  lk_db db, second;
  lk_tree tree;
  lk_value value = LK_VALUE_INIT;
  char path[512];
  int round;
  snprintf(path, sizeof path, "%s/kept.db", folder);
  OK(lk_options_create(&options, &test_error));
  OK(lk_options_set(options, "cache-size", "2MiB", &test_error));
  OK(lk_options_set(options, "page-size", "4096", &test_error));
  OK(lk_options_set_log_sink(options, note_message, &messages, &test_error));
  OK(lk_options_set_event_sink(options, note_event, events, &test_error));
  for (round = 0; round < 2; ++round) {
    OK(lk_open(path, options, &db, &test_error));
    OK(lk_open_tree(db, lk_text("t"), 1, &tree, &test_error));
    if (round == 0) OK(lk_put(db, tree, lk_text("key"), lk_text("kept"), &test_error));
    OK(lk_get(db, tree, lk_text("key"), &value, &test_error));
    CHECK(holds(&value, "kept"));
    EXPECT(LK_FAILED_PRECONDITION, lk_open(path, options, &second, &test_error));
    CHECK(second.id == 0);
    OK(lk_close(db, &test_error));
  }
  CHECK(messages.ends_with_nul);
  CHECK(events[LK_EVENT_CHECKPOINT] > 0);
  OK(lk_options_set_event_sink(options, NULL, NULL, &test_error));
  OK(lk_options_set(options, "error-if-exists", "true", &test_error));
  EXPECT(LK_ALREADY_EXISTS, lk_open(path, options, &second, &test_error));
  CHECK_MESSAGE("kept.db");
  /* A warning: this database has segments too large for the cache that it is opened with. */
  snprintf(path, sizeof path, "%s/large.db", folder);
  OK(lk_options_set(options, "cache-size", "256MiB", &test_error));
  OK(lk_open(path, options, &db, &test_error));
  OK(lk_close(db, &test_error));
  messages.count = 0;
  OK(lk_options_set(options, "error-if-exists", "false", &test_error));
  OK(lk_options_set(options, "cache-size", "2MiB", &test_error));
  OK(lk_open(path, options, &db, &test_error));
  CHECK(messages.count > 0 && messages.ends_with_nul);
  OK(lk_close(db, &test_error));
  OK(lk_options_release(options, &test_error));
  lk_value_release(&value);
}

static void trees_are_opened_listed_and_dropped(void) {
  lk_db db;
  lk_tree tree, other, gone;
  lk_names names;
  lk_bytes name;
  open_in_memory(&db, &tree);
  OK(lk_open_tree(db, lk_text("other"), 1, &other, &test_error));
  OK(lk_list_trees(db, &names, &test_error));
  CHECK(lk_names_count(names) == 2);
  OK(lk_names_at(names, 0, &name, &test_error));
  CHECK(same(name, "t") || same(name, "other"));
  EXPECT(LK_NOT_FOUND, lk_names_at(names, 2, &name, &test_error));
  OK(lk_names_release(names, &test_error));
  EXPECT(LK_NOT_FOUND, lk_open_tree(db, lk_text("none"), 0, &gone, &test_error));
  OK(lk_drop_tree(db, lk_text("other"), &test_error));
  EXPECT(LK_FAILED_PRECONDITION, lk_put(db, other, lk_text("k"), lk_text("v"), &test_error));
  CHECK_MESSAGE("other");
  OK(lk_close(db, &test_error));
}

static void single_calls_and_batches_write_and_read(void) {
  lk_db db;
  lk_tree tree;
  lk_batch batch;
  lk_value value = LK_VALUE_INIT;
  uint32_t page_size;
  open_in_memory(&db, &tree);
  OK(lk_put(db, tree, lk_text("a"), lk_text("1"), &test_error));
  OK(lk_get(db, tree, lk_text("a"), &value, &test_error));
  CHECK(holds(&value, "1"));
  OK(lk_put(db, tree, lk_text(NULL), lk_slice("x\0y", 3), &test_error)); /* the empty key */
  OK(lk_get(db, tree, lk_slice(NULL, 0), &value, &test_error));
  CHECK(value.size == 3 && memcmp(value.data, "x\0y", 3) == 0);
  OK(lk_batch_create(&batch, &test_error));
  OK(lk_batch_put(batch, tree, lk_text("b"), lk_text("2"), &test_error));
  OK(lk_batch_delete(batch, tree, lk_text("a"), &test_error));
  CHECK(lk_batch_count(batch) == 2);
  OK(lk_write(db, batch, &test_error));
  OK(lk_batch_clear(batch, &test_error));
  CHECK(lk_batch_count(batch) == 0);
  OK(lk_batch_release(batch, &test_error));
  EXPECT(LK_NOT_FOUND, lk_get(db, tree, lk_text("a"), &value, &test_error));
  OK(lk_get(db, tree, lk_text("b"), &value, &test_error));
  CHECK(holds(&value, "2"));
  OK(lk_delete(db, tree, lk_text("b"), &test_error));
  EXPECT(LK_NOT_FOUND, lk_get(db, tree, lk_text("b"), &value, NULL));
  OK(lk_checkpoint(db, &test_error));
  OK(lk_verify(db, &test_error));
  OK(lk_set_cache_size(db, 16u << 20, &test_error));
  EXPECT(LK_INVALID_ARGUMENT, lk_set_cache_size(db, 1, &test_error));
  OK(lk_page_size(db, &page_size, &test_error));
  CHECK(page_size == 4096);
  OK(lk_metrics(db, LK_METRICS_PROMETHEUS, &value, &test_error));
  CHECK(strstr(value.data, "\nlatchkey_commits_total ") != NULL);
  OK(lk_metrics(db, LK_METRICS_JSON, &value, &test_error));
  CHECK(strncmp(value.data, "{\"written_at\":", 14) == 0);
  EXPECT(LK_INVALID_ARGUMENT, lk_metrics(db, 2, &value, &test_error));
  OK(lk_device_description(db, &value, &test_error));
  CHECK(value.size > 0);
  OK(lk_close(db, &test_error));
  CHECK(value.size > 0 && value.data[0] != '\0'); /* a value outlives its database */
  lk_value_release(&value);
}

static void a_transaction_is_one_change_with_savepoints(void) {
  lk_begin_options how = LK_BEGIN_OPTIONS_INIT;
  lk_db db;
  lk_tree tree;
  lk_txn writer, reader;
  lk_savepoint before;
  lk_value value = LK_VALUE_INIT;
  lk_tree trees[2];
  lk_bytes keys[2];
  open_in_memory(&db, &tree);
  OK(lk_put(db, tree, lk_text("a"), lk_text("old"), &test_error));
  how.read_only = 1;
  OK(lk_begin(db, &how, &reader, &test_error));
  OK(lk_txn_get(reader, tree, lk_text("a"), &value, &test_error));
  how.read_only = 0;
  how.isolation = LK_ISOLATION_SERIALIZABLE;
  OK(lk_begin(db, &how, &writer, &test_error));
  trees[0] = trees[1] = tree;
  keys[0] = lk_text("a");
  keys[1] = lk_text("b");
  OK(lk_txn_prefetch(writer, trees, keys, 2, &test_error));
  OK(lk_txn_get_for_update(writer, tree, lk_text("a"), &value, &test_error));
  CHECK(holds(&value, "old"));
  OK(lk_txn_put(writer, tree, lk_text("a"), lk_text("new"), &test_error));
  EXPECT(LK_ALREADY_EXISTS,
         lk_txn_insert(writer, tree, lk_text("a"), lk_text("x"), &test_error));
  OK(lk_txn_set_savepoint(writer, &before, &test_error));
  OK(lk_txn_insert(writer, tree, lk_text("b"), lk_text("x"), &test_error));
  OK(lk_txn_delete(writer, tree, lk_text("a"), &test_error));
  EXPECT(LK_NOT_FOUND, lk_txn_get(writer, tree, lk_text("a"), &value, &test_error));
  OK(lk_txn_rollback_to(writer, before, &test_error));
  EXPECT(LK_NOT_FOUND, lk_txn_delete(writer, tree, lk_text("b"), &test_error));
  OK(lk_txn_commit(writer, &test_error));
  OK(lk_txn_get(reader, tree, lk_text("a"), &value, &test_error));
  CHECK(holds(&value, "old")); /* its snapshot */
  EXPECT(LK_FAILED_PRECONDITION,
         lk_txn_put(reader, tree, lk_text("a"), lk_text("x"), &test_error));
  OK(lk_txn_rollback(reader, &test_error));
  OK(lk_get(db, tree, lk_text("a"), &value, &test_error));
  CHECK(holds(&value, "new"));
  lk_value_release(&value);
  OK(lk_close(db, &test_error));
}

static void a_value_is_written_and_read_in_parts(void) {
  static char part[100000];
  lk_db db;
  lk_tree tree;
  lk_txn txn;
  lk_value value = LK_VALUE_INIT;
  uint64_t size = 0;
  int i;
  open_in_memory(&db, &tree);
  OK(lk_put(db, tree, lk_text("film"), lk_text("old"), &test_error));
  OK(lk_begin(db, NULL, &txn, &test_error));
  OK(lk_txn_put_begin(txn, tree, lk_text("film"), &test_error));
  EXPECT(LK_FAILED_PRECONDITION, lk_txn_put_begin(txn, tree, lk_text("other"), &test_error));
  for (i = 0; i < 10; ++i) {
    memset(part, 'a' + i, sizeof part);
    OK(lk_txn_put_append(txn, lk_slice(part, sizeof part), &test_error));
  }
  OK(lk_txn_get(txn, tree, lk_text("film"), &value, &test_error));
  CHECK(holds(&value, "old"));
  EXPECT(LK_FAILED_PRECONDITION, lk_txn_commit(txn, &test_error)); /* it goes on */
  OK(lk_txn_put_finish(txn, &test_error));
  EXPECT(LK_FAILED_PRECONDITION, lk_txn_put_finish(txn, &test_error));
  OK(lk_txn_put_begin(txn, tree, lk_text("other"), &test_error));
  OK(lk_txn_put_append(txn, lk_text("never seen"), &test_error));
  OK(lk_txn_put_give_up(txn, &test_error));
  OK(lk_txn_put_give_up(txn, &test_error));
  EXPECT(LK_FAILED_PRECONDITION, lk_txn_put_append(txn, lk_text("x"), &test_error));
  OK(lk_txn_get_part(txn, tree, lk_text("film"), 399998, 4, &value, &size, &test_error));
  CHECK(holds(&value, "ddee") && size == 1000000);
  OK(lk_txn_get_part(txn, tree, lk_text("film"), 999999, 10, &value, NULL, &test_error));
  CHECK(holds(&value, "j"));
  EXPECT(LK_NOT_FOUND, lk_txn_get_part(txn, tree, lk_text("other"), 0, 1, &value, &size, &test_error));
  OK(lk_txn_commit(txn, &test_error));
  OK(lk_get(db, tree, lk_text("film"), &value, &test_error));
  CHECK(value.size == 1000000);
  OK(lk_verify(db, &test_error));
  lk_value_release(&value);
  OK(lk_close(db, &test_error));
}

static void of_two_writers_one_is_aborted(void) {
  lk_db db;
  lk_tree tree;
  lk_txn first, second;
  lk_value value = LK_VALUE_INIT;
  open_in_memory(&db, &tree);
  OK(lk_begin(db, NULL, &first, &test_error));
  OK(lk_begin(db, NULL, &second, &test_error));
  EXPECT(LK_NOT_FOUND, lk_txn_get(second, tree, lk_text("a"), &value, &test_error));
  OK(lk_txn_put(first, tree, lk_text("a"), lk_text("1"), &test_error));
  OK(lk_txn_commit(first, &test_error));
  EXPECT(LK_ABORTED, lk_txn_put(second, tree, lk_text("a"), lk_text("2"), &test_error));
  EXPECT(LK_FAILED_PRECONDITION, lk_txn_get(second, tree, lk_text("a"), &value, &test_error));
  OK(lk_txn_rollback(second, &test_error));
  lk_value_release(&value);
  OK(lk_close(db, &test_error));
}

static void a_cursor_walks_its_range_both_ways(void) {
  const char *letters[] = {"a", "b", "c", "d", "e"};
  lk_bytes from = lk_text("b"), to = lk_text("e"), key, value;
  lk_db db;
  lk_tree tree;
  lk_txn txn;
  lk_cursor cursor;
  int i;
  open_in_memory(&db, &tree);
  for (i = 0; i < 5; ++i) {
    OK(lk_put(db, tree, lk_text(letters[i]), lk_text(letters[i]), &test_error));
  }
  OK(lk_begin(db, NULL, &txn, &test_error));
  OK(lk_cursor_create(txn, tree, &from, &to, &cursor, &test_error));
  EXPECT(LK_NOT_FOUND, lk_cursor_current(cursor, &key, &value, &test_error));
  CHECK(key.size == 0 && value.size == 0);
  OK(lk_cursor_seek_first(cursor, &key, &value, &test_error));
  CHECK(same(key, "b") && same(value, "b"));
  OK(lk_cursor_next(cursor, &key, NULL, &test_error));
  OK(lk_cursor_next(cursor, &key, NULL, &test_error));
  CHECK(same(key, "d"));
  EXPECT(LK_NOT_FOUND, lk_cursor_next(cursor, &key, &value, &test_error));
  EXPECT(LK_FAILED_PRECONDITION, lk_cursor_next(cursor, &key, &value, &test_error));
  OK(lk_cursor_seek_last(cursor, &key, &value, &test_error));
  CHECK(same(key, "d"));
  OK(lk_cursor_prev(cursor, NULL, &value, &test_error));
  CHECK(same(value, "c"));
  OK(lk_cursor_seek(cursor, lk_text("bb"), &key, NULL, &test_error));
  CHECK(same(key, "c"));
  OK(lk_cursor_seek_for_prev(cursor, lk_text("bb"), &key, NULL, &test_error));
  CHECK(same(key, "b"));
  OK(lk_cursor_current(cursor, &key, &value, &test_error));
  CHECK(same(key, "b"));
  OK(lk_cursor_release(cursor, &test_error));
  OK(lk_txn_commit(txn, &test_error));
  OK(lk_close(db, &test_error));
}

/* Checks the `index`-th record of what lk_cursor_read packed: key and value are `text`. */
static int packed_is(const lk_value *packed, size_t index, const char *text) {
  const char *at = packed->data;
  uint32_t sizes[2];
  for (;; --index) {
    CHECK(at + sizeof sizes <= packed->data + packed->size);
    memcpy(sizes, at, sizeof sizes);
    at += sizeof sizes;
    if (index == 0) break;
    at += sizes[0] + sizes[1];
  }
  return same(lk_slice(at, sizes[0]), text) && same(lk_slice(at + sizes[0], sizes[1]), text);
}

static void a_cursor_packs_many_records_with_one_call(void) {
  const char *letters[] = {"a", "bb", "", "dddd", "e"};
  lk_bytes from = lk_text("a"), key;
  lk_value packed = LK_VALUE_INIT;
  size_t count, i;
  lk_db db;
  lk_tree tree;
  lk_txn txn;
  lk_cursor cursor;
  open_in_memory(&db, &tree);
  for (i = 0; i < 5; ++i) {
    OK(lk_put(db, tree, lk_text(letters[i]), lk_text(letters[i]), &test_error));
  }
  OK(lk_begin(db, NULL, &txn, &test_error));
  OK(lk_cursor_create(txn, tree, &from, NULL, &cursor, &test_error));
  EXPECT(LK_NOT_FOUND, lk_cursor_read(cursor, 1, 9, 99, &packed, &count, &test_error));
  OK(lk_cursor_seek_first(cursor, NULL, NULL, &test_error));
  OK(lk_cursor_read(cursor, 1, 2, 1000, &packed, &count, &test_error));
  CHECK(count == 2 && packed_is(&packed, 0, "a") && packed_is(&packed, 1, "bb"));
  OK(lk_cursor_current(cursor, &key, NULL, &test_error));
  CHECK(same(key, "dddd"));
  OK(lk_cursor_read(cursor, 1, 9, 0, &packed, &count, &test_error)); /* one at least */
  CHECK(count == 1 && packed_is(&packed, 0, "dddd"));
  OK(lk_cursor_read(cursor, 1, 9, 1000, &packed, &count, &test_error));
  CHECK(count == 1 && packed_is(&packed, 0, "e"));
  EXPECT(LK_NOT_FOUND, lk_cursor_read(cursor, 1, 9, 1000, &packed, &count, &test_error));
  CHECK(count == 0);
  OK(lk_cursor_seek_last(cursor, NULL, NULL, &test_error));
  OK(lk_cursor_read(cursor, -1, 9, 5, &packed, &count, &test_error)); /* 2 + 8 bytes: 5 are reached */
  CHECK(count == 2 && packed_is(&packed, 0, "e") && packed_is(&packed, 1, "dddd"));
  EXPECT(LK_INVALID_ARGUMENT, lk_cursor_read(cursor, 0, 9, 9, &packed, &count, &test_error));
  CHECK_MESSAGE("step=0");
  EXPECT(LK_INVALID_ARGUMENT, lk_cursor_read(cursor, 1, 0, 9, &packed, &count, &test_error));
  CHECK_MESSAGE("max_records=0");
  EXPECT(LK_INVALID_ARGUMENT, lk_cursor_read(cursor, 1, 1, 9, NULL, &count, &test_error));
  EXPECT(LK_INVALID_ARGUMENT, lk_cursor_read(cursor, 1, 1, 9, &packed, NULL, &test_error));
  OK(lk_txn_commit(txn, &test_error));
  OK(lk_cursor_read(cursor, -1, 9, 99, &packed, &count, &test_error)); /* on which it stood */
  CHECK(count == 1 && packed_is(&packed, 0, "bb"));
  EXPECT(LK_FAILED_PRECONDITION, lk_cursor_read(cursor, -1, 9, 99, &packed, &count, &test_error));
  CHECK(count == 0);
  OK(lk_cursor_release(cursor, &test_error));
  EXPECT(LK_FAILED_PRECONDITION, lk_cursor_read(cursor, 1, 1, 9, &packed, &count, &test_error));
  OK(lk_close(db, &test_error));
  lk_value_release(&packed);
}

static void a_cursor_fills_the_callers_buffer(void) {
  const char *letters[] = {"a", "bb", "", "dddd"};
  char buffer[64];
  lk_db db;
  lk_tree tree;
  lk_txn txn;
  lk_cursor cursor;
  lk_value packed = LK_VALUE_INIT;
  lk_bytes key;
  size_t size, count, i;
  open_in_memory(&db, &tree);
  for (i = 0; i < 4; ++i) {
    OK(lk_put(db, tree, lk_text(letters[i]), lk_text(letters[i]), &test_error));
  }
  OK(lk_begin(db, NULL, &txn, &test_error));
  OK(lk_cursor_create(txn, tree, NULL, NULL, &cursor, &test_error));
  EXPECT(LK_NOT_FOUND, lk_cursor_fill(cursor, 1, 9, buffer, 64, &size, &count, &test_error));
  OK(lk_cursor_seek_first(cursor, NULL, NULL, &test_error));
  OK(lk_cursor_fill(cursor, 1, 9, buffer, 8 + 10 + 12, &size, &count, &test_error));
  CHECK(count == 3 && size == 30 && memcmp(buffer + 8, "\1\0\0\0\1\0\0\0aa", 10) == 0);
  OK(lk_cursor_fill(cursor, 1, 9, buffer, 15, &size, &count, &test_error));
  CHECK(count == 0 && size == 16); /* what the next record needs */
  OK(lk_cursor_current(cursor, &key, NULL, &test_error));
  CHECK(same(key, "dddd"));
  OK(lk_cursor_fill(cursor, 1, 9, NULL, 0, &size, &count, &test_error));
  CHECK(count == 0 && size == 16);
  EXPECT(LK_INVALID_ARGUMENT, lk_cursor_fill(cursor, 1, 9, NULL, 1, &size, &count, &test_error));
  EXPECT(LK_INVALID_ARGUMENT, lk_cursor_fill(cursor, 2, 9, buffer, 1, &size, &count, &test_error));
  EXPECT(LK_INVALID_ARGUMENT, lk_cursor_fill(cursor, 1, 0, buffer, 1, &size, &count, &test_error));
  EXPECT(LK_INVALID_ARGUMENT, lk_cursor_fill(cursor, 1, 9, buffer, 64, NULL, &count, &test_error));
  EXPECT(LK_INVALID_ARGUMENT, lk_cursor_fill(cursor, 1, 9, buffer, 64, &size, NULL, &test_error));
  OK(lk_cursor_fill(cursor, -1, 2, buffer, 64, &size, &count, &test_error));
  CHECK(count == 2 && size == 28 && memcmp(buffer + 8, "dddddddd", 8) == 0);
  /* Memory that is larger than what it shows: a key goes behind what it shows. */
  OK(lk_cursor_seek_first(cursor, NULL, NULL, &test_error));
  OK(lk_cursor_read(cursor, 1, 9, 1000, &packed, &count, &test_error));
  CHECK(count == 4 && packed.size == 8 + 10 + 12 + 16);
  OK(lk_key_add_uint(&packed, 1, &test_error));
  CHECK(packed.size == 54 && packed.data[53] == 1 && packed.data[45] == 'd');
  OK(lk_cursor_release(cursor, &test_error));
  EXPECT(LK_FAILED_PRECONDITION, lk_cursor_fill(cursor, 1, 9, buffer, 64, &size, &count, &test_error));
  OK(lk_close(db, &test_error));
  lk_value_release(&packed);
}

static void statistics_are_found_by_name_and_by_index(void) {
  lk_statistic one = LK_STATISTIC_INIT, again = LK_STATISTIC_INIT;
  lk_statistics statistics;
  lk_db db;
  lk_tree tree;
  size_t i;
  open_in_memory(&db, &tree);
  OK(lk_put(db, tree, lk_text("a"), lk_text("1"), &test_error));
  OK(lk_statistics_take(db, &statistics, &test_error));
  CHECK(lk_statistics_count(statistics) > 60);
  for (i = 0; i < lk_statistics_count(statistics); ++i) {
    OK(lk_statistics_at(statistics, i, &one, &test_error));
    OK(lk_statistics_find(statistics, one.name, &again, &test_error));
    CHECK(again.name == one.name && again.integer == one.integer);
    CHECK(one.is_measured || (one.integer == 0 && one.real == 0));
  }
  OK(lk_statistics_find(statistics, "commits", &one, &test_error));
  CHECK(one.is_measured && one.is_integer && one.integer >= 1);
  OK(lk_statistics_find(statistics, "log.records", &one, &test_error));
  CHECK(!one.is_measured); /* durability none has no log */
  EXPECT(LK_NOT_FOUND, lk_statistics_at(statistics, i, &one, &test_error));
  EXPECT(LK_NOT_FOUND, lk_statistics_find(statistics, "comits", &one, &test_error));
  CHECK_MESSAGE("commits");
  OK(lk_reset_statistics_extremes(db, &test_error));
  OK(lk_close(db, &test_error));
  OK(lk_statistics_find(statistics, "commits", &one, &test_error)); /* they outlive the database */
  OK(lk_statistics_release(statistics, &test_error));
}

static void codes_and_the_version_have_names(void) {
  CHECK(strcmp(lk_code_name(LK_DATA_LOSS), "DATA_LOSS") == 0);
  CHECK(strcmp(lk_code_name(77), "?") == 0);
  CHECK(strchr(lk_version(), '.') != NULL);
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  codes_and_the_version_have_names();
  every_option_is_set_by_the_text_that_reads_it();
  a_database_on_files_keeps_its_records_and_logs_to_the_sink(argv[1]);
  trees_are_opened_listed_and_dropped();
  single_calls_and_batches_write_and_read();
  a_transaction_is_one_change_with_savepoints();
  a_value_is_written_and_read_in_parts();
  of_two_writers_one_is_aborted();
  a_cursor_walks_its_range_both_ways();
  a_cursor_packs_many_records_with_one_call();
  a_cursor_fills_the_callers_buffer();
  statistics_are_found_by_name_and_by_index();
  test_calls(argv[1]);
  test_misuse(argv[1]);
  test_read_only(argv[1]);
  printf("the C interface does what its header says\n");
  return 0;
}
