// lk_key_* and lk_prefix_end. A part of a key is what KeyWriter makes of it.
#include <string>
#include <utility>

#include "bindings/c/c_border.h"

namespace latchkey::c {
namespace {

lk_code AddPart(lk_value* key, lk_error* error, const KeyWriter& part) {
  return ReadInto(key, error, [&](std::string* text) {
    text->resize(key->size);  // its memory may be larger than what it shows
    text->append(part.key());
    return absl::OkStatus();
  });
}

/// Reads a part by `read(reader)`, then moves *key behind it. `again(writer)` writes the part: the
/// reader does not tell how long it was.
template <typename Read, typename Again>
lk_code ReadPart(lk_bytes* key, lk_error* error, Read read, Again again) noexcept {
  if (key == nullptr) return FailNull(error, "key");
  if (!IsReadable(*key)) return FailUnreadable(error, "the key");
  return Guarded(error, [&] {
    KeyReader reader(ViewOf(*key));
    const absl::Status done = read(reader);
    if (!done.ok()) return Fail(error, done);
    KeyWriter part;
    again(part);
    *key = BytesOf(ViewOf(*key).substr(part.key().size()));
    return kOk;
  });
}

}  // namespace
}  // namespace latchkey::c

using namespace latchkey;     // NOLINT: the functions below are C's, outside every namespace
using namespace latchkey::c;  // NOLINT

extern "C" {

lk_code lk_prefix_end(lk_bytes prefix, lk_value* end, lk_error* error) {
  if (!IsReadable(prefix)) return FailUnreadable(error, "the prefix");
  return Guarded(error, [&] {
    KeyRange range = PrefixRange(ViewOf(prefix));
    return ReadInto(end, error, [&](std::string* text) -> absl::Status {
      text->clear();
      if (!range.to.has_value()) {
        return absl::NotFoundError("no key lies behind all keys with this prefix: pass no end");
      }
      *text = *std::move(range.to);
      return absl::OkStatus();
    });
  });
}

lk_code lk_key_add_int(lk_value* key, int64_t number, lk_error* error) {
  return Guarded(error, [&] { return AddPart(key, error, KeyWriter().Int(number)); });
}
lk_code lk_key_add_uint(lk_value* key, uint64_t number, lk_error* error) {
  return Guarded(error, [&] { return AddPart(key, error, KeyWriter().UInt(number)); });
}
lk_code lk_key_add_double(lk_value* key, double number, lk_error* error) {
  return Guarded(error, [&] { return AddPart(key, error, KeyWriter().Double(number)); });
}
lk_code lk_key_add_string(lk_value* key, lk_bytes string, lk_error* error) {
  if (!IsReadable(string)) return FailUnreadable(error, "the string");
  return Guarded(error, [&] { return AddPart(key, error, KeyWriter().String(ViewOf(string))); });
}

void lk_key_clear(lk_value* key) {
  if (key == nullptr || key->owner == nullptr) return;
  auto* text = static_cast<std::string*>(key->owner);
  text->clear();
  Show(*text, key);
}

lk_code lk_key_read_int(lk_bytes* key, int64_t* number, lk_error* error) {
  if (number == nullptr) return FailNull(error, "number");
  return ReadPart(
      key, error, [number](KeyReader& reader) { return reader.Int(number); },
      [number](KeyWriter& part) { part.Int(*number); });
}
lk_code lk_key_read_uint(lk_bytes* key, uint64_t* number, lk_error* error) {
  if (number == nullptr) return FailNull(error, "number");
  return ReadPart(
      key, error, [number](KeyReader& reader) { return reader.UInt(number); },
      [number](KeyWriter& part) { part.UInt(*number); });
}
lk_code lk_key_read_double(lk_bytes* key, double* number, lk_error* error) {
  if (number == nullptr) return FailNull(error, "number");
  return ReadPart(
      key, error, [number](KeyReader& reader) { return reader.Double(number); },
      [number](KeyWriter& part) { part.Double(*number); });
}
lk_code lk_key_read_string(lk_bytes* key, lk_value* string, lk_error* error) {
  return ReadPart(
      key, error,
      [string](KeyReader& reader) {
        if (string == nullptr) {
          return absl::InvalidArgumentError(
              "the argument string is a null pointer: pass an address");
        }
        std::string* const text = TextOf(string);
        const absl::Status read = reader.String(text);
        Show(*text, string);
        return read;
      },
      [string](KeyWriter& part) {
        part.String({string->data, string->size});
      });
}

}  // extern "C"
