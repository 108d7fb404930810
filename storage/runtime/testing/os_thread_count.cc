// Counts the OS threads that a test program starts, and tells the number at its end ("os threads: 3"). A test that
// starts none has nothing to show under ThreadSanitizer: tools/test runs the others there. It replaces
// pthread_create of the C library, so it is no part of a library, nor of a program with sanitizers.
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cstdio>

namespace {

std::atomic<unsigned> started{0};

struct TellAtEnd {
  ~TellAtEnd() {
    if (started > 0) std::printf("os threads: %u\n", started.load());
  }
} tell_at_end;

}  // namespace

// NOLINTBEGIN(readability-identifier-naming)
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*),
                              void* argument) noexcept {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const Create create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  started.fetch_add(1, std::memory_order_relaxed);
  return create(thread, attributes, run, argument);
}
// NOLINTEND(readability-identifier-naming)
