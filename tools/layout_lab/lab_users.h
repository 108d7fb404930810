// The users of a laboratory run: each draws a request from the common stream, waits until it is done
// and draws the next one.
#pragma once

#include <absl/status/statusor.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "layout/segment_store.h"
#include "storage/runtime/mutex.h"
#include "tools/layout_lab/lab_workload.h"
#include "tpcc-lite/workload/latency_histogram.h"

namespace latchkey {

/// Fills a page. The share `compressible` of its bytes, 0 to 1, compresses to nothing, the rest
/// not.
void FillLabPage(std::span<std::byte> page, uint64_t seed, double compressible);

/// One actor starts them, waits and stops them. Destroyed before the store.
class LabUsers {
 public:
  /// `page_ids`: of the stream's pages, whose content is as of FillLabPage. The users end early
  /// once `*stop` (if any) is true.
  LabUsers(Runtime& runtime, SegmentStore& store, std::vector<PageId> page_ids,
           std::unique_ptr<LabStream> stream, double compressible, const std::atomic<bool>* stop);
  ~LabUsers();

  void Start(uint32_t users);
  /// Waits until the users have written `writes` pages in all. Returns early if a user has ended, by
  /// an error or because it was stopped.
  void AwaitWrites(uint64_t writes);
  /// Requests are timed from now on.
  void Measure() { measuring_.store(true, std::memory_order_relaxed); }
  /// Ends the users. Returns the first error.
  absl::Status Stop();

  uint64_t reads() const { return reads_.load(std::memory_order_relaxed); }
  uint64_t writes() const { return writes_.load(std::memory_order_relaxed); }
  bool ended() const { return ended_.load(std::memory_order_relaxed) > 0; }
  /// After Stop.
  const LatencyHistogram& read_latency() const { return read_latency_; }
  const LatencyHistogram& write_latency() const { return write_latency_; }

 private:
  class User;
  LabOperation Next() LATCHKEY_EXCLUDES(mutex_);
  void NoteDone(bool write) LATCHKEY_EXCLUDES(mutex_);
  // The pool above a store never writes one page twice at a time; this stands in for its latches.
  Mutex& LatchOf(uint32_t page) { return latches_[page % latches_.size()]; }
  bool Over() const;

  Runtime& runtime_;
  SegmentStore& store_;
  const std::vector<PageId> page_ids_;
  const double compressible_;
  const std::atomic<bool>* const stop_;
  std::deque<Mutex> latches_;
  Mutex mutex_;
  CondVar progress_;
  const std::unique_ptr<LabStream> stream_ LATCHKEY_PT_GUARDED_BY(mutex_);
  uint64_t awaited_ LATCHKEY_GUARDED_BY(mutex_) = UINT64_MAX;  // writes
  absl::Status error_ LATCHKEY_GUARDED_BY(mutex_);
  std::atomic<uint64_t> reads_{0}, writes_{0};
  std::atomic<uint32_t> ended_{0};
  std::atomic<bool> over_{false}, measuring_{false};
  std::vector<std::unique_ptr<User>> users_;
  LatencyHistogram read_latency_, write_latency_;
};

}  // namespace latchkey
