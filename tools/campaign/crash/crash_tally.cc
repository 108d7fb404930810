#include "tools/campaign/crash/crash_tally.h"

#include <absl/container/flat_hash_map.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "engine/log/log_record.h"
#include "layout/geometry.h"

namespace latchkey {
namespace {

using Counter = std::pair<const char*, uint64_t CrashTally::*>;
constexpr std::array<Counter, 28> kCounters = {{
    {"commits", &CrashTally::commits},
    {"rollbacks", &CrashTally::rollbacks},
    {"aborts", &CrashTally::aborts},
    {"savepoint_rollbacks", &CrashTally::savepoint_rollbacks},
    {"loads", &CrashTally::loads},
    {"values_in_parts", &CrashTally::values_in_parts},
    {"waiting_puts", &CrashTally::waiting_puts},
    {"checkpoints", &CrashTally::checkpoints},
    {"drops", &CrashTally::drops},
    {"splits", &CrashTally::splits},
    {"merges", &CrashTally::merges},
    {"overflow_pages", &CrashTally::overflow_pages},
    {"page_loads", &CrashTally::page_loads},
    {"page_cleanings", &CrashTally::page_cleanings},
    {"in_place", &CrashTally::in_place},
    {"into_holes", &CrashTally::into_holes},
    {"appended", &CrashTally::appended},
    {"moved", &CrashTally::moved},
    {"segments_cleaned", &CrashTally::segments_cleaned},
    {"holes_plugged", &CrashTally::holes_plugged},
    {"doublewritten", &CrashTally::doublewritten},
    {"growths", &CrashTally::growths},
    {"cuts", &CrashTally::cuts},
    {"discards", &CrashTally::discards},
    {"log_slots_reused", &CrashTally::log_slots_reused},
    {"journal_slots_reused", &CrashTally::journal_slots_reused},
    {"pages_repaired", &CrashTally::pages_repaired},
    {"pages_from_images", &CrashTally::pages_from_images},
}};

void AddRecord(std::span<const std::byte> bytes, CrashTally* tally) {
  LogRecord record;
  if (!DecodeLogRecord(bytes, &record).ok()) return;
  switch (record.header.type) {
    case LogRecordType::kImages:
      // A split of a root logs the root and both halves, as any split does if images are wanted.
      // A merge logs two pages. A page of a long value is alone.
      tally->splits += record.images.size() == 3 && record.pages.empty();
      tally->merges += record.images.size() == 2 && record.pages.size() == 1;
      break;
    case LogRecordType::kSplit:
      ++tally->splits;
      break;
    case LogRecordType::kAllocation:
      tally->overflow_pages += record.pages.size();
      break;
    case LogRecordType::kDropTree:
      ++tally->drops;
      break;
    default:
      break;
  }
}

// Joins the writes of a log group. A group comes in two writes if it crosses into another segment.
class Groups {
 public:
  explicit Groups(const DatabaseOnDisks& database)
      : geometry_(database.log), progress_(database.log, database.database_id) {}

  void Add(const DiskEvent& event, CrashTally* tally) {
    if (const auto begun = progress_.GroupIn(event.offset, *event.bytes)) {
      group_ = *begun;
      bytes_.clear();
    } else if (IsLogHeader(geometry_, event.offset)) {
      return;
    }
    bytes_.insert(bytes_.end(), event.bytes->begin(), event.bytes->end());
    if (bytes_.size() != group_.bytes) return;
    uint64_t at = kGroupHeaderBytes;
    for (uint32_t i = 0; i < group_.records; ++i) {
      const std::span<const std::byte> record = RecordAt(group_, bytes_.data(), at);
      AddRecord(record, tally);
      at += kRecordHeaderBytes + record.size();
    }
  }

 private:
  const LogGeometry geometry_;
  const LogProgress progress_;
  GroupHeader group_;
  std::vector<std::byte> bytes_;
};

// A slot is formatted, given to its first segment, and from then on reused.
class SlotHeaders {
 public:
  explicit SlotHeaders(const LogGeometry& geometry) : geometry_(geometry) {}
  uint64_t CountReuse(const DiskEvent& event) {
    if (event.offset < kLogSegmentsBegin || !IsLogHeader(geometry_, event.offset)) return 0;
    return ++written_[event.offset] > 2;
  }

 private:
  const LogGeometry geometry_;
  absl::flat_hash_map<uint64_t, uint32_t> written_;  // by offset
};

}  // namespace

void CrashTally::Add(const Statistics& statistics) {
  commits += statistics.commits;
  rollbacks += statistics.rollbacks;
  waiting_puts += statistics.change_buffer_puts;
  page_loads += statistics.misses + statistics.new_pages;
  page_cleanings += statistics.async_page_writes + statistics.sync_page_writes;
  in_place += statistics.in_place_page_writes;
  into_holes += statistics.hole_page_writes;
  appended += statistics.appended_page_writes;
  moved += statistics.cleaner_page_writes;
  segments_cleaned += statistics.cleaned_segments;
  holes_plugged += statistics.plugged_segments;
}

void CrashTally::Add(const CrashRecorder& disks, const DatabaseOnDisks& database) {
  Groups groups(database);
  SlotHeaders log_slots(database.log), journal_slots(database.journal);
  std::array<uint64_t, 3> sizes{};
  for (uint64_t i = 0; i < disks.position(); ++i) {
    const DiskEvent& event = disks.event(i);
    if (event.kind == DiskEvent::Kind::kResizeBegun) {
      uint64_t& size = sizes[event.disk];
      (event.offset > size ? growths : cuts) += event.offset != size;
      size = event.offset;
    }
    if (event.kind != DiskEvent::Kind::kWriteSubmitted) continue;
    if (event.disk == DatabaseOnDisks::kData) {
      if (event.offset >= kHeaderAreaBytes) {
        discards +=
            std::ranges::all_of(*event.bytes, [](std::byte b) { return b == std::byte{0}; });
        continue;
      }
      const bool in_area = event.offset % kHeaderHalfBytes >= kSuperblocksBytes;
      if (in_area) doublewritten += event.bytes->size() / database.page_size;
      checkpoints += event.offset < kSuperblocksBytes;  // first copies
    } else if (event.disk == DatabaseOnDisks::kLog) {
      log_slots_reused += log_slots.CountReuse(event);
      groups.Add(event, this);
    } else {
      journal_slots_reused += journal_slots.CountReuse(event);
    }
  }
}

void CrashTally::Add(const CrashTally& other) {
  for (const auto& [name, counter] : kCounters) this->*counter += other.*counter;
}

std::string CrashTally::Describe() const {
  std::string text;
  for (const auto& [name, counter] : kCounters) text += fmt::format(" {}={}", name, this->*counter);
  return text;
}

}  // namespace latchkey
