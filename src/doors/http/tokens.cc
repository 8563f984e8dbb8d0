// SPDX-License-Identifier: Apache-2.0
// Tokens: made, listed, revoked. A secret is shown once and never kept.
#include <fmt/format.h>

#include "base/text.h"
#include "doors/http/handlers.h"
#include "doors/http/json_writer.h"
#include "doors/http/parser.h"
#include "doors/http/reply.h"
#include "doors/http/session.h"

namespace weir::doors::http {
namespace {

// A token that is bound to some queues or another namespace sees and ends only its like.
bool is_within(const Caller& caller, const core::ApiToken& token) {
  TokenWish wish{.queues = token.queues, .namespace_id = token.namespace_id};
  return check_wish(caller, wish).has_value();
}

Result<NewToken> token_of(Call& call) {
  const WallTime now = call.door().wall_now();
  WEIR_TRY_ASSIGN(TokenWish wish, parse_token_wish(call.body(), now));
  if (call.principal().namespace_id != 0 && wish.namespace_id == 0)
    wish.namespace_id = call.principal().namespace_id;
  WEIR_TRY(check_wish(call.caller(), wish));
  return make_token(wish, now, call.principal().id);
}

HttpResponse show_new(const NewToken& made, const core::Answer& answer, bool is_first,
                      WallTime now) {
  HttpResponse response;
  response.status = 201;
  JsonWriter out(response.body);
  out.begin_object();
  if (answer.replayed) {
    // What was stored with the key names the token; its secret was shown with the first answer
    // only.
    const auto* changed = std::get_if<core::TokenChanged>(&answer.outcome);
    out.text("id", changed != nullptr ? std::string_view(changed->id) : std::string_view());
    out.null("token").text("note", "the secret was shown once, with the first answer");
    out.end_object();
    return response;
  }
  write_token(out, made.token, now);
  out.text("token", made.text);
  out.key("warnings").begin_array();
  if (is_first) out.text("the server is closed from now on: every call needs a token");
  if (is_first && (made.token.scopes & scope_bit(core::Scope::admin)) == 0) {
    out.text("no token has scope admin: none can be made over HTTP any more");
  }
  out.end_array().end_object();
  return response;
}

}  // namespace

void list_tokens(const CallPtr& call) {
  HttpResponse response;
  JsonWriter out(response.body);
  out.begin_object().key("tokens").begin_array();
  for (const core::ApiToken& token : call->engine().tokens()) {
    if (!is_within(call->caller(), token)) continue;
    out.begin_object();
    write_token(out, token, call->door().wall_now());
    out.end_object();
  }
  out.end_array().end_object();
  call->reply(std::move(response));
}

void create_token(const CallPtr& call) {
  Result<NewToken> made = token_of(*call);
  if (!made) return call->refuse(made.error());
  const bool is_first = !call->engine().has_tokens();
  core::PutToken put{.token = made->token};
  const WallTime now = call->door().wall_now();
  call->submit(core::Command(std::move(put)),
               [made = std::move(*made), is_first, now](const core::Answer& answer) {
                 return show_new(made, answer, is_first, now);
               });
}

void revoke_token(const CallPtr& call) {
  const core::ApiToken* token = call->engine().find_token(call->parameter());
  if (token == nullptr || !is_within(call->caller(), *token)) {
    return call->refuse(Error{.code = ErrorCode::not_found,
                              .detail = fmt::format("there is no token {}",
                                                    json_string(cut_utf8(call->parameter(), 64)))});
  }
  call->submit(core::Command(core::RevokeToken{.id = call->parameter()}),
               [](const core::Answer& answer) {
                 HttpResponse response;
                 JsonWriter out(response.body);
                 const auto* changed = std::get_if<core::TokenChanged>(&answer.outcome);
                 out.begin_object().text(
                     "id", changed != nullptr ? std::string_view(changed->id) : std::string_view());
                 out.flag("revoked", true).end_object();
                 return response;
               });
}

}  // namespace weir::doors::http
