#include "storage/device/io_window.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <utility>

namespace latchkey::io_window_test {
namespace {

// Completes one request a Wait, the newest first; requests at odd offsets fail.
class NewestFirst final : public IoQueue {
 public:
  void Submit(std::span<IoRequest* const> requests) override {
    flights_.insert(flights_.end(), requests.begin(), requests.end());
    most_in_flight = std::max(most_in_flight, flights_.size());
  }
  void Wait(size_t, std::vector<IoRequest*>& completed) override {
    IoRequest* const request = flights_.back();
    flights_.pop_back();
    request->status = request->offset % 2 == 1 ? absl::UnavailableError("odd") : absl::OkStatus();
    completed.push_back(request);
  }
  size_t in_flight() const override { return flights_.size(); }
  size_t most_in_flight = 0;

 private:
  std::vector<IoRequest*> flights_;
};

TEST_CASE(
    "A window keeps as many requests in flight as its depth, and each completes with its tag") {
  const size_t depth = GENERATE(1, 3, 50);
  CAPTURE(depth);
  constexpr uint64_t kRequests = 20;
  NewestFirst queue;
  IoWindow<std::pair<uint64_t, char>> window(depth);
  for (const char run : {'a', 'b'}) {
    uint64_t next = 0;
    std::map<uint64_t, bool> done;
    window.Run(
        queue,
        [&](TaggedRequest<std::pair<uint64_t, char>>& request) {
          if (next == kRequests) return false;
          request.offset = next;
          request.tag = {next++, run};
          return true;
        },
        [&](const IoRequest& request, const std::pair<uint64_t, char>& tag) {
          CHECK(request.offset == tag.first);
          CHECK(tag.second == run);
          CHECK(done.emplace(tag.first, request.status.ok()).second);
        });
    CHECK(done.size() == kRequests);
    CHECK(done[4]);
    CHECK_FALSE(done[5]);
    CHECK(queue.in_flight() == 0);
    CHECK(queue.most_in_flight == std::min<size_t>(depth, kRequests));
  }
}

TEST_CASE("Work that a failed request ends still waits for the requests in flight") {
  NewestFirst queue;
  IoWindow<int> window(4);
  uint64_t next = 0, completed = 0;
  bool failed = false;
  window.Run(
      queue,
      [&](IoRequest& request) {
        if (failed) return false;
        request.offset = next++;
        return true;
      },
      [&](const IoRequest& request, int) {
        ++completed;
        failed = failed || !request.status.ok();
      });
  CHECK(failed);
  CHECK(next == 4);
  CHECK(completed == next);
  CHECK(queue.in_flight() == 0);
}

TEST_CASE("Requests that a window has started stay in flight until its next run") {
  NewestFirst queue;
  IoWindow<int> window(4);
  uint64_t next = 0, completed = 0;
  const auto fill = [&](IoRequest& request) {
    if (next == 6) return false;
    request.offset = next++;
    return true;
  };
  window.Start(queue, fill);
  CHECK(queue.in_flight() == 4);
  CHECK(next == 4);
  window.Run(queue, fill, [&](const IoRequest&, int) { ++completed; });
  CHECK(completed == 6);
  CHECK(queue.in_flight() == 0);
}

TEST_CASE("A window without work touches neither queue nor callback") {
  NewestFirst queue;
  IoWindow<int> window(4);
  window.Run(
      queue, [](IoRequest&) { return false; }, [](const IoRequest&, int) { FAIL(); });
  CHECK(queue.most_in_flight == 0);
}

}  // namespace
}  // namespace latchkey::io_window_test
