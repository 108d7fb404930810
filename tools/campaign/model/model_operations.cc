#include "tools/campaign/model/model_operations.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <string_view>

#include "engine/latchkey.h"
#include "storage/base/hash.h"
#include "storage/base/rng.h"

namespace latchkey {
namespace {

struct Weight {
  ModelKind kind;
  uint32_t weight;  // of 100,000
};
constexpr std::array kWeights = {
    Weight{ModelKind::kPut, 34000},         Weight{ModelKind::kInsert, 5000},
    Weight{ModelKind::kDelete, 12000},      Weight{ModelKind::kGet, 24500},
    Weight{ModelKind::kGetForUpdate, 2000}, Weight{ModelKind::kScanForward, 3000},
    Weight{ModelKind::kScanBackward, 3000}, Weight{ModelKind::kBatch, 1000},
    Weight{ModelKind::kBegin, 4500},        Weight{ModelKind::kCommit, 3500},
    Weight{ModelKind::kRollback, 1500},     Weight{ModelKind::kSavepoint, 3000},
    Weight{ModelKind::kRollbackTo, 2000},   Weight{ModelKind::kOpenReader, 300},
    Weight{ModelKind::kCheckReader, 600},   Weight{ModelKind::kReopen, 12},
    Weight{ModelKind::kPowerLoss, 60},      Weight{ModelKind::kCheckpoint, 40},
    Weight{ModelKind::kResizeCache, 30},    Weight{ModelKind::kDropTree, 10},
    Weight{ModelKind::kVerify, 8},          Weight{ModelKind::kDeleteRange, 80},
    Weight{ModelKind::kRenameTree, 20},     Weight{ModelKind::kLoadTree, 10},
    Weight{ModelKind::kCompact, 8},
};

ModelKind PickKind(Rng& rng) {
  uint32_t total = 0;
  for (const Weight& weight : kWeights) total += weight.weight;
  auto at = static_cast<uint32_t>(rng.Below(total));
  for (const Weight& weight : kWeights) {
    if (at < weight.weight) return weight.kind;
    at -= weight.weight;
  }
  return ModelKind::kGet;
}

uint32_t PickValueSize(Rng& rng) {
  const uint64_t dice = rng.Below(1000);
  if (dice < 100) return 0;
  if (dice < 960) return static_cast<uint32_t>(rng.Below(150));
  if (dice < 990) return static_cast<uint32_t>(rng.Below(1500));
  if (dice < 999) return static_cast<uint32_t>(rng.Below(9000));
  return static_cast<uint32_t>(rng.Below(60000));
}

uint32_t PickKey(Rng& rng, KeyShape shape, ModelKind kind, uint32_t at, uint32_t keys) {
  const bool writes = kind == ModelKind::kPut || kind == ModelKind::kInsert;
  switch (shape) {
    case KeyShape::kAscending:
    case KeyShape::kDescending:
      // New keys at one end; other operations use any key written so far.
      return writes && rng.Below(4) != 0 ? at : static_cast<uint32_t>(rng.Below(at + 1));
    case KeyShape::kTiny:
      return static_cast<uint32_t>(rng.Below(400));
    default:
      return static_cast<uint32_t>(rng.Below(keys));
  }
}

}  // namespace

ModelList MakeModelList(uint64_t seed, uint32_t size) {
  Rng rng(seed);
  ModelList list;
  list.seed = seed;
  list.shape = static_cast<KeyShape>(seed % kKeyShapes);
  const auto keys = static_cast<uint32_t>(rng.Below(2) == 0 ? 300 : 3000);
  const uint32_t phase = std::max(1u, size / 6);
  for (uint32_t i = 0; i < size; ++i) {
    ModelOperation operation;
    operation.kind = PickKind(rng);
    if (list.shape == KeyShape::kGrowAndEmpty) {
      const bool emptying = i / phase % 2 == 1;
      if (emptying && operation.kind == ModelKind::kPut) operation.kind = ModelKind::kDelete;
      if (!emptying && operation.kind == ModelKind::kDelete) operation.kind = ModelKind::kPut;
    }
    operation.tree = static_cast<uint8_t>(rng.Below(8) == 0 ? 1 : 0);
    operation.key = PickKey(rng, list.shape, operation.kind, i, keys);
    const bool scans =
        operation.kind == ModelKind::kScanForward || operation.kind == ModelKind::kScanBackward;
    operation.argument = scans ? static_cast<uint32_t>(rng.Below(rng.Below(20) == 0 ? 400 : 20))
                               : PickValueSize(rng);
    operation.salt = rng.Next();
    list.operations.push_back(operation);
  }
  return list;
}

std::string KeyFor(KeyShape shape, uint32_t key) {
  switch (shape) {
    case KeyShape::kUniform:
    case KeyShape::kAscending:
    case KeyShape::kGrowAndEmpty:
      return fmt::format("key{:08}", key);
    case KeyShape::kDescending:
      return fmt::format("key{:08}", 99'999'999 - key);
    case KeyShape::kLongPrefixes: {
      // Few prefixes of very different lengths; every seventh key has the maximal length.
      std::string text(100 + key % 5 * 180, static_cast<char>('p' + key % 3));
      text += fmt::format("{:06}", key);
      if (key % 7 == 0) text.resize(Database::kMaxKeySize, 'z');
      return text;
    }
    case KeyShape::kTiny: {
      static constexpr char kBytes[] = {'\0', '\xff', 'a', 'b', 'c', '\x7f', '\x80'};
      std::string text;
      for (uint32_t rest = key; rest != 0; rest /= 8) {
        if (rest % 8 != 7) text += kBytes[rest % 8];
      }
      return text;
    }
    case KeyShape::kBinary: {
      Rng rng(key);
      std::string text(rng.Below(rng.Below(10) == 0 ? Database::kMaxKeySize + 1 : 40), '\0');
      for (char& c : text) c = static_cast<char>(rng.Next());
      return text;
    }
  }
  return {};
}

std::string ValueFor(const ModelOperation& operation) {
  std::string value(operation.argument, '\0');
  uint64_t word = operation.salt;
  for (size_t at = 0; at < value.size(); at += sizeof(word)) {
    std::memcpy(value.data() + at, &word, std::min(sizeof(word), value.size() - at));
    word = MixHash(word + 1);
  }
  return value;
}

std::string Describe(const ModelOperation& operation, KeyShape shape) {
  static constexpr std::string_view kNames[] = {
      "put",          "insert",        "delete",      "get",          "get-for-update",
      "scan-forward", "scan-backward", "batch",       "begin",        "commit",
      "rollback",     "savepoint",     "rollback-to", "open-reader",  "check-reader",
      "reopen",       "power-loss",    "checkpoint",  "resize-cache", "drop-tree",
      "verify",       "delete-range",  "rename-tree", "load-tree",    "compact"};
  static_assert(std::size(kNames) == kModelKinds);
  std::string shown;
  for (const char c : KeyFor(shape, operation.key).substr(0, 24)) {
    const bool plain = c >= 0x20 && c < 0x7f && c != '\\';
    shown += plain ? std::string(1, c) : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return fmt::format("{} tree {} key {} ({}) argument {}",
                     kNames[static_cast<size_t>(operation.kind)], operation.tree, operation.key,
                     shown, operation.argument);
}

}  // namespace latchkey
