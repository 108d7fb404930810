// The segment store: the one PageStore of this folder. Overwrite, LFS, WOLF and HyLog are four
// separators in it (thesis 6.3.1), see separator.h.
#pragma once

#include <absl/status/statusor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "layout/clean/cleaning_policy.h"
#include "layout/image/page_codec.h"
#include "layout/separate/separator.h"
#include "layout/separate/write_cost_model.h"
#include "storage/base/log_sink.h"
#include "storage/page_store.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

struct SegmentStoreOptions {
  enum class Mode { kOpenOrCreate, kOpen, kCreate };
  /// kCreate requires an empty device; kOpenOrCreate creates a store on an empty one.
  Mode mode = Mode::kOpenOrCreate;

  LayoutChoice layout = Layouts().Named("overwrite");
  CleaningPolicyChoice segment_cleaning = CleaningPolicies().Named("adaptive");
  /// Live pages / capacity, 0.5 to 0.98; with page compression, their bytes. If it differs from the
  /// file's present value, the file grows or shrinks.
  double space_utilization = 0.8;
  /// Bytes, a power of two in 4096-65536; fixed at creation. 0: the file's size, 4096 when new.
  uint32_t page_size = 0;
  /// Bytes, a multiple of the page size in 64 KiB-64 MiB, at least 8 pages; fixed at creation. 0: the
  /// file's size; when new, 128 KiB on flash, else 4 * T_pos * B as measured (thesis 6.3), in 128 KiB-4 MiB.
  uint32_t segment_size = 0;
  /// none, lz4 or zstd. "none" or not is fixed at creation; the codec may differ at each open.
  PageCodecChoice page_compression = PageCodecs().Named("none");
  /// Bytes in addition to the capacity, for open append logs and the segment cleaner; at least 12
  /// segments. A file with less than four times as much capacity has a smaller one, a quarter of the
  /// capacity, but at least 12 segments (space_sizing.h). So has a layout that appends no pages: 12
  /// segments.
  uint64_t reserve_bytes = uint64_t{16} << 20;
  /// Protection of in-place writes against tearing, when there is a journal.
  ///   kDoublewrite: through the doublewrite areas.
  ///   kImages: by full-page images in the write-ahead log while RelyOnImages() says so, otherwise
  ///     through the areas; always through the areas in layouts that write in place only as a last
  ///     resort.
  ///   kNone: no protection; for devices that never tear a page.
  enum class TornWriteProtection { kNone, kDoublewrite, kImages };
  TornWriteProtection torn_write_protection = TornWriteProtection::kDoublewrite;
  /// Pages of a doublewrite batch, at most as many as the area holds (126 of 4 KiB). 0: all.
  uint32_t doublewrite_pages = 0;
  /// The store checkpoints its map when more bytes of the map journal are in use. 0: by map size.
  uint64_t journal_checkpoint_bytes = 0;
  /// Bytes of a segment of the journal: a power of two in 8 KiB-64 MiB; fixed at creation.
  uint32_t journal_segment_bytes = 64u << 10;
  /// The cache that this store is a part of, bytes; 0 = no bound. Below 64 MiB the store's buffers
  /// shrink with it (store_buffers.h), and so do the segments of a new store whose segment_size is
  /// 0: to a 64th of the cache, at least 64 KiB.
  uint64_t cache_bytes = 0;
  uint64_t seed = 42;
  /// Identity mixed into every checksum; fixed at creation. 0: derived from the clock and the seed.
  uint64_t database_id = 0;
  /// Initial device costs, instead of short measurements at creation and open, and nothing is
  /// probed later. For experiments and repeatable tests.
  std::optional<PageCosts> assumed_costs;
  LogSink log_sink;
};

class SegmentStore : public PageStore {
 public:
  /// Bytes of memory in use: page map, segment table, write counters, copy frames, segment buffers.
  virtual size_t memory_bytes() const = 0;
  /// The most bytes of copy frames and buffers, without those of the journal, that the store will
  /// hold if page writers with `writer_pages` frames together are expected.
  virtual uint64_t MostBufferBytes(uint64_t writer_pages) const = 0;
  virtual uint64_t database_id() const = 0;
  virtual uint32_t segment_size() const = 0;
  /// The present input of the write cost model.
  virtual PageCosts measured_costs() const = 0;
};

struct OpenedSegmentStore {
  std::unique_ptr<SegmentStore> store;
  /// The client root of the last checkpoint; empty for a new store.
  std::vector<std::byte> client_root;
  bool created = false;
};

/// Checks the superblock of an existing file as OpenSegmentStore does, with the same errors, and
/// changes nothing. Returns whether the file can be opened only with its journal. On an empty
/// device a store can be created: false.
absl::StatusOr<bool> CheckSegmentStore(BlockDevice& device, const SegmentStoreOptions& options);

/// Opens or creates a store on `device`, which the caller must own exclusively. The first change
/// starts one actor, the segment cleaner. Before it nothing is written to an existing file, except
/// that an open after a crash repairs torn pages.
///
/// With a `journal` the store is crash-safe: an open after a crash finds at least everything that
/// Flush or Checkpoint made durable. The content of the journal's device counts only if the data
/// file says that it was not closed cleanly. A cleanly closed file may be opened with a journal or
/// without. A file written with a journal and not closed cleanly needs its journal.
///
/// Errors:
///   InvalidArgument: an option out of range, or different from the file's fixed value.
///   FailedPrecondition: not a Latchkey file, a newer format, a file where mode kCreate expects
///     none or none where kOpen expects one, or not closed cleanly and without a journal.
///   DataLoss: superblock, page map, segment table or journal damaged, or the file truncated or
///     overwritten with zeros.
///   ResourceExhausted: the device is too small for an empty store.
absl::StatusOr<OpenedSegmentStore> OpenSegmentStore(Runtime& runtime,
                                                    std::unique_ptr<BlockDevice> device,
                                                    std::unique_ptr<BlockDevice> journal,
                                                    const SegmentStoreOptions& options);
/// OpenSegmentStore without a journal.
absl::StatusOr<OpenedSegmentStore> OpenSegmentStore(Runtime& runtime,
                                                    std::unique_ptr<BlockDevice> device,
                                                    const SegmentStoreOptions& options);

}  // namespace latchkey
