// lk_open, lk_close, and the calls on a database.
#include <string>
#include <utility>

#include "bindings/c/c_border.h"

namespace latchkey::c {
namespace {

[[gnu::noinline]] lk_code ReadChecked(lk_db db, lk_tree tree, lk_bytes key, lk_value* value,
                                      lk_error* error) noexcept {
  return WithDatabase(db, error, [&](Database& database) {
    if (!IsReadable(key)) return FailUnreadable(error, "the key");
    return ReadInto(value, error, [&](std::string* text) {
      return database.Get(TreeOf(tree), ViewOf(key), text);
    });
  });
}

lk_code Open(const char* path, const Options& options, lk_db* db, lk_error* error) {
  absl::StatusOr<std::unique_ptr<Database>> opened = Database::Open(path, options);
  if (!opened.ok()) return Fail(error, opened.status());
  return MakeHandle(databases, "database", &db->id, error, *std::move(opened));
}

}  // namespace
}  // namespace latchkey::c

using namespace latchkey;     // NOLINT: the functions below are C's, outside every namespace
using namespace latchkey::c;  // NOLINT

extern "C" {

lk_code lk_open(const char* path, lk_options options, lk_db* db, lk_error* error) {
  if (db == nullptr) return FailNull(error, "db");
  db->id = 0;
  if (path == nullptr) return FailNull(error, "path");
  if (options.id == 0) return Guarded(error, [&] { return Open(path, Options(), db, error); });
  return With(option_sets, "options", options.id, error,
              [&](Options& found) { return Open(path, found, db, error); });
}

lk_code lk_close(lk_db db, lk_error* error) {
  std::unique_ptr<Database>* taken = databases.Take(db.id);
  if (taken == nullptr) return FailHandle(error, "database", db.id);
  const lk_code code = Guarded(error, [&] { return Report(error, (*taken)->Close()); });
  if (code == LK_RESOURCE_EXHAUSTED) {
    databases.GiveBack(db.id);
  } else {
    databases.Destroy(db.id);
  }
  return code;
}

lk_code lk_open_tree(lk_db db, lk_bytes name, int create, lk_tree* tree, lk_error* error) {
  if (tree == nullptr) return FailNull(error, "tree");
  *tree = HandleOf(Tree());
  return WithDatabase(db, error, [&](Database& database) {
    if (!IsReadable(name)) return FailUnreadable(error, "the name");
    const absl::StatusOr<Tree> opened = database.OpenTree(ViewOf(name), create != 0);
    if (!opened.ok()) return Fail(error, opened.status());
    *tree = HandleOf(*opened);
    return kOk;
  });
}

lk_code lk_drop_tree(lk_db db, lk_bytes name, lk_error* error) {
  return WithDatabase(db, error, [&](Database& database) {
    if (!IsReadable(name)) return FailUnreadable(error, "the name");
    return Report(error, database.DropTree(ViewOf(name)));
  });
}

lk_code lk_rename_tree(lk_db db, lk_bytes from, lk_bytes to, lk_error* error) {
  return WithDatabase(db, error, [&](Database& database) {
    if (!IsReadable(from)) return FailUnreadable(error, "the name from");
    if (!IsReadable(to)) return FailUnreadable(error, "the name to");
    return Report(error, database.RenameTree(ViewOf(from), ViewOf(to)));
  });
}

lk_code lk_list_trees(lk_db db, lk_names* names, lk_error* error) {
  if (names == nullptr) return FailNull(error, "names");
  names->id = 0;
  return WithDatabase(db, error, [&](Database& database) {
    return MakeHandle(name_lists, "names", &names->id, error, database.ListTrees());
  });
}

size_t lk_names_count(lk_names names) {
  const std::vector<std::string>* found = name_lists.Find(names.id);
  return found == nullptr ? 0 : found->size();
}

lk_code lk_names_at(lk_names names, size_t index, lk_bytes* name, lk_error* error) {
  if (name == nullptr) return FailNull(error, "name");
  *name = {nullptr, 0};
  return With(name_lists, "names", names.id, error, [&](std::vector<std::string>& found) {
    if (index >= found.size()) {
      return Fail(error, LK_NOT_FOUND, "no name has this index: give less than lk_names_count");
    }
    *name = BytesOf(found[index]);
    return kOk;
  });
}

lk_code lk_names_release(lk_names names, lk_error* error) {
  return Release(name_lists, "names", names.id, error);
}

lk_code lk_get(lk_db db, lk_tree tree, lk_bytes key, lk_value* value, lk_error* error) {
  std::unique_ptr<Database>* found = databases.Find(db.id);
  return ReadRecord(found == nullptr ? nullptr : found->get(), &Database::Get, tree, key, value,
                    error, [&] { return ReadChecked(db, tree, key, value, error); });
}

lk_code lk_put(lk_db db, lk_tree tree, lk_bytes key, lk_bytes value, lk_error* error) {
  return WithDatabase(db, error, [&](Database& database) {
    if (!IsReadable(key)) return FailUnreadable(error, "the key");
    if (!IsReadable(value)) return FailUnreadable(error, "the value");
    return Report(error, database.Put(TreeOf(tree), ViewOf(key), ViewOf(value)));
  });
}

lk_code lk_delete(lk_db db, lk_tree tree, lk_bytes key, lk_error* error) {
  return WithDatabase(db, error, [&](Database& database) {
    if (!IsReadable(key)) return FailUnreadable(error, "the key");
    return Report(error, database.Delete(TreeOf(tree), ViewOf(key)));
  });
}

lk_code lk_write(lk_db db, lk_batch batch, lk_error* error) {
  return lk_write_with(db, batch, nullptr, error);
}

lk_code lk_write_with(lk_db db, lk_batch batch, const lk_commit_options* options, lk_error* error) {
  return WithDatabase(db, error, [&](Database& database) {
    CommitOptions commit;
    const lk_code read = ReadCommitOptions(options, &commit, error);
    if (read != LK_OK) return read;
    return With(batches, "batch", batch.id, error,
                [&](WriteBatch& found) { return Report(error, database.Write(found, commit)); });
  });
}

lk_code lk_sync(lk_db db, lk_error* error) {
  return WithDatabase(db, error,
                      [&](Database& database) { return Report(error, database.Sync()); });
}

lk_code lk_checkpoint(lk_db db, lk_error* error) {
  return WithDatabase(db, error,
                      [&](Database& database) { return Report(error, database.Checkpoint()); });
}

lk_code lk_set_cache_size(lk_db db, uint64_t bytes, lk_error* error) {
  return WithDatabase(
      db, error, [&](Database& database) { return Report(error, database.SetCacheBytes(bytes)); });
}

lk_code lk_verify(lk_db db, lk_error* error) {
  return WithDatabase(db, error,
                      [&](Database& database) { return Report(error, database.Verify()); });
}

lk_code lk_page_size(lk_db db, uint32_t* bytes, lk_error* error) {
  if (bytes == nullptr) return FailNull(error, "bytes");
  *bytes = 0;
  return WithDatabase(db, error, [&](Database& database) {
    *bytes = database.page_size();
    return kOk;
  });
}

lk_code lk_device_description(lk_db db, lk_value* text, lk_error* error) {
  return WithDatabase(db, error, [&](Database& database) {
    return ReadInto(text, error, [&](std::string* written) {
      *written = database.DeviceDescription();
      return absl::OkStatus();
    });
  });
}

lk_code lk_batch_create(lk_batch* batch, lk_error* error) {
  if (batch == nullptr) return FailNull(error, "batch");
  batch->id = 0;
  return Guarded(error, [&] { return MakeHandle(batches, "batch", &batch->id, error); });
}

lk_code lk_batch_put(lk_batch batch, lk_tree tree, lk_bytes key, lk_bytes value, lk_error* error) {
  return With(batches, "batch", batch.id, error, [&](WriteBatch& found) {
    if (!IsReadable(key)) return FailUnreadable(error, "the key");
    if (!IsReadable(value)) return FailUnreadable(error, "the value");
    found.Put(TreeOf(tree), ViewOf(key), ViewOf(value));
    return kOk;
  });
}

lk_code lk_batch_delete(lk_batch batch, lk_tree tree, lk_bytes key, lk_error* error) {
  return With(batches, "batch", batch.id, error, [&](WriteBatch& found) {
    if (!IsReadable(key)) return FailUnreadable(error, "the key");
    found.Delete(TreeOf(tree), ViewOf(key));
    return kOk;
  });
}

lk_code lk_batch_clear(lk_batch batch, lk_error* error) {
  return With(batches, "batch", batch.id, error, [&](WriteBatch& found) {
    found.Clear();
    return kOk;
  });
}

size_t lk_batch_count(lk_batch batch) {
  const WriteBatch* found = batches.Find(batch.id);
  return found == nullptr ? 0 : found->size();
}

lk_code lk_batch_release(lk_batch batch, lk_error* error) {
  return Release(batches, "batch", batch.id, error);
}

}  // extern "C"
