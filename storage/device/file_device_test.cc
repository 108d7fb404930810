#include "storage/device/file_device.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include "storage/base/testing/temp_dir.h"
#include "storage/device/aligned_buffer.h"
#include "storage/runtime/testing/in_child.h"

namespace latchkey::file_device_test {
namespace {

constexpr uint32_t kPage = 4096;

std::unique_ptr<FileDevice> OpenOk(const std::string& path, const FileDeviceOptions& options = {}) {
  auto device = FileDevice::Open(ThreadRuntime(), path, options);
  INFO(device.status());
  REQUIRE(device.ok());
  return *std::move(device);
}
absl::Status OpenError(const std::string& path, const FileDeviceOptions& options = {}) {
  return FileDevice::Open(ThreadRuntime(), path, options).status();
}
std::string Message(const absl::Status& status) { return std::string(status.message()); }

void WriteFile(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}
std::string FileContent(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST_CASE("A file device creates, refuses and finds files as it is told to") {
  TempDir dir;
  const std::string path = dir.File("data.lk");
  CHECK(absl::IsNotFound(OpenError(path, {.creation = FileCreation::kMustExist})));
  CHECK_FALSE(std::filesystem::exists(path));
  CHECK(OpenOk(path, {.creation = FileCreation::kMustBeNew})->created());
  const absl::Status exists = OpenError(path, {.creation = FileCreation::kMustBeNew});
  CHECK(absl::IsAlreadyExists(exists));
  CHECK_THAT(Message(exists), Catch::Contains(path) && Catch::Contains("EEXIST"));
  CHECK_FALSE(OpenOk(path)->created());
  CHECK(absl::IsNotFound(OpenError(dir.File("no/such/directory"))));
}

TEST_CASE("What is not a regular file is refused without waiting for anybody") {
  TempDir dir;
  CHECK(absl::IsFailedPrecondition(OpenError(dir.path().string())));
  REQUIRE(mkfifo(dir.File("fifo").c_str(), 0600) == 0);
  CHECK(absl::IsFailedPrecondition(OpenError(dir.File("fifo"))));
}

TEST_CASE("Content survives closing and reopening") {
  TempDir dir;
  AlignedBuffer page(kPage);
  {
    auto device = OpenOk(dir.File("data.lk"));
    REQUIRE(device->Resize(8 * kPage).ok());
    page.data()[17] = std::byte{42};
    REQUIRE(device->Write(3 * kPage, page.span(), IoClass::kPageWrite).ok());
    REQUIRE(device->Sync().ok());
  }
  auto device = OpenOk(dir.File("data.lk"), {.creation = FileCreation::kMustExist});
  CHECK(device->geometry().size_bytes == 8 * kPage);
  AlignedBuffer read(kPage);
  REQUIRE(device->Read(3 * kPage, read.span(), IoClass::kPageRead).ok());
  CHECK(read.data()[17] == std::byte{42});
}

TEST_CASE("New space is allocated and written, not sparse") {
  TempDir dir;
  auto device = OpenOk(dir.File("data.lk"));
  REQUIRE(device->Resize(6 << 20).ok());
  struct stat info;
  REQUIRE(stat(dir.File("data.lk").c_str(), &info) == 0);
  CHECK(info.st_size == 6 << 20);
  CHECK(info.st_blocks * 512 >= 6 << 20);
  const DeviceStats stats = device->stats();
  CHECK(stats.of(IoClass::kMeta).bytes == 6 << 20);
  CHECK(stats.syncs == 1);
}

TEST_CASE("A staged file is synced once when it is settled, and from then on as any other") {
  TempDir dir;
  AlignedBuffer page(kPage);
  auto device = OpenOk(dir.File("data.lk"), {.creation = FileCreation::kMustBeNew, .staged = true});
  REQUIRE(device->Resize(8 * kPage).ok());
  CHECK(device->stats().syncs == 0);
  REQUIRE(device->Sync().ok());  // for measurements: not deferred yet
  CHECK(device->stats().syncs == 1);
  device->DeferSyncs();
  REQUIRE(device->Write(0, page.span(), IoClass::kPageWrite).ok());
  REQUIRE(device->Sync().ok());
  REQUIRE(device->Resize(4 * kPage).ok());
  CHECK(device->stats().syncs == 1);
  REQUIRE(device->Settle().ok());
  CHECK(device->stats().syncs == 2);
  REQUIRE(device->Sync().ok());
  REQUIRE(device->Resize(8 * kPage).ok());
  CHECK(device->stats().syncs == 4);
}

TEST_CASE("Opening and reading change nothing in a file that is not ours") {
  TempDir dir;
  const std::string foreign(5000, 'x');
  WriteFile(dir.File("foreign"), foreign);
  {
    auto device = OpenOk(dir.File("foreign"));
    CHECK(device->geometry().size_bytes ==
          5000 / device->geometry().logical_block * device->geometry().logical_block);
    AlignedBuffer block(device->geometry().logical_block);
    REQUIRE(device->Read(0, block.span(), IoClass::kMeta).ok());
    CHECK(block.data()[0] == std::byte{'x'});
  }
  CHECK(FileContent(dir.File("foreign")) == foreign);
}

TEST_CASE("A second open in this process is refused under every name of the file") {
  TempDir dir;
  auto device = OpenOk(dir.File("data.lk"));
  REQUIRE(link(dir.File("data.lk").c_str(), dir.File("other.lk").c_str()) == 0);
  for (const char* name : {"data.lk", "other.lk"}) {
    const absl::Status status = OpenError(dir.File(name));
    CHECK(absl::IsFailedPrecondition(status));
    CHECK_THAT(Message(status), Catch::Contains("is open in this process"));
  }
  device.reset();
  OpenOk(dir.File("other.lk"));
}

TEST_CASE("A file that another process has open is refused by that process's number") {
  TempDir dir;
  const std::string path = dir.File("data.lk");
  WriteFile(path, "");
  int ready[2], finish[2];
  REQUIRE(pipe(ready) == 0);
  REQUIRE(pipe(finish) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child ==
      0) {  // only system calls from here on: other threads' locks are not ours to wait for
    const int fd = open(path.c_str(), O_RDWR);
    char byte = flock(fd, LOCK_EX | LOCK_NB) == 0 ? 'y' : 'n';
    if (write(ready[1], &byte, 1) != 1) _exit(1);
    _exit(read(finish[0], &byte, 1) == 1 ? 0 : 1);
  }
  char byte = 0;
  REQUIRE(read(ready[0], &byte, 1) == 1);
  REQUIRE(byte == 'y');
  const absl::Status status = OpenError(path);
  CHECK(absl::IsFailedPrecondition(status));
  CHECK_THAT(Message(status), Catch::Contains("process " + std::to_string(child)) ||
                                  Catch::Contains("another process"));
  CHECK(absl::IsFailedPrecondition(
      OpenError(path, {.creation = FileCreation::kMustExist, .read_only = true})));
  REQUIRE(write(finish[1], &byte, 1) == 1);
  int exit_status = -1;
  REQUIRE(waitpid(child, &exit_status, 0) == child);
  CHECK(exit_status == 0);
  for (int fd : {ready[0], ready[1], finish[0], finish[1]}) close(fd);
  OpenOk(path);  // the lock ended with its holder
}

TEST_CASE("A child that has inherited a locked file neither gives the lock back nor keeps it") {
  TempDir dir;
  const std::string path = dir.File("data.lk");
  auto device = OpenOk(path);
  const auto open_again = [&] {
    const auto opened = FileDevice::Open(ThreadRuntime(), path, {});
    return opened.ok() ? 1 : 0;
  };
  // The child goes without its copy of the device, then with it.
  CHECK(InChild([&] { return open_again(); }) == 0);
  CHECK(InChild([&] {
          device.reset();
          return open_again();
        }) == 0);
  CHECK(InChild([&] { return open_again(); }) == 0);

  int finish[2];
  REQUIRE(pipe(finish) == 0);
  const pid_t lasting = fork();
  char byte = 0;
  if (lasting == 0) {
    close(finish[1]);
    _exit(read(finish[0], &byte, 1) == 1 && open_again() ? 0 : 1);
  }
  device.reset();
  OpenOk(path);  // though the child has the old descriptor still
  REQUIRE(write(finish[1], &byte, 1) == 1);
  int status = -1;
  REQUIRE(waitpid(lasting, &status, 0) == lasting);
  CHECK(status == 0);  // and the child may open it now
  for (int fd : {finish[0], finish[1]}) close(fd);
}

TEST_CASE("Read-only devices share a file, change nothing and shut writers out") {
  TempDir dir;
  const std::string path = dir.File("data.lk");
  REQUIRE(OpenOk(path)->Resize(4 * kPage).ok());
  const FileDeviceOptions read_only{.creation = FileCreation::kMustExist, .read_only = true};
  auto first = OpenOk(path, read_only);
  auto second = OpenOk(path, read_only);
  CHECK(absl::IsFailedPrecondition(OpenError(path)));

  AlignedBuffer page(kPage);
  CHECK(first->Read(0, page.span(), IoClass::kPageRead).ok());
  CHECK(absl::IsFailedPrecondition(first->Write(0, page.span(), IoClass::kPageWrite)));
  CHECK(absl::IsFailedPrecondition(first->Resize(8 * kPage)));
  CHECK(first->Sync().ok());
  auto queue = first->NewQueue(1);
  REQUIRE(queue.ok());
  IoRequest request;
  request.op = IoRequest::Op::kWrite;
  request.length = kPage;
  request.buffer = page.data();
  IoRequest* one = &request;
  (*queue)->Submit({&one, 1});
  std::vector<IoRequest*> completed;
  (*queue)->Wait(1, completed);
  CHECK(absl::IsFailedPrecondition(request.status));
  CHECK_THAT(first->Describe(), Catch::Contains("read-only"));

  queue->reset();
  first.reset();
  CHECK(absl::IsFailedPrecondition(OpenError(path)));
  second.reset();
  OpenOk(path);
  CHECK(absl::IsInvalidArgument(OpenError(path, {.read_only = true})));
}

TEST_CASE("A refusal of O_DIRECT is told once to the log and kept in the description") {
  TempDir dir;
  std::vector<std::string> warnings;
  FileDeviceOptions options;
  options.log_sink = [&](LogLevel level, std::string_view message) {
    if (level == LogLevel::kWarning) warnings.emplace_back(message);
  };
  const auto device = OpenOk(dir.File("data.lk"), options);
  CHECK(warnings.size() == (device->direct_io() ? 0 : 1));
  CHECK_THAT(device->Describe(), Catch::Contains(device->direct_io() ? "O_DIRECT" : "page cache"));
  for (const std::string& warning : warnings) CHECK_THAT(warning, Catch::Contains("O_DIRECT"));
}

TEST_CASE("The page cache chosen on purpose is no reason for a warning") {
  TempDir dir;
  int warnings = 0;
  const auto device =
      OpenOk(dir.File("data.lk"),
             {.direct_io = false, .log_sink = [&](LogLevel, std::string_view) { ++warnings; }});
  CHECK_FALSE(device->direct_io());
  CHECK(device->geometry().logical_block == 512);
  CHECK(warnings == 0);
}

TEST_CASE(
    "Reading where somebody else has cut the file is Unavailable and says so, never garbage") {
  TempDir dir;
  const std::string path = dir.File("data.lk");
  auto device = OpenOk(path);
  REQUIRE(device->Resize(8 * kPage).ok());
  REQUIRE(truncate(path.c_str(), 4 * kPage) == 0);
  AlignedBuffer memory(4 * kPage);
  const absl::Status gone = device->Read(6 * kPage, memory.span().first(kPage), IoClass::kPageRead);
  CHECK(absl::IsUnavailable(gone));
  CHECK_THAT(Message(gone), Catch::Contains(path) && Catch::Contains("truncated") &&
                                Catch::Contains("offset 24576"));
  CHECK(absl::IsUnavailable(device->Read(2 * kPage, memory.span(), IoClass::kPageRead)));

  auto queue = device->NewQueue(1);
  REQUIRE(queue.ok());
  IoRequest request;
  request.offset = 2 * kPage;
  request.length = 4 * kPage;
  request.buffer = memory.data();
  IoRequest* one = &request;
  (*queue)->Submit({&one, 1});
  std::vector<IoRequest*> completed;
  (*queue)->Wait(1, completed);
  CHECK(absl::IsUnavailable(request.status));
  CHECK(device->stats().of(IoClass::kPageRead).bytes == 4 * kPage);  // twice the existing half
}

TEST_CASE("A completed request costs no device time while its owner leaves it uncollected") {
  TempDir dir;
  auto device = OpenOk(dir.File("data.lk"));
  REQUIRE(device->Resize(1 << 20).ok());
  auto queue = device->NewQueue(1);
  REQUIRE(queue.ok());
  AlignedBuffer memory(1 << 20);
  IoRequest request;
  request.op = IoRequest::Op::kWrite;
  request.io_class = IoClass::kSegmentWrite;
  request.length = 1 << 20;
  request.buffer = memory.data();
  IoRequest* one = &request;
  (*queue)->Submit({&one, 1});
  Backoff backoff(ThreadRuntime());
  while (device->stats().in_flight > 0 && backoff.attempts() < 100'000) backoff.Pause();
  const DeviceStats completed = device->stats();
  REQUIRE(completed.in_flight == 0);
  ThreadRuntime().SleepFor(5 * kNanosPerMilli);
  std::vector<IoRequest*> collected;
  (*queue)->Wait(1, collected);
  const DeviceStats later = device->stats();
  CHECK(later.of(IoClass::kSegmentWrite).busy == completed.of(IoClass::kSegmentWrite).busy);
  CHECK(later.of(IoClass::kSegmentWrite).requests == 1);
  CHECK(later.busy == completed.busy);
}

TEST_CASE("Growth beyond the free space names both, at once, and takes nothing") {
  TempDir dir;
  auto device = OpenOk(dir.File("data.lk"));
  REQUIRE(device->Resize(4 * kPage).ok());
  const absl::Status status = device->Resize(uint64_t{1} << 50);
  CHECK(absl::IsResourceExhausted(status));
  CHECK_THAT(Message(status), Catch::Contains("bytes free"));
  CHECK(std::filesystem::file_size(dir.File("data.lk")) == 4 * kPage);
}

}  // namespace
}  // namespace latchkey::file_device_test
