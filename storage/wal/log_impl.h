// LogImpl: the Log on a BlockDevice.
//
// The buffer has two halves. Records go into the open half. A sealed half is being written, or
// waits to be written. A thread that needs a flush becomes the leader if there is none: it seals
// the open half, writes it, syncs, and wakes the threads whose records are now durable. It also
// wakes one of the threads that came meanwhile, which leads next.
//
// Space is counted in stream bytes. `available_` = bytes in all slots, less the stream from its
// oldest needed segment on, less the reserved and the kept-back bytes. Segments follow each other
// without gaps, so a thread that has reserved bytes has slots for them.
//
// With GroupSpace::kShared the kept-back bytes pay for groups that are not paid for. When a quarter
// of them is used, the device grows. If it cannot grow, scarce() asks callers to flush less, and
// Reserve refuses. Urgent reservations may use half of the kept-back bytes, unpaid groups all but
// the last quarter. That quarter is for marks of later openings.
//
// Lock order: grow_mutex_ or read_mutex_, then medium_.latch. Only the leader (leading_) writes to
// the device, and it holds no latch while it waits for the device. Append may wait for the leader,
// or lead, while its caller holds latches. So a leader takes no locks but the ones named here.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "storage/device/aligned_buffer.h"
#include "storage/wal/log.h"
#include "storage/wal/log_medium.h"
#include "storage/wal/log_reader.h"

namespace latchkey {

class LogImpl final : public Log {
 public:
  /// REQUIRES: the geometry and slots of `medium` are set. `is_new`: the log was never written.
  LogImpl(std::unique_ptr<LogMedium> medium, const LogOptions& options, bool is_new);

  ~LogImpl() override { StopGrowingAhead(); }

  absl::Status FindEnd(Lsn from, Lsn end_at_least) override;
  Lsn end() const override;
  absl::Status ForEach(Lsn from,
                       absl::FunctionRef<absl::Status(const LogRecordView&)> visit) override;
  absl::Status Read(Lsn lsn, std::vector<std::byte>* bytes) override;

  absl::Status StartWriting() override;
  bool TryReserve(uint64_t bytes) override;
  absl::Status Reserve(uint64_t bytes) override;
  absl::Status ReserveUrgent(uint64_t bytes) override;
  void Release(uint64_t bytes) override;
  uint64_t RecordSpace(size_t size) const override;
  uint64_t PaidGroupSpace() const override { return is_shared() ? GroupOverhead() : 0; }
  bool scarce() const override;
  SpaceWatch& space_watch() override { return watch_; }
  void StartGrowingAhead() override;
  void StopGrowingAhead() override;
  size_t max_record_bytes() const override;
  Lsn Append(size_t size, absl::FunctionRef<void(Lsn, std::byte*)> fill) override;
  Lsn AppendBehind(absl::FunctionRef<bool()> wants_prelude, const NewRecord& prelude,
                   const NewRecord& record) override;
  std::optional<Lsn> TryAppendPaid(size_t size,
                                   absl::FunctionRef<void(Lsn, std::byte*)> fill) override;
  void AwaitBuffer(size_t size) override;
  void Frozen(absl::FunctionRef<void(Lsn)> body) override;
  absl::Status Flush(Lsn upto) override;
  Lsn durable() const override { return Lsn{durable_.load(std::memory_order_acquire)}; }
  Lsn next() const override { return Lsn{next_.load(std::memory_order_acquire)}; }
  Lsn group_start(Lsn lsn) const override;
  bool poisoned() const override { return is_poisoned_.load(std::memory_order_acquire); }
  void Fail(const absl::Status& cause) override;
  void Truncate(Lsn oldest_needed) override;
  LogStats stats() const override;
  BlockDevice& device() override { return *medium_->device; }

 private:
  // How much of the kept-back bytes a reservation may use: none; a part; all of them, for the mark
  // of an opening, without which a full log could not be recovered.
  enum class Claim : uint8_t { kNormal, kUrgent, kMark };
  enum class Phase : uint8_t { kOpened, kEndKnown, kWriting };

  static constexpr size_t kCacheLine = 64;

  // One cache line, because every append moves it to another processor.
  struct alignas(kCacheLine) Half {
    AlignedBuffer memory;
    uint64_t start = 0;  // of its group
    uint32_t used = kGroupHeaderBytes;
    uint32_t bytes = 0;     // with padding, once sealed
    uint64_t taken = 0;     // bytes that its records took from reservations, not accounted for yet
    uint64_t charge = 0;    // of `taken`, the part that pays for the group: at most one group
    uint64_t sequence = 0;  // of its group since open
    uint32_t records = 0;
    bool is_paid = false;  // one record has paid for a whole group
    bool begins_epoch = false;
  };
  static_assert(sizeof(Half) == kCacheLine);
  struct NewHeader {
    uint64_t index;
    uint32_t slot;
  };

  // ---- Before writing (log_impl.cc).
  absl::Status CheckEnd(const GroupScanner& scanner, GroupScanner::Found why, Lsn from,
                        Lsn end_at_least);
  absl::StatusOr<uint64_t> EpochBefore(uint64_t from);
  absl::Status AllocateBuffer();
  absl::Status WriteMark();

  // ---- Space (log_space.cc).
  uint64_t GroupOverhead() const { return kGroupHeaderBytes + medium_->geometry.block_bytes - 1; }
  bool is_shared() const { return options_.group_space == GroupSpace::kShared; }
  uint64_t ShareOfGroup() const;
  int64_t KeptBack(uint64_t slots) const;
  int64_t KeptBack() const { return KeptBack(slots_.load(std::memory_order_relaxed)); }
  bool AwaitRoom(uint64_t bytes, uint64_t ticket, Nanos patience);
  absl::Status GrowAndTake(uint64_t bytes, Claim claim);
  bool TryTake(uint64_t bytes, Claim claim);
  int64_t LowestAvailable(Claim claim) const;
  absl::Status GrowFor(uint64_t bytes, Claim claim);  // REQUIRES: grow_mutex_
  absl::Status AddSlots(uint64_t count);              // REQUIRES: grow_mutex_
  absl::Status FailGrowth(const absl::Status& cause);
  bool IsShort() const;
  void NoteShortage();
  void GrowAhead();
  absl::Status GrowAheadOnce();
  void GiveUpBelow(Lsn oldest_needed);
  absl::Status NoSpace(uint64_t bytes, const absl::Status& cause) const;

  // ---- Writing (log_writer.cc). All but WriteGroup: REQUIRES medium_->latch. Functions that wait
  // release it meanwhile.
  Half& open_half() { return halves_[open_]; }
  Half& sealed_half() { return halves_[open_ ^ 1]; }
  const Half& open_half() const { return halves_[open_]; }
  const Half& sealed_half() const { return halves_[open_ ^ 1]; }
  bool IsOpenGroupEmpty() const { return open_half().used == kGroupHeaderBytes; }
  static uint64_t RecordBytes(const Half& half);
  void CountRecords(const Half& half);
  void BeginGroup(Half& half, uint64_t start, uint64_t sequence);
  bool HasRoom(size_t size) const {
    return open_half().used + kRecordHeaderBytes + size <= half_bytes_;
  }
  bool MakeRoomAtOnce() LATCHKEY_REQUIRES(medium_->latch);
  void MakeRoom() LATCHKEY_REQUIRES(medium_->latch);
  inline Lsn AppendHere(size_t size, uint64_t paid, absl::FunctionRef<void(Lsn, std::byte*)> fill);
  void PayGroup(Half& half, uint64_t whole_group);
  void Seal() LATCHKEY_REQUIRES(medium_->latch);
  bool CanPaySeal(int64_t lowest) const;
  absl::Status PrepareSeal() LATCHKEY_REQUIRES(medium_->latch);
  absl::Status Lead(uint64_t target) LATCHKEY_REQUIRES(medium_->latch);
  uint32_t BeginWait(uint64_t sequence) LATCHKEY_REQUIRES(medium_->latch);
  void PlanGroup(const Half& half);
  absl::Status WriteGroup(Half& half);
  absl::Status WriteHeader(const NewHeader& header);
  absl::Status WriteTailAgain(uint64_t end);
  bool Finish(Half& half, uint64_t target) LATCHKEY_REQUIRES(medium_->latch);
  void StopLeading() LATCHKEY_REQUIRES(medium_->latch);
  void Poison(const absl::Status& cause) LATCHKEY_REQUIRES(medium_->latch);
  std::atomic<uint32_t>& WakeWord(uint64_t sequence) { return wake_words_[sequence & 1]; }

  const std::unique_ptr<LogMedium> medium_;
  Runtime& runtime_;
  const LogOptions options_;
  const uint32_t half_bytes_;
  const uint64_t share_of_group_;  // part of RecordSpace: bytes that a record pays for its group

  std::atomic<Phase> phase_;
  std::atomic<uint64_t> durable_{0};
  std::atomic<bool> is_poisoned_{false};
  // Stream bytes that may still be reserved; negative: some of the kept-back bytes are used.
  std::atomic<int64_t> available_{0};
  std::atomic<int64_t> reserved_{0};
  std::atomic<uint64_t> slots_{0};

  // Guarded by medium_->latch from StartWriting on, all but next_.
  std::array<Half, 2> halves_;
  alignas(kCacheLine) std::atomic<uint64_t> next_{0};
  uint32_t open_ = 0;
  bool is_sealed_ = false;  // the other half waits to be written or is being written
  bool leading_ = false;
  std::array<uint32_t, 2> waiting_{};
  uint64_t epoch_ = 0;
  uint64_t floor_ = 0;             // index of the oldest segment that is needed
  uint64_t oldest_ = 0;            // the argument of the last Truncate
  uint64_t last_group_start_ = 0;  // of the last durable group
  GroupStarts starts_;
  LogStats stats_;
  absl::Status failure_;
  const absl::Status failed_without_memory_;  // made in advance, for when memory runs out

  std::array<std::atomic<uint32_t>, 2> wake_words_{};
  SpaceWatch watch_;

  std::unique_ptr<Actor> grower_;
  std::atomic<bool> grows_ahead_{false};
  std::atomic<uint32_t> grower_word_{0};  // changes whenever the grower should look for work

  // Used by the leader only.
  AlignedBuffer header_block_;
  std::vector<NewHeader> needed_headers_, early_headers_;

  Mutex grow_mutex_;
  Mutex read_mutex_;
  LoadedGroup loaded_ LATCHKEY_GUARDED_BY(read_mutex_);
};

}  // namespace latchkey
