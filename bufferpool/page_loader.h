// Loading: brings pages that are not resident into frames, one on demand or many ahead of their
// use, and checks what was read.
//
// A load is the caller's from PageWord::TryBeginLoad on. It ends with the page published, or is
// abandoned: then the word is as it was before. With PageIn::kBlocking a load begins before the page
// is read. With PageIn::kOptimistic it begins afterwards: if the word has changed since before the
// read, the page-in has failed, and the frame is given back. The word changes whenever the page comes
// into a frame, leaves it or is freed, so what was read is the page as it is.
//
// Thread-safety: every function may be called from all actors at once, except SetPageCheck and
// RefusePagesBeyondLog.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "bufferpool/absent_pages.h"
#include "bufferpool/buffer_frames.h"
#include "bufferpool/evictor.h"
#include "bufferpool/fix_choices.h"
#include "bufferpool/fix_policy.h"
#include "bufferpool/log_before_page.h"
#include "bufferpool/miss_gate.h"
#include "bufferpool/page_table.h"
#include "bufferpool/pool_actor.h"
#include "bufferpool/private_copies.h"
#include "storage/base/ids.h"
#include "storage/base/latency_recorder.h"
#include "storage/page_store.h"
#include "storage/runtime/runtime.h"
#include "storage/runtime/wait_ledger.h"

namespace latchkey {

class PageLoader {
 public:
  using PageCheck = absl::Status (*)(PageId page, std::span<const std::byte> bytes);

  PageLoader(PageStore& store, FixPolicy& policy, PageTable& table, BufferFrames& frames,
             const LogBeforePage& log, Evictor& evictor, MissGate& gate)
      : store_(store),
        policy_(policy),
        table_(table),
        frames_(frames),
        log_(log),
        evictor_(evictor),
        gate_(gate) {}

  /// As BufferPool::SetPageCheck and BufferPool::RefusePagesBeyondLog.
  void SetPageCheck(PageCheck check) { page_check_ = check; }
  void RefusePagesBeyondLog() { refuses_pages_beyond_log_ = true; }
  /// Each page that a Load or a ReadCopy reads is timed. Set before the first of them.
  void SetLatencies(Runtime& runtime, LatencyRecorder* reads, WaitLedger* waits) {
    runtime_ = &runtime;
    read_latencies_ = reads;
    waits_ = waits;
  }
  /// As BufferPool::SetAbsentPages.
  void SetAbsentPages(AbsentPages* absent) { absent_ = absent; }
  /// Set before the first load.
  void SetPageIn(PageIn page_in) { page_in_ = page_in; }

  /// Reads `page` into a frame, and leaves `latch` on it (PageWord::EndLoad). Returns the frame.
  /// kNoFrame: the word of `page` is no longer as `seen`, another actor was first. An error, and a
  /// word as before: the page could not be read, and its word was still as `seen` afterwards.
  /// REQUIRES: `word` is the word of `page`; `seen` is free and not resident.
  absl::StatusOr<FrameId> Load(PoolActor& actor, PageId page, PageWord& word, PageState seen,
                               LoadCause cause, uint64_t latch);
  /// As Load, but takes the page from `bytes`, a private copy of the version of `seen`. Latches the
  /// page before it takes a frame.
  absl::StatusOr<FrameId> LoadCopied(PoolActor& actor, PageId page, PageWord& word, PageState seen,
                                     const std::byte* bytes, uint64_t latch);
  /// Reads `page` into a private frame. False: the page has changed since `seen`, as for Load.
  absl::StatusOr<bool> ReadCopy(PoolActor& actor, PageId page, PageWord& word, PageState seen,
                                ActorCopies& copies, uint32_t limit);
  /// Gives `page` a zeroed frame instead of reading it, and leaves it exclusively latched. Returns
  /// the frame. On an error it abandons the load. REQUIRES: `word` is the word of `page`, and the
  /// caller has begun the load.
  absl::StatusOr<FrameId> LoadZeroed(PoolActor& actor, PageId page, PageWord& word);
  /// Loads those of `pages` that are not resident, with all reads in flight at once. A hint: stops
  /// at the first page for which there is no frame, passes over pages that cannot be read, and loads
  /// only the first of them if pages read ahead were evicted before their use (AheadShare).
  void LoadAhead(PoolActor& actor, std::span<const PageId> pages) {
    LoadBatch(actor, pages, LoadCause::kAhead, MostAhead(pages));
  }
  /// The same for pages that changes wait for. They are no pages read ahead, and all are loaded.
  /// `is_in_use`: see BufferPool::BringIn.
  void LoadForChanges(PoolActor& actor, std::span<const PageId> pages, bool is_in_use) {
    LoadBatch(actor, pages, LoadCause::kChanges, pages.size(), is_in_use);
  }

 private:
  class Batch;

  /// Load with PageIn::kBlocking, once it has begun. On an error the load is still the caller's.
  absl::StatusOr<FrameId> ReadPage(PoolActor& actor, PageId page, PageWord& word, LoadCause cause,
                                   uint64_t latch);
  void LoadBatch(PoolActor& actor, std::span<const PageId> pages, LoadCause cause, size_t most,
                 bool is_in_use = false);
  /// Tells the AbsentPages of a page that was read, or is new. *changed: see AbsentPages::OnLoaded.
  absl::Status EndAbsence(PageId page, FrameId frame, std::optional<Lsn>* changed);
  /// How many of `pages` LoadAhead may load.
  size_t MostAhead(std::span<const PageId> pages) const;
  /// Load with PageIn::kOptimistic.
  absl::StatusOr<FrameId> RaceToLoad(PoolActor& actor, PageId page, PageWord& word, PageState seen,
                                     LoadCause cause, uint64_t latch);
  /// Each read gets its status, even when memory runs out.
  void ReadChecked(std::span<PageRead> reads);
  void ReadUnchecked(std::span<PageRead> reads);
  void ReadTimed(PageRead& read);
  absl::Status Check(const PageRead& read) const;
  /// Publishes `page` in `frame` with `latch`, and reports the load to the policy. `changed`: the
  /// page is dirty since the change at this LSN. `is_in_use`: see BufferPool::BringIn.
  void Publish(PoolActor& actor, PageId page, PageWord& word, FrameId frame, LoadCause cause,
               uint64_t latch, std::optional<Lsn> changed = std::nullopt, bool is_in_use = false);

  PageStore& store_;
  FixPolicy& policy_;
  PageTable& table_;
  BufferFrames& frames_;
  const LogBeforePage& log_;
  Evictor& evictor_;
  MissGate& gate_;
  PageCheck page_check_ = nullptr;
  bool refuses_pages_beyond_log_ = false;
  PageIn page_in_ = PageIn::kBlocking;
  AbsentPages* absent_ = nullptr;
  Runtime* runtime_ = nullptr;
  LatencyRecorder* read_latencies_ = nullptr;  // of pages that an actor waits for
  WaitLedger* waits_ = nullptr;
};

}  // namespace latchkey
