#include "engine/txn/spilled_writes.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "storage/base/canary.h"
#include "storage/base/hash.h"

namespace latchkey {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kMostLines = size_t{1} << 32;

}  // namespace

// Every process draws its own secret. A user who does not know it cannot choose two keys that have the
// same fingerprint. As long as no two keys have, the table gives the same answers under every secret. So
// a simulation stays repeatable.
SpilledWrites::SpilledWrites(Runtime& runtime)
    : runtime_(runtime),
      latches_(std::make_unique<Latch[]>(kLatches)),
      secret_(MixHash(reinterpret_cast<uintptr_t>(latches_.get()) +
                      MixHash(static_cast<uint64_t>(runtime.Now())))) {}

void SpilledWrites::MakeRoom() {
  const size_t most = most_bytes() / sizeof(Line);
  if (bytes() != 0 || most < kLatches) return;
  const size_t count = std::bit_floor(std::min(most, kMostLines));
  // Lines are met at random, so all of the memory is touched soon.
  const MemoryAdvice advice =
      count * sizeof(Line) < kHugePage ? MemoryAdvice::kNone : MemoryAdvice::kHugePages;
  Replace(std::make_unique<ZeroedArray<Line>>(count, advice), count);
}

void SpilledWrites::Clear() {
  if (bytes() != 0) Replace(nullptr, 0);
}

std::unique_ptr<ZeroedArray<SpilledWrites::Line>> SpilledWrites::Replace(
    std::unique_ptr<ZeroedArray<Line>> lines, size_t count) {
  for (uint32_t i = 0; i < kLatches; ++i) latches_[i].latch.Lock(runtime_);
  lines_.swap(lines);
  bytes_.store(count * sizeof(Line), std::memory_order_relaxed);
  line_mask_.store(count == 0 ? 0 : static_cast<uint32_t>(count - 1), std::memory_order_relaxed);
  first_line_.store(count == 0 ? nullptr : lines_->data(), std::memory_order_relaxed);
  for (uint32_t i = 0; i < kLatches; ++i) latches_[i].latch.Unlock();
  return lines;
}

SpilledWrites::Write SpilledWrites::FingerprintOf(TreeId tree, std::string_view key) const {
  const Hash128Value hash = Hash128(key, secret_);
  return {.low = hash.low + Raw(tree), .high_ts = hash.high << kTsBits};
}

SpilledWrites::Write* SpilledWrites::FindIn(Line& line, const Write& fingerprint) {
  for (Write& write : line.writes) {
    const bool is_it = write.low == fingerprint.low &&
                       (write.high_ts & ~kTsMask) == fingerprint.high_ts && write.ts() != 0;
    if (is_it) return &write;
  }
  return nullptr;
}

void SpilledWrites::Note(uint32_t hash, TreeId tree, std::string_view key, CommitTs ts) {
  if (bytes() == 0 || ts > kTsMask) return;
  Write fingerprint = FingerprintOf(tree, key);
  SpinLatchGuard guard(LatchOf(hash).latch, runtime_);
  if (lines_ == nullptr) return;
  Line& line = LineOf(hash);
  Write* write = FindIn(line, fingerprint);
  if (write != nullptr && write->ts() >= ts) return;
  if (write == nullptr) {
    write = std::ranges::min_element(line.writes, {}, [](const Write& w) { return w.ts(); });
  }
  fingerprint.high_ts |= ts;
  *write = fingerprint;
}

bool SpilledWrites::HasSinceLastRead(uint32_t hash, TreeId tree, std::string_view key, CommitTs ts,
                                     const LiveSnapshots& live) {
  if (bytes() == 0 || ts > kTsMask) return false;
  const Write fingerprint = FingerprintOf(tree, key);
  SpinLatchGuard guard(LatchOf(hash).latch, runtime_);
  if (lines_ == nullptr) return false;
  Write* write = FindIn(LineOf(hash), fingerprint);
  if (write == nullptr || write->ts() >= ts) return false;
  if (live.AnyIn(write->ts(), ts) && !LATCHKEY_CANARY("spilled-write-hides-a-version")) {
    return false;
  }
  write->high_ts = fingerprint.high_ts | ts;
  return true;
}

void SpilledWrites::Prefetch(uint32_t hash) const {
  const Line* const first = first_line_.load(std::memory_order_relaxed);
  if (first == nullptr) return;
  __builtin_prefetch(first + (hash & line_mask_.load(std::memory_order_relaxed)), /*rw=*/1);
}

}  // namespace latchkey
