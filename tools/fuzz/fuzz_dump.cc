// T4: dumps, text and binary. Input: one byte of flags, then the dump. Flag 1: the checksums of
// header and blocks are recomputed, so that mutations pass them.
#include <cstring>
#include <string>

#include "storage/base/check.h"
#include "storage/base/hash.h"
#include "storage/base/rng.h"
#include "tools/cli/db_dump_format.h"
#include "tools/cli/db_dump_internal.h"
#include "tools/fuzz/fuzz_input.h"
#include "tools/fuzz/fuzz_target.h"

namespace latchkey {

const char* const kFuzzTarget = "dump";
uint64_t fuzz_accepted = 0;

namespace {

/// Counts again the records that the reader reports.
class Recount final : public DumpVisitor {
 public:
  absl::Status OnTree(std::string_view name) override {
    again.AddTree(name);
    return absl::OkStatus();
  }
  absl::Status OnRecord(std::string_view key, std::string_view value) override {
    LATCHKEY_CHECK(key.size() <= Database::kMaxKeySize);
    again.AddRecord(key, value);
    return absl::OkStatus();
  }
  DumpSummary again;
};

void Reseal(std::string& bytes) {
  if (bytes.size() < dump::kBinaryHeaderSize || !bytes.starts_with(dump::kBinaryMagic)) return;
  const uint64_t header = Hash64(bytes.data(), 16);
  std::memcpy(bytes.data() + 16, &header, sizeof(header));
  size_t at = dump::kBinaryHeaderSize;
  for (uint64_t number = 0; at + dump::kBlockHeaderSize <= bytes.size(); ++number) {
    uint32_t size = 0, kind = 0;
    std::memcpy(&size, bytes.data() + at, sizeof(size));
    std::memcpy(&kind, bytes.data() + at + 4, sizeof(kind));
    const std::string_view rest = std::string_view(bytes).substr(at + dump::kBlockHeaderSize);
    if (size > rest.size()) return;
    const uint64_t checksum = dump::BlockChecksum(number, kind, rest.substr(0, size));
    std::memcpy(bytes.data() + at + 8, &checksum, sizeof(checksum));
    at += dump::kBlockHeaderSize + size;
  }
}

std::string SoundDump(DumpForm form, uint32_t trees) {
  StringSink sink;
  auto writer = NewDumpWriter(form, sink);
  LATCHKEY_CHECK(writer.ok());
  Rng rng(trees);
  for (uint32_t tree = 0; tree < trees; ++tree) {
    LATCHKEY_CHECK((*writer)->Tree("tree" + std::to_string(tree)).ok());
    for (int i = 0; i < 20; ++i) {
      const std::string key = std::to_string(rng.Next()), value(rng.Below(60), '\t');
      LATCHKEY_CHECK((*writer)->Record(key, value).ok());
    }
  }
  LATCHKEY_CHECK((*writer)->Finish().ok());
  return sink.bytes();
}

}  // namespace

std::vector<std::string> FuzzSeeds() {
  std::vector<std::string> seeds;
  for (const DumpForm form : {DumpForm::kText, DumpForm::kBinary}) {
    for (const uint32_t trees : {0, 1, 3}) {
      for (const char flags : {'\0', '\1'}) seeds.push_back(flags + SoundDump(form, trees));
    }
  }
  seeds.push_back(std::string(1, '\0') +
                  "latchkey-dump text 1\n# by hand\n\ntree a\\x00b\n=k\\\\\tv\\xff\ncheck -\n"
                  "tree b\nend - - -\n");
  return seeds;
}

}  // namespace latchkey

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using latchkey::fuzz_accepted;
  latchkey::FuzzInput input(data, size);
  const auto flags = input.Take<uint8_t>();
  std::string bytes(input.TakeBytes(size));
  if ((flags & 1) != 0) latchkey::Reseal(bytes);
  latchkey::StringSource source(bytes);
  latchkey::Recount recount;
  uint64_t last = 0;
  const auto summary = latchkey::ReadDump(source, recount, [&](uint64_t position) {
    LATCHKEY_CHECK(position >= last && position <= bytes.size());
    last = position;
    return absl::OkStatus();
  });
  if (!summary.ok()) {
    LATCHKEY_CHECK(!summary.status().message().empty());
    return 0;
  }
  LATCHKEY_CHECK(*summary == recount.again);
  ++fuzz_accepted;
  return 0;
}
