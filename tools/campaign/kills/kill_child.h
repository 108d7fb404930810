// One life of a store in the kill campaign: a child process opens the store, compares its contents
// with the promises, and works until it is killed.
#pragma once

#include <absl/status/status.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/latchkey.h"
#include "engine/open_store.h"
#include "tools/campaign/kills/kill_workload.h"
#include "tools/campaign/shared/kill_points.h"

namespace latchkey {

enum class KillStage : uint32_t {
  kOpening,   ///< and recovering, and comparing
  kVerified,  ///< KillNotes::Thread::found is set
  kFinished,  ///< the work is done, and the store is still open
  kFailed,    ///< KillNotes::message has the reason
};

/// Notes of the children outside the store, in memory shared with the parent process.
struct KillNotes {
  static constexpr uint32_t kMostThreads = 16;
  static constexpr size_t kMessageBytes = 2000;

  struct alignas(64) Thread {
    /// Stored before the call of Commit.
    std::atomic<uint64_t> submitted{0};
    /// Stored after Commit has returned OK.
    std::atomic<uint64_t> acknowledged{0};
    /// Acknowledged and durable: with Durability::kCommit at once, with kGroup after a checkpoint
    /// has returned that began later.
    std::atomic<uint64_t> promised{0};
    /// The newest transaction that the child has found in the store. Set before kVerified.
    std::atomic<uint64_t> found{0};
  };
  std::atomic<KillStage> stage{KillStage::kOpening};
  Thread threads[kMostThreads];
  std::atomic<bool> has_message{false};
  char message[kMessageBytes] = {};

  /// Notes the first failure. Called before anything is closed, since the parent may kill at any
  /// moment.
  void Fail(const absl::Status& status);
};

struct KillLife {
  std::string path;
  Options options;
  DatabaseSizing sizing{};
  uint64_t seed = 1;        ///< of the store's transactions
  uint64_t life_seed = 1;   ///< of the other choices in this life
  bool must_exist = false;  ///< an earlier life has opened it
  /// System call at which the process kills itself: counted from the start, or from the begin of
  /// the work.
  std::optional<KillPoint> kill_in_open{}, kill_in_work{};
  uint64_t transactions_per_thread = UINT64_MAX;
  bool closes = false;  ///< does not work: closes the store, opens and compares it once more
  /// Runs beside the threads, on one more, until it returns. Its error is a failure of the life.
  std::function<absl::Status(Database&)> beside{};
};

/// The body of the child. `models`: for each thread the contents that the store held when it was
/// last compared. Returns the exit code: 0, or 1 after kFailed.
int RunKillLife(const KillLife& life, KillNotes& notes, std::vector<KillThreadModel> models);

}  // namespace latchkey
