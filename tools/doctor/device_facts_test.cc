#include "tools/doctor/device_facts.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "storage/base/testing/temp_dir.h"

namespace latchkey::device_facts_test {
namespace {

TEST_CASE("The mount of a device number has its type, source and both kinds of options") {
  const std::string_view text =
      "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,errors=remount-ro\n"
      "30 22 8:17 / /data rw - xfs /dev/sdb1 rw,nobarrier\n"
      "31 22 0:40 / /mem rw,nosuid - tmpfs tmpfs rw,size=1g\n"
      "broken line\n";
  CHECK(FindMount(text, 8, 1).file_system == "ext4");
  CHECK(FindMount(text, 8, 17).source == "/dev/sdb1");
  CHECK(FindMount(text, 8, 17).has("nobarrier"));
  CHECK_FALSE(FindMount(text, 8, 17).has("barrier"));
  CHECK(FindMount(text, 0, 40).has("nosuid"));
  CHECK(FindMount(text, 0, 40).has("size=1g"));
  CHECK(FindMount(text, 9, 9).file_system.empty());
}

void Write(const std::filesystem::path& path, const char* text) {
  std::ofstream(path) << text << '\n';
}

TEST_CASE("A partition has the queue of its disk, and what sysfs lacks is not known") {
  const TempDir directory;
  const std::filesystem::path disk = std::filesystem::path(directory.path()) / "sdx";
  std::filesystem::create_directories(disk / "queue");
  std::filesystem::create_directories(disk / "sdx1");
  BlockQueueFacts facts = ReadBlockQueue((disk / "sdx1").string());
  CHECK(facts.name == "sdx");
  CHECK_FALSE(facts.rotational.has_value());
  CHECK_FALSE(facts.has_volatile_cache.has_value());
  Write(disk / "queue/rotational", "1");
  Write(disk / "queue/write_cache", "write back");
  Write(disk / "queue/atomic_write_unit_max_bytes", "0");
  facts = ReadBlockQueue((disk / "sdx1").string());
  CHECK(facts.rotational == true);
  CHECK(facts.has_volatile_cache == true);
  CHECK_FALSE(facts.atomic_write_bytes.has_value());
  Write(disk / "queue/write_cache", "write through");
  Write(disk / "queue/atomic_write_unit_max_bytes", "16384");
  facts = ReadBlockQueue(disk.string());
  CHECK(facts.has_volatile_cache == false);
  CHECK(facts.atomic_write_bytes == 16384);
  CHECK(ReadBlockQueue((disk / "missing").string()).name.empty());
}

}  // namespace
}  // namespace latchkey::device_facts_test
