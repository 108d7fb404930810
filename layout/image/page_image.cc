#include "layout/image/page_image.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "storage/base/racy_memory.h"
#include "storage/base/status_macros.h"
#include "storage/page_format.h"

namespace latchkey {
namespace {

struct ImageHeader {
  uint32_t bytes;
  uint8_t codec;
  uint8_t zero[3];
};
static_assert(sizeof(ImageHeader) == 8);
static_assert(kImageOverhead == sizeof(ImageHeader) + kPageHeaderSize);

ImageHeader HeaderOf(std::span<const std::byte> image) {
  ImageHeader header;
  std::memcpy(&header, image.data(), sizeof(header));
  return header;
}

bool ProvesItself(std::span<const std::byte> page, uint64_t database_id) {
  const PageHeader header = PageHeaderOf(page);
  const auto type = static_cast<PageType>(header.page_type);
  return type != PageType::kNone && type <= PageType::kLogReach &&
         VerifyPage(page, PageId{header.page_id}, header.write_sequence, database_id).ok();
}

}  // namespace

PagePacker::PagePacker(const StoreGeometry& geometry, const PageCodecChoice& codec)
    : geometry_(geometry), codec_(codec) {
  if (geometry.compresses() && codec.entry().id != 0) {
    memory_.resize(geometry.page_size - geometry.slot_size());
  }
}

std::span<const std::byte> PagePacker::Pack() {
  if (memory_.empty()) return {};
  const std::span<std::byte> most(memory_);
  const std::span<const std::byte> rest(page_ + kPageHeaderSize,
                                        geometry_.page_size - kPageHeaderSize);
  const size_t bytes = codec_.entry().compress(rest, most.subspan(kImageOverhead), codec_.values());
  if (bytes == 0) return {};
  const ImageHeader header{static_cast<uint32_t>(bytes), codec_.entry().id, {}};
  std::memcpy(most.data(), &header, sizeof(header));
  std::memcpy(most.data() + sizeof(header), page_, kPageHeaderSize);
  return most.first(kImageOverhead + bytes);
}

void SealImage(std::span<std::byte> image, std::span<const std::byte> page, PageId id,
               uint32_t write_sequence, uint64_t database_id) {
  SealHeader(image.subspan(sizeof(ImageHeader), kPageHeaderSize), page.subspan(kPageHeaderSize), id,
             write_sequence, database_id);
}

IdleObjects<UnpackedPage::Memory>& UnpackedPage::IdleMemory() {
  static auto& idle = *new IdleObjects<Memory>;
  return idle;
}

UnpackedPage::UnpackedPage(uint32_t page_size)
    : memory_(IdleMemory().Take()), page_size_(page_size) {
  if (memory_ == nullptr) memory_.reset(new Memory);  // not zeroed
}

UnpackedPage::~UnpackedPage() { IdleMemory().Return(std::move(memory_)); }

absl::StatusOr<UnpackedPage> UnpackedPage::Of(std::span<const std::byte> slots, PageId id,
                                              uint32_t page_size) {
  const ImageHeader header = HeaderOf(slots);
  const PageCodecInfo* codec = FindPageCodec(header.codec);
  if (codec == nullptr || header.bytes > slots.size() - kImageOverhead) {
    return MakeStatus(absl::StatusCode::kDataLoss,
                      "page {}: found an image of {} bytes by codec {} in its place, in {} bytes: "
                      "it is damaged, or of a build with more codecs",
                      Raw(id), header.bytes, header.codec, slots.size());
  }
  UnpackedPage unpacked(page_size);
  const std::span<std::byte> page(unpacked.memory_->data(), page_size);
  std::memcpy(page.data(), slots.data() + sizeof(header), kPageHeaderSize);
  if (!codec->decompress(slots.subspan(kImageOverhead, header.bytes),
                         page.subspan(kPageHeaderSize))) {
    return MakeStatus(absl::StatusCode::kDataLoss, "page {}: its {} image of {} bytes is damaged",
                      Raw(id), codec->description.name, header.bytes);
  }
  return unpacked;
}

void ForEachImage(std::span<const std::byte> bytes, uint32_t page_size,
                  absl::FunctionRef<void(uint32_t offset, std::span<const std::byte> header,
                                         std::span<const std::byte> page)>
                      visit) {
  for (uint32_t offset = 0; offset < page_size; offset += page_size / kSlotsOfCompressed) {
    const std::span<const std::byte> slots =
        bytes.subspan(offset, std::min<size_t>(page_size, bytes.size() - offset));
    const ImageHeader header = HeaderOf(slots);
    if (FindPageCodec(header.codec) == nullptr || header.bytes > slots.size() - kImageOverhead)
      continue;
    const absl::StatusOr<UnpackedPage> page = UnpackedPage::Of(slots, PageId{0}, page_size);
    visit(offset, slots.subspan(sizeof(header), kPageHeaderSize),
          page.ok() ? page->span() : std::span<const std::byte>());
  }
}

void ForEachProvenPage(
    std::span<const std::byte> bytes, uint32_t page_size, uint64_t database_id,
    absl::FunctionRef<void(uint32_t offset, uint32_t taken, std::span<const std::byte> page)>
        visit) {
  const uint32_t slot_size = page_size / kSlotsOfCompressed;
  for (uint32_t at = 0; at < page_size && at + page_size <= bytes.size(); at += slot_size) {
    const std::span<const std::byte> page = bytes.subspan(at, page_size);
    if (ProvesItself(page, database_id)) visit(at, page_size, page);
  }
  ForEachImage(bytes, page_size,
               [&](uint32_t at, std::span<const std::byte>, std::span<const std::byte> page) {
                 if (page.empty() || !ProvesItself(page, database_id)) return;
                 const size_t image = kImageOverhead + HeaderOf(bytes.subspan(at)).bytes;
                 visit(at, static_cast<uint32_t>(image), page);
               });
}

absl::Status UnpackPage(std::span<const std::byte> slots, PageId id, std::span<std::byte> out) {
  LATCHKEY_ASSIGN_OR_RETURN(const UnpackedPage page,
                            UnpackedPage::Of(slots, id, static_cast<uint32_t>(out.size())));
  RacyCopyIn(out.data(), page.span().data(), out.size());
  return absl::OkStatus();
}

}  // namespace latchkey
