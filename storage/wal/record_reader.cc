#include "storage/wal/record_reader.h"

#include "storage/base/status_macros.h"

namespace latchkey {

absl::Status RecordReader::ForEach(uint64_t group, Lsn from, Lsn end,
                                   absl::FunctionRef<absl::Status(const LogRecordView&)> visit) {
  GroupScanner scanner(medium_, group, Raw(end));
  while (scanner.position() < Raw(end)) {
    LATCHKEY_ASSIGN_OR_RETURN(const GroupScanner::Found found, scanner.Next());
    if (found != GroupScanner::Found::kGroup) {
      return MakeStatus(
          absl::StatusCode::kDataLoss,
          "{}: position {} does not read back as it did before: the device is failing; "
          "restore the database from a backup, or salvage it",
          medium_.name, scanner.position());
    }
    const GroupHeader& header = scanner.header();
    uint64_t at = kGroupHeaderBytes;
    for (uint32_t i = 0; i < header.records; ++i) {
      const std::span<const std::byte> record = RecordAt(header, scanner.group(), at);
      const Lsn lsn{header.lsn + at};
      if (lsn >= from) LATCHKEY_RETURN_IF_ERROR(visit({.lsn = lsn, .bytes = record}));
      at += kRecordHeaderBytes + record.size();
    }
  }
  return absl::OkStatus();
}

absl::Status RecordReader::Read(Lsn lsn, Lsn durable, std::vector<std::byte>* bytes) {
  MutexLock lock(mutex_);
  if (!loaded_.Holds(Raw(lsn)) && lsn < durable) {
    LATCHKEY_RETURN_IF_ERROR(loaded_.Load(medium_, Raw(lsn)));
  }
  const std::span<const std::byte> record =
      loaded_.Holds(Raw(lsn)) ? loaded_.Record(Raw(lsn)) : std::span<const std::byte>();
  if (record.empty()) {
    return MakeStatus(absl::StatusCode::kDataLoss,
                      "{}: no record begins at position {} (the log ends at {}): what points there "
                      "is damaged; restore the database from a backup, or salvage it",
                      medium_.name, Raw(lsn), Raw(durable));
  }
  bytes->assign(record.begin(), record.end());
  return absl::OkStatus();
}

}  // namespace latchkey
