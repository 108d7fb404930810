#include "tools/campaign/power/power_campaign.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

#include "storage/base/hash.h"
#include "storage/base/rng.h"
#include "tools/campaign/kills/kill_campaign.h"
#include "tools/campaign/kills/kill_child.h"
#include "tools/campaign/power/file_replay.h"
#include "tools/campaign/power/file_trace.h"
#include "tools/campaign/shared/campaign_flags.h"
#include "tools/campaign/shared/kill_process.h"
#include "tools/campaign/shared/seed_range.h"
#include "tools/campaign/shared/technique_items.h"

namespace latchkey {
namespace {

constexpr uint32_t kThreads = 2;

// Small units, so that files grow during the work.
constexpr DatabaseSizing kSizing = {.log_segment_bytes = 64 << 10,
                                    .log_initial_bytes = 192 << 10,
                                    .journal_segment_bytes = 16 << 10,
                                    .reserve_bytes = 1,
                                    .assume_device_costs = true};

// Shared by all stores.
struct Workshop {
  const PowerFilesOptions& options;
  Runtime& runtime;
  KillNotes& notes;
  SharedFileTrace& trace;
  PowerFilesReport& report;
};

void Empty(const std::string& directory) {
  std::error_code error;
  std::filesystem::remove_all(directory, error);
  std::filesystem::create_directory(directory, error);
}

void SetBounds(KillNotes& notes, const FileMarks& marks) {
  notes.stage.store(KillStage::kOpening);
  notes.has_message.store(false);
  for (uint32_t t = 0; t < kThreads; ++t) {
    notes.threads[t].promised.store(marks.bounds[t].promised);
    notes.threads[t].acknowledged.store(marks.bounds[t].promised);
    notes.threads[t].submitted.store(marks.bounds[t].submitted);
    notes.threads[t].found.store(0);
  }
}

std::vector<KillThreadModel> EmptyModels(uint64_t seed) {
  std::vector<KillThreadModel> models;
  for (uint32_t t = 0; t < kThreads; ++t) models.emplace_back(seed, t);
  return models;
}

class PowerStore {
 public:
  PowerStore(const Workshop& shop, const std::string& layout, uint64_t seed)
      : shop_(shop),
        seed_(MixHash(seed) + Hash64(layout.data(), layout.size(), 0)),
        rng_(seed_),
        home_(shop.options.directory + "/store"),
        image_home_(shop.options.directory + "/image"),
        name_(fmt::format("--layout={} --seeds={}", layout, seed)),
        models_(EmptyModels(seed_)) {
    options_ = KillStoreOptions(rng_, layout);
    const bool in_place = layout.starts_with("overwrite") || layout.starts_with("hylog");
    if (in_place && rng_.Below(3) == 0) {
      options_.torn_write_protection = TornWriteProtection::kImages;
    }
    SetBounds(shop_.notes, {});
    Empty(home_);
  }

  void Run() {
    for (uint32_t life = 1; life <= shop_.options.lives && is_right(); ++life) {
      Live(life, /*closes=*/life == shop_.options.lives);
    }
    Count();
    end_marks_ = MarksNow();
    if (is_right()) TryStates();
  }

 private:
  bool is_right() const { return shop_.report.wrong.empty(); }

  KillLife NextLife(const std::string& home, bool must_exist, bool closes) {
    KillLife life;
    life.path = home + "/db";
    life.options = options_;
    life.sizing = kSizing;
    life.seed = seed_;
    life.life_seed = rng_.Next();
    life.must_exist = must_exist;
    life.closes = closes;
    return life;
  }

  FileRecorderOptions Recording(const std::string& home, const FileState& state,
                                bool must_exist) const {
    return {.home = home,
            .database = home + "/db",
            .files = state.names,
            .next_file = next_file_,
            .must_exist = must_exist,
            .threads = kThreads};
  }

  // ---- The lives

  void Live(uint32_t number, bool closes) {
    ChangeKillOptions(rng_, &options_);
    KillLife life = NextLife(home_, opened_, closes);
    life.transactions_per_thread = 10 + rng_.Below(50);
    FileRecorderOptions recording = Recording(home_, names_, opened_);
    // Some children die during the first calls, which create or recover; most during the work;
    // others at its end.
    const uint64_t dice = rng_.Below(6);
    if (!closes && dice == 0) recording.die_after = 1 + rng_.Below(80);
    if (!closes && dice >= 3) recording.die_after = 200 + rng_.Below(1500);
    shop_.notes.stage.store(KillStage::kOpening);
    shop_.trace.Clear();
    const absl::StatusOr<std::unique_ptr<ChildProcess>> child = ChildProcess::Start([&] {
      const FileRecorder recorder(recording, shop_.notes, shop_.trace);
      return RunKillLife(life, shop_.notes, models_);
    });
    if (!child.ok()) return Fail(number, std::string(child.status().message()));
    if (!closes) {
      (*child)->WaitUntil(shop_.runtime,
                          [&] { return shop_.notes.stage.load() == KillStage::kFinished; });
      shop_.trace.ForbidCalls();
      (*child)->WaitUntil(shop_.runtime, [&] { return !shop_.trace.in_call(); });
      (*child)->Kill();
    }
    (*child)->WaitForEnd();
    ++shop_.report.lives;
    Settle(number, closes ? (*child)->ended_well() : (*child)->was_killed(), **child);
  }

  void Settle(uint32_t number, bool ended_right, const ChildProcess& child) {
    const KillStage stage = shop_.notes.stage.load();
    if (stage == KillStage::kFailed) return Fail(number, shop_.notes.message);
    if (!ended_right) return Fail(number, child.DescribeEnd());
    for (FileEvent& event : shop_.trace.Read(events_.size())) {
      if (event.kind == FileEventKind::kCreated) next_file_ = event.file + 1;
      events_.push_back(std::move(event));
    }
    FileReplay replay({}, events_);
    replay.AdvanceTo(replay.end());
    names_ = replay.Names();
    if (stage == KillStage::kOpening) return;
    opened_ = true;
    for (uint32_t t = 0; t < kThreads; ++t) {
      const KillNotes::Thread& note = shop_.notes.threads[t];
      models_[t].AdvanceTo(note.found.load());
      shop_.report.acknowledged += note.acknowledged.load() - note.found.load();
    }
  }

  void Count() {
    PowerFilesReport& report = shop_.report;
    for (const FileEvent& event : events_) {
      report.writes += event.kind == FileEventKind::kWriteSubmitted;
      report.sizes += event.kind == FileEventKind::kResized;
      report.syncs += event.kind == FileEventKind::kSyncEnded;
      report.directory_syncs += event.kind == FileEventKind::kDirectorySyncEnded;
      report.names +=
          event.kind == FileEventKind::kCreated || event.kind == FileEventKind::kRenamed ||
          event.kind == FileEventKind::kRemoved || event.kind == FileEventKind::kDirectoryMade;
    }
  }

  // ---- The images

  struct Position {
    uint64_t at = 0;
    bool is_special = false;
  };

  // The positions to try: those at which names change, those at which a process has just opened the
  // store, and a spread over all other changes.
  static std::vector<Position> Positions(const FileState& initial,
                                         std::span<const FileEvent> events, uint64_t wanted) {
    std::vector<Position> all, chosen;
    FileReplay replay(initial, events);
    size_t names = 0;
    bool was_open = false;
    for (uint64_t at = 0; at <= replay.end(); ++at) {
      replay.AdvanceTo(at);
      const bool is_open = at < events.size() ? events[at].marks.is_open : was_open;
      const bool is_special = replay.pending_names() != names || (is_open && !was_open);
      if (replay.changed() || is_special) all.push_back({at, is_special});
      names = replay.pending_names();
      was_open = is_open;
    }
    const double step = static_cast<double>(all.size()) / static_cast<double>(wanted);
    size_t next = 0;
    for (size_t i = 0; i < all.size(); ++i) {
      const bool is_due = static_cast<double>(i) >= step * static_cast<double>(next);
      if (is_due) ++next;
      if (is_due || all[i].is_special) chosen.push_back(all[i]);
    }
    return chosen;
  }

  void TryStates() {
    FileReplay replay({}, events_);
    for (const Position& position : Positions({}, events_, shop_.options.states)) {
      replay.AdvanceTo(position.at);
      if (is_right()) TryState(replay, SomeChoice(replay));
      if (is_right() && position.is_special) TryState(replay, LeastChoice(replay));
    }
  }

  // The state without anything that is not durable, except names.
  FileChoice LeastChoice(const FileReplay& replay) {
    FileChoice choice{.content = {.variant = CrashVariant::kNone}};
    if (replay.pending_names() > 0) choice.names = static_cast<NameChoice>(rng_.Below(3));
    return choice;
  }

  FileChoice SomeChoice(const FileReplay& replay) {
    const std::vector<CrashChoice> contents =
        replay.ContentChoices({.random_choices = 2, .max_single = 2});
    FileChoice choice{.content = contents[rng_.Below(contents.size())]};
    if (replay.pending_names() > 0) choice.names = static_cast<NameChoice>(rng_.Below(3));
    return choice;
  }

  // The promises after all events of a process that has ended well.
  FileMarks MarksNow() const {
    FileMarks marks;
    marks.must_exist = true;
    for (uint32_t t = 0; t < kThreads; ++t) {
      const KillNotes::Thread& note = shop_.notes.threads[t];
      marks.bounds[t] = {note.promised.load(), note.submitted.load()};
    }
    return marks;
  }

  void TryState(const FileReplay& replay, const FileChoice& choice) {
    const FileMarks marks =
        replay.position() < events_.size() ? events_[replay.position()].marks : end_marks_;
    const FileState state = replay.State(choice, seed_);
    const bool again =
        shop_.options.recovery_every > 0 && tried_++ % shop_.options.recovery_every == 0;
    ++shop_.report.states;
    shop_.report.with_names += replay.pending_names() > 0;
    shop_.report.without_store += !marks.must_exist;
    where_ = fmt::format("power lost at call {} of {}, {}:{}, names {}", replay.position(),
                         replay.end(), CrashVariantName(choice.content.variant),
                         choice.content.index, static_cast<int>(choice.names));
    if (Recovers(state, marks, again) && again) TryRecovery(state);
  }

  void TryRecovery(const FileState& state) {
    const std::vector<FileEvent> events = shop_.trace.Read(0);
    const FileMarks last = MarksNow();
    const std::string before = where_;
    FileReplay replay(state, events);
    for (const Position& position : Positions(state, events, shop_.options.recovery_states)) {
      if (!is_right()) return;
      replay.AdvanceTo(position.at);
      const FileChoice choice = SomeChoice(replay);
      ++shop_.report.recovery_states;
      where_ =
          fmt::format("{}; again in its recovery at call {} of {}, {}:{}, names {}", before,
                      replay.position(), replay.end(), CrashVariantName(choice.content.variant),
                      choice.content.index, static_cast<int>(choice.names));
      const bool at_end = replay.position() == replay.end();
      Recovers(replay.State(choice, seed_), at_end ? last : events[replay.position()].marks,
               /*records=*/false);
    }
  }

  // Opens the state that a power loss has left, in a child process.
  bool Recovers(const FileState& state, const FileMarks& marks, bool records) {
    Empty(image_home_);
    const absl::Status written = WriteFileState(state, image_home_ + "/db");
    if (!written.ok()) return FailImage(state, std::string(written.message()));
    SetBounds(shop_.notes, marks);
    const KillLife life = NextLife(image_home_, marks.must_exist, /*closes=*/true);
    shop_.trace.Clear();
    const absl::StatusOr<std::unique_ptr<ChildProcess>> child = ChildProcess::Start([&] {
      std::optional<FileRecorder> recorder;
      if (records) {
        recorder.emplace(Recording(image_home_, state, marks.must_exist), shop_.notes, shop_.trace);
      }
      return RunKillLife(life, shop_.notes, EmptyModels(seed_));
    });
    if (!child.ok()) return FailImage(state, std::string(child.status().message()));
    (*child)->WaitForEnd();
    if (shop_.notes.stage.load() == KillStage::kFailed)
      return FailImage(state, shop_.notes.message);
    return (*child)->ended_well() || FailImage(state, (*child)->DescribeEnd());
  }

  void Fail(uint32_t life, const std::string& what) {
    shop_.report.wrong = fmt::format("{} ({}): life {} of {}: {}", name_,
                                     DescribeKillOptions(options_), life, home_, what);
  }

  // Writes the image once more, as it was before it was opened.
  bool FailImage(const FileState& state, const std::string& what) {
    const std::string kept = shop_.options.directory + "/wrong";
    Empty(kept);
    WriteFileState(state, kept + "/db").IgnoreError();
    shop_.report.wrong = fmt::format("{} ({}): {}: {}\n    the image is kept in {}", name_,
                                     DescribeKillOptions(options_), where_, what, kept);
    return false;
  }

  const Workshop& shop_;
  const uint64_t seed_;
  Rng rng_;
  const std::string home_, image_home_, name_;
  Options options_;
  std::vector<KillThreadModel> models_;
  std::vector<FileEvent> events_;  // of all lives
  FileState names_;                // the names that the next life finds
  FileMarks end_marks_;            // after all events
  uint32_t next_file_ = 0;
  bool opened_ = false;
  uint64_t tried_ = 0;
  std::string where_;
};

void Print(const PowerFilesReport& r, double seconds) {
  fmt::print(
      "power-files: {} stores with {} lives, {} transactions acknowledged; {} writes, {} changes "
      "of "
      "size, {} syncs of files, {} names and {} syncs of directories; {} images ({} with names "
      "that "
      "waited for a sync, {} before there had to be a store), {} of recoveries\n",
      r.stores, r.lives, r.acknowledged, r.writes, r.sizes, r.syncs, r.names, r.directory_syncs,
      r.states, r.with_names, r.without_store, r.recovery_states);
  fmt::print(
      "counts: power-files stores={} lives={} acknowledged={} writes={} sizes={} syncs={} names={} "
      "directory_syncs={} states={} with_names={} without_store={} recovery_states={} mistakes={} "
      "seconds={:.0f} cpu_seconds={:.0f}\n",
      r.stores, r.lives, r.acknowledged, r.writes, r.sizes, r.syncs, r.names, r.directory_syncs,
      r.states, r.with_names, r.without_store, r.recovery_states, r.wrong.empty() ? 0 : 1, seconds,
      ProcessorSeconds());
}

// A directory in memory, if there is one: the record decides what is durable, not the device.
std::string DefaultParent() {
  std::error_code error;
  return std::filesystem::is_directory("/dev/shm", error) ? "/dev/shm" : "";
}

}  // namespace

PowerFilesReport RunPowerFiles(Runtime& runtime, const PowerFilesOptions& options) {
  PowerFilesReport report;
  const absl::StatusOr<Shared<KillNotes>> notes = Shared<KillNotes>::Make();
  const absl::StatusOr<std::unique_ptr<SharedFileTrace>> trace = SharedFileTrace::Make();
  if (!notes.ok() || !trace.ok()) {
    report.wrong = std::string((notes.ok() ? trace.status() : notes.status()).message());
    return report;
  }
  const Workshop shop{options, runtime, **notes, **trace, report};
  for (uint64_t seed = 0; seed < options.seeds; ++seed) {
    for (const std::string& layout : options.layouts) {
      if (!report.wrong.empty()) return report;
      PowerStore(shop, layout, options.first_seed + seed).Run();
      ++report.stores;
    }
  }
  return report;
}

int RunPowerFilesCampaign(const std::vector<std::string>& arguments) {
  CampaignFlags command(
      "Loses the power at every call on the files of a database, and looks at what is left");
  PowerFilesOptions options;
  std::string parent = DefaultParent(), seeds = "1..2";
  command.Add("--db", parent, "Directory for the stores").ShowDefault();
  command.Add("--layout", options.layouts, "Layouts").SeparatedByCommas().OneOf(LayoutItems());
  command.Add("--seeds", seeds, "One store for each layout and seed").ShowDefault();
  command.Add("--lives", options.lives, "Of a store; the last one closes it")
      .Range(1, 100)
      .ShowDefault();
  command.Add("--states", options.states, "Images of a store").Range(1, 1'000'000).ShowDefault();
  command
      .Add("--recovery-every", options.recovery_every,
           "Of so many images one is crashed again while it recovers; 0: none")
      .ShowDefault();
  if (const std::optional<int> over = command.Parse(arguments)) return *over;
  if (!ParseSeeds(seeds, &options)) {
    fmt::print(stderr, "--seeds={} is no range: 1..4, or 3\n", seeds);
    return 2;
  }
  PowerFilesReport report;
  return RunInDirectory(
      parent,
      [&](const std::string& path) {
        std::error_code error;
        options.directory = std::filesystem::canonical(path, error).string();
        report = RunPowerFiles(ThreadRuntime(), options);
        return report.wrong;
      },
      [&](double seconds) { Print(report, seconds); });
}

}  // namespace latchkey
