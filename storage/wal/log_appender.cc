#include "storage/wal/log_appender.h"

namespace latchkey {

Lsn LogAppender::Append(size_t size, absl::FunctionRef<void(Lsn, std::byte*)> fill) {
  SpinLatchGuard guard(groups_.latch(), runtime_);
  while (!buffer_.HasRoom(size)) groups_.MakeRoom();
  return buffer_.Append(size, 0, fill);
}

Lsn LogAppender::AppendBehind(absl::FunctionRef<bool()> wants_prelude,
                              const Log::NewRecord& prelude, const Log::NewRecord& record) {
  SpinLatchGuard guard(groups_.latch(), runtime_);
  for (;;) {
    const bool wanted = wants_prelude();  // making room may take time
    const size_t before = wanted ? prelude.size + kRecordHeaderBytes : 0;
    if (!buffer_.HasRoom(before + record.size)) {
      groups_.MakeRoom();
      continue;
    }
    if (wanted) buffer_.Append(prelude.size, 0, prelude.fill);
    return buffer_.Append(record.size, 0, record.fill);
  }
}

std::optional<Lsn> LogAppender::TryAppendPaid(size_t size,
                                              absl::FunctionRef<void(Lsn, std::byte*)> fill) {
  SpinLatchGuard guard(groups_.latch(), runtime_);
  while (!buffer_.HasRoom(size)) {
    if (!groups_.MakeRoomAtOnce()) return std::nullopt;
  }
  return buffer_.Append(size, buffer_.paid_group_space(), fill);
}

void LogAppender::AwaitBuffer(size_t size) {
  SpinLatchGuard guard(groups_.latch(), runtime_);
  while (!buffer_.HasRoom(size)) groups_.MakeRoom();
}

void LogAppender::Frozen(absl::FunctionRef<void(Lsn)> body) {
  SpinLatchGuard guard(groups_.latch(), runtime_);
  body(Lsn{buffer_.next()});
}

}  // namespace latchkey
