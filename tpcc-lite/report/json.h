// The JSON type of all reports. It keeps fields in the order in which they were written.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

namespace latchkey {

using Json = nlohmann::ordered_json;

/// null if nothing was measured, never 0.
template <typename T>
Json OrNull(const std::optional<T>& value) {
  return value.has_value() ? Json(*value) : Json(nullptr);
}

}  // namespace latchkey
