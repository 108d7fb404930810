// The result documents of the measuring verbs, and what a report shows of each.
#pragma once

#include <span>

#include "tools/report/report_kind.h"

namespace latchkey {

std::span<const ReportKind> ReportKinds();

}  // namespace latchkey
