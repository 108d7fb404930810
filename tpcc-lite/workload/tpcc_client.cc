#include "tpcc-lite/workload/tpcc_client.h"

#include "storage/base/check.h"
#include "storage/base/status_macros.h"
#include "tpcc-lite/workload/tpcc_driver.h"

namespace latchkey {

TpccClient::TpccClient(KvSession& session, const Options& options)
    : session_(session), options_(options) {}

absl::Status TpccClient::Finish(absl::Status status, bool roll_back) {
  if (status.ok()) return roll_back ? session_.Rollback() : session_.Commit();
  // Reports the first error. After Aborted there is nothing to roll back.
  if (!absl::IsAborted(status)) session_.Rollback().IgnoreError();
  return status;
}

absl::Status TpccClient::MissingRow(absl::Status status, TableIndex table) {
  if (!absl::IsNotFound(status)) return status;
  return MakeStatus(absl::StatusCode::kDataLoss,
                    "tpcc-lite: a row of {} that the database must have is missing",
                    TpccTableNames()[table]);
}

absl::Status TpccClient::WrongSize(TableIndex table, size_t size, size_t expected) {
  return MakeStatus(absl::StatusCode::kDataLoss,
                    "tpcc-lite: a row of {} has {} bytes instead of {}: the database is damaged or "
                    "was written by another version",
                    TpccTableNames()[table], size, expected);
}

absl::Status TpccClient::DamagedOrderLines() {
  return MakeStatus(absl::StatusCode::kDataLoss,
                    "tpcc-lite: an order has a line of the wrong size or more than {} lines: the "
                    "database is damaged or was written by another version",
                    kMaxOrderLines);
}

void TpccClient::Announce(TableIndex table, const TpccKey& key) {
  if (!options_.prefetch) return;
  LATCHKEY_CHECK(prefetch_count_ < kMaxPrefetch);
  prefetch_bytes_[prefetch_count_] = key;
  prefetch_[prefetch_count_] = {table, prefetch_bytes_[prefetch_count_].view()};
  ++prefetch_count_;
}

void TpccClient::Prefetch() {
  if (prefetch_count_ > 0) session_.Prefetch({prefetch_.data(), prefetch_count_});
  prefetch_count_ = 0;
}

void TpccClient::AnnounceCustomer(uint16_t w, uint8_t d, const CustomerChoice& choice) {
  if (!options_.prefetch) return;
  if (choice.by_name) {
    Announce(kCustomerNameIndex, CustomerNamePrefix(w, d, LastName(choice.last_name).view()));
  } else {
    Announce(kCustomerTable, CustomerKey(w, d, choice.customer));
  }
}

absl::Status TpccClient::ResolveCustomer(uint16_t w, uint8_t d, const CustomerChoice& choice,
                                         uint16_t* c) {
  if (!choice.by_name) {
    *c = choice.customer;
    return absl::OkStatus();
  }
  const LastName last(choice.last_name);
  namesakes_.clear();
  LATCHKEY_RETURN_IF_ERROR(session_.Scan(
      kCustomerNameIndex, CustomerNamePrefix(w, d, last.view()), CustomerNameEnd(w, d, last.view()),
      /*reverse=*/false, [this](std::string_view key, std::string_view) {
        namesakes_.push_back(CustomerOfNameKey(key));
        return true;
      }));
  if (namesakes_.empty()) return MissingRow(absl::NotFoundError(""), kCustomerNameIndex);
  *c = namesakes_[(namesakes_.size() - 1) / 2];
  return absl::OkStatus();
}

}  // namespace latchkey
