// SPDX-License-Identifier: Apache-2.0
#include "doors/http/cursor.h"

#include "base/bytes.h"
#include "base/digest.h"

namespace weir::doors::http {
namespace {

constexpr std::uint8_t kVersion = 1;

}  // namespace

std::string write_cursor(std::uint64_t after_id, std::string_view filter) {
  std::string bytes;
  ByteWriter out(bytes);
  out.u8(kVersion);
  out.u64(after_id);
  out.u32(crc32c(filter));
  return base64url_encode(bytes);
}

Result<std::uint64_t> read_cursor(std::string_view cursor, std::string_view filter) {
  std::string standard(cursor);
  for (char& c : standard) {
    if (c == '-') c = '+';
    if (c == '_') c = '/';
  }
  while (standard.size() % 4 != 0) standard += '=';
  std::string bytes;
  if (!base64_decode(standard, bytes))
    return failure(ErrorCode::invalid_argument, "cursor is not one that a list gave");
  ByteReader in(bytes);
  const bool is_known = in.u8() == kVersion;
  const std::uint64_t after_id = in.u64();
  const std::uint32_t sum = in.u32();
  if (!in.ok() || !in.at_end() || !is_known || after_id == 0) {
    return failure(ErrorCode::invalid_argument, "cursor is not one that a list gave");
  }
  if (sum != crc32c(filter))
    return failure(ErrorCode::invalid_argument, "cursor belongs to another filter or order");
  return after_id;
}

}  // namespace weir::doors::http
