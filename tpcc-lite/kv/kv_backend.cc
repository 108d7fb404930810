#include "tpcc-lite/kv/kv_backend.h"

namespace latchkey {

absl::Status KvSession::LoadSorted(TableIndex table, absl::FunctionRef<bool(KvRecord*)> next) {
  constexpr int kRecordsPerTransaction = 1000;
  KvRecord record;
  bool more = next(&record);
  while (more) {
    const absl::Status loaded = Auto([&] {
      absl::Status put;
      for (int i = 0; i < kRecordsPerTransaction && more && put.ok(); ++i) {
        put = Insert(table, record.key, record.value);
        more = next(&record);
      }
      return put;
    });
    if (!loaded.ok()) return loaded;
  }
  return absl::OkStatus();
}

absl::Status KvSession::DeleteRangeAuto(TableIndex table, std::string_view from,
                                        std::string_view to) {
  constexpr size_t kKeysPerTransaction = 1000;
  std::vector<std::string> keys;
  std::string next(from);
  do {
    keys.clear();
    const auto take = [&](std::string_view key, std::string_view) {
      keys.emplace_back(key);
      return keys.size() < kKeysPerTransaction;
    };
    const absl::Status deleted = Auto([&] {
      absl::Status status = Scan(table, next, to, /*reverse=*/false, take);
      for (size_t i = 0; i < keys.size() && status.ok(); ++i) status = Delete(table, keys[i]);
      return status;
    });
    if (!deleted.ok()) return deleted;
    if (!keys.empty()) next = keys.back();
  } while (keys.size() == kKeysPerTransaction);
  return absl::OkStatus();
}

}  // namespace latchkey
