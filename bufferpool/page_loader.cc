#include "bufferpool/page_loader.h"

#include <algorithm>
#include <array>

#include "storage/base/out_of_memory.h"
#include "storage/base/racy_memory.h"
#include "storage/base/status_macros.h"
#include "storage/device/aligned_buffer.h"
#include "storage/runtime/latency_timer.h"

namespace latchkey {

absl::StatusOr<FrameId> PageLoader::Load(PoolActor& actor, PageId page, PageWord& word,
                                         PageState seen, LoadCause cause, uint64_t latch) {
  if (page_in_ == PageIn::kOptimistic) {
    return CatchOutOfMemory([&] { return RaceToLoad(actor, page, word, seen, cause, latch); });
  }
  if (!word.TryBeginLoad(seen)) return kNoFrame;
  absl::StatusOr<FrameId> loaded =
      CatchOutOfMemory([&] { return ReadPage(actor, page, word, cause, latch); });
  if (!loaded.ok()) word.AbandonLoad();
  return loaded;
}

absl::StatusOr<FrameId> PageLoader::ReadPage(PoolActor& actor, PageId page, PageWord& word,
                                             LoadCause cause, uint64_t latch) {
  const MissGate::Pass pass(gate_, actor.index);
  LATCHKEY_ASSIGN_OR_RETURN(const FrameId frame,
                            evictor_.ObtainFrame(actor, page, /*patient=*/true));
  PageRead read{.id = page, .out = frames_.DataOf(frame), .status = {}};
  ReadTimed(read);  // throws nothing, so the frame is not lost
  std::optional<Lsn> changed;
  if (read.status.ok()) read.status = EndAbsence(page, frame, &changed);
  if (!read.status.ok()) {
    policy_.ReturnFreeFrame(frame);
    return read.status;
  }
  Publish(actor, page, word, frame, cause, latch, changed);
  return frame;
}

absl::StatusOr<FrameId> PageLoader::RaceToLoad(PoolActor& actor, PageId page, PageWord& word,
                                               PageState seen, LoadCause cause, uint64_t latch) {
  const MissGate::Pass pass(gate_, actor.index);
  const absl::StatusOr<FrameId> frame = evictor_.ObtainFrame(actor, page, /*patient=*/true);
  if (!frame.ok()) return word.Read() == seen ? frame : kNoFrame;
  PageRead read{.id = page, .out = frames_.DataOf(*frame), .status = {}};
  ReadTimed(read);  // throws nothing, so the frame is not lost
  if (read.status.ok() && word.TryBeginLoad(seen)) {
    Publish(actor, page, word, *frame, cause, latch);
    return frame;
  }
  policy_.ReturnFreeFrame(*frame);
  // The store may have got a newer version of the page, or may have lost it, during the read.
  if (!read.status.ok() && word.Read() == seen) return read.status;
  PoolActor::Add(actor.failed_page_ins, 1);
  return kNoFrame;
}

absl::StatusOr<FrameId> PageLoader::LoadZeroed(PoolActor& actor, PageId page, PageWord& word) {
  const MissGate::Pass pass(gate_, actor.index);
  absl::StatusOr<FrameId> frame =
      CatchOutOfMemory([&] { return evictor_.ObtainFrame(actor, page, /*patient=*/true); });
  if (!frame.ok()) {
    word.AbandonLoad();
    return frame.status();
  }
  if (absent_ != nullptr) absent_->OnDropped(page);
  RacyZero(frames_.DataOf(*frame), frames_.page_size());
  Publish(actor, page, word, *frame, LoadCause::kNewPage, PageState::kExclusive);
  return frame;
}

absl::StatusOr<FrameId> PageLoader::LoadCopied(PoolActor& actor, PageId page, PageWord& word,
                                               PageState seen, const std::byte* bytes,
                                               uint64_t latch) {
  const MissGate::Pass pass(gate_, actor.index);
  if (!word.TryBeginLoad(seen)) return kNoFrame;
  absl::StatusOr<FrameId> frame =
      CatchOutOfMemory([&] { return evictor_.ObtainFrame(actor, page, /*patient=*/true); });
  if (!frame.ok()) {
    word.AbandonLoad();
    return frame.status();
  }
  RacyCopyIn(frames_.DataOf(*frame), bytes, frames_.page_size());
  Publish(actor, page, word, *frame, LoadCause::kCopied, latch);
  return frame;
}

absl::StatusOr<bool> PageLoader::ReadCopy(PoolActor& actor, PageId page, PageWord& word,
                                          PageState seen, ActorCopies& copies, uint32_t limit) {
  PageRead read{.id = page, .out = copies.TakeFrame(page, limit), .status = {}};
  ReadTimed(read);
  const PageState now = word.Read();
  if (now.version() != seen.version() || (!read.status.ok() && now != seen)) {
    PoolActor::Add(actor.failed_page_ins, 1);
    return false;
  }
  LATCHKEY_RETURN_IF_ERROR(read.status);
  copies.Keep(page, seen.version());
  PoolActor::Add(actor.loads[static_cast<size_t>(LoadCause::kDemand)], 1);
  return true;
}

// Pages to read ahead, each with a frame: with PageIn::kBlocking their loads have begun. Reads them
// all at once.
class PageLoader::Batch {
 public:
  Batch(PageLoader& loader, PoolActor& actor, LoadCause cause, bool is_in_use)
      : loader_(loader), actor_(actor), cause_(cause), is_in_use_(is_in_use) {}

  /// Whether the page of `word` may be added. `seen`: its state.
  bool Begin(PageWord& word, PageState seen) {
    if (seen.resident() || !seen.free()) return false;
    if (loader_.page_in_ == PageIn::kBlocking) return word.TryBeginLoad(seen);
    return std::none_of(loads_.begin(), loads_.begin() + size_,
                        [&](const BegunLoad& load) { return load.word == &word; });
  }
  /// The page of `word` is not added after Begin.
  void Abandon(PageWord& word) {
    if (loader_.page_in_ == PageIn::kBlocking) word.AbandonLoad();
  }
  void Add(PageId page, PageWord& word, PageState seen, FrameId frame) {
    loads_[size_] = {&word, seen, frame};
    reads_[size_] = PageRead{.id = page, .out = loader_.frames_.DataOf(frame), .status = {}};
    if (++size_ == kMaxReads) Finish();
  }
  /// Publishes the pages that could be read, and abandons the other loads.
  void Finish() {
    if (size_ == 0) return;
    loader_.ReadChecked(std::span(reads_.data(), size_));
    for (size_t i = 0; i < size_; ++i) End(reads_[i], loads_[i]);
    size_ = 0;
  }

 private:
  static constexpr size_t kMaxReads = 32;
  struct BegunLoad {
    PageWord* word = nullptr;
    PageState seen{0};
    FrameId frame = kNoFrame;
  };

  void End(PageRead& read, const BegunLoad& load) {
    const bool blocking = loader_.page_in_ == PageIn::kBlocking;
    std::optional<Lsn> changed;
    if (read.status.ok()) read.status = loader_.EndAbsence(read.id, load.frame, &changed);
    if (read.status.ok() && (blocking || load.word->TryBeginLoad(load.seen))) {
      loader_.Publish(actor_, read.id, *load.word, load.frame, cause_, PageState::kFree, changed,
                      is_in_use_);
      return;
    }
    loader_.policy_.ReturnFreeFrame(load.frame);
    Abandon(*load.word);
    if (!blocking && read.status.ok()) PoolActor::Add(actor_.failed_page_ins, 1);
  }

  PageLoader& loader_;
  PoolActor& actor_;
  const LoadCause cause_;
  const bool is_in_use_;
  std::array<PageRead, kMaxReads> reads_;
  std::array<BegunLoad, kMaxReads> loads_;
  size_t size_ = 0;
};

void PageLoader::LoadBatch(PoolActor& actor, std::span<const PageId> pages, LoadCause cause,
                           size_t most, bool is_in_use) {
  const MissGate::Pass pass(gate_, actor.index);
  Batch batch(*this, actor, cause, is_in_use);
  size_t left = most;
  for (const PageId page : pages) {
    if (left == 0) break;
    PageWord& word = table_.WordOf(page);
    const PageState seen = word.Read();
    if (!batch.Begin(word, seen)) continue;
    const absl::StatusOr<FrameId> frame =
        CatchOutOfMemory([&] { return evictor_.ObtainFrame(actor, page, /*patient=*/false); });
    if (!frame.ok()) {
      batch.Abandon(word);
      break;
    }
    batch.Add(page, word, seen, *frame);
    --left;
  }
  batch.Finish();
}

size_t PageLoader::MostAhead(std::span<const PageId> pages) const {
  const AheadShare& share = evictor_.ahead_share();
  if (!share.is_limited()) return pages.size();
  return share.Of(
      static_cast<size_t>(std::count_if(pages.begin(), pages.end(), [this](PageId page) {
        return !table_.WordOf(page).ReadRelaxed().resident();
      })));
}

// ---- Reading and checking

void PageLoader::ReadChecked(std::span<PageRead> reads) {
  const absl::Status done = CatchOutOfMemory([&] {
    ReadUnchecked(reads);
    return absl::OkStatus();
  });
  for (PageRead& read : reads) {
    if (!done.ok()) read.status = done;
    if (!read.status.ok()) continue;
    read.status = CatchOutOfMemory([&] { return Check(read); });
  }
}

void PageLoader::ReadTimed(PageRead& read) {
  if (read_latencies_ == nullptr) return ReadChecked(std::span(&read, 1));
  const LatencyTimer timer(*runtime_, read_latencies_);
  const WaitTimer wait(waits_, Waited::kPageRead);
  ReadChecked(std::span(&read, 1));
}

void PageLoader::ReadUnchecked(std::span<PageRead> reads) {
  if constexpr (kThreadSanitizer) {
    // Optimistic readers may still read a frame's former page while the new one is read into it.
    // That is correct, because they validate. But ThreadSanitizer reports a race with the device's
    // plain stores, so the page is read into other memory and copied by the racy functions.
    for (PageRead& read : reads) {
      AlignedBuffer bounce(frames_.page_size());
      read.status = store_.ReadPage(read.id, bounce.data());
      RacyCopyIn(read.out, bounce.data(), frames_.page_size());
    }
  } else if (reads.size() == 1) {
    reads[0].status = store_.ReadPage(reads[0].id, reads[0].out);
  } else {
    store_.ReadPages(reads);
  }
}

absl::Status PageLoader::Check(const PageRead& read) const {
  const uint64_t lsn = RacyLoad<uint64_t>(read.out + offsetof(PageHeader, lsn));
  if (refuses_pages_beyond_log_ && log_.has_log() && lsn != 0 && lsn >= Raw(log_.durable())) {
    return MakeStatus(absl::StatusCode::kDataLoss,
                      "page {} was changed at {} of the log, which is durable up to {} only: the "
                      "log has lost its end or is an older copy; restore a backup or salvage",
                      Raw(read.id), lsn, Raw(log_.durable()));
  }
  if (page_check_ == nullptr) return absl::OkStatus();
  return page_check_(read.id, {read.out, frames_.page_size()});
}

absl::Status PageLoader::EndAbsence(PageId page, FrameId frame, std::optional<Lsn>* changed) {
  if (absent_ == nullptr) return absl::OkStatus();
  return CatchOutOfMemory([&] {
    return absent_->OnLoaded(page, {frames_.DataOf(frame), frames_.page_size()}, changed);
  });
}

void PageLoader::Publish(PoolActor& actor, PageId page, PageWord& word, FrameId frame,
                         LoadCause cause, uint64_t latch, std::optional<Lsn> changed,
                         bool is_in_use) {
  frames_.SetPage(frame, page);
  if (changed) frames_.MarkDirtySince(frame, *changed);
  // The policy learns of the page while it is still latched. From then on it may offer the frame as
  // a victim, but a claim fails until the latch is free.
  word.SetFrame(frame);
  if (absent_ != nullptr) absent_->OnPublished(page);
  PoolActor::Add(actor.loads[static_cast<size_t>(cause)], 1);
  const bool ahead = cause == LoadCause::kAhead;
  if (ahead) evictor_.ahead_share().NoteRead();
  policy_.OnLoad(frame, page, ahead ? LoadKind::kAhead : LoadKind::kDemand, actor.index);
  // With two hits S3-FIFO does not take it for a page that is used once.
  for (int hit = 0; is_in_use && hit < 2; ++hit) policy_.OnFix(frame, page, actor.index);
  word.EndLoad(latch);
}

}  // namespace latchkey
