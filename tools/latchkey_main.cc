// The program `latchkey`. Under the name `tpcc-lite` it is `latchkey tpcc-lite`.
#include <cstring>
#include <string>
#include <vector>

#include "tools/cli/cli.h"

int main(int argc, char** argv) {
  std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  const char* slash = argc > 0 ? std::strrchr(argv[0], '/') : nullptr;
  const std::string name = argc == 0 ? "" : slash == nullptr ? argv[0] : slash + 1;
  if (name == "tpcc-lite") arguments.insert(arguments.begin(), "tpcc-lite");
  return latchkey::RunCli(std::move(arguments));
}
