#include "engine/salvage/page_proof.h"

#include <algorithm>
#include <cstring>

#include "engine/btree/node.h"
#include "layout/geometry.h"
#include "layout/image/page_image.h"
#include "storage/base/hash.h"
#include "storage/base/status_macros.h"
#include "storage/device/aligned_buffer.h"
#include "storage/page_format.h"

namespace latchkey {
namespace {

constexpr size_t kSamples = 24;
constexpr uint64_t kPlacesTried = 4096;

bool ChecksumHolds(std::span<const std::byte> page, uint64_t database_id) {
  const PageHeader header = PageHeaderOf(page);
  return VerifyPage(page, PageId{header.page_id}, header.write_sequence, database_id).ok();
}

/// Puts the last page that has an image in `block` into its place. False: there is none.
bool TakeImage(std::span<std::byte> block) {
  std::vector<std::byte> found;
  const auto page_size = static_cast<uint32_t>(block.size());
  ForEachImage(block, page_size,
               [&](uint32_t, std::span<const std::byte>, std::span<const std::byte> page) {
                 if (!page.empty() && LooksLikePage(page)) found.assign(page.begin(), page.end());
               });
  std::copy(found.begin(), found.end(), block.begin());
  return !found.empty();
}

/// Pages of the file that look like pages of size `page_size`, spread over it.
std::vector<AlignedBuffer> TakeSamples(BlockDevice& device, uint32_t page_size) {
  const uint64_t size = device.geometry().size_bytes;
  const uint64_t places = size <= kHeaderAreaBytes ? 0 : (size - kHeaderAreaBytes) / page_size;
  const uint64_t stride = std::max<uint64_t>(1, places / kPlacesTried);
  std::vector<AlignedBuffer> samples;
  AlignedBuffer page(page_size);
  for (uint64_t place = 0; place < places && samples.size() < kSamples; place += stride) {
    const uint64_t offset = kHeaderAreaBytes + place * page_size;
    if (!device.Read(offset, page.span(), IoClass::kSegmentRead).ok()) continue;
    bool is_page = LooksLikePage(page.span());
    if (!is_page) is_page = TakeImage(page.span());
    if (!is_page) continue;
    samples.push_back(std::move(page));
    page = AlignedBuffer(page_size);
  }
  return samples;
}

size_t CountProven(std::span<const AlignedBuffer> samples, uint64_t database_id) {
  return std::count_if(samples.begin(), samples.end(), [&](const AlignedBuffer& sample) {
    return ChecksumHolds(sample.span(), database_id);
  });
}

void AddWords(std::span<const std::byte> bytes, std::vector<uint64_t>* ids) {
  for (size_t at = 0; at + sizeof(uint64_t) <= bytes.size(); at += sizeof(uint64_t)) {
    uint64_t word;
    std::memcpy(&word, bytes.data() + at, sizeof(word));
    ids->push_back(word);
  }
}

/// All candidates for the database id: words of the superblock places, damaged or not, and the
/// hints.
std::vector<uint64_t> CandidateIds(BlockDevice& device, std::span<const std::byte> hints) {
  std::vector<uint64_t> ids;
  AlignedBuffer block(kSuperblockSize);
  for (const uint64_t generation : {0, 1}) {
    for (const int copy : {0, 1}) {
      const uint64_t offset = SuperblockOffset(generation, copy);
      if (!device.Read(offset, block.span(), IoClass::kMeta).ok()) continue;
      AddWords(std::span<const std::byte>(block.span()).first(256), &ids);
    }
  }
  AddWords(hints, &ids);
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

/// The id and page size that prove the most samples.
std::optional<PageProof> TryIds(BlockDevice& device, std::span<const uint64_t> ids) {
  std::optional<PageProof> best;
  size_t most = 0;
  for (uint32_t page_size = kMinPageSize; page_size <= kMaxPageSize; page_size *= 2) {
    const std::vector<AlignedBuffer> samples = TakeSamples(device, page_size);
    for (const uint64_t id : ids) {
      const size_t proven = CountProven(samples, id);
      if (proven <= most) continue;
      most = proven;
      best = PageProof{.page_size = page_size, .database_id = id};
    }
  }
  return best;
}

bool IsSoundLeaf(std::span<const std::byte> page, uint32_t page_size) {
  const LatchedNodeView node(page.data(), page_size);
  if (!node.is_leaf() || node.count() == 0) return false;
  std::string first, last;
  if (!node.AppendKey(0, &first) || !node.AppendKey(node.count() - 1, &last)) return false;
  last.push_back('\0');
  return node.Check({.lower = first, .upper = last}).ok();
}

/// The page size at which the most samples are leaves without a fault.
std::optional<PageProof> JudgeByLooks(BlockDevice& device) {
  std::optional<PageProof> best;
  size_t most = 0;
  for (uint32_t page_size = kMinPageSize; page_size <= kMaxPageSize; page_size *= 2) {
    const std::vector<AlignedBuffer> samples = TakeSamples(device, page_size);
    const size_t sound = std::count_if(
        samples.begin(), samples.end(),
        [&](const AlignedBuffer& sample) { return IsSoundLeaf(sample.span(), page_size); });
    if (sound <= most) continue;
    most = sound;
    best = PageProof{.page_size = page_size, .database_id = 0, .by_checksum = false};
  }
  return best;
}

}  // namespace

bool LooksLikePage(std::span<const std::byte> page) {
  const PageHeader header = PageHeaderOf(page);
  const bool known = header.page_type >= static_cast<uint8_t>(PageType::kTreeLeaf) &&
                     header.page_type <= static_cast<uint8_t>(PageType::kOverflow);
  return known && header.page_id < kMaxPageIds && header.write_sequence != 0 &&
         header.zero[0] == 0 && header.zero[1] == 0 && header.zero[2] == 0;
}

bool PageProof::Holds(std::span<const std::byte> page) const {
  if (!LooksLikePage(page)) return false;
  if (by_checksum) return ChecksumHolds(page, database_id);
  const auto type = static_cast<PageType>(PageHeaderOf(page).page_type);
  return type != PageType::kTreeLeaf || IsSoundLeaf(page, page_size);
}

std::optional<Superblock> FindAnySuperblock(BlockDevice& device) {
  std::optional<Superblock> newest;
  AlignedBuffer buffer(kSuperblockSize);
  for (const uint64_t generation : {0, 1}) {
    for (const int copy : {0, 1}) {
      const uint64_t offset = SuperblockOffset(generation, copy);
      if (!device.Read(offset, buffer.span(), IoClass::kMeta).ok()) continue;
      SuperblockLayout block;
      std::memcpy(&block, buffer.data(), sizeof(block));
      absl::StatusOr<Superblock> decoded = DecodeSuperblock(block);
      if (!decoded.ok() || (newest && newest->generation >= decoded->generation)) continue;
      newest = *std::move(decoded);
    }
  }
  return newest;
}

absl::StatusOr<PageProof> FindPageProof(BlockDevice& device,
                                        const std::optional<Superblock>& superblock,
                                        std::span<const std::byte> hints, bool without_proof) {
  if (superblock) {
    return PageProof{.page_size = superblock->page_size, .database_id = superblock->database_id};
  }
  if (const auto proof = TryIds(device, CandidateIds(device, hints))) return *proof;
  if (without_proof) {
    if (const auto proof = JudgeByLooks(device)) return *proof;
  }
  return MakeStatus(absl::StatusCode::kNotFound,
                    "no superblock is readable and no database id proves a page of {}: {}",
                    device.Describe(),
                    without_proof ? "nothing in it looks like a page either"
                                  : "--without-proof takes pages by their looks");
}

}  // namespace latchkey
