// Operation lists, drawn from a seed alone. Every operation is valid after any other (a commit
// without a transaction does nothing), so every part of a list is a list.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace latchkey {

enum class ModelKind : uint8_t {
  kPut,
  kInsert,
  kDelete,
  kGet,
  kGetForUpdate,
  kScanForward,
  kScanBackward,
  kBatch,
  kBegin,
  kCommit,
  kRollback,
  kSavepoint,
  kRollbackTo,
  kOpenReader,   ///< a read-only snapshot beside everything that follows
  kCheckReader,  ///< compares it with the model of its time
  kReopen,
  kPowerLoss,
  kCheckpoint,
  kResizeCache,
  kDropTree,
  kVerify,
  kDeleteRange,
  kRenameTree,
  kLoadTree,  ///< a bulk load of what the tree holds, and of other records, takes its place
  kCompact,
};
inline constexpr int kModelKinds = static_cast<int>(ModelKind::kCompact) + 1;

/// The kind of keys of a list; each stresses a tree in another way.
enum class KeyShape : uint8_t {
  kUniform,
  kAscending,
  kDescending,
  kLongPrefixes,  ///< hundreds of shared bytes, up to the longest key
  kTiny,          ///< the empty key and short ones of a few byte values
  kBinary,        ///< random bytes of random length
  kGrowAndEmpty,  ///< phases that put, then phases that delete everything
};
inline constexpr int kKeyShapes = 7;

struct ModelOperation {
  ModelKind kind = ModelKind::kGet;
  uint8_t tree = 0;
  uint32_t key = 0;       ///< see KeyFor
  uint32_t argument = 0;  ///< bytes of a value, records of a scan, index of a savepoint
  uint64_t salt = 0;      ///< of the value's content
};

struct ModelList {
  uint64_t seed = 0;
  KeyShape shape = KeyShape::kUniform;
  std::vector<ModelOperation> operations;
};

inline constexpr int kModelTrees = 2;

ModelList MakeModelList(uint64_t seed, uint32_t size);
/// The key for number `key`.
std::string KeyFor(KeyShape shape, uint32_t key);
std::string ValueFor(const ModelOperation& operation);
std::string Describe(const ModelOperation& operation, KeyShape shape);

}  // namespace latchkey
