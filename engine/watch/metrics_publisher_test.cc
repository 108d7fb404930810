#include "engine/watch/metrics_publisher.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "engine/testing/testing_database.h"
#include "storage/runtime/simulated_runtime.h"

namespace latchkey::metrics_publisher_test {
namespace {

namespace fs = std::filesystem;

std::string Content(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST_CASE("the file has the text of the last second, and is gone at the end") {
  const TempDir dir;
  const std::string path = dir.File("metrics.prom");
  SimulatedRuntime runtime;
  const absl::Status ran = runtime.Run([&] {
    int number = 0;
    auto publisher =
        MetricsPublisher::Start(runtime, path, [&] { return std::to_string(++number) + "\n"; }, {});
    REQUIRE_OK(publisher.status());
    CHECK(Content(path) == "1\n");
    runtime.SleepFor(3 * kNanosPerSecond + kNanosPerMilli);
    CHECK(Content(path) == "4\n");
    CHECK_FALSE(fs::exists(path + ".partial"));
    publisher->reset();
    CHECK_FALSE(fs::exists(path));
  });
  CHECK(ran.ok());
}

TEST_CASE("a file that cannot be written is refused at once, later it is one warning") {
  const TempDir dir;
  SimulatedRuntime runtime;
  const absl::Status ran = runtime.Run([&] {
    const auto text = [] { return std::string("x"); };
    const absl::Status refused =
        MetricsPublisher::Start(runtime, dir.File("none/m"), text, {}).status();
    CHECK(absl::IsUnavailable(refused));
    CHECK(refused.message().find("none/m.partial") != std::string_view::npos);

    fs::create_directory(dir.File("there"));
    std::vector<std::string> warnings;
    auto publisher = MetricsPublisher::Start(
        runtime, dir.File("there/m"), text,
        LogSink([&](LogLevel, std::string_view message) { warnings.emplace_back(message); }));
    REQUIRE_OK(publisher.status());
    fs::rename(dir.File("there"), dir.File("moved"));
    runtime.SleepFor(5 * kNanosPerSecond);
    CHECK(warnings.size() == 1);
    fs::rename(dir.File("moved"), dir.File("there"));
    runtime.SleepFor(2 * kNanosPerSecond);
    CHECK(fs::exists(dir.File("there/m")));
    CHECK(warnings.size() == 1);
  });
  CHECK(ran.ok());
}

TEST_CASE("a database publishes its metrics while it is open, in the format of the file's name") {
  const TempDir dir;
  for (const std::string name : {"m.json", "m.prom"}) {
    Options options;
    options.metrics_path = dir.File(name);
    auto db = OpenOrFail(dir.File("db"), options);
    const std::string text = Content(options.metrics_path);
    CHECK(text.starts_with(name == "m.json" ? "{\"written_at\":" : "# HELP latchkey_"));
    REQUIRE_OK(db->Put(TreeOrFail(*db, "t"), "k", "v"));
    REQUIRE_OK(db->Close());
    CHECK_FALSE(fs::exists(options.metrics_path));
  }
  Options options;
  options.metrics_path = dir.File("no/parent");
  CHECK(absl::IsUnavailable(Database::Open(dir.File("db"), options).status()));
  options.metrics_path.clear();
  OpenOrFail(dir.File("db"), options);  // the refused open has left it closed
}

}  // namespace
}  // namespace latchkey::metrics_publisher_test
