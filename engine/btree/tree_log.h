// TreeLog: the interface to the write-ahead log for structure changes of trees, and for every other
// change that allocates, rewrites and frees whole pages. A tree without a TreeLog logs nothing.
//
// A change runs as follows:
//   LogSpace space;
//   if (log) RETURN_IF_ERROR(log->Reserve(pages, must_not_fail, &space));   nothing is latched yet
//   latch all pages, change them
//   if (log) log->LogImages(space, changed, freed);   all of them still latched
//   give the freed pages to BufferPool::FreePage
//   destroy `space`                                   only now the change is over
//
// Thread-safety: every actor may call every member at once, each LogSpace from its own actor.
#pragma once

#include <absl/status/status.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "bufferpool/page_guard.h"
#include "storage/base/ids.h"

namespace latchkey {

class TreeLog;

/// Log space promised to one change. Its destruction gives back the bytes that were not used. From
/// the record that frees pages until then, the change is a free under way: the redo LSN of
/// checkpoints stays at or below that record (CheckpointSnapshot).
class LogSpace {
 public:
  LogSpace() = default;
  inline ~LogSpace();
  LogSpace(const LogSpace&) = delete;
  LogSpace& operator=(const LogSpace&) = delete;

 private:
  friend class EngineLog;
  friend class FreesUnderWay;
  friend class LogAccounts;

  TreeLog* log_ = nullptr;
  uint64_t bytes_ = 0;
  Lsn first_{0};  // of the change's first record that frees pages; 0 = there is none
  LogSpace* newer_ = nullptr;
  LogSpace* older_ = nullptr;
};

class TreeLog {
 public:
  virtual ~TreeLog() = default;

  /// Reserves room in an empty `space` for one record of `pages` whole images and as many freed
  /// ids. `must_not_fail`: for rollbacks, which may use the part that is kept back for them.
  /// ResourceExhausted: the log is full. Unavailable: the log is poisoned. REQUIRES: no latches
  /// held.
  virtual absl::Status Reserve(size_t pages, bool must_not_fail, LogSpace* space) = 0;
  /// Whether Reserve would get that room now, without waiting for it. Takes the room for an instant.
  virtual bool HasRoom(size_t pages) = 0;

  /// Logs one atomic change: the pages as they are now, and `freed`. Sets the pages' LSNs.
  /// REQUIRES: the space is reserved; the pages stay latched from their first modification until
  /// this returns.
  virtual void LogImages(LogSpace& space, std::span<ExclusiveGuard* const> changed,
                         std::span<const PageId> freed) = 0;
  /// Logs that NodeEditor::SplitInto has split `page` at `separator` into itself and the new page
  /// `right`, and that `parent` has taken the separator. Sets the pages' LSNs. REQUIRES: as
  /// LogImages.
  virtual void LogSplit(LogSpace& space, ExclusiveGuard& parent, ExclusiveGuard& page,
                        ExclusiveGuard& right, std::string_view separator) = 0;

 protected:
  friend class LogSpace;
  virtual void Finish(LogSpace& space) = 0;
};

inline LogSpace::~LogSpace() {
  if (log_ != nullptr) log_->Finish(*this);
}

}  // namespace latchkey
