// SPDX-License-Identifier: Apache-2.0
// SHA-256 and HMAC by OpenSSL; SipHash, CRC32C and base64 here (Debian has no small library for
// them).
#include "base/digest.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>

#include <bit>
#include <cerrno>
#include <cstring>

#include "base/assert.h"

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace weir {
namespace {

std::uint64_t load_u64(const char* at) {
  std::uint64_t v = 0;
  std::memcpy(&v, at, sizeof v);
  return v;
}

struct SipState {
  std::uint64_t v0, v1, v2, v3;
  void round() {
    v0 += v1;
    v1 = std::rotl(v1, 13) ^ v0;
    v0 = std::rotl(v0, 32);
    v2 += v3;
    v3 = std::rotl(v3, 16) ^ v2;
    v0 += v3;
    v3 = std::rotl(v3, 21) ^ v0;
    v2 += v1;
    v1 = std::rotl(v1, 17) ^ v2;
    v2 = std::rotl(v2, 32);
  }
};

constexpr std::array<std::uint32_t, 256> make_crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78U : 0U);
    table[i] = crc;
  }
  return table;
}
constexpr std::array<std::uint32_t, 256> kCrcTable = make_crc_table();

std::uint32_t crc32c_table(const char* at, std::size_t size, std::uint32_t crc) {
  for (std::size_t i = 0; i < size; ++i) {
    crc = (crc >> 8) ^ kCrcTable[(crc ^ static_cast<std::uint8_t>(at[i])) & 0xFF];
  }
  return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t crc32c_sse42(const char* at, std::size_t size,
                                                             std::uint32_t crc) {
  std::uint64_t wide = crc;
  for (; size >= 8; at += 8, size -= 8) wide = _mm_crc32_u64(wide, load_u64(at));
  crc = static_cast<std::uint32_t>(wide);
  for (; size > 0; ++at, --size) crc = _mm_crc32_u8(crc, static_cast<std::uint8_t>(*at));
  return crc;
}
#endif

constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view kBase64Url =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

std::string encode_64(std::string_view bytes, std::string_view alphabet, bool pad) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      group = (group << 8) | (j < count ? static_cast<std::uint8_t>(bytes[i + j]) : 0U);
    }
    for (std::size_t j = 0; j < 4; ++j) {
      if (j <= count) {
        out += alphabet[(group >> (18 - 6 * j)) & 63];
      } else if (pad) {
        out += '=';
      }
    }
  }
  return out;
}

}  // namespace

Sha256 sha256(std::string_view data) {
  Sha256 out{};
  const int ok = EVP_Digest(data.data(), data.size(), out.data(), nullptr, EVP_sha256(), nullptr);
  WEIR_ASSERT(ok == 1, ok);
  return out;
}

Sha256 hmac_sha256(std::string_view key, std::string_view data) {
  Sha256 out{};
  unsigned int size = 0;
  const auto* done =
      HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
           reinterpret_cast<const unsigned char*>(data.data()), data.size(), out.data(), &size);
  WEIR_ASSERT(done != nullptr && size == out.size(), size);
  return out;
}

Hash128 siphash128(const Hash128& key, std::string_view data) {
  SipState s{0x736F6D6570736575ULL ^ key.low, 0x646F72616E646F6DULL ^ key.high ^ 0xEE,
             0x6C7967656E657261ULL ^ key.low, 0x7465646279746573ULL ^ key.high};
  const std::size_t whole = data.size() / 8 * 8;
  for (std::size_t i = 0; i < whole; i += 8) {
    const std::uint64_t m = load_u64(data.data() + i);
    s.v3 ^= m;
    s.round();
    s.round();
    s.v0 ^= m;
  }
  std::uint64_t last = static_cast<std::uint64_t>(data.size()) << 56;
  for (std::size_t i = whole; i < data.size(); ++i) {
    last |= static_cast<std::uint64_t>(static_cast<std::uint8_t>(data[i])) << (8 * (i - whole));
  }
  s.v3 ^= last;
  s.round();
  s.round();
  s.v0 ^= last;
  s.v2 ^= 0xEE;
  for (int i = 0; i < 4; ++i) s.round();
  Hash128 out;
  out.low = s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
  s.v1 ^= 0xDD;
  for (int i = 0; i < 4; ++i) s.round();
  out.high = s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
  return out;
}

std::uint32_t crc32c(std::string_view data, std::uint32_t seed) {
  const std::uint32_t start = ~seed;
#if defined(__x86_64__)
  static const bool has_sse42 = __builtin_cpu_supports("sse4.2") != 0;
  if (has_sse42) return ~crc32c_sse42(data.data(), data.size(), start);
#endif
  return ~crc32c_table(data.data(), data.size(), start);
}

void secure_random(std::span<std::uint8_t> out) {
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t got = getrandom(out.data() + done, out.size() - done, 0);
    if (got < 0 && errno == EINTR) continue;
    WEIR_ASSERT(got > 0, errno);
    done += static_cast<std::size_t>(got);
  }
}

std::uint64_t secure_random_u64() {
  std::array<std::uint8_t, 8> bytes{};
  secure_random(bytes);
  return std::bit_cast<std::uint64_t>(bytes);
}

Hash128 secure_random_128() { return {secure_random_u64(), secure_random_u64()}; }

bool constant_time_equal(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned char difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  return difference == 0;
}

std::string to_hex(std::span<const std::uint8_t> bytes) {
  static constexpr std::string_view kHex = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const std::uint8_t b : bytes) {
    out += kHex[b >> 4];
    out += kHex[b & 15];
  }
  return out;
}

std::string to_hex(const Hash128& hash) {
  std::array<std::uint8_t, 16> bytes{};
  for (std::size_t i = 0; i < 8; ++i) {
    bytes[i] = static_cast<std::uint8_t>(hash.high >> (56 - 8 * i));
    bytes[8 + i] = static_cast<std::uint8_t>(hash.low >> (56 - 8 * i));
  }
  return to_hex(bytes);
}

std::string base64_encode(std::string_view bytes) { return encode_64(bytes, kBase64, true); }
std::string base64url_encode(std::string_view bytes) { return encode_64(bytes, kBase64Url, false); }

bool base64_decode(std::string_view text, std::string& out) {
  out.clear();
  if (text.size() % 4 != 0) return false;
  out.reserve(text.size() / 4 * 3);
  for (std::size_t i = 0; i < text.size(); i += 4) {
    const bool is_last = i + 4 == text.size();
    std::uint32_t group = 0;
    std::size_t padding = 0;
    for (std::size_t j = 0; j < 4; ++j) {
      const char c = text[i + j];
      const std::size_t value = kBase64.find(c);
      if (c == '=' && is_last && j >= 2) {
        ++padding;
        group <<= 6;
      } else if (value == std::string_view::npos || padding > 0) {
        return false;
      } else {
        group = (group << 6) | static_cast<std::uint32_t>(value);
      }
    }
    // Bits that the padding leaves over must be zero: one text for one value.
    if ((padding == 1 && (group & 0xFF) != 0) || (padding == 2 && (group & 0xFFFF) != 0))
      return false;
    for (std::size_t j = 0; j < 3 - padding; ++j)
      out += static_cast<char>((group >> (16 - 8 * j)) & 0xFF);
  }
  return true;
}

}  // namespace weir
