#include "tpcc-lite/workload/description.h"

#include <string>

#include "storage/base/status_macros.h"
#include "tpcc-lite/workload/in_transaction.h"
#include "tpcc-lite/workload/keys.h"
#include "tpcc-lite/workload/rows.h"

namespace latchkey {
namespace {

constexpr std::string_view kMetaKey = "tpcc";

absl::StatusOr<TpccDescription> Decode(std::string_view value) {
  const auto* row = RowOf<DescriptionRow>(value);
  if (row == nullptr || row->format.view() != kTpccFormat) {
    return MakeStatus(absl::StatusCode::kFailedPrecondition,
                      "the database was not written by this version of tpcc-lite (it expects {}): "
                      "prepare a new one",
                      kTpccFormat);
  }
  return TpccDescription{.warehouses = row->warehouses,
                         .scale = row->scale,
                         .seed = row->seed,
                         .last_name_constant = row->last_name_constant,
                         .runs = row->runs,
                         .complete = row->complete != 0};
}

DescriptionRow Encode(const TpccDescription& description) {
  DescriptionRow row{};
  row.format.Assign(kTpccFormat);
  row.warehouses = description.warehouses;
  row.scale = description.scale;
  row.seed = description.seed;
  row.last_name_constant = description.last_name_constant;
  row.runs = description.runs;
  row.complete = description.complete ? 1 : 0;
  return row;
}

absl::StatusOr<std::optional<TpccDescription>> Read(KvSession& session) {
  std::string value;
  const absl::Status status = session.Get(kMetaTable, kMetaKey, &value);
  if (absl::IsNotFound(status)) return std::nullopt;
  LATCHKEY_RETURN_IF_ERROR(status);
  return Decode(value);
}

template <typename T>
absl::Status Mismatch(std::string_view what, T has, T wanted) {
  return MakeStatus(absl::StatusCode::kFailedPrecondition,
                    "the database was prepared with {} = {}, this run wants {}: run with {} = {}, "
                    "or prepare another database",
                    what, has, wanted, what, has);
}

}  // namespace

absl::StatusOr<std::optional<TpccDescription>> ReadTpccDescription(KvBackend& backend) {
  LATCHKEY_ASSIGN_OR_RETURN(auto session, backend.NewSession());
  std::optional<TpccDescription> description;
  LATCHKEY_RETURN_IF_ERROR(InTransaction(*session, [&]() -> absl::Status {
    LATCHKEY_ASSIGN_OR_RETURN(description, Read(*session));
    return absl::OkStatus();
  }));
  return description;
}

absl::StatusOr<bool> IsTpccPrepared(KvBackend& backend, const TpccConfig& config) {
  LATCHKEY_RETURN_IF_ERROR(config.Validate());
  LATCHKEY_ASSIGN_OR_RETURN(const auto found, ReadTpccDescription(backend));
  if (!found.has_value()) return false;
  if (!found->complete) {
    return MakeStatus(absl::StatusCode::kFailedPrecondition,
                      "the database's load did not finish: remove it and prepare it again");
  }
  if (found->warehouses != config.warehouses) {
    return Mismatch("warehouses", found->warehouses, config.warehouses);
  }
  if (found->scale != config.scale) return Mismatch("scale", found->scale, config.scale);
  if (found->seed != config.seed) return Mismatch("seed", found->seed, config.seed);
  return true;
}

absl::Status WriteTpccDescription(KvBackend& backend, const TpccDescription& description) {
  LATCHKEY_ASSIGN_OR_RETURN(auto session, backend.NewSession());
  const DescriptionRow row = Encode(description);
  return InTransaction(*session, [&] { return session->Put(kMetaTable, kMetaKey, BytesOf(row)); });
}

absl::StatusOr<uint16_t> BeginTpccRun(KvBackend& backend) {
  LATCHKEY_ASSIGN_OR_RETURN(auto found, ReadTpccDescription(backend));
  if (!found.has_value()) {
    return MakeStatus(absl::StatusCode::kFailedPrecondition,
                      "the database is empty: prepare it first");
  }
  if (found->runs >= UINT16_MAX) {
    return MakeStatus(
        absl::StatusCode::kFailedPrecondition,
        "the database has seen {} runs, the most there is room for: prepare a new one",
        found->runs);
  }
  ++found->runs;
  LATCHKEY_RETURN_IF_ERROR(WriteTpccDescription(backend, *found));
  return static_cast<uint16_t>(found->runs);
}

}  // namespace latchkey
