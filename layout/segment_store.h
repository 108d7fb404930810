// The segment store: the one PageStore of this folder. Overwrite, LFS, WOLF and HyLog are four
// separators in it (thesis 6.3.1), see separator.h.
#pragma once

#include <absl/status/statusor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "layout/write_cost_model.h"
#include "storage/base/log_sink.h"
#include "storage/page_store.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

struct SegmentStoreOptions {
  enum class Mode { kOpenOrCreate, kOpen, kCreate };
  /// kCreate wants an empty device; kOpenOrCreate creates on an empty one.
  Mode mode = Mode::kOpenOrCreate;

  std::string layout = "overwrite";           ///< see LayoutNames()
  std::string segment_cleaning = "adaptive";  ///< see CleaningPolicyNames()
  /// Live pages / capacity, 0.5 to 0.98. May differ from what the file was created with: the file
  /// then grows or shrinks.
  double space_utilization = 0.8;
  /// Bytes, a power of two in 4096-65536; fixed at creation. 0: what the file has, 4096 when new.
  uint32_t page_size = 0;
  /// Bytes, a power of two in 64 KiB-16 MiB that holds at least 8 pages; fixed at creation. 0: what
  /// the file has; when new, 4 * T_pos * B as measured (thesis 6.3), in 256 KiB-4 MiB.
  uint32_t segment_size = 0;
  /// Bytes kept beside the capacity for open logs and the segment cleaner; at least 12 segments.
  uint64_t reserve_bytes = uint64_t{16} << 20;
  /// How a write over a page's present slot, which a crash could tear, is protected when there is a
  /// journal. kDoublewrite: through the doublewrite area. kImages: by full-page images in the log
  /// above while RelyOnImages() says so, otherwise through the area; in layouts that write in place
  /// as a last resort only, always through the area. kNone: not, where the device never tears a
  /// page.
  enum class TornWriteProtection { kNone, kDoublewrite, kImages };
  TornWriteProtection torn_write_protection = TornWriteProtection::kDoublewrite;
  /// Pages of a doublewrite batch, at most as many as the area holds (126 of 4 KiB). 0: all.
  uint32_t doublewrite_pages = 0;
  /// Bytes in use of the map journal above which the store checkpoints its map. 0: by map size.
  uint64_t journal_checkpoint_bytes = 0;
  /// Bytes of a segment of the journal: a power of two in 8 KiB-64 MiB; fixed at creation.
  uint32_t journal_segment_bytes = 256u << 10;
  uint64_t seed = 42;
  /// Identity mixed into every checksum; fixed at creation. 0: from the clock and the seed.
  uint64_t database_id = 0;
  /// Device costs to begin with instead of a short measurement at creation (or the last ones
  /// known): for experiments and repeatable tests.
  std::optional<PageCosts> assumed_costs;
  LogSink log_sink;
};

class SegmentStore : public PageStore {
 public:
  /// Memory now: page map, segment table, write counters, copy frames and segment buffers. Bytes.
  virtual size_t memory_bytes() const = 0;
  virtual uint64_t database_id() const = 0;
  virtual uint32_t segment_size() const = 0;
  /// The name of the layout in use.
  virtual const std::string& layout() const = 0;
  /// What the write cost model is fed with now.
  virtual PageCosts measured_costs() const = 0;
};

struct OpenedSegmentStore {
  std::unique_ptr<SegmentStore> store;
  /// What the last checkpoint was given; empty for a new store.
  std::vector<std::byte> client_root;
  bool created = false;
};

/// Refuses what OpenSegmentStore would refuse an existing file for on account of its superblock,
/// and changes nothing. Whether the file can be opened only with its journal. An empty device is
/// one that a store can be created on.
absl::StatusOr<bool> CheckSegmentStore(BlockDevice& device, const SegmentStoreOptions& options);

/// Opens or creates a store on `device`, which must be exclusively the caller's. Starts one actor,
/// the segment cleaner, at the first change. Nothing is written to an existing file before that,
/// except that the open after a crash repairs what was torn.
///
/// With a `journal` the store is crash-safe: an open after a crash finds at least what Flush or
/// Checkpoint made durable. What is on the journal's device counts only while the data file says
/// that it was not closed cleanly. A file that was closed cleanly may be opened either way; one
/// that was not, and was written with a journal, only with it.
///
/// InvalidArgument: an option out of range, or one that differs from what the file was created
/// with. FailedPrecondition: not ours, a newer format, another mode expected, or not closed
/// cleanly and without a journal. DataLoss: superblock, page map, segment table or journal damaged,
/// or the file truncated. ResourceExhausted: the device does not hold even an empty store.
absl::StatusOr<OpenedSegmentStore> OpenSegmentStore(Runtime& runtime,
                                                    std::unique_ptr<BlockDevice> device,
                                                    std::unique_ptr<BlockDevice> journal,
                                                    const SegmentStoreOptions& options);
/// The same without a journal.
absl::StatusOr<OpenedSegmentStore> OpenSegmentStore(Runtime& runtime,
                                                    std::unique_ptr<BlockDevice> device,
                                                    const SegmentStoreOptions& options);

}  // namespace latchkey
