#include "tools/campaign/crash/crash_monitor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "engine/log/client_root.h"
#include "layout/checkpoint/superblock.h"
#include "layout/geometry.h"
#include "layout/image/page_image.h"
#include "layout/map/map_journal.h"
#include "storage/page_format.h"

namespace latchkey {
namespace {

enum class Place { kSuperblock, kDoublewriteArea, kSlot };

Place PlaceOf(uint64_t offset) {
  if (offset >= kHeaderAreaBytes) return Place::kSlot;
  return offset % kHeaderHalfBytes < kSuperblocksBytes ? Place::kSuperblock
                                                       : Place::kDoublewriteArea;
}

bool IsLogged(const PageHeader& header) {
  const auto type = static_cast<PageType>(header.page_type);
  return type == PageType::kTreeLeaf || type == PageType::kTreeInner || type == PageType::kOverflow;
}

bool IsOfCheckpoint(const PageHeader& header) {
  return static_cast<PageType>(header.page_type) == PageType::kPageMap;
}

}  // namespace

// ---- One log

bool IsLogHeader(const LogGeometry& geometry, uint64_t offset) {
  return offset < kLogSegmentsBegin || (offset - kLogSegmentsBegin) % geometry.segment_bytes == 0;
}

std::optional<GroupHeader> LogProgress::GroupIn(uint64_t offset,
                                                std::span<const std::byte> bytes) const {
  if (IsLogHeader(geometry_, offset)) return std::nullopt;
  return DecodeAnyGroupHeader(bytes.data(), database_id_, geometry_.block_bytes);
}

void LogProgress::OnSubmitted(uint64_t offset, std::span<const std::byte> bytes) {
  const std::optional<GroupHeader> group = GroupIn(offset, bytes);
  if (!group) return;
  if (!known_ || group->lsn == 0) durable_end_ = group->lsn;
  known_ = true;
  // The parts of a group are submitted in their order and may complete in any other.
  group_end_ = group->lsn + group->bytes;
  group_missing_ = group->bytes;
}

void LogProgress::OnCompleted(uint64_t offset, std::span<const std::byte> bytes, uint64_t write) {
  if (IsLogHeader(geometry_, offset) || group_missing_ == 0) return;  // no part of a group
  group_missing_ -= std::min<uint64_t>(group_missing_, bytes.size());
  if (group_missing_ == 0) completed_.emplace_back(write, group_end_);
}

void LogProgress::OnDurable(uint64_t writes) {
  while (!completed_.empty() && completed_.front().first <= writes) {
    durable_end_ = completed_.front().second;
    completed_.pop_front();
  }
}

// ---- All three disks

WriteOrderMonitor::WriteOrderMonitor(const DatabaseOnDisks& database)
    : database_(database),
      log_(database.log, database.database_id),
      journal_(database.journal, database.database_id) {}

std::string WriteOrderMonitor::OnWriteSubmitted(uint32_t disk, uint64_t offset,
                                                std::span<const std::byte> bytes) {
  switch (disk) {
    case DatabaseOnDisks::kData:
      return OnDataSubmitted(offset, bytes);
    case DatabaseOnDisks::kLog:
      log_.OnSubmitted(offset, bytes);
      return {};
    default: {
      journal_.OnSubmitted(offset, bytes);
      const std::optional<GroupHeader> group = journal_.GroupIn(offset, bytes);
      return group ? OnJournalGroup(*group, bytes) : std::string();
    }
  }
}

void WriteOrderMonitor::OnWriteCompleted(uint32_t disk, uint64_t offset,
                                         std::span<const std::byte> bytes, uint64_t write) {
  if (disk == DatabaseOnDisks::kData) return Note(offset, bytes, write);
  (disk == DatabaseOnDisks::kLog ? log_ : journal_).OnCompleted(offset, bytes, write);
}

void WriteOrderMonitor::OnDurable(uint32_t disk, uint64_t writes) {
  if (disk == DatabaseOnDisks::kData) {
    durable_ = writes;
  } else {
    (disk == DatabaseOnDisks::kLog ? log_ : journal_).OnDurable(writes);
  }
}

// Visits the pages of a write. In a file with page compression they begin at any slot, so those are
// pages that prove themselves.
void WriteOrderMonitor::ForEachPage(
    std::span<const std::byte> bytes,
    absl::FunctionRef<void(uint64_t offset, PageHeader header)> visit) const {
  const uint32_t page_size = database_.page_size;
  for (size_t at = 0; at + page_size <= bytes.size(); at += page_size) {
    if (!database_.compresses) {
      visit(at, PageHeaderOf(bytes.subspan(at)));
      continue;
    }
    const size_t known = std::min<size_t>(2 * page_size, bytes.size() - at);
    ForEachProvenPage(bytes.subspan(at, known), page_size, database_.database_id,
                      [&](uint32_t in_block, uint32_t, std::span<const std::byte> page) {
                        visit(at + in_block, PageHeaderOf(page));
                      });
  }
}

std::string WriteOrderMonitor::OnDataSubmitted(uint64_t offset, std::span<const std::byte> bytes) {
  std::string violation;
  if (PlaceOf(offset) == Place::kSuperblock) {
    violation = OnSuperblock(bytes);
  } else {
    ForEachPage(bytes, [&](uint64_t at, PageHeader header) {
      if (violation.empty()) violation = OnPage(offset + at, header);
    });
  }
  Note(offset, bytes, kInFlight);
  return violation;
}

std::string WriteOrderMonitor::OnPage(uint64_t offset, const PageHeader& header) {
  if (!IsLogged(header)) return {};
  if (log_.known() && header.lsn >= log_.durable_end()) {
    return fmt::format("page {} with LSN {} is written to {} while the log is durable up to {}",
                       header.page_id, header.lsn, offset, log_.durable_end());
  }
  if (PlaceOf(offset) != Place::kSlot) return {};
  const auto copy = doublewrite_.find(header.page_id);
  if (copy == doublewrite_.end() || copy->second.sequence != header.write_sequence ||
      IsDurable(copy->second.number)) {
    return {};
  }
  return fmt::format(
      "write {} of page {} goes to its slot at {} before the doublewrite area is durable",
      header.write_sequence, header.page_id, offset);
}

std::string WriteOrderMonitor::OnSuperblock(std::span<const std::byte> block) {
  if (!IsDurable(superblock_))
    return "a superblock is written before the copy before it is durable";
  SuperblockLayout bytes;
  if (block.size() != sizeof(bytes)) return "a superblock is written together with something else";
  std::memcpy(&bytes, block.data(), sizeof(bytes));
  const SuperblockLayout blank = BlankSuperblock();
  if (std::memcmp(&bytes, &blank, sizeof(bytes)) == 0) return {};
  const absl::StatusOr<Superblock> superblock = DecodeSuperblock(bytes);
  if (!superblock.ok()) return "a superblock is written that cannot be read";
  const uint64_t generation = superblock->generation;
  if (superblock->checkpoint_generation == checkpoint_generation_) {
    for (const auto& [offset, write] : checkpoint_) {
      if (IsDurable(write.number)) continue;
      return fmt::format("superblock {} names a checkpoint that is not durable at {}", generation,
                         offset);
    }
  }
  if (journal_.known() && superblock->crash_safe &&
      superblock->journal_start > journal_.durable_end()) {
    return fmt::format("superblock {} begins the journal at {}, which is durable up to {}",
                       generation, superblock->journal_start, journal_.durable_end());
  }
  if (superblock->client_root.empty() || !log_.known()) return {};
  const absl::StatusOr<ClientRoot> root = DecodeClientRoot(superblock->client_root);
  if (!root.ok()) return "a superblock is written with a client root that cannot be read";
  if (!root->has_log || Raw(root->end) <= log_.durable_end()) return {};
  return fmt::format("superblock {} names the log up to {}, which is durable up to {}", generation,
                     Raw(root->end), log_.durable_end());
}

std::string WriteOrderMonitor::OnJournalGroup(const GroupHeader& group,
                                              std::span<const std::byte> bytes) const {
  uint64_t at = kGroupHeaderBytes;
  for (uint32_t i = 0; i < group.records && at < bytes.size(); ++i) {
    // A group that crosses into another segment comes in two writes. Reads whole records only.
    if (at + kRecordHeaderBytes > bytes.size()) break;
    uint32_t size = 0;
    std::memcpy(&size, bytes.data() + at, sizeof(size));
    at += kRecordHeaderBytes;
    if (at + size > bytes.size()) break;
    for (size_t entry = 0; entry + sizeof(JournalEntry) <= size; entry += sizeof(JournalEntry)) {
      JournalEntry decoded;
      std::memcpy(&decoded, bytes.data() + at + entry, sizeof(decoded));
      std::string violation = OnJournalEntry(decoded);
      if (!violation.empty()) return violation;
    }
    at += size;
  }
  return {};
}

std::string WriteOrderMonitor::OnJournalEntry(const JournalEntry& entry) const {
  const LocationWord word(entry.value);
  if (entry.type() != JournalEntry::Type::kPage || !word.on_device()) return {};
  const auto slot = slots_.find(kHeaderAreaBytes + Raw(word.slot()) * slot_size());
  // A later write of the page to the same slot may be in flight.
  if (slot == slots_.end() || slot->second.page != entry.id() ||
      slot->second.sequence != word.sequence() || IsDurable(slot->second.number)) {
    return {};
  }
  return fmt::format("the map journal names write {} of page {} in slot {} before it is durable",
                     word.sequence(), entry.id(), Raw(word.slot()));
}

void WriteOrderMonitor::Note(uint64_t offset, std::span<const std::byte> bytes, uint64_t number) {
  const Place place = PlaceOf(offset);
  if (place == Place::kSuperblock) {
    superblock_ = number;
    return;
  }
  ForEachPage(bytes, [&](uint64_t at, PageHeader header) {
    const LastWrite write{header.page_id, header.write_sequence, number};
    if (IsOfCheckpoint(header)) {
      if (header.lsn != checkpoint_generation_) checkpoint_.clear();
      checkpoint_generation_ = header.lsn;
      checkpoint_[offset + at] = write;
    } else if (place == Place::kDoublewriteArea) {
      doublewrite_[header.page_id] = write;
    } else {
      slots_[offset + at] = write;
    }
  });
}

}  // namespace latchkey
