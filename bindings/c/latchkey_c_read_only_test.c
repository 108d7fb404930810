/* Databases that are opened read-only. */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <sys/stat.h>

#include "test.h"

/* A sum over names, bytes and times of the last write of all files in `folder`. It differs if one of them
 * differs. */
static uint64_t sum_of_files(const char *folder) {
  uint64_t sum = 0;
  const struct dirent *entry;
  DIR *const directory = opendir(folder);
  CHECK(directory != NULL);
  while ((entry = readdir(directory)) != NULL) {
    char path[1024];
    struct stat about;
    uint64_t one = 14695981039346656037u; /* FNV-1a */
    FILE *file;
    int byte;
    if (entry->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    for (const char *at = entry->d_name; *at != 0; ++at) one = (one ^ (unsigned char)*at) * 1099511628211u;
    CHECK(stat(path, &about) == 0);
    one = (one ^ (uint64_t)about.st_mtim.tv_sec) * 1099511628211u;
    one = (one ^ (uint64_t)about.st_mtim.tv_nsec) * 1099511628211u;
    file = fopen(path, "rb");
    CHECK(file != NULL);
    while ((byte = fgetc(file)) != EOF) one = (one ^ (uint64_t)byte) * 1099511628211u;
    fclose(file);
    sum += one; /* in any order */
  }
  closedir(directory);
  return sum;
}

static lk_options read_only_options(void) {
  lk_options options;
  OK(lk_options_create(&options, &test_error));
  OK(lk_options_set(options, "read-only", "true", &test_error));
  OK(lk_options_set(options, "cache-size", "2MiB", &test_error));
  return options;
}

static void make_database(const char *path) {
  lk_db db;
  lk_tree tree;
  OK(lk_open(path, LK_NO_OPTIONS, &db, &test_error));
  OK(lk_open_tree(db, lk_text("t"), 1, &tree, &test_error));
  OK(lk_put(db, tree, lk_text("k"), lk_text("kept"), &test_error));
  OK(lk_close(db, &test_error));
}

static void two_readers_read_at_once_and_change_no_file(const char *path) {
  const lk_options options = read_only_options();
  const uint64_t before = sum_of_files(path);
  lk_value value = LK_VALUE_INIT;
  lk_db readers[2], writer;
  lk_tree trees[2];
  for (int i = 0; i < 2; ++i) {
    OK(lk_open(path, options, &readers[i], &test_error));
    OK(lk_open_tree(readers[i], lk_text("t"), 0, &trees[i], &test_error));
  }
  EXPECT(LK_FAILED_PRECONDITION, lk_open(path, LK_NO_OPTIONS, &writer, &test_error));
  for (int i = 0; i < 2; ++i) {
    OK(lk_get(readers[i], trees[i], lk_text("k"), &value, &test_error));
    CHECK(holds(&value, "kept"));
    OK(lk_close(readers[i], &test_error));
  }
  CHECK(sum_of_files(path) == before);
  OK(lk_options_release(options, &test_error));
  lk_value_release(&value);
}

static void a_reader_refuses_each_write_and_goes_on(const char *path) {
  const lk_options options = read_only_options();
  const uint64_t before = sum_of_files(path);
  const lk_bytes k = lk_text("k");
  lk_value value = LK_VALUE_INIT;
  lk_batch batch;
  lk_db db;
  lk_tree tree, made;
  lk_txn txn;
  OK(lk_open(path, options, &db, &test_error));
  OK(lk_open_tree(db, lk_text("t"), 1, &tree, &test_error));
  EXPECT(LK_FAILED_PRECONDITION, lk_put(db, tree, k, lk_text("new"), &test_error));
  CHECK_MESSAGE("opened read-only");
  EXPECT(LK_FAILED_PRECONDITION, lk_delete(db, tree, k, &test_error));
  EXPECT(LK_FAILED_PRECONDITION, lk_open_tree(db, lk_text("u"), 1, &made, &test_error));
  OK(lk_batch_create(&batch, &test_error));
  OK(lk_batch_put(batch, tree, k, lk_text("new"), &test_error));
  EXPECT(LK_FAILED_PRECONDITION, lk_write(db, batch, &test_error));
  OK(lk_batch_release(batch, &test_error));
  OK(lk_begin(db, NULL, &txn, &test_error));
  EXPECT(LK_FAILED_PRECONDITION, lk_txn_put(txn, tree, k, lk_text("new"), &test_error));
  OK(lk_txn_get(txn, tree, k, &value, &test_error));
  CHECK(holds(&value, "kept"));
  OK(lk_txn_commit(txn, &test_error));
  OK(lk_close(db, &test_error));
  CHECK(sum_of_files(path) == before);
  OK(lk_options_release(options, &test_error));
  lk_value_release(&value);
}

static void a_read_only_open_makes_no_database(const char *folder) {
  const lk_options options = read_only_options();
  char path[512];
  struct stat about;
  lk_db db;
  snprintf(path, sizeof path, "%s/none", folder);
  EXPECT(LK_NOT_FOUND, lk_open(path, options, &db, &test_error));
  CHECK_MESSAGE("none");
  CHECK(stat(path, &about) != 0);
  OK(lk_options_release(options, &test_error));
}

void test_read_only(const char *folder) {
  char path[512];
  snprintf(path, sizeof path, "%s/read_only", folder);
  make_database(path);
  two_readers_read_at_once_and_change_no_file(path);
  a_reader_refuses_each_write_and_goes_on(path);
  a_read_only_open_makes_no_database(folder);
}
