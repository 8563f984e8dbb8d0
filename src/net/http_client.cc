// SPDX-License-Identifier: Apache-2.0
#include "net/http_client.h"

#include <curl/curl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "net/address_policy.h"
#include "net/name_lookup.h"

namespace weir::net {
namespace {

constexpr std::size_t kResponseHeaderBytesMax = 256 * 1024;

// Once, before the first handle; libcurl undoes it at exit by itself.
bool initialise() {
  static const bool ok = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  return ok;
}

struct ListFree {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using CurlList = std::unique_ptr<curl_slist, ListFree>;

void append(CurlList& list, const std::string& text) {
  curl_slist* longer = curl_slist_append(list.get(), text.c_str());
  if (longer == nullptr) return;
  (void)list.release();
  list.reset(longer);
}

// What libcurl's callbacks see of one call.
struct Exchange {
  const HttpCall& call;
  UrlTarget target;
  HttpResponse response;
  std::size_t header_bytes = 0;
  bool is_refused = false;
  bool is_too_large = false;
  bool is_ended_by_reader = false;
  bool is_cancelled = false;
};

Exchange& exchange_of(void* context) { return *static_cast<Exchange*>(context); }

std::size_t on_header(char* data, std::size_t, std::size_t size, void* context) {
  Exchange& exchange = exchange_of(context);
  exchange.header_bytes += size;
  if (exchange.header_bytes > kResponseHeaderBytesMax) {
    exchange.is_too_large = true;
    return 0;
  }
  const std::string_view line = trim(std::string_view(data, size));
  if (line.starts_with("HTTP/")) {
    // A further head (after 100 Continue): the last one counts.
    exchange.response.headers.clear();
    exchange.response.content_type.clear();
    return size;
  }
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return size;
  std::string name = to_lower(line.substr(0, colon));
  std::string value(trim(line.substr(colon + 1)));
  if (name == "content-type") exchange.response.content_type = value;
  exchange.response.headers.emplace_back(std::move(name), std::move(value));
  return size;
}

std::size_t on_body(char* data, std::size_t, std::size_t size, void* context) {
  Exchange& exchange = exchange_of(context);
  if (exchange.call.on_body) {
    if (exchange.call.on_body(std::string_view(data, size))) return size;
    exchange.is_ended_by_reader = true;
    return 0;
  }
  if (exchange.response.body.size() + size > exchange.call.response_bytes_max) {
    exchange.is_too_large = true;
    return 0;
  }
  exchange.response.body.append(data, size);
  return size;
}

int on_progress(void* context, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  Exchange& exchange = exchange_of(context);
  if (exchange.call.cancel != nullptr && exchange.call.cancel->load()) exchange.is_cancelled = true;
  return exchange.is_cancelled ? 1 : 0;
}

// The last gate: this very address is connected to next.
curl_socket_t open_socket(void* context, curlsocktype, curl_sockaddr* address) {
  Exchange& exchange = exchange_of(context);
  if (!may_connect(exchange.call.addresses, exchange.target, address->addr)) {
    exchange.is_refused = true;
    return CURL_SOCKET_BAD;
  }
  return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

void set_body(CURL* curl, const HttpCall& call) {
  curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, call.method.c_str());
  if (call.method == "HEAD") {
    curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
  } else if (!call.body.empty() || call.method == "POST" || call.method == "PUT" ||
             call.method == "PATCH") {
    curl_easy_setopt(curl, CURLOPT_POST, 1L);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, call.body.data());
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(call.body.size()));
  } else {
    curl_easy_setopt(curl, CURLOPT_HTTPGET, 1L);
  }
}

void set_options(CURL* curl, Exchange& exchange) {
  const HttpCall& call = exchange.call;
  curl_easy_setopt(curl, CURLOPT_URL, call.url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(curl, CURLOPT_PROXY, "");  // also shuts out the proxy variables
  curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
  curl_easy_setopt(curl, CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "weir/" WEIR_VERSION);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(call.connect_timeout_ms));
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, static_cast<long>(call.timeout_ms));
  curl_easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L);
  if (!call.ca_file.empty()) curl_easy_setopt(curl, CURLOPT_CAINFO, call.ca_file.c_str());
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, &exchange);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &exchange);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &exchange);
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl, CURLOPT_OPENSOCKETFUNCTION, open_socket);
  curl_easy_setopt(curl, CURLOPT_OPENSOCKETDATA, &exchange);
  set_body(curl, call);
}

Result<HttpResponse> result_of(CURL* curl, CURLcode code, Exchange& exchange, const char* text,
                               bool* timed_out) {
  long status = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  exchange.response.status = static_cast<int>(status);
  if (code == CURLE_OK || exchange.is_ended_by_reader) return std::move(exchange.response);
  if (exchange.is_too_large) {
    return failure(ErrorCode::too_large,
                   "the answer is larger than " + format_size(exchange.call.response_bytes_max));
  }
  if (exchange.is_cancelled) return failure(ErrorCode::unavailable, "the call was cancelled");
  if (exchange.is_refused) {
    return failure(ErrorCode::permission_denied,
                   "the address of the host is not public and therefore not allowed");
  }
  if (code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL ||
      code == CURLE_LOGIN_DENIED) {
    return failure(ErrorCode::invalid_argument, std::string("URL: ") + curl_easy_strerror(code));
  }
  if (code == CURLE_OPERATION_TIMEDOUT && timed_out != nullptr) *timed_out = true;
  return failure(ErrorCode::unavailable, *text != 0 ? text : curl_easy_strerror(code));
}

// Does libcurl read the same host and port in the URL as we did? Two readers that disagree are an
// attack.
bool is_read_alike(const std::string& url, const UrlTarget& target) {
  CURLU* parsed = curl_url();
  char* host = nullptr;
  char* port = nullptr;
  bool same = parsed != nullptr &&
              curl_url_set(parsed, CURLUPART_URL, url.c_str(), 0) == CURLUE_OK &&
              curl_url_get(parsed, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
              curl_url_get(parsed, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK;
  if (same) {
    std::string text = to_lower(host);
    if (text.starts_with('[')) text = text.substr(1, text.size() - 2);
    // libcurl writes IPv6 addresses in their shortest form: only names and IPv4 can be compared as
    // text.
    same = (text == target.host || target.host.find(':') != std::string::npos) &&
           port == std::to_string(target.port);
  }
  curl_free(host);
  curl_free(port);
  curl_url_cleanup(parsed);
  return same;
}

}  // namespace

struct HttpClient::Impl {
  explicit Impl(Resolver given)
      : resolver(given ? std::move(given) : Resolver(resolve_by_system)) {}
  ~Impl() {
    for (CURL* handle : handles) curl_easy_cleanup(handle);
  }
  Result<void> pin_addresses(CURL* curl, const Exchange& exchange, CurlList& pinned,
                             bool* timed_out);

  Resolver resolver;
  // One per policy: a connection that one policy let through must not be reused under another.
  std::array<CURL*, 3> handles{};
};

// Resolves the host once, checks every address, and ties libcurl to exactly these (+: for as long
// as its cache keeps names, not for ever).
Result<void> HttpClient::Impl::pin_addresses(CURL* curl, const Exchange& exchange, CurlList& pinned,
                                             bool* timed_out) {
  const HttpCall& call = exchange.call;
  const UrlTarget& target = exchange.target;
  if (call.addresses == AddressPolicy::any) return {};
  if (target.is_address) return check_addresses(call.addresses, target, {target.host});
  WEIR_TRY_ASSIGN(const std::vector<std::string> addresses,
                  look_up(resolver, target.host, call.connect_timeout_ms, call.cancel, timed_out));
  WEIR_TRY(check_addresses(call.addresses, target, addresses));
  std::string entry = "+" + target.host + ":" + std::to_string(target.port) + ":";
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const bool is_v6 = addresses[i].find(':') != std::string::npos;
    entry += (i > 0 ? "," : "") + (is_v6 ? "[" + addresses[i] + "]" : addresses[i]);
  }
  append(pinned, entry);
  curl_easy_setopt(curl, CURLOPT_RESOLVE, pinned.get());
  return {};
}

HttpClient::HttpClient(Resolver resolver) : impl_(std::make_unique<Impl>(std::move(resolver))) {}
HttpClient::~HttpClient() = default;

Result<HttpResponse> HttpClient::call(const HttpCall& call, bool* timed_out) {
  if (timed_out != nullptr) *timed_out = false;
  if (!initialise()) return failure(ErrorCode::internal, "libcurl does not start");
  WEIR_TRY_ASSIGN(UrlTarget target, parse_target(call.url));
  if (!is_read_alike(call.url, target))
    return failure(ErrorCode::invalid_argument, "URL: cannot be read for sure");
  CURL*& curl = impl_->handles[static_cast<std::size_t>(call.addresses)];
  if (curl == nullptr) curl = curl_easy_init();
  if (curl == nullptr) return failure(ErrorCode::internal, "libcurl gives no handle");
  curl_easy_reset(curl);  // options only: connections stay
  Exchange exchange{.call = call, .target = std::move(target), .response = {}};
  CurlList headers;
  for (const auto& [name, value] : call.headers) {
    const bool is_clean =
        (name + value).find_first_of(std::string_view("\r\n\0", 3)) == std::string::npos;
    if (!is_clean)
      return failure(ErrorCode::invalid_argument, "the header " + name + " has a line break");
    // libcurl's way to say "present and empty".
    append(headers, value.empty() ? name + ";" : name + ": " + value);
  }
  append(headers, "Expect:");  // else libcurl waits a second for large bodies to be asked for
  std::array<char, CURL_ERROR_SIZE> text{};
  CurlList pinned;
  set_options(curl, exchange);
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, text.data());
  WEIR_TRY(impl_->pin_addresses(curl, exchange, pinned, timed_out));
  const CURLcode code = curl_easy_perform(curl);
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, nullptr);
  return result_of(curl, code, exchange, text.data(), timed_out);
}

}  // namespace weir::net
