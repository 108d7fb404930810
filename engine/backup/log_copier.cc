#include "engine/backup/log_copier.h"

#include <algorithm>
#include <vector>

#include "storage/base/canary.h"
#include "storage/base/status_macros.h"

namespace latchkey {

absl::StatusOr<std::unique_ptr<LogCopier>> LogCopier::Create(Runtime& runtime,
                                                             const std::string& path,
                                                             const BackupFileHeader& header,
                                                             Log& log, Checkpointer& checkpointer,
                                                             Lsn from) {
  LATCHKEY_ASSIGN_OR_RETURN(std::unique_ptr<BackupFileWriter> file,
                            BackupFileWriter::Create(runtime, path));
  std::vector<std::byte> block(kBackupBlockBytes);
  EncodeBackupFileHeader(header, block);
  LATCHKEY_RETURN_IF_ERROR(file->Append(block));
  return std::unique_ptr<LogCopier>(new LogCopier(std::move(file), log, checkpointer, from));
}

absl::Status LogCopier::CopyDurable() {
  if (LATCHKEY_CANARY("backup-log-cut-short") && position_ > kept_from_) return absl::OkStatus();
  const uint64_t end = Raw(log_.durable());
  while (position_ < end) {
    const std::span<std::byte> piece =
        buffer_.span().first(std::min<uint64_t>(end - position_, buffer_.size()));
    LATCHKEY_RETURN_IF_ERROR(log_.ReadStream(Lsn{position_}, piece));
    LATCHKEY_RETURN_IF_ERROR(file_->Append(piece));
    position_ += piece.size();
  }
  // The log is freed by whole segments.
  if (position_ - kept_from_ >= log_.shape().segment_bytes) {
    checkpointer_.KeepLogFrom(Lsn{position_});
    kept_from_ = position_;
  }
  return absl::OkStatus();
}

}  // namespace latchkey
