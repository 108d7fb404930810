// What a structure change of a tree, and anything else that allocates, rewrites and frees whole
// pages, tells the write-ahead log. A tree without one logs nothing.
//
// A change runs like this:
//   LogSpace space;
//   if (log) RETURN_IF_ERROR(log->Reserve(pages, &space));   before anything is latched
//   latch all pages, change them
//   if (log) log->LogImages(space, changed, freed);          all of them still latched
//   give the freed pages to BufferPool::FreePage
//   destroy `space`                                          only now the change is over
//
// Thread-safety: everything may be called from every actor at once, each LogSpace by its own actor.
#pragma once

#include <absl/status/status.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "bufferpool/page_guard.h"
#include "storage/base/ids.h"

namespace latchkey {

class TreeLog;

/// Log space promised to one change; what is left goes back with the object. From the record until
/// then the pages that it frees count as on their way to the store (see CheckpointSnapshot).
class LogSpace {
 public:
  LogSpace() = default;
  inline ~LogSpace();
  LogSpace(const LogSpace&) = delete;
  LogSpace& operator=(const LogSpace&) = delete;

 private:
  friend class EngineLog;

  TreeLog* log_ = nullptr;
  uint64_t bytes_ = 0;
  Lsn first_{0};  // of the change's first record; 0: nothing was logged
  LogSpace* newer_ = nullptr;
  LogSpace* older_ = nullptr;
};

class TreeLog {
 public:
  virtual ~TreeLog() = default;

  /// Reserves for one record of `pages` whole images and as many freed ids, in an empty `space`.
  /// `must_not_fail`: a rollback asks, which may use what is kept back for it. ResourceExhausted:
  /// the log is full. Unavailable: it is poisoned. REQUIRES: no latches held.
  virtual absl::Status Reserve(size_t pages, bool must_not_fail, LogSpace* space) = 0;

  /// One atomic change: the pages as they stand now, and `freed`. Sets the pages' LSNs. REQUIRES:
  /// the pages stay latched from their first modification until this returns; the reservation.
  virtual void LogImages(LogSpace& space, std::span<ExclusiveGuard* const> changed,
                         std::span<const PageId> freed) = 0;

 protected:
  friend class LogSpace;
  virtual void Finish(LogSpace& space) = 0;
};

inline LogSpace::~LogSpace() {
  if (log_ != nullptr) log_->Finish(*this);
}

}  // namespace latchkey
