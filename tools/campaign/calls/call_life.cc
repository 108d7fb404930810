#include "tools/campaign/calls/call_life.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/database_impl.h"
#include "storage/base/hash.h"
#include "storage/base/rng.h"
#include "tools/campaign/calls/call_actor.h"
#include "tools/campaign/shared/add_members.h"
#include "tools/campaign/shared/technique_items.h"

namespace latchkey {
namespace {

constexpr uint32_t kData = 0, kLog = 1, kJournal = 2;
constexpr uint64_t kReopenCacheBytes = 64 << 20;

std::string OneOf(Rng& rng, const std::vector<std::string>& names) {
  return names[rng.Below(names.size())];
}

std::optional<Fault> DrawFault(Rng& rng) {
  constexpr FaultKind kKinds[] = {FaultKind::kIoError,    FaultKind::kReadError,
                                  FaultKind::kWriteError, FaultKind::kNoSpace,
                                  FaultKind::kShort,      FaultKind::kSyncError};
  if (rng.Below(3) != 0) return std::nullopt;
  return Fault{.kind = kKinds[rng.Below(std::size(kKinds))],
               .at_call = rng.Below(uint64_t{1} << rng.Below(11)),
               .from_then_on = rng.Below(2) == 0,
               .seed = rng.Next()};
}

}  // namespace

CallLifePlan CallLifePlan::Of(uint64_t seed, uint32_t calls) {
  Rng rng(MixHash(seed));
  CallLifePlan plan;
  Options& options = plan.options;
  Techniques& t = options.techniques;
  SetLayout(OneOf(rng, LayoutItems()), &t);
  t.segment_cleaning = OneOf(rng, SegmentCleaningItems());
  t.replacement = OneOf(rng, ReplacementItems());
  t.synchronization = OneOf(rng, SynchronizationItems());
  MakePolicy(&t.replacement, t.synchronization);
  t.fix = OneOf(rng, FixItems());
  MakeFixMode(&t.fix, t.synchronization);
  t.page_in = OneOf(rng, PageInItems());
  t.cleaner = OneOf(rng, CleanerItems());
  t.cleaners = static_cast<uint32_t>(rng.Below(3));
  t.cleaning_scope = OneOf(rng, CleaningScopeItems());
  t.victims = OneOf(rng, VictimItems());
  const bool has_own_batch = t.synchronization.starts_with("bp-wrapper");
  t.eviction_batch = has_own_batch ? 0 : static_cast<uint32_t>(rng.Below(65));
  t.space_utilization = rng.Below(2) == 0 ? 0.8 : 0.95;
  t.seed = seed;
  options.page_size = 4096u << (rng.Below(4) == 0 ? rng.Below(5) : 0);
  t.segment_size = std::max(64u << 10, 8 * options.page_size);
  options.durability = static_cast<Durability>(rng.Below(3));
  if (options.durability != Durability::kNone && rng.Below(3) == 0) {
    options.torn_write_protection = TornWriteProtection::kImages;
  }
  options.isolation = rng.Below(2) == 0 ? Isolation::kSnapshot : Isolation::kSerializable;
  options.cache_bytes = uint64_t{options.page_size <= 4096 ? 2u : 4u + options.page_size / 4096}
                        << (20 + rng.Below(3));
  options.checkpoint_log_bytes = uint64_t{64} << (10 + rng.Below(5));
  options.version_store_bytes = rng.Below(3) == 0 ? uint64_t{32} << (10 + rng.Below(6)) : 0;
  options.lock_wait_ms = static_cast<uint32_t>(1 + rng.Below(2000));
  SetChangeBuffer(seed, &options);
  plan.is_hot = rng.Below(4) == 0;
  plan.actors = static_cast<uint32_t>(2 + rng.Below(15));
  plan.calls = plan.is_hot ? 4 * calls : calls;
  plan.disk_bytes = rng.Below(3) == 0 ? uint64_t{4 + rng.Below(28)} << 20 : uint64_t{1} << 30;
  plan.fault = DrawFault(rng);
  plan.preempt_probability = rng.Below(4) == 0 ? 0 : 0.5 * rng.Unit();
  return plan;
}

std::string CallLifePlan::Describe() const {
  const Techniques& t = options.techniques;
  constexpr const char* kDurabilities[] = {"none", "group", "commit"};
  return fmt::format(
      "layout={} cleaning={} replacement={} synchronization={} fix={} page-in={} cleaner={} x{} {} "
      "{} {} "
      "page={} "
      "cache={} changes={} "
      "hot={} durability={} images={} serializable={} versions={} actors={} disk={} fault={}",
      LayoutItemOf(t), t.segment_cleaning, t.replacement, t.synchronization, t.fix, t.page_in,
      t.cleaner, t.cleaners, t.cleaning_scope, t.victims, t.eviction_batch, options.page_size,
      options.cache_bytes, t.change_buffer_bytes, is_hot,
      kDurabilities[static_cast<int>(options.durability)],
      options.torn_write_protection == TornWriteProtection::kImages,
      options.isolation == Isolation::kSerializable, options.version_store_bytes, actors,
      disk_bytes,
      fault ? fmt::format("{}@{}{}", FaultKindName(fault->kind), fault->at_call,
                          fault->from_then_on ? "+" : "")
            : "none");
}

void CallCounts::Add(const CallCounts& other) {
  using C = CallCounts;
  AddMembers<&C::lives, &C::calls, &C::ok, &C::not_found, &C::aborted, &C::exhausted, &C::refused,
             &C::unavailable, &C::invalid, &C::faults, &C::reopened, &C::compared, &C::leaked,
             &C::mistakes>(other, this);
}

void CallCounts::Note(const char* call, const absl::Status& status) {
  ++calls;
  switch (status.code()) {
    case absl::StatusCode::kOk:
      ++ok;
      return;
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kAlreadyExists:
      ++not_found;
      return;
    case absl::StatusCode::kAborted:
      ++aborted;
      return;
    case absl::StatusCode::kResourceExhausted:
      ++exhausted;
      return;
    case absl::StatusCode::kFailedPrecondition:
      ++refused;
      return;
    case absl::StatusCode::kUnavailable:
      ++unavailable;
      return;
    case absl::StatusCode::kInvalidArgument:
      ++invalid;
      return;
    default:
      mistakes.push_back(fmt::format("{}: {}", call, status.ToString()));
  }
}

namespace {

/// The disks of a life, and the databases that are opened on them, one after the other.
class Life {
 public:
  Life(Runtime& runtime, uint64_t seed, const CallLifePlan& plan)
      : runtime_(runtime), seed_(seed), plan_(plan) {}

  CallCounts Run() {
    counts_.lives = 1;
    disks_ = NewDisks(nullptr);
    if (Open("open")) {
      Work();
      Close();
      Reopen();
    }
    return std::move(counts_);
  }

 private:
  std::unique_ptr<CrashRecorder> NewDisks(const CrashRecorder* before) {
    auto disks = std::make_unique<CrashRecorder>(
        runtime_, CrashRecorderOptions{
                      .record = false,
                      .capacity_limit_bytes = before == nullptr ? plan_.disk_bytes : 4ull << 30,
                      .seed = seed_});
    for (const uint32_t disk : {kData, kLog, kJournal}) {
      disks->AddDisk("disk", before == nullptr ? DiskImage{} : before->content(disk));
    }
    return disks;
  }

  bool Open(const char* call) {
    DatabaseDevices devices;
    devices.data = disks_->Open(kData);
    devices.log = disks_->Open(kLog);
    devices.journal = disks_->Open(kJournal);
    devices.sizing = {.log_segment_bytes = 64 << 10,
                      .log_initial_bytes = 256 << 10,
                      .journal_segment_bytes = 16 << 10,
                      .reserve_bytes = 1,
                      .doublewrite_pages = 8,
                      .assume_device_costs = true};
    Options options = plan_.options;
    // A database that has grown needs more than the minimum with which it was created.
    if (!actors_.empty()) options.cache_bytes = std::max(options.cache_bytes, kReopenCacheBytes);
    auto opened = DatabaseImpl::OpenOverDevices(runtime_, std::move(devices), options);
    counts_.Note(call, opened.status());
    if (!opened.ok()) {
      open_status_ = opened.status();
      return false;
    }
    db_ = DatabaseImpl::AsDatabase(*std::move(opened));
    return true;
  }

  void Work() {
    const absl::StatusOr<Tree> shared = db_->OpenTree("shared");
    counts_.Note("OpenTree", shared.status());
    if (!shared.ok()) return;
    for (uint32_t a = 0; a < plan_.actors; ++a) {
      actors_.push_back(std::make_unique<CallActor>(runtime_, *db_, *shared, seed_, a, plan_));
    }
    disks_->SetFault(plan_.fault);
    std::vector<std::unique_ptr<Actor>> running;
    for (const auto& actor : actors_) {
      running.push_back(runtime_.Spawn("caller", [a = actor.get()] { a->Run(); }));
    }
    for (const auto& actor : running) actor->Join();
    counts_.faults = disks_->injected_faults();
    disks_->StopFaults();
    for (const auto& actor : actors_) counts_.Add(actor->counts());
  }

  bool disturbed() const { return counts_.faults != 0 || plan_.disk_bytes < (1u << 30); }

  // If pages of an overflow chain cannot be read when the chain is freed, they stay in use.
  void JudgeVerify(const char* call, const absl::Status& verified) {
    const bool leaked = verified.message().find("leaked") != absl::string_view::npos;
    if (disturbed() && (leaked || !absl::IsDataLoss(verified))) {
      ++counts_.leaked;
    } else {
      Wrong(std::string(call) + ": " + verified.ToString());
    }
  }

  void Wrong(std::string what) { counts_.mistakes.push_back(std::move(what)); }

  void Close() {
    const absl::Status verified = db_->Verify();
    if (!verified.ok()) JudgeVerify("Verify", verified);
    const absl::Status closed = db_->Close();
    counts_.Note("Close", closed);
    if (!closed.ok() && !disturbed()) Wrong("Close: " + closed.ToString());
    closed_ = closed.ok();
    db_.reset();
  }

  void Reopen() {
    std::unique_ptr<CrashRecorder> again = NewDisks(disks_.get());
    std::swap(disks_, again);
    const bool opened = Open("reopen");
    const bool logged = plan_.options.durability != Durability::kNone;
    if (!opened) {
      if (closed_ || logged) Wrong("reopen: " + open_status_.ToString());
      return;
    }
    ++counts_.reopened;
    // Without a clean close the last commits of a group may be lost. Without a log a rollback that
    // cannot read a page leaves its change.
    const bool exact =
        logged ? closed_ || plan_.options.durability == Durability::kCommit : counts_.faults == 0;
    for (const auto& actor : actors_) {
      if (!exact) break;
      actor->CompareWith(*db_, &counts_);
    }
    if (const absl::Status verified = db_->Verify(); !verified.ok()) {
      JudgeVerify("Verify after the reopen", verified);
    }
    if (const absl::Status closed = db_->Close(); !closed.ok()) {
      Wrong("Close after the reopen: " + closed.ToString());
    }
    db_.reset();
  }

  Runtime& runtime_;
  const uint64_t seed_;
  const CallLifePlan& plan_;
  CallCounts counts_;
  std::unique_ptr<CrashRecorder> disks_;
  std::unique_ptr<Database> db_;
  absl::Status open_status_;
  std::vector<std::unique_ptr<CallActor>> actors_;
  bool closed_ = false;
};

}  // namespace

CallCounts RunCallLife(Runtime& runtime, uint64_t seed, const CallLifePlan& plan) {
  return Life(runtime, seed, plan).Run();
}

}  // namespace latchkey
