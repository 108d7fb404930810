#include "tpcc-lite/bench/kv_workload.h"

#include <string>

#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

constexpr KvWorkload kWorkloads[] = {
    {"load-seq", {.insert = 1}, false, true, true, "insert every record in key order"},
    {.name = "load-bulk",
     .mix = {.insert = 1},
     .load = true,
     .sequential = true,
     .what = "load every record in key order by the engine's call for sorted records",
     .bulk = true},
    {"load-random", {.insert = 1}, false, true, false, "insert every record in random order"},
    {"read-uniform", {.read = 1}, false, false, false, "reads, every key as likely"},
    {"read-zipf", {.read = 1}, true, false, false, "reads, skewed"},
    {"a", {.read = .5, .update = .5}, true, false, false, "YCSB A: half reads, half updates"},
    {"b", {.read = .95, .update = .05}, true, false, false, "YCSB B: 95 % reads, 5 % updates"},
    {"c", {.read = 1}, true, false, false, "YCSB C: reads"},
    {"e", {.insert = .05, .scan = .95}, true, false, false, "YCSB E: short scans, 5 % inserts"},
    {"f",
     {.read = .5, .read_modify_write = .5},
     true,
     false,
     false,
     "YCSB F: half reads, half read-modify-writes"},
    {"update-uniform", {.update = 1}, false, false, false, "blind updates, every key as likely"},
    {"update-zipf", {.update = 1}, true, false, false, "blind updates, skewed"},
    {.name = "update-commit",
     .mix = {.update = 1},
     .what = "one update per transaction beside the device's rate of synced overwrites: with "
             "--durability",
     .device_rate = true},
    {.name = "reopen",
     .mix = {.update = 1},
     .what = "updates until the cache is full of dirty pages, a crash, and the open after it",
     .reopen = true},
    {.name = "scan-all",
     .mix = {},
     .what = "scan every record once, as the load has left them",
     .scans_all = true},
    {.name = "scan-updated",
     .mix = {},
     .what = "scan every record once, after each was updated once in random order",
     .scans_all = true,
     .updates_before = 1},
    {.name = "delete-seq",
     .mix = {},
     .what = "delete 90 % of the records, one by one, in key order",
     .removal = KvWorkload::Removal::kEach},
    {.name = "delete-range",
     .mix = {},
     .what = "delete 90 % of the records by the engine's range delete, RocksDB's with a compaction",
     .removal = KvWorkload::Removal::kRange},
};

}  // namespace

std::span<const KvWorkload> KvWorkloads() { return kWorkloads; }

absl::StatusOr<const KvWorkload*> FindKvWorkload(std::string_view name) {
  std::string known;
  for (const KvWorkload& workload : kWorkloads) {
    if (workload.name == name) return &workload;
    known += (known.empty() ? "" : ", ") + std::string(workload.name);
  }
  return InvalidArgument("unknown workload '{}': one of {}", name, known);
}

}  // namespace latchkey
