// Retry of failed writes (RELIABILITY.md 2, "EIO on a page write"). If no map entry names the slot
// yet, the page is written to another slot. The failed slot is *bad*: it stays unused until the
// store is opened again. Data with only one possible place (a page written in place, a doublewrite
// area, a superblock) is written to the same place again. A segment of a checkpoint is, too; if it
// takes none of these writes, it is bad, and the whole checkpoint is written again with another
// segment in its place. A failed sync is never retried, because the data that it should have made
// durable may be lost.
//
// A store that is closed forgets its bad slots: at the next open they are free. Every write to a
// free slot can go elsewhere, so a write that meets a bad one costs another failed try.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include "layout/map/page_directory.h"

namespace latchkey {

/// Number of tries, the first included, before the store becomes read-only.
inline constexpr int kWriteAttempts = 4;
/// While a store is open, as many slots may go bad as this number of segments has. With more bad
/// slots the store becomes read-only. The number is below the reserve
/// (SpaceSizing::kMinReserveSegments), so every page still has a slot.
inline constexpr uint32_t kMostBadSegments = 4;

/// Calls `write`, which always writes to the same place, until it returns OK, at most
/// kWriteAttempts times. Returns the last status.
absl::Status WriteRepeatedly(absl::FunctionRef<absl::Status()> write);

/// Called when `segment`, which was taken for a checkpoint, took no write. Puts the segment that
/// `take` returns in its place. False: there is none, or too many slots of the device are bad.
bool ReplaceCheckpointSegment(PageDirectory& directory, SegmentId& segment,
                              absl::FunctionRef<absl::StatusOr<SegmentId>()> take,
                              const absl::Status& error);

/// Called when the write of `frame` to its target failed with `error`. Writes the copy again and
/// installs it (PageDirectory::InstallWritten), or drops it if it was overtaken. A page that the
/// segment cleaner was moving stays where it was. On an error the store is read-only, and the frame
/// serves its page. Waits for I/O. REQUIRES: as InstallWritten; once per write.
absl::Status WriteFrameAgain(PageDirectory& directory, FrameIndex frame, absl::Status error);

}  // namespace latchkey
