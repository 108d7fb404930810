#include "storage/device/faulty/disk_image.h"

#include <algorithm>
#include <cstring>

#include "storage/base/check.h"
#include "storage/base/hash.h"
#include "storage/base/racy_memory.h"

namespace latchkey {

DiskImage::Block& DiskImage::Owned(size_t index, bool keeps_content) {
  std::shared_ptr<Block>& block = blocks_[index];
  if (block == nullptr) {
    block = std::make_shared<Block>();
  } else if (block.use_count() > 1) {
    block = keeps_content ? std::make_shared<Block>(*block) : std::make_shared<Block>();
  }
  return *block;
}

void DiskImage::Resize(uint64_t size_bytes) {
  const size_t inside = size_bytes % kBlock;
  if (size_bytes < size_ && inside != 0 && blocks_[size_bytes / kBlock] != nullptr) {
    Block& cut = Owned(size_bytes / kBlock, true);
    std::memset(cut.bytes.data() + inside, 0, kBlock - inside);
  }
  blocks_.resize((size_bytes + kBlock - 1) / kBlock);
  size_ = size_bytes;
}

void DiskImage::Read(uint64_t offset, std::span<std::byte> out) const {
  LATCHKEY_CHECK(out.size() <= size_ && offset <= size_ - out.size());
  for (size_t done = 0; done < out.size();) {
    const uint64_t at = offset + done;
    const size_t in_block = at % kBlock;
    const size_t length = std::min(kBlock - in_block, out.size() - done);
    const Block* block = blocks_[at / kBlock].get();
    if (block == nullptr) {
      RacyZero(out.data() + done, length);
    } else {
      RacyCopyIn(out.data() + done, block->bytes.data() + in_block, length);
    }
    done += length;
  }
}

void DiskImage::Write(uint64_t offset, std::span<const std::byte> data) {
  if (offset >= size_) return;
  const size_t size = std::min<uint64_t>(data.size(), size_ - offset);
  for (size_t done = 0; done < size;) {
    const uint64_t at = offset + done;
    const size_t in_block = at % kBlock;
    const size_t length = std::min(kBlock - in_block, size - done);
    Block& block = Owned(at / kBlock, length < kBlock);
    RacyMove(block.bytes.data() + in_block, data.data() + done, length);
    done += length;
  }
}

void DiskImage::FlipBit(uint64_t offset, unsigned bit) {
  LATCHKEY_CHECK(offset < size_ && bit < 8);
  Owned(offset / kBlock, true).bytes[offset % kBlock] ^= std::byte(1u << bit);
}

uint64_t DiskImage::Hash() const {
  static const Block kZeros;
  uint64_t hash = MixHash(size_);
  for (const std::shared_ptr<Block>& block : blocks_) {
    hash = Hash64((block == nullptr ? kZeros : *block).bytes.data(), kBlock, hash);
  }
  return hash;
}

std::vector<std::byte> DiskImage::Bytes() const {
  std::vector<std::byte> bytes(size_);
  Read(0, bytes);
  return bytes;
}

}  // namespace latchkey
