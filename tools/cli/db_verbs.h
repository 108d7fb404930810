// The verbs of db_commands.h on the command line.
#pragma once

#include <memory>
#include <optional>

namespace CLI {
class App;
}

namespace latchkey {

class DbVerbs {
 public:
  /// Adds the verbs to `app`, which outlives this.
  explicit DbVerbs(CLI::App& app);
  ~DbVerbs();
  /// Runs the verb that was given; nullopt: it is none of these.
  std::optional<int> Run();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace latchkey
