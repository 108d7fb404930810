// Inserts rows into the database, many per transaction.
#pragma once

#include <absl/status/status.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "storage/runtime/runtime.h"
#include "tpcc-lite/kv/kv_backend.h"

namespace latchkey {

/// Collects inserts and applies them in batches. Each batch is one transaction; if a backend with
/// coarse conflict detection aborts it, it runs again. Call Flush at the end. Used by one actor.
class BatchWriter {
 public:
  BatchWriter(KvSession& session, Runtime& runtime) : session_(session), runtime_(runtime) {}

  absl::Status Insert(TableIndex table, std::string_view key, std::string_view value);
  absl::Status Flush();

 private:
  static constexpr size_t kRows = 1000;
  static constexpr size_t kBytes = 256 << 10;

  struct Entry {
    TableIndex table;
    size_t offset, key_size, value_size;
  };

  KvSession& session_;
  Runtime& runtime_;
  std::string bytes_;
  std::vector<Entry> entries_;
};

}  // namespace latchkey
