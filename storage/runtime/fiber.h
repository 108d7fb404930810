// Fibers: stacks that one OS thread switches between, and the switch itself.
//
// A switch saves and restores the registers that a called function must preserve (calling
// conventions of x86-64 and aarch64). It also saves the thread's state of C++ exceptions, so that a
// fiber may give up control in a destructor that runs during unwinding. Every switch is reported to
// the sanitizers.
//
// Thread-safety: none. A fiber stays on the OS thread on which it was started.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace latchkey {

/// Hands out stacks of one size, each with an inaccessible page below it, and keeps returned stacks
/// for reuse. Its destructor leaves some free stacks to later FiberStacks on the same OS thread,
/// because mapping a stack and touching it for the first time takes longer than a short run.
class FiberStacks {
 public:
  /// `bytes` is rounded up to pages; sanitizers, whose frames are larger, get four times as much.
  explicit FiberStacks(size_t bytes);
  /// No stack may be used any more, not even one that was not returned.
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

/// One flow of control: the thread's own (default-constructed), or one on a stack of FiberStacks.
class Fiber {
 public:
  using Entry = void (*)(void* argument);

  Fiber() = default;
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Prepares `entry(argument)`, which must never return, to run at the first switch to this fiber.
  /// False when there is no memory for a stack. REQUIRES: it has no stack.
  bool Prepare(FiberStacks& stacks, Entry entry, void* argument);
  /// Gives the stack back. REQUIRES: the fiber does not run, and never will again.
  void Release(FiberStacks& stacks);
  /// Forgets the fiber but leaves its stack unchanged until `stacks` are destroyed, because other
  /// objects may point into it. REQUIRES: the fiber never runs again.
  void Abandon();

  /// Suspends `from`, which is running, and continues `to`. Returns when a fiber switches back.
  static void Switch(Fiber& from, Fiber& to);
  /// As Switch, out of a fiber that never runs again.
  [[noreturn]] static void SwitchForGood(Fiber& from, Fiber& to);

 private:
  static void Arrive(void* fiber);
  static void JumpTo(Fiber& from, Fiber& to, bool for_good);
  static void AfterSwitch(Fiber& here);

  void* stack_pointer_ = nullptr;
  std::byte* stack_ = nullptr;
  const void* stack_bottom_ = nullptr;  // for the address sanitizer
  size_t stack_size_ = 0;
  Entry entry_ = nullptr;
  void* argument_ = nullptr;
  uint64_t exceptions_[2] = {0, 0};  // __cxa_eh_globals: exceptions caught now, number uncaught
  uint32_t exempt_allocations_ = 0;
  void* fake_stack_ = nullptr;       // of the address sanitizer
  [[maybe_unused]] void* sanitizer_fiber_ = nullptr;  // of the thread sanitizer
};

}  // namespace latchkey
