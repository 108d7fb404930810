// Changes the number of frames while all actors go on. A resize closes the miss gate for single
// steps only, because holders of latches must be able to go on.
//
// Thread-safety: every function may be called from all actors at once; one resize runs at a time.
#pragma once

#include <absl/status/status.h>

#include <cstdint>

#include "bufferpool/buffer_frames.h"
#include "bufferpool/evictor.h"
#include "bufferpool/fix_policy.h"
#include "bufferpool/log_before_page.h"
#include "bufferpool/miss_gate.h"
#include "bufferpool/write_back.h"
#include "storage/page_store.h"
#include "storage/runtime/mutex.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

class PoolResizer {
 public:
  PoolResizer(Runtime& runtime, PageStore& store, FixPolicy& policy, BufferFrames& frames,
              LogBeforePage& log, WriteBack& write_back, Evictor& evictor, MissGate& gate)
      : runtime_(runtime),
        store_(store),
        policy_(policy),
        frames_(frames),
        log_(log),
        write_back_(write_back),
        evictor_(evictor),
        gate_(gate),
        mutex_(runtime) {}

  /// As BufferPool::Resize. REQUIRES: 1 <= count <= BufferFrames::max_count().
  absl::Status Resize(uint32_t count);

 private:
  class Shrink;

  void GrowTo(uint32_t count);
  absl::Status ShrinkTo(uint32_t count);

  Runtime& runtime_;
  PageStore& store_;
  FixPolicy& policy_;
  BufferFrames& frames_;
  LogBeforePage& log_;
  WriteBack& write_back_;
  Evictor& evictor_;
  MissGate& gate_;
  Mutex mutex_;  // held by the one resize that runs
};

}  // namespace latchkey
