/* A first program in C: stores a key and reads it. */
#include <latchkey/latchkey_c.h>
#include <stdio.h>

int main(void) {
  lk_error error = LK_ERROR_INIT;
  lk_value value = LK_VALUE_INIT;
  lk_db db;
  lk_tree users;
  lk_code code = lk_open("first_c.db", LK_NO_OPTIONS, &db, &error);
  if (code == LK_OK) {
    code = lk_open_tree(db, lk_text("users"), 1, &users, &error);
    if (code == LK_OK) code = lk_put(db, users, lk_text("ann"), lk_text("Oslo"), &error);
    if (code == LK_OK) code = lk_get(db, users, lk_text("ann"), &value, &error);
    if (code == LK_OK) printf("ann lives in %.*s\n", (int)value.size, value.data);
    lk_value_release(&value);
    if (code == LK_OK) code = lk_close(db, &error);
    else lk_close(db, NULL);
  }
  if (code != LK_OK) fprintf(stderr, "%s: %s\n", lk_code_name(code), error.message);
  return code == LK_OK ? 0 : 1;
}
