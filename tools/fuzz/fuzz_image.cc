// T6: a whole database and operations on it, mutated together. Input: one byte that chooses the
// image, then commands: an opcode byte and its arguments. Edits run first, wherever they are:
//   0 edit   file (1), offset (4), size (1), bytes
//   1 page   which page in use (1), offset (2), size (1), bytes
//   2 put    key number (1), size of the value (2)
//   3 delete key number (1)
//   4 get    key number (1)
//   5 scan   from key number (1)     6 verify     7 checkpoint     8 drop a tree     9 new tree
// After each edit the checksums over its bytes are recomputed, or no edit would pass them.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "engine/cursor_impl.h"
#include "engine/database_impl.h"
#include "engine/transaction_impl.h"
#include "layout/checkpoint/superblock.h"
#include "layout/geometry.h"
#include "storage/base/check.h"
#include "storage/base/hash.h"
#include "storage/base/rng.h"
#include "storage/page_format.h"
#include "storage/wal/log_format.h"
#include "tools/campaign/corruption/corruption_image.h"
#include "tools/campaign/shared/crash_database.h"
#include "tools/fuzz/fuzz_input.h"
#include "tools/fuzz/fuzz_reseal.h"
#include "tools/fuzz/fuzz_target.h"

namespace latchkey {

const char* const kFuzzTarget = "image";
uint64_t fuzz_accepted = 0;

namespace {

constexpr uint32_t kPage = kDefaultPageSize;
constexpr uint64_t kId = 1;
constexpr const char* kTree = "kept";
constexpr size_t kMostCommands = 64;
constexpr uint32_t kMostScanned = 100'000;  // far more than any image holds
enum Opcode : uint8_t {
  kEdit,
  kEditPage,
  kPut,
  kDelete,
  kGet,
  kScan,
  kVerify,
  kCheckpoint,
  kDrop,
  kNewTree,
  kOpcodes
};

struct Command {
  Opcode opcode = kEdit;
  uint8_t which = 0;  // file, page or key
  uint32_t number = 0;
  std::string_view bytes{};
};

struct Base {
  CorruptionImage image;
  std::vector<uint64_t> pages;  // offsets of tree and overflow pages in the data file
};

std::vector<uint64_t> PagesOf(const DiskImage& data) {
  std::vector<uint64_t> pages;
  PageHeader header;
  for (uint64_t at = kHeaderAreaBytes; at + kPage <= data.size(); at += kPage) {
    data.Read(at, std::as_writable_bytes(std::span(&header, 1)));
    if (header.page_type != 0 && header.page_type <= static_cast<uint8_t>(PageType::kOverflow)) {
      pages.push_back(at);
    }
  }
  return pages;
}

const Base& BaseOf(uint8_t choice) {
  static const std::vector<Base> kBases = [] {
    std::vector<Base> bases;
    for (const char* layout : {"overwrite", "hylog"}) {
      for (const ImageState state : {ImageState::kClosed, ImageState::kCrashed}) {
        auto image = MakeCorruptionImage(layout, state, 1);
        LATCHKEY_CHECK(image.ok());
        std::vector<uint64_t> pages = PagesOf(image->disks[kDataDisk]);
        bases.push_back({*std::move(image), std::move(pages)});
      }
    }
    return bases;
  }();
  return kBases[choice % kBases.size()];
}

std::vector<Command> TakeCommands(FuzzInput& input) {
  std::vector<Command> commands;
  while (!input.empty() && commands.size() < kMostCommands) {
    Command command{.opcode = static_cast<Opcode>(input.Take<uint8_t>() % kOpcodes)};
    if (command.opcode < kVerify) command.which = input.Take<uint8_t>();
    if (command.opcode == kEdit) command.number = input.Take<uint32_t>();
    if (command.opcode == kEditPage || command.opcode == kPut) {
      command.number = input.Take<uint16_t>();
    }
    if (command.opcode == kEdit || command.opcode == kEditPage) {
      const auto size = input.Take<uint8_t>();
      command.bytes = input.TakeBytes(size);
    }
    commands.push_back(command);
  }
  return commands;
}

void Edit(const Base& base, const Command& command, std::vector<DiskImage>& disks) {
  const auto bytes = std::as_bytes(std::span(command.bytes.data(), command.bytes.size()));
  uint32_t file = command.which % kImageDisks;
  uint64_t offset = command.number % std::max<uint64_t>(disks[file].size(), 1);
  if (command.opcode == kEditPage) {
    if (base.pages.empty()) return;
    file = kDataDisk;
    offset = base.pages[command.which % base.pages.size()] + command.number % kPage;
  }
  disks[file].Write(offset, bytes);
  if (file == kDataDisk) {
    ResealDataFile(kId, kPage, offset, bytes.size(), disks[file]);
  } else {
    ResealLog(kId, offset, bytes.size(), disks[file]);
  }
}

// ---- The operations.

std::string KeyOf(uint8_t number) { return fmt::format("key{:05}", number * 7919 % 100'000); }

class Operations {
 public:
  Operations(DatabaseImpl& db, const std::vector<Command>& commands)
      : db_(db), commands_(commands) {}

  void Run() {
    for (const Command& command : commands_) Do(command).IgnoreError();
  }

 private:
  absl::Status Do(const Command& command) {
    const auto tree = db_.OpenTree(kTree, /*create=*/command.opcode == kNewTree);
    switch (command.opcode) {
      case kVerify:
        return db_.Verify();
      case kCheckpoint:
        return db_.Checkpoint();
      case kDrop:
        return db_.DropTree("dropped");
      default:
        return tree.ok() ? DoToTree(**tree, command) : tree.status();
    }
  }

  absl::Status DoToTree(TreeImpl& tree, const Command& command) {
    const std::string key = KeyOf(command.which);
    std::string value;
    switch (command.opcode) {
      case kPut:
        value.assign(command.number % 20'000, 'v');
        return db_.RunTransaction([&](TransactionImpl& txn) { return txn.Put(tree, key, value); });
      case kDelete:
        return db_.RunTransaction([&](TransactionImpl& txn) { return txn.Delete(tree, key); });
      case kGet:
        return db_.Get(tree, key, &value);
      case kScan:
        return Scan(tree, key);
      default:
        return absl::OkStatus();
    }
  }

  absl::Status Scan(TreeImpl& tree, const std::string& from) {
    const std::unique_ptr<TransactionImpl> txn = db_.Begin({.read_only = true});
    CursorImpl cursor(*txn, &tree, {});
    uint32_t seen = 0;
    for (cursor.Seek(from); cursor.Valid(); cursor.Next()) {
      LATCHKEY_CHECK(++seen < kMostScanned);
    }
    for (cursor.SeekToLast(), seen = 0; cursor.Valid(); cursor.Prev()) {
      LATCHKEY_CHECK(++seen < kMostScanned);
    }
    return cursor.status();
  }

  DatabaseImpl& db_;
  const std::vector<Command>& commands_;
};

void OpenAndRun(const Base& base, const std::vector<DiskImage>& disks,
                const std::vector<Command>& commands) {
  CrashMachine machine(disks, base.image.seed, /*record=*/false, /*simulated=*/true);
  const DatabaseSubject subject({.layout = base.image.layout, .cleaners = 0});
  const absl::Status ran = machine.RunInside([&] {
    const auto db = subject.Open(base.image.seed, machine, /*create=*/false);
    if (!db.ok()) {
      LATCHKEY_CHECK(!db.status().message().empty());
      return absl::OkStatus();
    }
    ++fuzz_accepted;
    Operations(**db, commands).Run();
    (*db)->Close().IgnoreError();
    return absl::OkStatus();
  });
  LATCHKEY_CHECK(ran.ok());  // no actor waits for ever
}

// ---- Seeds.

void PutCommand(Opcode opcode, uint8_t which, std::string* out) {
  PutValue(opcode, out);
  if (opcode < kVerify) PutValue(which, out);
}

/// A few operations of each kind, after `edits` small edits.
std::string Seed(uint8_t base, uint32_t edits) {
  Rng rng(base * 100 + edits);
  std::string seed(1, static_cast<char>(base));
  for (uint32_t i = 0; i < edits; ++i) {
    const bool in_page = rng.Below(3) != 0;
    PutCommand(in_page ? kEditPage : kEdit, static_cast<uint8_t>(rng.Next()), &seed);
    if (in_page) {
      PutValue(static_cast<uint16_t>(rng.Below(rng.Below(2) == 0 ? 96 : kPage)), &seed);
    } else {
      PutValue(static_cast<uint32_t>(rng.Next()), &seed);
    }
    PutValue(uint8_t{2}, &seed);
    PutValue(static_cast<uint16_t>(rng.Next()), &seed);
  }
  for (int i = 0; i < 12; ++i) {
    const auto opcode = static_cast<Opcode>(kPut + rng.Below(kOpcodes - kPut));
    PutCommand(opcode, static_cast<uint8_t>(rng.Next()), &seed);
    if (opcode == kPut) PutValue(static_cast<uint16_t>(rng.Below(6000)), &seed);
  }
  return seed;
}

}  // namespace

std::vector<std::string> FuzzSeeds() {
  std::vector<std::string> seeds;
  for (uint8_t base = 0; base < 4; ++base) {
    for (const uint32_t edits : {0, 1, 2, 6}) seeds.push_back(Seed(base, edits));
  }
  return seeds;
}

}  // namespace latchkey

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace latchkey;  // NOLINT(build/namespaces): an entry point outside of it
  FuzzInput input(data, size);
  const Base& base = BaseOf(input.Take<uint8_t>());
  const std::vector<Command> commands = TakeCommands(input);
  std::vector<DiskImage> disks = base.image.disks;
  for (const Command& command : commands) {
    if (command.opcode == kEdit || command.opcode == kEditPage) Edit(base, command, disks);
  }
  OpenAndRun(base, disks, commands);
  return 0;
}
