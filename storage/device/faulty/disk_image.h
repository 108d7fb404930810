// DiskImage: the content of a device in blocks that copies share until one of them is written, so
// that thousands of crash states of one disk cost what differs between them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace latchkey {

/// Zeros where nothing was written. Cheap to copy: one pointer per 4 KiB. Not thread-safe; copies
/// that share blocks belong to one actor, or are handed over with whatever orders their actors.
class DiskImage {
 public:
  static constexpr size_t kBlock = 4096;
  static constexpr size_t kSector = 512;

  DiskImage() = default;
  explicit DiskImage(uint64_t size_bytes) { Resize(size_bytes); }

  uint64_t size() const { return size_; }
  /// What is cut off is forgotten: regrown bytes are zeros.
  void Resize(uint64_t size_bytes);
  /// `out` may be memory that optimistic readers look at. REQUIRES: inside the image.
  void Read(uint64_t offset, std::span<std::byte> out) const;
  /// The part that lies inside the image; the rest is dropped, as by a file that is shorter.
  void Write(uint64_t offset, std::span<const std::byte> data);
  /// Flips bit `bit` (0 to 7) of one byte. REQUIRES: inside the image.
  void FlipBit(uint64_t offset, unsigned bit);
  /// Of size and content; equal images have equal hashes.
  uint64_t Hash() const;
  std::vector<std::byte> Bytes() const;

 private:
  struct Block {
    alignas(64) std::array<std::byte, kBlock> bytes{};
  };
  // A block that nobody else holds. `keeps_content`: what is in it will not be overwritten wholly.
  Block& Owned(size_t index, bool keeps_content);

  uint64_t size_ = 0;
  std::vector<std::shared_ptr<Block>> blocks_;  // null: zeros
};

}  // namespace latchkey
