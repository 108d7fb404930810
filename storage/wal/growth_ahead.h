// GrowthAhead: an actor that grows the log before room is short. Growing takes long, because new
// space is written and synced before it is used. Without the actor, the thread that needs room
// waits for that.
//
// If the actor cannot grow the log, it waits until the log has become smaller. Meanwhile Reserve grows
// the log as it does without the actor, and reports the error to its callers.
//
// Thread-safety: all actors may call NoteShortage at once; one actor calls Start and Stop.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "storage/runtime/runtime.h"
#include "storage/wal/log_grower.h"
#include "storage/wal/space_watch.h"

namespace latchkey {

class GrowthAhead {
 public:
  GrowthAhead(Runtime& runtime, LogGrower& grower, const SpaceWatch& watch)
      : runtime_(runtime), grower_(grower), watch_(watch) {}
  ~GrowthAhead() { Stop(); }

  /// REQUIRES: not started; the log has a keeper, which has set the usual size (SpaceWatch::Begin).
  void Start();
  void Stop();  ///< idempotent
  /// Call it after every group, without latches: wakes the actor if the log is short of room.
  void NoteShortage();

 private:
  void Run();
  LogGrower::Ahead GrowOnce();
  bool IsShort() const {
    return grower_.device_bytes() < stuck_bytes_.load(std::memory_order_relaxed) &&
           grower_.IsShort(watch_.usual_bytes());
  }

  Runtime& runtime_;
  LogGrower& grower_;
  const SpaceWatch& watch_;
  std::unique_ptr<Actor> actor_;
  std::atomic<bool> is_wanted_{false};
  std::atomic<uint64_t> stuck_bytes_{UINT64_MAX};  // the size from which on the log could not grow
  std::atomic<uint32_t> word_{0};  // changes whenever the actor should look for work
};

}  // namespace latchkey
