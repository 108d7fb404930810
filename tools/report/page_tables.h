// The parts of a page that are text: documents, notices, tables.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "tools/report/comparison.h"
#include "tools/report/row_set.h"

namespace latchkey {

/// A section with its heading; `content` is markup.
std::string Section(std::string_view title, std::string_view content);

/// Which letter is which file, with its build.
std::string DocumentList(std::span<const ResultDocument* const> documents);
/// What a reader must know before the figures: interrupted runs, errors, rows that are not steady,
/// warnings. "" if there is nothing.
std::string Notices(std::span<const ResultDocument* const> documents, const RowSet& set);
/// One comparison; "" if it has no rows and nothing to say.
std::string ComparisonTable(const ResultComparison& comparison);
/// All rows with the kind's columns.
std::string ResultTable(const RowSet& set);
/// The settings that all rows share.
std::string SettingsList(const RowSet& set);
/// Build and host of each document.
std::string MachineTable(std::span<const ResultDocument* const> documents);

}  // namespace latchkey
