// LogAppender: puts records into the open half of a log's buffer.
//
// The log's latch is held from the choice of an LSN until `fill` has written the record, so the
// order of LSNs is the order in which states change inside `fill`. Waits only if both halves of the
// buffer are full.
//
// Thread-safety: all actors may call every member at once.
#pragma once

#include <absl/functional/function_ref.h>

#include <cstddef>
#include <optional>

#include "storage/base/thread_annotations.h"
#include "storage/runtime/runtime.h"
#include "storage/wal/group_commit.h"
#include "storage/wal/log.h"
#include "storage/wal/log_buffer.h"

namespace latchkey {

class LogAppender {
 public:
  LogAppender(Runtime& runtime, GroupCommit& groups, LogBuffer& buffer)
      : runtime_(runtime), groups_(groups), buffer_(buffer) {}

  /// As the functions of Log.
  Lsn Append(size_t size, absl::FunctionRef<void(Lsn, std::byte*)> fill);
  Lsn AppendBehind(absl::FunctionRef<bool()> wants_prelude, const Log::NewRecord& prelude,
                   const Log::NewRecord& record);
  std::optional<Lsn> TryAppendPaid(size_t size, absl::FunctionRef<void(Lsn, std::byte*)> fill);
  void AwaitBuffer(size_t size);
  void Frozen(absl::FunctionRef<void(Lsn)> body);

 private:
  Runtime& runtime_;
  GroupCommit& groups_;
  LogBuffer& buffer_ LATCHKEY_GUARDED_BY(groups_.latch());
};

}  // namespace latchkey
