// SPDX-License-Identifier: Apache-2.0
// Digests, keyed hashes and secure randomness; OpenSSL stays behind digest.cc.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace weir {

struct Hash128 {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  constexpr bool operator==(const Hash128&) const = default;
  constexpr auto operator<=>(const Hash128&) const = default;
};

using Sha256 = std::array<std::uint8_t, 32>;

// SHA-256 and HMAC-SHA-256 of whole texts. Never fail. Thread-safe.
Sha256 sha256(std::string_view data);
Sha256 hmac_sha256(std::string_view key, std::string_view data);

// SipHash-2-4 with a 128-bit key and a 128-bit answer: unguessable without the key, about 20 ns for
// short input.
Hash128 siphash128(const Hash128& key, std::string_view data);

// CRC32C (Castagnoli), SSE4.2 where the processor has it, a table elsewhere. `seed` continues an
// earlier sum.
std::uint32_t crc32c(std::string_view data, std::uint32_t seed = 0);

// Bytes from the kernel's generator. Aborts when the kernel has none.
void secure_random(std::span<std::uint8_t> out);
std::uint64_t secure_random_u64();
Hash128 secure_random_128();

// Compares without telling by its duration where the texts differ.
bool constant_time_equal(std::string_view a, std::string_view b);

// Lower-case hexadecimal and standard base64 with padding.
std::string to_hex(std::span<const std::uint8_t> bytes);
std::string to_hex(const Hash128& hash);
std::string base64_encode(std::string_view bytes);
// False when `text` is not base64 (padding required); `out` is then unspecified.
bool base64_decode(std::string_view text, std::string& out);
// URL-safe base64 without padding, as tokens use it.
std::string base64url_encode(std::string_view bytes);

}  // namespace weir
