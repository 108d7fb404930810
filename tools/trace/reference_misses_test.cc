// Miss counts on real traces compared with those of independent programs (libCacheSim; LIRS: its
// authors' program; CAR and W-TinyLFU: Caffeine) and, for LRU-2, of a transcription of the paper.
// They must be equal, except where the programs differ in details that the papers leave open. Rows
// with stack=inf or history=inf are for a memory of evicted pages without limit, which only a trace
// replay allows; a pool has the bounded default. The traces are not part of the project: they are
// read from $LATCHKEY_TRACES, or from a folder `shared/traces` beside the project.
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "bufferpool/replacement/trace_replay.h"
#include "tools/trace/page_trace.h"
#include "tools/trace/testing/trace_folder.h"

namespace latchkey::reference_misses_test {
namespace {

struct Reference {
  std::string item;
  uint32_t frames;
  uint64_t misses;
  double within_points;
};

// The rows of reference.csv that are compared: the program they come from, and how they name it.
struct ComparedRows {
  std::string policy;
  std::string program;  // the beginning of its name
  std::string item;
  std::string params = "";     // a part of the parameters column
  double within_points = 0;    // the largest difference of the miss ratios, in percentage points
  uint32_t fewest_frames = 1;  // rows with fewer are not compared
};

const std::vector<ComparedRows>& AllComparedRows() {
  static const std::vector<ComparedRows> rows = {
      {"LRU", "libCacheSim", "lru"},
      {"CLOCK", "libCacheSim", "clock"},
      {"GCLOCK2bit", "libCacheSim", "gclock:limit=3:initial=0"},
      {"2Q", "libCacheSim", "2q"},
      {"FIFO", "libCacheSim", "fifo"},
      {"LFU", "libCacheSim", "lfu"},
      {"LRU-2", "paper-transcription", "lru2:history=inf"},
      {"MQ", "libCacheSim", "mq"},
      {"LIRS", "lirs.c", "lirs:stack=inf", "effectively none"},
      {"LIRS", "lirs.c", "lirs:stack=2", "stack limit 2x"},
      {"LIRS", "lirs.c", "lirs:stack=3", "stack limit 3x"},
      {"OPT", "libCacheSim", "opt"},
      {"ARC", "libCacheSim", "arc"},
      {"S3-FIFO", "libCacheSim", "s3-fifo"},
      {"SIEVE", "libCacheSim", "sieve"},
      {"CAR", "Caffeine", "car", "", 2, 100},              // whole numbers for p
      {"W-TinyLFU", "Caffeine", "w-tinylfu", "", 2, 100},  // other hashes, other random draws
  };
  return rows;
}

// reference.csv: trace, policy, cache_size, miss_ratio, implementation, params, requests, misses,
// group, grade
std::map<std::string, std::vector<Reference>> ReadReferences(const std::filesystem::path& path) {
  std::map<std::string, std::vector<Reference>> references;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::vector<std::string> fields;
    std::istringstream stream(line);
    for (std::string field; std::getline(stream, field, ',');) fields.push_back(field);
    if (fields.size() < 10 || fields[9].rfind("DO NOT USE", 0) == 0) continue;
    for (const ComparedRows& rows : AllComparedRows()) {
      if (fields[1] != rows.policy || fields[4].rfind(rows.program, 0) != 0) continue;
      if (fields[5].find(rows.params) == std::string::npos) continue;
      const auto frames = static_cast<uint32_t>(std::stoul(fields[2]));
      if (frames < rows.fewest_frames) continue;
      references[fields[0]].push_back(
          {rows.item, frames, std::stoull(fields[7]), rows.within_points});
    }
  }
  return references;
}

// The two long traces run at all sizes in optimised builds only.
bool Runs(const std::string& trace, uint32_t frames) {
#ifdef NDEBUG
  return !trace.empty() && frames > 0;
#else
  return (trace != "OLTP" || frames == 10000) && (trace != "cpio-4k" || frames == 26921);
#endif
}

TEST_CASE("The replacement algorithms miss as often as the reference programs on real traces") {
  if (!std::filesystem::exists(TraceFolder() / "reference.csv")) {
    WARN("skipped: no traces in " << TraceFolder() << "; set LATCHKEY_TRACES to their folder");
    return;
  }
  const auto references = ReadReferences(TraceFolder() / "reference.csv");
  CHECK(references.size() >= 6);
  for (const auto& [name, rows] : references) {
    const auto read = ReadPageTrace((TraceFolder() / (name + ".u64.zst")).string());
    REQUIRE(read.ok());
    const std::vector<uint32_t>& trace = read->pages;
    for (const Reference& row : rows) {
      if (!Runs(name, row.frames)) continue;
      CAPTURE(name, row.item, row.frames);
      const uint64_t misses =
          CountMisses(ReplacementAlgorithms().Named(row.item), row.frames, trace);
      const double most = row.within_points / 100 * static_cast<double>(trace.size());
      const auto difference = static_cast<double>(misses) - static_cast<double>(row.misses);
      CAPTURE(misses, row.misses);
      CHECK(std::abs(difference) <= most);
    }
  }
}

}  // namespace
}  // namespace latchkey::reference_misses_test
