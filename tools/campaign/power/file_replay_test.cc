#include "tools/campaign/power/file_replay.h"

#include <catch2/catch.hpp>
#include <memory>
#include <vector>

namespace latchkey::file_replay_test {
namespace {

constexpr uint64_t kBytes = 512;

FileEvent Written(uint64_t offset, int value) {
  return {.kind = FileEventKind::kWriteSubmitted,
          .offset = offset,
          .bytes = std::make_shared<const std::vector<std::byte>>(kBytes, std::byte(value))};
}
FileEvent Completed(uint64_t begun) {
  return {.kind = FileEventKind::kWriteCompleted, .begun = begun};
}

// Creation of a directory and of a file with two blocks in it, then a rename of the directory.
std::vector<FileEvent> Creation() {
  return {
      {.kind = FileEventKind::kDirectoryMade, .in_home = true, .name = "db"},
      {.kind = FileEventKind::kDirectorySyncBegun, .in_home = true},
      {.kind = FileEventKind::kDirectorySyncEnded, .in_home = true, .begun = 1},
      {.kind = FileEventKind::kCreated, .file = 0, .name = "new"},
      {.kind = FileEventKind::kResized, .offset = 2 * kBytes},
      Completed(4),
      Written(0, 1),
      Completed(6),
      {.kind = FileEventKind::kSyncBegun},
      {.kind = FileEventKind::kSyncEnded, .begun = 8},  // 9
      {.kind = FileEventKind::kDirectorySyncBegun},
      {.kind = FileEventKind::kDirectorySyncEnded, .begun = 10},
      Written(kBytes, 2),
      Completed(12),
      {.kind = FileEventKind::kRenamed, .name = "new", .to = "old"},  // 14
  };
}

FileState StateAt(uint64_t position, CrashVariant content, NameChoice names) {
  const std::vector<FileEvent> events = Creation();
  FileReplay replay({}, events);
  replay.AdvanceTo(position);
  return replay.State({.content = {.variant = content}, .names = names}, 1);
}

std::byte ByteAt(const FileState& state, uint64_t offset) {
  std::vector<std::byte> bytes(1);
  state.files[0].Read(offset, bytes);
  return bytes[0];
}

TEST_CASE("a directory is there for sure once the directory around it is synced") {
  CHECK_FALSE(StateAt(1, CrashVariant::kAll, NameChoice::kNone).has_directory);
  CHECK(StateAt(1, CrashVariant::kAll, NameChoice::kAll).has_directory);
  CHECK_FALSE(StateAt(2, CrashVariant::kAll, NameChoice::kNone).has_directory);
  CHECK(StateAt(3, CrashVariant::kAll, NameChoice::kNone).has_directory);
}

TEST_CASE("a sync of a file makes its bytes and its size durable, and no name") {
  CHECK(StateAt(9, CrashVariant::kNone, NameChoice::kAll).files[0].size() == 0);
  const FileState synced = StateAt(10, CrashVariant::kNone, NameChoice::kAll);
  CHECK(synced.files[0].size() == 2 * kBytes);
  CHECK(ByteAt(synced, 0) == std::byte{1});
  CHECK(StateAt(10, CrashVariant::kNone, NameChoice::kNone).names.empty());
}

TEST_CASE("a sync of a directory makes its names durable, and no bytes") {
  const FileState state = StateAt(14, CrashVariant::kNone, NameChoice::kNone);
  CHECK(state.names.contains("new"));
  CHECK(ByteAt(state, kBytes) == std::byte{0});
  CHECK(ByteAt(StateAt(14, CrashVariant::kAll, NameChoice::kNone), kBytes) == std::byte{2});
}

TEST_CASE("a file is called either as before or as after a rename that is not synced") {
  const FileState before = StateAt(15, CrashVariant::kAll, NameChoice::kNone);
  CHECK(before.names.contains("new"));
  CHECK_FALSE(before.names.contains("old"));
  const FileState after = StateAt(15, CrashVariant::kAll, NameChoice::kAll);
  CHECK(after.names.contains("old"));
  CHECK_FALSE(after.names.contains("new"));
}

}  // namespace
}  // namespace latchkey::file_replay_test
