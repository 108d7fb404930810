// PageStore: where pages live when they are not in a frame. The buffer pool above and the layouts
// below meet here and know nothing else of each other.
//
// A write is first *accepted*: copied out of the caller's memory, which may be reused at once;
// reads are served from the copy until it is on the device. Later it is *durable*. Batches are
// therefore sized by the layout, independently of who waits.
//
// Thread-safety: a PageStore may be used by every actor at once; a PageWriter belongs to one actor.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "storage/base/ids.h"
#include "storage/device/block_device.h"

namespace latchkey {

/// Position of an accepted write in the order of acceptance: increasing, from 1.
using WriteTicket = uint64_t;

struct PageRead {
  PageId id = kInvalidPageId;
  std::byte* out = nullptr;  ///< page_size bytes, aligned to 4096
  absl::Status status;       ///< NotFound: never written. DataLoss: failed its proof.
};

struct PageWrite {
  PageId id = kInvalidPageId;
  const std::byte* data = nullptr;  ///< page_size bytes, unchanged during the call only
};

/// Writes of one owner in flight: how many writes a page cleaner keeps outstanding (thesis 4.4) is
/// counted here. Not thread-safe.
class PageWriter {
 public:
  virtual ~PageWriter() = default;
  /// Accepts `writes`: on return they are copied and count as outstanding until the layout has
  /// handed them on (in place: the device completed the write; appended: at once). Blocks while the
  /// layout has no room for copies. On an error none or some were accepted, and `accepted` of them:
  /// the first ones.
  virtual absl::Status Submit(std::span<const PageWrite> writes, size_t* accepted) = 0;
  /// Waits until at most `max_outstanding` writes are outstanding. Returns the first error of a
  /// write that this writer accepted: its page is then still served from the copy, and the store
  /// has turned read-only.
  virtual absl::Status Wait(size_t max_outstanding) = 0;
  virtual size_t outstanding() const = 0;
};

struct SeparationStats {
  double hot_page_proportion = 0;  ///< of live pages, [0, 1]
};

/// Counters since open unless said otherwise; a quantity that was not measured is nullopt.
struct PageStoreStats {
  uint64_t page_reads = 0;
  uint64_t user_page_writes = 0;  ///< pages accepted from above
  uint64_t in_place_page_writes =
      0;  ///< user pages written over their current address or into a hole
  uint64_t appended_page_writes = 0;  ///< user pages written through a segment buffer
  uint64_t cleaner_page_writes = 0;   ///< live pages moved by the segment cleaner
  uint64_t cleaner_page_reads = 0;
  uint64_t cleaned_segments = 0;
  uint64_t plugged_segments = 0;    ///< emptied into holes
  uint64_t meta_bytes_written = 0;  ///< page map, segment table, summaries, superblock
  uint64_t writes_again = 0;        ///< of single pages whose write had failed
  uint64_t live_pages = 0;          ///< now
  uint64_t capacity_pages = 0;      ///< now: slots of the data file less the reserve
  uint64_t file_bytes = 0;          ///< now
  double space_utilization = 0;     ///< now: live / capacity, the thesis's u_d
  double min_space_utilization = 0, max_space_utilization = 0;  ///< since the last ResetExtremes
  std::optional<double> write_cost;  ///< device time per user page written / page write time
  std::optional<double> segment_io_efficiency;  ///< measured eta
  std::optional<double> cleaning_utilization;   ///< mean live share u of cleaned segments
  std::optional<double> hot_page_proportion;    ///< h of the separator
  std::optional<double> write_amplification;    ///< bytes written to the device / user bytes
  uint64_t capacities_written = 0;  ///< whole multiples of the capacity written since open
};

/// A clean copy of a page from the pool above, if it can be had without waiting. See
/// PageStore::SetCopySource.
using CopyIfCleanFunction = std::function<bool(PageId id, std::byte* out)>;

class PageStore {
 public:
  virtual ~PageStore() = default;

  virtual uint32_t page_size() const = 0;

  /// A page id that nothing uses; its content is undefined until it is written.
  virtual absl::StatusOr<PageId> AllocatePage() = 0;
  /// Gives the id and its space back. The caller guarantees that nobody reads or writes it any
  /// more.
  virtual void FreePage(PageId id) = 0;
  /// Makes `id` allocated if it is free, whether or not it was ever handed out; its content is then
  /// undefined until it is written, or, if it was allocated already, what it was. For redo, which
  /// meets pages whose allocation a crash has undone. ResourceExhausted: the device is full.
  virtual absl::Status AdoptPage(PageId id) = 0;
  /// Whether `id` is allocated now: handed out or adopted, and not freed since.
  virtual bool IsAllocated(PageId id) const = 0;
  /// Page ids handed out are below this.
  virtual uint64_t page_id_limit() const = 0;

  /// Reads one page and checks its proof; one retry of a device error, then its error.
  virtual absl::Status ReadPage(PageId id, std::byte* out) = 0;
  /// Reads all of `reads` with as many in flight as the device likes; each has its own status.
  virtual void ReadPages(std::span<PageRead> reads) = 0;

  /// A writer for one actor. `depth` is the most it will ever keep outstanding (1..1024).
  virtual absl::StatusOr<std::unique_ptr<PageWriter>> NewWriter(uint32_t depth) = 0;

  /// The newest ticket handed out, and the newest such that it and all before it are durable.
  virtual WriteTicket accepted_ticket() const = 0;
  virtual WriteTicket durable_ticket() const = 0;
  /// Pushes partly filled batches out and waits until all writes accepted before are durable.
  virtual absl::Status Flush() = 0;

  /// Makes page map, segment table and `client_root` (opaque, at most 2048 bytes: the engine's
  /// catalogue root) durable, so that an open after a crash or close sees exactly this state or a
  /// newer checkpoint. `clean` marks a clean close: nothing may be written afterwards.
  virtual absl::Status Checkpoint(std::span<const std::byte> client_root, bool clean) = 0;

  /// OK, or what every write fails with from now on: a write or sync has failed for good, and the
  /// store is read-only until it is opened again. Pages stay readable. A few instructions when OK.
  virtual absl::Status WriteStatus() const = 0;

  /// Asked before each write of a superblock: an error ends that checkpoint and turns the store
  /// read-only. For whoever must not be followed by a checkpoint once it has failed (the log
  /// above). Neither waits nor calls back. Set before the first write, cleared (nullptr) before
  /// what it asks goes away.
  virtual void SetCheckpointGate(std::function<absl::Status()> may_go_on) = 0;

  /// Tells up to where the log above is durable. The store notes it in whatever it writes that may
  /// make later versions of pages the newest ones, so that an open after a crash knows how far the
  /// log has to reach. Neither waits nor calls back. Set before the first write, cleared (nullptr)
  /// before what it asks goes away.
  virtual void SetLogPosition(std::function<Lsn()> durable) = 0;
  /// How far the log above has reached at least, as far as the store knows; after an open, as far
  /// as was noted. A log that ends before it has lost its end. Lsn{0}: nothing is known.
  virtual Lsn log_reach() const = 0;

  /// Whether the log above is to hold an image of each page before its first change since the
  /// newest checkpoint began: pages are going to be written over their present places, and a crash
  /// may tear such a write. Constant while the store is open.
  virtual bool wants_images() const { return false; }
  /// Whether from now on the log holds the image of every page that is written over its present
  /// place. While it does not, as at first, a store that wants_images() protects its pages by
  /// itself. Neither waits nor calls back.
  virtual void RelyOnImages(bool rely) { static_cast<void>(rely); }

  /// The segment cleaner may ask for a clean in-memory copy instead of a device read. Try-only: the
  /// function never waits and never calls back. Set before the first write, cleared (nullptr)
  /// before the pool goes away.
  virtual void SetCopySource(CopyIfCleanFunction copy_if_clean) = 0;

  /// Memory in use now, bytes: maps, tables and buffers.
  virtual uint64_t memory_bytes() const = 0;
  virtual PageStoreStats stats() const = 0;
  virtual void ResetExtremes() = 0;
  virtual BlockDevice& device() = 0;
};

}  // namespace latchkey
