// Exempts the simulation's own allocations from tests that let allocations fail, because the
// simulation has no caller to which it could report the failure. Only the simulation, its devices
// and the tests of failing allocations use this header. An exempt scope costs one increment.
#pragma once

#include <cstdint>
#include <utility>

namespace latchkey {

/// Above 0, allocations are the simulation's, not the engine's. Each fiber has its own value
/// (Fiber::JumpTo saves and restores it).
inline thread_local uint32_t exempt_allocations = 0;

/// Exempts the allocations of a scope.
class [[nodiscard]] ExemptAllocations {
 public:
  ExemptAllocations() { ++exempt_allocations; }
  ~ExemptAllocations() { --exempt_allocations; }
  ExemptAllocations(const ExemptAllocations&) = delete;
  ExemptAllocations& operator=(const ExemptAllocations&) = delete;
};

/// Inside an exempt scope: the allocations of this inner scope count again.
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
