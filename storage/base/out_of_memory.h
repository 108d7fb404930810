// What a failed allocation becomes: std::bad_alloc inside, one named error at every border.
//
// Inside, code is written so that an exception may fly through: guards let go of what they hold,
// and what changes shared state takes its memory before it changes anything. Where neither is
// possible the store is made read-only rather than left half changed.
#pragma once

#include <absl/status/status.h>

#include <exception>
#include <new>
#include <type_traits>
#include <utility>

namespace latchkey {

/// ResourceExhausted, with the text that names the remedy. Allocates nothing.
absl::Status OutOfMemory();
/// Whether `status` is OutOfMemory(): the call may be tried again when there is memory.
bool IsOutOfMemory(const absl::Status& status);

/// Runs `call`, which returns a Status or a StatusOr; OutOfMemory() when it throws std::bad_alloc.
template <typename Call>
std::invoke_result_t<Call> CatchOutOfMemory(Call&& call) {
  try {
    return std::forward<Call>(call)();
  } catch (const std::bad_alloc&) {
    return OutOfMemory();
  }
}

/// Runs `undo` when the scope is left by an exception, and not otherwise. `undo` must not throw.
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
