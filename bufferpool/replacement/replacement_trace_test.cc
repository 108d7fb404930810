// Miss counts on real traces compared with those of an independent program (libCacheSim). They must
// be equal, except for Random. The traces are not part of the project: they are read from
// $LATCHKEY_TRACES, or from a folder `shared/traces` beside the project.
#include <absl/container/flat_hash_map.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "bufferpool/replacement/trace_replay.h"

#ifdef LATCHKEY_HAVE_ZSTD
#include <zstd.h>
#endif

namespace latchkey {
namespace {

#ifdef LATCHKEY_HAVE_ZSTD

std::filesystem::path TraceFolder() {
  const char* set = std::getenv("LATCHKEY_TRACES");
  return set != nullptr ? set : LATCHKEY_TRACES_BESIDE_SOURCE;
}

std::string Decompress(const std::string& compressed) {
  const std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(),
                                                                   ZSTD_freeDCtx);
  std::string result;
  std::vector<char> chunk(ZSTD_DStreamOutSize());
  ZSTD_inBuffer in{compressed.data(), compressed.size(), 0};
  while (in.pos < in.size) {
    ZSTD_outBuffer out{chunk.data(), chunk.size(), 0};
    REQUIRE_FALSE(ZSTD_isError(ZSTD_decompressStream(context.get(), &out, &in)));
    result.append(chunk.data(), out.pos);
  }
  return result;
}

// The page ids of a trace, renumbered densely in order of appearance.
std::vector<uint32_t> ReadTrace(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE(file);
  const std::string raw = Decompress(
      std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()));
  std::vector<uint32_t> trace(raw.size() / sizeof(uint64_t));
  absl::flat_hash_map<uint64_t, uint32_t> numbers;
  for (size_t i = 0; i < trace.size(); ++i) {
    uint64_t id;
    std::memcpy(&id, raw.data() + i * sizeof(id), sizeof(id));
    trace[i] = numbers.emplace(id, static_cast<uint32_t>(numbers.size())).first->second;
  }
  return trace;
}

struct Reference {
  std::string item;
  uint32_t frames;
  uint64_t misses;
};

// reference.csv: trace, policy, cache_size, miss_ratio, implementation, params, requests, misses,
// ...
std::map<std::string, std::vector<Reference>> ReadReferences(const std::filesystem::path& path) {
  const std::map<std::string, std::string> items = {
      {"LRU", "lru"}, {"CLOCK", "clock"}, {"GCLOCK2bit", "gclock:limit=3:initial=0"}, {"2Q", "2q"}};
  std::map<std::string, std::vector<Reference>> references;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::vector<std::string> fields;
    std::istringstream stream(line);
    for (std::string field; std::getline(stream, field, ',');) fields.push_back(field);
    if (fields.size() < 8 || items.count(fields[1]) == 0) continue;
    if (fields[4].rfind("libCacheSim", 0) != 0) continue;
    references[fields[0]].push_back({items.at(fields[1]),
                                     static_cast<uint32_t>(std::stoul(fields[2])),
                                     std::stoull(fields[7])});
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
    const std::vector<uint32_t> trace = ReadTrace(TraceFolder() / (name + ".u64.zst"));
    for (const Reference& row : rows) {
      if (!Runs(name, row.frames)) continue;
      CAPTURE(name, row.item, row.frames);
      const uint64_t misses =
          CountMisses(ReplacementAlgorithms().Named(row.item), row.frames, trace);
      if (row.item == "random") {  // other random draws, so only the mean is equal
        CHECK(static_cast<double>(misses) == Approx(static_cast<double>(row.misses)).epsilon(0.03));
      } else {
        CHECK(misses == row.misses);
      }
    }
  }
}

#else

TEST_CASE("The replacement algorithms miss as often as the reference programs on real traces") {
  WARN("skipped: built without libzstd, so that the traces cannot be read");
}

#endif

TEST_CASE("A trace that fits the cache misses once per page") {
  const std::vector<uint32_t> trace = {0, 1, 2, 1, 0, 2, 2, 3, 0};
  for (const ReplacementInfo& info : ReplacementAlgorithms()) {
    CHECK(CountMisses(ReplacementAlgorithms().Named(info.description.name), 4, trace) == 4);
  }
}

}  // namespace
}  // namespace latchkey
