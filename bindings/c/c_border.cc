#include "bindings/c/c_border.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <type_traits>

namespace latchkey::c {

constinit Databases databases;
constinit Transactions transactions;
constinit Cursors cursors;
constinit Batches batches;
constinit OptionSets option_sets;
constinit StatisticLists statistic_lists;
constinit NameLists name_lists;
constinit BulkLoaders bulk_loaders;
constinit BackupLists backup_lists;

static_assert(LK_CANCELLED == static_cast<int>(absl::StatusCode::kCancelled));
static_assert(LK_UNKNOWN == static_cast<int>(absl::StatusCode::kUnknown));
static_assert(LK_INVALID_ARGUMENT == static_cast<int>(absl::StatusCode::kInvalidArgument));
static_assert(LK_NOT_FOUND == static_cast<int>(absl::StatusCode::kNotFound));
static_assert(LK_ALREADY_EXISTS == static_cast<int>(absl::StatusCode::kAlreadyExists));
static_assert(LK_PERMISSION_DENIED == static_cast<int>(absl::StatusCode::kPermissionDenied));
static_assert(LK_RESOURCE_EXHAUSTED == static_cast<int>(absl::StatusCode::kResourceExhausted));
static_assert(LK_FAILED_PRECONDITION == static_cast<int>(absl::StatusCode::kFailedPrecondition));
static_assert(LK_ABORTED == static_cast<int>(absl::StatusCode::kAborted));
static_assert(LK_INTERNAL == static_cast<int>(absl::StatusCode::kInternal));
static_assert(LK_UNAVAILABLE == static_cast<int>(absl::StatusCode::kUnavailable));
static_assert(LK_DATA_LOSS == static_cast<int>(absl::StatusCode::kDataLoss));
static_assert(LK_MAX_KEY_SIZE == Database::kMaxKeySize &&
              LK_MAX_VALUE_SIZE == Database::kMaxValueSize &&
              LK_MAX_TREE_NAME_SIZE == Database::kMaxTreeNameSize);
static_assert(sizeof(Tree) == sizeof(lk_tree) && std::is_trivially_copyable_v<Tree>);

lk_code Fail(lk_error* error, lk_code code, std::string_view message) {
  if (error == nullptr || error->struct_size <= offsetof(lk_error, message)) return code;
  error->code = code;
  const size_t room = error->struct_size - offsetof(lk_error, message) - 1;
  const size_t size = std::min(message.size(), room);
  if (size > 0) std::memcpy(error->message, message.data(), size);
  error->message[size] = '\0';
  return code;
}

lk_code Fail(lk_error* error, const absl::Status& status) {
  const absl::string_view message = status.message();
  return Fail(error, static_cast<lk_code>(status.code()), {message.data(), message.size()});
}

namespace {

// Of messages that are put together here. Failing must not run out of memory.
lk_code FailWith(lk_error* error, lk_code code, std::initializer_list<std::string_view> pieces) {
  char message[256];
  size_t size = 0;
  for (const std::string_view piece : pieces) {
    const size_t part = std::min(piece.size(), sizeof message - size);
    std::memcpy(message + size, piece.data(), part);
    size += part;
  }
  return Fail(error, code, {message, size});
}

}  // namespace

lk_code FailHandle(lk_error* error, std::string_view kind, uint64_t id) {
  if (id == 0) {
    return FailWith(error, LK_INVALID_ARGUMENT,
                    {"the ", kind, " handle is zero: pass one that a call of the library set"});
  }
  return FailWith(error, LK_FAILED_PRECONDITION,
                  {"the ", kind, " handle is over: it was released or closed, or never was one"});
}

lk_code FailNull(lk_error* error, std::string_view argument) {
  return FailWith(error, LK_INVALID_ARGUMENT,
                  {"the argument ", argument, " is a null pointer: pass an address"});
}

lk_code FailUnreadable(lk_error* error, std::string_view argument) {
  return FailWith(
      error, LK_INVALID_ARGUMENT,
      {argument, " has a null pointer and a size above 0: pass the address of its bytes"});
}

lk_code FailStructSize(lk_error* error, std::string_view name) {
  std::string macro(name);
  for (char& letter : macro) letter = static_cast<char>(std::toupper(letter));
  return FailWith(error, LK_INVALID_ARGUMENT,
                  {name, " has a struct_size that is too small: begin with ", macro, "_INIT"});
}

lk_code FailUnknownMembers(lk_error* error, std::string_view name) {
  return FailWith(
      error, LK_INVALID_ARGUMENT,
      {name,
       " has members set that this version of the library lacks: leave them 0, or load a "
       "newer liblatchkey.so.0"});
}

lk_code FailCaught(lk_error* error) noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return Fail(error, LK_RESOURCE_EXHAUSTED,
                "out of memory: the call had no effect; free memory and try it again");
  } catch (...) {
    return Fail(error, LK_INTERNAL, "an exception inside the library: this is a defect of it");
  }
}

lk_code FailTooMany(lk_error* error, std::string_view kind, uint64_t most) {
  const std::string count = std::to_string(most);
  return FailWith(error, LK_RESOURCE_EXHAUSTED,
                  {"all ", count, " handles of the kind ", kind, " are in use: release some"});
}

lk_code ReadIsolation(int32_t given, std::optional<Isolation>* isolation, lk_error* error) {
  switch (given) {
    case LK_ISOLATION_DEFAULT:
      return kOk;
    case LK_ISOLATION_SNAPSHOT:
      *isolation = Isolation::kSnapshot;
      return kOk;
    case LK_ISOLATION_SERIALIZABLE:
      *isolation = Isolation::kSerializable;
      return kOk;
    default:
      return Fail(error, LK_INVALID_ARGUMENT,
                  "isolation=" + std::to_string(given) +
                      ": give 0 (default), 1 (snapshot) or 2 (serializable)");
  }
}

lk_code ReadDurability(int32_t given, std::optional<Durability>* durability, lk_error* error) {
  switch (given) {
    case LK_DURABILITY_DEFAULT:
      return kOk;
    case LK_DURABILITY_NONE:
      *durability = Durability::kNone;
      return kOk;
    case LK_DURABILITY_GROUP:
      *durability = Durability::kGroup;
      return kOk;
    case LK_DURABILITY_COMMIT:
      *durability = Durability::kCommit;
      return kOk;
    default:
      return Fail(error, LK_INVALID_ARGUMENT,
                  "durability=" + std::to_string(given) +
                      ": give 0 (default), 1 (none), 2 (group) or 3 (commit)");
  }
}

lk_code ReadCommitOptions(const lk_commit_options* given, CommitOptions* options, lk_error* error) {
  lk_commit_options known = LK_COMMIT_OPTIONS_INIT;
  const lk_code read = ReadStruct(given, "lk_commit_options", &known, error);
  return read != LK_OK ? read : ReadDurability(known.durability, &options->durability, error);
}

}  // namespace latchkey::c
