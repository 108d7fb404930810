// T1: superblocks, and the open after reading one. Input: one byte of flags, then one superblock.
//   flag 1: its checksum is recomputed       flag 2: opened with a map journal
//   flag 4: of a file that was not closed    flags 16..128: which of the four copies it replaces
#include <cstring>
#include <memory>
#include <utility>

#include "layout/checkpoint/superblock.h"
#include "layout/segment_store.h"
#include "storage/base/check.h"
#include "storage/base/hash.h"
#include "storage/device/aligned_buffer.h"
#include "storage/device/faulty/crash_recorder.h"
#include "storage/page_format.h"
#include "tools/fuzz/fuzz_input.h"
#include "tools/fuzz/fuzz_target.h"

namespace latchkey {

const char* const kFuzzTarget = "superblock";
uint64_t fuzz_accepted = 0;

namespace {

constexpr uint64_t kId = 0x1234;
constexpr uint32_t kPages = 40;

SegmentStoreOptions StoreOptions(bool create) {
  SegmentStoreOptions options;
  options.mode = create ? SegmentStoreOptions::Mode::kCreate : SegmentStoreOptions::Mode::kOpen;
  options.layout = Layouts().Named("hylog");
  options.segment_size = create ? 64 << 10 : 0;
  options.reserve_bytes = 0;
  options.journal_segment_bytes = 8 << 10;
  options.database_id = kId;
  options.assumed_costs =
      PageCosts{.page_write_ns = 8000, .segment_write_ns = 1000, .segment_read_ns = 4000};
  return options;
}

/// The disks of a store: data and journal.
struct Disks {
  DiskImage data, journal;
};

void WritePages(PageStore& store) {
  auto writer = store.NewWriter(8);
  LATCHKEY_CHECK(writer.ok());
  AlignedBuffer page(store.page_size());
  for (uint32_t i = 0; i < kPages; ++i) {
    const auto id = store.AllocatePage();
    LATCHKEY_CHECK(id.ok());
    std::memset(page.data() + kPageHeaderSize, static_cast<int>(i), 100);
    const PageWrite write{.id = *id, .data = page.data()};
    size_t accepted = 0;
    LATCHKEY_CHECK((*writer)->Submit({&write, 1}, &accepted).ok());
  }
  LATCHKEY_CHECK((*writer)->Wait(0).ok());
  LATCHKEY_CHECK(store.Flush().ok());
}

/// A store with a few pages, closed or not.
Disks MakeDisks(bool closed) {
  CrashRecorder recorder(ThreadRuntime(), {.record = false});
  recorder.AddDisk("data");
  recorder.AddDisk("journal");
  {
    auto opened = OpenSegmentStore(ThreadRuntime(), recorder.Open(0), recorder.Open(1),
                                   StoreOptions(/*create=*/true));
    LATCHKEY_CHECK(opened.ok());
    PageStore& store = *opened->store;
    WritePages(store);
    const std::vector<std::byte> root(64, std::byte{7});
    LATCHKEY_CHECK(store.Checkpoint(root, /*clean=*/false).ok());
    WritePages(store);
    if (closed) LATCHKEY_CHECK(store.Checkpoint(root, /*clean=*/true).ok());
  }
  return {recorder.content(0), recorder.content(1)};
}

const Disks& DisksOf(bool closed) {
  static const Disks kClosed = MakeDisks(true), kCrashed = MakeDisks(false);
  return closed ? kClosed : kCrashed;
}

void ReadEveryPage(PageStore& store) {
  AlignedBuffer page(store.page_size());
  for (uint64_t id = 0; id < std::min<uint64_t>(store.page_id_limit(), 256); ++id) {
    store.ReadPage(PageId{id}, page.data()).IgnoreError();
  }
}

}  // namespace

std::vector<std::string> FuzzSeeds() {
  std::vector<std::string> seeds;
  for (const bool closed : {true, false}) {
    for (const uint64_t offset : {SuperblockOffset(0, 0), SuperblockOffset(1, 0)}) {
      std::vector<std::byte> block(kSuperblockSize);
      DisksOf(closed).data.Read(offset, block);
      for (const int journal : {0, 2}) {
        const char flags = static_cast<char>(0xf1 | journal | (closed ? 0 : 4));
        seeds.push_back(flags +
                        std::string(reinterpret_cast<const char*>(block.data()), block.size()));
      }
    }
  }
  return seeds;
}

}  // namespace latchkey

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace latchkey;  // NOLINT(build/namespaces): an entry point outside of it
  FuzzInput input(data, size);
  const auto flags = input.Take<uint8_t>();
  SuperblockLayout block;
  input.Fill(std::as_writable_bytes(std::span(&block, 1)));
  if ((flags & 1) != 0) {
    block.checksum = 0;
    block.checksum = Hash64(&block, sizeof(block));
  }
  const Disks& sound = DisksOf((flags & 4) == 0);
  DiskImage image = sound.data;
  for (uint64_t i = 0; i < 4; ++i) {
    if ((flags & (16u << i)) == 0) continue;
    image.Write(SuperblockOffset(i / 2, static_cast<int>(i % 2)),
                std::as_bytes(std::span(&block, 1)));
  }
  CrashRecorder recorder(ThreadRuntime(), {.record = false});
  recorder.AddDisk("data", image);
  recorder.AddDisk("journal", sound.journal);
  const auto opened = OpenSegmentStore(ThreadRuntime(), recorder.Open(0),
                                       (flags & 2) != 0 ? recorder.Open(1) : nullptr,
                                       StoreOptions(/*create=*/false));
  LATCHKEY_CHECK(opened.ok() || !opened.status().message().empty());
  if (!opened.ok()) return 0;
  ++fuzz_accepted;
  ReadEveryPage(*opened->store);
  return 0;
}
