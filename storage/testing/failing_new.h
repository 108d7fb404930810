// Replaces the global operator new and delete by ones that fail as AllocationFaults says, so
// exactly one file of a program includes it.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

#include "storage/testing/allocation_faults.h"

namespace latchkey {

namespace failing_new {

inline void* Allocate(size_t size, size_t alignment) {
  if (AllocationFaults::Fails(size)) return nullptr;
  if (size == 0) size = 1;
  if (alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__) return std::malloc(size);
  return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

inline void* AllocateOrThrow(size_t size, size_t alignment) {
  void* memory = Allocate(size, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace failing_new
}  // namespace latchkey

// NOLINTBEGIN(misc-definitions-in-headers)
void* operator new(size_t size) { return latchkey::failing_new::AllocateOrThrow(size, 1); }
void* operator new[](size_t size) { return latchkey::failing_new::AllocateOrThrow(size, 1); }
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return latchkey::failing_new::Allocate(size, 1);
}
void* operator new[](size_t size, const std::nothrow_t&) noexcept {
  return latchkey::failing_new::Allocate(size, 1);
}
void* operator new(size_t size, std::align_val_t alignment) {
  return latchkey::failing_new::AllocateOrThrow(size, static_cast<size_t>(alignment));
}
void* operator new[](size_t size, std::align_val_t alignment) {
  return latchkey::failing_new::AllocateOrThrow(size, static_cast<size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }
// NOLINTEND(misc-definitions-in-headers)
