#include "engine/txn/settled_versions.h"

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

namespace latchkey {
namespace {

constexpr size_t kLeastBlock = 480, kMostBlock = 32 << 10;
// A shard is worth a sweep at kSweepGrowth times the bytes that the last one left, plus
// kGrowthToSweep.
constexpr size_t kSweepGrowth = 4, kGrowthToSweep = 4096;
// After freezing, a shard begins with this part of the buckets that it had.
constexpr size_t kBucketsKept = 4;

uint32_t LowHalf(uint64_t hash) { return static_cast<uint32_t>(hash); }

void MakeRoomForOne(std::vector<Chores::Chore>* chores) {
  if (chores->size() == chores->capacity()) chores->reserve(2 * chores->size() + 4);
}

}  // namespace

void Chores::Add(const SettlingVersion& version, bool purge) {
  const bool has_chain = version.state == RecordState::kOverflow && !version.lock_only;
  purge = purge && version.leaves_ghost;
  if (!has_chain && !purge) return;
  Chore chain{version.tree, std::string(has_chain ? version.old : std::string_view())};
  Chore ghost{version.tree, std::string(purge ? version.key : std::string_view())};
  MakeRoomForOne(&chains);
  MakeRoomForOne(&ghosts);
  if (has_chain) chains.push_back(std::move(chain));
  if (purge) ghosts.push_back(std::move(ghost));
}

void Chores::Append(Chores&& others) {
  ghosts.reserve(ghosts.size() + others.ghosts.size());
  chains.reserve(chains.size() + others.chains.size());
  std::move(others.ghosts.begin(), others.ghosts.end(), std::back_inserter(ghosts));
  std::move(others.chains.begin(), others.chains.end(), std::back_inserter(chains));
}

// ---- One shard's contents

SettledVersions::Table::~Table() {
  while (blocks != nullptr) ::operator delete(std::exchange(blocks, blocks->next));
}

char* SettledVersions::Table::Allocate(size_t size) {
  if (static_cast<size_t>(end - at) < size) {
    // A quarter of the present bytes: wastes little, with few entries and with many.
    const size_t usual = std::clamp(block_bytes / 4, kLeastBlock, kMostBlock);
    const size_t room = std::max(usual, size);
    auto* added = new (::operator new(sizeof(Block) + room)) Block{blocks};
    if (blocks != nullptr) blocks->used = static_cast<size_t>(at - blocks->bytes());
    blocks = added;
    block_bytes += sizeof(Block) + room;
    at = blocks->bytes();
    end = at + room;
  }
  return std::exchange(at, at + size);
}

template <typename Visit>
void SettledVersions::Table::ForEach(Visit visit) const {
  for (Block* block = blocks; block != nullptr; block = block->next) {
    const char* const last = block == blocks ? at : block->bytes() + block->used;
    for (char* next = block->bytes(); next < last;) {
      const Entry& entry = *reinterpret_cast<const Entry*>(next);
      visit(entry);
      next += Entry::SizeOf(entry.key_size, entry.old_size);
    }
  }
}

SettledVersions::Entry* SettledVersions::Table::Newest(uint64_t hash, TreeId tree,
                                                       std::string_view key) const {
  if (buckets.empty()) return nullptr;
  Entry* entry = buckets[BucketOf(LowHalf(hash))];
  while (entry != nullptr && !entry->Is(LowHalf(hash), tree, key)) entry = entry->older;
  return entry;
}

void SettledVersions::Table::Grow() {
  if (count < buckets.size()) return;
  std::vector<Entry*> larger(std::max<size_t>(2 * buckets.size(), 8));
  std::vector<Entry**> tails(larger.size());
  for (size_t i = 0; i < larger.size(); ++i) tails[i] = &larger[i];
  for (Entry* entry : buckets) {
    for (; entry != nullptr; entry = entry->older) {
      Entry**& tail = tails[entry->hash & (larger.size() - 1)];
      *tail = entry;
      tail = &entry->older;
    }
  }
  // `older` of the last entry of each chain may still point into another chain.
  for (Entry** tail : tails) *tail = nullptr;
  buckets.swap(larger);
}

bool SettledVersions::Table::Add(const SettlingVersion& version, const LiveSnapshots& live,
                                 Chores* chores) {
  Entry* before = Newest(version.hash, version.tree, version.key);
  // A lock changes nothing: the old value of a write is as old as the write before it.
  const Entry* write = before;
  while (!version.lock_only && write != nullptr &&
         (write->lock_only || !write->Is(LowHalf(version.hash), version.tree, version.key))) {
    write = write->older;
  }
  const CommitTs from = write == nullptr ? 0 : write->ts;
  if (!live.AnyIn(from, version.ts)) {
    chores->Add(version, /*purge=*/before == nullptr);
    if (version.leaves_ghost && before != nullptr) before->leaves_ghost = true;
    return false;
  }
  Grow();
  const size_t old_size = version.lock_only ? 0 : version.old.size();
  auto* entry = new (Allocate(Entry::SizeOf(version.key.size(), old_size))) Entry;
  entry->ts = version.ts;
  entry->hash = LowHalf(version.hash);
  entry->tree = version.tree;
  entry->old_size = static_cast<uint32_t>(old_size);
  entry->key_size = static_cast<uint16_t>(version.key.size());
  entry->state = version.state;
  entry->lock_only = version.lock_only;
  entry->leaves_ghost = version.leaves_ghost;
  std::copy_n(version.key.data(), version.key.size(), entry->bytes());
  std::copy_n(version.old.data(), old_size, entry->bytes() + version.key.size());
  Entry*& head = buckets[BucketOf(entry->hash)];
  entry->older = head;
  head = entry;
  ++count;
  oldest = std::min(oldest, entry->ts);
  return true;
}

// ---- All shards

SettledVersions::SettledVersions(Runtime& runtime)
    : runtime_(runtime), shards_(std::make_unique<Shard[]>(kShards)) {}

SettledVersions::~SettledVersions() = default;

size_t SettledVersions::CountOf(const Shard& shard) {
  return (shard.table == nullptr ? 0 : shard.table->count) +
         (shard.frozen == nullptr ? 0 : shard.frozen->count);
}

size_t SettledVersions::BytesOf(const Shard& shard) {
  return (shard.table == nullptr ? 0 : shard.table->bytes()) +
         (shard.frozen == nullptr ? 0 : shard.frozen->bytes());
}

void SettledVersions::NoteChange(Shard& shard, size_t count_before, size_t bytes_before) {
  // Every actor that settles writes these two, so they are left alone if nothing changes.
  const size_t bytes = BytesOf(shard), count = CountOf(shard);
  if (count != count_before) count_.fetch_add(count - count_before, std::memory_order_release);
  if (bytes != bytes_before) bytes_.fetch_add(bytes - bytes_before, std::memory_order_relaxed);
  shard.oldest.store(shard.table == nullptr ? UINT64_MAX : shard.table->oldest,
                     std::memory_order_relaxed);
  shard.has_grown.store(bytes > kSweepGrowth * shard.swept_bytes + kGrowthToSweep,
                        std::memory_order_relaxed);
}

bool SettledVersions::Add(const SettlingVersion& version, const LiveSnapshots& live,
                          Chores* chores) {
  Shard& shard = shards_[ShardOf(version.hash)];
  SpinLatchGuard guard(shard.latch, runtime_);
  const size_t count_before = CountOf(shard), bytes_before = BytesOf(shard);
  if (shard.table == nullptr) {
    auto table = std::make_unique<Table>();
    if (shard.frozen != nullptr) table->buckets.resize(shard.frozen->buckets.size() / kBucketsKept);
    shard.table = std::move(table);
  }
  const bool kept = shard.table->Add(version, live, chores);
  CommitTs newest = newest_.load(std::memory_order_relaxed);
  while (kept && newest < version.ts &&
         !newest_.compare_exchange_weak(newest, version.ts, std::memory_order_acq_rel)) {
  }
  NoteChange(shard, count_before, bytes_before);
  return kept;
}

std::optional<RecordState> SettledVersions::CopyUnseen(uint64_t hash, TreeId tree,
                                                       std::string_view key, CommitTs read_ts,
                                                       std::string* old, CommitTs* ts) {
  Shard& shard = shards_[ShardOf(hash)];
  SpinLatchGuard guard(shard.latch, runtime_);
  const Entry* unseen = nullptr;
  for (const Table* table : {shard.table.get(), shard.frozen.get()}) {
    if (table == nullptr) continue;
    for (const Entry* entry = table->Newest(hash, tree, key); entry != nullptr;
         entry = entry->older) {
      if (!entry->Is(LowHalf(hash), tree, key)) continue;
      if (entry->ts <= read_ts) break;
      if (!entry->lock_only) unseen = entry;
    }
  }
  if (unseen == nullptr) return std::nullopt;
  if (unseen->old_size != 0 || unseen->state == RecordState::kValue) old->assign(unseen->old());
  *ts = unseen->ts;
  return unseen->state;
}

template <typename Visit>
void SettledVersions::VisitBucket(uint64_t hash, Visit visit) const {
  Shard& shard = shards_[ShardOf(hash)];
  if (!shard.latch.TryLock()) return;
  const Table* table = shard.table.get();
  if (table != nullptr && !table->buckets.empty()) {
    visit(&table->buckets[table->BucketOf(LowHalf(hash))]);
  }
  shard.latch.Unlock();
}

void SettledVersions::PrefetchBucket(uint64_t hash) const {
  VisitBucket(hash, [](Entry* const* bucket) { __builtin_prefetch(bucket, /*rw=*/1); });
}

void SettledVersions::PrefetchChain(uint64_t hash) const {
  VisitBucket(hash, [](Entry* const* bucket) { __builtin_prefetch(*bucket); });
}

CommitTs SettledVersions::NewestOf(uint64_t hash, TreeId tree, std::string_view key) {
  Shard& shard = shards_[ShardOf(hash)];
  SpinLatchGuard guard(shard.latch, runtime_);
  for (const Table* table : {shard.table.get(), shard.frozen.get()}) {
    const Entry* entry = table == nullptr ? nullptr : table->Newest(hash, tree, key);
    if (entry != nullptr) return entry->ts;
  }
  return 0;
}

bool SettledVersions::IsWorthSweeping(uint32_t index, CommitTs oldest) const {
  const Shard& shard = shards_[index];
  return shard.oldest.load(std::memory_order_relaxed) <= oldest ||
         shard.has_grown.load(std::memory_order_relaxed);
}

SettlingVersion SettledVersions::Describe(const Entry& entry) {
  return {.tree = entry.tree,
          .hash = entry.hash,
          .ts = entry.ts,
          .key = entry.key(),
          .state = entry.state,
          .old = entry.old(),
          .lock_only = entry.lock_only,
          .leaves_ghost = entry.leaves_ghost};
}

void SettledVersions::Sweep(uint32_t index, const LiveSnapshots& live, Chores* chores, bool thaw) {
  Shard& shard = shards_[index];
  SpinLatchGuard guard(shard.latch, runtime_);
  const Table* frozen = thaw ? shard.frozen.get() : nullptr;
  if (shard.table == nullptr && frozen == nullptr) return;
  auto swept = std::make_unique<Table>();
  Chores left;
  std::vector<const Entry*> chain;
  for (const Table* table : {frozen, static_cast<const Table*>(shard.table.get())}) {
    if (table == nullptr) continue;
    for (const Entry* head : table->buckets) {
      chain.clear();
      for (const Entry* entry = head; entry != nullptr; entry = entry->older) {
        chain.push_back(entry);
      }
      // Oldest first: each entry then finds the older one in its final state.
      for (auto it = chain.rbegin(); it != chain.rend(); ++it) {
        swept->Add(Describe(**it), live, &left);
      }
    }
  }
  chores->Append(std::move(left));
  const size_t count_before = CountOf(shard), bytes_before = BytesOf(shard);
  if (thaw) shard.frozen.reset();
  if (swept->count == 0) swept.reset();
  shard.table.swap(swept);
  shard.swept_bytes = BytesOf(shard);
  NoteChange(shard, count_before, bytes_before);
}

// ---- Freezing, to write versions elsewhere

void SettledVersions::Freeze() {
  for (uint32_t index = 0; index < kShards; ++index) {
    Shard& shard = shards_[index];
    SpinLatchGuard guard(shard.latch, runtime_);
    if (shard.frozen != nullptr) continue;
    shard.frozen.swap(shard.table);
    NoteChange(shard, CountOf(shard), BytesOf(shard));
  }
}

std::vector<SettlingVersion> SettledVersions::Frozen() const {
  size_t count = 0;
  for (uint32_t index = 0; index < kShards; ++index) {
    const Table* frozen = shards_[index].frozen.get();
    if (frozen != nullptr) count += frozen->count;
  }
  std::vector<SettlingVersion> versions;
  versions.reserve(count);
  for (uint32_t index = 0; index < kShards; ++index) {
    const Table* frozen = shards_[index].frozen.get();
    if (frozen == nullptr) continue;
    frozen->ForEach([&](const Entry& entry) { versions.push_back(Describe(entry)); });
  }
  return versions;
}

void SettledVersions::DropFrozen() {
  for (uint32_t index = 0; index < kShards; ++index) {
    Shard& shard = shards_[index];
    std::unique_ptr<Table> gone;
    SpinLatchGuard guard(shard.latch, runtime_);
    const size_t count_before = CountOf(shard), bytes_before = BytesOf(shard);
    gone.swap(shard.frozen);
    shard.swept_bytes = BytesOf(shard);
    NoteChange(shard, count_before, bytes_before);
  }
}

}  // namespace latchkey
