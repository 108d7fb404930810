#include "tools/fuzz/fuzz_mutator.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace latchkey {
namespace {

constexpr uint64_t kLimits[] = {0,
                                1,
                                2,
                                7,
                                8,
                                16,
                                0x7f,
                                0x80,
                                0xff,
                                0x100,
                                0x1ff,
                                0x200,
                                0xfff,
                                0x1000,
                                0x7fff,
                                0x8000,
                                0xffff,
                                0x10000,
                                0x7fffffff,
                                0x80000000,
                                0xffffffff,
                                0x100000000,
                                0x7fffffffffffffff,
                                0x8000000000000000,
                                0xffffffffffffffff};

/// Prefers the beginning, where the headers are.
size_t Place(size_t size, Rng& rng) {
  size_t bound = size;
  if (rng.Below(2) == 0) bound = std::min<size_t>(bound, 128);
  return rng.Below(std::max<size_t>(bound, 1));
}

void FlipBit(std::string& bytes, Rng& rng) {
  if (!bytes.empty()) bytes[Place(bytes.size(), rng)] ^= static_cast<char>(1 << rng.Below(8));
}

void SetByte(std::string& bytes, Rng& rng) {
  if (!bytes.empty()) bytes[Place(bytes.size(), rng)] = static_cast<char>(rng.Next());
}

void SetInteger(std::string& bytes, Rng& rng) {
  const size_t size = size_t{1} << rng.Below(4);
  if (bytes.size() < size) return;
  size_t at = Place(bytes.size() - size + 1, rng);
  if (rng.Below(4) != 0) at -= at % size;
  uint64_t value = kLimits[rng.Below(std::size(kLimits))];
  if (rng.Below(3) == 0) {
    value = 0;
    std::memcpy(&value, bytes.data() + at, size);
    value += rng.Below(33) - 16;
  }
  std::memcpy(bytes.data() + at, &value, size);
}

void DropPiece(std::string& bytes, Rng& rng) {
  if (bytes.empty()) return;
  const size_t at = Place(bytes.size(), rng);
  bytes.erase(at, 1 + rng.Below(std::min<size_t>(bytes.size() - at, 64)));
}

void DoublePiece(std::string& bytes, Rng& rng) {
  if (bytes.empty()) return;
  const size_t at = Place(bytes.size(), rng);
  const std::string piece = bytes.substr(at, 1 + rng.Below(64));
  bytes.insert(Place(bytes.size() + 1, rng), piece);
}

void CutOff(std::string& bytes, Rng& rng) { bytes.resize(rng.Below(bytes.size() + 1)); }

void TakePiece(std::string& bytes, const std::string& from, Rng& rng) {
  if (from.empty() || bytes.empty()) return;
  const size_t begin = rng.Below(from.size()), at = rng.Below(bytes.size());
  const size_t most = std::min({from.size() - begin, bytes.size() - at, size_t{512}});
  bytes.replace(at, most, from, begin, most);
}

void Fill(std::string& bytes, Rng& rng) {
  if (bytes.empty()) return;
  const size_t at = Place(bytes.size(), rng);
  const size_t size = 1 + rng.Below(std::min<size_t>(bytes.size() - at, 256));
  std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), size,
              rng.Below(2) == 0 ? '\0' : static_cast<char>(rng.Next()));
}

}  // namespace

std::string Mutate(const std::vector<std::string>& seeds, size_t max_size, Rng& rng) {
  std::string bytes = seeds[rng.Below(seeds.size())];
  for (uint64_t n = 1 + rng.Below(rng.Below(4) == 0 ? 16 : 4); n > 0; --n) {
    switch (rng.Below(12)) {
      case 0:
      case 1:
        FlipBit(bytes, rng);
        break;
      case 2:
        SetByte(bytes, rng);
        break;
      case 3:
      case 4:
      case 5:
      case 6:
        SetInteger(bytes, rng);
        break;
      case 7:
        DropPiece(bytes, rng);
        break;
      case 8:
        DoublePiece(bytes, rng);
        break;
      case 9:
        TakePiece(bytes, seeds[rng.Below(seeds.size())], rng);
        break;
      case 10:
        Fill(bytes, rng);
        break;
      default:
        if (rng.Below(8) == 0) CutOff(bytes, rng);
        break;
    }
  }
  if (bytes.size() > max_size) bytes.resize(max_size);
  return bytes;
}

}  // namespace latchkey
