// FlashTranslation: the page map and the garbage collection of a flash device, without times.
//
// Pages are written one after the other into *open* erase units, never over old content. A page
// that is written again or discarded leaves a dead copy. When the free units run out, the closed
// unit with the fewest live pages (greedy) gives its live pages to an open unit, and is erased.
//
//     free --Write, Move--> open --full--> closed --Collect--> free
//
// Each write stream has an open unit of its own, and one more for the pages moved out of its units.
// So data of different streams never shares a unit, and moved pages do not mix with new ones.
//
// Uniform random writes: victims are live to a share u with u_d = (u - 1) / ln u, where u_d is the
// live share of the whole medium, and write amplification is 1 / (1 - u) (thesis 6.2; a little less
// with small units).
#pragma once

#include <cstdint>
#include <vector>

namespace latchkey {

struct FlashGeometry {
  uint32_t pages_per_unit = 256;  ///< of an erase unit, 2 or more
  /// Units beyond those of the device's size, as a share of that size; above 0. The open units and
  /// two free ones come on top.
  double spare = 0.07;
  uint32_t streams = 1;  ///< 1 or more
};

/// The device's own work for one request.
struct FlashWork {
  uint64_t moved_pages = 0;
  uint64_t erases = 0;
};

/// Not thread-safe. Takes 8 bytes of memory per page.
class FlashTranslation {
 public:
  static constexpr uint32_t kPageBytes = 4096;

  explicit FlashTranslation(const FlashGeometry& geometry);

  /// The device has the pages 0..pages-1. Pages cut off are discarded.
  void Resize(uint64_t pages);
  /// Writes `count` pages from `first` on. REQUIRES: they are below the size; stream < streams.
  FlashWork Write(uint64_t first, uint64_t count, uint32_t stream);
  /// Returns how many of the pages held data.
  uint64_t Discard(uint64_t first, uint64_t count);

  uint64_t live_pages() const { return live_pages_; }
  /// Of all units, without the retired ones.
  uint64_t units() const { return units_.size() - retired_.size(); }
  const FlashGeometry& geometry() const { return geometry_; }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Unit {
    uint32_t live = 0;
    uint32_t written = 0;
    uint32_t stream = 0;
    // Neighbours in the list of closed units with as many live pages.
    uint32_t previous = kNone, next = kNone;
    bool closed = false;
  };

  uint64_t UnitsFor(uint64_t pages) const;
  // Puts a page into `open`, an open unit of `stream`, and closes the unit when it is full.
  void Append(uint32_t& open, uint32_t stream, uint32_t page);
  uint32_t TakeFree(uint32_t stream);
  void GiveFree(uint32_t unit);
  void Collect(FlashWork& work);
  void Invalidate(uint32_t page);
  void Link(uint32_t unit);
  void Unlink(uint32_t unit);

  const FlashGeometry geometry_;
  uint64_t target_units_ = 0;
  uint64_t live_pages_ = 0;
  std::vector<uint32_t> slot_of_;  // by page; kNone: holds nothing
  std::vector<uint32_t> page_in_;  // by slot (unit * pages_per_unit + n); kNone: dead or empty
  std::vector<Unit> units_;
  std::vector<uint32_t> free_, retired_;
  std::vector<uint32_t> by_live_;  // first closed unit with so many live pages
  std::vector<uint32_t> open_for_writes_, open_for_moves_;  // by stream
};

}  // namespace latchkey
