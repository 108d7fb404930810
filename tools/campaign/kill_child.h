// One life of a store in the kill campaign: a process that opens it, compares what it finds with
// what was promised, and then works until it is killed.
#pragma once

#include <absl/status/status.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/latchkey.h"
#include "tools/campaign/kill_points.h"
#include "tools/campaign/kill_workload.h"

namespace latchkey {

enum class KillStage : uint32_t {
  kOpening,   ///< and recovering, and comparing
  kVerified,  ///< KillNotes::Thread::found is what the store holds
  kFinished,  ///< the work is done, and the store is still open
  kFailed,    ///< KillNotes::message says why
};

/// What the children write down outside of the store, in memory that they share with the parent.
struct KillNotes {
  static constexpr uint32_t kMostThreads = 16;
  static constexpr size_t kMessageBytes = 2000;

  struct alignas(64) Thread {
    /// Stored before the commit is asked for.
    std::atomic<uint64_t> submitted{0};
    /// Stored after it has returned OK.
    std::atomic<uint64_t> acknowledged{0};
    /// Acknowledged, and durable by what the store promises: at once with Durability::kCommit, with
    /// kGroup when a checkpoint that began later has returned.
    std::atomic<uint64_t> promised{0};
    /// The newest transaction that the child has found. Set before kVerified.
    std::atomic<uint64_t> found{0};
  };
  std::atomic<KillStage> stage{KillStage::kOpening};
  Thread threads[kMostThreads];
  std::atomic<bool> has_message{false};
  char message[kMessageBytes] = {};

  /// At once, before anything is closed: the parent may kill at any moment. The first one counts.
  void Fail(const absl::Status& status);
};

struct KillLife {
  std::string path;
  Options options;
  uint64_t seed = 1;        ///< of the store's transactions
  uint64_t life_seed = 1;   ///< of what else happens in this life
  bool must_exist = false;  ///< an earlier life has opened it
  /// Where the process kills itself: from the first moment on, or when the work begins.
  std::optional<KillPoint> kill_in_open{}, kill_in_work{};
  uint64_t transactions_per_thread = UINT64_MAX;
  bool closes = false;  ///< does not work: closes the store, opens and compares it once more
};

/// The body of the child. `models`: what the store held when it was last compared, one for each
/// thread. Returns the exit code: 0, or 1 after kFailed.
int RunKillLife(const KillLife& life, KillNotes& notes, std::vector<KillThreadModel> models);

}  // namespace latchkey
