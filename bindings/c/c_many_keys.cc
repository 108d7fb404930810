// lk_multi_get, lk_txn_multi_get, lk_txn_prefetch and the estimates of ranges.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/c/c_border.h"

namespace latchkey::c {
namespace {

bool AreReadable(const lk_bytes* keys, size_t count) {
  return std::all_of(keys, keys + count, [](const lk_bytes& key) { return IsReadable(key); });
}

/// Copies the values into one string, and shows where each of them is.
void ShowValues(const std::vector<std::optional<std::string>>& found, std::string* text,
                lk_bytes* values) {
  size_t size = 0;
  for (const std::optional<std::string>& value : found) size += value ? value->size() : 0;
  text->clear();
  text->reserve(size + 1);
  for (size_t i = 0; i < found.size(); ++i) {
    if (!found[i].has_value()) continue;
    values[i] = {text->data() + text->size(), found[i]->size()};
    text->append(*found[i]);
  }
}

/// MultiGet of a database or transaction.
template <typename Object>
lk_code MultiGet(Object& object, lk_tree tree, const lk_bytes* keys, size_t count, lk_value* memory,
                 lk_bytes* values, lk_error* error) {
  if (memory == nullptr) return FailNull(error, "memory");
  if (count > 0 && values == nullptr) return FailNull(error, "values");
  std::fill_n(values, count, lk_bytes{nullptr, 0});
  if (count > 0 && keys == nullptr) return FailNull(error, "keys");
  if (!AreReadable(keys, count)) return FailUnreadable(error, "a key");
  std::vector<std::string_view> views(count);
  std::transform(keys, keys + count, views.begin(), ViewOf);
  std::vector<std::optional<std::string>> found;
  const absl::Status read = object.MultiGet(TreeOf(tree), views, &found);
  if (!read.ok()) return Fail(error, read);
  std::string* const text = TextOf(memory);
  ShowValues(found, text, values);
  Show(*text, memory);
  return kOk;
}

using EstimateCall = absl::StatusOr<uint64_t> (Database::*)(Tree, const KeyRange&);

lk_code Estimate(lk_db db, lk_tree tree, const lk_bytes* from, const lk_bytes* to, uint64_t* figure,
                 std::string_view name, lk_error* error, EstimateCall call) noexcept {
  if (figure == nullptr) return FailNull(error, name);
  *figure = 0;
  return WithDatabase(db, error, [&](Database& database) {
    if (!IsReadable(from)) return FailUnreadable(error, "the key from");
    if (!IsReadable(to)) return FailUnreadable(error, "the key to");
    const absl::StatusOr<uint64_t> estimate =
        (database.*call)(TreeOf(tree), {.from = BoundOf(from), .to = BoundOf(to)});
    if (!estimate.ok()) return Fail(error, estimate.status());
    *figure = *estimate;
    return kOk;
  });
}

}  // namespace
}  // namespace latchkey::c

using namespace latchkey;     // NOLINT: the functions below are C's, outside every namespace
using namespace latchkey::c;  // NOLINT

extern "C" {

lk_code lk_multi_get(lk_db db, lk_tree tree, const lk_bytes* keys, size_t count, lk_value* memory,
                     lk_bytes* values, lk_error* error) {
  return WithDatabase(db, error, [&](Database& database) {
    return MultiGet(database, tree, keys, count, memory, values, error);
  });
}

lk_code lk_txn_multi_get(lk_txn txn, lk_tree tree, const lk_bytes* keys, size_t count,
                         lk_value* memory, lk_bytes* values, lk_error* error) {
  return WithTransaction(txn, error, [&](Transaction& transaction) {
    return MultiGet(transaction, tree, keys, count, memory, values, error);
  });
}

lk_code lk_txn_prefetch(lk_txn txn, const lk_tree* trees, const lk_bytes* keys, size_t count,
                        lk_error* error) {
  return WithTransaction(txn, error, [&](Transaction& transaction) {
    if (count > 0 && trees == nullptr) return FailNull(error, "trees");
    if (count > 0 && keys == nullptr) return FailNull(error, "keys");
    if (!AreReadable(keys, count)) return FailUnreadable(error, "a key");
    std::vector<std::pair<Tree, std::string_view>> pairs;
    pairs.reserve(count);
    for (size_t i = 0; i < count; ++i) pairs.emplace_back(TreeOf(trees[i]), ViewOf(keys[i]));
    transaction.Prefetch(pairs);
    return kOk;
  });
}

lk_code lk_approximate_count(lk_db db, lk_tree tree, const lk_bytes* from, const lk_bytes* to,
                             uint64_t* count, lk_error* error) {
  return Estimate(db, tree, from, to, count, "count", error, &Database::ApproximateCount);
}

lk_code lk_approximate_bytes(lk_db db, lk_tree tree, const lk_bytes* from, const lk_bytes* to,
                             uint64_t* bytes, lk_error* error) {
  return Estimate(db, tree, from, to, bytes, "bytes", error, &Database::ApproximateBytes);
}

lk_code lk_delete_range(lk_db db, lk_tree tree, const lk_bytes* from, const lk_bytes* to,
                        lk_error* error) {
  return WithDatabase(db, error, [&](Database& database) {
    if (!IsReadable(from)) return FailUnreadable(error, "the key from");
    if (!IsReadable(to)) return FailUnreadable(error, "the key to");
    return Report(error,
                  database.DeleteRange(TreeOf(tree), {.from = BoundOf(from), .to = BoundOf(to)}));
  });
}

lk_code lk_clear_tree(lk_db db, lk_tree tree, lk_error* error) {
  return WithDatabase(db, error, [&](Database& database) {
    return Report(error, database.ClearTree(TreeOf(tree)));
  });
}

}  // extern "C"
