// The sanitizers of this build, for code that must report its stacks to them.
#pragma once

#if defined(__has_feature)
#define LATCHKEY_HAS_FEATURE(feature) __has_feature(feature)
#else
#define LATCHKEY_HAS_FEATURE(feature) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || LATCHKEY_HAS_FEATURE(address_sanitizer)
#define LATCHKEY_ADDRESS_SANITIZER 1
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#include <sanitizer/lsan_interface.h>
#else
#define LATCHKEY_ADDRESS_SANITIZER 0
#endif

#if defined(__SANITIZE_THREAD__) || LATCHKEY_HAS_FEATURE(thread_sanitizer)
#define LATCHKEY_THREAD_SANITIZER 1
#include <sanitizer/tsan_interface.h>
#else
#define LATCHKEY_THREAD_SANITIZER 0
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
