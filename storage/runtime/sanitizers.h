// What code that reports its stacks and leaks to the sanitizers of this build needs of them.
#pragma once

#include "storage/base/sanitizers.h"

#if LATCHKEY_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#include <sanitizer/lsan_interface.h>
#endif
#if LATCHKEY_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif

namespace latchkey {

/// While it lives, memory that this OS thread allocates may be leaked without a report.
class ScopedLeakAllowance {
 public:
  explicit ScopedLeakAllowance([[maybe_unused]] bool allowed) : allowed_(allowed) {
#if LATCHKEY_ADDRESS_SANITIZER
    if (allowed_) __lsan_disable();
#endif
  }
  ~ScopedLeakAllowance() {
#if LATCHKEY_ADDRESS_SANITIZER
    if (allowed_) __lsan_enable();
#endif
  }
  ScopedLeakAllowance(const ScopedLeakAllowance&) = delete;
  ScopedLeakAllowance& operator=(const ScopedLeakAllowance&) = delete;

 private:
  [[maybe_unused]] const bool allowed_;
};

}  // namespace latchkey
