#include "engine/txn/known_writes.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "storage/base/canary.h"
#include "storage/base/hash.h"

namespace latchkey {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
// Less memory than this is not worth a table.
constexpr size_t kLeastLines = 64;
constexpr size_t kMostLines = size_t{1} << 32;

}  // namespace

// Every process draws its own secret. Without the secret a user cannot choose two keys with the same
// fingerprint. While all fingerprints differ, the table gives the same answers under every secret. So a
// simulation stays repeatable.
KnownWrites::KnownWrites(Runtime& runtime)
    : runtime_(runtime),
      locks_(std::make_unique<Lock[]>(kLocks)),
      secret_(MixHash(reinterpret_cast<uintptr_t>(locks_.get()) +
                      MixHash(static_cast<uint64_t>(runtime.Now())))) {}

void KnownWrites::MakeRoom() {
  const size_t most = most_bytes() / sizeof(Line);
  if (bytes() != 0 || most < kLeastLines) return;
  const size_t count = std::bit_floor(std::min(most, kMostLines));
  // Lines are met at random, so all of the memory is touched soon.
  const MemoryAdvice advice =
      count * sizeof(Line) < kHugePage ? MemoryAdvice::kNone : MemoryAdvice::kHugePages;
  Replace(std::make_unique<ZeroedArray<Line>>(count, advice), count);
}

void KnownWrites::Clear() {
  if (bytes() != 0) Replace(nullptr, 0);
}

std::unique_ptr<ZeroedArray<KnownWrites::Line>> KnownWrites::Replace(
    std::unique_ptr<ZeroedArray<Line>> lines, size_t count) {
  for (uint32_t i = 0; i < kLocks; ++i) locks_[i].latch.Lock(runtime_);
  lines_.swap(lines);
  bytes_.store(count * sizeof(Line), std::memory_order_relaxed);
  line_mask_.store(count == 0 ? 0 : static_cast<uint32_t>(count - 1), std::memory_order_relaxed);
  first_line_.store(count == 0 ? nullptr : lines_->data(), std::memory_order_relaxed);
  for (uint32_t i = 0; i < kLocks; ++i) locks_[i].latch.Unlock();
  return lines;
}

KnownWrites::Write KnownWrites::FingerprintOf(TreeId tree, std::string_view key) const {
  const Hash128Value hash = Hash128(key, secret_);
  return {.low = hash.low + Raw(tree), .high_ts = hash.high & kHighMask};
}

// ---- A line

KnownWrites::Place::Place(Line& line, Runtime& runtime) : line_(line) {
  Backoff backoff(runtime);
  const std::atomic_ref<uint64_t> word = line.writes[0].word();
  uint64_t seen = word.load(std::memory_order_relaxed);
  while ((seen & kLatched) != 0 ||
         !word.compare_exchange_weak(seen, seen | kLatched, std::memory_order_acquire,
                                     std::memory_order_relaxed)) {
    backoff.Pause();
    seen = word.load(std::memory_order_relaxed);
  }
}

KnownWrites::Place::~Place() {
  const Write& first = line_.writes[0];
  first.word().store(first.high() & ~kLatched, std::memory_order_release);
}

KnownWrites::Write* KnownWrites::Place::Find(const Write& fingerprint) {
  for (Write& write : line_.writes) {
    const bool is_it = write.low == fingerprint.low &&
                       (write.high() & kHighMask) == fingerprint.high() && write.ts() != 0;
    if (is_it) return &write;
  }
  return nullptr;
}

KnownWrites::Write& KnownWrites::Place::Oldest() {
  return *std::ranges::min_element(line_.writes, {}, [](const Write& w) { return w.ts(); });
}

// ---- Writes

void KnownWrites::Note(uint64_t hash, TreeId tree, std::string_view key, CommitTs ts) {
  NoteAbove(ts, hash, tree, key, ts);
}

void KnownWrites::NoteFirst(uint64_t hash, TreeId tree, std::string_view key, CommitTs ts) {
  NoteAbove(0, hash, tree, key, ts);
}

// Not if a write from `most` on is remembered.
void KnownWrites::NoteAbove(CommitTs most, uint64_t hash, TreeId tree, std::string_view key,
                            CommitTs ts) {
  if (bytes() == 0 || ts > kTsMask) return;
  const Write fingerprint = FingerprintOf(tree, key);
  SpinLatchGuard guard(OwnLock().latch, runtime_);
  if (lines_ == nullptr) return;
  Place place(LineOf(hash), runtime_);
  Write* write = place.Find(fingerprint);
  if (write != nullptr && write->ts() >= most) return;
  (write != nullptr ? *write : place.Oldest()).Set(fingerprint, ts);
}

bool KnownWrites::HasSince(uint64_t hash, TreeId tree, std::string_view key, CommitTs since,
                           CommitTs ts) {
  if (bytes() == 0 || ts > kTsMask) return false;
  const Write fingerprint = FingerprintOf(tree, key);
  SpinLatchGuard guard(OwnLock().latch, runtime_);
  if (lines_ == nullptr) return false;
  Place place(LineOf(hash), runtime_);
  Write* write = place.Find(fingerprint);
  if (write == nullptr || write->ts() >= ts) return false;
  if (write->ts() < since && !LATCHKEY_CANARY("known-write-hides-a-version")) return false;
  write->Set(fingerprint, ts);
  return true;
}

void KnownWrites::Prefetch(uint64_t hash) const {
  const Line* const first = first_line_.load(std::memory_order_relaxed);
  if (first == nullptr) return;
  __builtin_prefetch(first + IndexOf(hash, line_mask_.load(std::memory_order_relaxed)), /*rw=*/1);
}

}  // namespace latchkey
