#include "tpcc-lite/workload/batch_writer.h"

#include "storage/base/status_macros.h"
#include "tpcc-lite/workload/in_transaction.h"

namespace latchkey {

absl::Status BatchWriter::Insert(TableIndex table, std::string_view key, std::string_view value) {
  entries_.push_back({table, bytes_.size(), key.size(), value.size()});
  bytes_.append(key);
  bytes_.append(value);
  if (entries_.size() < kRows && bytes_.size() < kBytes) return absl::OkStatus();
  return Flush();
}

absl::Status BatchWriter::Flush() {
  if (entries_.empty()) return absl::OkStatus();
  const auto apply = [this]() -> absl::Status {
    const std::string_view bytes = bytes_;
    for (const Entry& entry : entries_) {
      const std::string_view key = bytes.substr(entry.offset, entry.key_size);
      const std::string_view value = bytes.substr(entry.offset + entry.key_size, entry.value_size);
      LATCHKEY_RETURN_IF_ERROR(session_.Insert(entry.table, key, value));
    }
    return absl::OkStatus();
  };
  LATCHKEY_RETURN_IF_ERROR(InTransaction(session_, apply, runtime_));
  entries_.clear();
  bytes_.clear();
  return absl::OkStatus();
}

}  // namespace latchkey
