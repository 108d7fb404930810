// Every page that a damaged data file still proves, found by reading the whole file. If a page has
// several copies (an appending layout leaves old ones behind), the newest counts.
//
// Thread-safety: not thread-safe.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "engine/salvage/page_proof.h"
#include "storage/base/ids.h"
#include "storage/device/aligned_buffer.h"
#include "storage/page_format.h"

namespace latchkey {

/// How a page lies in the file: in a block; or with page compression in two, or as an image
/// (layout/image/page_image.h).
enum class PagePlace : uint8_t { kBlock, kBetweenBlocks, kImage };

/// The newest copy of a page.
struct SurveyedPage {
  PageId id = kInvalidPageId;
  uint64_t offset = 0;  ///< in the file, bytes
  uint64_t lsn = 0;
  TxnId last_writer{0};  ///< tree pages
  uint32_t sequence = 0;
  PageType type = PageType::kNone;
  uint8_t level = 0;      ///< tree pages: 0 = leaf
  PagePlace place = PagePlace::kBlock;
  bool outdated = false;  ///< a newer copy existed and is damaged
};

struct SurveyCounts {
  uint64_t places = 0;      ///< places where a page may be
  uint64_t proven = 0;      ///< places with a page that proves itself
  uint64_t old_copies = 0;  ///< part of `proven` that a newer copy supersedes
  uint64_t damaged = 0;     ///< places with page-like bytes that fail their proof
  uint64_t unreadable = 0;  ///< places where the device returned an error
};

class PageSurvey {
 public:
  /// Reads the whole device. `progress(done, total)`, in bytes, may end it with an error.
  static absl::StatusOr<std::unique_ptr<PageSurvey>> Read(
      BlockDevice& device, const PageProof& proof,
      absl::FunctionRef<absl::Status(uint64_t, uint64_t)> progress);

  uint32_t page_size() const { return proof_.page_size; }
  const SurveyCounts& counts() const { return counts_; }
  /// Ascending by id.
  std::span<const SurveyedPage> pages() const { return pages_; }
  /// nullptr = no copy of the page was found.
  const SurveyedPage* Find(PageId id) const;
  /// The bytes of a found page, valid until the next Load into the same buffer. DataLoss: it cannot
  /// be read again.
  absl::Status Load(const SurveyedPage& page, AlignedBuffer* buffer) const;
  /// Sets the content of a page that the device lacks or holds with other content.
  void Put(PageId id, std::vector<std::byte> bytes);
  BlockDevice& device() const { return device_; }

 private:
  PageSurvey(BlockDevice& device, const PageProof& proof) : device_(device), proof_(proof) {}

  void Look(std::span<const std::byte> bytes, uint64_t offset);
  void LookBetween(std::span<const std::byte> bytes, uint64_t offset);
  void Note(const SurveyedPage& found, bool holds);
  void ReadChunk(AlignedBuffer& chunk, uint64_t offset, uint64_t length, uint64_t ahead);
  absl::Status LoadBetween(const SurveyedPage& page, std::span<std::byte> out) const;
  /// Keeps the newest copy of each page, and marks pages whose newest copy is damaged as outdated.
  void Settle();

  BlockDevice& device_;
  const PageProof proof_;
  SurveyCounts counts_;
  std::vector<SurveyedPage> pages_;
  std::vector<SurveyedPage> damaged_;  // as their headers claim
  std::map<PageId, std::vector<std::byte>> put_;
};

}  // namespace latchkey
