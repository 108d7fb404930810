// RecordReader: reads the durable records of a log, in order or one at a time.
//
// It reads only groups that are durable and that the log still needs. Its callers pass the range of
// these groups. If a position in that range holds no sound group, the call fails; the reader never
// takes such a position for the end of the log.
//
// Lock order: its mutex, then the log's latch.
// Thread-safety: all actors may call every member at once.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "storage/base/ids.h"
#include "storage/base/thread_annotations.h"
#include "storage/runtime/mutex.h"
#include "storage/wal/log.h"
#include "storage/wal/log_medium.h"
#include "storage/wal/log_reader.h"

namespace latchkey {

class RecordReader {
 public:
  explicit RecordReader(LogMedium& medium) : medium_(medium), mutex_(medium.runtime) {}

  /// Calls `visit` for the records in [from, end). `group`: start of a group at or below `from`.
  absl::Status ForEach(uint64_t group, Lsn from, Lsn end,
                       absl::FunctionRef<absl::Status(const LogRecordView&)> visit);
  /// As Log::Read, of a log that is durable up to `durable`.
  absl::Status Read(Lsn lsn, Lsn durable, std::vector<std::byte>* bytes) LATCHKEY_EXCLUDES(mutex_);

 private:
  LogMedium& medium_;
  Mutex mutex_;
  LoadedGroup loaded_ LATCHKEY_GUARDED_BY(mutex_);
};

}  // namespace latchkey
