// ForkObserver: an object that is told, in the child of a fork(), that it is in another process.
//
// A fork copies the memory of a process but only the thread that called it. The copy of a database
// in the child has no page cleaners and no log flusher, its latches may be held by threads that do
// not exist there, and its file descriptors are those of the parent: nothing of it may be used.
// OnForkInChild lets such an object change a word that its calls look at anyway, so that a call
// needs no getpid() to notice.
//
// The children of vfork() and posix_spawn() are not told: all that they may do is exec. A process
// made by a bare clone() system call is not told either.
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

  /// Calls `visit` for every object between Watch and Unwatch. No fork happens meanwhile, and none
  /// of them goes. `visit` neither waits nor calls Watch or Unwatch.
  static void VisitAll(absl::FunctionRef<void(const ForkObserver&)> visit);

 protected:
  ForkObserver() = default;
  virtual ~ForkObserver() = default;

  /// From the end of the most derived constructor on, until Unwatch, forks are told. Allocates
  /// nothing.
  void Watch();
  /// Waits for the visitors. To be called by the most derived destructor at the latest; idempotent.
  void Unwatch();

 private:
  friend class ForkObserverList;
  ForkObserver* next_ = nullptr;
  ForkObserver* previous_ = nullptr;
  bool is_watched_ = false;
};

}  // namespace latchkey
