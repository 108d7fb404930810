#include "storage/runtime/fiber.h"

#include <cxxabi.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "storage/base/check.h"
#include "storage/runtime/exempt_allocations.h"
#include "storage/runtime/sanitizers.h"

// latchkey_switch_stack(void** save, void* load): pushes the registers that a called function must
// preserve, stores the stack pointer in *save, switches to the stack `load` and pops the registers
// there. The control words of the floating-point units are the same for all fibers and are not
// saved.
extern "C" void latchkey_switch_stack(void** save, void* load);

#if defined(__x86_64__)
asm(R"(
.text
.p2align 4
.globl latchkey_switch_stack
.hidden latchkey_switch_stack
.type latchkey_switch_stack, @function
latchkey_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size latchkey_switch_stack, .-latchkey_switch_stack
)");
#elif defined(__aarch64__)
asm(R"(
.text
.p2align 4
.globl latchkey_switch_stack
.hidden latchkey_switch_stack
.type latchkey_switch_stack, %function
latchkey_switch_stack:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
.size latchkey_switch_stack, .-latchkey_switch_stack
)");
#else
#error "fibers know x86-64 and aarch64: add the switch of this processor here"
#endif

namespace latchkey {
namespace {

size_t PageBytes() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

size_t StackBytes(size_t wanted) {
#if LATCHKEY_ADDRESS_SANITIZER || LATCHKEY_THREAD_SANITIZER
  wanted *= 4;
#endif
  const size_t page = PageBytes();
  return (wanted + page - 1) / page * page;
}

// The fiber that is about to run for the first time. Its entry point has no argument, so it finds
// the fiber here.
thread_local Fiber* arriving = nullptr;

// The registers of a fiber that has not run yet, as latchkey_switch_stack pops them: all zero
// except the return address. Above them lies the return address of the entry, zero, which ends
// every stack trace.
void* FirstStackPointer(std::byte* stack, size_t bytes, void (*entry)()) {
#if defined(__x86_64__)
  constexpr size_t kWords = 10, kReturnAddress = 6;
#else
  constexpr size_t kWords = 20, kReturnAddress = 11;
#endif
  auto* words = reinterpret_cast<uint64_t*>(stack + bytes) - kWords;
  std::memset(words, 0, kWords * sizeof(uint64_t));
  words[kReturnAddress] = reinterpret_cast<uint64_t>(entry);
  return words;
}

}  // namespace

// ---- Stacks

namespace {

// Unused stacks of the thread; of few sizes, mostly one.
struct SpareStacks {
  static constexpr size_t kMost = 64;

  ~SpareStacks() {
    for (const auto& [stack, bytes] : stacks) {
      munmap(stack - PageBytes(), bytes + PageBytes());
    }
  }
  std::byte* Take(size_t bytes) {
    for (auto& spare : stacks) {
      if (spare.second != bytes) continue;
      std::byte* stack = spare.first;
      spare = stacks.back();
      stacks.pop_back();
      return stack;
    }
    return nullptr;
  }

  std::vector<std::pair<std::byte*, size_t>> stacks;
};
thread_local SpareStacks spare_stacks;

}  // namespace

FiberStacks::FiberStacks(size_t bytes) : bytes_(StackBytes(bytes)) {}

FiberStacks::~FiberStacks() {
  for (std::byte* stack : all_) {
    const bool is_free = std::ranges::find(free_, stack) != free_.end();
    if (is_free && spare_stacks.stacks.size() < SpareStacks::kMost) {
      spare_stacks.stacks.emplace_back(stack, bytes_);
    } else {
      munmap(stack - PageBytes(), bytes_ + PageBytes());
    }
  }
}

std::byte* FiberStacks::Take() {
  if (!free_.empty()) {
    std::byte* stack = free_.back();
    free_.pop_back();
    return stack;
  }
  if (std::byte* spare = spare_stacks.Take(bytes_)) {
    all_.push_back(spare);
    return spare;
  }
  const size_t guard = PageBytes();
  void* memory = mmap(nullptr, bytes_ + guard, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  if (mprotect(memory, guard, PROT_NONE) != 0) {
    munmap(memory, bytes_ + guard);
    return nullptr;
  }
  all_.push_back(static_cast<std::byte*>(memory) + guard);
  return all_.back();
}

void FiberStacks::Return(std::byte* stack) {
  const ExemptAllocations simulation;  // this may run in any actor
#if LATCHKEY_ADDRESS_SANITIZER
  __asan_unpoison_memory_region(stack, bytes_);
#endif
  free_.push_back(stack);
}

// ---- Fibers

bool Fiber::Prepare(FiberStacks& stacks, Entry entry, void* argument) {
  LATCHKEY_CHECK(stack_ == nullptr);
  stack_ = stacks.Take();
  if (stack_ == nullptr) return false;
  stack_bottom_ = stack_;
  stack_size_ = stacks.bytes();
  entry_ = entry;
  argument_ = argument;
  exceptions_[0] = exceptions_[1] = 0;
  exempt_allocations_ = 0;
  fake_stack_ = nullptr;
  stack_pointer_ = FirstStackPointer(stack_, stack_size_, [] { Arrive(arriving); });
#if LATCHKEY_THREAD_SANITIZER
  sanitizer_fiber_ = __tsan_create_fiber(0);
#endif
  return true;
}

void Fiber::Release(FiberStacks& stacks) {
  std::byte* stack = stack_;
  Abandon();
  stacks.Return(stack);
}

void Fiber::Abandon() {
#if LATCHKEY_THREAD_SANITIZER
  __tsan_destroy_fiber(sanitizer_fiber_);
  sanitizer_fiber_ = nullptr;
#endif
  stack_ = nullptr;
}

void Fiber::Arrive(void* fiber) {
  auto& here = *static_cast<Fiber*>(fiber);
  AfterSwitch(here);
  here.entry_(here.argument_);
  LATCHKEY_CHECK(false);  // an entry never returns
}

void Fiber::AfterSwitch([[maybe_unused]] Fiber& here) {
#if LATCHKEY_ADDRESS_SANITIZER
  __sanitizer_finish_switch_fiber(here.fake_stack_, nullptr, nullptr);
#endif
}

void Fiber::JumpTo(Fiber& from, Fiber& to, [[maybe_unused]] bool for_good) {
  auto* exceptions = abi::__cxa_get_globals();
  static_assert(sizeof(from.exceptions_) == 2 * sizeof(void*));
  std::memcpy(from.exceptions_, exceptions, sizeof(from.exceptions_));
  std::memcpy(static_cast<void*>(exceptions), to.exceptions_, sizeof(to.exceptions_));
  from.exempt_allocations_ = std::exchange(exempt_allocations, to.exempt_allocations_);
  arriving = &to;
#if LATCHKEY_ADDRESS_SANITIZER
  if (from.stack_bottom_ == nullptr) {  // the thread's own stack
    pthread_attr_t attributes;
    void* bottom = nullptr;
    LATCHKEY_CHECK(pthread_getattr_np(pthread_self(), &attributes) == 0);
    pthread_attr_getstack(&attributes, &bottom, &from.stack_size_);
    pthread_attr_destroy(&attributes);
    from.stack_bottom_ = bottom;
  }
  __sanitizer_start_switch_fiber(for_good ? nullptr : &from.fake_stack_, to.stack_bottom_,
                                 to.stack_size_);
#endif
#if LATCHKEY_THREAD_SANITIZER
  if (from.sanitizer_fiber_ == nullptr) from.sanitizer_fiber_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(to.sanitizer_fiber_, 0);
#endif
  latchkey_switch_stack(&from.stack_pointer_, to.stack_pointer_);
}

void Fiber::Switch(Fiber& from, Fiber& to) {
  JumpTo(from, to, /*for_good=*/false);
  AfterSwitch(from);
}

void Fiber::SwitchForGood(Fiber& from, Fiber& to) {
  JumpTo(from, to, /*for_good=*/true);
  LATCHKEY_CHECK(false);  // no fiber switches back
  std::abort();
}

}  // namespace latchkey
