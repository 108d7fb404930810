// A document store for large values. A document is cut into chunks, so neither a writer nor a reader needs memory
// for a whole document, and a reader may begin in its middle.
//
//   documents  name -> (id, size in bytes, type)       small records: a list of documents reads no contents
//   chunks     (id, number of the chunk) -> bytes
//   ids        "next" -> the next id
#include <algorithm>
#include <functional>
#include <iostream>

#include "example.h"

using latchkey::KeyReader;
using latchkey::KeyWriter;
using latchkey::Transaction;

constexpr uint64_t kChunkBytes = 256 << 10;

struct Document {
  uint64_t id = 0, size = 0;
  std::string type;
};

// Returns the bytes from `offset` on, at most `size`; none at the end. It may be asked again from the beginning.
using Source = std::function<std::string(uint64_t offset, uint64_t size)>;

class DocumentStore {
 public:
  static absl::StatusOr<DocumentStore> Open(latchkey::Database* db) {
    DocumentStore store(db);
    if (absl::Status s = OpenTrees(
            db,
            {{"documents", &store.documents_}, {"chunks", &store.chunks_}, {"ids", &store.ids_}});
        !s.ok())
      return s;
    return store;
  }

  // Stores or replaces a document. Readers see the old one or the new one, never a mixture.
  absl::Status Put(std::string_view name, std::string_view type, const Source& source) {
    return db_->RunTransaction([&](Transaction& txn) -> absl::Status {
      absl::Status removed = RemoveIn(txn, name);
      if (!removed.ok() && !absl::IsNotFound(removed)) return removed;
      Document document{.type = std::string(type)};
      if (absl::Status s = NewId(txn, &document.id); !s.ok()) return s;
      for (;;) {
        const std::string chunk = source(document.size, kChunkBytes);
        if (chunk.empty()) break;
        if (absl::Status s = txn.Put(chunks_, ChunkKey(document, document.size), chunk); !s.ok())
          return s;
        document.size += chunk.size();
      }
      return txn.Put(documents_, name,
                     KeyWriter().UInt(document.id).UInt(document.size).String(type).key());
    });
  }

  // The bytes from `offset` on, at most `size`. NotFound: there is no such document.
  absl::StatusOr<std::string> Read(std::string_view name, uint64_t offset, uint64_t size) {
    Transaction snapshot = db_->Begin({.read_only = true});
    absl::StatusOr<Document> document = Find(snapshot, name);
    if (!document.ok()) return document.status();
    std::string bytes, chunk;
    const uint64_t end = std::min(document->size, offset + size);
    while (offset < end) {
      if (absl::Status s = snapshot.Get(chunks_, ChunkKey(*document, offset), &chunk); !s.ok())
        return s;
      bytes += chunk.substr(offset % kChunkBytes, end - offset);
      offset = (offset / kChunkBytes + 1) * kChunkBytes;
    }
    return bytes;
  }

  // Calls `show` for each document in the order of their names.
  absl::Status List(const std::function<void(std::string_view name, const Document&)>& show) {
    Transaction snapshot = db_->Begin({.read_only = true});
    latchkey::Cursor row = snapshot.NewCursor(documents_);
    for (row.SeekToFirst(); row.Valid(); row.Next()) {
      absl::StatusOr<Document> document = Parse(row.value());
      if (!document.ok()) return document.status();
      show(row.key(), *document);
    }
    return row.status();
  }

  absl::Status Remove(std::string_view name) {
    return db_->RunTransaction([&](Transaction& txn) { return RemoveIn(txn, name); });
  }

 private:
  explicit DocumentStore(latchkey::Database* db) : db_(db) {}

  static std::string ChunkKey(const Document& document, uint64_t offset) {
    return KeyWriter().UInt(document.id).UInt(offset / kChunkBytes).key();
  }

  static absl::StatusOr<Document> Parse(std::string_view bytes) {
    Document document;
    KeyReader parts(bytes);
    if (absl::Status s = parts.UInt(&document.id); !s.ok()) return s;
    if (absl::Status s = parts.UInt(&document.size); !s.ok()) return s;
    if (absl::Status s = parts.String(&document.type); !s.ok()) return s;
    return document;
  }

  absl::StatusOr<Document> Find(Transaction& txn, std::string_view name) {
    std::string bytes;
    if (absl::Status s = txn.Get(documents_, name, &bytes); !s.ok()) return s;
    return Parse(bytes);
  }

  absl::Status NewId(Transaction& txn, uint64_t* id) {
    std::string bytes;
    absl::Status status = txn.GetForUpdate(ids_, "next", &bytes);
    if (status.ok()) status = KeyReader(bytes).UInt(id);
    if (!status.ok() && !absl::IsNotFound(status)) return status;
    return txn.Put(ids_, "next", KeyWriter().UInt(*id + 1).key());
  }

  absl::Status RemoveIn(Transaction& txn, std::string_view name) {
    absl::StatusOr<Document> document = Find(txn, name);
    if (!document.ok()) return document.status();
    latchkey::Cursor row =
        txn.NewCursor(chunks_, latchkey::PrefixRange(KeyWriter().UInt(document->id).key()));
    for (row.SeekToFirst(); row.Valid(); row.Next()) {  // to delete the cursor's own record is safe
      if (absl::Status s = txn.Delete(chunks_, row.key()); !s.ok()) return s;
    }
    if (!row.status().ok()) return row.status();
    return txn.Delete(documents_, name);
  }

  latchkey::Database* db_;
  latchkey::Tree documents_, chunks_, ids_;
};

// Stands for a file: lines "line 0000000000", "line 0000000001", ... of 16 bytes each.
Source Lines(uint64_t count) {
  return [count](uint64_t offset, uint64_t size) {
    std::string bytes;
    for (uint64_t line = offset / 16; line < std::min(count, (offset + size) / 16); ++line) {
      const std::string number = std::to_string(line);
      bytes += "line " + std::string(10 - number.size(), '0') + number + "\n";
    }
    return bytes;
  };
}

int main(int argc, char** argv) {
  const auto db = OpenDatabase(argc, argv, "documents.db");
  DocumentStore store = ValueOf(DocumentStore::Open(db.get()));

  Check(store.Put("big.txt", "text/plain", Lines(1'000'000)));
  Check(store.Put("small.txt", "text/plain", Lines(3)));
  Check(store.Put("old.txt", "text/plain", Lines(100'000)));
  Check(store.Put("old.txt", "text/html", Lines(50'000)));  // replaces it
  Check(store.List([](std::string_view name, const Document& document) {
    std::cout << name << ": " << document.size << " bytes of " << document.type << "\n";
  }));

  std::string middle = ValueOf(store.Read("big.txt", 16 * 654'321, 32));
  std::cout << middle;
  std::string across =
      ValueOf(store.Read("big.txt", kChunkBytes - 16, 32));  // the end of a chunk, and the next one
  std::cout << across;
  Check(store.Remove("old.txt"));
  std::cout << "old.txt: " << absl::StatusCodeToString(store.Read("old.txt", 0, 1).status().code())
            << "\n";
  Check(db->Close());
}
