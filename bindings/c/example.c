/* A first program in C. From an installed Latchkey:
 *
 *   cc -std=c99 example.c $(pkg-config --cflags --libs latchkey) -o example && ./example
 */
#include <latchkey/latchkey_c.h>
#include <stdio.h>

/* Moves 10 from alice to bob, or changes nothing. */
static lk_code transfer(lk_db db, lk_tree accounts, lk_error *error) {
  lk_code code;
  do { /* LK_ABORTED: another transaction was first, so run it again */
    lk_txn txn;
    code = lk_begin(db, NULL, &txn, error);
    if (code != LK_OK) return code;
    code = lk_txn_put(txn, accounts, lk_text("alice"), lk_text("90"), error);
    if (code == LK_OK) code = lk_txn_put(txn, accounts, lk_text("bob"), lk_text("10"), error);
    if (code == LK_OK) {
      code = lk_txn_commit(txn, error);
      if (code == LK_RESOURCE_EXHAUSTED) lk_txn_rollback(txn, NULL);
    } else {
      lk_txn_rollback(txn, NULL);
    }
  } while (code == LK_ABORTED);
  return code;
}

static lk_code print_all(lk_db db, lk_tree accounts, lk_error *error) {
  lk_begin_options read_only = LK_BEGIN_OPTIONS_INIT;
  lk_txn reader;
  lk_cursor row = {0};
  lk_bytes key, value;
  lk_code code;
  read_only.read_only = 1;
  code = lk_begin(db, &read_only, &reader, error);
  if (code != LK_OK) return code;
  code = lk_cursor_create(reader, accounts, NULL, NULL, &row, error);
  if (code == LK_OK) code = lk_cursor_seek_first(row, &key, &value, error);
  for (; code == LK_OK; code = lk_cursor_next(row, &key, &value, error)) {
    printf("%.*s has %.*s\n", (int)key.size, (const char *)key.data, (int)value.size,
           (const char *)value.data);
  }
  if (row.id != 0) lk_cursor_release(row, NULL);
  lk_txn_rollback(reader, NULL);
  return code == LK_NOT_FOUND ? LK_OK : code; /* not found: the cursor is behind the last record */
}

int main(void) {
  lk_error error = LK_ERROR_INIT;
  lk_db db;
  lk_tree accounts;
  lk_code code = lk_open("accounts.db", LK_NO_OPTIONS, &db, &error);
  if (code == LK_OK) {
    code = lk_open_tree(db, lk_text("accounts"), 1, &accounts, &error);
    if (code == LK_OK) code = transfer(db, accounts, &error);
    if (code == LK_OK) code = print_all(db, accounts, &error);
    if (code == LK_OK) code = lk_close(db, &error);
    else lk_close(db, NULL);
  }
  if (code == LK_OK) return 0;
  fprintf(stderr, "%s: %s\n", lk_code_name(code), error.message);
  return 1;
}
