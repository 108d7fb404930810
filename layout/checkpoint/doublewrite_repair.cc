#include "layout/checkpoint/doublewrite_repair.h"

#include <cstring>

#include "layout/checkpoint/superblock.h"
#include "layout/map/write_again.h"
#include "storage/base/canary.h"
#include "storage/base/status_macros.h"
#include "storage/page_format.h"

namespace latchkey {
namespace {

PageHeader HeaderOf(const std::byte* page) { return PageHeaderOf({page, kPageHeaderSize}); }

}  // namespace

absl::StatusOr<DoublewriteRepair> DoublewriteRepair::Read(PageDirectory& directory,
                                                          uint32_t area_pages) {
  const size_t page_size = directory.core().geometry.page_size;
  const size_t bytes = size_t{area_pages} * page_size;
  DoublewriteRepair repair(directory, 2 * bytes);
  if (area_pages == 0) return repair;
  for (const int area : {0, 1}) {
    std::byte* memory = repair.areas_.data() + static_cast<size_t>(area) * bytes;
    LATCHKEY_RETURN_IF_ERROR(
        directory.core().device.Read(DoublewriteOffset(area), {memory, bytes}, IoClass::kMeta));
    for (const std::byte* page = memory; page < memory + bytes; page += page_size) {
      if (repair.IsLogReach(page)) directory.core().NoteLogReach(Lsn{HeaderOf(page).lsn});
      repair.Consider(page);
    }
  }
  return repair;
}

bool DoublewriteRepair::ProvesItself(PageId id, const std::byte* page) const {
  const std::span<const std::byte> bytes(page, core_.geometry.page_size);
  return VerifyPage(bytes, id, HeaderOf(page).write_sequence, core_.database_id).ok();
}

// Whether `page` is a note of the log reach that belongs to the newest superblock. An older note
// may speak of an earlier log.
bool DoublewriteRepair::IsLogReach(const std::byte* page) const {
  const PageHeader header = HeaderOf(page);
  return static_cast<PageType>(header.page_type) == PageType::kLogReach &&
         header.write_sequence == static_cast<uint32_t>(core_.generation.load()) &&
         ProvesItself(kInvalidPageId, page);
}

// Notes the page if it is sound and no older than the map's write and the one noted before.
void DoublewriteRepair::Consider(const std::byte* page) {
  const PageHeader header = HeaderOf(page);
  const PageId id{header.page_id};
  if (header.page_id >= PageMap::kMaxIds || !ProvesItself(id, page)) return;
  LocationWord newest =
      Raw(id) < directory_.map().limit() ? directory_.map().Load(id) : LocationWord();
  const auto found = newest_.find(id);
  if (found != newest_.end()) newest = newest.WithSequence(HeaderOf(found->second).write_sequence);
  if (newest.sequence() == header.write_sequence || newest.OlderThan(header.write_sequence)) {
    newest_[id] = page;
  }
}

absl::Status DoublewriteRepair::SkipLostWrites() {
  for (const auto& [id, page] : newest_) {
    if (Raw(id) < directory_.map().limit() && directory_.map().Load(id).on_device()) continue;
    LATCHKEY_RETURN_IF_ERROR(
        directory_.map().Restore(id, LocationWord::Free(HeaderOf(page).write_sequence)));
  }
  return absl::OkStatus();
}

// Writes the page to its slot, unless the slot holds this write or a later one.
absl::Status DoublewriteRepair::RepairSlot(PageId id, const std::byte* page,
                                           AlignedBuffer& slot_page, bool* wrote) {
  const LocationWord word = directory_.map().Load(id);
  const uint64_t offset = core_.geometry.OffsetOf(word.slot());
  const uint32_t sequence = HeaderOf(page).write_sequence;
  LATCHKEY_RETURN_IF_ERROR(core_.device.Read(offset, slot_page.span(), IoClass::kMeta));
  const bool sound = ProvesItself(id, slot_page.data());
  const uint32_t in_slot = HeaderOf(slot_page.data()).write_sequence;
  uint32_t newest = sequence;
  if (sound && !word.WithSequence(in_slot).OlderThan(sequence)) {
    newest = in_slot;
  } else {
    LATCHKEY_RETURN_IF_ERROR(WriteRepeatedly([&] {
      return core_.device.Write(offset, {page, core_.geometry.page_size}, IoClass::kMeta);
    }));
    *wrote = true;
    LogTo(core_.log_sink, LogLevel::kWarning,
          fmt::format("recovery put page {} at write {} into its place from the doublewrite area: "
                      "there was {}",
                      Raw(id), sequence,
                      sound ? fmt::format("write {}", in_slot) : std::string("a torn page")));
  }
  if (newest == word.sequence()) return absl::OkStatus();
  const LocationWord now = word.WithSequence(newest);
  LATCHKEY_RETURN_IF_ERROR(directory_.map().Restore(id, now));
  directory_.journal()->NoteWord(id, now);
  return absl::OkStatus();
}

// Removes a page from its area. The map names fewer slots than the page needs: the page was
// appended whole, then written in place, and the crash took the journal entry of the append. So no
// commit needs this write. If it stayed in the area, the next recovery would take it for the newest.
absl::Status DoublewriteRepair::Erase(const std::byte* page, AlignedBuffer& zeros) {
  const size_t in_areas = static_cast<size_t>(page - areas_.data());
  const size_t area_bytes = areas_.size() / 2;
  const int area = in_areas < area_bytes ? 0 : 1;
  std::memset(zeros.data(), 0, zeros.size());
  return core_.device.Write(DoublewriteOffset(area) + in_areas % area_bytes, zeros.span(),
                            IoClass::kMeta);
}

absl::Status DoublewriteRepair::RepairSlots() {
  AlignedBuffer slot_page(core_.geometry.page_size);
  bool wrote = false;
  for (const auto& [id, page] : newest_) {
    const LocationWord word = directory_.map().Load(id);
    if (!word.on_device()) continue;
    if (!core_.geometry.IsBlock(word.slot(), word.slots())) {
      LATCHKEY_RETURN_IF_ERROR(Erase(page, slot_page));
      wrote = true;
      continue;
    }
    LATCHKEY_RETURN_IF_ERROR(RepairSlot(id, page, slot_page, &wrote));
  }
  if (LATCHKEY_CANARY("recovery-reuses-doublewrite-area") && areas_.size() > 0) {
    std::memset(areas_.data(), 0, areas_.size());
    return core_.device.Write(DoublewriteOffset(0), areas_.span(), IoClass::kMeta);
  }
  return wrote ? core_.device.Sync() : absl::OkStatus();
}

}  // namespace latchkey
