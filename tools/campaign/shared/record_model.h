// The expected contents of a database, and their fingerprint: a sum with one part for each record.
// Every write changes it, and the order of writes does not matter.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "engine/cursor_impl.h"
#include "engine/database_impl.h"
#include "storage/base/hash.h"
#include "storage/base/status_macros.h"

namespace latchkey {

/// The part of one record in the fingerprint of its database.
inline uint64_t FingerprintPart(uint32_t tree, std::string_view key, std::string_view value) {
  return Hash64(value, Hash64(key, uint64_t{tree} + 1)) | 1;
}

/// Trees have numbers. Not thread-safe.
class RecordModel {
 public:
  void Put(uint32_t tree, const std::string& key, const std::string& value) {
    Delete(tree, key);
    fingerprint_ += FingerprintPart(tree, key, value);
    records_[tree][key] = value;
  }
  void Delete(uint32_t tree, const std::string& key) {
    const auto record = records_[tree].find(key);
    if (record == records_[tree].end()) return;
    fingerprint_ -= FingerprintPart(tree, key, record->second);
    records_[tree].erase(record);
  }
  void DeleteRange(uint32_t tree, const std::string& from, const std::string& to) {
    std::map<std::string, std::string>& records = records_[tree];
    for (auto at = records.lower_bound(from); at != records.end() && at->first < to;
         at = records.lower_bound(from)) {
      Delete(tree, std::string(at->first));
    }
  }
  void Drop(uint32_t tree) {
    for (const auto& [key, value] : records_[tree]) {
      fingerprint_ -= FingerprintPart(tree, key, value);
    }
    records_[tree].clear();
  }
  uint64_t fingerprint() const { return fingerprint_; }

 private:
  std::map<uint32_t, std::map<std::string, std::string>> records_;
  uint64_t fingerprint_ = 0;
};

/// Adds the records of `name`, as tree number `tree`, to *fingerprint. A missing tree adds nothing.
inline absl::Status AddFingerprint(DatabaseImpl& db, std::string_view name, uint32_t tree,
                                   uint64_t* fingerprint) {
  const absl::StatusOr<TreeImpl*> found = db.OpenTree(name, /*create=*/false);
  if (absl::IsNotFound(found.status())) return absl::OkStatus();
  LATCHKEY_RETURN_IF_ERROR(found.status());
  const std::unique_ptr<TransactionImpl> txn = db.Begin({.read_only = true});
  CursorImpl cursor(*txn, *found, {});
  for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next()) {
    *fingerprint += FingerprintPart(tree, cursor.key(), cursor.value());
  }
  return cursor.status();
}

}  // namespace latchkey
