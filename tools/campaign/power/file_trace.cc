#include "tools/campaign/power/file_trace.h"

#include <fmt/format.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>
#include <type_traits>
#include <utility>

#include "storage/base/check.h"
#include "storage/base/status_macros.h"
#include "tools/campaign/shared/kill_points.h"

namespace latchkey {
namespace {

constexpr size_t kCapacity = size_t{4} << 30;  // reserved address space; pages are used as it fills
constexpr size_t kNameBytes = 24;

// Keeps errno unchanged over a scope.
class KeptErrno {
 public:
  KeptErrno() : kept_(errno) {}
  ~KeptErrno() { errno = kept_; }

 private:
  const int kept_;
};

bool IsZeros(std::span<const std::byte> bytes) {
  return bytes.empty() || (bytes[0] == std::byte{0} &&
                           std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

void CopyName(const std::string& name, char (&out)[kNameBytes]) {
  LATCHKEY_CHECK(name.size() < kNameBytes);
  std::memcpy(out, name.c_str(), name.size() + 1);
}

std::string PathOf(int fd) {
  char path[PATH_MAX];
  const ssize_t length = readlink(fmt::format("/proc/self/fd/{}", fd).c_str(), path, sizeof(path));
  return {path, length > 0 ? static_cast<size_t>(length) : 0};
}

}  // namespace

// ---- The trace

struct SharedFileTrace::Head {
  std::atomic<uint64_t> events;
  std::atomic<uint64_t> bytes;  // of the records after this header
  std::atomic<bool> in_call, calls_forbidden;
};

struct SharedFileTrace::Record {
  FileEventKind kind;
  bool in_home, is_zeros;
  uint32_t file;
  uint64_t begun, offset, length;
  char name[kNameBytes], to[kNameBytes];
  FileMarks marks;
};

absl::StatusOr<std::unique_ptr<SharedFileTrace>> SharedFileTrace::Make() {
  LATCHKEY_ASSIGN_OR_RETURN(SharedPages pages, SharedPages::Map(kCapacity));
  return std::unique_ptr<SharedFileTrace>(new SharedFileTrace(std::move(pages)));
}

SharedFileTrace::Head& SharedFileTrace::head() const { return *static_cast<Head*>(pages_.data()); }

void SharedFileTrace::Clear() {
  head().events = head().bytes = 0;
  head().in_call = head().calls_forbidden = false;
}

void SharedFileTrace::BeginCall() {
  head().in_call = true;
  if (!head().calls_forbidden) return;
  head().in_call = false;
  KillThisProcess();
}
void SharedFileTrace::EndCall() { head().in_call = false; }
void SharedFileTrace::ForbidCalls() { head().calls_forbidden = true; }
bool SharedFileTrace::in_call() const { return head().in_call; }

uint64_t SharedFileTrace::events() const { return head().events.load(std::memory_order_acquire); }

void SharedFileTrace::Append(const FileEvent& event, std::span<const std::byte> bytes) {
  Record record{};
  record.kind = event.kind;
  record.in_home = event.in_home;
  record.is_zeros = IsZeros(bytes);
  record.file = event.file;
  record.begun = event.begun;
  record.offset = event.offset;
  record.length = bytes.size();
  CopyName(event.name, record.name);
  CopyName(event.to, record.to);
  record.marks = event.marks;
  const uint64_t payload = record.is_zeros ? 0 : bytes.size();
  const uint64_t at = head().bytes.load(std::memory_order_relaxed);
  LATCHKEY_CHECK(sizeof(Head) + at + sizeof(record) + payload <= kCapacity);
  char* const out = static_cast<char*>(pages_.data()) + sizeof(Head) + at;
  std::memcpy(out, &record, sizeof(record));
  if (payload > 0) std::memcpy(out + sizeof(record), bytes.data(), payload);
  head().bytes.store(at + sizeof(record) + payload, std::memory_order_release);
  head().events.fetch_add(1, std::memory_order_release);
}

std::vector<FileEvent> SharedFileTrace::Read(uint64_t first) const {
  static_assert(std::is_trivially_copyable_v<Record>);
  std::vector<FileEvent> events;
  std::map<uint64_t, DiskBytes> zeros;  // by length
  std::set<uint64_t> under_way;
  const char* in = static_cast<const char*>(pages_.data()) + sizeof(Head);
  const char* const end = in + head().bytes.load(std::memory_order_acquire);
  while (in < end) {
    Record record;
    std::memcpy(&record, in, sizeof(record));
    in += sizeof(record);
    FileEvent event{.kind = record.kind,
                    .in_home = record.in_home,
                    .file = record.file,
                    .begun = first + record.begun,
                    .offset = record.offset,
                    .name = record.name,
                    .to = record.to,
                    .marks = record.marks};
    if (record.kind == FileEventKind::kWriteSubmitted) {
      under_way.insert(first + events.size());
      DiskBytes& kept = zeros[record.length];
      if (record.is_zeros && kept == nullptr) {
        kept = std::make_shared<const std::vector<std::byte>>(record.length);
      }
      const auto* const bytes = reinterpret_cast<const std::byte*>(in);
      event.bytes = record.is_zeros ? kept
                                    : std::make_shared<const std::vector<std::byte>>(
                                          bytes, bytes + record.length);
      if (!record.is_zeros) in += record.length;
    }
    if (record.kind == FileEventKind::kWriteCompleted) under_way.erase(event.begun);
    events.push_back(std::move(event));
  }
  for (const uint64_t begun : under_way) {
    const FileEvent& submitted = events[begun - first];
    events.push_back({.kind = FileEventKind::kWriteCompleted,
                      .file = submitted.file,
                      .begun = begun,
                      .marks = events.back().marks});
  }
  return events;
}

// ---- The recorder

// A real call together with its events.
class FileRecorder::Call {
 public:
  explicit Call(FileRecorder& recorder) : lock_(recorder.mutex_), trace_(recorder.trace_) {
    trace_.BeginCall();
  }
  ~Call() { trace_.EndCall(); }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

 private:
  MutexLock lock_;
  SharedFileTrace& trace_;
};

FileRecorder::FileRecorder(const FileRecorderOptions& options, const KillNotes& notes,
                           SharedFileTrace& trace)
    : options_(options),
      notes_(notes),
      trace_(trace),
      mutex_(ThreadRuntime()),
      next_file_(options.next_file) {
  LATCHKEY_CHECK(options.threads <= FileMarks::kMostThreads);
  for (const auto& [name, number] : options.files) {
    struct stat info;
    LATCHKEY_CHECK(stat((options.database + "/" + name).c_str(), &info) == 0);
    files_[info.st_ino] = {number, static_cast<uint64_t>(info.st_size)};
  }
  SetFileCallWatcher(this);
}

FileRecorder::File* FileRecorder::FileOf(int fd) {
  struct stat info;
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) return nullptr;
  const auto found = files_.find(info.st_ino);
  return found == files_.end() ? nullptr : &found->second;
}

bool FileRecorder::Place(const char* path, FileEvent* event, std::string* name) const {
  const std::filesystem::path parts(path);
  *name = parts.filename().string();
  event->in_home = parts.parent_path() == options_.home;
  return event->in_home || parts.parent_path() == options_.database;
}

uint64_t FileRecorder::Append(FileEvent event, std::span<const std::byte> bytes) {
  event.marks.is_open = notes_.stage.load() != KillStage::kOpening;
  event.marks.must_exist = options_.must_exist || event.marks.is_open;
  for (uint32_t t = 0; t < options_.threads; ++t) {
    // In this order a commit between the two loads is within the bounds.
    const uint64_t promised = notes_.threads[t].promised.load();
    event.marks.bounds[t] = {promised, notes_.threads[t].submitted.load()};
  }
  const uint64_t index = trace_.events();
  trace_.Append(event, bytes);
  return index;
}

void FileRecorder::AppendSize(File& file, uint64_t size) {
  const uint64_t begun =
      Append({.kind = FileEventKind::kResized, .file = file.number, .offset = size});
  Append({.kind = FileEventKind::kWriteCompleted, .file = file.number, .begun = begun});
  file.size = size;
}

uint64_t FileRecorder::AppendWrite(File& file, uint64_t offset, std::span<const std::byte> bytes) {
  if (offset + bytes.size() > file.size) AppendSize(file, offset + bytes.size());
  return Append({.kind = FileEventKind::kWriteSubmitted, .file = file.number, .offset = offset},
                bytes);
}

// While this thread holds the mutex, no other thread is between a real call and its event.
void FileRecorder::DieWhenDue() const {
  if (trace_.events() >= options_.die_after) KillThisProcess();
}

int FileRecorder::Create(const char* path, absl::FunctionRef<int()> real) {
  const Call call(*this);
  const int fd = real();
  const KeptErrno kept;
  FileEvent event{.kind = FileEventKind::kCreated, .file = next_file_};
  struct stat info;
  if (fd < 0 || !Place(path, &event, &event.name) || fstat(fd, &info) != 0) return fd;
  files_[info.st_ino] = {next_file_++, 0};
  Append(event);
  DieWhenDue();
  return fd;
}

ssize_t FileRecorder::Write(int fd, std::span<const std::byte> data, uint64_t offset,
                            absl::FunctionRef<ssize_t()> real) {
  const Call call(*this);
  const ssize_t written = real();
  const KeptErrno kept;
  File* const file = written > 0 ? FileOf(fd) : nullptr;
  if (file == nullptr) return written;
  const uint64_t begun = AppendWrite(*file, offset, data.first(static_cast<size_t>(written)));
  Append({.kind = FileEventKind::kWriteCompleted, .file = file->number, .begun = begun});
  DieWhenDue();
  return written;
}

int FileRecorder::Submit(std::span<iocb* const> controls, absl::FunctionRef<int()> real) {
  const Call call(*this);
  const int accepted = real();
  const KeptErrno kept;
  for (int i = 0; i < accepted; ++i) {
    const iocb& control = *controls[static_cast<size_t>(i)];
    if (control.aio_lio_opcode != IO_CMD_PWRITE) continue;
    File* const file = FileOf(control.aio_fildes);
    if (file == nullptr) continue;
    under_way_[&control] =
        AppendWrite(*file, static_cast<uint64_t>(control.u.c.offset),
                    {static_cast<const std::byte*>(control.u.c.buf), control.u.c.nbytes});
  }
  DieWhenDue();
  return accepted;
}

void FileRecorder::Completed(std::span<const io_event> events) {
  const Call call(*this);
  const KeptErrno kept;
  for (const io_event& event : events) {
    const auto found = under_way_.find(event.obj);
    if (found == under_way_.end()) continue;
    const File* const file = FileOf(event.obj->aio_fildes);
    if (file != nullptr && event.res == event.obj->u.c.nbytes) {
      Append(
          {.kind = FileEventKind::kWriteCompleted, .file = file->number, .begun = found->second});
    }
    under_way_.erase(found);
  }
  DieWhenDue();
}

int FileRecorder::Sync(int fd, absl::FunctionRef<int()> real) {
  FileEvent event;
  {
    const Call call(*this);
    if (const File* const file = FileOf(fd)) {
      event = {.kind = FileEventKind::kSyncBegun, .file = file->number};
    } else {
      const std::string path = PathOf(fd);
      if (path != options_.home && path != options_.database) return real();
      event = {.kind = FileEventKind::kDirectorySyncBegun, .in_home = path == options_.home};
    }
    event.begun = Append(event);
    DieWhenDue();
  }
  const int done = real();
  if (done != 0) return done;
  const KeptErrno kept;
  const Call call(*this);
  event.kind = event.kind == FileEventKind::kSyncBegun ? FileEventKind::kSyncEnded
                                                       : FileEventKind::kDirectorySyncEnded;
  Append(event);
  DieWhenDue();
  return done;
}

int FileRecorder::Allocate(int fd, uint64_t end, absl::FunctionRef<int()> real) {
  const Call call(*this);
  const int done = real();
  const KeptErrno kept;
  File* const file = done == 0 ? FileOf(fd) : nullptr;
  if (file != nullptr && end > file->size) AppendSize(*file, end);
  DieWhenDue();
  return done;
}

int FileRecorder::Truncate(int fd, uint64_t length, absl::FunctionRef<int()> real) {
  const Call call(*this);
  const int done = real();
  const KeptErrno kept;
  File* const file = done == 0 ? FileOf(fd) : nullptr;
  if (file != nullptr && length != file->size) AppendSize(*file, length);
  DieWhenDue();
  return done;
}

int FileRecorder::Rename(const char* from, const char* to, absl::FunctionRef<int()> real) {
  const Call call(*this);
  const int done = real();
  const KeptErrno kept;
  FileEvent event{.kind = FileEventKind::kRenamed};
  if (done != 0 || !Place(to, &event, &event.to) || !Place(from, &event, &event.name)) return done;
  Append(event);
  DieWhenDue();
  return done;
}

int FileRecorder::Remove(const char* path, absl::FunctionRef<int()> real) {
  const Call call(*this);
  const int done = real();
  const KeptErrno kept;
  FileEvent event{.kind = FileEventKind::kRemoved};
  if (done != 0 || !Place(path, &event, &event.name)) return done;
  Append(event);
  DieWhenDue();
  return done;
}

int FileRecorder::MakeDirectory(const char* path, absl::FunctionRef<int()> real) {
  const Call call(*this);
  const int done = real();
  const KeptErrno kept;
  FileEvent event{.kind = FileEventKind::kDirectoryMade};
  if (done != 0 || !Place(path, &event, &event.name)) return done;
  Append(event);
  DieWhenDue();
  return done;
}

}  // namespace latchkey
