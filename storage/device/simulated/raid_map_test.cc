#include "storage/device/simulated/raid_map.h"

#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <vector>

#include "storage/base/rng.h"

namespace latchkey::raid_map_test {
namespace {

using Op = IoRequest::Op;

constexpr uint64_t kUnit = 16384;
constexpr uint64_t kPage = 4096;

RaidPlan Plan(const RaidMap& map, Op op, uint64_t offset, uint64_t length) {
  return map.Plan({.op = op, .offset = offset, .length = length});
}

size_t Count(const std::vector<DiskIo>& ios, Op op) {
  size_t count = 0;
  for (const DiskIo& io : ios) count += io.op == op;
  return count;
}

std::set<uint32_t> DisksOf(const std::vector<DiskIo>& ios) {
  std::set<uint32_t> disks;
  for (const DiskIo& io : ios) disks.insert(io.disk);
  return disks;
}

TEST_CASE("A small write on RAID-5 is four I/Os on two disks, the reads before the writes") {
  for (const uint32_t disks : {3, 4, 9}) {
    const RaidMap map(RaidLevel::kRaid5, disks, kUnit);
    for (uint64_t page = 0; page < 8 * disks; ++page) {
      const RaidPlan plan = Plan(map, Op::kWrite, page * kPage, kPage);
      REQUIRE(plan.first.size() == 2);
      REQUIRE(Count(plan.first, Op::kRead) == 2);
      REQUIRE(Count(plan.second, Op::kWrite) == 2);
      REQUIRE(DisksOf(plan.first).size() == 2);
      REQUIRE(DisksOf(plan.first) == DisksOf(plan.second));
      for (const DiskIo& io : plan.second) REQUIRE(io.length == kPage);
    }
  }
}

TEST_CASE("A write of a full stripe on RAID-5 is one write per disk and reads nothing") {
  const RaidMap map(RaidLevel::kRaid5, 4, kUnit);
  for (const uint64_t rows : {1, 2, 5}) {
    const RaidPlan plan = Plan(map, Op::kWrite, 3 * kUnit, rows * 3 * kUnit);
    CHECK(plan.second.empty());
    REQUIRE(plan.first.size() == 4);
    CHECK(Count(plan.first, Op::kWrite) == 4);
    CHECK(DisksOf(plan.first).size() == 4);
    for (const DiskIo& io : plan.first) CHECK(io.length == rows * kUnit);
  }
}

TEST_CASE("A write of more than half of a RAID-5 row reads the rest instead of the old content") {
  const RaidMap map(RaidLevel::kRaid5, 6, kUnit);  // five data disks
  const RaidPlan half = Plan(map, Op::kWrite, 0, 2 * kUnit);
  CHECK(half.first.size() == 3);  // two old units and the old parity
  CHECK(half.second.size() == 3);
  const RaidPlan most = Plan(map, Op::kWrite, 0, 4 * kUnit);
  CHECK(most.first.size() == 1);  // the fifth unit
  CHECK(most.second.size() == 5);
  CHECK(Plan(map, Op::kWrite, 0, 5 * kUnit).first.size() == 6);
}

TEST_CASE(
    "Every disk of RAID-5 holds the parity of as many rows, and a page has a place of its own") {
  for (const RaidLevel level : {RaidLevel::kRaid0, RaidLevel::kRaid5}) {
    const RaidMap map(level, 5, kUnit);
    const uint64_t pages = 10 * map.data_disks() * kUnit / kPage;  // ten rows
    std::set<std::pair<uint32_t, uint64_t>> places;
    std::map<uint32_t, uint64_t> on_disk;
    for (uint64_t page = 0; page < pages; ++page) {
      const RaidPlan plan = Plan(map, Op::kRead, page * kPage, kPage);
      REQUIRE(plan.first.size() == 1);
      places.emplace(plan.first[0].disk, plan.first[0].offset);
      ++on_disk[plan.first[0].disk];
    }
    CHECK(places.size() == pages);
    for (const auto& [disk, count] : on_disk) CHECK(count == pages / 5);
  }
}

TEST_CASE("The single-disk I/O of a request covers it once, and parity lies beside the data") {
  Rng rng(42);
  for (int round = 0; round < 2000; ++round) {
    const auto level = static_cast<RaidLevel>(rng.Below(2));
    const RaidMap map(level, static_cast<uint32_t>(3 + rng.Below(5)), 512 << rng.Below(4));
    const uint64_t offset = rng.Below(200) * 512, length = (1 + rng.Below(100)) * 512;
    uint64_t read = 0;
    for (const DiskIo& io : Plan(map, Op::kRead, offset, length).first) read += io.length;
    REQUIRE(read == length);
    const RaidPlan plan = Plan(map, Op::kWrite, offset, length);
    uint64_t written = 0;
    for (const std::vector<DiskIo>* ios : {&plan.first, &plan.second}) {
      for (const DiskIo& io : *ios) written += io.op == Op::kWrite ? io.length : 0;
    }
    if (level == RaidLevel::kRaid0) {
      REQUIRE(written == length);
    } else {
      REQUIRE(written > length);
      REQUIRE(written <= 2 * length + 2 * map.unit_bytes());
    }
  }
}

}  // namespace
}  // namespace latchkey::raid_map_test
