// SPDX-License-Identifier: Apache-2.0
// weir token create|ls|revoke
#include <fmt/format.h>

#include <memory>
#include <ostream>

#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/option_values.h"
#include "cli/table.h"
#include "client/json_slice.h"

namespace weir::cli {
namespace {

struct Flags {
  std::string name, expires, id;
  std::vector<std::string> scopes, queues;
};

std::string json_list(const std::vector<std::string>& values) {
  std::string out = "[";
  for (const std::string& value : values) out += (out.size() == 1 ? "" : ",") + json_string(value);
  return out + "]";
}

int create_token(Session& session, const Flags& flags) {
  std::string body = "{\"scopes\":" + json_list(flags.scopes);
  if (!flags.name.empty()) body += ",\"name\":" + json_string(flags.name);
  if (!flags.queues.empty()) body += ",\"queues\":" + json_list(flags.queues);
  if (!flags.expires.empty()) {
    // A duration from now, or an instant.
    if (const auto duration_ms = parse_duration_ms(flags.expires)) {
      body += fmt::format(",\"expires_in\":{}", *duration_ms);
    } else if (parse_rfc3339(flags.expires)) {
      body += ",\"expires_at\":" + json_string(flags.expires);
    } else {
      return usage(
          session,
          fmt::format("--expires: \"{}\" is neither a duration (30d) nor a time (RFC 3339)",
                      cut_utf8(flags.expires, 64)));
    }
  }
  const auto answer = make_client(session)->request("POST", "/v1/tokens", {}, body + "}");
  if (!answer) return report(session, answer.error());
  if (session.json) {
    print_json(session, *answer);
    return kExitOk;
  }
  session.out << field(*answer, "token") << '\n';
  session.err << fmt::format(
      "weir: token {} is made; its secret is shown this once and kept nowhere\n",
      printable(field(*answer, "id")));
  return kExitOk;
}

int list_tokens(Session& session) {
  const auto answer = make_client(session)->request("GET", "/v1/tokens");
  if (!answer) return report(session, answer.error());
  if (session.json) {
    print_json(session, *answer);
    return kExitOk;
  }
  Table table({"ID", "NAME", "SCOPES", "QUEUES", "CREATED", "EXPIRES", "STATE"});
  for (const std::string_view token :
       client::json_elements(client::json_member(*answer, "tokens"))) {
    const bool is_revoked = field(token, "revoked") == "true";
    const bool is_expired = field(token, "expired") == "true";
    const std::string queues = joined(token, "queues", ",");
    table.add({field(token, "id"), field(token, "name"), joined(token, "scopes", ","),
               queues.empty() ? "*" : queues, field(token, "created_at"),
               field(token, "expires_at"),
               is_revoked   ? "revoked"
               : is_expired ? "expired"
                            : "valid"});
  }
  session.out << table.text();
  return kExitOk;
}

}  // namespace

void add_token(Command& root) {
  Command& token = root.add("token", "Make and revoke API tokens");
  token.details =
      "The first token closes a server that was open on loopback: from then on every call needs "
      "one.";
  token.examples = {"weir token create --name ops --scope admin", "weir token ls"};

  auto flags = std::make_shared<Flags>();
  Command& create = token.add("create", "Make a token and print its secret, once");
  create.examples = {
      "weir token create --name ops --scope admin",
      "weir token create --name mailer --scope work --queue 'emails*' --expires 90d"};
  create.add_text("--name", "NAME", flags->name, "What it is for");
  Option& scope = create.add_list("--scope", "SCOPE", flags->scopes, "What it may do");
  scope.choices = {"enqueue", "work", "read", "operate", "admin"};
  scope.splits = true;
  scope.required = true;
  create
      .add_list("--queue", "PATTERN", flags->queues, "On these queues only; * stands for anything")
      .splits = true;
  create.add_text("--expires", "WHEN", flags->expires, "A duration (90d) or a time (RFC 3339)");
  create.run = [flags](Session& session) { return create_token(session, *flags); };

  Command& ls = token.add("ls", "List the tokens, without their secrets");
  ls.examples = {"weir token ls"};
  ls.run = list_tokens;

  flags = std::make_shared<Flags>();
  Command& revoke = token.add("revoke", "End a token now");
  revoke.examples = {"weir token revoke wt_Zk3n9sLw0aQx"};
  revoke.add_text("id", "ID", flags->id, "Id of the token, as ls shows it").required = true;
  revoke.run = [flags](Session& session) {
    const auto answer =
        make_client(session)->request("DELETE", "/v1/tokens/" + client::path_segment(flags->id));
    if (!answer) return report(session, answer.error());
    if (session.json) {
      print_json(session, answer->empty() ? "{}" : *answer);
    } else {
      session.out << "revoked\n";
    }
    return kExitOk;
  };
}

}  // namespace weir::cli
