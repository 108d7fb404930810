// One self-contained HTML file for results: no script, nothing loaded, charts as inline SVG.
#pragma once

#include <span>
#include <string>

#include "tools/report/result_document.h"

namespace latchkey {

/// The page of `documents` (at least one), grouped by kind: comparison, charts, tables, settings,
/// machines. Documents of one kind are compared with the first of them, and the rows of a document
/// that is alone with its first row. The same documents give the same bytes.
std::string ReportPage(std::span<const ResultDocument> documents);

}  // namespace latchkey
