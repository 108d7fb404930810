// Invariant checks. A failed check is a bug in Latchkey: it prints the place and aborts.
// User input, device errors and resource limits never reach a check: they are absl::Status.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace latchkey::internal {

[[noreturn]] inline void CheckFailed(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "%s:%d: broken invariant: %s\n", file, line, condition);
  std::abort();
}

}  // namespace latchkey::internal

/// Aborts when `condition` is false, in every build type. For checks that cost a few instructions.
#define LATCHKEY_CHECK(condition)                    \
  (__builtin_expect(static_cast<bool>(condition), 1) \
       ? static_cast<void>(0)                        \
       : ::latchkey::internal::CheckFailed(__FILE__, __LINE__, #condition))

/// As LATCHKEY_CHECK in debug builds. When NDEBUG is defined, `condition` is not even evaluated.
#ifdef NDEBUG
#define LATCHKEY_DCHECK(condition) static_cast<void>(sizeof(condition))
#else
#define LATCHKEY_DCHECK(condition) LATCHKEY_CHECK(condition)
#endif
