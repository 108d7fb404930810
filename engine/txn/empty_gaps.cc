#include "engine/txn/empty_gaps.h"

#include <algorithm>
#include <utility>

#include "storage/base/canary.h"
#include "storage/base/hash.h"
#include "storage/base/out_of_memory.h"

namespace latchkey {
namespace {

// The low bits of a remembered key tell about its gap. This is the number of their values.
constexpr uint32_t kOfGap = 256;
// Behind a key in a gap, one key in this many is searched for in the gaps, too.
constexpr uint64_t kKeysPerSearch = 32;

}  // namespace

EmptyGaps::EmptyGaps(Runtime& runtime)
    : runtime_(runtime),
      shards_(std::make_unique<Shard[]>(kShards)),
      remembered_(std::make_unique<std::atomic<uint32_t>[]>(kRemembered)) {}

EmptyGaps::~EmptyGaps() = default;

// About what the allocator takes for a node of the map and for its strings.
size_t EmptyGaps::BytesOf(const Map::value_type& gap) {
  constexpr size_t kNode = 48;
  return kNode + sizeof(Map::value_type) + gap.first.lower.capacity() + gap.second.key.capacity();
}

bool EmptyGaps::EndsBefore(const Upper& upper, std::string_view key) {
  return !upper.is_last && upper.key <= key;
}

const EmptyGaps::Map::value_type* EmptyGaps::Covering(const Map& gaps, TreeId tree,
                                                      std::string_view key) {
  const auto behind = gaps.lower_bound(PlaceView{tree, key});
  if (behind == gaps.begin()) return nullptr;
  // No two gaps overlap, so only this one, the nearest that begins before the key, may hold it.
  const auto& gap = *std::prev(behind);
  return gap.first.tree == tree && !EndsBefore(gap.second, key) ? &gap : nullptr;
}

bool EmptyGaps::IsWorthNoting(TreeId tree, std::string_view key, std::string_view left) {
  if (bytes() >= most_bytes_.load(std::memory_order_relaxed)) return false;
  const CommitTs wanted = noted_below_.load(std::memory_order_relaxed);
  const auto place_of = [this](uint64_t hash) -> std::atomic<uint32_t>& {
    return remembered_[(hash >> 32) % kRemembered];
  };
  const uint64_t own = Hash64(key, Raw(tree)), before = Hash64(left, Raw(tree));
  const uint32_t of_left = place_of(before).load(std::memory_order_relaxed);
  const bool knows_left = of_left / kOfGap == static_cast<uint32_t>(before) / kOfGap;
  // The key behind one that lay in a gap most often lies in the same gap. So most keys need no search. A
  // few are searched for all the same, because the gap may end between the two keys.
  const auto in_gap = static_cast<uint32_t>(wanted % (kOfGap - 1)) + 1;
  const bool trusts_left = knows_left && of_left % kOfGap == in_gap && own % kKeysPerSearch != 0;
  const bool is_known = trusts_left || EmptyBelow(tree, key) >= wanted;
  place_of(own).store(static_cast<uint32_t>(own) / kOfGap * kOfGap + (is_known ? in_gap : 0),
                      std::memory_order_relaxed);
  return knows_left && !is_known;
}

void EmptyGaps::Note(TreeId tree, Ends ends) {
  CatchOutOfMemory([&] {
    SpinLatchGuard noting(noting_latch_, runtime_);
    const CommitTs below = noted_below_.load(std::memory_order_relaxed);
    if (below == 0) return absl::OkStatus();
    // First, so that a reader of a version that is dropped because of the gap looks for the gap.
    below_.store(std::max(this->below(), below), std::memory_order_release);
    Shard& shard = ShardOf(tree);
    SpinLatchGuard guard(shard.latch, runtime_);
    if (shard.sets.empty() || shard.sets.back()->below < below) {
      shard.sets.push_back(std::make_unique<Set>(Set{.below = below, .gaps = {}}));
    }
    Add(&shard.sets.back()->gaps, {.tree = tree, .lower = std::move(ends.lower)},
        {.key = std::move(ends.upper), .is_last = !ends.has_upper});
    return absl::OkStatus();
  }).IgnoreError();
}

// Two gaps of one set that overlap are one: each is empty for the same snapshots. What may throw comes
// before the first change.
void EmptyGaps::Add(Map* gaps, Place place, Upper upper) {
  const TreeId tree = place.tree;
  auto first = gaps->upper_bound(place);
  if (first != gaps->begin()) {
    const auto before = std::prev(first);
    if (before->first.tree == tree && !EndsBefore(before->second, place.lower)) {
      first = before;
      place.lower = before->first.lower;
    }
  }
  auto last = first;
  while (last != gaps->end() && last->first.tree == tree &&
         (last->first.lower == place.lower || !EndsBefore(upper, last->first.lower))) {
    if (last->second.is_last || (!upper.is_last && upper.key < last->second.key)) {
      upper = last->second;
    }
    ++last;
  }
  Map united;
  united.emplace(std::move(place), std::move(upper));
  size_t freed = 0;
  for (auto gap = first; gap != last; ++gap) freed += BytesOf(*gap);
  gaps->erase(first, last);
  bytes_.fetch_add(BytesOf(*united.begin()) - freed, std::memory_order_relaxed);
  gaps->insert(united.extract(united.begin()));
}

CommitTs EmptyGaps::Find(TreeId tree, std::string_view key, Search* search) {
  if (below() == 0) return 0;
  Shard& shard = ShardOf(tree);
  SpinLatchGuard guard(shard.latch, runtime_);
  for (auto set = shard.sets.rbegin(); set != shard.sets.rend(); ++set) {
    const auto* gap = Covering((*set)->gaps, tree, key);
    if (gap == nullptr) continue;
    if (search != nullptr) Remember(**set, *gap, search);
    return (*set)->below;
  }
  return 0;
}

void EmptyGaps::Remember(const Set& set, const Map::value_type& gap, Search* search) {
  const std::string& lower = gap.first.lower;
  const std::string& upper = gap.second.key;
  if (lower.size() > Search::kMostBytes || upper.size() > Search::kMostBytes) return;
  search->below_ = set.below;
  search->tree_ = gap.first.tree;
  search->is_last_ = gap.second.is_last;
  search->lower_size_ = static_cast<uint8_t>(lower.copy(search->lower_, Search::kMostBytes));
  search->upper_size_ = static_cast<uint8_t>(upper.copy(search->upper_, Search::kMostBytes));
}

// A gap may be dropped while it is remembered. What it said stays true: the snapshots for which it
// answered have ended.
CommitTs EmptyGaps::Search::EmptyBelow(TreeId tree, std::string_view key) {
  return Holds(tree, key) ? below_ : gaps_.Find(tree, key, this);
}

bool EmptyGaps::Search::Holds(TreeId tree, std::string_view key) const {
  return below_ != 0 && tree == tree_ && std::string_view(lower_, lower_size_) < key &&
         (is_last_ || key < std::string_view(upper_, upper_size_));
}

void EmptyGaps::Tidy(const LiveSnapshots& live) {
  if (below() == 0) return;
  std::vector<std::unique_ptr<Set>> dropped;  // freed with no latch held
  CatchOutOfMemory([&] {
    SpinLatchGuard noting(noting_latch_, runtime_);
    CommitTs below = 0;
    for (uint32_t index = 0; index < kShards; ++index) {
      Shard& shard = shards_[index];
      SpinLatchGuard guard(shard.latch, runtime_);
      Unite(shard, live, &dropped);
      if (!shard.sets.empty()) below = std::max(below, shard.sets.back()->below);
    }
    below_.store(below, std::memory_order_release);
    return absl::OkStatus();
  }).IgnoreError();
  for (const auto& set : dropped) {
    for (const auto& gap : set->gaps) bytes_.fetch_sub(BytesOf(gap), std::memory_order_relaxed);
  }
}

// If no snapshot reads between the timestamps of two sets, both answer for the same snapshots. So there
// are at most as many sets as snapshots.
void EmptyGaps::Unite(Shard& shard, const LiveSnapshots& live,
                      std::vector<std::unique_ptr<Set>>* dropped) {
  CommitTs oldest = live.oldest;
  if (LATCHKEY_CANARY("gap-dropped-too-early")) oldest += 200;
  for (size_t i = 0; i < shard.sets.size();) {
    Set& set = *shard.sets[i];
    const bool is_last = i + 1 == shard.sets.size();
    if (set.below > oldest && (is_last || live.AnyIn(set.below, shard.sets[i + 1]->below))) {
      ++i;
      continue;
    }
    dropped->reserve(dropped->size() + 1);
    if (set.below > oldest) {
      for (const auto& [place, upper] : set.gaps) Add(&shard.sets[i + 1]->gaps, place, upper);
    }
    dropped->push_back(std::move(shard.sets[i]));
    shard.sets.erase(shard.sets.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

uint64_t EmptyGaps::count() {
  uint64_t count = 0;
  for (uint32_t index = 0; index < kShards; ++index) {
    SpinLatchGuard guard(shards_[index].latch, runtime_);
    for (const auto& set : shards_[index].sets) count += set->gaps.size();
  }
  return count;
}

}  // namespace latchkey
