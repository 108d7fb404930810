// Compaction: makes the data file small while the database is used.
//
//   1. Old versions and deleted records that no snapshot needs are collected.
//   2. In every tree, each leaf takes records from the next one below the same parent until it is
//      full, or takes in the whole next leaf and goes on with the one behind it. Each such step is
//      one ordinary structure change, logged as such.
//   3. A checkpoint makes the frees durable; then the store moves pages from the end of the file to
//      free slots at its front and cuts the file (layout/space). Checkpoints go on while it does not
//      get on, because a checkpoint of the map may lie at the end.
//   4. Further checkpoints shrink the log.
//
// A crash finds an ordinary database after any of these steps.
// Thread-safety: one thread; others use the database meanwhile.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <string>

#include "bufferpool/buffer_pool.h"
#include "engine/latchkey.h"
#include "engine/log/checkpointer.h"
#include "engine/pace.h"
#include "engine/tree_impl.h"
#include "storage/device/aligned_buffer.h"
#include "storage/page_store.h"

namespace latchkey {

class Compaction {
 public:
  Compaction(BufferPool& pool, Checkpointer& checkpointer, const CompactOptions& options);

  /// Step 2 for one tree. OK also if the tree is dropped meanwhile.
  absl::Status FillLeaves(TreeImpl& tree);
  /// Steps 3 and 4. Ends when the files have their sizes, or do not get smaller any more.
  absl::Status ShrinkFile();
  const CompactInfo& info() const { return info_; }

 private:
  // Looks at the leaf that covers *key and fills it from the next one if possible. Otherwise *key
  // becomes the lower fence of the next leaf. False: there is none.
  absl::StatusOr<bool> Step(TreeImpl& tree, std::string* key);
  // Cancelled if the caller wants to stop.
  absl::Status GoOn();

  BufferPool& pool_;
  Runtime& runtime_;
  Checkpointer& checkpointer_;
  const CompactOptions& options_;
  Pace pace_;
  AlignedBuffer page_;  // a copy of a leaf
  CompactInfo info_;
};

}  // namespace latchkey
