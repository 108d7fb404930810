#include "engine/txn/settled_versions.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <new>
#include <utility>

#include "storage/base/canary.h"

namespace latchkey {
namespace {

constexpr size_t kLeastBlock = 480, kMostBlock = 32 << 10;
// A shard is worth a sweep at kSweepGrowth times the bytes that the last one left, plus
// kGrowthToSweep.
constexpr size_t kSweepGrowth = 4, kGrowthToSweep = 4096;

// Entries per bucket at which a shard gets kGrowth times the buckets. Growing reads every entry, most
// of them from memory, so it is rare.
constexpr size_t kMostLoad = 2, kGrowth = 4;

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

void Chores::AddGhostOfInserted(const SettlingVersion& version, RecordState before) {
  if (!version.leaves_ghost || before != RecordState::kAbsent) return;
  ghosts.push_back({version.tree, std::string(version.key), version.ts});
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

void SettledVersions::Table::MakeRoom(size_t size) {
  if (static_cast<size_t>(end - at) >= size) return;
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

template <typename Visit>
void SettledVersions::Table::ForEach(Visit visit) const {
  constexpr size_t kBytesAhead = 1024;
  for (Block* block = blocks; block != nullptr; block = block->next) {
    const char* const last = block == blocks ? at : block->bytes() + block->used;
    for (char* next = block->bytes(); next < last;) {
      __builtin_prefetch(std::min<const char*>(next + kBytesAhead, last));
      const Entry& entry = *reinterpret_cast<const Entry*>(next);
      visit(entry);
      next += Entry::SizeOf(entry.key_size, entry.old_size);
    }
  }
}

SettledVersions::Entry* SettledVersions::Table::Newest(uint64_t hash, TreeId tree,
                                                       std::string_view key) const {
  if (buckets.empty()) return nullptr;
  Entry* entry = buckets[BucketOf(LowHalf(hash))].HeadIfMayHold(LowHalf(hash));
  while (entry != nullptr && !entry->Is(LowHalf(hash), tree, key)) entry = entry->older;
  return entry;
}

void SettledVersions::Table::Grow() {
  if (count < kMostLoad * buckets.size()) return;
  constexpr size_t kAhead = 8;
  const size_t before = buckets.size();
  const int old_bits = std::countr_zero(before);
  std::vector<Bucket> larger(before == 0 ? first_buckets : kGrowth * before);
  for (size_t i = 0; i < before; ++i) {
    if (i + kAhead < before) __builtin_prefetch(buckets[i + kAhead].head(), /*rw=*/1);
    Entry* last[kGrowth] = {};  // of the chains into which this one parts
    for (Entry* entry = buckets[i].head(); entry != nullptr; entry = entry->older) {
      const size_t part = (entry->hash >> old_bits) % kGrowth;
      Bucket& bucket = larger[i + part * before];
      last[part] == nullptr ? bucket.SetHead(entry) : bucket.AddToFilter(entry->hash);
      if (last[part] != nullptr) last[part]->older = entry;
      last[part] = entry;
    }
    for (Entry* entry : last) {
      if (entry != nullptr) entry->older = nullptr;
    }
  }
  buckets.swap(larger);
}

const SettledVersions::Entry* SettledVersions::Table::NewestWrite(const Entry* newest,
                                                                  uint64_t hash, TreeId tree,
                                                                  std::string_view key) {
  while (newest != nullptr && (newest->lock_only || !newest->Is(LowHalf(hash), tree, key))) {
    newest = newest->older;
  }
  return newest;
}

bool SettledVersions::Older::HasSinceLastRead(const SettlingVersion& version,
                                              const LiveSnapshots& live) const {
  if (frozen != nullptr) {
    const Entry* write = Table::NewestWrite(frozen->Newest(version.hash, version.tree, version.key),
                                            version.hash, version.tree, version.key);
    if (write != nullptr) return !live.AnyIn(write->ts, version.ts);
  }
  return known->HasSince(version.hash, version.tree, version.key, live.NoneSince(version.ts),
                         version.ts);
}

bool SettledVersions::Table::Add(const SettlingVersion& version, const LiveSnapshots& live,
                                 const Older& older, Chores* chores) {
  Entry* before = Newest(version.hash, version.tree, version.key);
  // A lock changes nothing: the old value of a write is as old as the write before it.
  const Entry* write =
      version.lock_only ? before : NewestWrite(before, version.hash, version.tree, version.key);
  CommitTs from = write == nullptr ? 0 : write->ts;
  if (LATCHKEY_CANARY("settling-forgets-older-snapshots") && !live.read_ts.empty()) {
    from = std::max(from, live.read_ts.back());
  }
  const bool is_in_gap = version.empty_below != 0 && !version.lock_only;
  const CommitTs seen_from = is_in_gap ? std::max(from, version.empty_below) : from;
  // The duty for a ghost needs an entry in memory, and a delete needs that of the insert before it.
  const bool may_be_known = write == nullptr && !version.lock_only && !version.leaves_ghost &&
                            version.state != RecordState::kAbsent;
  const bool is_seen =
      live.AnyIn(seen_from, version.ts) && !(may_be_known && older.HasSinceLastRead(version, live));
  // Of a deleted record in a gap: no snapshot sees it, but an old one may still write the key.
  const bool is_conflict =
      !is_seen && is_in_gap && version.leaves_ghost && live.AnyIn(from, version.ts);
  if (!is_seen && !is_conflict) {
    if (write != nullptr) chores->AddGhostOfInserted(version, write->state);
    chores->Add(version, /*purge=*/before == nullptr);
    if (version.leaves_ghost && before != nullptr) before->leaves_ghost = true;
    return false;
  }
  Grow();
  const size_t old_size = version.lock_only || is_conflict ? 0 : version.old.size();
  const size_t size = Entry::SizeOf(version.key.size(), old_size);
  MakeRoom(size);
  if (is_conflict) {
    chores->AddGhostOfInserted(version, RecordState::kAbsent);
    chores->Add(version, /*purge=*/false);
  }
  auto* entry = new (std::exchange(at, at + size)) Entry;
  entry->ts = version.ts;
  entry->hash = LowHalf(version.hash);
  entry->tree = version.tree;
  entry->old_size = static_cast<uint32_t>(old_size);
  entry->key_size = static_cast<uint16_t>(version.key.size());
  entry->state = is_conflict ? RecordState::kAbsent : version.state;
  entry->lock_only = version.lock_only;
  entry->leaves_ghost = version.leaves_ghost;
  std::copy_n(version.key.data(), version.key.size(), entry->bytes());
  std::copy_n(version.old.data(), old_size, entry->bytes() + version.key.size());
  Bucket& bucket = buckets[BucketOf(entry->hash)];
  entry->older = bucket.head();
  bucket.SetHead(entry);
  ++count;
  oldest = std::min(oldest, entry->ts);
  newest_needing =
      std::max(newest_needing, version.ts > live.as_of ? version.ts : live.read_ts.back());
  return true;
}

// ---- All shards

SettledVersions::SettledVersions(Runtime& runtime, KnownWrites& known)
    : runtime_(runtime), known_(known), shards_(std::make_unique<Shard[]>(kShards)) {}

SettledVersions::~SettledVersions() = default;

uint64_t SettledVersions::count() const {
  uint64_t count = 0;
  for (uint32_t index = 0; index < kShards; ++index) {
    Shard& shard = shards_[index];
    SpinLatchGuard guard(shard.latch, runtime_);
    for (const Table* table : {shard.table.get(), shard.frozen.get()}) {
      if (table != nullptr) count += table->count;
    }
  }
  return count;
}

size_t SettledVersions::BytesOf(const Shard& shard) {
  return (shard.table == nullptr ? 0 : shard.table->bytes()) +
         (shard.frozen == nullptr ? 0 : shard.frozen->bytes());
}

// Call it when a table has come or gone, or its memory has changed.
void SettledVersions::NoteChange(Shard& shard) {
  const size_t bytes = BytesOf(shard);
  bytes_.fetch_add(bytes - shard.counted_bytes, std::memory_order_release);
  shard.counted_bytes = bytes;
  Table* table = shard.table.get();
  shard.oldest.store(table == nullptr ? UINT64_MAX : table->oldest, std::memory_order_relaxed);
  const bool has_grown = bytes > kSweepGrowth * shard.swept_bytes + kGrowthToSweep;
  shard.newest_needing.store(table == nullptr || !has_grown ? 0 : table->newest_needing,
                             std::memory_order_relaxed);
  const bool has_buckets = table != nullptr && !table->buckets.empty();
  shard.buckets.store(has_buckets ? table->buckets.data() : nullptr, std::memory_order_relaxed);
  shard.bucket_mask.store(has_buckets ? static_cast<uint32_t>(table->buckets.size() - 1) : 0,
                          std::memory_order_relaxed);
}

bool SettledVersions::Add(const SettlingVersion& version, const LiveSnapshots& live,
                          Chores* chores) {
  Shard& shard = shards_[ShardOf(version.hash)];
  SpinLatchGuard guard(shard.latch, runtime_);
  if (shard.table == nullptr) {
    auto table = std::make_unique<Table>();
    // Probably as many will come as have come before.
    if (shard.frozen != nullptr && !shard.frozen->buckets.empty()) {
      table->first_buckets = shard.frozen->buckets.size();
    }
    shard.table = std::move(table);
  }
  Table& table = *shard.table;
  const CommitTs oldest = table.oldest, newest_needing = table.newest_needing;
  const bool kept = table.Add(version, live, {shard.frozen.get(), &known_}, chores);
  // Records in a gap are not noted: most are appended once, and the gap speaks for them.
  if (!version.lock_only && version.empty_below == 0) {
    if (kept) {
      known_.NoteFirst(version.hash, version.tree, version.key, version.ts);
    } else {
      known_.Note(version.hash, version.tree, version.key, version.ts);
    }
  }
  if (!kept) return false;
  // Before the version leaves the VersionTable: from now on readers must look here.
  CommitTs newest = newest_.load(std::memory_order_relaxed);
  while (newest < version.ts &&
         !newest_.compare_exchange_weak(newest, version.ts, std::memory_order_acq_rel)) {
  }
  shard.next_entry.store(table.at, std::memory_order_relaxed);
  // Most versions change none of these.
  if (BytesOf(shard) != shard.counted_bytes || table.oldest != oldest ||
      table.newest_needing != newest_needing) {
    NoteChange(shard);
  }
  return true;
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
      if (LATCHKEY_CANARY("settled-read-too-new") && unseen != nullptr) break;
      if (!entry->lock_only) unseen = entry;
    }
  }
  if (unseen == nullptr) return std::nullopt;
  if (unseen->old_size != 0 || unseen->state == RecordState::kValue) old->assign(unseen->old());
  *ts = unseen->ts;
  return unseen->state;
}

void SettledVersions::PrefetchBucket(uint64_t hash) const {
  known_.Prefetch(hash);
  constexpr size_t kLine = 64, kLines = 4;
  const Shard& shard = shards_[ShardOf(hash)];
  const char* const next_entry = shard.next_entry.load(std::memory_order_relaxed);
  for (size_t i = 0; next_entry != nullptr && i < kLines; ++i) {
    __builtin_prefetch(next_entry + i * kLine, /*rw=*/1);
  }
  const Bucket* const buckets = shard.buckets.load(std::memory_order_relaxed);
  if (buckets == nullptr) return;
  const uint32_t mask = shard.bucket_mask.load(std::memory_order_relaxed);
  __builtin_prefetch(buckets + (LowHalf(hash) & mask), /*rw=*/1);
}

void SettledVersions::PrefetchChain(uint64_t hash) const {
  Shard& shard = shards_[ShardOf(hash)];
  if (!shard.latch.TryLock()) return;
  const Table* table = shard.table.get();
  if (table != nullptr && !table->buckets.empty()) {
    const Bucket& bucket = table->buckets[table->BucketOf(LowHalf(hash))];
    __builtin_prefetch(bucket.HeadIfMayHold(LowHalf(hash)));
  }
  shard.latch.Unlock();
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
  // Every entry was kept for a snapshot that was listed when it came. If none of these was newer
  // than the oldest snapshot of now, each was kept for that one and is still needed.
  return shard.oldest.load(std::memory_order_relaxed) <= oldest ||
         shard.newest_needing.load(std::memory_order_relaxed) > oldest;
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
  const Older older{thaw ? nullptr : shard.frozen.get(), &known_};
  std::vector<const Entry*> chain;
  for (const Table* table : {frozen, static_cast<const Table*>(shard.table.get())}) {
    if (table == nullptr) continue;
    for (const Bucket& bucket : table->buckets) {
      chain.clear();
      for (const Entry* entry = bucket.head(); entry != nullptr; entry = entry->older) {
        chain.push_back(entry);
      }
      // Oldest first: each entry then finds the older one in its final state.
      for (auto it = chain.rbegin(); it != chain.rend(); ++it) {
        swept->Add(Describe(**it), live, older, &left);
      }
    }
  }
  chores->Append(std::move(left));
  if (thaw) shard.frozen.reset();
  if (swept->count == 0) swept.reset();
  shard.table.swap(swept);
  shard.swept_bytes = BytesOf(shard);
  NoteChange(shard);
}

// ---- Freezing, to write versions elsewhere

void SettledVersions::Freeze() {
  for (uint32_t index = 0; index < kShards; ++index) {
    Shard& shard = shards_[index];
    SpinLatchGuard guard(shard.latch, runtime_);
    if (shard.frozen != nullptr) continue;
    shard.frozen.swap(shard.table);
    NoteChange(shard);
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
    std::unique_ptr<Table> gone;  // freed with no latch held
    Shard& shard = shards_[index];
    {
      SpinLatchGuard guard(shard.latch, runtime_);
      gone.swap(shard.frozen);
      shard.swept_bytes = BytesOf(shard);
      NoteChange(shard);
    }
    if (gone == nullptr) continue;
    gone->ForEach([this](const Entry& entry) {
      if (!entry.lock_only) known_.Note(entry.hash, entry.tree, entry.key(), entry.ts);
    });
  }
}

}  // namespace latchkey
