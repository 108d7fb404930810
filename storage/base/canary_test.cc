#include "storage/base/canary.h"

#include <catch2/catch.hpp>

namespace latchkey::canary_test {
namespace {

TEST_CASE("A canary sings only where it was built in, and only the selected one") {
  SelectCanary("a");
  CHECK(CanaryIsSelected("a"));
  CHECK_FALSE(CanaryIsSelected("b"));
  CHECK(CanaryHits() == 1);
  CHECK(LATCHKEY_CANARY("a") == kHasCanaries);
  SelectCanary("");
  CHECK_FALSE(CanaryIsSelected("a"));
  CHECK(CanaryHits() == 0);
}

}  // namespace
}  // namespace latchkey::canary_test
