// log_bench FILE [SECONDS]: commits per second of 1, 8 and 32 actors that each append 200 bytes and
// flush, on a log in FILE. For comparison, the device's own rate of overwrites of 4 KiB and of the
// log's block, each followed by a sync. FILE and FILE.raw must not exist; they are removed at the
// end. SECONDS (default 2) is the time for each of the five figures.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "storage/device/aligned_buffer.h"
#include "storage/device/file_device.h"
#include "storage/wal/log.h"

namespace latchkey {
namespace {

constexpr size_t kRecordBytes = 200;

absl::StatusOr<std::unique_ptr<FileDevice>> NewFile(const std::string& path) {
  return FileDevice::Open(ThreadRuntime(), path, {.creation = FileCreation::kMustBeNew});
}

struct FileRemover {
  const std::string& path;
  ~FileRemover() { unlink(path.c_str()); }
};

// The number of overwrites of `bytes` per second, one after the other, each synced.
absl::StatusOr<double> DeviceRate(BlockDevice& device, uint32_t bytes, Nanos duration) {
  Runtime& runtime = ThreadRuntime();
  AlignedBuffer block(bytes);
  const uint64_t size = device.geometry().size_bytes;
  const Nanos start = runtime.Now();
  uint64_t writes = 0;
  Nanos now = start;
  for (; now - start < duration; ++writes, now = runtime.Now()) {
    absl::Status status = device.Write(writes * bytes % size, block.span(), IoClass::kMeta);
    if (status.ok()) status = device.Sync();
    if (!status.ok()) return status;
  }
  return static_cast<double>(writes) * 1e9 / static_cast<double>(now - start);
}

struct LogRate {
  double commits = 0, records_per_group = 0;
};

absl::StatusOr<LogRate> CommitRate(Log& log, int actors, Nanos duration) {
  Runtime& runtime = ThreadRuntime();
  std::atomic<uint64_t> commits{0};
  std::atomic<bool> has_failed{false};
  const LogStats before = log.stats();
  const Nanos start = runtime.Now();
  {
    std::vector<std::unique_ptr<Actor>> running;
    for (int i = 0; i < actors; ++i) {
      running.push_back(runtime.Spawn("committer", [&] {
        const uint64_t space = log.RecordSpace(kRecordBytes);
        uint64_t done = 0;
        while (runtime.Now() - start < duration && !has_failed) {
          if (!log.Reserve(space).ok()) break;
          const Lsn lsn = log.Append(kRecordBytes, [](Lsn at, std::byte* bytes) {
            std::fill_n(bytes, kRecordBytes, static_cast<std::byte>(Raw(at)));
          });
          if (!log.Flush(Lsn{Raw(lsn) + 1}).ok()) has_failed = true;
          if (++done % 256 == 0) log.Truncate(lsn);
        }
        commits += done;
      }));
    }
  }
  const double seconds = static_cast<double>(runtime.Now() - start) * 1e-9;
  if (has_failed) return log.Flush(log.next());
  const LogStats after = log.stats();
  return LogRate{.commits = static_cast<double>(commits) / seconds,
                 .records_per_group = static_cast<double>(after.records - before.records) /
                                      static_cast<double>(after.groups - before.groups)};
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// The figures take turns in each round, so that other load on the device affects all of them.
absl::Status Run(const std::string& path, Nanos duration) {
  constexpr int kRounds = 5;
  constexpr std::array<int, 3> kActors = {1, 8, 32};
  const std::string raw_path = path + ".raw";
  auto raw = NewFile(raw_path);
  if (!raw.ok()) return raw.status();
  const FileRemover remove_raw{raw_path};
  if (auto status = (*raw)->Resize(16u << 20); !status.ok()) return status;
  auto device = NewFile(path);
  if (!device.ok()) return device.status();
  const FileRemover remove_log{path};
  auto log = CreateLog(ThreadRuntime(), *std::move(device), {.database_id = 1});
  if (!log.ok()) return log.status();
  if (auto status = (*log)->StartWriting(); !status.ok()) return status;

  const Nanos slice = duration / kRounds;
  const uint32_t block = (*raw)->geometry().logical_block;
  std::array<std::vector<double>, 2> device_rates;
  std::array<std::vector<double>, kActors.size()> commits, per_group;
  for (int round = 0; round < kRounds; ++round) {
    for (size_t i = 0; i < 2; ++i) {
      auto rate = DeviceRate(**raw, i == 0 ? 4096 : block, slice);
      if (!rate.ok()) return rate.status();
      device_rates[i].push_back(*rate);
    }
    for (size_t i = 0; i < kActors.size(); ++i) {
      auto rate = CommitRate(**log, kActors[i], slice);
      if (!rate.ok()) return rate.status();
      commits[i].push_back(rate->commits);
      per_group[i].push_back(rate->records_per_group);
    }
  }
  fmt::print("{}; medians of {} rounds\n", (*log)->device().Describe(), kRounds);
  const double device_rate = Median(device_rates[0]);
  fmt::print("device, 4096 bytes + sync  {:10.0f} /s\n", device_rate);
  fmt::print("device, {:4} bytes + sync  {:10.0f} /s\n", block, Median(device_rates[1]));
  for (size_t i = 0; i < kActors.size(); ++i) {
    const double rate = Median(commits[i]);
    fmt::print(
        "log, {:2} committers         {:10.0f} /s  {:6.2f} x device, {:.1f} records a group\n",
        kActors[i], rate, rate / device_rate, Median(per_group[i]));
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace latchkey

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    fmt::print(stderr, "usage: log_bench FILE [SECONDS]\n");
    return 2;
  }
  const double seconds = argc == 3 ? std::atof(argv[2]) : 2;
  const auto duration = static_cast<latchkey::Nanos>(std::max(seconds, 0.01) * 1e9);
  const absl::Status status = latchkey::Run(argv[1], duration);
  if (status.ok()) return 0;
  fmt::print(stderr, "log_bench: {}\n", std::string(status.message()));
  return 1;
}
