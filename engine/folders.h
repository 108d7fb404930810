// Questions about the places of directories.
#pragma once

#include <string>

namespace latchkey {

/// Whether `path` lies in the directory `folder`, or is it. Links are followed.
bool LiesInFolder(const std::string& path, const std::string& folder);

}  // namespace latchkey
