// The restorer: a function from the files to a page directory. After a clean close the checkpoint
// alone says everything; after a crash checkpoint, map journal and doublewrite areas do.
//
// After a crash the map decides the state of a segment: a segment without pages is free, any other
// one is closed and may have holes. The table adds kinds and ages only. The restorer reads
// everything before it writes anything.
#pragma once

#include <absl/status/statusor.h>

#include <memory>
#include <vector>

#include "layout/checkpoint/superblock.h"
#include "layout/map/page_directory.h"

namespace latchkey {

/// Whole segments that the device of `core` holds.
uint64_t SegmentsOnDevice(const StoreCore& core);

/// Fills `directory`, which is new, with the state that `superblock` describes. Returns the
/// segments that hold the superblock's checkpoint. After a crash (the superblock is not clean)
/// `journal` is the device of the map journal, and `directory` then has that journal, to be
/// continued; otherwise `journal` is nullptr. Writes only torn pages, and only after a crash.
///
/// DataLoss: a damaged checkpoint or journal, or a file that is too short for its pages.
/// ResourceExhausted: no memory for map or table. Other errors: as MapJournal::Open, or of a device.
absl::StatusOr<std::vector<SegmentId>> RestoreDirectory(const Superblock& superblock,
                                                        std::unique_ptr<BlockDevice> journal,
                                                        const MapJournalOptions& journal_options,
                                                        PageDirectory& directory);

}  // namespace latchkey
