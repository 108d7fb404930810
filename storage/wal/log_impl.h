// LogImpl: the Log on a BlockDevice. It puts the parts together and checks the order of calls; each
// part has one task and its own header:
//
//   log_buffer         records that are not written yet, in two halves
//   log_appender       puts records into the buffer
//   group_commit       makes them durable: leader, waiting threads
//   group_writer       one group and its segment headers on the device
//   space_account      bytes that may be, and are, reserved; group_price: what a record pays
//   log_reservations   makes room for callers: takes free bytes, asks the keeper, grows the device
//   log_grower         adds slots to the device; growth_ahead: an actor that does so in time
//   needed_stream      the part of the stream that is kept; truncation
//   log_end            finds the end of the log
//   record_reader      reads records
//   log_failure        the first failure, which is final
//
// Lock order: the grower's or the reader's mutex, then medium_.latch.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "storage/base/thread_annotations.h"
#include "storage/wal/group_commit.h"
#include "storage/wal/growth_ahead.h"
#include "storage/wal/log.h"
#include "storage/wal/log_appender.h"
#include "storage/wal/log_buffer.h"
#include "storage/wal/log_failure.h"
#include "storage/wal/log_grower.h"
#include "storage/wal/log_medium.h"
#include "storage/wal/log_reservations.h"
#include "storage/wal/needed_stream.h"
#include "storage/wal/record_reader.h"
#include "storage/wal/space_account.h"

namespace latchkey {

class LogImpl final : public Log {
 public:
  /// REQUIRES: the geometry and slots of `medium` are set. `is_new`: the log was never written.
  LogImpl(std::unique_ptr<LogMedium> medium, const LogOptions& options, bool is_new);
  ~LogImpl() override { growth_ahead_.Stop(); }  // its actor uses the other parts

  absl::Status FindEnd(Lsn from, Lsn end_at_least) override;
  Lsn end() const override;
  absl::Status ForEach(Lsn from,
                       absl::FunctionRef<absl::Status(const LogRecordView&)> visit) override;
  absl::Status Read(Lsn lsn, std::vector<std::byte>* bytes) override;
  absl::Status ReadStream(Lsn from, std::span<std::byte> out) override {
    return latchkey::ReadStream(medium_, Raw(from), out);
  }
  LogShape shape() const override {
    return {medium_.geometry.segment_bytes, medium_.geometry.block_bytes};
  }
  absl::Status StartWriting() override;

  bool TryReserve(uint64_t bytes) override { return reservations_.TryReserve(bytes); }
  absl::Status Reserve(uint64_t bytes) override { return reservations_.Reserve(bytes); }
  absl::Status ReserveUrgent(uint64_t bytes) override { return reservations_.ReserveUrgent(bytes); }
  void Release(uint64_t bytes) override { space_.Release(bytes); }
  uint64_t RecordSpace(size_t size) const override { return space_.price().RecordSpace(size); }
  uint64_t PaidGroupSpace() const override { return space_.price().PaidGroupSpace(); }
  bool scarce() const override { return space_.scarce(); }
  SpaceWatch& space_watch() override { return watch_; }
  void StartGrowingAhead() override { growth_ahead_.Start(); }
  void StopGrowingAhead() override { growth_ahead_.Stop(); }

  size_t max_record_bytes() const override { return LogBuffer::MaxRecordBytes(half_bytes_); }
  Lsn Append(size_t size, absl::FunctionRef<void(Lsn, std::byte*)> fill) override {
    return appender_.Append(size, fill);
  }
  Lsn AppendBehind(absl::FunctionRef<bool()> wants_prelude, const NewRecord& prelude,
                   const NewRecord& record) override {
    return appender_.AppendBehind(wants_prelude, prelude, record);
  }
  std::optional<Lsn> TryAppendPaid(size_t size,
                                   absl::FunctionRef<void(Lsn, std::byte*)> fill) override {
    return appender_.TryAppendPaid(size, fill);
  }
  void AwaitBuffer(size_t size) override { appender_.AwaitBuffer(size); }
  void Frozen(absl::FunctionRef<void(Lsn)> body) override { appender_.Frozen(body); }

  absl::Status Flush(Lsn upto) override { return groups_.Flush(upto); }
  Lsn durable() const override { return groups_.durable(); }
  // The buffer's next() needs no latch.
  Lsn next() const override LATCHKEY_NO_THREAD_SAFETY_ANALYSIS { return Lsn{buffer_.next()}; }
  Lsn group_start(Lsn lsn) const override;
  bool poisoned() const override { return failure_.poisoned(); }
  void Fail(const absl::Status& cause) override { failure_.Fail(cause); }
  void Truncate(Lsn oldest_needed) override;
  absl::Status ShrinkToUse() override;
  absl::Status MoveToFront() override;
  absl::Status PassSlots() override;
  absl::Status Shrink() override;
  LogStats stats() const override { return groups_.stats(); }
  BlockDevice& device() override { return *medium_.device; }

 private:
  enum class Phase : uint8_t { kOpened, kEndKnown, kWriting };

  void GiveUpBelow(Lsn oldest_needed);
  absl::Status FreeAhead();
  void NoteUse() LATCHKEY_REQUIRES(medium_.latch);
  void OpenAccount();

  const std::unique_ptr<LogMedium> owned_medium_;
  LogMedium& medium_;
  const uint32_t half_bytes_;  // of the buffer
  std::atomic<Phase> phase_;
  SpaceWatch watch_;
  SpaceAccount space_;
  LogBuffer buffer_ LATCHKEY_GUARDED_BY(medium_.latch);
  NeededStream needed_ LATCHKEY_GUARDED_BY(medium_.latch);
  // The most bytes in use or reserved, as seen at truncations: since the last ShrinkToUse, and between
  // that one and the one before.
  uint64_t most_used_ LATCHKEY_GUARDED_BY(medium_.latch) = 0;
  uint64_t most_used_before_ LATCHKEY_GUARDED_BY(medium_.latch) = UINT64_MAX;
  LogFailure failure_;
  LogGrower grower_;
  LogReservations reservations_;
  RecordReader reader_;
  GrowthAhead growth_ahead_;
  GroupCommit groups_;
  LogAppender appender_;
};

}  // namespace latchkey
