// SPDX-License-Identifier: Apache-2.0
// Signatures as the Standard Webhooks specification has them: HMAC-SHA256 over "id.timestamp.body",
// base64, "v1,…".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace weir::worker {

// The key of a secret "whsec_" + base64. Errors: invalid_argument (the prefix, the base64, or not
// 24 to 64 bytes).
Result<std::string> parse_webhook_secret(std::string_view text);

// The value of the webhook-signature header.
std::string webhook_signature(std::string_view key, std::string_view id, std::int64_t timestamp_s,
                              std::string_view body);

}  // namespace weir::worker
