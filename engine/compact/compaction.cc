#include "engine/compact/compaction.h"

#include <algorithm>
#include <utility>

#include "engine/btree/node.h"
#include "engine/btree/node_format.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

// Leaves that are read ahead of the walk, as for a scan.
constexpr uint32_t kReadAhead = 16;
// A fuller leaf is not worth a try.
constexpr double kFull = 0.9;

constexpr Nanos kPause = 10 * kNanosPerMilli;
// Time without progress after which another checkpoint may help, and after which nothing does.
constexpr Nanos kStuck = 200 * kNanosPerMilli, kGivesUp = 5 * kNanosPerSecond;

}  // namespace

Compaction::Compaction(BufferPool& pool, Checkpointer& checkpointer, const CompactOptions& options)
    : pool_(pool),
      runtime_(pool.runtime()),
      checkpointer_(checkpointer),
      options_(options),
      pace_(runtime_, options.max_bytes_per_second),
      page_(pool.page_size()) {
  info_.bytes_before = info_.bytes_after = pool.store().stats().file_bytes;
}

absl::Status Compaction::GoOn() {
  const CompactProgress now{
      .leaves = info_.leaves, .freed = info_.freed, .file_bytes = info_.bytes_after};
  if (!options_.progress || options_.progress(now)) return absl::OkStatus();
  return absl::CancelledError("the compaction was stopped; what it has done so far stays");
}

absl::Status Compaction::FillLeaves(TreeImpl& tree) {
  std::string key;
  for (bool more = true; more;) {
    absl::StatusOr<bool> stepped = Step(tree, &key);
    if (tree.is_dropped()) return absl::OkStatus();  // its pages may be another tree's by now
    if (!stepped.ok()) return std::move(stepped).status();
    more = *stepped;
    LATCHKEY_RETURN_IF_ERROR(GoOn());
    LATCHKEY_RETURN_IF_ERROR(pace_.Spend(page_.size(), [this] { return GoOn(); }));
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> Compaction::Step(TreeImpl& tree, std::string* key) {
  const TreeHold hold(tree);
  if (tree.is_dropped()) return false;
  PoolActor& actor = pool_.Here();
  OwnedFences fences;
  OptimisticGuard guard;
  LATCHKEY_RETURN_IF_ERROR(tree.btree.CopyLeaf(actor, {LeafTarget::Kind::kCovering, *key},
                                               kReadAhead, page_.data(), &fences, &guard));
  if (!fences.has_upper) return false;
  ++info_.leaves;
  const uint32_t page_size = pool_.page_size();
  const double used = NodeView(page_.data(), page_size).UsedBytes();
  if (used < kFull * node_format::Capacity(page_size)) {
    const BTree::Packed packed = tree.btree.TryPackNext(actor, *key);
    info_.freed += packed == BTree::Packed::kMerged;
    if (packed != BTree::Packed::kNothing) return true;  // perhaps more fits
  }
  *key = std::move(fences.upper);
  return true;
}

absl::Status Compaction::ShrinkFile() {
  LATCHKEY_RETURN_IF_ERROR(checkpointer_.Run(/*clean=*/false));
  Nanos progress_at = runtime_.Now(), checkpoint_at = progress_at;
  uint64_t least = info_.bytes_after;  // users may make the file grow meanwhile
  for (;;) {
    const PageStoreStats stats = pool_.store().stats();
    const Nanos now = runtime_.Now();
    if (stats.file_bytes < least) {
      progress_at = now;
      least = stats.file_bytes;
    }
    info_.bytes_after = stats.file_bytes;
    LATCHKEY_RETURN_IF_ERROR(GoOn());
    if (stats.excess_bytes == 0 || now - progress_at > kGivesUp) break;
    if (now - std::max(progress_at, checkpoint_at) > kStuck) {
      LATCHKEY_RETURN_IF_ERROR(checkpointer_.Run(/*clean=*/false));
      checkpoint_at = runtime_.Now();
    }
    runtime_.SleepFor(kPause);
  }
  LATCHKEY_RETURN_IF_ERROR(checkpointer_.ShrinkLog());
  info_.bytes_after = pool_.store().stats().file_bytes;
  return absl::OkStatus();
}

}  // namespace latchkey
