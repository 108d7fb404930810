#include "storage/base/reserved_memory.h"

#include <sys/mman.h>

#include <cstdint>

namespace latchkey {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;

void* Map(size_t bytes) {
  void* start = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return start == MAP_FAILED ? nullptr : start;
}

}  // namespace

void* ReserveMemory(size_t bytes, MemoryAdvice advice) {
  if (advice == MemoryAdvice::kNone) return Map(bytes);
  // Map one huge page more, then cut both ends to get the alignment.
  auto* raw = static_cast<std::byte*>(Map(bytes + kHugePage));
  if (raw == nullptr) return nullptr;
  const size_t lead = (kHugePage - reinterpret_cast<uintptr_t>(raw) % kHugePage) % kHugePage;
  if (lead > 0) munmap(raw, lead);
  std::byte* start = raw + lead;
  if (kHugePage - lead > 0) munmap(start + bytes, kHugePage - lead);
  AdviseHugePages(start, bytes);
  return start;
}

void AdviseHugePages(void* start, size_t bytes) { madvise(start, bytes, MADV_HUGEPAGE); }

void DiscardMemory(void* start, size_t bytes) { madvise(start, bytes, MADV_DONTNEED); }

void ReleaseMemory(void* start, size_t bytes) {
  if (start != nullptr) munmap(start, bytes);
}

}  // namespace latchkey
