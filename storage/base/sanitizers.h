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

namespace latchkey {

inline constexpr bool kAddressSanitizer = LATCHKEY_ADDRESS_SANITIZER != 0;
inline constexpr bool kThreadSanitizer = LATCHKEY_THREAD_SANITIZER != 0;
/// A program with a sanitizer takes several times as long, so its tests repeat less.
inline constexpr bool kSanitizer = kAddressSanitizer || kThreadSanitizer;

}  // namespace latchkey
