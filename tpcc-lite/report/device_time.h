// What one operation costs the device: requests, bytes and time, reads and writes apart.
#pragma once

#include <string>
#include <vector>

#include "layout/separate/write_cost_model.h"
#include "tpcc-lite/report/json.h"
#include "tpcc-lite/report/table.h"

namespace latchkey {

/// Adds the block device_time: `reads`, `read_bytes`, `writes` and `written_bytes` of one operation,
/// `read_us` and `write_us` of one request, `us` of one operation, and `reached`, the share of the time
/// in which the device was busy. `operations_per_s` is the rate if it were busy all the time with as many
/// requests in flight as in this run; more in flight may allow more. A time is the device's busy time,
/// divided among the requests in flight at once; probes count in that of a write. Syncs and the log's
/// device do not count. All null if the row has no figures of the device, or no operations.
/// REQUIRES: AddStatistics.
/// `operations_field`: the row's field that counts the operations. null counts as 0.
void AddDeviceTime(const char* operations_field, Json& row);

/// The columns of that block; `operation` names one: "a transaction".
std::vector<Column> DeviceTimeColumns(const std::string& operation);

/// Microseconds of device time of a page, of a whole segment, and of protecting one page.
Json CostsToJson(const PageCosts& costs);

}  // namespace latchkey
