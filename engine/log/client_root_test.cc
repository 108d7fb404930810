#include "engine/log/client_root.h"

#include <catch2/catch.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace latchkey::client_root_test {
namespace {

std::vector<std::byte> FromHex(std::string_view hex) {
  std::vector<std::byte> bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

// Stored samples: each format that a database on some disk may have.
constexpr std::string_view kVersion1 =
    "01000000"
    "07000000"
    "0500000000000000"
    "2a00000000000000";
constexpr std::string_view kVersion2 =
    "02000000"
    "07000000"
    "0500000000000000"
    "2a00000000000000"
    "03000000"
    "00000000"
    "0030000000000000"
    "0020000000000000"
    "0010000000000000"
    "0040000000000000";
constexpr std::string_view kVersion3 =
    "03000000"
    "07000000"
    "0500000000000000"
    "2a00000000000000"
    "01000000"
    "02000000"
    "0030000000000000"
    "0020000000000000"
    "0010000000000000"
    "0040000000000000"
    "efcdab8967452301"
    "09000000"
    "01000000"
    "1100000000000000"
    "02000000"
    "00000000";

constexpr std::string_view kVersion4 =
    "04000000"
    "07000000"
    "0500000000000000"
    "2a00000000000000"
    "01000000"
    "01000000"
    "0030000000000000"
    "0020000000000000"
    "0010000000000000"
    "0040000000000000"
    "efcdab8967452301"
    "09000000"
    "01000000";

ClientRoot DecodeOrFail(std::string_view hex) {
  const absl::StatusOr<ClientRoot> root = DecodeClientRoot(FromHex(hex));
  if (!root.ok()) FAIL(root.status().message());
  return *root;
}

TEST_CASE("the client roots of every earlier format are read") {
  for (const std::string_view sample : {kVersion1, kVersion2, kVersion3, kVersion4}) {
    const ClientRoot root = DecodeOrFail(sample);
    CHECK(root.next_tree_id == 7);
    CHECK(root.catalog_root == PageId{5});
    CHECK(root.next_txn_id == TxnId{42});
  }
  CHECK_FALSE(DecodeOrFail(kVersion1).has_log);
  const ClientRoot second = DecodeOrFail(kVersion2);
  CHECK((second.has_log && second.clean && second.backups.empty()));
  CHECK((second.redo == Lsn{0x3000} && second.first_needed == Lsn{0x2000}));
  CHECK((second.scan_from == Lsn{0x1000} && second.end == Lsn{0x4000}));
  const ClientRoot third = DecodeOrFail(kVersion3);
  CHECK((third.has_log && !third.clean));
  REQUIRE(third.backups.size() == 2);
  CHECK(third.backups[0].id == 0x0123456789abcdef);
  CHECK((third.backups[0].page_files == 9 && third.backups[0].finished));
  CHECK((third.backups[1].page_files == 2 && !third.backups[1].finished));
  REQUIRE(DecodeOrFail(kVersion4).backups.size() == 1);
}

TEST_CASE("a root is written in the newest format, byte for byte as ever") {
  CHECK(EncodeClientRoot(DecodeOrFail(kVersion4)) == FromHex(kVersion4));
  std::vector<std::byte> second = FromHex(kVersion2);
  second[0] = std::byte{4};
  CHECK(EncodeClientRoot(DecodeOrFail(kVersion2)) == second);
}

TEST_CASE("a client root of a newer format is refused, and a damaged one is damage") {
  std::vector<std::byte> bytes = FromHex(kVersion3);
  bytes[0] = std::byte{5};
  CHECK(absl::IsFailedPrecondition(DecodeClientRoot(bytes).status()));
  bytes = FromHex(kVersion3);
  bytes.resize(bytes.size() - 1);
  CHECK(absl::IsDataLoss(DecodeClientRoot(bytes).status()));
  bytes = FromHex(kVersion3);
  bytes[28] = std::byte{17};  // more backups than a root can note
  CHECK(absl::IsDataLoss(DecodeClientRoot(bytes).status()));
  bytes = FromHex(kVersion2);
  bytes[40] = std::byte{0xff};
  bytes[41] = std::byte{0xff};  // first needed, behind redo
  CHECK(absl::IsDataLoss(DecodeClientRoot(bytes).status()));
  CHECK(absl::IsDataLoss(DecodeClientRoot({}).status()));
}

TEST_CASE("a root with as many backups as it can note fits its place") {
  ClientRoot root = DecodeOrFail(kVersion2);
  for (uint64_t i = 0; i < ClientRoot::kMostBackups; ++i) root.backups.push_back({.id = i});
  CHECK(EncodeClientRoot(root).size() <= 2048);
}

}  // namespace
}  // namespace latchkey::client_root_test
