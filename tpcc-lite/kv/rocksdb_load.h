// Loads sorted records into RocksDB as its own table files, which it takes into its lowest level.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <rocksdb/db.h>

#include <string>

namespace latchkey {

/// Loads what `next` gives, in ascending order of the keys as they are stored, until it returns false.
/// Its slices are valid until it is called again. The files are written to `folder`, on the file system
/// of the database, and move into it. Errors leave files there. REQUIRES: the family has none of the keys.
absl::Status LoadTableFiles(
    ROCKSDB_NAMESPACE::DB& db, ROCKSDB_NAMESPACE::ColumnFamilyHandle* family,
    const std::string& folder,
    absl::FunctionRef<bool(ROCKSDB_NAMESPACE::Slice* key, ROCKSDB_NAMESPACE::Slice* value)> next);

}  // namespace latchkey
