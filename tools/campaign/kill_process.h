// A child process that is there to be killed, and memory that outlives it.
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

/// Pages that this process and its later children share: what one of them has stored stays, however
/// it dies. Zeros at first.
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

/// A `T` in shared pages. T consists of lock-free atomics and plain bytes; its destructor is not
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
  /// Runs `body` in a child, which then ends with what it returns, without any destructor. The
  /// child is killed when its parent ends. Unavailable: no process can be made.
  static absl::StatusOr<std::unique_ptr<ChildProcess>> Start(absl::FunctionRef<int()> body);
  /// Kills it if it still runs.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// Whether it has ended; does not wait.
  bool HasEnded();
  /// kill -9. Nothing happens when it has ended already.
  void Kill();
  /// Until it has ended, or `is_enough` says true: then it goes on.
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
