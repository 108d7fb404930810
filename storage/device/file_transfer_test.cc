#include "storage/device/file_transfer.h"

#include <catch2/catch.hpp>
#include <deque>
#include <utility>
#include <vector>

namespace latchkey::file_transfer_test {
namespace {

const std::string kPath = "data.lk";

struct Step {
  ssize_t result;
  int errnum = 0;
};

// Returns the results in `steps`, and records the requests.
struct Script {
  std::deque<Step> steps;
  std::vector<std::pair<uint64_t, size_t>> asked = {};
  uint64_t done = 0;

  absl::Status Run(const char* verb) {
    return TransferAll(
        {.verb = verb, .path = kPath, .offset = 8192, .length = 4096, .logical_block = 512}, &done,
        [&](uint64_t offset, uint64_t, size_t length) {
          asked.emplace_back(offset, length);
          const Step step = steps.front();
          steps.pop_front();
          errno = step.errnum;
          return step.result;
        });
  }
};

TEST_CASE("A synchronous transfer goes on after interruptions and short results") {
  Script script{.steps = {{-1, EINTR}, {700}, {-1, EINTR}, {3584}}};
  CHECK(script.Run("read").ok());
  CHECK(script.done == 4096);
  CHECK(script.asked == std::vector<std::pair<uint64_t, size_t>>{
                            {8192, 4096}, {8192, 4096}, {8704, 3584}, {8704, 3584}});
}

TEST_CASE("A synchronous transfer without progress is an error") {
  Script read{.steps = {{1024}, {0}}};
  CHECK(absl::IsUnavailable(read.Run("read")));
  CHECK(read.done == 1024);
  Script less_than_a_block{.steps = {{100}}};
  CHECK(absl::IsUnavailable(less_than_a_block.Run("read")));
  Script write{.steps = {{0}}};
  CHECK(absl::IsUnavailable(write.Run("write")));
}

TEST_CASE("A synchronous transfer that fails names the rest it could not move") {
  Script script{.steps = {{1024}, {-1, ENOSPC}}};
  const absl::Status status = script.Run("write");
  CHECK(absl::IsResourceExhausted(status));
  CHECK(std::string(status.message()) ==
        "cannot write 3072 bytes at offset 9216 of \"data.lk\": No space left on device (ENOSPC)");
}

}  // namespace
}  // namespace latchkey::file_transfer_test
