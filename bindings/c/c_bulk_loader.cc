// lk_bulk_loader_*.
#include <memory>
#include <utility>

#include "bindings/c/c_border.h"

namespace latchkey::c {
namespace {

constexpr std::string_view kKind = "bulk loader";

lk_code ReadBulkLoadOptions(const lk_bulk_load_options* given, BulkLoadOptions* options,
                            lk_error* error) {
  lk_bulk_load_options known = LK_BULK_LOAD_OPTIONS_INIT;
  const lk_code read = ReadStruct(given, "lk_bulk_load_options", &known, error);
  if (known.fill != 0) options->fill = known.fill;
  return read;
}

}  // namespace
}  // namespace latchkey::c

using namespace latchkey;     // NOLINT: the functions below are C's, outside every namespace
using namespace latchkey::c;  // NOLINT

extern "C" {

lk_code lk_bulk_loader_create(lk_db db, lk_bytes name, const lk_bulk_load_options* options,
                              lk_bulk_loader* loader, lk_error* error) {
  if (loader == nullptr) return FailNull(error, "loader");
  loader->id = 0;
  return WithDatabase(db, error, [&](Database& database) {
    if (!IsReadable(name)) return FailUnreadable(error, "the name");
    BulkLoadOptions load;
    const lk_code read = ReadBulkLoadOptions(options, &load, error);
    if (read != LK_OK) return read;
    absl::StatusOr<std::unique_ptr<BulkLoader>> made = database.NewBulkLoader(ViewOf(name), load);
    if (!made.ok()) return Fail(error, made.status());
    return MakeHandle(bulk_loaders, kKind, &loader->id, error, *std::move(made));
  });
}

lk_code lk_bulk_loader_put(lk_bulk_loader loader, lk_bytes key, lk_bytes value, lk_error* error) {
  return With(bulk_loaders, kKind, loader.id, error, [&](std::unique_ptr<BulkLoader>& found) {
    if (!IsReadable(key)) return FailUnreadable(error, "the key");
    if (!IsReadable(value)) return FailUnreadable(error, "the value");
    return Report(error, found->Put(ViewOf(key), ViewOf(value)));
  });
}

uint64_t lk_bulk_loader_count(lk_bulk_loader loader) {
  const std::unique_ptr<BulkLoader>* found = bulk_loaders.Find(loader.id);
  return found == nullptr ? 0 : (*found)->records();
}

lk_code lk_bulk_loader_finish(lk_bulk_loader loader, lk_tree* tree, lk_error* error) {
  if (tree == nullptr) return FailNull(error, "tree");
  *tree = HandleOf(Tree());
  std::unique_ptr<BulkLoader>* taken = bulk_loaders.Take(loader.id);
  if (taken == nullptr) return FailHandle(error, kKind, loader.id);
  const lk_code code = Guarded(error, [&] {
    const absl::StatusOr<Tree> finished = (*taken)->Finish();
    if (!finished.ok()) return Fail(error, finished.status());
    *tree = HandleOf(*finished);
    return kOk;
  });
  if (code == LK_RESOURCE_EXHAUSTED) {
    bulk_loaders.GiveBack(loader.id);
  } else {
    bulk_loaders.Destroy(loader.id);
  }
  return code;
}

lk_code lk_bulk_loader_release(lk_bulk_loader loader, lk_error* error) {
  return Release(bulk_loaders, kKind, loader.id, error);
}

}  // extern "C"
