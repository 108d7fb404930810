// A Log for tests: keeps its records in memory, at LSNs as far apart as the records are long. It
// counts reservations, and a test can make it full or failing.
#pragma once

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "storage/base/check.h"
#include "storage/runtime/mutex.h"
#include "storage/wal/log.h"

namespace latchkey {

/// Thread-safe. A flush makes everything durable at once.
class MemoryLog final : public Log {
 public:
  explicit MemoryLog(Runtime& runtime) : runtime_(runtime) {}

  /// Reservations beyond this many bytes are refused.
  std::atomic<uint64_t> limit{UINT64_MAX};
  /// Urgent reservations beyond this number are refused if they exceed `limit`.
  std::atomic<uint64_t> urgent{UINT64_MAX};
  /// While set, the next flush poisons the log.
  std::atomic<bool> fail_flushes{false};
  /// Number of commits that find its buffer full.
  std::atomic<int> refused_commits{0};

  /// Called once, by the next AppendBehind, before it takes the latch.
  std::function<void()> before_append;

  struct Record {
    Lsn lsn{0};
    std::vector<std::byte> bytes;
  };
  std::vector<Record> Records() const {
    SpinLatchGuard guard(latch_, runtime_);
    return records_;
  }
  /// Begins with the records that a crash left of another log. REQUIRES: new.
  void Restore(std::span<const Record> records) {
    SpinLatchGuard guard(latch_, runtime_);
    LATCHKEY_CHECK(records_.empty());
    records_.assign(records.begin(), records.end());
    if (records.empty()) return;
    next_ = durable_ = Raw(records.back().lsn) + records.back().bytes.size();
  }
  /// Bytes reserved and not used.
  uint64_t reserved() const { return reserved_; }
  uint64_t flushes() const { return flushes_; }

  absl::Status FindEnd(Lsn, Lsn) override { return absl::OkStatus(); }
  Lsn end() const override { return next(); }
  absl::Status ForEach(Lsn from,
                       absl::FunctionRef<absl::Status(const LogRecordView&)> visit) override {
    for (const Record& record : Records()) {
      if (Raw(record.lsn) < Raw(from)) continue;
      if (absl::Status status = visit({record.lsn, record.bytes}); !status.ok()) return status;
    }
    return absl::OkStatus();
  }
  absl::Status Read(Lsn lsn, std::vector<std::byte>* bytes) override {
    for (Record& record : Records()) {
      if (record.lsn != lsn) continue;
      *bytes = std::move(record.bytes);
      return absl::OkStatus();
    }
    return absl::DataLossError("no record there");
  }
  absl::Status ReadStream(Lsn, std::span<std::byte>) override {
    return absl::UnavailableError("the test's log has no groups");
  }
  LogShape shape() const override { return {}; }
  absl::Status StartWriting() override { return absl::OkStatus(); }

  absl::Status Reserve(uint64_t bytes) override {
    SpinLatchGuard guard(latch_, runtime_);
    if (bytes > limit || reserved_ > limit - bytes) {
      return absl::ResourceExhaustedError("the test's log is full");
    }
    reserved_ += bytes;
    return absl::OkStatus();
  }
  bool TryReserve(uint64_t bytes) override { return Reserve(bytes).ok(); }
  absl::Status ReserveUrgent(uint64_t bytes) override {
    if (TryReserve(bytes)) return absl::OkStatus();
    SpinLatchGuard guard(latch_, runtime_);
    if (urgent == 0) return absl::ResourceExhaustedError("the test's log is quite full");
    --urgent;
    reserved_ += bytes;
    return absl::OkStatus();
  }
  void Release(uint64_t bytes) override {
    SpinLatchGuard guard(latch_, runtime_);
    LATCHKEY_CHECK(reserved_ >= bytes);
    reserved_ -= bytes;
  }
  uint64_t RecordSpace(size_t size) const override { return size + 64; }
  uint64_t PaidGroupSpace() const override { return 1000; }
  bool scarce() const override { return false; }
  void StartGrowingAhead() override {}
  absl::Status ShrinkToUse() override { return absl::OkStatus(); }
  absl::Status MoveToFront() override { return absl::OkStatus(); }
  absl::Status PassSlots() override { return absl::OkStatus(); }
  absl::Status Shrink() override { return absl::OkStatus(); }
  void StopGrowingAhead() override {}
  SpaceWatch& space_watch() override { return watch_; }
  size_t max_record_bytes() const override { return 4u << 20; }

  Lsn Append(size_t size, absl::FunctionRef<void(Lsn, std::byte*)> fill) override {
    SpinLatchGuard guard(latch_, runtime_);
    return AppendHere(size, RecordSpace(size), fill);
  }
  Lsn AppendBehind(absl::FunctionRef<bool()> wants_prelude, const NewRecord& prelude,
                   const NewRecord& record) override {
    if (before_append) std::exchange(before_append, nullptr)();
    SpinLatchGuard guard(latch_, runtime_);
    if (wants_prelude()) AppendHere(prelude.size, RecordSpace(prelude.size), prelude.fill);
    return AppendHere(record.size, RecordSpace(record.size), record.fill);
  }
  std::optional<Lsn> TryAppendPaid(size_t size,
                                   absl::FunctionRef<void(Lsn, std::byte*)> fill) override {
    SpinLatchGuard guard(latch_, runtime_);
    if (refused_commits > 0) return std::nullopt;
    return AppendHere(size, RecordSpace(size) + PaidGroupSpace(), fill);
  }
  void AwaitBuffer(size_t) override { --refused_commits; }

  void Frozen(absl::FunctionRef<void(Lsn)> body) override {
    SpinLatchGuard guard(latch_, runtime_);
    body(Lsn{next_.load()});
  }

  absl::Status Flush(Lsn upto) override {
    SpinLatchGuard guard(latch_, runtime_);
    if (fail_flushes) poisoned_ = true;
    if (poisoned_) return absl::UnavailableError("the test's log cannot be written");
    if (durable_ < Raw(upto)) {
      durable_ = next_.load();
      ++flushes_;
    }
    return absl::OkStatus();
  }
  Lsn durable() const override { return Lsn{durable_.load()}; }
  Lsn next() const override { return Lsn{next_.load()}; }
  Lsn group_start(Lsn lsn) const override { return lsn; }
  bool poisoned() const override { return poisoned_; }
  void Fail(const absl::Status&) override { poisoned_ = true; }
  void Truncate(Lsn) override {}
  LogStats stats() const override { return {}; }
  BlockDevice& device() override { std::abort(); }

 private:
  Lsn AppendHere(size_t size, uint64_t space, absl::FunctionRef<void(Lsn, std::byte*)> fill) {
    const Lsn lsn{next_.load()};
    LATCHKEY_CHECK(reserved_ >= space);
    reserved_ -= space;
    next_ += size;
    records_.push_back({lsn, std::vector<std::byte>(size)});
    fill(lsn, records_.back().bytes.data());
    if (poisoned_) records_.pop_back();
    return lsn;
  }

  Runtime& runtime_;
  SpaceWatch watch_{runtime_};
  mutable SpinLatch latch_;
  std::vector<Record> records_;
  std::atomic<uint64_t> next_{64};
  std::atomic<uint64_t> durable_{64};
  std::atomic<uint64_t> reserved_{0}, flushes_{0};
  std::atomic<bool> poisoned_{false};
};

}  // namespace latchkey
