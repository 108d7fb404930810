// SpaceWatch: how a log and its keeper, who truncates it now and then, learn of each other's needs
// without polling.
//
// The keeper sleeps until the log has grown to a position or somebody asks for room. Who asks gets
// a ticket, and may wait until a round of the keeper that began afterwards is over.
//
// Lock order: none of its own; nothing here is called with a latch held but OnGrowth's loads.
// Thread-safety: every member from every actor at once; the keeper is one actor.
#pragma once

#include <atomic>
#include <cstdint>

#include "storage/base/ids.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

class SpaceWatch {
 public:
  explicit SpaceWatch(Runtime& runtime) : runtime_(runtime) {}

  // ---- The keeper's.

  /// From now on somebody keeps the log. `usual_bytes`: up to this size of its device it grows
  /// without asking.
  void Begin(uint64_t usual_bytes);
  /// Nobody does any more: those who wait go on.
  void End();
  /// Waits until the log has reached `upto`, room is asked for, or Interrupt was called.
  void Await(Lsn upto);
  /// Whether somebody waits for a round.
  bool asked() const {
    return wanted_.load(std::memory_order_seq_cst) > finished_.load(std::memory_order_relaxed);
  }
  /// Ends the current Await and every later one.
  void Interrupt();
  /// A round of the keeper: whatever was asked for before StartRound is answered by EndRound.
  void StartRound() { started_.fetch_add(1, std::memory_order_seq_cst); }
  void EndRound();

  // ---- The log's.

  /// The log reaches to `end`. A few loads unless the keeper waits for it.
  void OnGrowth(Lsn end) {
    position_.store(Raw(end), std::memory_order_seq_cst);
    if (Raw(end) >= wake_at_.load(std::memory_order_seq_cst)) WakeKeeper();
  }
  bool kept() const { return kept_.load(std::memory_order_acquire); }
  uint64_t usual_bytes() const { return usual_bytes_.load(std::memory_order_relaxed); }
  /// Asks for room.
  uint64_t Ask();
  /// Whether the round that `ticket` asked for is over, or there is no keeper.
  bool IsAnswered(uint64_t ticket) const {
    return finished_.load(std::memory_order_seq_cst) >= ticket || !kept();
  }
  /// Room was made: those who wait look again.
  void NoteRoom();
  /// A value for AwaitNews: what happens after the call changes it.
  uint32_t news() const { return news_.load(std::memory_order_seq_cst); }
  /// Waits until NoteRoom, EndRound or End was called since `seen` was news(), at most `timeout`.
  /// False when that passed.
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
  std::atomic<uint64_t> wanted_{0};  // the round that somebody has asked for
  std::atomic<uint64_t> started_{0}, finished_{0};
  std::atomic<uint32_t> keeper_word_{0};
  std::atomic<uint32_t> news_{0};
};

}  // namespace latchkey
