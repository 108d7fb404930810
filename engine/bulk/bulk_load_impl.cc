#include "engine/bulk/bulk_load_impl.h"

#include <algorithm>
#include <utility>

#include "engine/btree/node.h"
#include "engine/overflow.h"
#include "engine/transaction/transaction_state.h"
#include "storage/base/out_of_memory.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

absl::Status IsOver(std::string_view how) {
  return MakeStatus(absl::StatusCode::kFailedPrecondition,
                    "the bulk load is over: {}; begin another one", how);
}

}  // namespace

BulkLoadImpl::BulkLoadImpl(BulkLoadContext context, TxnId id, std::string_view name, double fill)
    : context_(std::move(context)),
      name_(name),
      page_size_(context_.pool.page_size()),
      limit_(static_cast<uint32_t>(fill * node_format::Capacity(page_size_))),
      pages_(context_.pool, context_.log, txn_) {
  txn_.set_id(id);
  context_.loads.Enter(this);
  listed_ = true;
}

BulkLoadImpl::~BulkLoadImpl() {
  if (!listed_) return;
  if (context_.identity.IsForeign()) {
    Disown();
  } else {
    End(IsOver("it was destroyed"));
  }
}

absl::Status BulkLoadImpl::CheckUsable() const {
  if (!over_.ok()) return over_;
  return context_.identity.CheckOpen();
}

absl::Status BulkLoadImpl::CheckRecord(std::string_view key, std::string_view value) const {
  LATCHKEY_RETURN_IF_ERROR(CheckKey(key));
  if (value.size() > Database::kMaxValueSize) {
    return InvalidArgument("a value of {} bytes is too large: values have 0 to {} bytes",
                           value.size(), Database::kMaxValueSize);
  }
  if (records_ == 0 || key > last_key_) return absl::OkStatus();
  return InvalidArgument(
      "record {} of the bulk load has a key that is {} the key before it: give records in ascending "
      "order of their keys, each key once",
      records_ + 1, key == last_key_ ? "equal to" : "below");
}

absl::Status BulkLoadImpl::Put(std::string_view key, std::string_view value) {
  LATCHKEY_RETURN_IF_ERROR(CheckUsable());
  LATCHKEY_RETURN_IF_ERROR(CheckRecord(key, value));
  absl::Status added = CatchOutOfMemory([&] { return Add(key, value); });
  if (!added.ok()) End(added);
  return added;
}

absl::Status BulkLoadImpl::Add(std::string_view key, std::string_view value) {
  last_key_.assign(key);
  ++records_;
  if (value.size() <= MaxInlineValue(page_size_, key.size())) {
    return AddEntry(0, {.key = key, .value = value});
  }
  LATCHKEY_ASSIGN_OR_RETURN(
      const OverflowReference chain,
      OverflowStore::WriteChain(page_size_, value,
                                [this](absl::FunctionRef<void(std::byte*)> fill) {
                                  return pages_.Add(fill);
                                }));
  names_chains_ = true;
  return AddEntry(0, {.key = key, .value = chain.view(), .flags = kOverflow});
}

absl::Status BulkLoadImpl::AddEntry(size_t level, const BulkEntry& entry) {
  if (levels_.size() == level) {
    // Inner pages stay rather full: two separators of any length must fit.
    const uint32_t least = level == 0 ? 0 : node_format::Capacity(page_size_) / 4 * 3;
    levels_.emplace_back(static_cast<uint32_t>(level), std::max(limit_, least));
  }
  while (const size_t count = levels_[level].EntriesToClose(entry)) {
    LATCHKEY_RETURN_IF_ERROR(ClosePage(level, count, entry.key));
  }
  levels_[level].Add(entry);
  return absl::OkStatus();
}

absl::Status BulkLoadImpl::ClosePage(size_t level, size_t count,
                                     std::optional<std::string_view> next) {
  const BulkLevel& closed = levels_[level];
  std::optional<std::string> upper;
  if (next || count < closed.size()) upper = closed.UpperFence(count, next.value_or(""));
  LATCHKEY_ASSIGN_OR_RETURN(const PageId page, pages_.Add([&](std::byte* bytes) {
    closed.FillPage(count, upper, bytes, page_size_);
  }));
  const std::string lower(closed.lower());
  levels_[level].Remove(count, upper.value_or(""));
  return AddEntry(level + 1, {.key = lower, .child = page});
}

// Closes the last page of each level, from the leaves upward. A level with one page holds the root.
absl::StatusOr<PageId> BulkLoadImpl::CloseLevels() {
  if (levels_.empty()) levels_.emplace_back(0, limit_);
  for (size_t level = 0;; ++level) {
    while (const size_t count = levels_[level].size() == 0 ? 0 : levels_[level].EntriesToCloseLast()) {
      LATCHKEY_RETURN_IF_ERROR(ClosePage(level, count, std::nullopt));
    }
    if (level > 0 && levels_.size() == level + 1 && levels_[level].size() == 1) {
      return levels_[level].entry(0).child;
    }
    LATCHKEY_RETURN_IF_ERROR(ClosePage(level, levels_[level].size(), std::nullopt));
  }
}

absl::StatusOr<Tree> BulkLoadImpl::Complete() {
  LATCHKEY_ASSIGN_OR_RETURN(const PageId root, CloseLevels());
  LATCHKEY_RETURN_IF_ERROR(pages_.Flush());
  context_.loads.NoteEnd(pages_.runs());
  bool entered = false;
  const absl::StatusOr<TreeImpl*> tree =
      context_.enter(name_, {.root = root, .names_chains = names_chains_}, txn_, &entered);
  if (entered) {
    over_ = IsOver("Finish was called");
    Leave();
  }
  if (!tree.ok()) return tree.status();
  return context_.identity.HandleOf(**tree);
}

absl::StatusOr<Tree> BulkLoadImpl::Finish() {
  LATCHKEY_RETURN_IF_ERROR(CheckUsable());
  absl::StatusOr<Tree> tree =
      CatchOutOfMemory([this]() -> absl::StatusOr<Tree> { return Complete(); });
  if (!tree.ok()) End(tree.status());
  return tree;
}

void BulkLoadImpl::End(absl::Status why) {
  if (!over_.ok()) return;
  over_ = std::move(why);
  const absl::Status freed = CatchOutOfMemory([this] { return pages_.FreeAll(); });
  if (context_.log != nullptr) {
    freed.ok() ? context_.log->LogEnd(txn_) : context_.log->Abandon(txn_);
    context_.log->ReleaseSpace(txn_);
  }
  Leave();
}

void BulkLoadImpl::Disown() {
  // In a child made by fork() the writes are the parent's, and the store's objects are there.
  if (!context_.identity.IsForeign()) pages_.Release();
  if (over_.ok()) over_ = IsOver("its database was closed");
  listed_ = false;
}

void BulkLoadImpl::Leave() {
  pages_.Release();
  if (std::exchange(listed_, false)) context_.loads.Leave(this);
}

void BulkLoads::Enter(BulkLoadImpl* load) {
  MutexLock lock(mutex_);
  loads_.push_back(load);
}

void BulkLoads::Leave(BulkLoadImpl* load) {
  MutexLock lock(mutex_);
  std::erase(loads_, load);
}

void BulkLoads::VisitAll(absl::FunctionRef<void(BulkLoadImpl&)> visit) {
  std::vector<BulkLoadImpl*> all;
  {
    MutexLock lock(mutex_);
    all = loads_;
  }
  for (BulkLoadImpl* load : all) visit(*load);
}

void BulkLoads::NoteEnd(std::span<const BulkPages::Run> runs) {
  MutexLock lock(ends_);
  if (notes_) noted_.insert(noted_.end(), runs.begin(), runs.end());
}

void BulkLoads::StartNoting() {
  MutexLock lock(ends_);
  noted_.clear();
  notes_ = true;
}

void BulkLoads::StopNoting() {
  MutexLock lock(ends_);
  noted_ = {};
  notes_ = false;
}

BulkLoads::Runs BulkLoads::TakeNoted() {
  MutexLock lock(ends_);
  return std::exchange(noted_, {});
}

absl::Status BulkLoads::TakeLast(absl::FunctionRef<absl::Status(const Runs&)> last) {
  MutexLock lock(ends_);
  return last(std::exchange(noted_, {}));
}

}  // namespace latchkey
