#include "engine/salvage/page_survey.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/btree/node.h"
#include "layout/geometry.h"
#include "layout/image/page_image.h"
#include "layout/map/location_word.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

constexpr uint64_t kChunkBytes = uint64_t{4} << 20;

/// Write sequences wrap. The newer one is ahead by less than half a round.
bool IsNewer(uint32_t a, uint32_t b) {
  constexpr uint32_t kRound = uint32_t{1} << LocationWord::kSequenceBits;
  return a != b && ((a - b) & (kRound - 1)) < kRound / 2;
}

SurveyedPage DescribeHeader(std::span<const std::byte> page, uint64_t offset) {
  const PageHeader header = PageHeaderOf(page);
  SurveyedPage found{.id = PageId{header.page_id}, .offset = offset, .lsn = header.lsn};
  found.sequence = header.write_sequence;
  found.type = static_cast<PageType>(header.page_type);
  return found;
}

SurveyedPage Describe(std::span<const std::byte> page, uint32_t page_size, uint64_t offset) {
  SurveyedPage found = DescribeHeader(page, offset);
  if (found.type == PageType::kTreeLeaf || found.type == PageType::kTreeInner) {
    const NodeView node(page.data(), page_size);
    found.level = static_cast<uint8_t>(node.level());
    found.last_writer = node.last_writer();
  }
  return found;
}

}  // namespace

// `bytes`: the block at `offset`, and the one behind it unless the file ends there.
void PageSurvey::Look(std::span<const std::byte> bytes, uint64_t offset) {
  const std::span<const std::byte> block = bytes.first(proof_.page_size);
  ++counts_.places;
  if (!LooksLikePage(block)) return LookBetween(bytes, offset);
  Note(Describe(block, proof_.page_size, offset), proof_.Holds(block));
}

// With page compression pages and images begin anywhere in a block.
void PageSurvey::LookBetween(std::span<const std::byte> bytes, uint64_t offset) {
  const uint32_t page_size = proof_.page_size;
  for (uint32_t at = page_size / kSlotsOfCompressed;
       at < page_size && at + page_size <= bytes.size(); at += page_size / kSlotsOfCompressed) {
    const std::span<const std::byte> page = bytes.subspan(at, page_size);
    if (!LooksLikePage(page) || !proof_.Holds(page)) continue;
    SurveyedPage found = Describe(page, page_size, offset + at);
    found.place = PagePlace::kBetweenBlocks;
    Note(found, /*holds=*/true);
  }
  ForEachImage(
      bytes, page_size,
      [&](uint32_t at, std::span<const std::byte> header, std::span<const std::byte> page) {
        if (!LooksLikePage(header)) return;
        const bool holds = !page.empty() && proof_.Holds(page);
        SurveyedPage found =
            holds ? Describe(page, page_size, offset + at) : DescribeHeader(header, offset + at);
        found.place = PagePlace::kImage;
        Note(found, holds);
      });
}

void PageSurvey::Note(const SurveyedPage& found, bool holds) {
  ++(holds ? counts_.proven : counts_.damaged);
  (holds ? pages_ : damaged_).push_back(found);
}

// Reads blocks from `offset` on, `length` bytes, and looks at each. `ahead` bytes behind them are
// read, too.
void PageSurvey::ReadChunk(AlignedBuffer& chunk, uint64_t offset, uint64_t length, uint64_t ahead) {
  const uint32_t page_size = proof_.page_size;
  const uint64_t known = length + ahead;
  const bool whole = device_.Read(offset, chunk.span().first(known), IoClass::kSegmentRead).ok();
  std::vector<bool> unreadable(known / page_size, false);
  for (uint64_t at = 0; !whole && at + page_size <= known; at += page_size) {
    const std::span<std::byte> block = chunk.span().subspan(at, page_size);
    if (device_.Read(offset + at, block, IoClass::kSegmentRead).ok()) continue;
    std::memset(block.data(), 0, page_size);
    unreadable[at / page_size] = true;
  }
  for (uint64_t at = 0; at + page_size <= length; at += page_size) {
    if (unreadable[at / page_size]) {
      ++counts_.places;
      ++counts_.unreadable;
      continue;
    }
    Look(chunk.span().subspan(at, std::min<uint64_t>(2 * page_size, known - at)), offset + at);
  }
}

void PageSurvey::Settle() {
  const auto by_id = [](const SurveyedPage& a, const SurveyedPage& b) { return a.id < b.id; };
  std::stable_sort(pages_.begin(), pages_.end(), by_id);
  size_t kept = 0;
  for (const SurveyedPage& page : pages_) {
    if (kept > 0 && pages_[kept - 1].id == page.id) {
      ++counts_.old_copies;
      if (IsNewer(page.sequence, pages_[kept - 1].sequence)) pages_[kept - 1] = page;
    } else {
      pages_[kept++] = page;
    }
  }
  pages_.resize(kept);
  for (const SurveyedPage& claim : std::exchange(damaged_, {})) {
    const auto it = std::lower_bound(pages_.begin(), pages_.end(), claim, by_id);
    if (it == pages_.end() || it->id != claim.id) continue;
    if (IsNewer(claim.sequence, it->sequence)) it->outdated = true;
  }
}

absl::StatusOr<std::unique_ptr<PageSurvey>> PageSurvey::Read(
    BlockDevice& device, const PageProof& proof,
    absl::FunctionRef<absl::Status(uint64_t, uint64_t)> progress) {
  std::unique_ptr<PageSurvey> survey(new PageSurvey(device, proof));
  AlignedBuffer chunk(kChunkBytes + proof.page_size);
  const uint64_t end = device.geometry().size_bytes / proof.page_size * proof.page_size;
  for (uint64_t offset = kHeaderAreaBytes; offset < end; offset += kChunkBytes) {
    const uint64_t length = std::min(kChunkBytes, end - offset);
    const uint64_t ahead = std::min<uint64_t>(proof.page_size, end - offset - length);
    survey->ReadChunk(chunk, offset, length, ahead);
    LATCHKEY_RETURN_IF_ERROR(progress(offset, end));
  }
  // If an in-place write of a page was torn, its newest copy is the one in a doublewrite area.
  for (const int area : {0, 1}) {
    const uint64_t length = uint64_t{DoublewriteCapacity(proof.page_size)} * proof.page_size;
    survey->ReadChunk(chunk, DoublewriteOffset(area), length, /*ahead=*/0);
  }
  survey->Settle();
  return survey;
}

const SurveyedPage* PageSurvey::Find(PageId id) const {
  const auto it =
      std::lower_bound(pages_.begin(), pages_.end(), id,
                       [](const SurveyedPage& page, PageId wanted) { return page.id < wanted; });
  return it != pages_.end() && it->id == id ? &*it : nullptr;
}

void PageSurvey::Put(PageId id, std::vector<std::byte> bytes) {
  SurveyedPage page = Describe(bytes, proof_.page_size, /*offset=*/0);
  page.id = id;
  const auto it =
      std::lower_bound(pages_.begin(), pages_.end(), id,
                       [](const SurveyedPage& found, PageId wanted) { return found.id < wanted; });
  if (it != pages_.end() && it->id == id) {
    page.outdated = it->outdated;
    *it = page;
  } else {
    pages_.insert(it, page);
  }
  put_[id] = std::move(bytes);
}

absl::Status PageSurvey::LoadBetween(const SurveyedPage& page, std::span<std::byte> out) const {
  const uint64_t in_block = (page.offset - kHeaderAreaBytes) % proof_.page_size;
  const uint64_t begin = page.offset - in_block;
  AlignedBuffer blocks(2 * proof_.page_size);
  const uint64_t known = std::min<uint64_t>(blocks.size(), device_.geometry().size_bytes - begin) /
                         proof_.page_size * proof_.page_size;
  LATCHKEY_RETURN_IF_ERROR(device_.Read(begin, blocks.span().first(known), IoClass::kSegmentRead));
  const std::span<const std::byte> found = blocks.span().first(known).subspan(in_block);
  if (page.place == PagePlace::kImage) {
    return UnpackPage(found.first(std::min<size_t>(found.size(), out.size())), page.id, out);
  }
  std::copy_n(found.begin(), std::min(found.size(), out.size()), out.begin());
  return absl::OkStatus();
}

absl::Status PageSurvey::Load(const SurveyedPage& page, AlignedBuffer* buffer) const {
  if (buffer->size() != proof_.page_size) *buffer = AlignedBuffer(proof_.page_size);
  if (const auto put = put_.find(page.id); put != put_.end()) {
    std::memcpy(buffer->data(), put->second.data(), buffer->size());
    return absl::OkStatus();
  }
  if (page.place == PagePlace::kBlock) {
    LATCHKEY_RETURN_IF_ERROR(device_.Read(page.offset, buffer->span(), IoClass::kSegmentRead));
  } else {
    LATCHKEY_RETURN_IF_ERROR(LoadBetween(page, buffer->span()));
  }
  if (proof_.Holds(buffer->span())) return absl::OkStatus();
  return MakeStatus(absl::StatusCode::kDataLoss, "page {} changed while it was being salvaged",
                    Raw(page.id));
}

}  // namespace latchkey
