// The sanitizers of this build.
#pragma once

#if defined(__has_feature)
#define LATCHKEY_HAS_FEATURE(feature) __has_feature(feature)
#else
#define LATCHKEY_HAS_FEATURE(feature) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || LATCHKEY_HAS_FEATURE(address_sanitizer)
#define LATCHKEY_ADDRESS_SANITIZER 1
#else
#define LATCHKEY_ADDRESS_SANITIZER 0
#endif

#if defined(__SANITIZE_THREAD__) || LATCHKEY_HAS_FEATURE(thread_sanitizer)
#define LATCHKEY_THREAD_SANITIZER 1
#else
#define LATCHKEY_THREAD_SANITIZER 0
#endif

#if LATCHKEY_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#elif LATCHKEY_THREAD_SANITIZER
extern "C" void __tsan_read_range(void* from, unsigned long size);  // NOLINT: of the runtime
#endif

#include <cstddef>

namespace latchkey {

inline constexpr bool kAddressSanitizer = LATCHKEY_ADDRESS_SANITIZER != 0;
inline constexpr bool kThreadSanitizer = LATCHKEY_THREAD_SANITIZER != 0;
/// A program with a sanitizer takes several times as long, so its tests repeat less.
inline constexpr bool kSanitizer = kAddressSanitizer || kThreadSanitizer;

/// Tells the sanitizer that code without instrumentation reads [from, from + size): a read outside
/// an object, or a data race, is reported as if it were done here. Nothing without a sanitizer.
inline void SanitizeRead([[maybe_unused]] const void* from, [[maybe_unused]] size_t size) {
#if LATCHKEY_ADDRESS_SANITIZER
  const void* const bad = __asan_region_is_poisoned(const_cast<void*>(from), size);
  if (bad != nullptr) static_cast<void>(*static_cast<const volatile char*>(bad));
#elif LATCHKEY_THREAD_SANITIZER
  if (size > 0) __tsan_read_range(const_cast<void*>(from), size);
#endif
}

}  // namespace latchkey
