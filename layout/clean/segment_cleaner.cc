#include "layout/clean/segment_cleaner.h"

#include <algorithm>
#include <string>
#include <utility>

#include "layout/map/write_again.h"
#include "storage/base/out_of_memory.h"
#include "storage/base/status_macros.h"
#include "storage/page_format.h"

namespace latchkey {
namespace {

constexpr double kWeightOfNewVictims = 0.1;
constexpr uint32_t kMaxVictims = 64;
// Segments to gain in one pass. Few, so that waiting writers get the first ones soon.
constexpr double kSegmentsPerPass = 4;

}  // namespace

SegmentCleaner::SegmentCleaner(Parts parts, std::unique_ptr<CleaningPolicy> policy)
    : directory_(parts.directory),
      core_(parts.directory.core()),
      space_(parts.space),
      sink_(parts.sink),
      durable_map_(parts.durable_map),
      separator_(parts.separator),
      costs_(parts.costs),
      policy_(std::move(policy)),
      pages_at_once_(parts.pages_at_once),
      pass_mutex_(core_.runtime),
      window_(pages_at_once_) {}

SegmentCleaner::~SegmentCleaner() { Stop(); }

absl::Status SegmentCleaner::Start() {
  LATCHKEY_ASSIGN_OR_RETURN(queue_, core_.device.NewQueue(pages_at_once_));
  plug_frames_ = directory_.frames().NewGroup(pages_at_once_);
  MaybeTune();
  actor_ = core_.runtime.Spawn("lk-segclean", [this] { Run(); });
  return absl::OkStatus();
}

void SegmentCleaner::Stop() {
  if (actor_ == nullptr) return;
  stop_.store(true, std::memory_order_release);
  space_.Signal();
  actor_->Join();
  actor_.reset();
}

void SegmentCleaner::Run() {
  while (!stop_.load(std::memory_order_acquire)) {
    const uint32_t seen = space_.work_sequence();
    bool more = false;
    Nanos retry_after = kForever;
    try {
      MutexLock lock(pass_mutex_);
      more = durable_map_.is_unclean() && !core_.poisoned() && RunPass();
    } catch (const std::bad_alloc&) {
      retry_after = kNanosPerMilli;
      space_.ReportPass(/*gained=*/false);  // waiting writers then stop waiting
    }
    durable_map_.CheckpointIfWanted();
    if (!more) space_.WaitForWork(seen, std::min(retry_after, RetryAfter()));
  }
}

Nanos SegmentCleaner::RetryAfter() {
  // An open append log or a page in flight can keep the file from shrinking, and a full journal can
  // keep a round from running. Such obstacles may go away without a signal: retry with exponential
  // back-off, from 1 ms to 1 s.
  const bool waits = space_.WantsShrink() || (directory_.journal() != nullptr &&
                                              directory_.journal()->full() && !core_.poisoned());
  retry_after_ = waits ? std::min(2 * retry_after_, kNanosPerSecond) : kFirstRetry;
  return waits ? retry_after_ : kForever;
}

bool SegmentCleaner::RunPass() {
  MaybeTune();
  const absl::Status grown = space_.GrowToTarget();
  if (grown.ok()) space_.NotifyFreed();
  const bool shrunk = space_.WantsShrink() && Shrink();
  if (shrunk) retry_after_ = kFirstRetry;
  const bool released = ReleaseSlotsIfUseful();
  if (!space_.WantsCleaning()) return shrunk;
  const bool gained = Clean() || released;
  space_.ReportPass(gained);
  return gained || shrunk;
}

// Runs a round when one is due, or when space is short and the slots that wait for a round make up
// a segment or more (at the hard watermark: any number of slots).
bool SegmentCleaner::ReleaseSlotsIfUseful() {
  if (directory_.journal() == nullptr) return false;
  const size_t pending = directory_.journal()->pending_slots();
  const bool short_of_space = (space_.WantsCleaning() || space_.WantsShrink()) &&
                              (pending >= core_.geometry.slots_per_segment ||
                               directory_.segments().free_count() <= SpaceManager::kHardWatermark);
  if (!directory_.journal()->due() && !(short_of_space && pending > 0)) return false;
  const uint32_t free_before = directory_.segments().free_count();
  durable_map_.TryMakeDurable()
      .IgnoreError();  // after an error the store is poisoned, or a later round retries
  return directory_.segments().free_count() > free_before;
}

void SegmentCleaner::SampleCosts() const {
  const uint64_t read = core_.counters.cleaner_page_reads.load(std::memory_order_relaxed);
  const uint64_t copied = core_.counters.cleaner_pages_copied.load(std::memory_order_relaxed);
  costs_.Sample(
      read + copied == 0 ? 0.0 : static_cast<double>(copied) / static_cast<double>(read + copied));
}

TuningInputs SegmentCleaner::Inputs() {
  SampleCosts();
  TuningInputs inputs;
  inputs.space_utilization = space_.space_utilization();
  if (inputs.space_utilization <= 0) {
    inputs.space_utilization = space_.sizing().space_utilization;  // an empty store
  }
  inputs.costs = costs_.costs();
  inputs.plugging_allowed = policy_->may_plug();
  if (method_of_late_ == CleaningMethod::kClean) {
    inputs.cleaning_utilization = victim_utilization_;
  }
  inputs.page_id_limit = directory_.map().limit();
  return inputs;
}

void SegmentCleaner::MaybeTune() {
  const uint64_t interval = separator_.TuningInterval(directory_.map().allocated());
  if (interval == 0) return;
  const uint64_t now = core_.counters.user_page_writes.load(std::memory_order_relaxed);
  if (tuned_once_ && now < next_tuning_) return;
  tuned_once_ = true;
  separator_.Tune(Inputs(), [this](PageId id) { return !directory_.map().Load(id).free(); });
  next_tuning_ = now + interval;
  space_.SignalAtPageWrites(next_tuning_);
}

CleaningMethod SegmentCleaner::ChooseMethod() {
  if (directory_.segments().free_count() == 0)
    return CleaningMethod::kPlug;  // nowhere else to write
  CleaningSituation situation;
  const TuningInputs inputs = Inputs();
  situation.costs = inputs.costs;
  situation.victim_utilization = victim_utilization_;
  situation.method_of_late = method_of_late_;
  const double h = separator_.hot_page_proportion();
  situation.space_utilization =
      h > 0 ? HotPartitionUtilization(inputs.space_utilization, h) : inputs.space_utilization;
  return policy_->Choose(situation);
}

std::vector<SegmentView> SegmentCleaner::ChooseVictims(CleaningMethod method) {
  const uint32_t slots = core_.geometry.slots_per_segment;
  const uint64_t clock = directory_.clock() + 1;
  std::vector<std::pair<double, SegmentView>> candidates;
  uint64_t holes = 0;
  directory_.segments().ForEachClosed([&](const SegmentView& view) {
    if (view.live >= slots || IsStuck(view.id)) return;
    const double age = clock > view.birth ? static_cast<double>(clock - view.birth) : 1.0;
    const double u = static_cast<double>(view.live) / slots;
    candidates.emplace_back(policy_->Priority(u, age), view);
    holes += slots - view.live;
  });
  const size_t most = std::min<size_t>(kMaxVictims, candidates.size());
  std::partial_sort(candidates.begin(), candidates.begin() + static_cast<ptrdiff_t>(most),
                    candidates.end(), [](const auto& a, const auto& b) {
                      return a.first != b.first ? a.first > b.first : a.second.id < b.second.id;
                    });

  // Room for the moved pages: free segments, or the holes of segments that are not victims.
  const bool cleans = method == CleaningMethod::kClean;
  uint64_t room = cleans ? uint64_t{directory_.segments().free_count()} * slots : holes;
  uint64_t budget = kMaxPassBytes / core_.geometry.page_size;
  double gain = kSegmentsPerPass;
  std::vector<SegmentView> victims;
  for (size_t i = 0; i < most && gain > 0; ++i) {
    const SegmentView& view = candidates[i].second;
    const uint64_t takes = cleans ? view.live : slots;
    if (takes > room || view.live > budget) break;
    room -= takes;
    budget -= view.live;
    gain -= cleans ? 1.0 - static_cast<double>(view.live) / slots : 1.0;
    victims.push_back(view);
  }
  return victims;
}

// A segment with damaged pages or bad slots never becomes free by moving pages out of it.
bool SegmentCleaner::IsStuck(SegmentId segment) const {
  return damaged_.contains(Raw(segment)) || directory_.segments().HasBadSlots(segment);
}

bool SegmentCleaner::Clean() {
  CleaningMethod method = ChooseMethod();
  std::vector<SegmentView> victims = ChooseVictims(method);
  if (victims.empty() && method == CleaningMethod::kClean) {
    method = CleaningMethod::kPlug;  // the free segments cannot hold even one victim
    victims = ChooseVictims(method);
  }
  const bool moved = !victims.empty() && Empty(victims, method);
  if (!moved) {
    // The remaining slots are superseded by copies in memory. Writing those out releases the slots
    // and needs no new segment.
    sink_.StartUserWrites();
    return false;
  }
  RememberUtilization(victims, method);
  return true;
}

void SegmentCleaner::RememberUtilization(const std::vector<SegmentView>& victims,
                                         CleaningMethod method) {
  if (method != method_of_late_) victim_utilization_.reset();
  method_of_late_ = method;
  for (const SegmentView& view : victims) {
    const double u = static_cast<double>(view.live) / core_.geometry.slots_per_segment;
    victim_utilization_ = victim_utilization_ ? (1 - kWeightOfNewVictims) * *victim_utilization_ +
                                                    kWeightOfNewVictims * u
                                              : u;
    core_.counters.cleaned_live_pages.fetch_add(view.live, std::memory_order_relaxed);
  }
  auto& counter = method == CleaningMethod::kClean ? core_.counters.cleaned_segments
                                                   : core_.counters.plugged_segments;
  counter.fetch_add(victims.size(), std::memory_order_relaxed);
}

std::optional<double> SegmentCleaner::cleaning_utilization() const {
  const uint64_t segments = core_.counters.cleaned_segments.load(std::memory_order_relaxed) +
                            core_.counters.plugged_segments.load(std::memory_order_relaxed);
  if (segments == 0) return std::nullopt;
  const uint64_t live = core_.counters.cleaned_live_pages.load(std::memory_order_relaxed);
  return static_cast<double>(live) /
         (static_cast<double>(segments) * core_.geometry.slots_per_segment);
}

bool SegmentCleaner::Shrink() {
  const std::optional<SegmentId> obstacle = space_.ShrinkTowardsTarget();
  if (!obstacle) return false;
  const SegmentState state = directory_.segments().StateOf(*obstacle);
  if (state == SegmentState::kOpen) {
    sink_.EndLogsFrom(*obstacle);
    return directory_.segments().StateOf(*obstacle) != SegmentState::kOpen;
  }
  if (state != SegmentState::kClosed || IsStuck(*obstacle)) return false;
  const SegmentView view{*obstacle, directory_.segments().KindOf(*obstacle),
                         directory_.segments().LiveOf(*obstacle),
                         directory_.segments().BirthOf(*obstacle)};
  const bool room = directory_.segments().free_count() > space_.soft_watermark();
  return Empty({view}, room ? CleaningMethod::kClean : CleaningMethod::kPlug);
}

bool SegmentCleaner::Empty(const std::vector<SegmentView>& victims, CleaningMethod method) {
  std::vector<SegmentView> taken;
  std::vector<Move> moves;
  taken.reserve(victims.size());
  const OnException give_back([&] {
    for (const SegmentView& victim : taken) directory_.segments().EndCleaning(victim.id);
  });
  for (const SegmentView& victim : victims) {
    if (!directory_.segments().BeginCleaning(victim.id)) continue;
    taken.push_back(victim);
    Collect(victim, moves);
  }
  // Sorted by page id, so that moved pages end up near their neighbours (LAYOUT_REFERENCE 6.13).
  std::sort(moves.begin(), moves.end(),
            [](const Move& a, const Move& b) { return a.page < b.page; });
  size_t done = 0;
  while (done < moves.size()) {
    const size_t count = MoveBatch(moves, done, method);
    if (count == 0) break;
    done += count;
  }
  if (method == CleaningMethod::kClean) sink_.WriteOutMoves();
  if (directory_.journal() != nullptr)
    durable_map_.TryMakeDurable().IgnoreError();  // as in ReleaseSlotsIfUseful
  size_t freed = 0;
  for (const SegmentView& victim : taken) {
    freed += directory_.segments().LiveOf(victim.id) == 0;
    directory_.segments().EndCleaning(victim.id);
  }
  return freed > 0 || (done > 0 && done == moves.size());
}

void SegmentCleaner::Collect(const SegmentView& victim, std::vector<Move>& moves) {
  for (uint32_t i = 0; i < core_.geometry.slots_per_segment; ++i) {
    const SlotId slot = core_.geometry.SlotAt(victim.id, i);
    const PageId page = directory_.segments().OwnerOf(slot);
    if (page == kInvalidPageId) continue;
    const LocationWord word = directory_.map().Load(page);
    if (!word.on_device() || word.slot() != slot) continue;
    moves.push_back({.page = page, .word = word});
  }
}

size_t SegmentCleaner::MoveBatch(std::vector<Move>& moves, size_t first, CleaningMethod method) {
  if (core_.poisoned()) return 0;
  return method == CleaningMethod::kPlug ? PlugBatch(moves, first) : AppendBatch(moves, first);
}

// BeginMove and TakeHole do not throw, because every move that has begun must be ended.
std::optional<FrameIndex> SegmentCleaner::BeginMove(const Move& move) {
  const bool cold = separator_.OnMove(move.page) == Placement::kInPlace;
  try {
    return sink_.BeginMove(cold ? SegmentKind::kCold : SegmentKind::kHot, move.page, move.word);
  } catch (const std::bad_alloc&) {
    return std::nullopt;
  }
}

std::optional<SlotId> SegmentCleaner::TakeHole(const Move& move) {
  const bool cold = separator_.OnMove(move.page) == Placement::kInPlace;
  try {
    return directory_.segments().TakeHole(cold ? SegmentKind::kCold : SegmentKind::kHot, move.page);
  } catch (const std::bad_alloc&) {
    return std::nullopt;
  }
}

size_t SegmentCleaner::AppendBatch(std::vector<Move>& moves, size_t first) {
  size_t count = 0;
  while (count < pages_at_once_ && first + count < moves.size()) {
    Move& move = moves[first + count];
    const auto frame = BeginMove(move);
    if (!frame) break;
    move.frame = *frame;
    ++count;
    if (sink_.EndsBatch(*frame)) break;
  }
  Fetch(moves, first, count);
  for (size_t i = first; i < first + count; ++i) {
    sink_.FinishMove(moves[i].frame, moves[i].valid);
    if (moves[i].valid) core_.counters.cleaner_page_writes.fetch_add(1, std::memory_order_relaxed);
  }
  return count;
}

size_t SegmentCleaner::PlugBatch(std::vector<Move>& moves, size_t first) {
  size_t count = 0;
  while (count < pages_at_once_ && first + count < moves.size()) {
    Move& move = moves[first + count];
    const auto hole = TakeHole(move);
    if (!hole) break;
    move.frame = plug_frames_->IndexOf(static_cast<uint32_t>(count));
    CopyFrame& frame = plug_frames_->frames[count];
    frame.page = move.page;
    frame.sequence = move.word.sequence();
    frame.moved = true;
    frame.target = *hole;
    frame.durable_word.store(move.word.bits(), std::memory_order_relaxed);
    ++count;
  }
  Fetch(moves, first, count);
  WritePlugs(moves, first, count);
  return count;
}

bool SegmentCleaner::CopyFromPool(Move& move, std::byte* out) {
  const bool copied = core_.client.Ask(
      false, [&](PageStoreClient& client) { return client.CopyIfClean(move.page, out); });
  if (!copied) return false;
  // The pool's copy is the write that the word names only if that write is still the newest one. If
  // the word changes after this check, the installation fails.
  if (directory_.map().Load(move.page) != move.word) return false;
  SealPage({out, core_.geometry.page_size}, move.page, move.word.sequence(), core_.database_id);
  return true;
}

void SegmentCleaner::Fetch(std::vector<Move>& moves, size_t first, size_t count) {
  uint64_t copied = 0, read = 0;
  size_t next = first;
  window_.Run(
      *queue_,
      [&](TaggedRequest<size_t>& request) {
        while (next < first + count) {
          Move& move = moves[next++];
          // Rewritten meanwhile: stays invalid.
          if (directory_.map().Load(move.page) != move.word) continue;
          std::byte* out = directory_.frames().Memory(move.frame);
          if (CopyFromPool(move, out)) {
            move.valid = true;
            ++copied;
            continue;
          }
          request.tag = next - 1;
          request.op = IoRequest::Op::kRead;
          request.io_class = IoClass::kSegmentRead;
          request.offset = core_.geometry.OffsetOf(move.word.slot());
          request.length = core_.geometry.page_size;
          request.buffer = out;
          ++read;
          return true;
        }
        return false;
      },
      [&](const IoRequest& request, size_t i) { CheckRead(moves[i], request.status); });
  core_.counters.cleaner_page_reads.fetch_add(read, std::memory_order_relaxed);
  core_.counters.cleaner_pages_copied.fetch_add(copied, std::memory_order_relaxed);
}

void SegmentCleaner::CheckRead(Move& move, const absl::Status& status) {
  absl::Status proof = status;
  if (proof.ok()) {
    proof = CatchOutOfMemory([&] {
      return directory_.Prove(move.page, move.word,
                              {directory_.frames().Memory(move.frame), core_.geometry.page_size});
    });
  }
  move.valid = proof.ok();
  if (proof.ok() || directory_.map().Load(move.page) != move.word) return;
  if (IsOutOfMemory(proof)) return;
  // The page stays where it is; its segment is not chosen again.
  CatchOutOfMemory([&] {
    damaged_.insert(Raw(core_.geometry.SegmentOf(move.word.slot())));
    LogTo(core_.log_sink, LogLevel::kError,
          fmt::format("segment cleaning left page {} in place: {}", Raw(move.page),
                      std::string(proof.message())));
    return absl::OkStatus();
  }).IgnoreError();
}

void SegmentCleaner::WritePlugs(std::vector<Move>& moves, size_t first, size_t count) {
  size_t next = first;
  window_.Run(
      *queue_,
      [&](TaggedRequest<size_t>& request) {
        while (next < first + count) {
          const Move& move = moves[next++];
          const SlotId target = directory_.frames().Frame(move.frame).target;
          if (!move.valid) {
            directory_.ReleaseUnnamed(target);
            continue;
          }
          request.tag = next - 1;
          request.op = IoRequest::Op::kWrite;
          request.io_class = IoClass::kPageWrite;
          request.offset = core_.geometry.OffsetOf(target);
          request.length = core_.geometry.page_size;
          request.buffer = directory_.frames().Memory(move.frame);
          return true;
        }
        return false;
      },
      [&](const IoRequest& request, size_t i) { EndPlug(moves[i], request.status); });
}

void SegmentCleaner::EndPlug(const Move& move, const absl::Status& written) {
  if (!written.ok()) {
    WriteFrameAgain(directory_, move.frame, written).IgnoreError();
  } else if (directory_.InstallWritten(move.frame)) {
    core_.counters.cleaner_page_writes.fetch_add(1, std::memory_order_relaxed);
  }
}

}  // namespace latchkey
