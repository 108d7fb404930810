#include "engine/txn/version_writer.h"

#include <algorithm>
#include <new>

#include "storage/base/check.h"

namespace latchkey {
namespace {

// Entries are counted, and the table is asked to grow, in batches of this size.
constexpr uint64_t kEntriesPerReport = 64;

}  // namespace

bool VersionWriter::Install(Txn& txn, const WriteCheck& check, TreeId tree, std::string_view key,
                            const OldVersion& old, Change change) {
  LATCHKEY_DCHECK(check.verdict == WriteCheck::Verdict::kGo);
  if (check.own_entry != nullptr) return UpdateOwnEntry(txn, *check.own_entry, old, change);
  if (txn.record_ == nullptr) BecomeWriter(txn);
  if (txn.savepoints_ != nullptr) txn.savepoints_->Reserve();
  AddEntry(*txn.record_, check.hash, tree, key, old, change);
  if (txn.savepoints_ != nullptr && change != Change::kLock) {
    txn.savepoints_->Save(*txn.record_->newest, /*was_written=*/false, old.state, {});
  }
  return true;
}

void VersionWriter::BecomeWriter(Txn& txn) {
  txn.record_ = pool_.Take();
  const TxnId id = snapshots_.DrawTxnId(txn);
  NoteUser(txn, runtime_.ActorIndex());
  txn.record_->id.store(Raw(id), std::memory_order_release);
}

void VersionWriter::AddEntry(WriteRecord& record, uint64_t hash, TreeId tree, std::string_view key,
                             const OldVersion& old, Change change) {
  LATCHKEY_CHECK(key.size() <= UINT16_MAX && old.bytes.size() <= UINT32_MAX);
  const bool lock_only = change == Change::kLock;
  // A lock's old value is never read. If a write follows, UpdateOwnEntry copies the value.
  const size_t old_size = lock_only ? 0 : old.bytes.size();
  auto* entry =
      new (record.arena.Allocate(sizeof(VersionEntry) + key.size() + old_size)) VersionEntry;
  char* bytes = reinterpret_cast<char*>(entry + 1);
  std::copy_n(key.data(), key.size(), bytes);
  std::copy_n(old.bytes.data(), old_size, bytes + key.size());
  entry->old_bytes = bytes + key.size();
  entry->old_size = static_cast<uint32_t>(old_size);
  entry->old_state = old.state;
  entry->lock_only = lock_only;
  entry->leaves_ghost =
      change == Change::kDelete || (lock_only && old.state == RecordState::kGhost);
  entry->key_size = static_cast<uint16_t>(key.size());
  entry->tree = tree;
  entry->hash = hash;
  entry->writer = &record;
  entry->next_of_writer = record.newest;
  record.newest = entry;
  table_.Link(*entry);
  // After the commit VersionSettler::DropUnneeded asks for the key.
  known_.Prefetch(hash);
  if (++record.entries % kEntriesPerReport == 0) {
    counters_.Report(record);
    table_.ResizeFor(counters_.CountVersions());
  }
}

bool VersionWriter::UpdateOwnEntry(Txn& txn, VersionEntry& entry, const OldVersion& old,
                                   Change change) {
  if (change == Change::kLock) return false;
  const bool was_written = !entry.lock_only;
  const char* bytes = entry.old_bytes;
  if (!was_written && entry.old() != old.bytes) {  // equal if a savepoint made it a lock
    auto* copy = static_cast<char*>(entry.writer->arena.Allocate(old.bytes.size()));
    std::copy_n(old.bytes.data(), old.bytes.size(), copy);
    bytes = copy;
  }
  const bool saved =
      txn.savepoints_ != nullptr && txn.savepoints_->Save(entry, was_written, old.state, old.bytes);
  entry.leaves_ghost = change == Change::kDelete;
  if (was_written) return saved;
  table_.TurnIntoWrite(entry, old.state, bytes, static_cast<uint32_t>(old.bytes.size()));
  return true;
}

}  // namespace latchkey
