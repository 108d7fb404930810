#include "tools/cli/verb_flags.h"

namespace latchkey {

void AddOutputFlags(CLI::App& verb, OutputFlags& output) {
  verb.add_option("--json", output.json, "write results there; - for stdout")->type_name("FILE");
  verb.add_option("--csv", output.csv, "write results there; - for stdout")->type_name("FILE");
  verb.add_option("--report", output.report,
                  "write a page for a browser there: charts, tables; - for stdout")
      ->type_name("FILE");
}

void AddDatabaseFlag(CLI::App& verb, std::string& path) {
  verb.add_option("--db", path, "folder of the databases, one folder per load")
      ->type_name("DIR")
      ->capture_default_str();
}

void AddKeepFlag(CLI::App& verb, bool& keep) {
  verb.add_flag("--keep", keep, "keep the database of every run");
}

void AddTraceFlag(CLI::App& verb, std::string& trace) {
  verb.add_option("--trace", trace,
                  "record the page fixes of the one run there, for the verbs trace and cachesim")
      ->type_name("FILE");
}

}  // namespace latchkey
