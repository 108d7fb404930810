#include "tools/cli/advise_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "layout/checkpoint/superblock.h"
#include "storage/base/status_macros.h"
#include "storage/device/file_device.h"
#include "storage/runtime/runtime.h"
#include "tools/advise/trace_writes.h"
#include "tools/cli/db_open.h"
#include "tools/cli/flag_values.h"
#include "tools/cli/progress.h"

namespace latchkey {
namespace {

constexpr uint64_t kMostAdvisedFrames = uint64_t{1} << 30;
constexpr double kCacheShare =
    0.1;  // of the pages of a trace of fixes, as `latchkey layout` has it
constexpr const char* kDistributions = "uniform,knuth:80:20";
constexpr const char* kReadsPerWrite = "1.37";  // of TPC-C, as `latchkey layout` has it

absl::StatusOr<std::string> LastLayout(const std::filesystem::path& database) {
  LATCHKEY_ASSIGN_OR_RETURN(
      const std::unique_ptr<FileDevice> device,
      FileDevice::Open(ThreadRuntime(), (database / "data.lk").string(),
                       {.creation = FileCreation::kMustExist, .read_only = true}));
  LATCHKEY_ASSIGN_OR_RETURN(const Superblock superblock, ReadNewestSuperblock(*device));
  return superblock.layout;
}

absl::StatusOr<DatabaseFacts> ReadFacts(const std::string& path) {
  Progress progress;
  DatabaseFlags flags;
  flags.path = path;
  LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<Database> db,
                            OpenDatabase(flags, DatabaseUse::kRead, progress));
  const Statistics statistics = db->GetStatistics();
  DatabaseFacts facts{.page_bytes = static_cast<uint32_t>(db->page_size()),
                      .live_bytes = statistics.live_bytes,
                      .file_bytes = statistics.file_bytes,
                      .space_utilization = statistics.space_utilization,
                      .eta = statistics.segment_io_efficiency};
  std::error_code error;
  facts.has_log = std::filesystem::exists(std::filesystem::path(path) / "log.lk", error);
  LATCHKEY_RETURN_IF_ERROR(CloseAfter(*db, absl::OkStatus()));
  if (facts.pages() == 0) {
    return InvalidArgument("{}: the database has no pages yet; load data, then ask again", path);
  }
  LATCHKEY_ASSIGN_OR_RETURN(facts.layout, LastLayout(path));
  return facts;
}

absl::Status CheckWrites(const std::string& path, const PageTrace& requests, uint32_t frames) {
  if (std::count(requests.writes.begin(), requests.writes.end(), true) >= 2) {
    return absl::OkStatus();
  }
  if (frames > 0) {
    return InvalidArgument(
        "{}: a cache of {} pages lets fewer than two page writes through, so no layout has "
        "anything "
        "to do; give a smaller --cache, or a longer trace",
        path, frames);
  }
  return InvalidArgument(
      "{}: fewer than two requests of the trace write, so no layout has anything to do; give a "
      "trace "
      "whose write flags (bit 63) are set, or one recorded by --trace",
      path);
}

absl::Status ReadTrace(const AdviseFlags& flags, AdviseInput& input) {
  LATCHKEY_ASSIGN_OR_RETURN(const PageTrace trace, ReadPageTrace(input.trace_path));
  const bool of_fixes = trace.page_size != 0;
  if (flags.cache != "auto") {
    if (flags.cache != "0") {
      LATCHKEY_ASSIGN_OR_RETURN(
          const CountOrShare size,
          ParseCountOrShare("cache", flags.cache, 1, kMostAdvisedFrames, "the trace's pages"));
      input.cache_frames = static_cast<uint32_t>(size.Of(trace.unique_pages));
    }
  } else if (of_fixes) {
    input.cache_frames =
        static_cast<uint32_t>(CountOrShare{.share = kCacheShare}.Of(trace.unique_pages));
  }
  input.page_bytes = trace.page_size;
  LATCHKEY_RETURN_IF_ERROR(CheckWrites(input.trace_path, trace, 0));
  input.requests = BehindCache(trace, input.cache_frames);
  return CheckWrites(input.trace_path, input.requests, input.cache_frames);
}

absl::Status ReadDistributions(const AdviseFlags& flags, AdviseInput& input) {
  LATCHKEY_ASSIGN_OR_RETURN(
      const auto items,
      SplitList("distribution", flags.distribution.empty() ? kDistributions : flags.distribution));
  for (const std::string& item : items) {
    absl::StatusOr<WriteDistribution> parsed = ParseWriteDistribution(item);
    if (!parsed.ok()) {
      return InvalidArgument("--distribution={}: {}", item, std::string(parsed.status().message()));
    }
    input.distributions.push_back(*std::move(parsed));
  }
  const std::string& reads = flags.reads_per_write;
  LATCHKEY_ASSIGN_OR_RETURN(
      input.reads_per_write,
      ParseNumber("reads-per-write", reads == "auto" ? kReadsPerWrite : reads, 0, 1000));
  return absl::OkStatus();
}

absl::Status CheckNothingIgnored(const AdviseFlags& flags, bool database, bool trace) {
  if (!database && !flags.trace.empty()) {
    return InvalidArgument(
        "--trace={} would be ignored: {} is a trace itself; leave --trace out, or give the folder "
        "of "
        "a database",
        flags.trace, flags.input);
  }
  if (trace && !flags.distribution.empty()) {
    return InvalidArgument(
        "--distribution={} would be ignored: the writes are those of the trace; leave it out",
        flags.distribution);
  }
  if (trace && flags.reads_per_write != "auto") {
    return InvalidArgument(
        "--reads-per-write={} would be ignored: the reads are those of the trace; leave it out",
        flags.reads_per_write);
  }
  if (!trace && flags.cache != "auto") {
    return InvalidArgument(
        "--cache={} would be ignored: there is no trace whose requests it could take; give --trace",
        flags.cache);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<AdviseInput> ReadAdviseInput(const AdviseFlags& flags) {
  AdviseInput input;
  std::error_code error;
  const bool database = std::filesystem::is_directory(flags.input, error);
  if (!database && !std::filesystem::exists(flags.input, error)) {
    return MakeStatus(
        absl::StatusCode::kNotFound,
        "{}: there is no such file; give a trace (64-bit page ids, or recorded by --trace) or the "
        "folder of a database",
        flags.input);
  }
  input.trace_path = database ? flags.trace : flags.input;
  LATCHKEY_RETURN_IF_ERROR(CheckNothingIgnored(flags, database, !input.trace_path.empty()));
  if (database) {
    LATCHKEY_ASSIGN_OR_RETURN(input.database, ReadFacts(flags.input));
  }
  LATCHKEY_RETURN_IF_ERROR(input.trace_path.empty() ? ReadDistributions(flags, input)
                                                    : ReadTrace(flags, input));
  if (input.database) input.page_bytes = input.database->page_bytes;
  return input;
}

std::string DescribeInput(const AdviseFlags& flags, const AdviseInput& input) {
  std::string text;
  if (input.database) {
    const DatabaseFacts& facts = *input.database;
    text = fmt::format(
        "{}: a database of {} live bytes in pages of {} bytes, in a file of {} bytes: u_d {:.3f}. "
        "{} wrote it last. ",
        flags.input, facts.live_bytes, facts.page_bytes, facts.file_bytes, facts.space_utilization,
        facts.layout);
  }
  if (!input.trace_path.empty()) {
    text += fmt::format("{}: a trace, ", input.trace_path);
    text += input.cache_frames == 0
                ? "every request of which goes to the store. "
                : fmt::format("behind an LRU cache of {} pages. ", input.cache_frames);
  }
  text.pop_back();
  return text;
}

Json JsonOf(const std::optional<DatabaseFacts>& database) {
  if (!database) return nullptr;
  return {{"page_size", database->page_bytes},
          {"layout", database->layout},
          {"live_bytes", database->live_bytes},
          {"file_bytes", database->file_bytes},
          {"space_utilization", database->space_utilization},
          {"segment_io_efficiency", database->eta ? Json(*database->eta) : Json(nullptr)},
          {"has_log", database->has_log}};
}

}  // namespace latchkey
