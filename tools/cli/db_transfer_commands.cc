// The verbs dump and load.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <vector>

#include "engine/folders.h"
#include "storage/base/counted_noun.h"
#include "storage/base/status_macros.h"
#include "storage/device/file_errors.h"
#include "tools/cli/db_commands.h"
#include "tools/cli/db_stream.h"
#include "tools/cli/db_transfer.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/experiment.h"
#include "tools/cli/signals.h"

namespace latchkey {
namespace {

/// Shows "what: N %" of `total`, or the amount if the total is unknown.
TransferHooks HooksFor(Progress& progress, std::string what, std::string unit, uint64_t total) {
  TransferHooks hooks;
  hooks.stop = &StopRequested();
  hooks.progress = [&progress, what = std::move(what), unit = std::move(unit),
                    total](uint64_t amount) {
    progress.Show(total > 0 ? fmt::format("{}: {} %", what, amount * 100 / total)
                            : fmt::format("{}: {} {}", what, amount, unit));
  };
  return hooks;
}

absl::StatusOr<DumpForm> ParseForm(const std::string& name) {
  if (name == "binary") return DumpForm::kBinary;
  if (name == "text") return DumpForm::kText;
  return InvalidArgument("--format={}: give binary or text", name);
}

absl::Status Dump(const DumpFlags& flags) {
  Progress progress;
  LATCHKEY_ASSIGN_OR_RETURN(const DumpForm form, ParseForm(flags.format));
  if (flags.file != "-" && LiesInFolder(flags.file, flags.db.path)) {
    return InvalidArgument("{} lies in the database {}: give a file outside of it", flags.file,
                           flags.db.path);
  }
  LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<Database> db,
                            OpenDatabase(flags.db, DatabaseUse::kRead, progress));
  const auto run = [&]() -> absl::Status {
    LATCHKEY_ASSIGN_OR_RETURN(const auto interrupted, FindInterruptedLoad(*db));
    if (interrupted) {
      spdlog::warn(
          "a load into this database was interrupted after {} of {} records: the dump lacks the "
          "others; load --resume continues that load, load --restart begins it again",
          interrupted->records, interrupted->total);
    }
    if (!flags.tree.empty()) LATCHKEY_RETURN_IF_ERROR(PickTree(*db, flags.tree, false).status());
    LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<ByteSink> sink, OpenFileSink(flags.file));
    LATCHKEY_ASSIGN_OR_RETURN(
        const DumpSummary summary,
        DumpDatabase(*db, flags.tree, form, *sink, HooksFor(progress, "dumping", "records", 0)));
    progress.Clear();
    spdlog::info("dumped {}, {}, {} bytes; digest {:016x}", CountOf(summary.trees, "tree"),
                 CountOf(summary.records, "record"), summary.bytes, summary.digest);
    return absl::OkStatus();
  };
  return CloseAfter(*db, AboutDatabase(flags.db.path, run()));
}

/// A dump that can be read twice: a file, or stdin copied to an unnamed file.
class DumpFile {
 public:
  static absl::StatusOr<std::unique_ptr<DumpFile>> Open(const std::string& path,
                                                        Progress& progress);
  absl::StatusOr<std::unique_ptr<ByteSource>> Source() const { return OpenFileSource(path_); }
  uint64_t bytes() const { return bytes_; }

 private:
  absl::Status CopyStdin(Progress& progress);

  std::string path_;
  uint64_t bytes_ = 0;  // 0: unknown
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Close> spool_;
};

/// stdin cannot be copied to `folder`. `bytes`: read so far.
absl::Status NoCopy(const std::string& folder, uint64_t bytes, int errnum) {
  return MakeStatus(ErrnoCode(errnum),
                    "cannot copy the dump on stdin to the folder \"{}\", {} bytes read: {}; set "
                    "TMPDIR to a folder with room for the whole dump",
                    folder, bytes, ErrnoText(errnum));
}

absl::Status DumpFile::CopyStdin(Progress& progress) {
  std::error_code error;
  const std::string folder = std::filesystem::temp_directory_path(error).string();
  if (error) {
    const char* named = std::getenv("TMPDIR");
    return NoCopy(named != nullptr ? named : "/tmp", 0, error.value());
  }
  std::string name = folder + "/latchkey-load-XXXXXX";
  const int file = mkstemp(name.data());
  if (file >= 0) spool_.reset(fdopen(file, "w+b"));
  if (spool_ == nullptr) return NoCopy(folder, 0, errno);
  std::remove(name.c_str());
  path_ = fmt::format("/proc/self/fd/{}", file);
  LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<ByteSource> source, OpenFileSource("-"));
  const TransferHooks hooks = HooksFor(progress, "reading", "bytes", 0);
  std::vector<char> buffer(size_t{1} << 20);
  for (;;) {
    const absl::StatusOr<size_t> got = source->Read(buffer.data(), buffer.size());
    if (absl::IsCancelled(got.status())) {
      return MakeStatus(absl::StatusCode::kCancelled,
                        "interrupted after {} bytes of the dump on stdin: nothing was loaded; run "
                        "load again",
                        bytes_);
    }
    LATCHKEY_RETURN_IF_ERROR(got.status());
    if (*got == 0) break;
    bytes_ += *got;
    if (std::fwrite(buffer.data(), 1, *got, spool_.get()) != *got) {
      return NoCopy(folder, bytes_, errno);
    }
    hooks.progress(bytes_);
  }
  if (std::fflush(spool_.get()) == 0) return absl::OkStatus();
  return NoCopy(folder, bytes_, errno);
}

absl::StatusOr<std::unique_ptr<DumpFile>> DumpFile::Open(const std::string& path,
                                                         Progress& progress) {
  auto dump = std::make_unique<DumpFile>();
  std::error_code error;
  if (path == "-" || std::filesystem::is_fifo(path, error)) {
    if (path != "-") {
      return InvalidArgument("{} can be read once only: give a file, or - with the dump on stdin",
                             path);
    }
    LATCHKEY_RETURN_IF_ERROR(dump->CopyStdin(progress));
    return dump;
  }
  dump->path_ = path;
  const uint64_t bytes = std::filesystem::file_size(path, error);
  if (!error) dump->bytes_ = bytes;
  return dump;
}

absl::StatusOr<LoadStart> StartOf(const LoadFlags& flags) {
  if (flags.resume && flags.restart) {
    return InvalidArgument(
        "--resume and --restart were both given: give only one of them (--resume continues the "
        "load that was interrupted, --restart begins again)");
  }
  if (flags.resume) return LoadStart::kResume;
  return flags.restart ? LoadStart::kRestart : LoadStart::kFresh;
}

absl::Status Load(const LoadFlags& flags) {
  Progress progress;
  LoadOptions options;
  LATCHKEY_ASSIGN_OR_RETURN(options.start, StartOf(flags));
  LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<DumpFile> dump,
                            DumpFile::Open(flags.file, progress));
  LATCHKEY_ASSIGN_OR_RETURN(std::unique_ptr<ByteSource> source, dump->Source());
  absl::StatusOr<DumpSummary> valid =
      ValidateDump(*source, HooksFor(progress, "checking", "bytes", dump->bytes()));
  if (!valid.ok()) return WithPath(flags.file, valid.status());
  progress.Clear();
  LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<Database> db,
                            OpenDatabase(flags.db, DatabaseUse::kCreate, progress));
  const auto run = [&]() -> absl::Status {
    LATCHKEY_ASSIGN_OR_RETURN(source, dump->Source());
    LATCHKEY_ASSIGN_OR_RETURN(const uint64_t applied,
                              LoadDump(*db, *source, *valid, options,
                                       HooksFor(progress, "loading", "bytes", dump->bytes())));
    progress.Clear();
    spdlog::info("loaded {} of {} into {}", applied, CountOf(valid->records, "record"),
                 CountOf(valid->trees, "tree"));
    return absl::OkStatus();
  };
  return CloseAfter(*db, AboutDatabase(flags.db.path, run()));
}

}  // namespace

int DumpCommand(const DumpFlags& flags) { return Finish(Dump(flags)); }
int LoadCommand(const LoadFlags& flags) { return Finish(Load(flags)); }

}  // namespace latchkey
