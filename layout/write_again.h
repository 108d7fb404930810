// Writes that failed, tried again (RELIABILITY.md 2, "EIO on page write"). A page on its way to a
// slot that nothing names yet is written to another one, and the slot that failed is bad: nothing
// is written there until the store is opened again. What has one place only (a page over its
// present slot, a doublewrite area, a checkpoint, a superblock) is written there again. A sync that
// failed never is: what it was to make durable may be lost.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>

#include "layout/store_core.h"

namespace latchkey {

/// How often something is written in all before the store turns read-only.
inline constexpr int kWriteAttempts = 4;
/// Segments' worth of slots that may go bad while a store is open; with more the device is given
/// up. Well within the reserve (SpaceSizing::kMinReserveSegments), so every page keeps its room.
inline constexpr uint32_t kMostBadSegments = 4;

/// Calls `write`, which writes something that has one place only, until it is OK, at most
/// kWriteAttempts times. The last error.
absl::Status WriteRepeatedly(absl::FunctionRef<absl::Status()> write);

/// The copy in `frame` could not be written to the frame's target, which `error` is about: writes
/// it again and installs it (StoreCore::InstallWritten), or finds that it was overtaken and nothing
/// needs it. What the segment cleaner moves stays where it was. An error: the store is read-only
/// now, and the frame serves its page. Waits for I/O. REQUIRES: as InstallWritten, once for a
/// write.
absl::Status WriteFrameAgain(StoreCore& core, FrameIndex frame, absl::Status error);

}  // namespace latchkey
