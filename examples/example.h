// The parts that all examples have in common.
#pragma once

#include <latchkey/latchkey.h>

#include <cstdlib>
#include <initializer_list>
#include <iostream>
#include <memory>
#include <string_view>
#include <utility>

// Ends the program with a message if the call has failed.
inline void Check(const absl::Status& status) {
  if (status.ok()) return;
  std::cerr << status << "\n";
  std::exit(1);
}

// The value of a call that has not failed; else the program ends.
template <typename T>
T ValueOf(absl::StatusOr<T> result) {
  Check(result.status());
  return *std::move(result);
}

// Opens the database at the path that is the program's first argument, else at `path`.
inline std::unique_ptr<latchkey::Database> OpenDatabase(int argc, char** argv, const char* path,
                                                        const latchkey::Options& options = {}) {
  return ValueOf(latchkey::Database::Open(argc > 1 ? argv[1] : path, options));
}

// Opens each tree by its name, and creates it if it is missing.
inline absl::Status OpenTrees(
    latchkey::Database* db,
    std::initializer_list<std::pair<std::string_view, latchkey::Tree*>> trees) {
  for (const auto& [name, tree] : trees) {
    absl::StatusOr<latchkey::Tree> opened = db->OpenTree(name);
    if (!opened.ok()) return opened.status();
    *tree = *opened;
  }
  return absl::OkStatus();
}
