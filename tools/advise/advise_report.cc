#include "tools/advise/advise_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "storage/base/check.h"
#include "tpcc-lite/report/table.h"

namespace latchkey {
namespace {

std::string Count(uint64_t count) { return FormatValue(Json(count), ColumnFormat::kCount); }
std::string Percent(double share) { return fmt::format("{:.0f} %", 100 * share); }
std::string Bytes(uint64_t bytes) { return FormatValue(Json(bytes), ColumnFormat::kBytes); }
std::string Micros(double us) { return FormatValue(Json(us), ColumnFormat::kMicros); }

std::string CleaningOf(const Candidate& candidate) {
  return candidate.way->cleaning.empty() ? "-" : std::string(candidate.way->cleaning);
}

std::string DescribeWrites(const TraceWrites& counted) {
  std::string text = fmt::format(
      "{} page writes and {} page reads reach the store, {:.1f} writes for each of its {} pages, "
      "of which {} are written. ",
      Count(counted.writes), Count(counted.reads), counted.writes_per_page(),
      Count(counted.traced_pages), Count(counted.written_pages));
  if (counted.pages > counted.traced_pages) {
    text += fmt::format("The database has {} pages; those that the trace lacks count as cold. ",
                        Count(counted.pages));
  }
  text += fmt::format(
      "Skew: the hottest 20 % of the pages get {} of the writes; those that the first half of the "
      "trace shows as the hottest 20 % get {} of the second half's.",
      Percent(counted.in_hindsight->Share(0.2)), Percent(counted.foreseen->Share(0.2)));
  return text;
}

// Why another way than the one that the model prefers is advised.
std::string WhyNotPredicted(const Candidate& best, const Replay* of_best,
                            const Replay* of_advised) {
  if (of_best == nullptr || of_advised == nullptr ||
      of_best->measured * (1 + kTie) < of_advised->measured) {
    return fmt::format(
        "The model prefers {}, but the replay does not confirm it: what is measured counts. ",
        best.way->layout);
  }
  return fmt::format(
      "The model prefers {}, but in the replay the two are within {:.0f} % of each other, so the "
      "simpler one is advised. ",
      best.way->layout, 100 * kTie);
}

// Of each page size, u_d and layout one candidate, in order: the simplest cleaning, unless another
// one gains more than kTie.
std::vector<const Candidate*> BestOfLayouts(const Advice& advice) {
  std::vector<const Candidate*> rows;
  for (const Candidate& candidate : advice.candidates) {
    const auto same = std::find_if(rows.begin(), rows.end(), [&](const Candidate* row) {
      return row->way->layout == candidate.way->layout &&
             row->space_utilization == candidate.space_utilization &&
             row->pages.page_bytes == candidate.pages.page_bytes;
    });
    if (same == rows.end()) {
      rows.push_back(&candidate);
    } else if (candidate.operation_us * (1 + kTie) < (*same)->operation_us) {
      *same = &candidate;
    }
  }
  return rows;
}

// Layout, cleaning and u_d tell the rows apart.
constexpr size_t kLeadingColumns = 3;

std::string PredictedTable(const Advice& advice, size_t width) {
  const bool sizes = advice.question.page_sizes.size() > 1;
  std::vector<std::vector<std::string>> lines = {{"layout", "segment cleaning", "u_d",
                                                  "of the file", "per write", "with its reads",
                                                  "of overwrite", "hot pages"}};
  std::vector<bool> right = {false, false, true, true, true, true, true, true};
  if (sizes) {
    lines[0].push_back("page");
    right.push_back(true);
  }
  for (const Candidate* row : BestOfLayouts(advice)) {
    const bool hybrid = row->way->layout == "hylog";
    lines.push_back({std::string(row->way->layout), CleaningOf(*row),
                     fmt::format("{}", row->space_utilization),
                     fmt::format("{:.3f}", row->model_utilization), Micros(row->write_us),
                     Micros(row->operation_us), fmt::format("{:.2f}", row->relative),
                     hybrid ? Percent(row->hot_pages) : "-"});
    if (sizes) lines.back().push_back(Bytes(row->pages.page_bytes));
  }
  return FitCells(std::move(lines), right, kLeadingColumns, width);
}

std::string ReplayTable(const Advice& advice, size_t width) {
  std::vector<std::vector<std::string>> lines = {
      {"layout", "segment cleaning", "u_d of the file", "predicted", "measured", ""}};
  for (const Replay& replay : advice.replays) {
    std::string mark;
    if (replay.differs()) {
      mark = fmt::format("* the prediction is {:.0f} % {}",
                         100 * std::abs(replay.predicted / replay.measured - 1),
                         replay.predicted > replay.measured ? "too high" : "too low");
    }
    if (!replay.not_steady.empty()) mark += (mark.empty() ? "not steady" : "; not steady");
    lines.push_back({std::string(replay.candidate.way->layout), CleaningOf(replay.candidate),
                     fmt::format("{:.3f}", replay.sample_utilization),
                     fmt::format("{:.2f}", replay.predicted),
                     fmt::format("{:.2f}", replay.measured), mark});
  }
  return FitCells(std::move(lines), {false, false, true, true, true, false}, kLeadingColumns,
                  width);
}

const Replay* ReplayOf(const Advice& advice, const Candidate& candidate) {
  for (const Replay& replay : advice.replays) {
    if (replay.candidate.way == candidate.way &&
        replay.candidate.space_utilization == candidate.space_utilization) {
      return &replay;
    }
  }
  return nullptr;
}

std::string Gain(double relative) {
  if (relative >= 2) return fmt::format("{:.1f} times as fast as Overwrite", relative);
  return relative >= 1 ? fmt::format("{:.0f} % faster than Overwrite", 100 * (relative - 1))
                       : fmt::format("{:.0f} % slower than Overwrite", 100 * (1 - relative));
}

Json ToJson(const Candidate& candidate) {
  Json json = {{"layout", std::string(candidate.way->layout)},
               {"segment_cleaning", nullptr},
               {"space_utilization", candidate.space_utilization},
               {"page_size", candidate.pages.page_bytes},
               {"segment_size", candidate.pages.segment_bytes},
               {"model_space_utilization", candidate.model_utilization},
               {"write_us", candidate.write_us},
               {"operation_us", candidate.operation_us},
               {"relative_to_overwrite", candidate.relative},
               {"hot_proportion", nullptr}};
  if (!candidate.way->cleaning.empty()) {
    json["segment_cleaning"] = std::string(candidate.way->cleaning);
  }
  if (candidate.way->layout == "hylog") json["hot_proportion"] = candidate.hot_pages;
  return json;
}

Json ToJson(const TraceWrites& counted) {
  Json json = {{"pages", counted.pages},
               {"traced_pages", counted.traced_pages},
               {"written_pages", counted.written_pages},
               {"reads", counted.reads},
               {"writes", counted.writes},
               {"writes_per_page", counted.writes_per_page()},
               {"hottest", Json::array()}};
  for (const double share : {0.01, 0.05, 0.1, 0.2, 0.5}) {
    json["hottest"].push_back({{"pages_share", share},
                               {"in_hindsight", counted.in_hindsight->Share(share)},
                               {"foreseen", counted.foreseen->Share(share)}});
  }
  return json;
}

Json ToJson(const Replay& replay) {
  Json json = ToJson(replay.candidate);
  for (const char* of_the_whole : {"segment_size", "model_space_utilization", "write_us",
                                   "operation_us", "relative_to_overwrite", "hot_proportion"}) {
    json.erase(of_the_whole);
  }
  json["sample_space_utilization"] = replay.sample_utilization;
  json["predicted"] = replay.predicted;
  json["measured"] = replay.measured;
  json["differs"] = replay.differs();
  json["not_steady"] = replay.not_steady.empty() ? Json(nullptr) : Json(replay.not_steady);
  return json;
}

}  // namespace

const Candidate& Advised(const Advice& advice) {
  if (advice.replays.empty()) return advice.candidates[advice.choice.best];
  return advice.replays[BestMeasured(advice.replays)].candidate;
}

std::string ReasonOf(const Advice& advice) {
  const Candidate& advised = Advised(advice);
  const Candidate& best = advice.candidates[advice.choice.best];
  const Candidate& fastest = advice.candidates[advice.choice.fastest];
  const bool in_place = advised.way->layout == "overwrite";
  std::string reason;
  if (!in_place) reason = fmt::format("It is predicted to be {}", Gain(advised.relative));
  if (const Replay* replay = ReplayOf(advice, advised); replay != nullptr && !in_place) {
    reason += fmt::format("; on the replayed sample it is {}", Gain(replay->measured));
  }
  if (!reason.empty()) reason += ". ";
  if (in_place && advice.replays.empty() && advice.choice.runner_up) {
    const Candidate& other = advice.candidates[*advice.choice.runner_up];
    reason += fmt::format("Of the other layouts {} comes closest: it is predicted to be {}. ",
                          other.way->layout, Gain(other.relative));
  }
  if (advised.way != best.way) {
    reason += WhyNotPredicted(best, ReplayOf(advice, best), ReplayOf(advice, advised));
  } else if (best.operation_us < fastest.operation_us * 1.0005) {
    if (!in_place && best.space_utilization != fastest.space_utilization) {
      reason += "Emptier files are not faster. ";
    }
  } else if (best.way != fastest.way || best.space_utilization != fastest.space_utilization) {
    reason += fmt::format(
        "The model's fastest is {} at u_d {}, by {:.1f} %: differences of up to {:.0f} % count for "
        "nothing, so the simpler layout and the fuller file are advised. ",
        FlagsOf(fastest, false), fastest.space_utilization,
        100 * (best.operation_us / fastest.operation_us - 1), 100 * kTie);
  }
  if (in_place) {
    reason += "Overwrite costs the same at any u_d, so the fullest of the files is advised. ";
  }
  if (!reason.empty()) reason.pop_back();
  return reason;
}

std::string AdviceText(const Advice& advice, size_t width) {
  std::string text = "\n";
  const auto add = [&](const std::string& line, size_t indent) {
    text += WrapText(line, width, indent) + '\n';
  };
  add(fmt::format("workload {}: {:.2f} reads per write", advice.workload,
                  advice.question.reads_per_write),
      2);
  if (advice.counted) add(DescribeWrites(*advice.counted), 0);
  text += '\n';
  add(fmt::format("predicted device time, {} of data; requests per time, of overwrite",
                  Bytes(advice.question.data_bytes)),
      2);
  text += PredictedTable(advice, width);
  if (!advice.replays.empty()) {
    text += '\n';
    add(fmt::format("replayed on {} of these pages: requests per time, of overwrite",
                    Count(advice.replayed_pages)),
        2);
    text += ReplayTable(advice, width);
  }
  text += '\n';
  add("advice: " + FlagsOf(Advised(advice), advice.may_change_page_size), 2);
  text += "  " + WrapText(ReasonOf(advice), width - 2, 2) + '\n';
  for (const std::string& note : advice.notes) add("NOTE: " + note, 2);
  return text;
}

Json AdviceJson(const Advice& advice) {
  Json candidates = Json::array(), replays = Json::array();
  for (const Candidate& candidate : advice.candidates) candidates.push_back(ToJson(candidate));
  for (const Replay& replay : advice.replays) replays.push_back(ToJson(replay));
  const Candidate& advised = Advised(advice);
  const Replay* const replay = ReplayOf(advice, advised);
  Json json_of_advised = ToJson(advised);
  json_of_advised["flags"] = FlagsOf(advised, advice.may_change_page_size);
  json_of_advised["measured"] = replay != nullptr ? Json(replay->measured) : Json(nullptr);
  json_of_advised["reason"] = ReasonOf(advice);
  return {{"workload", advice.workload},
          {"writes", advice.counted ? ToJson(*advice.counted) : Json(nullptr)},
          {"data_bytes", advice.question.data_bytes},
          {"reads_per_write", advice.question.reads_per_write},
          {"candidates", candidates},
          {"replayed_pages", advice.replays.empty() ? Json(nullptr) : Json(advice.replayed_pages)},
          {"replays", replays},
          {"advised", json_of_advised},
          {"notes", advice.notes}};
}

}  // namespace latchkey
