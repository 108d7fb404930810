#include "storage/page_format.h"

#include <cstring>

#include "storage/base/canary.h"
#include "storage/base/hash.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

uint64_t ChecksumOf(std::span<const std::byte> page, uint64_t database_id) {
  return Hash64(page.data() + sizeof(uint64_t), page.size() - sizeof(uint64_t), database_id);
}

}  // namespace

void SealPage(std::span<std::byte> page, PageId id, uint32_t write_sequence, uint64_t database_id) {
  PageHeader header = PageHeaderOf(page);
  header.page_id = Raw(id);
  header.write_sequence = write_sequence;
  std::memcpy(page.data(), &header, sizeof(header));
  header.checksum = ChecksumOf(page, database_id);
  std::memcpy(page.data(), &header.checksum, sizeof(header.checksum));
}

void SealHeader(std::span<std::byte> header, std::span<const std::byte> rest, PageId id,
                uint32_t write_sequence, uint64_t database_id) {
  PageHeader sealed = PageHeaderOf(header);
  sealed.page_id = Raw(id);
  sealed.write_sequence = write_sequence;
  std::memcpy(header.data(), &sealed, sizeof(sealed));
  sealed.checksum = Hash64(header.subspan(sizeof(sealed.checksum)), rest, database_id);
  std::memcpy(header.data(), &sealed.checksum, sizeof(sealed.checksum));
}

absl::Status VerifyPage(std::span<const std::byte> page, PageId id, uint32_t expected_sequence,
                        uint64_t database_id) {
  const PageHeader header = PageHeaderOf(page);
  const uint64_t computed = ChecksumOf(page, database_id);
  if (header.checksum != computed && !LATCHKEY_CANARY("page-checksum-ignored")) {
    return MakeStatus(absl::StatusCode::kDataLoss,
                      "page {}: checksum mismatch: stored {:016x}, computed {:016x}: the page is "
                      "damaged or belongs to another database",
                      Raw(id), header.checksum, computed);
  }
  if (header.page_id != Raw(id) && !LATCHKEY_CANARY("page-identity-ignored")) {
    return MakeStatus(absl::StatusCode::kDataLoss,
                      "page {}: found page {} in its place: a write went astray", Raw(id),
                      header.page_id);
  }
  if (header.write_sequence != expected_sequence) {
    return MakeStatus(
        absl::StatusCode::kDataLoss,
        "page {}: found write {} of it, expected write {}: a write was lost or a read "
        "is stale",
        Raw(id), header.write_sequence, expected_sequence);
  }
  return absl::OkStatus();
}

}  // namespace latchkey
