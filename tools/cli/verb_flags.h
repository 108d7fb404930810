// Flags that several verbs have.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "tools/cli/output.h"

namespace latchkey {

/// --json, --csv and --report.
void AddOutputFlags(CLI::App& verb, OutputFlags& output);

/// --db, the folder of the databases that runs work on.
void AddDatabaseFlag(CLI::App& verb, std::string& path);

/// --keep.
void AddKeepFlag(CLI::App& verb, bool& keep);

/// --trace, the file in which a run records its page fixes.
void AddTraceFlag(CLI::App& verb, std::string& trace);

}  // namespace latchkey
