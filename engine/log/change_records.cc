#include "engine/log/change_records.h"

#include <array>
#include <cstring>

#include "engine/log/page_lsn.h"

namespace latchkey {
namespace {

// Longest record that is encoded early. Records of most changes are shorter.
constexpr size_t kMaxEarlyEncoding = 512;

}  // namespace

// Encoded before the log is latched, because others wait for the latch. This is safe: no other
// actor changes the transaction or the page.
Lsn ChangeRecords::AppendEncoded(LogTxn* txn, LogRecordType type, const ChangeEncoding& change,
                                 std::byte* page) {
  std::array<std::byte, kMaxEarlyEncoding> early;
  const bool is_early = change.size() <= early.size();
  const auto page_lsn = static_cast<uint32_t>(PageLsn(page));
  if (is_early) {
    const LogRecordHeader header{.type = type,
                                 .txn = txn != nullptr ? txn->id() : TxnId{0},
                                 .previous = txn != nullptr ? txn->last() : Lsn{0}};
    change.Encode(header, page_lsn, early.data());
  }
  const Lsn at = log_.Append(change.size(), [&](Lsn lsn, std::byte* to) {
    const LogRecordHeader header = active_.Enter(txn, type, lsn);
    if (is_early) {
      std::memcpy(to, early.data(), change.size());
    } else {
      change.Encode(header, page_lsn, to);
    }
  });
  SetPageLsn(page, at);
  return at;
}

// *image_space: bytes set aside for an image that may be due; on return the rest of them.
Lsn ChangeRecords::Append(LogTxn* txn, LogRecordType type, const ChangeEncoding& change,
                          Target target, uint64_t* image_space) {
  std::byte* const page = target.page;
  if (!images_.are_logged()) return AppendEncoded(txn, type, change, page);
  const auto fill = [&](Lsn lsn, std::byte* to) {
    change.Encode(active_.Enter(txn, type, lsn), static_cast<uint32_t>(PageLsn(page)), to);
    SetPageLsn(page, lsn);
  };
  return images_.AppendBehind(target.id, page, {change.size(), fill}, image_space);
}

Lsn ChangeRecords::LogChange(LogTxn& txn, const RecordChange& change, std::byte* page) {
  const ChangeEncoding encoding(LogRecordType::kChange, change);
  if (!accounts_.SpendChange(txn, change, encoding.size())) return health_.KeepOffDevice(page);
  uint64_t left = accounts_.image_space();
  const Lsn lsn = Append(&txn, LogRecordType::kChange, encoding, {change.page, page}, &left);
  accounts_.ReturnImage(txn, left);
  return lsn;
}

// Reserves no space for images of rollbacks. They are due only for pages whose last change came
// before a checkpoint began, and a page per change would make the log of a long transaction huge.
Lsn ChangeRecords::LogCompensation(LogTxn& txn, const RecordChange& change, std::byte* page) {
  const ChangeEncoding encoding(LogRecordType::kCompensation, change);
  if (!accounts_.SpendUndo(txn, encoding.size())) return health_.KeepOffDevice(page);
  uint64_t left = images_.TakeSpace(page, accounts_.splits(txn));
  const Lsn lsn = Append(&txn, LogRecordType::kCompensation, encoding, {change.page, page}, &left);
  if (left != 0) log_.Release(left);
  return lsn;
}

Lsn ChangeRecords::LogSystemChange(LogSpace& space, const RecordChange& change, std::byte* page) {
  const ChangeEncoding encoding(LogRecordType::kChange, change);
  if (!accounts_.SpendSystemChange(space, encoding.size())) return health_.KeepOffDevice(page);
  uint64_t left = accounts_.image_space();
  const Lsn lsn = Append(nullptr, LogRecordType::kChange, encoding, {change.page, page}, &left);
  accounts_.ReturnImage(space, left);
  return lsn;
}

}  // namespace latchkey
