/* The checks of the C tests. A failed one prints its line and ends the program. */
#pragma once

#include <latchkey/latchkey_c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern lk_error test_error; /* of the last EXPECT that failed as it should */

#define CHECK(condition)                                                        \
  do {                                                                          \
    if (!(condition)) {                                                         \
      fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
      exit(1);                                                                  \
    }                                                                           \
  } while (0)

/* `call` returns `expected`; it may pass &test_error. */
#define EXPECT(expected, call)                                                        \
  do {                                                                                \
    const lk_code test_code = (call);                                                 \
    if (test_code != (expected)) {                                                    \
      fprintf(stderr, "%s:%d: %s: %s instead of %s: %s\n", __FILE__, __LINE__, #call, \
              lk_code_name(test_code), lk_code_name(expected), test_error.message);   \
      exit(1);                                                                        \
    }                                                                                 \
  } while (0)
#define OK(call) EXPECT(LK_OK, call)

#define CHECK_MESSAGE(part)                                                                       \
  do {                                                                                            \
    if (strstr(test_error.message, part) == NULL) {                                               \
      fprintf(stderr, "%s:%d: no \"%s\" in: %s\n", __FILE__, __LINE__, part, test_error.message); \
      exit(1);                                                                                    \
    }                                                                                             \
  } while (0)

static inline int same(lk_bytes bytes, const char *text) {
  return bytes.size == strlen(text) && memcmp(bytes.data, text, bytes.size) == 0;
}
static inline int holds(const lk_value *value, const char *text) {
  return same(lk_slice(value->data, value->size), text);
}

/* A database in memory with the tree "t". */
void open_in_memory(lk_db *db, lk_tree *tree);

void test_calls(const char *folder);  /* latchkey_c_calls_test.c */
void test_misuse(const char *folder); /* latchkey_c_misuse_test.c */
void test_read_only(const char *folder); /* latchkey_c_read_only_test.c */
