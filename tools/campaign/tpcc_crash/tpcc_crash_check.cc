#include <array>
#include <string>

#include "storage/base/status_macros.h"
#include "tools/campaign/tpcc_crash/tpcc_crash.h"
#include "tpcc-lite/workload/consistency.h"
#include "tpcc-lite/workload/in_transaction.h"
#include "tpcc-lite/workload/keys.h"
#include "tpcc-lite/workload/rows.h"

namespace latchkey {
namespace {

template <typename... Args>
absl::Status Wrong(fmt::format_string<Args...> format, Args&&... args) {
  return MakeStatus(absl::StatusCode::kInternal, format, std::forward<Args>(args)...);
}

absl::Status CheckConditions(KvBackend& backend, const TpccConfig& config) {
  LATCHKEY_ASSIGN_OR_RETURN(const ConsistencyReport report,
                            CheckConsistency(backend, config, /*after_load=*/false));
  if (report.ok()) return absl::OkStatus();
  const ConsistencyViolation& first = report.violations.front();
  return Wrong("{} violations of TPC-C's conditions, the first of 3.3.2.{}: {}",
               report.violation_count, first.condition, first.message);
}

absl::Status CheckSuccesses(KvSession& session, std::span<const TpccSuccess> successes) {
  std::string row;
  for (const TpccSuccess& success : successes) {
    const absl::Status got =
        session.Get(kOrderTable, OrderKey(1, success.district, success.order), &row);
    if (absl::IsNotFound(got)) {
      return Wrong("order {} of district {} was acknowledged and is not there", success.order,
                   success.district);
    }
    LATCHKEY_RETURN_IF_ERROR(got);
  }
  return absl::OkStatus();
}

// Checks the order numbers given out since the load, by district and in total.
absl::Status CheckGrowth(KvSession& session, const TpccConfig& config, const TpccPromise& promise) {
  std::array<uint64_t, kDistrictsPerWarehouse + 1> told{};
  for (const TpccSuccess& success : promise.successes) ++told[success.district];
  uint64_t sum = 0;
  std::string value;
  for (uint8_t d = 1; d <= kDistrictsPerWarehouse; ++d) {
    LATCHKEY_RETURN_IF_ERROR(session.Get(kDistrictTable, DistrictKey(1, d), &value));
    const auto* row = RowOf<DistrictRow>(value);
    if (row == nullptr) return Wrong("the row of district {} has {} bytes", d, value.size());
    const uint64_t growth = uint64_t{row->next_o_id} - (config.Sizes().orders + 1);
    if (growth < told[d]) {
      return Wrong(
          "D_NEXT_O_ID of district {} has grown by {}, but {} New-Orders were acknowledged", d,
          growth, told[d]);
    }
    sum += growth;
  }
  if (sum > promise.successes.size() + promise.others) {
    return Wrong(
        "D_NEXT_O_ID has grown by {} in all, more than {} New-Orders that were "
        "acknowledged and {} others",
        sum, promise.successes.size(), promise.others);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckTpccAfterCrash(KvBackend& backend, const TpccConfig& config,
                                 const TpccPromise& promise) {
  LATCHKEY_RETURN_IF_ERROR(CheckConditions(backend, config));
  LATCHKEY_ASSIGN_OR_RETURN(const auto session, backend.NewSession());
  return InTransaction(*session, [&]() -> absl::Status {
    LATCHKEY_RETURN_IF_ERROR(CheckSuccesses(*session, promise.successes));
    return CheckGrowth(*session, config, promise);
  });
}

}  // namespace latchkey
