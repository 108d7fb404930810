#include "tools/campaign/shared/campaign_flags.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <type_traits>
#include <utility>

#include "storage/runtime/runtime.h"

namespace latchkey {

using Flag = CampaignFlags::Flag;

Flag& Flag::RangeOfIntegers(int64_t least, int64_t most) {
  option_->check(CLI::Range(least, most));
  return *this;
}

Flag& Flag::Range(double least, double most) {
  option_->check(CLI::Range(least, most));
  return *this;
}

Flag& Flag::OneOf(const std::vector<std::string>& values) {
  option_->check(CLI::IsMember(values));
  return *this;
}

Flag& Flag::SeparatedByCommas() {
  option_->delimiter(',');
  return *this;
}

Flag& Flag::ShowDefault() {
  option_->capture_default_str();
  return *this;
}

Flag& Flag::OrEnvironment(const std::string& variable) {
  option_->envname(variable);
  return *this;
}

CampaignFlags::CampaignFlags(const std::string& description)
    : app_(std::make_unique<CLI::App>(description)) {}

CampaignFlags::~CampaignFlags() = default;

template <typename T>
Flag CampaignFlags::Add(const std::string& name, T& value, const std::string& help) {
  if constexpr (std::is_same_v<T, bool>) {
    return Flag(app_->add_flag(name, value, help));
  } else {
    return Flag(app_->add_option(name, value, help));
  }
}

template Flag CampaignFlags::Add(const std::string&, bool&, const std::string&);
template Flag CampaignFlags::Add(const std::string&, int&, const std::string&);
template Flag CampaignFlags::Add(const std::string&, uint32_t&, const std::string&);
template Flag CampaignFlags::Add(const std::string&, uint64_t&, const std::string&);
template Flag CampaignFlags::Add(const std::string&, double&, const std::string&);
template Flag CampaignFlags::Add(const std::string&, std::string&, const std::string&);
template Flag CampaignFlags::Add(const std::string&, std::optional<uint64_t>&, const std::string&);
template Flag CampaignFlags::Add(const std::string&, std::vector<uint32_t>&, const std::string&);
template Flag CampaignFlags::Add(const std::string&, std::vector<double>&, const std::string&);
template Flag CampaignFlags::Add(const std::string&, std::vector<std::string>&, const std::string&);

std::optional<int> CampaignFlags::Parse(const std::vector<std::string>& arguments) {
  try {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    app_->parse(reversed);
  } catch (const CLI::ParseError& error) {
    return app_->exit(error) == 0 ? 0 : 2;
  }
  return std::nullopt;
}

std::unique_ptr<CampaignDirectory> MakeDirectoryOrSay(const std::string& parent) {
  absl::StatusOr<std::unique_ptr<CampaignDirectory>> directory = CampaignDirectory::Make(parent);
  if (directory.ok()) return *std::move(directory);
  fmt::print(stderr, "{}\n", std::string(directory.status().message()));
  return nullptr;
}

int RunInDirectory(const std::string& parent,
                   absl::FunctionRef<std::string(const std::string& path)> run,
                   absl::FunctionRef<void(double seconds)> print) {
  const std::unique_ptr<CampaignDirectory> directory = MakeDirectoryOrSay(parent);
  if (directory == nullptr) return 2;
  Runtime& runtime = ThreadRuntime();
  const Nanos start = runtime.Now();
  const std::string wrong = run(directory->path());
  if (!wrong.empty()) {
    directory->Keep();
    fmt::print("WRONG {}\n", wrong);
  }
  print(static_cast<double>(runtime.Now() - start) / kNanosPerSecond);
  return wrong.empty() ? 0 : 1;
}

double ProcessorSeconds() {
  double seconds = 0;
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage;
    getrusage(who, &usage);
    for (const timeval& t : {usage.ru_utime, usage.ru_stime}) {
      seconds += static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
    }
  }
  return seconds;
}

}  // namespace latchkey
