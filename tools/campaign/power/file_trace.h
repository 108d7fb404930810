// The calls of a process on the files of one database, recorded in memory that outlives the
// process: the input of power-loss images (file_replay.h).
//
// Paths lie in two directories: the home, which exists and is durable from the beginning, and the
// database's directory in it. A number identifies a file. The file keeps its number when it is
// renamed, and over all processes.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "storage/device/faulty/crash_recorder.h"
#include "storage/runtime/mutex.h"
#include "tools/campaign/kills/kill_child.h"
#include "tools/campaign/power/file_calls.h"
#include "tools/campaign/shared/kill_process.h"

namespace latchkey {

enum class FileEventKind : uint8_t {
  kWriteSubmitted,
  kWriteCompleted,  ///< of a write, or of a change of size
  kResized,         ///< to `offset` bytes
  kSyncBegun,
  kSyncEnded,
  kCreated,  ///< `file` under `name`
  kRenamed,  ///< `name` to `to`
  kRemoved,  ///< `name`
  kDirectoryMade,
  kDirectorySyncBegun,
  kDirectorySyncEnded,
};

/// The promises at an event, taken before it.
struct FileMarks {
  static constexpr uint32_t kMostThreads = 4;
  bool must_exist = false;  ///< a process had opened the database and compared it
  bool is_open = false;     ///< this process had
  KillBounds bounds[kMostThreads];
};

struct FileEvent {
  FileEventKind kind = FileEventKind::kSyncBegun;
  bool in_home = false;  ///< of names and of syncs of a directory: the home, not the database's
  uint32_t file = 0;
  uint64_t begun = 0;   ///< completed, ended: the event that began it
  uint64_t offset = 0;  ///< of a write, bytes; or the new size
  DiskBytes bytes{};    ///< of a write
  std::string name{}, to{};
  FileMarks marks{};
};

/// The events of one process. That process writes them; another process reads them after the first
/// has ended.
class SharedFileTrace {
 public:
  /// ResourceExhausted: no memory.
  static absl::StatusOr<std::unique_ptr<SharedFileTrace>> Make();

  void Clear();
  /// REQUIRES: one call at a time. Stores `bytes`; `event.bytes` is ignored.
  void Append(const FileEvent& event, std::span<const std::byte> bytes);
  uint64_t events() const;

  /// Around a real call and the events that record it. A process that must make no more calls kills
  /// itself in BeginCall. REQUIRES: one call at a time.
  void BeginCall();
  void EndCall();
  /// For another process, before it kills this one: no further call begins. Then the kill waits
  /// until in_call() is false, so that it parts no call from its record.
  void ForbidCalls();
  bool in_call() const;

  /// All events. `first`: the number of the first one; the values of `begun` count from there.
  /// Writes in flight at the end of the process are completed at the end of the list: the kernel
  /// completes them before the process ends.
  std::vector<FileEvent> Read(uint64_t first) const;

 private:
  struct Head;
  struct Record;
  explicit SharedFileTrace(SharedPages pages) : pages_(std::move(pages)) {}
  Head& head() const;

  SharedPages pages_;
};

struct FileRecorderOptions {
  std::string home, database;               ///< paths without symbolic links
  std::map<std::string, uint32_t> files{};  ///< of the database's directory, by name
  uint32_t next_file = 0;                   ///< the number of the next file that is created
  bool must_exist = false;                  ///< from the first event on
  uint32_t threads = 1;                     ///< of the notes, at most FileMarks::kMostThreads
  uint64_t die_after = UINT64_MAX;          ///< events; then this process kills itself
};

/// Records the calls of this process from its construction until the process dies. Thread-safe.
class FileRecorder final : public FileCallWatcher {
 public:
  /// REQUIRES: all arguments outlive it.
  FileRecorder(const FileRecorderOptions& options, const KillNotes& notes, SharedFileTrace& trace);
  ~FileRecorder() override { SetFileCallWatcher(nullptr); }

  int Create(const char* path, absl::FunctionRef<int()> real) override;
  ssize_t Write(int fd, std::span<const std::byte> data, uint64_t offset,
                absl::FunctionRef<ssize_t()> real) override;
  int Submit(std::span<iocb* const> controls, absl::FunctionRef<int()> real) override;
  void Completed(std::span<const io_event> events) override;
  int Sync(int fd, absl::FunctionRef<int()> real) override;
  int Allocate(int fd, uint64_t end, absl::FunctionRef<int()> real) override;
  int Truncate(int fd, uint64_t length, absl::FunctionRef<int()> real) override;
  int Rename(const char* from, const char* to, absl::FunctionRef<int()> real) override;
  int Remove(const char* path, absl::FunctionRef<int()> real) override;
  int MakeDirectory(const char* path, absl::FunctionRef<int()> real) override;

 private:
  class Call;
  struct File {
    uint32_t number = 0;
    uint64_t size = 0;
  };

  // REQUIRES for all: mutex_ held.
  File* FileOf(int fd);
  bool Place(const char* path, FileEvent* event, std::string* name) const;
  uint64_t Append(FileEvent event, std::span<const std::byte> bytes = {});
  uint64_t AppendWrite(File& file, uint64_t offset, std::span<const std::byte> bytes);
  void AppendSize(File& file, uint64_t size);
  void DieWhenDue() const;

  const FileRecorderOptions options_;
  const KillNotes& notes_;
  SharedFileTrace& trace_;
  Mutex mutex_;
  std::map<ino_t, File> files_;
  uint32_t next_file_;
  std::map<const iocb*, uint64_t> under_way_;  // the event of its submission
};

}  // namespace latchkey
