// The queue with a kernel that lacks resources, interrupts, and completes in parts.
#include "storage/device/aio_queue.h"

#include <catch2/catch.hpp>
#include <cerrno>
#include <deque>
#include <map>

#include "storage/device/aligned_buffer.h"
#include "storage/runtime/testing/manual_clock.h"

namespace latchkey::aio_queue_test {
namespace {

constexpr uint32_t kPage = 4096;

// Completes each request in full unless a script says otherwise.
class ScriptedKernel final : public AioKernel {
 public:
  int setup_result = 0;
  std::deque<int> submit_results;                   // at most this many taken, or -errno
  std::deque<int> get_events_results;               // negative: -errno instead of events
  std::map<uint64_t, std::deque<long>> io_results;  // by offset of the part
  std::vector<iocb*> in_kernel;
  std::vector<std::pair<uint64_t, uint64_t>> parts;  // offset, length of all that was started

  bool shows_ring = false;

  ScriptedKernel() {
    ring().magic = AioRing::kMagic;
    ring().nr = kRingEvents;
  }
  int Setup(int, io_context_t*) override { return setup_result; }
  void Destroy(io_context_t, int) override {}
  const AioRing* Ring(io_context_t) override { return shows_ring ? &ring() : nullptr; }

  // Puts a request into the ring, in order: it has completed, whether or not it is collected.
  void Complete(size_t which) {
    ring().events[ring().tail].data = in_kernel[which]->data;
    ring().tail = (ring().tail + 1) % kRingEvents;
    ++in_ring_;
  }

  int Submit(io_context_t, long count, iocb** controls) override {
    long taken = count;
    if (!submit_results.empty()) {
      taken = std::min<long>(submit_results.front(), count);
      submit_results.pop_front();
    }
    for (long i = 0; i < taken; ++i) {
      in_kernel.push_back(controls[i]);
      parts.emplace_back(controls[i]->u.c.offset, controls[i]->u.c.nbytes);
    }
    return static_cast<int>(taken);
  }

  int GetEvents(io_context_t, long min, long max, io_event* events, timespec*) override {
    if (!get_events_results.empty()) {
      const int result = get_events_results.front();
      get_events_results.pop_front();
      return result;
    }
    REQUIRE(min <= static_cast<long>(in_kernel.size()));
    const long count = std::min<long>(max, static_cast<long>(in_kernel.size()));
    for (; in_ring_ < static_cast<size_t>(count);) Complete(in_ring_);
    in_ring_ -= static_cast<size_t>(count);
    for (long i = 0; i < count; ++i) {
      iocb* control = in_kernel[i];
      events[i] = {};
      events[i].data = control->data;
      events[i].obj = control;
      events[i].res = static_cast<unsigned long>(ResultOf(*control));
    }
    in_kernel.erase(in_kernel.begin(), in_kernel.begin() + count);
    return static_cast<int>(count);
  }

 private:
  // Slightly more than the depth of the tests' queues, so that the ring wraps.
  static constexpr uint32_t kRingEvents = 20;
  AioRing& ring() { return *reinterpret_cast<AioRing*>(ring_memory_.data()); }

  size_t in_ring_ = 0;
  AlignedBuffer ring_memory_{sizeof(AioRing) + kRingEvents * sizeof(io_event)};

  long ResultOf(const iocb& control) {
    auto it = io_results.find(static_cast<uint64_t>(control.u.c.offset));
    if (it == io_results.end() || it->second.empty()) return static_cast<long>(control.u.c.nbytes);
    const long result = it->second.front();
    it->second.pop_front();
    return result;
  }
};

struct Fixture {
  ManualClock clock;
  IoAccounting accounting{clock};
  std::string path = "data.lk";
  std::atomic<uint64_t> size_bytes{64 * kPage};
  ScriptedKernel kernel;
  AlignedBuffer memory{16 * kPage};
  std::vector<IoRequest> requests;

  std::unique_ptr<AioQueue> Queue(uint32_t depth = 16) {
    auto queue = AioQueue::Create({.fd = 3,
                                   .path = path,
                                   .writable = true,
                                   .logical_block = 512,
                                   .size_bytes = size_bytes,
                                   .runtime = clock,
                                   .accounting = accounting},
                                  depth, kernel);
    REQUIRE(queue.ok());
    return *std::move(queue);
  }

  // Runs `count` page requests to completion; returns them in order of completion.
  std::vector<IoRequest*> Run(AioQueue& queue, size_t count,
                              IoRequest::Op op = IoRequest::Op::kRead) {
    requests.assign(count, {});
    std::vector<IoRequest*> pointers, completed;
    for (size_t i = 0; i < count; ++i) {
      requests[i].op = op;
      requests[i].offset = i * kPage;
      requests[i].length = kPage;
      requests[i].buffer = memory.data() + i * kPage;
      pointers.push_back(&requests[i]);
    }
    queue.Submit(pointers);
    CHECK(queue.in_flight() == count);
    queue.Wait(count, completed);
    CHECK(queue.in_flight() == 0);
    CHECK(completed.size() == count);
    CHECK(accounting.Snapshot().in_flight == 0);
    return completed;
  }
  bool AllOk() const {
    for (const IoRequest& r : requests) {
      if (!r.status.ok()) return false;
    }
    return true;
  }
};

TEST_CASE("A partial submission is continued") {
  Fixture f;
  auto queue = f.Queue();
  f.kernel.submit_results = {3, 1, 100};
  f.Run(*queue, 10);
  CHECK(f.AllOk());
  CHECK(f.kernel.parts.size() == 10);
}

TEST_CASE("A kernel short of resources is helped by collecting completions") {
  Fixture f;
  auto queue = f.Queue();
  f.kernel.submit_results = {4, -EAGAIN, 2, -EAGAIN, -EINTR, 0, 100};
  f.Run(*queue, 10);
  CHECK(f.AllOk());
  CHECK(f.kernel.parts.size() == 10);
}

TEST_CASE("A kernel short of resources with nothing in flight is asked again after a pause") {
  Fixture f;
  auto queue = f.Queue();
  f.kernel.submit_results = {-EAGAIN, -EAGAIN, -EAGAIN, 100};
  const Nanos before = f.clock.Now();
  f.Run(*queue, 2);
  CHECK(f.AllOk());
  CHECK(f.clock.Now() > before);
}

TEST_CASE("A kernel that never takes a request fails it in the end") {
  Fixture f;
  auto queue = f.Queue();
  f.kernel.submit_results.assign(20'000, -EAGAIN);
  f.Run(*queue, 1);
  CHECK(absl::IsUnavailable(f.requests[0].status));
  CHECK(f.accounting.Snapshot().errors == 1);
}

TEST_CASE("A request that cannot be started fails alone") {
  Fixture f;
  auto queue = f.Queue();
  f.kernel.submit_results = {2, -EINVAL, 100};
  f.Run(*queue, 5);
  CHECK(f.requests[0].status.ok());
  CHECK(absl::IsInvalidArgument(f.requests[2].status));
  CHECK(f.requests[4].status.ok());
  CHECK(f.kernel.parts.size() == 4);
}

TEST_CASE("A short transfer is continued from the last whole block") {
  Fixture f;
  auto queue = f.Queue();
  f.kernel.io_results[0] = {1000};    // one block and a bit
  f.kernel.io_results[512] = {3072};  // all but the last block
  f.Run(*queue, 1);
  CHECK(f.AllOk());
  CHECK(f.kernel.parts ==
        std::vector<std::pair<uint64_t, uint64_t>>{{0, 4096}, {512, 3584}, {3584, 512}});
  CHECK(f.accounting.Snapshot().of(IoClass::kPageRead).requests == 1);
  CHECK(f.accounting.Snapshot().of(IoClass::kPageRead).bytes == kPage);
}

TEST_CASE("No progress is an error that names the place, never an endless loop") {
  Fixture f;
  auto queue = f.Queue();
  f.kernel.io_results[kPage] = {0};
  f.Run(*queue, 2);
  CHECK(f.requests[0].status.ok());
  CHECK(absl::IsUnavailable(f.requests[1].status));
  CHECK_THAT(std::string(f.requests[1].status.message()),
             Catch::Contains("\"data.lk\"") && Catch::Contains("offset 4096"));
  f.kernel.io_results[kPage] = {0};
  f.Run(*queue, 2, IoRequest::Op::kWrite);
  CHECK(absl::IsUnavailable(f.requests[1].status));
}

TEST_CASE("A failed transfer names verb, file, offset and errno") {
  Fixture f;
  auto queue = f.Queue();
  f.kernel.io_results[0] = {512, -1};
  f.kernel.io_results[512] = {-EIO};
  f.Run(*queue, 1, IoRequest::Op::kWrite);
  CHECK(absl::IsUnavailable(f.requests[0].status));
  CHECK(std::string(f.requests[0].status.message()) ==
        "cannot write 3584 bytes at offset 512 of \"data.lk\": Input/output error (EIO)");
  CHECK(f.accounting.Snapshot().errors == 1);
  CHECK(f.accounting.Snapshot().of(IoClass::kPageRead).bytes == 512);
}

TEST_CASE("An interrupted transfer is repeated, but not for ever") {
  Fixture f;
  auto queue = f.Queue();
  f.kernel.io_results[0] = {-EINTR, -EAGAIN, -EINTR};
  f.Run(*queue, 1);
  CHECK(f.AllOk());
  f.kernel.io_results[0].assign(1000, -EINTR);
  f.Run(*queue, 1);
  CHECK_FALSE(f.AllOk());
}

TEST_CASE("An interrupted wait goes on, and an interrupted poll returns") {
  Fixture f;
  auto queue = f.Queue();
  f.kernel.get_events_results = {-EINTR, -EINTR};
  f.Run(*queue, 3);
  CHECK(f.AllOk());
  std::vector<IoRequest*> completed;
  f.kernel.get_events_results = {};
  queue->Wait(0, completed);
  CHECK(completed.empty());
}

TEST_CASE("A request is charged until it completes, however late its owner collects it") {
  Fixture f;
  f.kernel.shows_ring = true;
  auto queue = f.Queue();
  f.requests.assign(2, {});
  std::vector<IoRequest*> pointers, completed;
  for (IoRequest& r : f.requests) {
    r.length = kPage;
    r.buffer = f.memory.data();
    pointers.push_back(&r);
  }
  f.requests[0].io_class = IoClass::kSegmentWrite;
  queue->Submit(pointers);
  f.clock.Advance(100);
  f.kernel.Complete(0);
  CHECK(f.accounting.Snapshot().in_flight == 1);  // Snapshot sees the completion
  f.clock.Advance(100);
  f.kernel.Complete(1);
  CHECK(f.accounting.Snapshot().in_flight == 0);
  f.clock.Advance(100);
  CHECK(f.accounting.Snapshot().of(IoClass::kPageRead).requests == 0);
  queue->Wait(2, completed);
  const DeviceStats stats = f.accounting.Snapshot();
  CHECK(stats.in_flight == 0);
  CHECK(stats.busy == 200);
  CHECK(stats.of(IoClass::kSegmentWrite).busy == 50);
  CHECK(stats.of(IoClass::kPageRead).busy == 150);
  CHECK(stats.of(IoClass::kPageRead).requests == 1);
}

TEST_CASE("Continued and failed requests leave nothing in flight when the ring is watched") {
  Fixture f;
  f.kernel.shows_ring = true;
  auto queue = f.Queue();
  for (int round = 0; round < 50; ++round) {  // the ring wraps
    f.kernel.io_results[0] = {1024};
    f.kernel.io_results[kPage] = {-EINTR, -EIO};
    f.kernel.io_results[2 * kPage] = {0};
    f.kernel.submit_results = {2, -EAGAIN, 3, -EINVAL, 100};
    f.Run(*queue, 10);
    CHECK(f.requests[0].status.ok());
    CHECK(absl::IsUnavailable(f.requests[1].status));
    CHECK(absl::IsUnavailable(f.requests[2].status));
  }
  CHECK(f.accounting.Snapshot().of(IoClass::kPageRead).requests == 500);
}

TEST_CASE("A system without room for another queue says which limit to raise") {
  Fixture f;
  f.kernel.setup_result = -EAGAIN;
  const auto queue = AioQueue::Create({.fd = 3,
                                       .path = f.path,
                                       .size_bytes = f.size_bytes,
                                       .runtime = f.clock,
                                       .accounting = f.accounting},
                                      8, f.kernel);
  CHECK(absl::IsResourceExhausted(queue.status()));
  CHECK_THAT(std::string(queue.status().message()), Catch::Contains("fs.aio-max-nr"));
}

TEST_CASE("Waiting for more than is in flight waits for all of it") {
  Fixture f;
  auto queue = f.Queue();
  std::vector<IoRequest*> completed;
  queue->Wait(5, completed);
  CHECK(completed.empty());
}

}  // namespace
}  // namespace latchkey::aio_queue_test
