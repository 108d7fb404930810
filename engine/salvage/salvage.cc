#include "engine/salvage/salvage.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <utility>

#include "engine/folders.h"
#include "engine/salvage/catalog_rescue.h"
#include "engine/salvage/log_rescue.h"
#include "engine/salvage/overflow_rescue.h"
#include "engine/salvage/page_proof.h"
#include "engine/salvage/salvage_output.h"
#include "engine/salvage/tree_rescue.h"
#include "engine/staged_database.h"
#include "storage/base/status_macros.h"
#include "storage/device/file_device.h"

namespace latchkey {
namespace {

constexpr char kDataFile[] = "data.lk";
constexpr char kLogFile[] = "log.lk";
constexpr const char* kOtherFiles[] = {kLogFile, "map.lk"};
constexpr size_t kHintBytes = size_t{64} << 10;
constexpr char kLostAndFound[] = "lost+found/";

/// The beginnings of the other files. One of them holds the database id.
std::vector<std::byte> ReadHints(const std::filesystem::path& directory) {
  std::vector<std::byte> hints;
  for (const char* name : kOtherFiles) {
    std::ifstream in(directory / name, std::ios::binary);
    std::vector<char> bytes(kHintBytes);
    in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    const auto* begin = reinterpret_cast<const std::byte*>(bytes.data());
    hints.insert(hints.end(), begin, begin + in.gcount());
  }
  return hints;
}

absl::Status CheckStop(const SalvageOptions& options) {
  const bool stopped = options.stop != nullptr && options.stop->load(std::memory_order_relaxed);
  return stopped ? absl::CancelledError("interrupted") : absl::OkStatus();
}

/// The state of one tree while it is saved.
struct TreeState {
  std::string name;
  TreeId id{0};  ///< 0 = there is no catalogue
  RescuedTree found;
  uint64_t adopted = 0;
};

class Salvager {
 public:
  Salvager(const PageSurvey& survey, SalvageOutput& output, const SalvageOptions& options)
      : survey_(survey), output_(output), options_(options), rescue_(survey) {}

  absl::Status Run(const std::optional<Superblock>& superblock,
                   const std::vector<UnfinishedRecord>& unfinished, SalvageReport* report);

 private:
  absl::Status SaveNamed(const FoundCatalog& catalog);
  absl::Status SaveRootless(const std::vector<bool>& children);
  absl::Status SaveTree(std::string name, PageId root, TreeId id = TreeId{0});
  /// Restores records to their state before unfinished transactions.
  absl::Status TakeBack(const std::vector<UnfinishedRecord>& unfinished);
  absl::Status TakeBackOne(const UnfinishedRecord& record, TreeState& tree);
  /// Adds the leaves that no walk reached to the trees whose gaps they fill.
  absl::Status AdoptLeaves();
  /// The tree that gets the leaf; nullopt = none, kNoTree = several.
  std::optional<size_t> OwnerOf(const std::string& first, const std::string& last) const;
  absl::Status Adopt(const SurveyedPage& leaf, std::optional<size_t> owner);
  std::vector<const SurveyedPage*> UnusedLeaves() const;
  TreeState& LostAndFound();

  static constexpr size_t kNoTree = SIZE_MAX;

  const PageSurvey& survey_;
  SalvageOutput& output_;
  const SalvageOptions& options_;
  TreeRescue rescue_;
  std::vector<TreeState> trees_;
  size_t named_trees_ = 0;
  std::optional<size_t> lost_and_found_;
  uint64_t unused_leaves_ = 0;
};

absl::Status Salvager::SaveTree(std::string name, PageId root, TreeId id) {
  LATCHKEY_RETURN_IF_ERROR(output_.Begin(name));
  TreeState state{.name = std::move(name), .id = id, .found = {}, .adopted = 0};
  const auto put = [&](std::string_view key, std::string_view value) -> absl::Status {
    LATCHKEY_RETURN_IF_ERROR(CheckStop(options_));
    return output_.Put(key, value);
  };
  LATCHKEY_RETURN_IF_ERROR(rescue_.Walk(root, &state.found, put));
  LATCHKEY_RETURN_IF_ERROR(output_.Flush());
  trees_.push_back(std::move(state));
  return absl::OkStatus();
}

absl::Status Salvager::SaveNamed(const FoundCatalog& catalog) {
  for (const FoundTree& tree : catalog.trees) {
    LATCHKEY_RETURN_IF_ERROR(SaveTree(tree.name, tree.root, tree.id));
  }
  named_trees_ = trees_.size();
  return AdoptLeaves();
}

/// Without a catalogue each page without a parent is the root of an unnamed tree.
absl::Status Salvager::SaveRootless(const std::vector<bool>& children) {
  for (size_t i = 0; i < survey_.pages().size(); ++i) {
    const SurveyedPage& page = survey_.pages()[i];
    if (children[i] || rescue_.used(i) || page.type == PageType::kOverflow) continue;
    if (page.type == PageType::kTreeLeaf) {
      LATCHKEY_ASSIGN_OR_RETURN(const auto span, KeySpan(survey_, page));
      if (!span) continue;
    }
    LATCHKEY_RETURN_IF_ERROR(
        SaveTree(fmt::format("{}page-{}", kLostAndFound, Raw(page.id)), page.id));
  }
  return absl::OkStatus();
}

std::optional<size_t> Salvager::OwnerOf(const std::string& first, const std::string& last) const {
  std::optional<size_t> owner;
  for (size_t i = 0; i < named_trees_; ++i) {
    for (const Gap& gap : trees_[i].found.gaps) {
      // A lost leaf leaves only older copies of other pages behind.
      if (gap.level == 0u) continue;
      if (gap.range.has_lower && first < gap.range.lower) continue;
      if (gap.range.has_upper && last >= gap.range.upper) continue;
      if (owner && *owner != i) return kNoTree;
      owner = i;
    }
  }
  return owner;
}

std::vector<const SurveyedPage*> Salvager::UnusedLeaves() const {
  std::vector<const SurveyedPage*> leaves;
  for (size_t i = 0; i < survey_.pages().size(); ++i) {
    const SurveyedPage& page = survey_.pages()[i];
    if (page.type == PageType::kTreeLeaf && !rescue_.used(i)) leaves.push_back(&page);
  }
  // Newest first: if two leaves hold the same key, the first one counts.
  std::stable_sort(leaves.begin(), leaves.end(), [](const auto* a, const auto* b) {
    return std::pair(a->lsn, Raw(a->last_writer)) > std::pair(b->lsn, Raw(b->last_writer));
  });
  return leaves;
}

TreeState& Salvager::LostAndFound() {
  if (!lost_and_found_) {
    lost_and_found_ = trees_.size();
    trees_.push_back({.name = fmt::format("{}leaves", kLostAndFound), .found = {}});
  }
  return trees_[*lost_and_found_];
}

absl::Status Salvager::Adopt(const SurveyedPage& leaf, std::optional<size_t> owner) {
  TreeState& state = owner == kNoTree ? LostAndFound() : trees_[*owner];
  LATCHKEY_RETURN_IF_ERROR(output_.Begin(state.name));
  RescuedTree taken;
  const auto add = [&](std::string_view key, std::string_view value) -> absl::Status {
    LATCHKEY_ASSIGN_OR_RETURN(const bool added, output_.Add(key, value));
    state.adopted += added ? 1 : 0;
    return CheckStop(options_);
  };
  LATCHKEY_RETURN_IF_ERROR(rescue_.TakeLeaf(leaf, &taken, add));
  state.found.lost_values += taken.lost_values;
  state.found.outdated_pages += taken.outdated_pages;
  return output_.Flush();
}

absl::Status Salvager::AdoptLeaves() {
  for (const SurveyedPage* leaf : UnusedLeaves()) {
    LATCHKEY_ASSIGN_OR_RETURN(const auto span, KeySpan(survey_, *leaf));
    if (!span) continue;
    const std::optional<size_t> owner = OwnerOf(span->first, span->second);
    if (!owner) {
      ++unused_leaves_;
      continue;
    }
    LATCHKEY_RETURN_IF_ERROR(Adopt(*leaf, owner));
  }
  return absl::OkStatus();
}

absl::Status Salvager::TakeBackOne(const UnfinishedRecord& record, TreeState& tree) {
  std::string value;
  LATCHKEY_ASSIGN_OR_RETURN(const bool is_there, output_.Get(record.key, &value));
  RecordState state = is_there ? RecordState::kValue : RecordState::kAbsent;
  bool is_lost = false;
  LogRecord change;
  for (const std::vector<std::byte>& bytes : record.changes) {
    LATCHKEY_RETURN_IF_ERROR(DecodeLogRecord(bytes, &change));
    const bool has_value = state == RecordState::kValue && !is_lost;
    is_lost = (change.change.is_difference && !has_value) || !BytesBefore(change.change, &value);
    state = change.change.before;
  }
  if (state == RecordState::kOverflow) {
    absl::StatusOr<std::string> chain = RescueOverflowValue(survey_, value);
    is_lost = !chain.ok();
    if (chain.ok()) value = *std::move(chain);
  }
  if (is_lost) ++tree.found.lost_values;
  return HasValue(state) && !is_lost ? output_.Put(record.key, value) : output_.Remove(record.key);
}

absl::Status Salvager::TakeBack(const std::vector<UnfinishedRecord>& unfinished) {
  for (const UnfinishedRecord& record : unfinished) {
    const auto tree =
        std::ranges::find_if(trees_, [&](const TreeState& t) { return t.id == record.tree; });
    if (tree == trees_.end()) continue;  // dropped since, or nameless
    LATCHKEY_RETURN_IF_ERROR(output_.Begin(tree->name));
    LATCHKEY_RETURN_IF_ERROR(TakeBackOne(record, *tree));
  }
  return output_.Flush();
}

absl::Status Salvager::Run(const std::optional<Superblock>& superblock,
                           const std::vector<UnfinishedRecord>& unfinished, SalvageReport* report) {
  LATCHKEY_ASSIGN_OR_RETURN(const std::vector<bool> children, FindChildren(survey_));
  LATCHKEY_ASSIGN_OR_RETURN(const std::optional<FoundCatalog> catalog,
                            FindCatalog(survey_, superblock, children, rescue_));
  report->catalog_found = catalog.has_value();
  report->catalog_complete = catalog && catalog->complete;
  if (catalog) LATCHKEY_RETURN_IF_ERROR(SaveNamed(*catalog));
  if (!report->catalog_complete) LATCHKEY_RETURN_IF_ERROR(SaveRootless(children));
  if (catalog) LATCHKEY_RETURN_IF_ERROR(TakeBack(unfinished));
  report->unused_leaves = unused_leaves_;
  for (const TreeState& state : trees_) {
    report->trees.push_back({.name = state.name,
                             .records = state.found.records + state.adopted,
                             .adopted_records = state.adopted,
                             .lost_pages = state.found.gaps.size(),
                             .lost_values = state.found.lost_values,
                             .outdated_pages = state.found.outdated_pages});
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<BlockDevice>> OpenLogFile(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::exists(file, error)) {
    return MakeStatus(absl::StatusCode::kNotFound, "\"{}\" does not exist", file.string());
  }
  return FileDevice::Open(ThreadRuntime(), file.string(),
                          {.creation = FileCreation::kMustExist, .read_only = true});
}

/// Replays the log if it is needed and can be read. The report gets the outcome.
std::vector<UnfinishedRecord> ReplayLog(const std::filesystem::path& directory,
                                        const std::optional<Superblock>& superblock,
                                        PageSurvey& survey, SalvageReport* report) {
  absl::StatusOr<std::unique_ptr<BlockDevice>> device = OpenLogFile(directory / kLogFile);
  // Without superblock and log nothing tells whether there was a log.
  if (!superblock && absl::IsNotFound(device.status())) return {};
  const absl::StatusOr<std::optional<RescuedLog>> log =
      RedoOverSurvey(superblock, report->database_id, std::move(device), survey);
  if (!log.ok()) {
    report->log = LogUse::kUnreadable;
    report->log_error = std::string(log.status().message());
    return {};
  }
  if (!*log) return {};
  const RescuedLog& rescued = **log;
  report->log = LogUse::kReplayed;
  report->log_records = rescued.records;
  report->log_changes = rescued.redone;
  report->log_changes_lost = rescued.skipped;
  report->unfinished_changes = rescued.unfinished.size();
  return rescued.unfinished;
}

absl::StatusOr<std::unique_ptr<Database>> CreateOutput(const std::string& out,
                                                       const PageSurvey& survey, Options options) {
  options.create_if_missing = true;
  options.error_if_exists = true;
  if (options.page_size == 0) options.page_size = survey.page_size();
  return Database::Open(out, options);
}

}  // namespace

bool SalvageReport::whole() const {
  return catalog_complete && log != LogUse::kUnreadable && log_changes_lost == 0 &&
         std::all_of(trees.begin(), trees.end(), [](const SalvagedTree& t) { return t.whole(); });
}

absl::StatusOr<SalvageReport> Salvage(const std::string& path, const std::string& out,
                                      const SalvageOptions& options) {
  const std::filesystem::path directory(path);
  if (path.empty() || out.empty()) {
    return InvalidArgument("the path of a database is empty: name a directory");
  }
  if (LiesInFolder(out, path)) {
    return InvalidArgument("{} lies in the damaged database {}: name a directory outside of it",
                           out, path);
  }
  LATCHKEY_ASSIGN_OR_RETURN(
      const std::unique_ptr<FileDevice> device,
      FileDevice::Open(ThreadRuntime(), (directory / kDataFile).string(),
                       {.creation = FileCreation::kMustExist, .read_only = true}));
  LATCHKEY_ASSIGN_OR_RETURN(
      const std::unique_ptr<StagedDatabase> staged,
      StagedDatabase::Make(ThreadRuntime(), out, "salvaging", "a salvage", path));
  const std::optional<Superblock> superblock = FindAnySuperblock(*device);
  LATCHKEY_ASSIGN_OR_RETURN(
      const PageProof proof,
      FindPageProof(*device, superblock, ReadHints(directory), options.without_proof));
  LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<PageSurvey> survey,
                            PageSurvey::Read(*device, proof, [&](uint64_t done, uint64_t total) {
                              if (options.progress) options.progress(done, total);
                              return CheckStop(options);
                            }));
  LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<Database> db,
                            CreateOutput(staged->directory(), *survey, options.output));
  SalvageReport report;
  report.page_size = proof.page_size;
  report.database_id = proof.database_id;
  report.proven = proof.by_checksum;
  report.superblock_found = superblock.has_value();
  report.pages = survey->counts();
  const std::vector<UnfinishedRecord> unfinished =
      ReplayLog(directory, superblock, *survey, &report);
  SalvageOutput output(*db);
  LATCHKEY_RETURN_IF_ERROR(Salvager(*survey, output, options).Run(superblock, unfinished, &report));
  LATCHKEY_RETURN_IF_ERROR(db->Close());
  LATCHKEY_RETURN_IF_ERROR(staged->Publish());
  return report;
}

}  // namespace latchkey
