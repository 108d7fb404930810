// The one JSON type of reports: keeps fields in the order they were written.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

namespace latchkey {

using Json = nlohmann::ordered_json;

/// null for what was not measured: never 0 in its place.
template <typename T>
Json OrNull(const std::optional<T>& value) {
  return value.has_value() ? Json(*value) : Json(nullptr);
}

}  // namespace latchkey
