#include "layout/clean/segment_cleaner.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "storage/base/out_of_memory.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

constexpr double kWeightOfNewVictims = 0.1;
constexpr uint32_t kMaxVictims = 64;
// The least gain, in segments, that counts for a pass which has passed over emptier victims.
constexpr double kGainOfFullerVictims = 0.5;
// Pages accepted between two looks at whether a probe is due.
constexpr uint64_t kExplorationInterval = 2048;
// Utilisation of victims that is assumed before the first.
constexpr double kUnknownVictims = 0.8;

uint64_t CountOf(const std::atomic<uint64_t>& counter) {
  return counter.load(std::memory_order_relaxed);
}

}  // namespace

SegmentCleaner::SegmentCleaner(Parts parts, std::unique_ptr<CleaningPolicy> policy)
    : directory_(parts.directory),
      core_(parts.directory.core()),
      space_(parts.space),
      sink_(parts.sink),
      durable_map_(parts.durable_map),
      separator_(parts.separator),
      costs_(parts.costs),
      explorer_(parts.explorer),
      measure_at_start_(parts.measure_at_start),
      by_death_time_(parts.by_death_time),
      pass_bytes_(parts.pass_bytes),
      policy_(std::move(policy)),
      requests_at_once_(parts.requests_at_once),
      pass_mutex_(core_.runtime),
      reader_(directory_, std::min(parts.victims_at_once, kMaxVictims), 2 * requests_at_once_),
      plugs_(directory_, requests_at_once_) {
  victims_.reserve(kMaxVictims + reader_.most_victims());
  batch_.ids.reserve(parts.victims_at_once);
  next_.reserve(parts.victims_at_once);
}

SegmentCleaner::~SegmentCleaner() { Stop(); }

absl::Status SegmentCleaner::Start() {
  LATCHKEY_RETURN_IF_ERROR(reader_.Prepare());
  LATCHKEY_RETURN_IF_ERROR(plugs_.Prepare(requests_at_once_));
  if (explorer_ != nullptr) explorer_->Prepare(reader_.spare_memory());
  if (explorer_ != nullptr && measure_at_start_) explorer_->MeasureAll();
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
  MutexLock lock(pass_mutex_);  // for clang's lock analysis
  DropNext();
}

void SegmentCleaner::Run() {
  for (;;) {
    // Stop sets stop_, then signals. If stop_ were looked at first, a Stop in between would be missed.
    const uint32_t seen = space_.work_sequence();
    if (stop_.load(std::memory_order_acquire)) return;
    bool more = false;
    Nanos retry_after = kForever;
    try {
      MutexLock lock(pass_mutex_);
      more = durable_map_.is_unclean() && !core_.poisoned() && RunPass();
      if (!more) DropNext();
    } catch (const std::bad_alloc&) {
      retry_after = kNanosPerMilli;
      MutexLock lock(pass_mutex_);
      DropNext();
      space_.ReportPass(/*gained=*/false);  // waiting writers then stop waiting
    }
    durable_map_.CheckpointIfWanted();
    if (!more) space_.WaitForWork(seen, std::min(retry_after, RetryAfter()));
  }
}

Nanos SegmentCleaner::RetryAfter() {
  // An open append log or a page in flight can keep the file from shrinking, a full journal can keep
  // a round from running, and too few free segments a checkpoint. Such obstacles may go away without
  // a signal: retry with exponential back-off, from 1 ms to 1 s.
  const MapJournal* const journal = directory_.journal();
  const bool waits = space_.WantsShrink() ||
                     (journal != nullptr && !core_.poisoned() &&
                      (journal->full() || journal->WantsCheckpoint(directory_.map().limit())));
  retry_after_ = waits ? std::min(2 * retry_after_, kNanosPerSecond) : kFirstRetry;
  return waits ? retry_after_ : kForever;
}

bool SegmentCleaner::RunPass() {
  MaybeTune();
  Explore();
  const absl::Status grown = space_.GrowToTarget();
  if (grown.ok()) space_.NotifyFreed();
  const bool shrunk = space_.WantsShrink() && Shrink();
  if (shrunk) retry_after_ = kFirstRetry;
  const bool released = ReleaseSlotsIfUseful();
  if (!space_.WantsCleaning()) return shrunk;
  const bool gained = Clean() || released;
  // After ReportPass(false) writers stop waiting for segments and look for holes. Victims hide theirs.
  if (!gained) DropNext();
  space_.ReportPass(gained);
  return gained || shrunk;
}

// Runs a round when one is due, when a writer has asked for holes, or when space is short and the slots
// that wait for a round make up a segment or more (at kLeastHardWatermark: any number of slots).
bool SegmentCleaner::ReleaseSlotsIfUseful() {
  if (directory_.journal() == nullptr) return false;
  const size_t pending = directory_.journal()->pending_slots();
  const bool short_of_space =
      (space_.WantsCleaning() || space_.WantsShrink()) &&
      (pending >= core_.geometry.pages_per_segment() ||
       directory_.segments().free_count() <= SpaceManager::kLeastHardWatermark);
  const bool asked = space_.TakeAskedForHoles();
  const bool makes_holes = asked && pending >= SpaceManager::kSlotsForHoles;
  if (!directory_.journal()->due() && !makes_holes && !(short_of_space && pending > 0)) {
    return false;
  }
  const uint32_t free_before = directory_.segments().free_count();
  durable_map_.TryMakeDurable()
      .IgnoreError();  // after an error the store is poisoned, or a later round retries
  return directory_.segments().free_count() > free_before;
}

void SegmentCleaner::SampleCosts() const {
  const StoreCounters& c = core_.counters;
  costs_.Sample({.live_pages_read = CountOf(c.cleaner_page_reads),
                 .live_pages_copied = CountOf(c.cleaner_pages_copied),
                 .protected_pages = CountOf(c.protected_page_writes),
                 .protection_sync_ns = CountOf(c.protection_sync_ns)});
}

TuningInputs SegmentCleaner::Inputs() {
  if (!reader_.is_loading()) SampleCosts();
  TuningInputs inputs;
  inputs.space_utilization = space_.space_utilization();
  if (inputs.space_utilization <= 0) {
    inputs.space_utilization = space_.sizing().space_utilization;  // an empty store
  }
  inputs.costs = costs_.costs();
  switch (sink_.protection()) {
    case InPlaceProtection::kNone:
      inputs.costs.protection_ns = 0;
      break;
    case InPlaceProtection::kImages:
      // The log writes the page's image in sequence, at most once between two checkpoints.
      inputs.costs.protection_ns = inputs.costs.segment_write_ns;
      break;
    case InPlaceProtection::kDoublewrite:
      inputs.writes_twice = true;
      if (inputs.costs.protection_ns <= 0) {  // not measured yet
        inputs.costs.protection_ns = inputs.costs.segment_write_ns;
      }
      break;
  }
  inputs.plugging_allowed = policy_->may_plug() && PagesFillHoles();
  inputs.costs.segment_write_ns *= MeanPageShare();
  inputs.by_death_time = by_death_time_;
  inputs.compresses = core_.geometry.compresses();
  inputs.page_id_limit = directory_.map().limit();
  return inputs;
}

// Slots of a page in use over those of a whole one.
double SegmentCleaner::MeanPageShare() const {
  const uint64_t whole = directory_.map().allocated() * core_.geometry.slots_per_page;
  return whole == 0 ? 1 : static_cast<double>(directory_.live_slots()) / static_cast<double>(whole);
}

// An image that plugs a hole has the block to itself, so where pages compress, plugging would
// spread few bytes over many blocks. There it stays the last resort.
bool SegmentCleaner::PagesFillHoles() const {
  constexpr double kNearlyWhole = 0.95;
  return !core_.geometry.compresses() || MeanPageShare() > kNearlyWhole;
}

LogWork SegmentCleaner::WorkSoFar() const {
  const StoreCounters& c = core_.counters;
  const uint64_t plugged = CountOf(c.plugged_page_writes);
  return {.appended = CountOf(c.hot_page_writes),
          .read = CountOf(c.cleaner_page_reads),
          .moved = CountOf(c.cleaner_page_writes) - plugged,
          .plugged = plugged};
}

void SegmentCleaner::MaybeTune() {
  const uint64_t interval = separator_.TuningInterval(directory_.map().allocated());
  if (interval == 0) {
    next_tuning_ = UINT64_MAX;
    return;
  }
  const uint64_t now = core_.counters.user_page_writes.load(std::memory_order_relaxed);
  if (tuned_once_ && now < next_tuning_) return;
  tuned_once_ = true;
  TuningInputs inputs = Inputs();
  const uint32_t in_use = directory_.segments().total() - directory_.segments().free_count();
  const double pages = core_.geometry.pages_per_segment() / std::max(0.01, MeanPageShare());
  if (const auto work = log_work_.Advance(WorkSoFar(), pages, in_use)) {
    inputs.log_ns = work->NanosPerPage(inputs.costs, victim_utilization_.value_or(kUnknownVictims));
  }
  inputs.now = core_.runtime.Now();
  inputs.device = core_.device.stats();
  inputs.disks = core_.device.geometry().data_disks;
  inputs.page_size = core_.geometry.page_size;
  separator_.Tune(inputs, [this](PageId id) { return !directory_.map().Load(id).free(); });
  next_tuning_ = now + interval;
  space_.SignalAtPageWrites(next_tuning_);
}

bool SegmentCleaner::ExplorationIsDue() const {
  // A young file has no segment to lend.
  return explorer_ != nullptr && !space_.IsYoung() &&
         CountOf(core_.counters.user_page_writes) >= next_exploration_;
}

void SegmentCleaner::Explore() {
  if (explorer_ == nullptr || space_.IsYoung()) return;
  if (ExplorationIsDue() && next_.empty()) {  // probes use the memory of victims
    SampleCosts();
    explorer_->ExploreOne();
    next_exploration_ = CountOf(core_.counters.user_page_writes) + kExplorationInterval;
  }
  space_.SignalAtPageWrites(std::min(next_tuning_, next_exploration_));
}

CleaningMethod SegmentCleaner::ChooseMethod() {
  if (directory_.segments().free_count() == 0)
    return CleaningMethod::kPlug;  // nowhere else to write
  if (!PagesFillHoles()) return CleaningMethod::kClean;
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

std::optional<SegmentView> SegmentCleaner::ChooseVictim(uint64_t clock) {
  return directory_.segments().BestVictim(
      [this](double u, double age) { return policy_->Priority(u, age); }, clock);
}

bool SegmentCleaner::Clean() {
  passed_over_ = 0;
  bool gained = EmptyVictims(ChooseMethod());
  const bool may_plug = PagesFillHoles() || directory_.segments().free_count() == 0;
  if (!gained && may_plug && !core_.poisoned()) gained = EmptyVictims(CleaningMethod::kPlug);
  // The remaining slots, and those of the victims passed over, are superseded by copies in memory.
  // Writing those out releases the slots and needs no new segment.
  if (!gained || (passed_over_ > 0 && IsShort())) sink_.StartUserWrites();
  return gained;
}

// Then no slot is released before a checkpoint of the map, so moves gain nothing: they would take the
// segments that the checkpoint needs.
bool SegmentCleaner::JournalIsFull() const {
  return directory_.journal() != nullptr && directory_.journal()->full();
}

// Chooses the best victims, one, or more while they fit into memory and are wanted, and begins to load
// them. REQUIRES: nothing is loading, and no page of the last batch is needed.
void SegmentCleaner::LoadNext(CleaningMethod method, uint64_t budget, double wanted,
                              bool is_first) {
  const double slots = core_.geometry.slots_per_segment;
  const uint64_t clock = directory_.clock() + 1;
  while (next_.size() < reader_.most_victims() && (next_.empty() || wanted > 0)) {
    const std::optional<SegmentView> victim = ChooseVictim(clock);
    if (!victim) break;
    if (victim->live > budget && !(is_first && next_.empty())) break;
    if (!directory_.segments().BeginCleaning(victim->id)) continue;
    next_.push_back(victim->id);
    budget -= std::min<uint64_t>(budget, victim->live);
    wanted -= method == CleaningMethod::kClean ? 1.0 - victim->live / slots : 1.0;
  }
  if (!next_.empty()) reader_.Begin(next_, ReadCostsOf(costs_.costs()));
}

// Gives the next batch back.
void SegmentCleaner::DropNext() {
  reader_.Cancel();
  for (const SegmentId victim : next_) directory_.segments().EndCleaning(victim);
  next_.clear();
}

// The next batch becomes the present one.
void SegmentCleaner::TakeNext() {
  batch_.ids.swap(next_);
  next_.clear();
  for (const SegmentId victim : batch_.ids) victims_.push_back({victim});
}

// Ends the cleaning of the other victims of the batch, so that the first one may fill their holes.
void SegmentCleaner::KeepFirstOfBatch() {
  for (; batch_.ids.size() > 1; batch_.ids.pop_back(), victims_.pop_back()) {
    directory_.segments().EndCleaning(batch_.ids.back());
  }
}

// Empties victims until a few segments are gained. Returns whether it has made progress.
bool SegmentCleaner::EmptyVictims(CleaningMethod method) {
  const uint64_t taken_before = space_.taken_by_cleaner();
  const uint64_t budget_of_pass = pass_bytes_ / core_.geometry.slot_size();
  uint64_t budget = budget_of_pass;
  double wanted = WantedGain(), gained = 0;
  uint32_t emptied = 0, passed_over = 0;
  freed_ = 0;
  const OnException give_back([&] {
    EndEmptied(/*all=*/true);
    DropNext();
  });
  const auto may_go_on = [&] {
    return victims_.size() < kMaxVictims && !stop_.load(std::memory_order_acquire);
  };
  while ((wanted > 0 || emptied == 0) && may_go_on()) {
    if (next_.empty()) LoadNext(method, budget, wanted, /*is_first=*/emptied == 0);
    if (next_.empty()) break;
    TakeNext();
    bool has_room = Empty(method);
    if (!has_room && method == CleaningMethod::kPlug && batch_.emptied == 0 &&
        batch_.ids.size() > 1) {
      KeepFirstOfBatch();
      has_room = Empty(method);
    }
    wanted -= batch_.without_pages;  // free as soon as the copies in memory have been written
    passed_over += batch_.without_pages;
    budget -= std::min(budget, batch_.slots);
    wanted -= batch_.gain;
    gained += batch_.gain;
    emptied += batch_.emptied;
    if (!has_room || (batch_.without_pages > 0 && JournalIsFull())) break;
    if (batch_.emptied == 0) continue;
    sink_.CompleteWrites();
    if (wanted > 0 && may_go_on()) {
      if (MayLoadAhead()) LoadNext(method, budget, wanted, /*is_first=*/false);
      ReleaseSlotsIfUseful();  // otherwise EndPass runs a round
    }
    EndEmptied(/*all=*/false);
  }
  // A probe that is due needs the memory of victims.
  if (emptied > 0 && MayLoadAhead() && ExpectsPass() && !ExplorationIsDue()) {
    LoadNext(method, budget_of_pass, WantedGain(), /*is_first=*/true);
  }
  EndPass();
  passed_over_ += passed_over;
  if (passed_over == 0) return freed_ > 0 || emptied > 0;
  // Behind the emptiest segments come fuller ones. To empty those may take as many segments as it frees,
  // pass after pass, while writers wait. Images may take more slots than before, so there only the
  // segments that it frees and takes tell.
  return freed_ > space_.taken_by_cleaner() - taken_before ||
         (!core_.geometry.compresses() && gained >= kGainOfFullerVictims);
}

double SegmentCleaner::WantedGain() const {
  return GainOfPass(core_.geometry.segment_size, space_.hard_watermark());
}

// Whether to read the next victims before the last ones are free. It helps if users wait for segments.
// All victims hide their holes from users, so they must be few segments of the file.
bool SegmentCleaner::MayLoadAhead() const {
  constexpr uint32_t kFilePerBatch = 16;
  return IsShort() && next_.empty() && !core_.poisoned() &&
         directory_.segments().total() >= kFilePerBatch * reader_.most_victims();
}

// Users wait for segments, or the next one of them will.
bool SegmentCleaner::IsShort() const {
  return directory_.segments().free_count() <= space_.hard_watermark();
}

// Whether another pass follows at once, even when all victims of this one are free.
bool SegmentCleaner::ExpectsPass() const {
  const auto ended = std::ranges::count_if(victims_, &Victim::ended);
  const auto soon_free = static_cast<uint32_t>(victims_.size() - static_cast<size_t>(ended));
  return !stop_.load(std::memory_order_acquire) && space_.WantsCleaning(soon_free);
}

// Writes out what has been moved, and ends the pass for all victims.
void SegmentCleaner::EndPass() {
  sink_.WriteOutMoves();
  if (directory_.journal() != nullptr) {
    durable_map_.TryMakeDurable().IgnoreError();  // as in ReleaseSlotsIfUseful
  }
  EndEmptied(/*all=*/false);
  EndEmptied(/*all=*/true);
}

// Ends the cleaning of victims that are empty, which makes them free, or of all. Returns their
// number.
uint32_t SegmentCleaner::EndEmptied(bool all) {
  uint32_t ended = 0;
  for (Victim& victim : victims_) {
    if (victim.ended || (!all && directory_.segments().LiveOf(victim.id) != 0)) continue;
    directory_.segments().EndCleaning(victim.id);
    victim.ended = true;
    ++ended;
  }
  freed_ += all ? 0 : ended;
  if (all) victims_.clear();
  return ended;
}

// The utilisation that counts is the share of slots that had to be moved.
void SegmentCleaner::NoteEmptied(CleaningMethod method) {
  if (method != method_of_late_) victim_utilization_.reset();
  method_of_late_ = method;
  const double u =
      static_cast<double>(batch_.slots) / batch_.emptied / core_.geometry.slots_per_segment;
  const double kept = std::pow(1 - kWeightOfNewVictims, batch_.emptied);
  victim_utilization_ = victim_utilization_ ? kept * *victim_utilization_ + (1 - kept) * u : u;
  core_.counters.cleaned_live_slots.fetch_add(batch_.slots, std::memory_order_relaxed);
  auto& counter = method == CleaningMethod::kClean ? core_.counters.cleaned_segments
                                                   : core_.counters.plugged_segments;
  counter.fetch_add(batch_.emptied, std::memory_order_relaxed);
}

std::optional<double> SegmentCleaner::cleaning_utilization() const {
  const uint64_t segments = core_.counters.cleaned_segments.load(std::memory_order_relaxed) +
                            core_.counters.plugged_segments.load(std::memory_order_relaxed);
  if (segments == 0) return std::nullopt;
  const uint64_t live = core_.counters.cleaned_live_slots.load(std::memory_order_relaxed);
  return static_cast<double>(live) /
         (static_cast<double>(segments) * core_.geometry.slots_per_segment);
}

bool SegmentCleaner::Shrink() {
  DropNext();
  const std::optional<SegmentId> obstacle = space_.ShrinkTowardsTarget();
  if (!obstacle) return false;
  const SegmentState state = directory_.segments().StateOf(*obstacle);
  if (state == SegmentState::kOpen) {
    sink_.EndLogsFrom(*obstacle);
    return directory_.segments().StateOf(*obstacle) != SegmentState::kOpen;
  }
  if (state != SegmentState::kClosed || !directory_.segments().MayBeVictim(*obstacle) ||
      !directory_.segments().BeginCleaning(*obstacle)) {
    return false;
  }
  const OnException give_back([&] { EndEmptied(/*all=*/true); });
  victims_.push_back({*obstacle});
  const bool room = directory_.segments().free_count() > space_.soft_watermark();
  const CleaningMethod method = room ? CleaningMethod::kClean : CleaningMethod::kPlug;
  batch_.ids.assign(1, *obstacle);
  freed_ = 0;
  log_work_.Restart();  // these moves are no users' work
  const bool emptied = Empty(method) && batch_.emptied > 0;
  EndPass();
  if (!emptied && freed_ == 0) sink_.StartUserWrites();  // newer copies of its pages may gather
  return freed_ > 0 || emptied;
}

// Sets how many victims `pages` come from, how many slots the pages take, and how many segments it
// gains to move them. REQUIRES: pages of one victim stand together.
void SegmentCleaner::CountEmptied(std::span<const VictimPage> pages, CleaningMethod method) {
  batch_.emptied = 0;
  batch_.slots = 0;
  for (size_t i = 0; i < pages.size(); ++i) {
    const bool is_first = i == 0 || reader_.VictimOf(pages[i]) != reader_.VictimOf(pages[i - 1]);
    batch_.emptied += is_first;
    batch_.slots += pages[i].word.slots();
  }
  batch_.gain = batch_.emptied;
  if (method == CleaningMethod::kPlug) return;
  batch_.gain -= static_cast<double>(batch_.slots) / core_.geometry.slots_per_segment;
}

// Moves all live pages out of the victims of the batch.
bool SegmentCleaner::Empty(CleaningMethod method) {
  batch_.without_pages = 0;
  CountEmptied({}, method);
  if (core_.poisoned()) {
    reader_.Cancel();
    return false;
  }
  if (!reader_.is_loading()) reader_.Begin(batch_.ids, ReadCostsOf(costs_.costs()));
  std::vector<VictimPage>& pages = reader_.Finish();
  CountEmptied(pages, method);
  batch_.without_pages = static_cast<uint32_t>(batch_.ids.size()) - batch_.emptied;
  if (pages.empty()) return true;
  // Victim after victim, so that the first ones are empty if there is no room for all. By page id, so
  // that moved pages end up near their neighbours (LAYOUT_REFERENCE 6.13).
  std::sort(pages.begin(), pages.end(), [&](const VictimPage& a, const VictimPage& b) {
    return std::pair(reader_.VictimOf(a), a.page) < std::pair(reader_.VictimOf(b), b.page);
  });
  size_t done = method == CleaningMethod::kClean
                    ? Append(pages)
                    : plugs_.Write(reader_, pages, [this](PageId id) { return KindFor(id); });
  const bool has_room = done == pages.size();
  if (!has_room) {
    const uint32_t unfinished = reader_.VictimOf(pages[done]);
    while (done > 0 && reader_.VictimOf(pages[done - 1]) == unfinished) --done;
    CountEmptied(std::span(pages).first(done), method);
  }
  if (batch_.emptied > 0) NoteEmptied(method);
  SampleCosts();  // a pass may begin and end while victims are loading
  return has_room;
}

SegmentKind SegmentCleaner::KindFor(PageId page) const {
  return separator_.OnMove(page) == Placement::kInPlace ? SegmentKind::kCold : SegmentKind::kHot;
}

// Appends the loaded ones of `pages`. Returns how many of `pages`, from the front, need no more
// work.
size_t SegmentCleaner::Append(std::span<const VictimPage> pages) {
  for (size_t i = 0; i < pages.size(); ++i) {
    const VictimPage& page = pages[i];
    if (!page.loaded) continue;
    FrameIndex frame{};
    if (!BeginMove(page, &frame) && (!MakeRoom() || !BeginMove(page, &frame))) return i;
    std::memcpy(directory_.frames().Memory(frame), reader_.Memory(page.index),
                reader_.BytesOf(page));
    sink_.FinishMove(frame, /*valid=*/true);
    core_.counters.cleaner_page_writes.fetch_add(1, std::memory_order_relaxed);
  }
  return pages.size();
}

// Does not throw, because every move that has begun must be finished.
bool SegmentCleaner::BeginMove(const VictimPage& page, FrameIndex* frame) {
  try {
    const auto begun = sink_.BeginMove(KindFor(page.page), page.page, page.word);
    if (begun) *frame = *begun;
    return begun.has_value();
  } catch (const std::bad_alloc&) {
    return false;
  }
}

// There is no free segment for a move: makes those victims free whose pages are all elsewhere.
bool SegmentCleaner::MakeRoom() {
  sink_.WriteOutMoves();
  if (directory_.journal() != nullptr) durable_map_.TryMakeDurable().IgnoreError();
  return EndEmptied(/*all=*/false) > 0;
}

}  // namespace latchkey
