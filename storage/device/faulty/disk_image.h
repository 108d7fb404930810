// DiskImage: the content of a device in blocks. Copies share a block until one of them writes it,
// so thousands of crash states of one disk take memory only for their differences.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace latchkey {

/// Zeros where nothing was written. Cheap to copy: one pointer per 4 KiB. Not thread-safe: copies
/// that share blocks belong to one actor, or their actors synchronise by themselves.
class DiskImage {
 public:
  static constexpr size_t kBlock = 4096;
  static constexpr size_t kSector = 512;

  DiskImage() = default;
  explicit DiskImage(uint64_t size_bytes) { Resize(size_bytes); }

  uint64_t size() const { return size_; }
  /// Changes the size. Bytes that are cut off are lost: regrown bytes are zeros.
  void Resize(uint64_t size_bytes);
  /// `out` may be memory that optimistic readers read. REQUIRES: inside the image.
  void Read(uint64_t offset, std::span<std::byte> out) const;
  /// Writes the part that lies inside the image; the rest is dropped, as in a shorter file.
  void Write(uint64_t offset, std::span<const std::byte> data);
  /// Flips bit `bit` (0 to 7) of one byte. REQUIRES: inside the image.
  void FlipBit(uint64_t offset, unsigned bit);
  /// A hash of size and content; equal images have equal hashes.
  uint64_t Hash() const;
  std::vector<std::byte> Bytes() const;

 private:
  struct Block {
    alignas(64) std::array<std::byte, kBlock> bytes{};
  };
  // The block, not shared with other images. `keeps_content`: the caller overwrites only a part.
  Block& Owned(size_t index, bool keeps_content);

  uint64_t size_ = 0;
  std::vector<std::shared_ptr<Block>> blocks_;  // null: zeros
};

}  // namespace latchkey
