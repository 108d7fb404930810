// Whether a directory that cannot be opened as a database was one.
#pragma once

#include <string>

namespace latchkey {

/// What tells whether a directory holds a database, or did so once.
struct DatabaseMarks {
  bool ours = false;         ///< a superblock's magic number, or what a cut has left of it
  bool others = false;       ///< something else in the place of a superblock, and not only zeros
  bool cut_off = false;      ///< the data file ends within its header
  bool other_files = false;  ///< a log or a map journal lies beside the data file

  /// The data file never was a database's, or it was one without a log and lost its header.
  bool foreign() const { return others && !ours && !other_files; }
  /// The data file was a database's, and no program can open it any more.
  bool damaged() const { return cut_off || (others && !ours && other_files); }
};

/// Of the directory `database`. Nothing is found where there is no data file.
DatabaseMarks FindMarks(const std::string& database);

}  // namespace latchkey
