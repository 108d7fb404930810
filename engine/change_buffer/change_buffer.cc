#include "engine/change_buffer/change_buffer.h"

#include <algorithm>
#include <new>
#include <utility>

#include "engine/btree/node.h"
#include "engine/btree/tree.h"
#include "engine/log/page_lsn.h"
#include "storage/base/canary.h"
#include "storage/base/hash.h"
#include "storage/base/out_of_memory.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

// What the map and the allocator add to a known leaf: key, link, header of the block, bucket.
constexpr uint64_t kNodeBytes = 32;
// What is known of leaves takes this part of the buffer at most.
constexpr uint64_t kKnownShare = 2;
// A leaf with less room than this is not worth knowing.
constexpr uint32_t kLeastRoom = 64;
// Leaves that one call brings in.
constexpr size_t kLeavesAtOnce = 64;

}  // namespace

// A put that waits. The key's bytes follow its last member at once, then the value's. There are many,
// so it is small: a record that fits into a leaf has sizes of 16 bits.
struct ChangeBuffer::Change {
  static constexpr size_t kHeader = sizeof(Change*) + 2 * sizeof(uint16_t);
  static_assert(kMaxNodeKeySize <= UINT16_MAX && node_format::Capacity(kMaxPageSize) <= UINT16_MAX);

  Change() = default;
  Change(const Change&) = delete;  // it would lack the bytes
  Change& operator=(const Change&) = delete;

  Change* next = nullptr;
  uint16_t key_size = 0, value_size = 0;

  static std::unique_ptr<Change> Make(std::string_view key, std::string_view value) {
    const size_t size = std::max(sizeof(Change), kHeader + key.size() + value.size());
    static_assert(kHeader == offsetof(Change, value_size) + sizeof(value_size));
    std::unique_ptr<Change> change(new (::operator new(size)) Change);
    change->key_size = static_cast<uint16_t>(key.size());
    change->value_size = static_cast<uint16_t>(value.size());
    char* const bytes = reinterpret_cast<char*>(change.get()) + kHeader;
    std::copy_n(key.data(), key.size(), bytes);
    std::copy_n(value.data(), value.size(), bytes + key.size());
    return change;
  }
  static void operator delete(void* memory) { ::operator delete(memory); }

  std::string_view key() const { return {reinterpret_cast<const char*>(this) + kHeader, key_size}; }
  std::string_view value() const { return {key().data() + key_size, value_size}; }
  // With what the allocator adds.
  uint64_t bytes() const { return (kHeader + key_size + value_size + 8 + 15) & ~uint64_t{15}; }
  // Room that the record takes in its leaf at most.
  uint32_t room() const { return static_cast<uint32_t>(MostRecordBytes(key_size, value_size)); }
};

struct ChangeBuffer::AbsentLeaf {
  static constexpr uint64_t MemoryBytes() { return sizeof(AbsentLeaf) + kNodeBytes; }

  // One number for LSN and mark. An older copy of the page has the same with a probability of 2^-64.
  static uint64_t StateOf(Lsn lsn, TxnId mark) { return MixHash(Raw(lsn)) ^ Raw(mark); }

  Lsn lsn{0};
  TxnId mark{0};
  uint64_t evicted_state = 0;  // StateOf the page in the store, without the changes
  Change* oldest = nullptr;
  Change* newest = nullptr;
  bool stays = false;  // also while the leaf is in a frame
  // Guarded by the shard's latch, too.
  bool is_placing = false;  // a put may draw its LSN now
  uint16_t changes = 0;
  uint16_t room = 0;  // bytes for further records
  Lsn first{0};       // LSN of the oldest change

  AbsentLeaf() = default;
  AbsentLeaf(const AbsentLeaf&) = delete;
  AbsentLeaf& operator=(const AbsentLeaf&) = delete;
  ~AbsentLeaf() {
    while (oldest != nullptr) delete std::exchange(oldest, oldest->next);
  }
};

ChangeBuffer::ChangeBuffer(Runtime& runtime, BufferPool& pool, Options options)
    : runtime_(runtime), pool_(pool), options_(std::move(options)), shards_(new Shard[kShards]) {}

ChangeBuffer::~ChangeBuffer() = default;

ChangeBuffer::Shard& ChangeBuffer::ShardOf(PageId page) { return shards_[Raw(page) % kShards]; }

// ---- Puts

bool ChangeBuffer::TryPlace(TreeId tree, PageId page, std::string_view key, std::string_view value,
                            Place* place) {
  if (stats().bytes > options_.most_bytes + options_.most_bytes / 8) return false;
  auto change = Change::Make(key, value);
  AbsentGuard latch = pool_.TryLatchAbsent(page);
  if (!latch) return false;
  Shard& shard = ShardOf(page);
  {
    SpinLatchGuard guard(shard.latch, runtime_);
    const auto found = shard.leaves.find(Raw(page));
    if (found == shard.leaves.end() || found->second.room < change->room()) return false;
    place->leaf_ = &found->second;
    place->leaf_->is_placing = true;
  }
  place->buffer_ = this;
  place->tree_ = tree;
  place->page_ = page;
  place->latch_ = std::move(latch);
  place->change_ = std::move(change);
  return true;
}

bool ChangeBuffer::HasRoomIn(PageId page, std::string_view key, std::string_view value) {
  Shard& shard = ShardOf(page);
  SpinLatchGuard guard(shard.latch, runtime_);
  const auto found = shard.leaves.find(Raw(page));
  return found != shard.leaves.end() &&
         found->second.room >= MostRecordBytes(key.size(), value.size());
}

ChangeBuffer::Place::Place() = default;
TxnId ChangeBuffer::Place::mark() const { return leaf_->mark; }
Lsn ChangeBuffer::Place::lsn() const { return leaf_->lsn; }

void ChangeBuffer::Place::Add(Lsn lsn, TxnId txn) {
  Change* const change = change_.release();
  (leaf_->oldest == nullptr ? leaf_->oldest : leaf_->newest->next) = change;
  leaf_->newest = change;
  leaf_->mark = std::max(leaf_->mark, txn);
  if (lsn != Lsn{0}) leaf_->lsn = lsn;
  buffer_->changes_.fetch_add(1, std::memory_order_relaxed);
  buffer_->change_bytes_.fetch_add(change->bytes(), std::memory_order_relaxed);
  SpinLatchGuard guard(buffer_->ShardOf(page_).latch, buffer_->runtime_);
  leaf_->room = static_cast<uint16_t>(leaf_->room - change->room());
  fills_leaf_ = leaf_->room < change->room();
  if (leaf_->changes++ == 0) leaf_->first = lsn;
}

ChangeBuffer::Place::~Place() {
  if (leaf_ == nullptr) return;
  std::optional<FullLeaf> full;
  if (fills_leaf_) {
    CatchOutOfMemory([&] {  // without memory the leaf is not noted
      const Change& put = *leaf_->newest;
      full = {.page = page_,
              .tree = tree_,
              .key = std::string(put.key()),
              .value_size = put.value_size};
      return absl::OkStatus();
    })
        .IgnoreError();
  }
  {
    SpinLatchGuard guard(buffer_->ShardOf(page_).latch, buffer_->runtime_);
    leaf_->is_placing = false;
  }
  latch_.Release();
  if (full) buffer_->NoteFull(*std::move(full));  // only now can another actor bring it in
}

// ---- Room

std::vector<PageId> ChangeBuffer::FullestOf(Shard& shard) {
  std::vector<std::pair<uint32_t, PageId>> found;
  {
    SpinLatchGuard guard(shard.latch, runtime_);
    found.reserve(shard.leaves.size());
    for (const auto& [page, leaf] : shard.leaves) {
      if (leaf.changes > 0) found.emplace_back(leaf.changes, PageId{page});
    }
  }
  const size_t some = std::min(found.size(), kLeavesAtOnce);
  std::partial_sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(some), found.end(),
                    [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<PageId> pages;
  for (size_t i = 0; i < some; ++i) pages.push_back(found[i].second);
  return pages;
}

void ChangeBuffer::NoteFull(FullLeaf leaf) {
  SpinLatchGuard guard(full_latch_, runtime_);
  const uint32_t count = full_count_.load(std::memory_order_relaxed);
  if (count == kFullAtOnce) return;  // another actor is about to take them
  full_[count] = std::move(leaf);
  full_count_.store(count + 1, std::memory_order_relaxed);
}

std::vector<ChangeBuffer::FullLeaf> ChangeBuffer::TakeFull() {
  if (full_count_.load(std::memory_order_relaxed) < kFullAtOnce) return {};
  std::vector<FullLeaf> leaves;
  leaves.reserve(kFullAtOnce);
  {
    SpinLatchGuard guard(full_latch_, runtime_);
    if (full_count_.load(std::memory_order_relaxed) < kFullAtOnce) return {};
    full_count_.store(0, std::memory_order_relaxed);
    leaves.assign(std::move_iterator(full_.begin()), std::move_iterator(full_.end()));
  }
  std::sort(leaves.begin(), leaves.end(),
            [](const FullLeaf& a, const FullLeaf& b) { return a.page < b.page; });
  const auto twice =
      std::unique(leaves.begin(), leaves.end(),
                  [](const FullLeaf& a, const FullLeaf& b) { return a.page == b.page; });
  leaves.erase(twice, leaves.end());
  return leaves;
}

// A put is committed before it calls BringInFull and MakeRoom. So they return no error: out of memory,
// they do nothing.

std::vector<ChangeBuffer::FullLeaf> ChangeBuffer::BringInFull() {
  std::vector<FullLeaf> full;
  CatchOutOfMemory([&] {
    full = TakeFull();
    std::vector<PageId> pages;
    for (const FullLeaf& leaf : full) {  // some may have come in since they were noted
      if (HasChangesBefore(leaf.page, Lsn{UINT64_MAX})) pages.push_back(leaf.page);
    }
    if (!pages.empty()) pool_.BringIn(pool_.Here(), pages, /*is_in_use=*/true);
    return absl::OkStatus();
  }).IgnoreError();
  return full;
}

void ChangeBuffer::MakeRoom() {
  const auto is_full = [this] { return stats().bytes > options_.most_bytes; };
  CatchOutOfMemory([&] {
    for (uint32_t shards = 0; shards < kShards && is_full(); ++shards) {
      Shard& shard = shards_[next_shard_.fetch_add(1, std::memory_order_relaxed) % kShards];
      const std::vector<PageId> pages = FullestOf(shard);
      if (pages.empty()) continue;
      pool_.BringIn(pool_.Here(), pages);
      break;
    }
    return absl::OkStatus();
  }).IgnoreError();
}

ChangeBufferStats ChangeBuffer::stats() const {
  ChangeBufferStats stats;
  stats.changes = changes_.load(std::memory_order_relaxed);
  stats.bytes = change_bytes_.load(std::memory_order_relaxed) +
                AbsentLeaf::MemoryBytes() * leaves_.load(std::memory_order_relaxed);
  return stats;
}

// ---- What the pool says

void ChangeBuffer::OnEvicted(PageId page, std::span<const std::byte> bytes) {
  const LatchedNodeView leaf(bytes.data(), static_cast<uint32_t>(bytes.size()));
  if (!BTree::IsLeafPage(leaf)) return;
  const uint32_t room = leaf.FreeBytes();
  const uint64_t known = AbsentLeaf::MemoryBytes() * leaves_.load(std::memory_order_relaxed);
  if (room < kLeastRoom || known > options_.most_bytes / kKnownShare) return;
  try {
    Shard& shard = ShardOf(page);
    SpinLatchGuard guard(shard.latch, runtime_);
    const auto [at, is_new] = shard.leaves.try_emplace(Raw(page));
    if (at->second.stays) return;  // the store still has the page without the changes
    at->second.lsn = Lsn{PageLsn(bytes.data())};
    at->second.mark = leaf.last_writer();
    at->second.evicted_state = AbsentLeaf::StateOf(at->second.lsn, at->second.mark);
    at->second.room = static_cast<uint16_t>(room);
    if (is_new) leaves_.fetch_add(1, std::memory_order_relaxed);
  } catch (const std::bad_alloc&) {
    // The leaf stays unknown, and puts read it.
  }
}

ChangeBuffer::Leaves::node_type ChangeBuffer::Take(PageId page) {
  Shard& shard = ShardOf(page);
  SpinLatchGuard guard(shard.latch, runtime_);
  return shard.leaves.extract(Raw(page));
}

void ChangeBuffer::Forget(Leaves::node_type leaf) {
  if (leaf.empty()) return;
  uint64_t bytes = 0;
  for (const Change* c = leaf.mapped().oldest; c != nullptr; c = c->next) bytes += c->bytes();
  leaves_.fetch_sub(1, std::memory_order_relaxed);
  change_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
}

void ChangeBuffer::OnDropped(PageId page) { Forget(Take(page)); }

absl::Status ChangeBuffer::OnLoaded(PageId page, std::span<std::byte> bytes,
                                    std::optional<Lsn>* changed) {
  AbsentLeaf* leaf = nullptr;
  {
    Shard& shard = ShardOf(page);
    SpinLatchGuard guard(shard.latch, runtime_);
    const auto found = shard.leaves.find(Raw(page));
    if (found == shard.leaves.end()) return absl::OkStatus();
    leaf = &found->second;
  }
  if (leaf->oldest == nullptr) return absl::OkStatus();
  LATCHKEY_RETURN_IF_ERROR(Apply(page, *leaf, bytes));
  leaf->stays = !options_.is_writable();
  const bool forgets = LATCHKEY_CANARY("waiting-puts-count-from-the-newest");
  if (!leaf->stays) *changed = forgets ? leaf->lsn : leaf->first;
  return absl::OkStatus();
}

void ChangeBuffer::OnPublished(PageId page) {
  Shard& shard = ShardOf(page);
  {
    SpinLatchGuard guard(shard.latch, runtime_);
    const auto found = shard.leaves.find(Raw(page));
    if (found == shard.leaves.end() || found->second.stays) return;
  }
  Forget(Take(page));
}

bool ChangeBuffer::HasChangesBefore(PageId page, Lsn lsn) {
  Shard& shard = ShardOf(page);
  SpinLatchGuard guard(shard.latch, runtime_);
  const auto found = shard.leaves.find(Raw(page));
  return found != shard.leaves.end() && found->second.changes > 0 && found->second.first < lsn;
}

absl::Status ChangeBuffer::Apply(PageId page, AbsentLeaf& leaf, std::span<std::byte> bytes) {
  const auto lost = [page] {
    return MakeStatus(absl::StatusCode::kDataLoss,
                      "page {} is not as it was written: the device has lost a write; restore a "
                      "backup or salvage",
                      Raw(page));
  };
  NodeEditor node(bytes.data(), static_cast<uint32_t>(bytes.size()), pool_.Here().scratch.get());
  const uint64_t state = AbsentLeaf::StateOf(Lsn{PageLsn(bytes.data())}, node.last_writer());
  if (!BTree::IsLeafPage(node) || state != leaf.evicted_state) return lost();
  for (const Change* change = leaf.oldest; change != nullptr; change = change->next) {
    const SlotPosition position = node.LowerBound(change->key());
    const bool done =
        position.exact ? node.ReplaceValue(position.slot, change->value(), RecordFlags{0})
                       : node.Insert(position.slot, change->key(), change->value(), RecordFlags{0});
    if (!done) return lost();
  }
  node.set_last_writer(leaf.mark);
  if (leaf.lsn != Lsn{0}) SetPageLsn(bytes.data(), leaf.lsn);
  return absl::OkStatus();
}

std::vector<PageId> ChangeBuffer::PagesBefore(Lsn lsn) {
  std::vector<PageId> pages;
  if (LATCHKEY_CANARY("checkpoint-misses-waiting-puts")) return pages;
  for (uint32_t i = 0; i < kShards; ++i) {
    Shard& shard = shards_[i];
    SpinLatchGuard guard(shard.latch, runtime_);
    for (const auto& [page, leaf] : shard.leaves) {
      if (leaf.is_placing || (leaf.changes > 0 && leaf.first < lsn)) pages.push_back(PageId{page});
    }
  }
  return pages;
}

}  // namespace latchkey
