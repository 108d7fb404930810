#include "layout/separate/write_frequency.h"

#include <algorithm>
#include <atomic>
#include <bit>

namespace latchkey {
namespace {

constexpr uint32_t kCountMask = 0xffff;
constexpr uint32_t kMaxHistory = 0xffff;

}  // namespace

void WriteFrequency::OnWrite(PageId id) {
  std::atomic<uint32_t>* word = words_.Make(id);
  if (word == nullptr) return;  // not counted: the page looks cold
  if ((word->load(std::memory_order_relaxed) & kCountMask) < kCountMask - 64) {
    word->fetch_add(1, std::memory_order_relaxed);
  }
}

uint32_t WriteFrequency::History(PageId id) const { return words_.Load(id) >> 16; }

uint32_t WriteFrequency::Rate(PageId id) const {
  const uint32_t word = words_.Load(id);
  return (word >> 16) + (word & kCountMask) * (kUnit / kMemory);
}

size_t WriteFrequency::BucketOf(uint32_t history) {
  if (history < kUnit / 16) return 0;
  const auto log2 = static_cast<uint32_t>(std::bit_width(history)) - 1;
  const uint32_t quarter = (history >> (log2 - 2)) & 3;
  const size_t first = 4 * 4;  // log2 of kUnit / 16
  return std::min<size_t>(kBuckets - 1, 1 + log2 * 4 + quarter - first);
}

uint32_t WriteFrequency::LowerBound(size_t bucket) {
  if (bucket == 0) return 0;
  const auto position = static_cast<uint32_t>(bucket - 1 + 4 * 4);
  return (4 + position % 4) << (position / 4 - 2);
}

WriteFrequency::Distribution WriteFrequency::EndEpoch(uint64_t limit,
                                                      absl::FunctionRef<bool(PageId)> is_live) {
  Distribution distribution;
  for (uint64_t i = 0; i < limit; ++i) {
    if (!is_live(PageId{i})) continue;
    std::atomic<uint32_t>* found = words_.Find(PageId{i});
    if (found == nullptr) {
      distribution.pages[0] += 1;
      continue;
    }
    std::atomic<uint32_t>& word = *found;
    uint32_t old = word.load(std::memory_order_relaxed);
    uint32_t history = 0;
    do {
      history = old >> 16;
      history =
          history - (history + kMemory - 1) / kMemory + (old & kCountMask) * (kUnit / kMemory);
    } while (!word.compare_exchange_weak(old, std::min(history, kMaxHistory) << 16,
                                         std::memory_order_relaxed));
    const size_t bucket = BucketOf(old >> 16);
    distribution.pages[bucket] += 1;
    distribution.writes[bucket] += old & kCountMask;
  }
  return distribution;
}

}  // namespace latchkey
