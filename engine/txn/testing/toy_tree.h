// A tree for tests of the version store, as small as the contract allows, and complete in what a
// tree owes the store. "Pages" are maps behind a mutex, chosen by the first byte of the key, with a
// last_writer mark, ghost records and overflow chains. Tests only.
#pragma once

#include <absl/status/status.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/txn/version_store.h"
#include "storage/base/check.h"
#include "storage/runtime/mutex.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

class ToyTree : public GcClient {
 public:
  static constexpr TreeId kTree{7};
  static constexpr size_t kPages = 8;
  static constexpr size_t kLongValue = 24;  ///< values from this size on go to an overflow chain

  explicit ToyTree(Runtime& runtime)
      : snapshots(runtime), store(runtime, snapshots, *this), overflow_mutex_(runtime) {
    for (size_t i = 0; i < kPages; ++i) pages_.push_back(std::make_unique<Page>(runtime));
  }

  ~ToyTree() override { store.StopReclaimer(); }  // it calls the tree
  ToyTree(const ToyTree&) = delete;
  ToyTree& operator=(const ToyTree&) = delete;

  absl::Status Begin(Txn& txn) { return snapshots.Begin(txn); }
  absl::Status Commit(Txn& txn, CommitTs* ts = nullptr) {
    const absl::StatusOr<CommitTs> stamped = store.CommitAndCollect(txn, [](CommitTs) {});
    if (stamped.ok() && ts != nullptr) *ts = *stamped;
    return stamped.status();
  }
  absl::Status Rollback(Txn& txn) {
    return store.Rollback(txn, [this, &txn](const Undo& undo) { return Restore(txn, undo); });
  }
  absl::Status RollbackTo(Txn& txn, uint64_t savepoint) {
    return store.RollbackTo(txn, savepoint,
                            [this, &txn](const Undo& undo) { return Restore(txn, undo); });
  }

  std::optional<std::string> Get(Txn& txn, const std::string& key) {
    std::optional<std::string> value;
    LATCHKEY_CHECK(Read(txn, key, &value).ok());
    return value;
  }

  /// Aborted: the snapshot has expired.
  absl::Status Read(Txn& txn, const std::string& key, std::optional<std::string>* value) {
    const Snapshot snapshot = snapshots.ForReading(txn);
    store.NoteRead(txn, kTree, key);
    std::string old;
    Visible visible = Visible::kPage;
    std::optional<Record> record;
    {
      Page& page = PageOf(key);
      MutexLock lock(page.mutex);
      record = Find(page, key);
      if (!snapshot.SeesAllOf(page.last_writer)) visible = store.Lookup(txn, kTree, key, &old);
    }
    value->reset();
    switch (visible) {
      case Visible::kPage:
        if (!record || record->ghost) return absl::OkStatus();
        if (record->overflow) return ReadHeld(txn, record->bytes, value);
        *value = record->bytes;
        return absl::OkStatus();
      case Visible::kOld:
        *value = old;
        return absl::OkStatus();
      case Visible::kOldOverflow:
        return ReadHeld(txn, old, value);
      case Visible::kTooOld:
        return SnapshotTooOld();
      case Visible::kAbsent:
        return absl::OkStatus();
    }
    return absl::OkStatus();
  }

  /// A single read outside any transaction; nullptr = only a transaction can answer.
  std::unique_ptr<std::optional<std::string>> TryFastGet(const std::string& key) {
    const TxnId below = snapshots.all_visible_below();
    Page& page = PageOf(key);
    MutexLock lock(page.mutex);
    if (page.last_writer >= below) return nullptr;
    const std::optional<Record> record = Find(page, key);
    return std::make_unique<std::optional<std::string>>(
        record && !record->ghost ? std::optional(Load(*record)) : std::nullopt);
  }

  absl::Status Put(Txn& txn, const std::string& key, const std::string& value) {
    return Write(txn, key, Change::kPut, value, nullptr);
  }
  absl::Status Delete(Txn& txn, const std::string& key) {
    return Write(txn, key, Change::kDelete, "", nullptr);
  }
  absl::Status GetForUpdate(Txn& txn, const std::string& key, std::optional<std::string>* value) {
    return Write(txn, key, Change::kLock, "", value);
  }

  /// A Put or Delete in a transaction of its own, which must succeed.
  void PutNow(const std::string& key, const std::string& value) {
    Txn txn;
    LATCHKEY_CHECK(Begin(txn).ok() && Put(txn, key, value).ok() && Commit(txn).ok());
  }
  void DeleteNow(const std::string& key) {
    Txn txn;
    LATCHKEY_CHECK(Begin(txn).ok() && Delete(txn, key).ok() && Commit(txn).ok());
  }

  // GcClient.
  void PurgeGhost(TreeId tree, std::string_view key, CommitTs unneeded_until) override {
    LATCHKEY_CHECK(tree == kTree);
    Page& page = PageOf(key);
    MutexLock lock(page.mutex);
    const auto found = page.records.find(std::string(key));
    if (found == page.records.end() || !found->second.ghost) return;
    if (!store.HasVersions(tree, key, unneeded_until)) page.records.erase(found);
  }
  void FreeOverflow(TreeId tree, std::string_view reference) override {
    LATCHKEY_CHECK(tree == kTree);
    MutexLock lock(overflow_mutex_);
    LATCHKEY_CHECK(overflow_.erase(std::string(reference)) == 1);
  }

  size_t CountGhosts() const {
    size_t ghosts = 0;
    for (const auto& page : pages_) {
      for (const auto& [key, record] : page->records) ghosts += record.ghost;
    }
    return ghosts;
  }
  size_t CountRecords() const {
    size_t records = 0;
    for (const auto& page : pages_) records += page->records.size();
    return records;
  }
  size_t CountOverflowRecords() const {
    size_t records = 0;
    for (const auto& page : pages_) {
      for (const auto& [key, record] : page->records) records += record.overflow;
    }
    return records;
  }
  size_t CountChains() const { return overflow_.size(); }

  /// Makes the next restores fail, like a device that cannot read the page.
  std::atomic<bool> fail_restores{false};

  SnapshotManager snapshots;
  VersionStore store;

 private:
  struct Record {
    bool ghost = false;
    bool overflow = false;  // if so, `bytes` is a reference
    std::string bytes;
  };
  struct Page {
    explicit Page(Runtime& runtime) : mutex(runtime) {}
    Mutex mutex;
    TxnId last_writer{0};
    std::map<std::string, Record> records;
  };

  Page& PageOf(std::string_view key) {
    return *pages_[key.empty() ? 0 : static_cast<unsigned char>(key[0]) % kPages];
  }
  static std::optional<Record> Find(const Page& page, const std::string& key) {
    const auto found = page.records.find(key);
    return found == page.records.end() ? std::nullopt : std::optional(found->second);
  }
  static void Mark(Page& page, const Txn& txn) {
    page.last_writer = std::max(page.last_writer, txn.id());
  }
  static OldVersion Describe(const std::optional<Record>& record) {
    if (!record) return {RecordState::kAbsent, {}};
    if (record->ghost) return {RecordState::kGhost, {}};
    return {record->overflow ? RecordState::kOverflow : RecordState::kValue, record->bytes};
  }

  absl::Status Write(Txn& txn, const std::string& key, Change change, const std::string& value,
                     std::optional<std::string>* seen) {
    if (absl::Status admitted = store.AdmitWrite(txn); !admitted.ok()) return admitted;
    while (true) {
      WriteCheck check;
      {
        Page& page = PageOf(key);
        MutexLock lock(page.mutex);
        check = store.CheckWrite(txn, kTree, key, page.last_writer,
                                 /*has_record=*/page.records.count(key) != 0);
        if (check.verdict == WriteCheck::Verdict::kGo) {
          return Apply(txn, page, check, key, change, value, seen);
        }
      }
      if (check.verdict == WriteCheck::Verdict::kRefused) return check.refusal;
      LockWait wait;
      const absl::Status waited = store.WaitFor(txn, check.owner, wait);
      if (!waited.ok()) return waited;
    }
  }

  absl::Status Apply(Txn& txn, Page& page, const WriteCheck& check, const std::string& key,
                     Change change, const std::string& value, std::optional<std::string>* seen) {
    const std::optional<Record> before = Find(page, key);
    const bool exists = before && !before->ghost;
    if (change != Change::kPut) txn.NoteRead();
    if (change == Change::kDelete && !exists) {
      store.NoteRead(txn, kTree, key);
      return absl::NotFoundError("no such key");
    }
    if (change == Change::kLock) *seen = exists ? std::optional(Load(*before)) : std::nullopt;
    if (!before && change == Change::kPut) NoteGap(txn, page, key);
    const bool store_owns_old = store.Install(txn, check, kTree, key, Describe(before), change);
    Mark(page, txn);
    if (change == Change::kLock) return absl::OkStatus();
    if (!store_owns_old && before && before->overflow) FreeOverflow(kTree, before->bytes);
    page.records[key] =
        change == Change::kDelete ? Record{.ghost = true, .bytes = {}} : Store(value);
    return absl::OkStatus();
  }

  // Of a page's keys only those with the same first byte are neighbours.
  void NoteGap(const Txn& txn, const Page& page, const std::string& key) {
    if (!store.gaps().IsWanted(txn.snapshot().read_ts) || key.empty()) return;
    const auto next = page.records.lower_bound(key);
    if (next == page.records.begin() || std::prev(next)->first[0] != key[0]) return;
    const std::string& left = std::prev(next)->first;
    if (!store.gaps().IsWorthNoting(kTree, key, left)) return;
    const bool has_next = next != page.records.end() && next->first[0] == key[0];
    const std::string behind(1, static_cast<char>(key[0] + 1));
    store.gaps().Note(kTree, {.lower = left, .upper = has_next ? next->first : behind});
  }

  absl::Status Restore(const Txn& txn, const Undo& undo) {
    if (fail_restores) return absl::UnavailableError("the page cannot be read");
    Page& page = PageOf(undo.key);
    MutexLock lock(page.mutex);
    const std::string key(undo.key);
    const std::optional<Record> before = Find(page, key);
    if (before && before->overflow) FreeOverflow(kTree, before->bytes);
    Mark(page, txn);
    if (undo.old.state == RecordState::kAbsent) {
      page.records.erase(key);
    } else {
      page.records[key] = {.ghost = undo.old.state == RecordState::kGhost,
                           .overflow = undo.old.state == RecordState::kOverflow,
                           .bytes = std::string(undo.old.bytes)};
    }
    return absl::OkStatus();
  }

  Record Store(const std::string& value) {
    if (value.size() < kLongValue) return {.bytes = value};
    MutexLock lock(overflow_mutex_);
    std::string reference = fmt::format("chain{}", next_chain_++);
    overflow_[reference] = value;
    return {.overflow = true, .bytes = reference};
  }
  absl::Status ReadHeld(Txn& txn, const std::string& reference, std::optional<std::string>* value) {
    const SnapshotHold hold(txn);
    if (!hold.held()) return SnapshotTooOld();
    *value = ReadOverflow(reference);
    return absl::OkStatus();
  }
  std::string Load(const Record& record) {
    return record.overflow ? ReadOverflow(record.bytes) : record.bytes;
  }
  std::string ReadOverflow(const std::string& reference) {
    MutexLock lock(overflow_mutex_);
    const auto found = overflow_.find(reference);
    LATCHKEY_CHECK(found != overflow_.end());
    return found->second;
  }

  std::vector<std::unique_ptr<Page>> pages_;
  Mutex overflow_mutex_;
  std::map<std::string, std::string> overflow_;
  uint64_t next_chain_ = 0;
};

}  // namespace latchkey
