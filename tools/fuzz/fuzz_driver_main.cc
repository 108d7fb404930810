// Runs one fuzz target without a fuzzer: its seeds, the named files, and seeded mutations.
//
//   fuzz_NAME [--executions=N] [--seed=S] [--first=I] [--write-seeds=DIR] [FILE ...]
//
// Seed and number identify a mutation. If one ends the process, its number is the last line of
// stderr, and --seed=S --first=I --executions=1 runs it alone.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "storage/base/hash.h"
#include "storage/base/rng.h"
#include "tools/fuzz/fuzz_mutator.h"
#include "tools/fuzz/fuzz_target.h"

namespace latchkey {
namespace {

constexpr size_t kMaxInput = size_t{64} << 10;
constexpr rlim_t kHangSeconds = 120;
constexpr uint64_t kInputsBetweenLimits = 100;
constexpr long kMostMemoryKib = 256 << 10;

struct Flags {
  uint64_t executions = 10'000;
  uint64_t seed = 1;
  uint64_t first = 0;
  std::string write_seeds;
  std::vector<std::string> files;
};

// The current input, for the signal handler.
char running[256] = "";

void NoteRunning(const std::string& what) {
  std::snprintf(running, sizeof(running), "fuzz %s: ended in %s\n", kFuzzTarget, what.c_str());
}

void OnFatalSignal(int number) {
  const ssize_t written = write(STDERR_FILENO, running, std::strlen(running));
  if (written < 0) _exit(1);
  std::signal(number, SIG_DFL);
  std::raise(number);
}

void Execute(const std::string& input) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
}

bool WriteSeeds(const std::string& directory, const std::vector<std::string>& seeds) {
  for (size_t i = 0; i < seeds.size(); ++i) {
    std::ofstream out(fmt::format("{}/{}-{}", directory, kFuzzTarget, i), std::ios::binary);
    out.write(seeds[i].data(), static_cast<std::streamsize>(seeds[i].size()));
    if (!out.flush()) {
      fmt::print(stderr, "{}: seeds cannot be written there\n", directory);
      return false;
    }
  }
  return true;
}

bool ExecuteFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    fmt::print(stderr, "{}: cannot be read\n", path);
    return false;
  }
  NoteRunning(path);
  Execute(std::string(std::istreambuf_iterator<char>(in), {}));
  return true;
}

double ProcessorSeconds() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/// Ends the process when one input takes more than two minutes of processor time.
void LimitProcessorTime() {
  rlimit limit{};
  getrlimit(RLIMIT_CPU, &limit);
  limit.rlim_cur = std::min(limit.rlim_max, static_cast<rlim_t>(ProcessorSeconds()) + kHangSeconds);
  setrlimit(RLIMIT_CPU, &limit);
}

/// Whether `input` made the process grow beyond the limit for an input of its size.
bool TakesTooMuch(const std::string& input) {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  const long before = usage.ru_maxrss;
  Execute(input);
  getrusage(RUSAGE_SELF, &usage);
  if (usage.ru_maxrss - before <= kMostMemoryKib) return false;
  fmt::print(stderr, "{}took {} KiB of memory\n", running, usage.ru_maxrss - before);
  return true;
}

int Run(const Flags& flags) {
  for (const int number : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGXCPU}) {
    std::signal(number, OnFatalSignal);
  }
  const std::vector<std::string> seeds = FuzzSeeds();
  if (!flags.write_seeds.empty()) return WriteSeeds(flags.write_seeds, seeds) ? 0 : 1;
  uint64_t executions = 0;
  for (size_t i = 0; i < seeds.size(); ++i, ++executions) {
    NoteRunning(fmt::format("seed input {}", i));
    Execute(seeds[i]);
  }
  for (const std::string& file : flags.files) {
    if (!ExecuteFile(file)) return 1;
    ++executions;
  }
  const uint64_t accepted_seeds = fuzz_accepted;
  for (uint64_t i = flags.first; i < flags.first + flags.executions; ++i, ++executions) {
    NoteRunning(fmt::format("--seed={} --first={} --executions=1", flags.seed, i));
    if (i % kInputsBetweenLimits == 0) LimitProcessorTime();
    Rng rng(MixHash(flags.seed) ^ i);
    if (TakesTooMuch(Mutate(seeds, kMaxInput, rng))) return 1;
  }
  fmt::print("counts: fuzz target={} seeds={} executions={} accepted={} cpu_s={:.1f}\n",
             kFuzzTarget, seeds.size(), executions, fuzz_accepted, ProcessorSeconds());
  // If the target refuses even sound inputs, the mutations test nothing.
  return accepted_seeds > 0 ? 0 : 1;
}

}  // namespace
}  // namespace latchkey

int main(int argc, char** argv) {
  latchkey::Flags flags;
  CLI::App app("Runs one fuzz target on its seeds, on files, and on seeded mutations");
  app.add_option("--executions", flags.executions, "Mutations")->capture_default_str();
  app.add_option("--seed", flags.seed, "Of the mutations")->capture_default_str();
  app.add_option("--first", flags.first, "Number of the first mutation")->capture_default_str();
  app.add_option("--write-seeds", flags.write_seeds, "Only write the seeds into this directory");
  app.add_option("files", flags.files, "Inputs to run");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return latchkey::Run(flags);
}
