#include "tools/trace/page_trace.h"

#include <zstd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <fstream>
#include <string>

#include "storage/base/testing/temp_dir.h"

namespace latchkey::page_trace_test {
namespace {

constexpr uint64_t kWrite = uint64_t{1} << 63;

std::string BytesOf(const std::vector<uint64_t>& requests) {
  std::string bytes(requests.size() * sizeof(uint64_t), '\0');
  std::memcpy(bytes.data(), requests.data(), bytes.size());
  return bytes;
}

std::string Compressed(const std::string& bytes) {
  std::string compressed(ZSTD_compressBound(bytes.size()), '\0');
  const size_t size =
      ZSTD_compress(compressed.data(), compressed.size(), bytes.data(), bytes.size(), 3);
  REQUIRE_FALSE(ZSTD_isError(size));
  compressed.resize(size);
  return compressed;
}

struct TraceFile {
  explicit TraceFile(const std::string& bytes) : path((folder.path() / "t.u64").string()) {
    std::ofstream(path, std::ios::binary) << bytes;
  }
  absl::StatusOr<PageTrace> Read() const { return ReadPageTrace(path); }
  std::string Error() const {
    const auto trace = Read();
    REQUIRE_FALSE(trace.ok());
    return std::string(trace.status().message());
  }

  TempDir folder;
  std::string path;
};

TEST_CASE("A trace is read with its pages renumbered and its writes, plain or compressed") {
  const std::string bytes = BytesOf({7, uint64_t{1} << 40, 7 | kWrite, 3, uint64_t{1} << 40});
  for (const std::string& content : {bytes, Compressed(bytes)}) {
    const auto trace = TraceFile(content).Read();
    REQUIRE(trace.ok());
    CHECK(trace->pages == std::vector<uint32_t>{0, 1, 0, 2, 1});
    CHECK(trace->writes == std::vector<bool>{false, false, true, false, false});
    CHECK(trace->unique_pages == 3);
  }
}

TEST_CASE("A trace without a write has no flags, and a long one is read whole") {
  std::vector<uint64_t> requests;
  for (uint64_t i = 0; i < 300'000; ++i) requests.push_back(i * i % 1009);
  for (const std::string& content : {BytesOf(requests), Compressed(BytesOf(requests))}) {
    const auto trace = TraceFile(content).Read();
    REQUIRE(trace.ok());
    CHECK(trace->writes.empty());
    REQUIRE(trace->pages.size() == requests.size());
    for (size_t i = 1009; i < requests.size(); ++i) {
      REQUIRE(trace->pages[i] == trace->pages[i % 1009]);
    }
  }
}

TEST_CASE("What is no trace is refused with the position and the reason") {
  CHECK_THAT(TraceFile("").Error(), Catch::Contains("has no request"));
  CHECK_THAT(TraceFile("hello").Error(), Catch::Contains("within request 0, which has 5 of 8"));
  const std::string bytes = BytesOf({1, 2, 3});
  CHECK_THAT(TraceFile(bytes.substr(0, 20)).Error(),
             Catch::Contains("within request 2, which has 4 of 8 bytes"));
  const std::string compressed = Compressed(bytes);
  CHECK_THAT(TraceFile(compressed.substr(0, compressed.size() - 1)).Error(),
             Catch::Contains("is truncated"));
  std::string damaged = compressed;
  damaged[5] = static_cast<char>(damaged[5] ^ 0x7f);
  CHECK_THAT(TraceFile(damaged).Error(),
             Catch::Contains("damaged") || Catch::Contains("truncated"));
  const auto missing = ReadPageTrace("/no-such-folder/trace");
  CHECK(absl::IsNotFound(missing.status()));
}

}  // namespace
}  // namespace latchkey::page_trace_test
