// SPDX-License-Identifier: Apache-2.0
// See webhook_signature.h.
#include "worker/webhook_signature.h"

#include <fmt/format.h>

#include "base/digest.h"
#include "base/text.h"

namespace weir::worker {
namespace {
constexpr std::string_view kPrefix = "whsec_";
constexpr std::size_t kKeyBytesMin = 24;
constexpr std::size_t kKeyBytesMax = 64;
}  // namespace

Result<std::string> parse_webhook_secret(std::string_view text) {
  text = trim(text);
  std::string key;
  if (!text.starts_with(kPrefix) || !base64_decode(text.substr(kPrefix.size()), key)) {
    return failure(ErrorCode::invalid_argument,
                   "a webhook secret is \"whsec_\" and base64 after it");
  }
  if (key.size() < kKeyBytesMin || key.size() > kKeyBytesMax) {
    return failure(ErrorCode::invalid_argument,
                   fmt::format("a webhook secret has {} to {} bytes, this one has {}", kKeyBytesMin,
                               kKeyBytesMax, key.size()));
  }
  return key;
}

std::string webhook_signature(std::string_view key, std::string_view id, std::int64_t timestamp_s,
                              std::string_view body) {
  const std::string signed_text = fmt::format("{}.{}.{}", id, timestamp_s, body);
  const Sha256 digest = hmac_sha256(key, signed_text);
  return "v1," + base64_encode({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

}  // namespace weir::worker
