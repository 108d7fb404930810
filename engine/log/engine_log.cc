#include "engine/log/engine_log.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "engine/log/page_lsn.h"
#include "storage/base/check.h"
#include "storage/base/out_of_memory.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

// One transaction reserves a kReserveShare-th of the log's initial size at once, at most
// kMaxReserveStep bytes.
constexpr uint64_t kReserveShare = 128, kMaxReserveStep = 64u << 10;

// A rollback that makes values longer may have to split leaves that other transactions have filled
// meanwhile. One split makes room for half a page, and its record holds two pages.
constexpr uint64_t kSplitBytesPerByte = 4;

// Longest record that is encoded early. Records of most changes are shorter.
constexpr size_t kMaxEarlyEncoding = 512;

// For a transaction that is undone after a crash: more than any log has room for.
constexpr uint64_t kUnknownSplits = uint64_t{1} << 62;

uint64_t ChangeSpace(const Log& log, uint32_t page_size) {
  const size_t value = MaxInlineValue(page_size, 0);
  return log.RecordSpace(kLogChangeOverhead + kMaxNodeKeySize + 2 * value) +
         log.RecordSpace(kLogCompensationOverhead + kMaxNodeKeySize + value) +
         kSplitBytesPerByte * value;
}

// Size of images of `pages` whole pages, each with its entry and a freed id.
size_t ImagesSize(size_t pages, uint32_t page_size) {
  return kLogRecordHeaderSize + 8 + pages * (size_t{page_size} + 20);
}

absl::Status OutcomeUnknown(absl::string_view why) {
  return MakeStatus(
      absl::StatusCode::kUnavailable,
      "the outcome of the commit is unknown: its log record may not have reached the device ({}); "
      "reopen the database to recover, and look",
      std::string(why));
}

}  // namespace

EngineLog::EngineLog(Runtime& runtime, Log& log, std::function<void(PageId)> return_page,
                     const EngineLogOptions& options)
    : runtime_(runtime),
      log_(log),
      return_page_(std::move(return_page)),
      options_(options),
      image_space_(options.rely_on_images != nullptr
                       ? log.RecordSpace(ImagesSize(1, options.page_size))
                       : 0),
      change_space_(ChangeSpace(log, options.page_size) + image_space_ +
                    log.RecordSpace(kEndRecordSize) + log.PaidGroupSpace()),
      end_space_(log.RecordSpace(kEndRecordSize) + log.PaidGroupSpace()),
      // Two ids: if the page lists others, it is written once more when they are freed.
      free_share_(log.RecordSpace(FreeRecordSize(2))),
      page_space_(log.RecordSpace(AllocationRecordSize(1)) +
                  log.RecordSpace(ImagesSize(1, options.page_size)) + free_share_ + end_space_),
      reserve_step_(std::min(kMaxReserveStep, log.stats().allocated_bytes / kReserveShare)),
      outcome_unknown_(OutcomeUnknown("no memory was left to write it")),
      hand_over_mutex_(runtime) {
  if (!logs_images()) return;
  images_from_.store(Raw(log.next()), std::memory_order_relaxed);  // all that is on the device
  if (!options_.redo_has_images) went_without_image_ = Raw(log.next());
  options_.rely_on_images(options_.redo_has_images);
}

std::unique_ptr<EngineLog> EngineLog::Start(Runtime& runtime, Log& log,
                                            std::function<void(PageId)> return_page,
                                            const EngineLogOptions& options) {
  std::unique_ptr<EngineLog> engine_log(
      new EngineLog(runtime, log, std::move(return_page), options));
  if (!options.wait_for_commits) {
    EngineLog* self = engine_log.get();
    engine_log->flusher_ = runtime.Spawn("log flusher", [self] { self->RunFlusher(); });
  }
  return engine_log;
}

EngineLog::~EngineLog() {
  if (flusher_ == nullptr) return;
  flush_wanted_.store(kFlusherStop, std::memory_order_release);
  runtime_.Wake(flush_wanted_, 1);
  flusher_->Join();
}

// ---- Log space

absl::Status EngineLog::Poisoned(absl::Status why) {
  failed_.store(true, std::memory_order_relaxed);
  return why;
}

absl::Status EngineLog::CheckWritable() const {
  if (options_.page_status != nullptr) {
    if (absl::Status pages = options_.page_status(); !pages.ok()) {
      // Changes in memory are not logged from here on: the log ends together with the pages.
      if (!log_.poisoned()) log_.Fail(pages);
      failed_.store(true, std::memory_order_relaxed);
      return pages;
    }
  }
  if (is_writable()) return absl::OkStatus();
  return absl::UnavailableError(
      "read-only: writing the log has failed, so that nothing more can be made durable; reopen the "
      "database to recover");
}

absl::Status EngineLog::ReserveBytes(uint64_t bytes, bool must_not_fail, uint64_t* account) {
  if (!is_writable()) {
    return must_not_fail ? absl::OkStatus() : CheckWritable();  // a rollback in memory continues
  }
  absl::Status reserved = must_not_fail ? log_.ReserveUrgent(bytes) : log_.Reserve(bytes);
  if (reserved.ok()) *account += bytes;
  return must_not_fail && log_.poisoned() ? absl::OkStatus() : reserved;
}

absl::Status EngineLog::ReserveMore(LogTxn& txn, uint64_t need) {
  LATCHKEY_RETURN_IF_ERROR(CheckWritable());
  if (txn.budget_ >= need) return absl::OkStatus();
  uint64_t bytes = std::max(need, reserve_step_);
  if (!log_.TryReserve(bytes)) {
    bytes = need - txn.budget_;
    LATCHKEY_RETURN_IF_ERROR(log_.Reserve(bytes));
  }
  txn.budget_ += bytes;
  return absl::OkStatus();
}

absl::Status EngineLog::ReserveValuePage(LogTxn& txn) { return ReserveMore(txn, page_space_); }

absl::Status EngineLog::ReserveUndo(LogTxn& txn) {
  if (txn.undo_ >= change_space_) return absl::OkStatus();
  return ReserveBytes(change_space_, /*must_not_fail=*/true, &txn.undo_);
}

absl::Status EngineLog::Reserve(size_t pages, bool must_not_fail, LogSpace* space) {
  LATCHKEY_CHECK(space->log_ == nullptr);
  const uint64_t bytes = log_.RecordSpace(ImagesSize(pages, options_.page_size));
  space->log_ = this;
  return ReserveBytes(bytes, must_not_fail, &space->bytes_);
}

absl::Status EngineLog::ReserveSystemChange(LogSpace* space) {
  LATCHKEY_CHECK(space->log_ == nullptr);
  space->log_ = this;
  return ReserveBytes(change_space_, /*must_not_fail=*/false, &space->bytes_);
}

// Takes bytes from an account as the log takes them from its reservations. False: the log has
// failed and nothing was reserved, so the caller appends nothing.
bool EngineLog::Spend(uint64_t& account, uint64_t bytes) const {
  if (__builtin_expect(account >= bytes, 1)) {
    account -= bytes;
    return true;
  }
  LATCHKEY_CHECK(!is_writable());
  return false;
}

bool EngineLog::SpendFree(LogTxn* txn, LogSpace& space, size_t record_size) const {
  const uint64_t bytes = log_.RecordSpace(record_size);
  if (txn == nullptr || space.bytes_ >= bytes) return Spend(space.bytes_, bytes);
  return Spend(txn->undo_, bytes);
}

// A change of `page` is not logged any more: its LSN becomes one that is never durable, so the page
// is never written.
Lsn EngineLog::KeepOffDevice(std::byte* page) const {
  const Lsn next = log_.next();
  SetPageLsn(page, next);
  return next;
}

void EngineLog::Finish(LogSpace& space) {
  if (space.first_ != Lsn{0}) {
    SpinLatchGuard guard(space_latch_, runtime_);
    (space.older_ != nullptr ? space.older_->newer_ : oldest_space_) = space.newer_;
    (space.newer_ != nullptr ? space.newer_->older_ : newest_space_) = space.older_;
  }
  if (space.bytes_ != 0) log_.Release(std::exchange(space.bytes_, 0));
  space.log_ = nullptr;
}

// ---- Inside Log::Append

void EngineLog::MarkSpace(LogSpace& space, Lsn lsn) {
  if (space.first_ != Lsn{0}) return;
  space.log_ = this;
  SpinLatchGuard guard(space_latch_, runtime_);
  space.first_ = lsn;
  space.older_ = newest_space_;
  space.newer_ = nullptr;
  (newest_space_ != nullptr ? newest_space_->newer_ : oldest_space_) = &space;
  newest_space_ = &space;
}

LogRecordHeader EngineLog::Enter(LogTxn* txn, LogRecordType type, Lsn lsn) {
  if (txn == nullptr) return {.type = type};
  if (!txn->active()) {
    LATCHKEY_CHECK(txn->id_ != TxnId{0});
    txn->first_ = lsn;
    txn->older_ = newest_txn_;
    txn->newer_ = nullptr;
    (newest_txn_ != nullptr ? newest_txn_->newer_ : oldest_txn_) = txn;
    newest_txn_ = txn;
  }
  return {.type = type, .txn = txn->id_, .previous = std::exchange(txn->last_, lsn)};
}

void EngineLog::Leave(LogTxn& txn) {
  (txn.older_ != nullptr ? txn.older_->newer_ : oldest_txn_) = txn.newer_;
  (txn.newer_ != nullptr ? txn.newer_->older_ : newest_txn_) = txn.older_;
  txn.older_ = txn.newer_ = nullptr;
  txn.first_ = txn.last_ = Lsn{0};
}

// ---- Changes of records

// Encoded before the log is latched, because others wait for the latch. This is safe: no other
// actor changes the transaction or the page.
Lsn EngineLog::AppendEncoded(LogTxn* txn, LogRecordType type, const ChangeEncoding& change,
                             std::byte* page) {
  std::array<std::byte, kMaxEarlyEncoding> early;
  const bool is_early = change.size() <= early.size();
  const auto page_lsn = static_cast<uint32_t>(PageLsn(page));
  if (is_early) {
    const LogRecordHeader header{.type = type,
                                 .txn = txn != nullptr ? txn->id_ : TxnId{0},
                                 .previous = txn != nullptr ? txn->last_ : Lsn{0}};
    change.Encode(header, page_lsn, early.data());
  }
  const Lsn at = log_.Append(change.size(), [&](Lsn lsn, std::byte* to) {
    const LogRecordHeader header = Enter(txn, type, lsn);
    if (is_early) {
      std::memcpy(to, early.data(), change.size());
    } else {
      change.Encode(header, page_lsn, to);
    }
  });
  SetPageLsn(page, at);
  return at;
}

Lsn EngineLog::AppendChange(LogTxn* txn, LogRecordType type, const ChangeEncoding& change,
                            PageId id, std::byte* page, uint64_t* image_space) {
  if (!logs_images()) return AppendEncoded(txn, type, change, page);
  const auto fill = [&](Lsn lsn, std::byte* to) {
    change.Encode(Enter(txn, type, lsn), static_cast<uint32_t>(PageLsn(page)), to);
    SetPageLsn(page, lsn);
  };
  return AppendBehindImage(id, page, {change.size(), fill}, image_space);
}

Lsn EngineLog::LogChange(LogTxn& txn, const RecordChange& change, std::byte* page) {
  const ChangeEncoding encoding(LogRecordType::kChange, change);
  const size_t before = change.before_bytes.size(), now = change.now_bytes.size();
  const uint64_t undo =
      log_.RecordSpace(kLogCompensationOverhead + change.key.size() +
                       std::max(before, kOverflowReferenceSize) + kOverflowReferenceSize);
  const uint64_t growth = kSplitBytesPerByte * (std::max(before, now) - now);
  const uint64_t space = log_.RecordSpace(encoding.size()) + image_space_;
  if (!Spend(txn.budget_, space + undo + growth)) return KeepOffDevice(page);
  txn.undo_ += undo;
  txn.growth_ += growth;
  uint64_t left = image_space_;
  const Lsn lsn = AppendChange(&txn, LogRecordType::kChange, encoding, change.page, page, &left);
  txn.budget_ += left;
  return lsn;
}

// Reserves no space for images of rollbacks. They are due only for pages whose last change came
// before a checkpoint began, and a page per change would make the log of a long transaction huge.
Lsn EngineLog::LogCompensation(LogTxn& txn, const RecordChange& change, std::byte* page) {
  const ChangeEncoding encoding(LogRecordType::kCompensation, change);
  if (!Spend(txn.undo_, log_.RecordSpace(encoding.size()))) return KeepOffDevice(page);
  uint64_t left = TakeImageSpace(page, txn.splits_);
  const Lsn lsn =
      AppendChange(&txn, LogRecordType::kCompensation, encoding, change.page, page, &left);
  if (left != 0) log_.Release(left);
  return lsn;
}

Lsn EngineLog::LogSystemChange(LogSpace& space, const RecordChange& change, std::byte* page) {
  const ChangeEncoding encoding(LogRecordType::kChange, change);
  const uint64_t bytes = log_.RecordSpace(encoding.size()) + image_space_;
  if (!Spend(space.bytes_, bytes)) return KeepOffDevice(page);
  uint64_t left = image_space_;
  const Lsn lsn = AppendChange(nullptr, LogRecordType::kChange, encoding, change.page, page, &left);
  space.bytes_ += left;
  return lsn;
}

// ---- Pages

void EngineLog::LogValuePage(LogTxn& txn, ExclusiveGuard& page) {
  const PageId id = page.page();
  std::byte* bytes = page.Mutable();
  const PageImage image = ImageOf(id, {bytes, options_.page_size});
  const size_t image_size = ImagesRecordSize({&image, 1}, 0);
  const uint64_t space = log_.RecordSpace(AllocationRecordSize(1)) + log_.RecordSpace(image_size);
  if (!Spend(txn.budget_, space + free_share_)) {
    KeepOffDevice(bytes);
    return;
  }
  txn.undo_ += free_share_;
  log_.Append(AllocationRecordSize(1), [&](Lsn lsn, std::byte* to) {
    EncodeAllocation(Enter(&txn, LogRecordType::kAllocation, lsn), {&id, 1}, to);
  });
  log_.Append(image_size, [&](Lsn lsn, std::byte* to) {
    EncodeImages(Enter(&txn, LogRecordType::kImages, lsn), {&image, 1}, {}, to);
    SetPageLsn(bytes, lsn);
  });
}

void EngineLog::LogImages(LogTxn* txn, LogSpace& space, std::span<ExclusiveGuard* const> changed,
                          std::span<const PageId> freed) {
  constexpr size_t kMaxImages = 4;
  LATCHKEY_CHECK(changed.size() <= kMaxImages);
  std::array<PageImage, kMaxImages> buffer;
  for (size_t i = 0; i < changed.size(); ++i) {
    buffer[i] = ImageOf(changed[i]->page(), {changed[i]->data(), options_.page_size});
  }
  const std::span<const PageImage> images(buffer.data(), changed.size());
  const size_t size = ImagesRecordSize(images, freed.size());
  if (!SpendFree(txn, space, size)) {
    for (ExclusiveGuard* page : changed) KeepOffDevice(page->Mutable());
    return;
  }
  log_.Append(size, [&](Lsn lsn, std::byte* to) {
    EncodeImages(Enter(txn, LogRecordType::kImages, lsn), images, freed, to);
    for (ExclusiveGuard* page : changed) SetPageLsn(page->Mutable(), lsn);
    if (!freed.empty()) MarkSpace(space, lsn);
  });
}

void EngineLog::LogFree(LogTxn* txn, LogSpace& space, PageId chain, std::span<const PageId> pages) {
  const size_t size = FreeRecordSize(pages.size());
  if (!SpendFree(txn, space, size)) return;
  std::map<uint64_t, PendingChain>::node_type forgotten;
  log_.Append(size, [&](Lsn lsn, std::byte* to) {
    EncodeFree(Enter(txn, LogRecordType::kFree, lsn), chain, pages, to);
    MarkSpace(space, lsn);
    if (chain == kInvalidPageId) return;
    SpinLatchGuard guard(pending_latch_, runtime_);
    forgotten = pending_.extract(Raw(chain));
  });
}

EngineLog::SupersededChain EngineLog::PrepareSuperseded(OverflowChain chain) {
  std::map<uint64_t, PendingChain> made;
  made.emplace(Raw(chain.first_page), PendingChain{chain, TxnId{0}});
  return made.extract(made.begin());
}

void EngineLog::NoteSuperseded(const LogTxn& txn, SupersededChain prepared) {
  prepared.mapped().by = txn.id_;
  SpinLatchGuard guard(pending_latch_, runtime_);
  auto entered = pending_.insert(std::move(prepared));
  if (!entered.inserted) entered.position->second = entered.node.mapped();
}

void EngineLog::ForgetSuperseded(OverflowChain chain) {
  SpinLatchGuard guard(pending_latch_, runtime_);
  pending_.erase(Raw(chain.first_page));
}

void EngineLog::AddPendingChain(OverflowChain chain) {
  SpinLatchGuard guard(pending_latch_, runtime_);
  pending_.insert_or_assign(Raw(chain.first_page), PendingChain{chain, TxnId{0}});
}

absl::Status EngineLog::LogDropTree(LogTxn& drop, TreeId tree, PageId root, std::string_view name) {
  const size_t size = DropTreeRecordSize(name.size());
  LATCHKEY_RETURN_IF_ERROR(ReserveMore(drop, log_.RecordSpace(size) + end_space_));
  if (!Spend(drop.budget_, log_.RecordSpace(size))) return CheckWritable();
  log_.Append(size, [&](Lsn lsn, std::byte* to) {
    EncodeDropTree(Enter(&drop, LogRecordType::kDropTree, lsn), tree, root, name, to);
  });
  return absl::OkStatus();
}

// ---- Ends

// For a log that has failed.
void EngineLog::LeaveUnlogged(LogTxn& txn) {
  log_.Frozen([&](Lsn) { Leave(txn); });
}

bool EngineLog::TryLogCommit(LogTxn& txn, Lsn* lsn) {
  if (!txn.active()) return true;
  if (!Spend(txn.budget_, end_space_)) {
    LeaveUnlogged(txn);
    *lsn = log_.next();  // never durable: a wait for it reports the failure
    return true;
  }
  const std::optional<Lsn> logged = log_.TryAppendPaid(kEndRecordSize, [&](Lsn at, std::byte* to) {
    EncodeEnd(Enter(&txn, LogRecordType::kCommit, at), to);
    Leave(txn);
    last_commit_.store(Raw(at), std::memory_order_seq_cst);
  });
  if (!logged) {
    txn.budget_ += end_space_;
    return false;
  }
  *lsn = *logged;
  return true;
}

void EngineLog::LogEnd(LogTxn& txn) {
  if (txn.active()) {
    const uint64_t space = log_.RecordSpace(kEndRecordSize);
    if (Spend(txn.budget_ >= space ? txn.budget_ : txn.undo_, space)) {
      log_.Append(kEndRecordSize, [&](Lsn lsn, std::byte* to) {
        EncodeEnd(Enter(&txn, LogRecordType::kEnd, lsn), to);
        Leave(txn);
      });
    } else {
      LeaveUnlogged(txn);
    }
  }
  ReleaseSpace(txn);
}

void EngineLog::Abandon(LogTxn& txn) {
  if (!txn.active()) return;
  LogTxn* heir = nullptr;
  try {
    auto made = std::make_unique<LogTxn>();
    heir = made.get();
    SpinLatchGuard guard(abandoned_latch_, runtime_);
    abandoned_.push_back(std::move(made));
  } catch (const std::bad_alloc&) {
    // No checkpoint may forget the transaction. With no further checkpoint, the next open finds it.
    failed_.store(true, std::memory_order_relaxed);
    return LeaveUnlogged(txn);
  }
  log_.Frozen([&](Lsn) {
    heir->id_ = txn.id_;
    heir->first_ = std::exchange(txn.first_, Lsn{0});
    heir->last_ = std::exchange(txn.last_, Lsn{0});
    heir->older_ = std::exchange(txn.older_, nullptr);
    heir->newer_ = std::exchange(txn.newer_, nullptr);
    (heir->older_ != nullptr ? heir->older_->newer_ : oldest_txn_) = heir;
    (heir->newer_ != nullptr ? heir->newer_->older_ : newest_txn_) = heir;
  });
}

absl::Status EngineLog::WaitDurable(Lsn lsn) {
  if (lsn == Lsn{0}) return absl::OkStatus();
  try {
    return TryWaitDurable(lsn);
  } catch (const std::bad_alloc&) {
    failed_.store(true, std::memory_order_relaxed);
    return outcome_unknown_;
  }
}

absl::Status EngineLog::TryWaitDurable(Lsn lsn) {
  if (!options_.wait_for_commits) {
    RequestFlush();
    return failed_.load(std::memory_order_relaxed) ? OutcomeUnknown("it failed before")
                                                   : absl::OkStatus();
  }
  if (Raw(log_.durable()) <= Raw(lsn)) {
    if (const absl::Status flushed = log_.Flush(Lsn{Raw(lsn) + 1}); !flushed.ok()) {
      return Poisoned(OutcomeUnknown(flushed.message()));
    }
  }
  DrainFrees();
  return absl::OkStatus();
}

absl::Status EngineLog::EnsureDurable(Lsn lsn) {
  if (Raw(log_.durable()) > Raw(lsn)) return absl::OkStatus();
  absl::Status flushed = log_.Flush(Lsn{Raw(lsn) + 1});
  return flushed.ok() ? flushed : FlushFailed(std::move(flushed));
}

// A log without room for one more group has lost nothing. Later flushes may succeed.
absl::Status EngineLog::FlushFailed(absl::Status why) {
  return log_.poisoned() ? Poisoned(std::move(why)) : why;
}

// ---- Frees in flight to the store

bool EngineLog::Defer(PageId page) {
  const Lsn next = log_.next();
  try {
    SpinLatchGuard guard(free_latch_, runtime_);
    deferred_.push_back({next, page});
    deferred_count_.store(deferred_.size(), std::memory_order_relaxed);
    return true;
  } catch (const std::bad_alloc&) {
    const absl::Status durable = CatchOutOfMemory([&] { return log_.Flush(next); });
    if (durable.ok()) return false;
    // The page stays where it is. Without further checkpoints the next open finds the free in the
    // log.
    failed_.store(true, std::memory_order_relaxed);
    return true;
  }
}

// REQUIRES: hand_over_mutex_ held. An actor that waits for it knows that earlier frees have
// arrived.
void EngineLog::HandOver() {
  constexpr size_t kBatch = 64;
  std::array<PageId, kBatch> pages;
  for (;;) {
    const Lsn durable = log_.durable();
    size_t count = 0;
    {
      SpinLatchGuard guard(free_latch_, runtime_);
      for (const DeferredFree& freed : deferred_) {
        if (count == kBatch || Raw(freed.lsn) > Raw(durable)) break;
        pages[count++] = freed.page;
      }
    }
    if (count == 0) return;
    size_t returned = 0;
    // The next call begins with the pages for which there was no memory.
    const auto forget_returned = [&] {
      SpinLatchGuard guard(free_latch_, runtime_);
      for (; returned > 0; --returned) deferred_.pop_front();
      deferred_count_.store(deferred_.size(), std::memory_order_relaxed);
    };
    const OnException part_of_them(forget_returned);
    for (size_t i = 0; i < count; ++i, ++returned) return_page_(pages[i]);
    forget_returned();
  }
}

void EngineLog::DrainFrees() {
  if (deferred_frees() == 0 || !hand_over_mutex_.TryLock()) return;
  const OnException unlock([this] { hand_over_mutex_.Unlock(); });
  HandOver();
  hand_over_mutex_.Unlock();
}

absl::Status EngineLog::FlushAll() {
  if (absl::Status flushed = log_.Flush(log_.next()); !flushed.ok()) {
    return FlushFailed(std::move(flushed));
  }
  MutexLock lock(hand_over_mutex_);
  HandOver();
  return absl::OkStatus();
}

bool EngineLog::ReturnAll() { return deferred_frees() > 0 && FlushAll().ok(); }

// ---- Checkpoints and recovery

CheckpointSnapshot EngineLog::Snapshot() {
  CheckpointSnapshot snapshot;
  std::vector<PendingChain> pending;
  log_.Frozen([&](Lsn next) {
    snapshot.as_of = snapshot.redo_from = next;
    if (logs_images()) images_from_.store(Raw(next), std::memory_order_relaxed);
    for (const LogTxn* txn = oldest_txn_; txn != nullptr; txn = txn->newer_) {
      snapshot.transactions.push_back({txn->id_, txn->first_, txn->last_});
    }
    {
      SpinLatchGuard guard(space_latch_, runtime_);
      if (oldest_space_ != nullptr) snapshot.redo_from = oldest_space_->first_;
    }
    SpinLatchGuard guard(pending_latch_, runtime_);
    pending.reserve(pending_.size());
    for (const auto& [page, chain] : pending_) pending.push_back(chain);
  });
  std::vector<uint64_t> active;
  for (const ActiveTransaction& txn : snapshot.transactions) active.push_back(Raw(txn.id));
  std::sort(active.begin(), active.end());
  for (const PendingChain& chain : pending) {
    if (std::binary_search(active.begin(), active.end(), Raw(chain.by))) continue;
    snapshot.chains.push_back(chain.chain);
  }
  return snapshot;
}

absl::StatusOr<CheckpointSnapshot> EngineLog::LogCheckpoint(absl::FunctionRef<TxnId()> next_txn) {
  LATCHKEY_RETURN_IF_ERROR(CheckWritable());
  CheckpointSnapshot snapshot = Snapshot();
  const size_t limit = std::min<size_t>(log_.max_record_bytes(), 64u << 10);
  const size_t per_part = (limit - CheckpointRecordSize(0, 0)) / CheckpointRecordSize(1, 0);
  const size_t all = snapshot.transactions.size() + snapshot.chains.size();
  const size_t parts = std::max<size_t>(1, (all + per_part - 1) / per_part);
  if (parts > UINT16_MAX) {
    return MakeStatus(absl::StatusCode::kResourceExhausted,
                      "a checkpoint of {} waiting overflow chains does not fit: end the oldest "
                      "transactions, so that old versions can go",
                      snapshot.chains.size());
  }
  CheckpointPart part{.as_of = snapshot.as_of,
                      .next_txn = next_txn(),
                      .part = 0,
                      .parts = static_cast<uint16_t>(parts)};
  std::span<const ActiveTransaction> transactions = snapshot.transactions;
  std::span<const OverflowChain> chains = snapshot.chains;
  for (; part.part < parts; ++part.part) {
    const size_t t = std::min(per_part, transactions.size());
    const size_t c = std::min(per_part - t, chains.size());
    const size_t size = CheckpointRecordSize(t, c);
    LATCHKEY_RETURN_IF_ERROR(log_.ReserveUrgent(log_.RecordSpace(size)));
    log_.Append(size, [&](Lsn, std::byte* to) {
      EncodeCheckpoint(part, transactions.first(t), chains.first(c), to);
    });
    transactions = transactions.subspan(t);
    chains = chains.subspan(c);
  }
  return snapshot;
}

void EngineLog::Adopt(LogTxn& txn, TxnId id, Lsn first, Lsn last) {
  LATCHKEY_CHECK(!txn.active());
  txn.id_ = id;
  txn.first_ = first;
  txn.last_ = last;
  txn.splits_ = kUnknownSplits;
  log_.Frozen([&](Lsn) {
    LogTxn* older = newest_txn_;
    while (older != nullptr && Raw(older->first_) > Raw(first)) older = older->older_;
    txn.older_ = older;
    txn.newer_ = older != nullptr ? older->newer_ : oldest_txn_;
    (older != nullptr ? older->newer_ : oldest_txn_) = &txn;
    (txn.newer_ != nullptr ? txn.newer_->older_ : newest_txn_) = &txn;
  });
}

}  // namespace latchkey
