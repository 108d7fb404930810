// The rows of all documents of one kind, with the names by which charts and tables call them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tools/report/result_document.h"

namespace latchkey {

struct RowSet {
  const ReportKind* kind = nullptr;
  size_t documents = 1;
  std::vector<Json> rows = {};
  std::vector<size_t> document_of = {};  ///< of each row: the number of its document
  std::vector<std::string> names =
      {};  ///< of each row: "A: lfs, 2 users"; without the letter if alone
};

/// "A" to "Z", then "A2" and so on: how a page calls a document.
std::string LetterOf(size_t document);

/// REQUIRES: at least one document, all of one kind.
RowSet CollectRows(std::span<const ResultDocument* const> documents);

/// A number that the rows sweep: the setting with the most different values.
struct SweptNumber {
  Column column;
  /// Names of the rows without this setting: rows with the same name form a line.
  std::vector<std::string> series_of = {};
};
/// nullopt: no setting is a number in every row and has at least three values.
std::optional<SweptNumber> FindSweptNumber(const RowSet& set);

}  // namespace latchkey
