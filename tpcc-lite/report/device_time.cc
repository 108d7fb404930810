#include "tpcc-lite/report/device_time.h"

#include "tpcc-lite/report/measured_run.h"

namespace latchkey {
namespace {

constexpr double kMicrosPerSecond = 1e6;

double SumOf(const Json& busy, std::initializer_list<const char*> classes) {
  double sum = 0;
  for (const char* name : classes) sum += busy[name].get<double>();
  return sum;
}

Json PerRequest(double busy_s, double requests) {
  return requests > 0 ? Json(busy_s * kMicrosPerSecond / requests) : Json(nullptr);
}

}  // namespace

void AddDeviceTime(const char* operations_field, Json& row) {
  const auto number = [&row](const char* field) {
    return row[field].is_number() ? row[field].get<double>() : 0;
  };
  const double operations = number(operations_field), duration_s = number("duration_s");
  Json& block = row["device_time"] =
      NullFields({"reads", "read_bytes", "read_us", "writes", "written_bytes", "write_us", "us",
                  "operations_per_s", "reached"});
  const Json& io = row["io"];
  const Json& busy = row["layout_stats"]["busy_s"];
  if (operations == 0 || busy.is_null() || io["device_busy_s"].is_null()) return;
  const auto busy_s = io["device_busy_s"].get<double>();
  const double of_reads = SumOf(busy, {"page_read", "segment_read"});
  block["reads"] = io["reads"].get<double>() / operations;
  block["read_bytes"] = io["bytes_read"].get<double>() / operations;
  block["read_us"] = PerRequest(of_reads, io["reads"].get<double>());
  block["writes"] = io["writes"].get<double>() / operations;
  block["written_bytes"] = io["bytes_written"].get<double>() / operations;
  block["write_us"] = PerRequest(busy_s - of_reads, io["writes"].get<double>());
  block["us"] = busy_s * kMicrosPerSecond / operations;
  block["operations_per_s"] = busy_s > 0 ? Json(operations / busy_s) : Json(nullptr);
  block["reached"] = duration_s > 0 ? Json(busy_s / duration_s) : Json(nullptr);
}

std::vector<Column> DeviceTimeColumns(const std::string& operation) {
  using enum ColumnFormat;
  return {
      {"of " + operation + ": reads", "/device_time/reads", kNumber},
      {"bytes read", "/device_time/read_bytes", kBytes},
      {"time of a read", "/device_time/read_us", kMicros},
      {"of " + operation + ": writes", "/device_time/writes", kNumber},
      {"bytes written", "/device_time/written_bytes", kBytes},
      {"time of a write", "/device_time/write_us", kMicros},
      {"of " + operation + ": device time", "/device_time/us", kMicros},
      {"device allows /s", "/device_time/operations_per_s", kCount},
      {"reached", "/device_time/reached", kPercent},
  };
}

Json CostsToJson(const PageCosts& costs) {
  const double slots = costs.slots_per_segment;
  return {{"page_write", costs.page_write_ns / 1e3},
          {"page_read", costs.page_read_ns / 1e3},
          {"segment_write", costs.segment_write_ns * slots / 1e3},
          {"segment_read", (costs.page_read_ns + costs.slot_read_ns * (slots - 1)) / 1e3},
          {"protection_of_a_page", costs.protection_ns / 1e3}};
}

}  // namespace latchkey
