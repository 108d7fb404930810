#include "engine/log/log_health.h"

#include <catch2/catch.hpp>

#include "engine/log/testing/memory_log.h"

namespace latchkey::log_health_test {
namespace {

struct Store {
  MemoryLog log{ThreadRuntime()};
  absl::Status pages;
  LogHealth health{log, [this] { return pages; }};
};

TEST_CASE("Asking whether anything can still be logged changes nothing") {
  Store store;
  store.pages = absl::UnavailableError("pages cannot be written");
  CHECK(store.health.CheckWritable() == store.pages);
  CHECK(!store.log.poisoned());
  CHECK(!store.health.failed());
  store.pages = absl::OkStatus();
  CHECK(store.health.CheckWritable().ok());
}

TEST_CASE("Once pages cannot be written, the log ends with them and stays so") {
  Store store;
  CHECK(store.health.FailUnlessWritable().ok());
  CHECK(!store.log.poisoned());
  store.pages = absl::UnavailableError("pages cannot be written");
  CHECK(store.health.FailUnlessWritable() == store.pages);
  CHECK(store.log.poisoned());
  store.pages = absl::OkStatus();
  CHECK(absl::IsUnavailable(store.health.CheckWritable()));
}

TEST_CASE("A failure that was noted outlasts a log that goes on") {
  Store store;
  store.health.SetFailed();
  CHECK(!store.log.poisoned());
  CHECK(!store.health.is_writable());
  CHECK(absl::IsUnavailable(store.health.CheckWritable()));
}

}  // namespace
}  // namespace latchkey::log_health_test
