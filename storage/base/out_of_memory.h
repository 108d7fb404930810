// Handling of failed allocations: std::bad_alloc inside, one status at every border.
//
// A border is a public call or the main function of an actor. Inside, code is exception-safe:
// guards release their locks, and a function that changes shared state takes all memory before its
// first change. Where that is not possible, the store becomes read-only, so that no call uses a
// half changed state.
#pragma once

#include <absl/status/status.h>

#include <exception>
#include <new>
#include <type_traits>
#include <utility>

#include "storage/base/thread_annotations.h"

namespace latchkey {

/// ResourceExhausted, with a message that names the remedy. Allocates nothing.
absl::Status OutOfMemory();
/// Whether `status` is OutOfMemory(): the call may be retried when there is memory.
bool IsOutOfMemory(const absl::Status& status);

/// Runs `call`, which returns a Status or a StatusOr; OutOfMemory() when it throws std::bad_alloc.
/// If `call` requires a lock, the caller of CatchOutOfMemory holds it. Clang checks the caller and
/// `call`, but not this function between them.
template <typename Call>
std::invoke_result_t<Call> CatchOutOfMemory(Call&& call) LATCHKEY_NO_THREAD_SAFETY_ANALYSIS {
  try {
    return std::forward<Call>(call)();
  } catch (const std::bad_alloc&) {
    return OutOfMemory();
  }
}

/// Runs `undo` only if the scope is left by an exception. `undo` must not throw.
template <typename Undo>
class [[nodiscard]] OnException {
 public:
  explicit OnException(Undo undo) : undo_(std::move(undo)), thrown_before_(Thrown()) {}
  ~OnException() {
    if (Thrown() > thrown_before_) undo_();
  }
  OnException(const OnException&) = delete;
  OnException& operator=(const OnException&) = delete;

 private:
  static int Thrown() { return std::uncaught_exceptions(); }
  Undo undo_;
  const int thrown_before_;
};

}  // namespace latchkey
