#include "bufferpool/page_table.h"

#include <new>

#include "storage/base/reserved_memory.h"

namespace latchkey {

PageTable::PageTable()
    : chunks_(static_cast<std::atomic<PageWord*>*>(
          ReserveMemory(kChunks * sizeof(std::atomic<PageWord*>), MemoryAdvice::kNone))) {
  if (chunks_ == nullptr) throw std::bad_alloc();
}

PageTable::~PageTable() {
  for (uint64_t i = 0; i < kChunks && memory_bytes_ != 0; ++i) {
    PageWord* chunk = chunks_[i].load(std::memory_order_relaxed);
    if (chunk == nullptr) continue;
    ReleaseMemory(chunk, kChunkWords * sizeof(PageWord));
    memory_bytes_ -= kChunkWords * sizeof(PageWord);
  }
  ReleaseMemory(chunks_, kChunks * sizeof(std::atomic<PageWord*>));
}

PageWord* PageTable::AddChunk(uint64_t index) {
  auto* fresh =
      static_cast<PageWord*>(ReserveMemory(kChunkWords * sizeof(PageWord), MemoryAdvice::kNone));
  if (fresh == nullptr) throw std::bad_alloc();
  PageWord* expected = nullptr;
  if (chunks_[index].compare_exchange_strong(expected, fresh, std::memory_order_acq_rel)) {
    memory_bytes_.fetch_add(kChunkWords * sizeof(PageWord), std::memory_order_relaxed);
    return fresh;
  }
  ReleaseMemory(fresh, kChunkWords * sizeof(PageWord));
  return expected;
}

}  // namespace latchkey
