// Helpers for the command of a campaign: declare and parse its flags, make its directory, measure its
// time.
#pragma once

#include <absl/functional/function_ref.h>

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/campaign/shared/campaign_directory.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace latchkey {

/// The flags of a campaign's command, parsed by CLI11. Only campaign_flags.cc includes CLI11, which
/// takes the compiler 7 s for each file. Not thread-safe.
class CampaignFlags {
 public:
  /// A flag that was declared. Its functions restrict and describe it.
  class Flag {
   public:
    explicit Flag(CLI::Option* option) : option_(option) {}

    /// Accepts only numbers from `least` to `most`.
    Flag& Range(std::integral auto least, std::integral auto most) {
      return RangeOfIntegers(static_cast<int64_t>(least), static_cast<int64_t>(most));
    }
    Flag& Range(double least, double most);
    /// Accepts only these values.
    Flag& OneOf(const std::vector<std::string>& values);
    /// Takes a list of values: "a,b".
    Flag& SeparatedByCommas();
    /// --help shows the value that the variable holds now.
    Flag& ShowDefault();
    /// Without the flag its value comes from this environment variable, if it is set.
    Flag& OrEnvironment(const std::string& variable);

   private:
    Flag& RangeOfIntegers(int64_t least, int64_t most);

    CLI::Option* option_;
  };

  explicit CampaignFlags(const std::string& description);
  ~CampaignFlags();
  CampaignFlags(const CampaignFlags&) = delete;
  CampaignFlags& operator=(const CampaignFlags&) = delete;

  /// Declares the flag `name`, "--seed". Parse() stores its value in `value`, which outlives this
  /// object; without the flag `value` stays as it is. A bool takes no value: naming it sets true.
  /// campaign_flags.cc lists the types.
  template <typename T>
  Flag Add(const std::string& name, T& value, const std::string& help);

  /// Returns an exit code if the command ends here: 0 after --help, 2 after a wrong flag, which is
  /// reported on stderr.
  std::optional<int> Parse(const std::vector<std::string>& arguments);

 private:
  std::unique_ptr<CLI::App> app_;
};

/// CampaignDirectory::Make. nullptr: it failed, and the reason was printed.
std::unique_ptr<CampaignDirectory> MakeDirectoryOrSay(const std::string& parent);

/// Runs a campaign on files. `run(path)` works in a directory below `parent` (CampaignDirectory::Make) and
/// returns its first mistake, which is printed; empty: there was none, and the directory is removed. Then
/// `print(seconds)` reports. Returns the exit code: 0, 1 after a mistake, 2 if there is no directory.
int RunInDirectory(const std::string& parent,
                   absl::FunctionRef<std::string(const std::string& path)> run,
                   absl::FunctionRef<void(double seconds)> print);

/// Processor time of this process and of its ended children, seconds.
double ProcessorSeconds();

}  // namespace latchkey
