// Pieces of a log outside its device: a part of the stream that begins and ends between two groups,
// byte for byte, as Log::ReadStream gives it. A backup holds one; a restore makes a log of it.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "storage/base/ids.h"
#include "storage/wal/log.h"
#include "storage/wal/log_format.h"

namespace latchkey {

struct LogPiece {
  uint64_t database_id = 0;  ///< of the log that it was taken from
  LogShape shape;            ///< of that log
  Lsn from{0}, to{0};        ///< whole groups: [from, to)
  /// Fills `out` with the stream from `lsn` on; called for whole blocks of the piece.
  absl::FunctionRef<absl::Status(Lsn lsn, std::span<std::byte> out)> read;
};

/// Calls `visit(header, group)` for each group of `piece`, in order, once it is proven: both
/// checksums, its position, an epoch that follows. `group` may be changed. DataLoss names the
/// position of the first group that is damaged or missing; other errors are those of `read` and
/// `visit`.
absl::Status ForEachGroup(
    const LogPiece& piece,
    absl::FunctionRef<absl::Status(const GroupHeader&, std::span<std::byte>)> visit);

/// Creates a log on an empty device that holds the groups of `piece` at their positions. The groups
/// become those of the database `options.database_id`. The log has the segments of `piece`, and at
/// least options.initial_bytes. Durable on return; open it with OpenLog. Errors as CreateLog and
/// ForEachGroup.
absl::Status ImportLog(Runtime& runtime, std::unique_ptr<BlockDevice> device,
                       const LogOptions& options, const LogPiece& piece);

}  // namespace latchkey
