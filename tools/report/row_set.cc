#include "tools/report/row_set.h"

#include <fmt/format.h>

#include <set>

namespace latchkey {
namespace {

constexpr size_t kFewestValues = 3;

std::vector<std::string> NamesWith(const RowSet& set, std::span<const Column> columns) {
  std::vector<std::string> names = RowNames(set.rows, columns);
  if (set.documents < 2) return names;
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string letter = LetterOf(set.document_of[i]);
    names[i] = names[i].empty() ? letter : letter + ": " + names[i];
  }
  return names;
}

/// The different values of a setting; empty unless every row has a number there.
std::set<double> ValuesOf(const RowSet& set, const Column& column) {
  std::set<double> values;
  for (const Json& row : set.rows) {
    const std::optional<double> value = NumberAt(row, column.pointer);
    if (!value) return {};
    values.insert(*value);
  }
  return values;
}

}  // namespace

std::string LetterOf(size_t document) {
  const char letter = static_cast<char>('A' + document % 26);
  return document < 26 ? std::string(1, letter) : fmt::format("{}{}", letter, document / 26 + 1);
}

RowSet CollectRows(std::span<const ResultDocument* const> documents) {
  RowSet set{.kind = documents.front()->kind, .documents = documents.size()};
  for (size_t i = 0; i < documents.size(); ++i) {
    for (const Json& row : documents[i]->rows()) {
      set.rows.push_back(row);
      set.document_of.push_back(i);
    }
  }
  set.names = NamesWith(set, set.kind->columns);
  return set;
}

std::optional<SweptNumber> FindSweptNumber(const RowSet& set) {
  const Column* best = nullptr;
  size_t most = kFewestValues - 1;
  for (const Column& column : set.kind->columns) {
    if (!column.setting || column.pointer == "/seed") continue;
    const size_t count = ValuesOf(set, column).size();
    if (count <= most) continue;
    most = count;
    best = &column;
  }
  if (best == nullptr) return std::nullopt;
  std::vector<Column> others;
  for (const Column& column : set.kind->columns) {
    if (column.pointer != best->pointer) others.push_back(column);
  }
  return SweptNumber{*best, NamesWith(set, others)};
}

}  // namespace latchkey
