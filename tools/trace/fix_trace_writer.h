// Records the fixes of a pool in a file (fix_trace.h has the format).
//
// An actor encodes its records into a buffer of its own (16 KiB) and writes it when it is full, at a
// position that it takes from a shared counter. No actor waits for another, and none reaches a
// schedule point: a run in virtual time is the same with a recorder as without.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bufferpool/actor_scopes.h"
#include "bufferpool/fix_recorder.h"
#include "storage/runtime/runtime.h"
#include "tools/trace/fix_trace.h"

namespace latchkey {

/// Thread-safe, except Finish. The file is PartialOf(path) until Finish: a trace appears whole.
class FixTraceWriter final : public FixRecorder {
 public:
  /// Creates the file, and replaces an old one. At most `limit` records are kept: the first ones.
  /// Errors of the system: the file cannot be written. InvalidArgument: too many trees.
  static absl::StatusOr<std::unique_ptr<FixTraceWriter>> Create(Runtime& runtime,
                                                                const std::string& path,
                                                                const FixTraceHeader& header,
                                                                uint64_t limit);
  /// Removes what is not finished. REQUIRES: no pool reports to it.
  ~FixTraceWriter() override;

  void Record(uint32_t actor, const FixEvent& event) override;

  /// Ends the trace with `totals`: later events are dropped. Waits for actors in Record. If the disk
  /// was full meanwhile, or failed, it returns the first error, and there is no file.
  absl::Status Finish(const Json& totals);

  bool limited() const { return next_.load(std::memory_order_relaxed) > limit_; }
  uint64_t records() const;

 private:
  struct Buffer;

  FixTraceWriter(Runtime& runtime, std::string path, const FixTraceHeader& header, uint64_t limit,
                 int file);
  uint8_t NumberOf(PageId tree) const;
  Buffer* BufferOf(uint32_t actor);
  void Flush(Buffer& buffer);
  void WriteBlock(uint32_t kind, std::string_view content);
  /// Keeps the first error only.
  void NoteError(int errnum);

  Runtime& runtime_;
  const std::string path_;
  const std::vector<TracedTree> trees_;
  const uint64_t limit_;
  int file_;
  std::atomic<uint64_t> next_{0};  ///< sequence number of the next record
  std::atomic<uint64_t> end_;      ///< position of the next block
  std::atomic<int> error_{0};      ///< errno
  ActorScopes recording_;
  std::vector<std::unique_ptr<Buffer>>
      buffers_;  // by actor, which alone uses its own within a scope
};

}  // namespace latchkey
