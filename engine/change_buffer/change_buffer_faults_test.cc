// A database with a change buffer, on a device that stops taking writes.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "engine/database_impl.h"
#include "engine/testing/testing_database.h"
#include "layout/testing/failing_writes.h"
#include "layout/testing/store_on_memory.h"
#include "storage/base/rng.h"
#include "storage/base/sanitizers.h"

namespace latchkey::change_buffer_faults_test {
namespace {

constexpr uint64_t kRecords = kSanitizer ? 20'000 : 40'000;

std::string KeyOf(uint64_t n) { return fmt::format("{:08}", n); }
std::string ValueOf(uint64_t n) { return fmt::format("{}: {}", n, std::string(60 + n % 20, 'v')); }

std::unique_ptr<DatabaseImpl> Open(std::shared_ptr<FailingWrites> data) {
  DatabaseDevices devices;
  devices.data = std::make_unique<ForwardingDevice>(std::move(data));
  devices.log = std::make_unique<ForwardingDevice>(NewTestDevice());
  devices.journal = std::make_unique<ForwardingDevice>(NewTestDevice());
  Options options;
  options.cache_bytes = kSanitizer ? 2 << 20 : 4 << 20;
  options.techniques.change_buffer_bytes = options.cache_bytes / 4;
  options.durability = Durability::kGroup;
  auto db = DatabaseImpl::OpenOverDevices(ThreadRuntime(), std::move(devices), options);
  INFO(db.status());
  REQUIRE(db.ok());
  return *std::move(db);
}

// Each leaf that a reader brought in took its waiting puts, so its frame became dirty. The device took
// no writes, so the frame stayed dirty. Soon all frames were, and no further page could be read.
TEST_CASE(
    "Once the device takes no more writes, every record can still be read beside waiting puts") {
  const auto data = std::make_shared<FailingWrites>(NewTestDevice());
  const std::unique_ptr<DatabaseImpl> db = Open(data);
  TreeImpl& tree = **db->OpenTree("tree", /*create=*/true);
  Rng rng(11);
  std::set<uint64_t> put;
  for (uint64_t i = 0; i < 2 * kRecords; ++i) {
    const uint64_t n = rng.Below(4 * kRecords);
    REQUIRE_OK(db->Put(tree, KeyOf(n), ValueOf(n)));
    put.insert(n);
  }
  REQUIRE(db->GetStatistics().change_buffer_puts > 1000);
  // Makes some frames clean. Without any no page can be read later.
  for (uint64_t n = 0; n < kRecords; ++n) {
    std::string value;
    db->Get(tree, KeyOf(n), &value).IgnoreError();
  }
  data->fail_writes = true;
  for (bool writable = true; writable;) {
    const uint64_t n = rng.Below(4 * kRecords);
    writable = db->Put(tree, KeyOf(n), ValueOf(n)).ok();
    put.insert(n);
    if (!writable) put.erase(n);  // its outcome is unknown
  }
  for (int round = 0; round < 2; ++round) {
    for (const uint64_t n : put) {
      std::string value;
      const absl::Status got = db->Get(tree, KeyOf(n), &value);
      INFO(n << " in round " << round << ": " << got.message());
      REQUIRE(got.ok());
      REQUIRE(value == ValueOf(n));
    }
  }
  CHECK_FALSE(db->Close().ok());
}

}  // namespace
}  // namespace latchkey::change_buffer_faults_test
