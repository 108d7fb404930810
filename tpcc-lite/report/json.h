// The JSON type of all reports. It keeps fields in the order in which they were written.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace latchkey {

using Json = nlohmann::ordered_json;

/// null if nothing was measured, never 0.
template <typename T>
Json OrNull(const std::optional<T>& value) {
  return value.has_value() ? Json(*value) : Json(nullptr);
}

/// The value at `pointer`; null if there is none.
inline Json ValueAt(const Json& from, const Json::json_pointer& pointer) {
  return from.contains(pointer) ? from.at(pointer) : Json(nullptr);
}
inline Json ValueAt(const Json& from, const std::string& pointer) {
  return ValueAt(from, Json::json_pointer(pointer));
}

}  // namespace latchkey
