// The databases below --db: for every load that an experiment needs, the load itself, closed and
// never run on, and beside it the copy that the latest run worked on.
//
//   DB/latchkey-tpcc-w10-hylog-u0.8-p4096/load    the load: restored from, never opened for a run
//   DB/latchkey-tpcc-w10-hylog-u0.8-p4096/run     a run's copy of it
//
// A directory gets its name only when it is complete (it is built under NAME.partial and renamed).
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

  /// Makes the load when it is missing: `load(path)` fills a new database at `path` (not there yet,
  /// its parent is) and closes it. What a broken load left is removed.
  absl::Status Prepare(const std::string& name,
                       absl::FunctionRef<absl::Status(const std::string& path)> load);

  /// A fresh copy of the load for a run; returns its path. REQUIRES: HasLoad(name).
  absl::StatusOr<std::string> Restore(const std::string& name, const std::atomic<bool>* stop);

  /// A place for a database of a run that begins empty: nothing is there.
  absl::StatusOr<std::string> Empty(const std::string& name);

  /// Removes a run's copy, to make room.
  void DiscardRun(const std::string& name);

 private:
  absl::Status Remove(const std::string& path) const;
  absl::Status MakeFolder(const std::string& name) const;

  std::string root_;
};

}  // namespace latchkey
