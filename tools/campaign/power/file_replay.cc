#include "tools/campaign/power/file_replay.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "storage/base/check.h"
#include "storage/base/hash.h"
#include "storage/base/rng.h"
#include "storage/base/status_macros.h"
#include "storage/device/file_errors.h"
#include "storage/device/file_open.h"

namespace latchkey {
namespace {

DiskEvent DiskEventOf(const FileEvent& event) {
  switch (event.kind) {
    case FileEventKind::kWriteSubmitted:
      return {.kind = DiskEvent::Kind::kWriteSubmitted,
              .disk = event.file,
              .offset = event.offset,
              .bytes = event.bytes};
    case FileEventKind::kWriteCompleted:
      return {.kind = DiskEvent::Kind::kWriteCompleted, .disk = event.file, .begun = event.begun};
    case FileEventKind::kResized:
      return {.kind = DiskEvent::Kind::kResizeBegun, .disk = event.file, .offset = event.offset};
    case FileEventKind::kSyncEnded:
      return {.kind = DiskEvent::Kind::kSyncEnded, .disk = event.file, .begun = event.begun};
    default:
      return {.kind = DiskEvent::Kind::kSyncBegun};  // changes no bytes
  }
}

std::vector<DiskEvent> DiskEventsOf(std::span<const FileEvent> events) {
  std::vector<DiskEvent> disk_events;
  disk_events.reserve(events.size());
  for (const FileEvent& event : events) disk_events.push_back(DiskEventOf(event));
  return disk_events;
}

// The files of `initial`, and empty ones for all files created later.
std::vector<DiskImage> InitialFiles(const FileState& initial, std::span<const FileEvent> events) {
  std::vector<DiskImage> files = initial.files;
  size_t most = files.size();
  for (const FileEvent& event : events) most = std::max<size_t>(most, event.file + 1);
  files.resize(most);
  return files;
}

bool IsName(FileEventKind kind) {
  return kind == FileEventKind::kCreated || kind == FileEventKind::kRenamed ||
         kind == FileEventKind::kRemoved || kind == FileEventKind::kDirectoryMade;
}

absl::Status WriteFile(const DiskImage& image, const std::string& path) {
  constexpr size_t kPiece = 64 << 10;
  const FileDescriptor fd(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (fd.get() < 0) return FileError("create", path, errno);
  if (ftruncate(fd.get(), static_cast<off_t>(image.size())) != 0) {
    return FileError("enlarge", path, errno);
  }
  std::vector<std::byte> piece(kPiece);
  for (uint64_t at = 0; at < image.size(); at += kPiece) {
    piece.resize(std::min<uint64_t>(kPiece, image.size() - at));
    image.Read(at, piece);
    const bool is_hole = std::ranges::all_of(piece, [](std::byte b) { return b == std::byte{0}; });
    if (is_hole) continue;
    const ssize_t written = pwrite(fd.get(), piece.data(), piece.size(), static_cast<off_t>(at));
    if (written != static_cast<ssize_t>(piece.size())) return FileError("write", path, errno);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status WriteFileState(const FileState& state, const std::string& path) {
  if (!state.has_directory) return absl::OkStatus();
  if (mkdir(path.c_str(), 0755) != 0) return FileError("make the directory", path, errno);
  for (const auto& [name, file] : state.names) {
    LATCHKEY_RETURN_IF_ERROR(WriteFile(state.files[file], path + "/" + name));
  }
  return absl::OkStatus();
}

FileReplay::FileReplay(const FileState& initial, std::span<const FileEvent> events)
    : events_(events),
      disk_events_(DiskEventsOf(events)),
      content_(InitialFiles(initial, events), disk_events_),
      durable_(initial) {
  durable_.files.clear();
}

void FileReplay::AdvanceTo(uint64_t position) {
  LATCHKEY_CHECK(position >= position_ && position <= end());
  names_changed_ = names_changed_ && position == position_;
  for (; position_ < position; ++position_) Apply(events_[position_], position_);
  content_.AdvanceTo(position);
}

void FileReplay::Apply(const FileEvent& event, uint64_t index) {
  if (IsName(event.kind)) {
    pending_.push_back({index, event});
    names_changed_ = true;
  }
  if (event.kind != FileEventKind::kDirectorySyncEnded) return;
  const auto covered = [&](const PendingName& name) {
    return name.event.in_home == event.in_home && name.index < event.begun;
  };
  for (const PendingName& name : pending_) {
    if (covered(name)) Put(name.event, &durable_);
  }
  names_changed_ |= std::erase_if(pending_, covered) > 0;
}

void FileReplay::Put(const FileEvent& event, FileState* state) {
  switch (event.kind) {
    case FileEventKind::kCreated:
      state->names[event.name] = event.file;
      break;
    case FileEventKind::kRenamed: {
      const auto from = state->names.find(event.name);
      if (from == state->names.end()) break;  // its creation was lost
      state->names[event.to] = from->second;
      state->names.erase(event.name);
      break;
    }
    case FileEventKind::kRemoved:
      if (event.in_home) {
        state->has_directory = false;
      } else {
        state->names.erase(event.name);
      }
      break;
    case FileEventKind::kDirectoryMade:
      state->has_directory = true;
      break;
    default:
      break;
  }
}

FileState FileReplay::State(const FileChoice& choice, uint64_t seed) const {
  FileState state = durable_;
  Rng rng(MixHash(seed) + position_);
  for (const PendingName& name : pending_) {
    const bool some = rng.Below(2) == 0;
    if (choice.names == NameChoice::kAll || (choice.names == NameChoice::kSome && some)) {
      Put(name.event, &state);
    }
  }
  if (!state.has_directory) state.names.clear();  // the names are lost with their directory
  state.files = content_.Images(choice.content, seed);
  return state;
}

FileState FileReplay::Names() const {
  FileState state = durable_;
  for (const PendingName& name : pending_) Put(name.event, &state);
  return state;
}

}  // namespace latchkey
