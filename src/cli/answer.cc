// SPDX-License-Identifier: Apache-2.0
// See answer.h.
#include "cli/answer.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <fstream>
#include <iterator>
#include <ostream>

#include "base/text.h"
#include "cli/table.h"
#include "client/json_slice.h"

namespace weir::cli {

std::unique_ptr<client::Client> make_client(const Session& session) {
  client::Options options;
  options.urls = split(session.url, ',');
  options.token = session.token;
  options.ca_file = session.ca;
  return std::make_unique<client::Client>(std::move(options));
}

std::string plain(std::string_view value) {
  if (value == "null") return {};
  if (!value.starts_with('"')) return std::string(value);
  boost::json::error_code error;
  const boost::json::value text = boost::json::parse({value.data(), value.size()}, error);
  return error || !text.is_string() ? std::string(value) : std::string(text.get_string());
}

std::string field(std::string_view json, std::string_view path) {
  const std::size_t dot = path.find('.');
  const std::string_view value = client::json_member(json, path.substr(0, dot));
  if (dot != std::string_view::npos) return field(value, path.substr(dot + 1));
  return plain(value);
}

std::string joined(std::string_view json, std::string_view name, std::string_view separator) {
  std::string out;
  for (const std::string_view element : client::json_elements(client::json_member(json, name))) {
    if (!out.empty()) out += separator;
    out += plain(element);
  }
  return out;
}

int report(Session& session, const Error& error) {
  const ErrorInfo& info = error_info(error.code);
  if (session.json) {
    session.err << fmt::format("{{\"code\":\"{}\",\"detail\":{}}}\n", info.text,
                               json_string(error.detail));
  } else {
    session.err << fmt::format(
        "weir: {} ({})\n", printable(error.detail.empty() ? info.title : error.detail), info.text);
    if (error.retry_after_ms > 0) {
      session.err << fmt::format("weir: try again in {}\n", format_duration(error.retry_after_ms));
    }
  }
  return info.exit_code;
}

int usage(Session& session, std::string_view problem) {
  session.err << "weir: " << problem << '\n';
  return kExitUsage;
}

void print_json(Session& session, std::string_view json) { session.out << trim(json) << '\n'; }

Result<std::string> read_data(Session& session, const std::string& data) {
  if (data == "-") return std::string(std::istreambuf_iterator<char>(session.in), {});
  if (!data.starts_with('@')) return data;
  std::ifstream file(data.substr(1), std::ios::binary);
  if (!file) return failure(ErrorCode::not_found, "cannot read " + data.substr(1));
  return std::string(std::istreambuf_iterator<char>(file), {});
}

}  // namespace weir::cli
