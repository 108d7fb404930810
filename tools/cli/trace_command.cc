#include "tools/cli/trace_command.h"

#include <absl/functional/function_ref.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <vector>

#include "storage/base/counted_noun.h"
#include "storage/base/status_macros.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/experiment.h"
#include "tools/cli/flag_values.h"
#include "tools/trace/fix_analysis.h"
#include "tools/trace/fix_trace.h"

namespace latchkey {
namespace {

constexpr uint64_t kMostTracedUsers = 65'536, kMostFixes = uint64_t{1} << 40;
constexpr uint64_t kMostPages = uint64_t{1} << 32;
constexpr const char* kAll = "all";

std::string TreeName(const FixTrace& trace, const FixSelection& part) {
  if (!part.tree) return kAll;
  return *part.tree == FixRecord::kOtherTree ? "(other)" : trace.header.trees[*part.tree].name;
}

/// The trees in which the trace has fixes, in the order of the header.
std::vector<uint8_t> TreesWithFixes(const FixTrace& trace) {
  std::vector<bool> has(256);
  for (const FixRecord& record : trace.records) {
    if (record.is_fix()) has[record.tree] = true;
  }
  std::vector<uint8_t> trees;
  for (size_t tree = 0; tree < has.size(); ++tree) {
    if (has[tree]) trees.push_back(static_cast<uint8_t>(tree));
  }
  return trees;
}

absl::StatusOr<std::vector<std::optional<uint8_t>>> ParseTrees(const FixTrace& trace,
                                                               const std::string& text) {
  std::vector<std::optional<uint8_t>> trees;
  LATCHKEY_ASSIGN_OR_RETURN(const auto items, SplitList("tree", text));
  for (const std::string& item : items) {
    if (item == kAll) {
      trees.emplace_back();
      continue;
    }
    const size_t before = trees.size();
    std::vector<std::string> known = {"all", "each"};
    for (const uint8_t tree : TreesWithFixes(trace)) {
      known.push_back(TreeName(trace, {.tree = tree}));
      if (item == "each" || item == known.back()) trees.emplace_back(tree);
    }
    if (trees.size() == before && item != "each") {
      return InvalidArgument("--tree={}: the trace has no fix in such a tree; known: {}", item,
                             fmt::join(known, ", "));
    }
  }
  return trees;
}

absl::StatusOr<std::vector<TracedObject>> ParseObjects(const std::string& text) {
  std::vector<TracedObject> objects;
  LATCHKEY_ASSIGN_OR_RETURN(const auto items, SplitList("object", text));
  for (const std::string& item : items) {
    const size_t before = objects.size();
    for (const TracedObject object :
         {TracedObject::kAll, TracedObject::kData, TracedObject::kIndex}) {
      if (item == NameOf(object)) objects.push_back(object);
    }
    if (objects.size() == before) {
      return InvalidArgument("--object={}: unknown; known: all, data, index", item);
    }
  }
  return objects;
}

/// 0 for "all".
absl::StatusOr<uint64_t> ParseCountOrAll(std::string_view flag, const std::string& text,
                                         uint64_t most) {
  if (text == kAll) return 0;
  return ParseCount(flag, text, 1, most, ", or all");
}

/// A trace and the parts of it that the flags name.
struct Parts {
  FixTrace trace;
  std::vector<FixSelection> selections;
};

absl::StatusOr<Parts> ReadParts(const TraceFlags& flags) {
  LATCHKEY_RETURN_IF_ERROR(CheckOutputs(flags.output));
  LATCHKEY_ASSIGN_OR_RETURN(const auto objects, ParseObjects(flags.objects));
  std::vector<uint32_t> users;
  LATCHKEY_ASSIGN_OR_RETURN(const auto texts, SplitList("users", flags.users));
  for (const std::string& text : texts) {
    LATCHKEY_ASSIGN_OR_RETURN(const uint64_t count,
                              ParseCountOrAll("users", text, kMostTracedUsers));
    users.push_back(static_cast<uint32_t>(count));
  }
  LATCHKEY_ASSIGN_OR_RETURN(const uint64_t fixes,
                            ParseCountOrAll("fixes-per-user", flags.fixes_per_user, kMostFixes));
  Parts parts;
  LATCHKEY_ASSIGN_OR_RETURN(parts.trace, ReadFixTrace(flags.file));
  LATCHKEY_ASSIGN_OR_RETURN(const auto trees, ParseTrees(parts.trace, flags.trees));
  for (const uint32_t count : users) {
    for (const std::optional<uint8_t>& tree : trees) {
      for (const TracedObject object : objects) {
        parts.selections.push_back(
            {.tree = tree, .object = object, .users = count, .fixes_per_user = fixes});
      }
    }
  }
  return parts;
}

/// The columns that name a part.
Json RowOf(const TraceFlags& flags, const FixTrace& trace, const FixSelection& part) {
  Json warnings = Json::array();
  if (trace.limited) {
    warnings.push_back(fmt::format("{} has the first {} of its run only", flags.file,
                                   CountOf(trace.records.size(), "record")));
  }
  return {{"trace", flags.file},
          {"tree", TreeName(trace, part)},
          {"object", NameOf(part.object)},
          {"warnings", std::move(warnings)}};
}

std::vector<Column> ColumnsAfterPart(std::vector<Column> more) {
  std::vector<Column> columns = {{"tree", "/tree", ColumnFormat::kText, true},
                                 {"object", "/object", ColumnFormat::kText, true}};
  columns.insert(columns.end(), more.begin(), more.end());
  return columns;
}

int Write(const TraceFlags& flags, const char* schema, const std::vector<Json>& rows,
          const std::vector<Column>& columns) {
  const absl::Status written = WriteResults(
      flags.output, {.schema = schema, .database_path = ".", .rows = rows, .columns = columns});
  return written.ok() ? kExitOk : FailWith(written);
}

// ---- info

/// A field of the trace's totals, if it is a count.
Json TotalOf(const FixTrace& trace, const char* pointer) {
  Json total = ValueAt(trace.totals, pointer);
  return total.is_number_unsigned() ? total : Json(nullptr);
}

Json InfoRow(const TraceFlags& flags, const FixTrace& trace, const FixSelection& part,
             uint64_t all_fixes) {
  const FixCounts counts = CountFixes(trace, part);
  Json row = RowOf(flags, trace, part);
  row["pages"] = counts.pages;
  row["fixes"] = counts.all();
  row["share"] = all_fixes == 0
                     ? Json(nullptr)
                     : Json(static_cast<double>(counts.all()) / static_cast<double>(all_fixes));
  row["shared"] = counts.fixes[static_cast<size_t>(FixKind::kShared)];
  row["exclusive"] = counts.fixes[static_cast<size_t>(FixKind::kExclusive)];
  row["new"] = counts.fixes[static_cast<size_t>(FixKind::kNew)];
  row["upgrades"] = counts.upgrades;
  row["modified_unfixes"] = counts.modified;
  row["misses"] = counts.missed;
  const Json done = TotalOf(trace, "/done");
  const bool counted = !trace.limited && done.is_number() && done.get<uint64_t>() > 0;
  row["fixes_per_unit"] =
      counted ? Json(static_cast<double>(counts.all()) / done.get<double>()) : Json(nullptr);
  row["units"] = counted && trace.totals.contains("units") ? trace.totals["units"] : Json(nullptr);
  const bool whole = !part.tree && part.object == TracedObject::kAll;
  row["users"] = CountUsers(trace);
  row["done"] = done;
  row["pool_fixes"] = whole ? TotalOf(trace, "/pool/fixes") : Json(nullptr);
  row["pool_misses"] = whole ? TotalOf(trace, "/pool/misses") : Json(nullptr);
  return row;
}

}  // namespace

std::vector<Column> TraceInfoColumns() {
  return ColumnsAfterPart({{"pages", "/pages", ColumnFormat::kCount},
                           {"fixes", "/fixes", ColumnFormat::kCount},
                           {"share", "/share", ColumnFormat::kPercent},
                           {"shared", "/shared", ColumnFormat::kCount},
                           {"exclusive", "/exclusive", ColumnFormat::kCount},
                           {"new", "/new", ColumnFormat::kCount},
                           {"upgrades", "/upgrades", ColumnFormat::kCount},
                           {"modified unfixes", "/modified_unfixes", ColumnFormat::kCount},
                           {"misses", "/misses", ColumnFormat::kCount},
                           {"fixes per transaction", "/fixes_per_unit", ColumnFormat::kNumber},
                           {"pool's fixes", "/pool_fixes", ColumnFormat::kCount},
                           {"pool's misses", "/pool_misses", ColumnFormat::kCount}});
}

std::vector<Column> TraceDepthColumns() {
  return ColumnsAfterPart({{"users", "/users", ColumnFormat::kCount, true},
                           {"references", "/references", ColumnFormat::kCount},
                           {"immediate", "/immediate", ColumnFormat::kCount},
                           {"different pages", "/pages", ColumnFormat::kCount},
                           {"finite depth", "/finite", ColumnFormat::kPercent},
                           {"LRU pages", "/size", ColumnFormat::kCount, true},
                           {"depth below it", "/hit_ratio", ColumnFormat::kPercent}});
}

std::vector<Column> TraceSkewColumns() {
  return ColumnsAfterPart(
      {{"pages", "/pages", ColumnFormat::kCount},
       {"80 % of the fixes in", "/pages_for_80_percent", ColumnFormat::kPercent},
       {"hottest pages", "/hottest", ColumnFormat::kPercent, true},
       {"share of the fixes", "/fixes_share", ColumnFormat::kPercent}});
}

int TraceInfoCommand(const TraceFlags& flags) {
  TraceFlags whole = flags;
  whole.trees = "all,each";
  whole.objects = "all,data,index";
  const absl::StatusOr<Parts> parts = ReadParts(whole);
  if (!parts.ok()) return FailWith(parts.status());
  const uint64_t all_fixes = CountFixes(parts->trace, {}).all();
  std::vector<Json> rows;
  for (const FixSelection& part : parts->selections) {
    Json row = InfoRow(flags, parts->trace, part, all_fixes);
    if (row["fixes"] != 0 || !part.tree) rows.push_back(std::move(row));
  }
  return Write(flags, kTraceInfoSchema, rows, TraceInfoColumns());
}

int TraceDepthCommand(const TraceFlags& flags) {
  std::vector<uint64_t> sizes;
  const auto texts = SplitList("size", flags.sizes);
  if (!texts.ok()) return FailWith(texts.status());
  for (const std::string& text : *texts) {
    const absl::StatusOr<uint64_t> size = ParseCount("size", text, 1, kMostPages);
    if (!size.ok()) return FailWith(size.status());
    sizes.push_back(*size);
  }
  const absl::StatusOr<Parts> parts = ReadParts(flags);
  if (!parts.ok()) return FailWith(parts.status());
  std::vector<Json> rows;
  for (const FixSelection& part : parts->selections) {
    const DepthResult result = DepthsOf(parts->trace, part);
    for (const uint64_t size : sizes) {
      Json row = RowOf(flags, parts->trace, part);
      row["users"] = result.users;
      row["references"] = result.depths.references();
      row["immediate"] = result.immediate;
      row["pages"] = result.depths.unique_pages();
      row["finite"] = result.depths.FiniteShare();
      row["size"] = size;
      row["hit_ratio"] = result.depths.HitRatio(size);
      rows.push_back(std::move(row));
    }
  }
  return Write(flags, kTraceDepthSchema, rows, TraceDepthColumns());
}

int TraceSkewCommand(const TraceFlags& flags) {
  std::vector<double> shares;
  const auto texts = SplitList("share", flags.shares);
  if (!texts.ok()) return FailWith(texts.status());
  for (const std::string& text : *texts) {
    const absl::StatusOr<double> percent = ParseNumber("share", text, 0, 100);
    if (!percent.ok()) return FailWith(percent.status());
    shares.push_back(*percent / 100);
  }
  const absl::StatusOr<Parts> parts = ReadParts(flags);
  if (!parts.ok()) return FailWith(parts.status());
  std::vector<Json> rows;
  for (const FixSelection& part : parts->selections) {
    const std::vector<uint64_t> fixes = FixesOfPages(parts->trace, part);
    for (const double share : shares) {
      Json row = RowOf(flags, parts->trace, part);
      row["pages"] = fixes.size();
      row["hottest"] = share;
      row["fixes_share"] = ShareOfHottest(fixes, share);
      row["pages_for_80_percent"] = PagesForShare(fixes, 0.8);
      rows.push_back(std::move(row));
    }
  }
  return Write(flags, kTraceSkewSchema, rows, TraceSkewColumns());
}

}  // namespace latchkey
