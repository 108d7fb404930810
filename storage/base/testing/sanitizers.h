// Whether a test runs under a sanitizer, and so several times as long.
#pragma once

#include "storage/base/racy_memory.h"

namespace latchkey {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kAddressSanitizer = true;
#else
inline constexpr bool kAddressSanitizer = false;
#endif

/// Tests of much repetition are shorter if it is true.
inline constexpr bool kSanitizer = kThreadSanitizer || kAddressSanitizer;

}  // namespace latchkey
