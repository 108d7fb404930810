// SpaceWatch: signals between a log and its keeper, the actor that truncates the log (the
// checkpointer), without polling.
//
// The keeper sleeps until the log has grown to a position, or until a writer asks for room. A
// *round* is one attempt of the keeper to make room. The writer gets a ticket, with which it may
// wait for the end of a round that began after it asked.
//
// Lock order: no locks of its own. OnGrowth may be called with a latch held; the other functions
// may not.
// Thread-safety: all actors may call every member at once; the keeper is one actor.
#pragma once

#include <atomic>
#include <cstdint>

#include "storage/base/ids.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

class SpaceWatch {
 public:
  explicit SpaceWatch(Runtime& runtime) : runtime_(runtime) {}

  // ---- Called by the keeper.

  /// From now on the log has a keeper. `usual_bytes`: the log grows to this size of its device
  /// without asking the keeper.
  void Begin(uint64_t usual_bytes);
  /// From now on the log has no keeper: waiting writers stop waiting.
  void End();
  /// Waits until the log has reached `upto`, room is asked for, or Interrupt was called.
  void Await(Lsn upto);
  /// Whether a writer has asked for a round that is not over.
  bool asked() const {
    return wanted_.load(std::memory_order_seq_cst) > finished_.load(std::memory_order_relaxed);
  }
  /// Ends the current Await and every later one.
  void Interrupt();
  /// Begin and end of a round of the keeper. EndRound answers all tickets taken before StartRound.
  void StartRound() { started_.fetch_add(1, std::memory_order_seq_cst); }
  void EndRound();

  // ---- Called by the log.

  /// Reports that the log has grown to `end`. A few atomic operations, unless the keeper waits for this.
  void OnGrowth(Lsn end) {
    // Threads report without a latch, so an older report may come behind a newer one.
    uint64_t known = position_.load(std::memory_order_relaxed);
    while (known < Raw(end) &&
           !position_.compare_exchange_weak(known, Raw(end), std::memory_order_seq_cst)) {
    }
    if (Raw(end) >= wake_at_.load(std::memory_order_seq_cst)) WakeKeeper();
  }
  bool kept() const { return kept_.load(std::memory_order_acquire); }
  uint64_t usual_bytes() const { return usual_bytes_.load(std::memory_order_relaxed); }
  /// Asks the keeper for a round; returns the ticket.
  uint64_t Ask();
  /// Whether the round that `ticket` asked for is over, or there is no keeper.
  bool IsAnswered(uint64_t ticket) const {
    return finished_.load(std::memory_order_seq_cst) >= ticket || !kept();
  }
  /// Reports that room was made: waiting writers try again.
  void NoteRoom();
  /// A sequence number for AwaitNews. NoteRoom, EndRound and End change it.
  uint32_t news() const { return news_.load(std::memory_order_seq_cst); }
  /// Waits until NoteRoom, EndRound or End is called after news() was `seen`. False when `timeout`
  /// passed.
  bool AwaitNews(uint32_t seen, Nanos timeout) { return runtime_.WaitOnWord(news_, seen, timeout); }

 private:
  static constexpr uint64_t kNever = UINT64_MAX;

  void WakeKeeper();

  Runtime& runtime_;
  std::atomic<bool> kept_{false};
  std::atomic<bool> interrupted_{false};
  std::atomic<uint64_t> usual_bytes_{0};
  std::atomic<uint64_t> position_{0};
  std::atomic<uint64_t> wake_at_{kNever};
  std::atomic<uint64_t> wanted_{0};  // the highest ticket
  std::atomic<uint64_t> started_{0}, finished_{0};
  std::atomic<uint32_t> keeper_word_{0};
  std::atomic<uint32_t> news_{0};
};

}  // namespace latchkey
