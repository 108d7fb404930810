// PageStore: keeps the pages on a device. It is the interface between the buffer pool above and the
// layouts below; pool and layouts know nothing else of each other.
//
// A write is first *accepted*: the store has copied the page, and the caller may reuse its memory.
// Until the copy is on the device, reads are served from the copy. Later the write is *durable*. So
// the layout chooses how many pages it writes at once, whether or not a caller waits.
//
// Thread-safety: a PageStore may be used by every actor at once; a PageWriter belongs to one actor.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "storage/base/ids.h"
#include "storage/device/block_device.h"
#include "storage/page_store_client.h"

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

/// Accepts the writes of one owner, and counts those that are outstanding: a page cleaner keeps a
/// chosen number of writes outstanding (thesis 4.4). Not thread-safe.
class PageWriter {
 public:
  virtual ~PageWriter() = default;
  /// Accepts `writes`: on return they are copied. An in-place write is outstanding until the device
  /// has completed it; an appended one is not outstanding. Blocks while the layout has no room for
  /// copies. On an error the first `*accepted` of them were accepted.
  virtual absl::Status Submit(std::span<const PageWrite> writes, size_t* accepted) = 0;
  /// Waits until the layout has room for the copy of one page. Other writers may take that room
  /// first. For a caller that will hold a latch during Submit, so that it rarely waits there.
  virtual void AwaitRoom() {}
  /// Waits until at most `max_outstanding` writes are outstanding. Returns the first error of a
  /// write that this writer accepted. The page of that write is still served from its copy, and the
  /// store is read-only.
  virtual absl::Status Wait(size_t max_outstanding) = 0;
  virtual size_t outstanding() const = 0;

  /// Number of pages that this writer accepted and that are not yet on the device: in place,
  /// appended, or in a doublewrite batch. So it means the same on every layout. A store without
  /// buffers of its own has no others than the outstanding ones.
  virtual size_t unwritten() const { return outstanding(); }
  /// Those of them that wait in an append log for further pages: requests of many pages cost less. They
  /// are written with these, or by a flush.
  virtual size_t gathering() const { return 0; }
  /// The unwritten pages that do not gather.
  virtual size_t waiting() const { return unwritten(); }
  /// Waits until at most `max_unwritten` pages are unwritten, besides those that gather, and starts
  /// partly filled batches if they hold pages that the caller must wait for. Returns
  /// errors as Wait does, and the store's WriteStatus() if pages stay unwritten because the store is
  /// read-only.
  virtual absl::Status WaitWritten(size_t max_unwritten) { return Wait(max_unwritten); }
};

struct SeparationStats {
  double hot_page_proportion = 0;  ///< of live pages, [0, 1]
};

/// Counters since open unless stated otherwise. A quantity that was not measured is nullopt.
struct PageStoreStats {
  uint64_t page_reads = 0;
  uint64_t user_page_writes = 0;  ///< pages accepted from above
  uint64_t in_place_page_writes =
      0;  ///< user pages written over their current address or into a hole
  uint64_t hole_page_writes = 0;      ///< of these, into a hole
  uint64_t appended_page_writes = 0;  ///< user pages written through a segment buffer
  uint64_t cleaner_page_writes = 0;   ///< live pages moved by the segment cleaner
  uint64_t plugged_page_writes = 0;   ///< of these, into a hole
  uint64_t cleaner_page_reads = 0;    ///< live pages read to be moved
  uint64_t cleaner_pages_copied = 0;  ///< live pages copied from the pool above instead
  uint64_t cleaned_segments = 0;      ///< emptied into fresh segments
  uint64_t plugged_segments = 0;      ///< emptied into holes
  uint64_t emptied_slots = 0;         ///< slots of all emptied segments,
  uint64_t emptied_live_pages = 0;    ///< and those whose pages had to be moved
  uint64_t protected_page_writes = 0;  ///< in place, through a doublewrite area
  uint64_t protection_bytes = 0;       ///< written to doublewrite areas
  uint64_t protection_syncs = 0;
  uint64_t protection_sync_ns = 0;  ///< summed latency of these
  uint64_t meta_bytes_written = 0;  ///< checkpoints, superblocks, map journal
  uint64_t writes_again = 0;        ///< retries of failed page writes
  uint64_t live_pages = 0;          ///< now
  uint64_t live_bytes = 0;          ///< of their slots: less than whole pages with page compression
  uint64_t capacity_pages = 0;      ///< now: slots of the data file less the reserve
  uint64_t file_bytes = 0;          ///< now
  uint64_t excess_bytes = 0;        ///< now: of the file, that the store is about to give back
  double space_utilization = 0;     ///< now: live / capacity, the thesis's u_d
  double effective_space_utilization = 0;  ///< now: live / all slots, the reserve included
  double min_space_utilization = 0, max_space_utilization = 0;  ///< since the last ResetExtremes
  std::optional<double> write_cost;  ///< device time per user page written / page write time
  std::optional<double> segment_io_efficiency;  ///< measured eta
  std::optional<double> cleaning_utilization;   ///< mean live share u of cleaned segments
  std::optional<double> hot_page_proportion;    ///< h of the separator
  std::optional<double> write_amplification;    ///< bytes written to the device / user bytes
  DeviceStats device;                           ///< of the data file: busy time by class
  uint64_t capacities_written = 0;  ///< whole multiples of the capacity written since open
};

class PageStore {
 public:
  virtual ~PageStore() = default;

  virtual uint32_t page_size() const = 0;

  /// Hands out an unused page id. Its content is undefined until it is written.
  virtual absl::StatusOr<PageId> AllocatePage() = 0;
  /// Gives the id and its space back. REQUIRES: no thread writes the page any more. A concurrent read
  /// returns its old content or an error.
  virtual void FreePage(PageId id) = 0;
  /// Makes `id` allocated if it is free, even if it was never handed out; its content is then
  /// undefined until it is written. A page that is already allocated keeps its content. For redo of
  /// pages whose allocation a crash has undone. ResourceExhausted: the device is full.
  virtual absl::Status AdoptPage(PageId id) = 0;
  /// Whether `id` is allocated now: handed out or adopted, and not freed since.
  virtual bool IsAllocated(PageId id) const = 0;
  /// Every page id handed out is below the limit.
  virtual uint64_t page_id_limit() const = 0;
  /// The write sequence of the page's newest accepted write; 0: it is free, or has no content yet.
  /// Two writes of one page never have the same sequence, except after 2^26 - 1 writes of it. That
  /// holds across a crash, too, for every write that a Checkpoint has made durable. Wait-free.
  virtual uint32_t WriteSequence(PageId id) const = 0;

  /// Reads one page and checks its proof. Retries a device error once, then returns it.
  virtual absl::Status ReadPage(PageId id, std::byte* out) = 0;
  /// Reads all of `reads`, many of them in flight at once. Each gets its own status.
  virtual void ReadPages(std::span<PageRead> reads) = 0;

  /// A writer for one actor. `depth` is the most writes that it keeps outstanding (1..1024); a store
  /// with little memory may keep fewer.
  virtual absl::StatusOr<std::unique_ptr<PageWriter>> NewWriter(uint32_t depth) = 0;

  /// The newest ticket handed out, and the newest such that it and all before it are durable.
  virtual WriteTicket accepted_ticket() const = 0;
  virtual WriteTicket durable_ticket() const = 0;
  /// Writes partly filled batches and waits until all writes accepted before the call are durable.
  virtual absl::Status Flush() = 0;

  /// Makes page map, segment table and `client_root` durable, so that an open after a crash or
  /// close sees this state or a newer one. The store does not interpret `client_root` (at most 2048
  /// bytes): it is the engine's catalogue root. `clean` marks the store as closed cleanly, until
  /// its next change.
  virtual absl::Status Checkpoint(std::span<const std::byte> client_root, bool clean) = 0;

  /// OK, or the error that every write returns from now on: a write or sync has failed, and the
  /// store is read-only until it is opened again. Pages stay readable. A few instructions when OK.
  virtual absl::Status WriteStatus() const = 0;

  /// From now on the store asks `client`, which outlives the attachment. Once, before the first
  /// write. A store without a client asks nobody.
  virtual void Attach(PageStoreClient& client) = 0;
  /// On return no thread asks the client any more.
  virtual void Detach() = 0;

  /// The log reach: LSN up to which the write-ahead log was durable at least, as far as the store
  /// knows; after an open, the greatest value noted. A log that ends before it has lost its end.
  /// Lsn{0}: not known.
  virtual Lsn log_reach() const = 0;

  /// Whether the engine should log an image of each page before its first change since the newest
  /// checkpoint began, because the store writes pages in place and a crash may tear such a write.
  /// Constant while the store is open.
  virtual bool wants_images() const { return false; }
  /// The engine tells the store whether from now on the log holds the image of every page that is
  /// written in place. Initially it does not. While it does not, a store that wants_images()
  /// protects its pages by itself. Must not wait or call the engine.
  virtual void RelyOnImages(bool rely) { static_cast<void>(rely); }

  /// Memory in use now, bytes: maps, tables and buffers.
  virtual uint64_t memory_bytes() const = 0;
  virtual PageStoreStats stats() const = 0;
  virtual void ResetExtremes() = 0;
  virtual BlockDevice& device() = 0;
};

}  // namespace latchkey
