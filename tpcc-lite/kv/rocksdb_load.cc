#include "tpcc-lite/kv/rocksdb_load.h"

#include <fmt/format.h>
#include <rocksdb/sst_file_writer.h>

#include <vector>

#include "storage/base/status_macros.h"
#include "tpcc-lite/kv/rocksdb_status.h"

namespace latchkey {

namespace rdb = ROCKSDB_NAMESPACE;

absl::Status LoadTableFiles(rdb::DB& db, rdb::ColumnFamilyHandle* family, const std::string& folder,
                            absl::FunctionRef<bool(rdb::Slice* key, rdb::Slice* value)> next) {
  constexpr uint64_t kMostBytes = uint64_t{64} << 20;  // as RocksDB's own files have
  const rdb::Options options = db.GetOptions(family);
  std::vector<std::string> files;
  rdb::Slice key, value;
  for (bool more = next(&key, &value); more;) {
    files.push_back(fmt::format("{}/load-{}.sst", folder, files.size()));
    rdb::SstFileWriter writer((rdb::EnvOptions(options)), options);
    LATCHKEY_RETURN_IF_ERROR(ToStatus(writer.Open(files.back())));
    while (more && writer.FileSize() < kMostBytes) {
      LATCHKEY_RETURN_IF_ERROR(ToStatus(writer.Put(key, value)));
      more = next(&key, &value);
    }
    LATCHKEY_RETURN_IF_ERROR(ToStatus(writer.Finish()));
  }
  if (files.empty()) return absl::OkStatus();
  rdb::IngestExternalFileOptions ingestion;
  ingestion.move_files = true;
  return ToStatus(db.IngestExternalFile(family, files, ingestion));
}

}  // namespace latchkey
