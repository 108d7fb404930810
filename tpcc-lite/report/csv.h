// Results as comma-separated values (RFC 4180).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "tpcc-lite/report/json.h"

namespace latchkey {

/// `text` as one field: quoted if it holds a comma, a quote or a line break.
std::string CsvField(std::string_view text);

/// One header line, then one line per result. Nested fields are named by their path, joined with
/// dots ("latency_us.payment.p99"). null is an empty field. Lists of texts are joined with "; ".
/// Other lists (samples, repetitions) are in the JSON document only.
std::string ToCsv(std::span<const Json> results);

}  // namespace latchkey
