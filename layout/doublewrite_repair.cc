// Repair after a crash: the doublewrite areas hold the pages that were being written in place.
#include <cstring>
#include <map>

#include "layout/doublewriter.h"
#include "layout/write_again.h"
#include "storage/base/canary.h"
#include "storage/base/status_macros.h"
#include "storage/device/aligned_buffer.h"
#include "storage/page_format.h"

namespace latchkey {
namespace {

using PagesInArea = std::map<PageId, const std::byte*>;

PageHeader HeaderOf(const std::byte* page) {
  PageHeader header;
  std::memcpy(&header, page, sizeof(header));
  return header;
}

bool ProvesItself(const StoreCore& core, PageId id, const std::byte* page) {
  const std::span<const std::byte> bytes(page, core.geometry.page_size);
  return VerifyPage(bytes, id, HeaderOf(page).write_sequence, core.database_id).ok();
}

// Notes the page if it is sound and no older than the map's write and the one noted before.
void Consider(const StoreCore& core, const std::byte* page, PagesInArea& pages) {
  const PageHeader header = HeaderOf(page);
  const PageId id{header.page_id};
  if (!core.map.IsAllocated(id) || !ProvesItself(core, id, page)) return;
  PageWord newest = core.map.Load(id);
  const auto found = pages.find(id);
  if (found != pages.end()) newest = newest.WithSequence(HeaderOf(found->second).write_sequence);
  if (newest.sequence() == header.write_sequence || newest.OlderThan(header.write_sequence)) {
    pages[id] = page;
  }
}

// Whether `page` is a note of the log reach that belongs to the newest superblock. An older note
// may speak of an earlier log.
bool IsLogReach(const StoreCore& core, const std::byte* page) {
  const PageHeader header = HeaderOf(page);
  return static_cast<PageType>(header.page_type) == PageType::kLogReach &&
         header.write_sequence == static_cast<uint32_t>(core.generation.load()) &&
         ProvesItself(core, kInvalidPageId, page);
}

// Writes the page to its slot, unless the slot holds this write or a later one.
absl::Status Repair(StoreCore& core, PageId id, const std::byte* page, AlignedBuffer& slot_page,
                    bool* wrote) {
  const PageWord word = core.map.Load(id);
  const uint64_t offset = core.geometry.OffsetOf(word.slot());
  const uint32_t sequence = HeaderOf(page).write_sequence;
  LATCHKEY_RETURN_IF_ERROR(core.device.Read(offset, slot_page.span(), IoClass::kMeta));
  const bool sound = ProvesItself(core, id, slot_page.data());
  const uint32_t in_slot = HeaderOf(slot_page.data()).write_sequence;
  uint32_t newest = sequence;
  if (sound && !word.WithSequence(in_slot).OlderThan(sequence)) {
    newest = in_slot;
  } else {
    LATCHKEY_RETURN_IF_ERROR(WriteRepeatedly([&] {
      return core.device.Write(offset, {page, core.geometry.page_size}, IoClass::kMeta);
    }));
    *wrote = true;
    LogTo(core.log_sink, LogLevel::kWarning,
          fmt::format("recovery put page {} at write {} into its place from the doublewrite area: "
                      "there was {}",
                      Raw(id), sequence,
                      sound ? fmt::format("write {}", in_slot) : std::string("a torn page")));
  }
  if (newest == word.sequence()) return absl::OkStatus();
  const PageWord now = word.WithSequence(newest);
  LATCHKEY_RETURN_IF_ERROR(core.map.Restore(id, now));
  core.journal->NoteWord(id, now);
  return absl::OkStatus();
}

}  // namespace

absl::Status RepairFromDoublewriteAreas(StoreCore& core, uint32_t area_pages) {
  if (area_pages == 0) return absl::OkStatus();
  const size_t bytes = size_t{area_pages} * core.geometry.page_size;
  AlignedBuffer areas(2 * bytes);
  PagesInArea pages;
  for (const int area : {0, 1}) {
    std::byte* memory = areas.data() + static_cast<size_t>(area) * bytes;
    LATCHKEY_RETURN_IF_ERROR(
        core.device.Read(DoublewriteOffset(area), {memory, bytes}, IoClass::kMeta));
    for (uint32_t i = 0; i < area_pages; ++i) {
      const std::byte* page = memory + size_t{i} * core.geometry.page_size;
      if (IsLogReach(core, page)) core.NoteLogReach(Lsn{HeaderOf(page).lsn});
      Consider(core, page, pages);
    }
  }
  AlignedBuffer slot_page(core.geometry.page_size);
  bool wrote = false;
  for (const auto& [id, page] : pages) {
    if (!core.map.Load(id).on_device()) continue;
    LATCHKEY_RETURN_IF_ERROR(Repair(core, id, page, slot_page, &wrote));
  }
  if (LATCHKEY_CANARY("recovery-reuses-doublewrite-area")) {
    std::memset(areas.data(), 0, 2 * bytes);
    return core.device.Write(DoublewriteOffset(0), {areas.data(), bytes}, IoClass::kMeta);
  }
  return wrote ? core.device.Sync() : absl::OkStatus();
}

}  // namespace latchkey
