// Fibers: stacks that one OS thread switches between, and the switch itself.
//
// A switch saves and restores what a called function must preserve (the calling conventions of
// x86-64 and aarch64), and the thread's state of C++ exceptions, so that a fiber may give up
// control from inside a destructor that unwinding calls. The sanitizers are told of every switch.
//
// Thread-safety: none. A fiber stays on the OS thread on which it was started.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace latchkey {

/// Hands out stacks of one size with an inaccessible page below each, and keeps them for reuse: by
/// itself, and in the end by later ones on the same OS thread, since mapping a stack and touching
/// it for the first time takes longer than a short run of it.
class FiberStacks {
 public:
  /// `bytes` is rounded up to pages; sanitizers, whose frames are larger, get four times as much.
  explicit FiberStacks(size_t bytes);
  /// Ends every stack, those in use too.
  ~FiberStacks();
  FiberStacks(const FiberStacks&) = delete;
  FiberStacks& operator=(const FiberStacks&) = delete;

  /// The lowest address of a stack; nullptr when the system has no memory for it.
  std::byte* Take();
  void Return(std::byte* stack);
  size_t bytes() const { return bytes_; }

 private:
  const size_t bytes_;
  std::vector<std::byte*> all_, free_;
};

/// One flow of control: the thread's own (made by default), or one on a stack from FiberStacks.
class Fiber {
 public:
  using Entry = void (*)(void* argument);

  Fiber() = default;
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Prepares `entry(argument)`, which must never return, to run at the first switch to this fiber.
  /// False when there is no memory for a stack. REQUIRES: it has no stack.
  bool Prepare(FiberStacks& stacks, Entry entry, void* argument);
  /// Gives the stack back. REQUIRES: nothing runs on it, nor ever will.
  void Release(FiberStacks& stacks);
  /// Forgets the fiber but leaves its stack as it is, for others that point into it, until `stacks`
  /// go. REQUIRES: nothing ever runs on it again.
  void Abandon();

  /// Suspends `from`, which is running, and goes on in `to`; returns when somebody switches back.
  static void Switch(Fiber& from, Fiber& to);
  /// As Switch, out of a fiber that never runs again.
  [[noreturn]] static void SwitchForGood(Fiber& from, Fiber& to);

 private:
  static void Arrive(void* fiber);
  static void JumpTo(Fiber& from, Fiber& to, bool for_good);
  static void AfterSwitch(Fiber& here);

  void* stack_pointer_ = nullptr;
  std::byte* stack_ = nullptr;
  const void* stack_bottom_ = nullptr;  // as the address sanitizer wants it
  size_t stack_size_ = 0;
  Entry entry_ = nullptr;
  void* argument_ = nullptr;
  uint64_t exceptions_[2] = {0, 0};  // __cxa_eh_globals: those caught now, the number uncaught
  uint32_t exempt_allocations_ = 0;
  void* fake_stack_ = nullptr;       // of the address sanitizer
  void* sanitizer_fiber_ = nullptr;  // of the thread sanitizer
};

}  // namespace latchkey
