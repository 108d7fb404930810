// The databases below --db. For each load that an experiment needs: the load itself, which is
// closed and never run on, and beside it the copy on which the latest run worked.
//
//   DB/latchkey-tpcc-w10-hylog-u0.8-p4096/load    the load: copied, never opened for a run
//   DB/latchkey-tpcc-w10-hylog-u0.8-p4096/run     a run's copy of it
//
// A directory is built under NAME.partial and renamed when it is complete.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <atomic>
#include <string>

namespace latchkey {

/// Not thread-safe.
class DatabaseCatalog {
 public:
  explicit DatabaseCatalog(std::string root) : root_(std::move(root)) {}

  std::string LoadPath(const std::string& name) const { return root_ + "/" + name + "/load"; }
  std::string RunPath(const std::string& name) const { return root_ + "/" + name + "/run"; }
  bool HasLoad(const std::string& name) const;
  bool HasRun(const std::string& name) const;

  /// Makes the load if it is missing: `load(path)` fills a new database at `path` and closes it.
  /// `path` does not exist yet, its parent does. The rest of a broken load is removed.
  absl::Status Prepare(const std::string& name,
                       absl::FunctionRef<absl::Status(const std::string& path)> load);

  /// Makes a fresh copy of the load for a run. Returns its path. REQUIRES: HasLoad(name).
  absl::StatusOr<std::string> Restore(const std::string& name, const std::atomic<bool>* stop);

  /// An unused path for the database of a run that begins empty.
  absl::StatusOr<std::string> Empty(const std::string& name);

  /// Removes a run's copy to free its space.
  void DiscardRun(const std::string& name);

 private:
  absl::Status Remove(const std::string& path) const;
  absl::Status MakeFolder(const std::string& name) const;

  std::string root_;
};

}  // namespace latchkey
