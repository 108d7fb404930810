// The fast part of the corruption campaign: bit flips in pages below an open database.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "engine/database_impl.h"
#include "layout/geometry.h"
#include "layout/image/page_image.h"
#include "storage/base/hash.h"
#include "storage/base/status_macros.h"
#include "storage/device/aligned_buffer.h"
#include "storage/page_format.h"
#include "tools/campaign/corruption/corruption_campaign.h"
#include "tools/campaign/shared/crash_database.h"

namespace latchkey {
namespace {

constexpr uint32_t kPage = kDefaultPageSize;

struct PlacedPage {
  PageId id = kInvalidPageId;
  uint64_t offset = 0;     ///< of its first block
  uint32_t begin = 0;      ///< of the page, or of its image, in that block
  uint32_t bytes = kPage;  ///< of the page, or of its image
  bool is_image() const { return bytes < kPage; }
};

/// The bytes of an image with that beginning.
uint32_t BytesOfImage(std::span<const std::byte> image) {
  uint32_t compressed = 0;
  std::memcpy(&compressed, image.data(), sizeof(compressed));
  return compressed + kImageOverhead;
}

bool MayBeInUse(PageStore& store, std::span<const std::byte> bytes) {
  const PageHeader header = PageHeaderOf(bytes);
  const auto type = static_cast<PageType>(header.page_type);
  if (type == PageType::kNone || type > PageType::kOverflow) return false;
  return header.page_id < store.page_id_limit() && store.IsAllocated(PageId{header.page_id});
}

PageId IdOf(std::span<const std::byte> page) { return PageId{PageHeaderOf(page).page_id}; }

/// The places of the pages in use: for each, the slots whose page equals the one that the store
/// reads.
absl::StatusOr<std::vector<PlacedPage>> FindPages(PageStore& store, const DiskImage& data) {
  std::vector<PlacedPage> pages;
  AlignedBuffer read(kPage);
  std::vector<std::byte> blocks(2 * kPage);
  absl::Status status;
  const auto add = [&](const PlacedPage& place, std::span<const std::byte> page) {
    const absl::Status read_status = store.ReadPage(place.id, read.data());
    if (status.ok()) status = read_status;
    if (std::memcmp(read.data(), page.data(), kPage) == 0) pages.push_back(place);
  };
  for (uint64_t at = kHeaderAreaBytes; at + kPage <= data.size(); at += kPage) {
    const std::span<std::byte> bytes =
        std::span(blocks).first(std::min<uint64_t>(blocks.size(), data.size() - at));
    data.Read(at, bytes);
    for (uint32_t begin = 0; begin < kPage; begin += kPage / kSlotsOfCompressed) {
      if (begin + kPage > bytes.size()) break;
      const std::span<const std::byte> page = bytes.subspan(begin, kPage);
      if (MayBeInUse(store, page)) add({IdOf(page), at, begin}, page);
    }
    ForEachImage(bytes, kPage,
                 [&](uint32_t begin, std::span<const std::byte>, std::span<const std::byte> page) {
                   if (page.empty() || !MayBeInUse(store, page)) return;
                   add({IdOf(page), at, begin, BytesOfImage(bytes.subspan(begin))}, page);
                 });
    LATCHKEY_RETURN_IF_ERROR(status);
  }
  return pages;
}

class PageReader {
 public:
  PageReader(PageStore& store, BlockDevice& disk, const PlacedPage& page)
      : store_(store), disk_(disk), page_(page) {}

  absl::Status Load() {
    LATCHKEY_RETURN_IF_ERROR(store_.ReadPage(page_.id, page_bytes_.data()));
    return disk_.Read(page_.offset, sound_.span().first(BlockBytes()), IoClass::kMeta);
  }
  /// Whether the last read has given the page as it is.
  bool ReadIsRight() const { return std::memcmp(page_bytes_.data(), read_.data(), kPage) == 0; }

  /// *read: the status of reading the page with one bit of its blocks flipped.
  absl::Status ReadWithFlip(uint32_t byte, uint32_t bit, absl::Status* read) {
    const uint32_t sector = byte / DiskImage::kSector * DiskImage::kSector;
    std::memcpy(sector_.data(), sound_.data() + sector, DiskImage::kSector);
    sector_.data()[byte - sector] ^= std::byte(1u << bit);
    LATCHKEY_RETURN_IF_ERROR(Put(sector));
    *read = store_.ReadPage(page_.id, read_.data());
    std::memcpy(sector_.data(), sound_.data() + sector, DiskImage::kSector);
    return Put(sector);
  }

 private:
  size_t BlockBytes() const { return page_.begin + page_.bytes > kPage ? 2 * kPage : kPage; }
  absl::Status Put(uint32_t sector) {
    return disk_.Write(page_.offset + sector, sector_.span().first(DiskImage::kSector),
                       IoClass::kMeta);
  }

  PageStore& store_;
  BlockDevice& disk_;
  const PlacedPage page_;
  AlignedBuffer sound_{2 * kPage}, read_{kPage}, page_bytes_{kPage}, sector_{DiskImage::kSector};
};

absl::Status ReadAll(const CorruptionImage& image, CrashMachine& machine, uint64_t reads,
                     CorruptionTally* tally) {
  const DatabaseSubject subject({.layout = image.layout, .cleaners = 0});
  LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<DatabaseImpl> db,
                            subject.Open(image.seed, machine, /*create=*/false));
  // Before a checkpoint, pages that recovery has made again are in frames only.
  LATCHKEY_RETURN_IF_ERROR(db->Checkpoint());
  LATCHKEY_ASSIGN_OR_RETURN(const std::vector<PlacedPage> pages,
                            FindPages(db->store(), machine.disks->content(kDataDisk)));
  const std::unique_ptr<BlockDevice> disk = machine.disks->Open(kDataDisk);
  const uint64_t bits = pages.size() * kPage * 8;
  const uint64_t wanted = std::min(reads, bits);
  std::unique_ptr<PageReader> reader;
  uint64_t loaded = UINT64_MAX;
  for (uint64_t i = 0; i < wanted; ++i) {
    const uint64_t bit = static_cast<uint64_t>(static_cast<unsigned __int128>(bits) * i / wanted);
    const PlacedPage& page = pages[bit / (kPage * 8)];
    if (loaded != bit / (kPage * 8)) {
      loaded = bit / (kPage * 8);
      reader = std::make_unique<PageReader>(db->store(), *disk, page);
      LATCHKEY_RETURN_IF_ERROR(reader->Load());
    }
    const auto byte = page.begin + static_cast<uint32_t>(bit / 8 % kPage) % page.bytes;
    absl::Status read;
    LATCHKEY_RETURN_IF_ERROR(reader->ReadWithFlip(byte, static_cast<uint32_t>(bit % 8), &read));
    ++tally->reads;
    tally->reads_refused += absl::IsDataLoss(read);
    // Not every bit of an image counts: compressed bytes may say the same in two ways.
    const bool unharmed = page.is_image() && read.ok() && reader->ReadIsRight();
    tally->reads_unharmed += unharmed;
    if (absl::IsDataLoss(read) || unharmed) continue;
    return absl::InternalError(fmt::format("page {} read with bit {} of byte {} flipped gives {}",
                                           Raw(page.id), bit % 8, byte, read.ToString()));
  }
  machine.disks->PowerOff();
  return absl::OkStatus();
}

}  // namespace

void ReadDamagedPages(const CorruptionImage& image, uint64_t reads, CorruptionTally* tally,
                      std::string* failure) {
  if (reads == 0) return;
  CrashMachine machine(image.disks, image.seed, /*record=*/false, /*simulated=*/true);
  const absl::Status done =
      machine.RunInside([&] { return ReadAll(image, machine, reads, tally); });
  if (done.ok()) return;
  *failure =
      fmt::format("--layout={} --image={} --seeds={} --reads={}: {}", image.layout,
                  ImageStateName(image.state), image.seed, reads, std::string(done.message()));
}

}  // namespace latchkey
