#include "tpcc-lite/report/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace latchkey {
namespace {

using Fields = std::vector<std::pair<std::string, std::string>>;

bool IsListOfTexts(const Json& node) {
  return node.is_array() &&
         std::all_of(node.begin(), node.end(), [](const Json& item) { return item.is_string(); });
}

std::string JoinTexts(const Json& list) {
  std::string joined;
  for (const Json& item : list) {
    if (!joined.empty()) joined += "; ";
    joined += item.get<std::string>();
  }
  return joined;
}

void Flatten(const Json& node, const std::string& path, Fields& out) {
  if (node.is_object()) {
    for (const auto& [name, child] : node.items()) {
      Flatten(child, path.empty() ? name : path + "." + name, out);
    }
  } else if (node.is_array()) {
    if (!node.empty() && IsListOfTexts(node)) out.emplace_back(path, JoinTexts(node));
  } else if (node.is_string()) {
    out.emplace_back(path, node.get<std::string>());
  } else {
    out.emplace_back(path, node.is_null() ? "" : node.dump());
  }
}

const std::string* Find(const Fields& fields, const std::string& name) {
  for (const auto& [key, value] : fields) {
    if (key == name) return &value;
  }
  return nullptr;
}

}  // namespace

std::string CsvField(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::string ToCsv(std::span<const Json> results) {
  std::vector<Fields> rows;
  std::vector<std::string> header;
  for (const Json& result : results) {
    Flatten(result, "", rows.emplace_back());
    for (const auto& [name, value] : rows.back()) {
      if (std::find(header.begin(), header.end(), name) == header.end()) header.push_back(name);
    }
  }
  std::vector<std::string> header_fields;
  for (const std::string& name : header) header_fields.push_back(CsvField(name));
  std::string out = fmt::format("{}\n", fmt::join(header_fields, ","));
  for (const Fields& row : rows) {
    std::vector<std::string> fields;
    for (const std::string& name : header) {
      const std::string* value = Find(row, name);
      fields.push_back(value == nullptr ? std::string() : CsvField(*value));
    }
    out += fmt::format("{}\n", fmt::join(fields, ","));
  }
  return out;
}

}  // namespace latchkey
