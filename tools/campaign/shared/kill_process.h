// A child process that may be killed, and memory that outlives it.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "storage/runtime/runtime.h"

namespace latchkey {

/// Pages that this process shares with its later children. A stored value stays however the child
/// dies. All bytes are zero at first.
class SharedPages {
 public:
  static absl::StatusOr<SharedPages> Map(size_t bytes);
  SharedPages(SharedPages&& other) noexcept { *this = std::move(other); }
  SharedPages& operator=(SharedPages&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~SharedPages();
  void* data() const { return data_; }

 private:
  SharedPages(void* data, size_t bytes) : data_(data), bytes_(bytes) {}
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

/// A `T` in shared pages. T consists of lock-free atomics and plain bytes. Its destructor does not
/// run.
template <typename T>
class Shared {
 public:
  static absl::StatusOr<Shared> Make() {
    absl::StatusOr<SharedPages> pages = SharedPages::Map(sizeof(T));
    if (!pages.ok()) return pages.status();
    return Shared(*std::move(pages));
  }
  T& operator*() const { return *object_; }
  T* operator->() const { return object_; }

 private:
  explicit Shared(SharedPages pages) : pages_(std::move(pages)), object_(new (pages_.data()) T()) {}
  SharedPages pages_;
  T* object_;
};

/// A fork of this process. Thread-safety: one owner. REQUIRES: this process has no other thread
/// when it forks.
class ChildProcess {
 public:
  /// Runs `body` in a child, which exits with its return value and runs no destructor. The kernel
  /// kills the child when its parent ends. A child that does not end dies as hang_guard.h says.
  /// Unavailable: fork failed.
  static absl::StatusOr<std::unique_ptr<ChildProcess>> Start(absl::FunctionRef<int()> body);
  /// Kills the child if it still runs.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// Whether the child has ended; does not wait.
  bool HasEnded();
  /// kill -9. No effect on a child that has ended.
  void Kill();
  /// Waits until the child has ended, or until `is_enough` returns true; the child then goes on.
  void WaitUntil(Runtime& runtime, absl::FunctionRef<bool()> is_enough);
  void WaitForEnd();

  // REQUIRES: it has ended.
  bool was_killed() const;  ///< by SIGKILL: from here, or by itself
  bool ended_well() const;  ///< with 0
  std::string DescribeEnd() const;

 private:
  explicit ChildProcess(pid_t pid) : pid_(pid) {}
  const pid_t pid_;
  bool ended_ = false;
  int status_ = 0;
};

}  // namespace latchkey
