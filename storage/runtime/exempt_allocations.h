// Which allocations count in a test that lets allocations fail: all but those of the simulation
// itself, which has no user to tell. Costs the simulation an increment; nothing else uses it.
#pragma once

#include <cstdint>
#include <utility>

namespace latchkey {

/// > 0: what the caller allocates is not the engine's. Each fiber has its own (Fiber::JumpTo).
inline thread_local uint32_t exempt_allocations = 0;

/// Exempts the allocations of a scope.
class [[nodiscard]] ExemptAllocations {
 public:
  ExemptAllocations() { ++exempt_allocations; }
  ~ExemptAllocations() { --exempt_allocations; }
  ExemptAllocations(const ExemptAllocations&) = delete;
  ExemptAllocations& operator=(const ExemptAllocations&) = delete;
};

/// Inside a scope that is exempt: the allocations of this one count again.
class [[nodiscard]] CountedAllocations {
 public:
  CountedAllocations() : outside_(std::exchange(exempt_allocations, 0)) {}
  ~CountedAllocations() { exempt_allocations = outside_; }
  CountedAllocations(const CountedAllocations&) = delete;
  CountedAllocations& operator=(const CountedAllocations&) = delete;

 private:
  const uint32_t outside_;
};

}  // namespace latchkey
