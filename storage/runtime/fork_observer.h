// ForkObserver: an object that is told, in the child of a fork(), that it is in another process.
//
// A fork copies the memory of a process, but of its threads only the one that called fork(). The
// copy of a database in the child has no page cleaners and no checkpointer, its latches may be held
// by threads that do not exist there, and it shares its open files with the parent. So no call may
// use that copy. In OnForkInChild the object changes a word that its calls read anyway. So a call
// notices the fork without a getpid().
//
// Objects are not told in the children of vfork() and posix_spawn(), because these may do nothing
// but exec. They are not told in a process made by a bare clone() system call either.
//
// Thread-safety: every member may be called from every actor at once.
#pragma once

#include <absl/functional/function_ref.h>

namespace latchkey {

class ForkObserver {
 public:
  ForkObserver(const ForkObserver&) = delete;
  ForkObserver& operator=(const ForkObserver&) = delete;

  /// Runs in the child, before fork() returns there, as the only thread. Stores words; it takes no
  /// lock, allocates nothing and does not throw.
  virtual void OnForkInChild() = 0;

  /// Calls `visit` for every object that is watched now, that is, between Watch and Unwatch. While
  /// VisitAll runs, forks and Unwatch wait for it. `visit` neither waits nor calls Watch or
  /// Unwatch.
  static void VisitAll(absl::FunctionRef<void(const ForkObserver&)> visit);

 protected:
  ForkObserver() = default;
  virtual ~ForkObserver() = default;

  /// From now on, until Unwatch, the object is told about forks. Call it at the end of the most
  /// derived constructor. Allocates nothing.
  void Watch();
  /// Waits for running VisitAll calls. The most derived destructor must call it; idempotent.
  void Unwatch();

 private:
  friend class ForkObserverList;
  ForkObserver* next_ = nullptr;
  ForkObserver* previous_ = nullptr;
  bool is_watched_ = false;
};

}  // namespace latchkey
