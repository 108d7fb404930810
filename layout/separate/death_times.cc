#include "layout/separate/death_times.h"

#include <algorithm>
#include <bit>

namespace latchkey {
namespace {

constexpr uint32_t kPart = 16;  // of a tick
constexpr uint32_t kLongest = 0xffff;
// The mean interval of a page that was never written since the store was opened.
constexpr uint32_t kUnknown = DeathTimes::kTicks * kPart;
// Ages wrap at 2^16 ticks. Older ones are set back to kOld, once in kSweep ticks.
constexpr uint32_t kOld = 0xc000, kSweep = 0x2000;

uint32_t MeanOf(uint32_t word) {
  const uint32_t mean = word & 0xffff;
  return mean == 0 ? kUnknown : mean;
}

// 0 if another thread has written the page since `now` was read.
uint32_t AgeOf(uint32_t word, uint32_t now) {
  constexpr uint32_t kFuture = 0xf000;  // above every age that the sweep leaves
  const uint32_t age = (now - (word >> 16)) & 0xffff;
  return age >= kFuture ? 0 : age;
}

}  // namespace

void DeathTimes::OnWrite(PageId id, uint64_t live) {
  const uint64_t tick = std::max<uint64_t>(1, live / kTicks);
  uint64_t count = writes_.fetch_add(1, std::memory_order_relaxed) + 1;
  if (count >= tick && writes_.compare_exchange_strong(count, 0, std::memory_order_relaxed)) {
    EndTick();
  }
  std::atomic<uint32_t>* word = words_.Make(id);
  if (word == nullptr) return;
  const uint32_t now = now_.load(std::memory_order_relaxed);
  const uint32_t before = word->load(std::memory_order_relaxed);
  // The first write since the open ends no interval: the page may be new.
  const uint32_t interval =
      (before & 0xffff) == 0 ? kUnknown : std::min(AgeOf(before, now) * kPart, kLongest);
  const uint32_t mean = (MeanOf(before) * (kMemory - 1) + interval + kMemory / 2) / kMemory;
  // If two threads write the page at once, one of the two intervals is lost.
  word->store((now & 0xffff) << 16 | std::clamp(mean, uint32_t{1}, kLongest),
              std::memory_order_relaxed);
}

// One thread ends each tick. It sets ages back in one of kSweep parts of the pages.
void DeathTimes::EndTick() {
  const uint32_t now = now_.fetch_add(1, std::memory_order_relaxed) + 1;
  const uint64_t size = words_.size(), part = size / kSweep + 1;
  const uint64_t first = uint64_t{now % kSweep} * part;
  for (uint64_t i = first; i < std::min(size, first + part); ++i) {
    std::atomic<uint32_t>* word = words_.Find(PageId{i});
    uint32_t bits = word->load(std::memory_order_relaxed);
    if (AgeOf(bits, now) <= kOld) continue;
    word->compare_exchange_strong(bits, ((now - kOld) & 0xffff) << 16 | (bits & 0xffff),
                                  std::memory_order_relaxed);
  }
}

double DeathTimes::ExpectedInterval(PageId id) const {
  const uint32_t word = words_.Load(id);
  return static_cast<double>(MeanOf(word)) / kPart +
         static_cast<double>(AgeOf(word, now_.load(std::memory_order_relaxed))) / kMemory;
}

uint32_t DeathTimes::ClassOf(PageId id) const {
  constexpr uint32_t kSoonest = kTicks / 8;  // in ticks
  const auto times = static_cast<uint32_t>(ExpectedInterval(id) / kSoonest);
  return std::min<uint32_t>(kClasses - 1, (static_cast<uint32_t>(std::bit_width(times)) + 1) / 2);
}

}  // namespace latchkey
