#include "tools/campaign/power/file_trace.h"

#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "storage/base/testing/temp_dir.h"

namespace latchkey::file_trace_test {
namespace {

constexpr uint64_t kBlock = 512, kBlocks = 64;

// Writes the numbers 1, 2, ... to blocks of the file in turn, until the process dies. Each write
// pauses between the real call and its record.
void WriteForEver(FileRecorder& recorder, int fd) {
  for (uint64_t number = 1;; ++number) {
    const std::vector<uint64_t> block(kBlock / sizeof(uint64_t), number);
    const uint64_t offset = number % kBlocks * kBlock;
    recorder.Write(fd, std::as_bytes(std::span(block)), offset, [&] {
      const ssize_t written = pwrite64(fd, block.data(), kBlock, static_cast<off_t>(offset));
      ThreadRuntime().SleepFor(kNanosPerMilli / 2);
      return written;
    });
  }
}

std::map<uint64_t, uint64_t> RecordedBlocks(const SharedFileTrace& trace) {
  std::map<uint64_t, uint64_t> numbers;
  for (const FileEvent& event : trace.Read(0)) {
    if (event.kind != FileEventKind::kWriteSubmitted) continue;
    std::memcpy(&numbers[event.offset], event.bytes->data(), sizeof(uint64_t));
  }
  return numbers;
}

// Power-loss images lacked writes that the next life had found in the file: the parent had killed
// the child between a write and its record.
TEST_CASE("a child that is killed from outside has recorded every write that is in its file") {
  const TempDir folder;
  const std::string home = std::filesystem::canonical(folder.path()).string();
  const std::string path = home + "/db/data";
  std::filesystem::create_directory(home + "/db");
  auto notes = Shared<KillNotes>::Make();
  REQUIRE(notes.ok());
  auto trace = SharedFileTrace::Make();
  REQUIRE(trace.ok());
  for (int round = 0; round < 10; ++round) {
    const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
    REQUIRE(fd >= 0);
    (*trace)->Clear();
    const FileRecorderOptions options{
        .home = home, .database = home + "/db", .files = {{"data", 0}}};
    auto child = ChildProcess::Start([&]() -> int {
      FileRecorder recorder(options, **notes, **trace);
      WriteForEver(recorder, fd);
      return 0;
    });
    REQUIRE(child.ok());
    (*child)->WaitUntil(ThreadRuntime(), [&] { return (*trace)->events() > 10; });
    (*trace)->ForbidCalls();
    (*child)->WaitUntil(ThreadRuntime(), [&] { return !(*trace)->in_call(); });
    (*child)->Kill();
    (*child)->WaitForEnd();
    const std::map<uint64_t, uint64_t> recorded = RecordedBlocks(**trace);
    for (uint64_t offset = 0; offset < kBlocks * kBlock; offset += kBlock) {
      uint64_t in_file = 0;
      if (pread(fd, &in_file, sizeof(in_file), static_cast<off_t>(offset)) < 1) in_file = 0;
      const auto found = recorded.find(offset);
      CAPTURE(round, offset);
      CHECK(in_file == (found == recorded.end() ? 0 : found->second));
    }
    close(fd);
  }
}

}  // namespace
}  // namespace latchkey::file_trace_test
