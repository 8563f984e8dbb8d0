// SPDX-License-Identifier: Apache-2.0
// TLS against a real client, with certificates made here.
#include "net/tls.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "net/http_client.h"
#include "net/server_fixture_for_test.h"

namespace weir::net {
namespace {

struct FileClose {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

// A self-signed certificate for 127.0.0.1, and its key, as PEM files.
void make_certificate(const TlsFiles& files, long serial) {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* certificate = X509_new();
  X509_set_version(certificate, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 3600L * 24);
  X509_set_pubkey(certificate, key);
  X509_NAME* name = X509_get_subject_name(certificate);
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>("test"), -1, -1, 0);
  X509_set_issuer_name(certificate, name);
  X509V3_CTX context;
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  for (const auto& [kind, value] : {std::pair(NID_subject_alt_name, "IP:127.0.0.1"),
                                    std::pair(NID_basic_constraints, "critical,CA:TRUE")}) {
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value);
    X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
  }
  X509_sign(certificate, key, EVP_sha256());
  const std::unique_ptr<std::FILE, FileClose> cert_out(
      std::fopen(files.certificate_file.c_str(), "w"));
  const std::unique_ptr<std::FILE, FileClose> key_out(std::fopen(files.key_file.c_str(), "w"));
  ASSERT_EQ(PEM_write_X509(cert_out.get(), certificate), 1);
  ASSERT_EQ(PEM_write_PrivateKey(key_out.get(), key, nullptr, nullptr, 0, nullptr, nullptr), 1);
  X509_free(certificate);
  EVP_PKEY_free(key);
}

class Tls : public testing::Test {
 protected:
  Tls() {
    std::string pattern = (std::filesystem::temp_directory_path() / "weir-tls-XXXXXX").string();
    directory_ = ::mkdtemp(pattern.data());
    files_ = {.certificate_file = directory_ + "/cert.pem", .key_file = directory_ + "/key.pem"};
    make_certificate(files_, 1);
  }
  ~Tls() override { std::filesystem::remove_all(directory_); }
  HttpCall call(const ThreadedServer& s, const std::string& path) const {
    return {.url = "https://" + s.address + path, .ca_file = files_.certificate_file};
  }

  std::string directory_;
  TlsFiles files_;
};

TEST_F(Tls, requests_and_large_answers_go_through) {
  ThreadedServer s(files_);
  HttpClient client;
  HttpCall echo = call(s, "/echo");
  echo.method = "POST";
  echo.body = std::string(300'000, 'b');
  for (int i = 0; i < 3; ++i) {
    const auto answer = client.call(echo);
    ASSERT_TRUE(answer) << answer.error().detail;
    EXPECT_EQ(answer->body, echo.body);
  }
  EXPECT_EQ(s.server.connection_count(), 1U);
  const auto large = client.call(call(s, "/large"));
  ASSERT_TRUE(large);
  EXPECT_EQ(large->body.size(), s.handler.large_bytes);
}

TEST_F(Tls, a_client_without_the_certificate_refuses_us) {
  ThreadedServer s(files_);
  HttpClient client;
  HttpCall untrusting = call(s, "/echo");
  untrusting.ca_file.clear();
  const auto answer = client.call(untrusting);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::unavailable);
  EXPECT_EQ(s.handler.requests, 0);
}

TEST_F(Tls, plain_http_on_the_port_is_cut_off) {
  ThreadedServer s(files_);
  TestSocket socket(s.address);
  socket.send("GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(socket.receive_all().find("HTTP/1.1 200"), std::string::npos);
  EXPECT_EQ(s.handler.requests, 0);
}

TEST_F(Tls, reload_takes_new_files_and_keeps_the_old_ones_when_they_are_bad) {
  ThreadedServer s(files_);
  HttpClient old_connection;
  ASSERT_TRUE(old_connection.call(call(s, "/echo")));
  const std::string old_certificate = directory_ + "/old.pem";
  std::filesystem::copy_file(files_.certificate_file, old_certificate);
  const auto reload = [&s] {
    std::atomic<int> result = -1;
    s.loop.post([&] { result = s.server.reload_tls().has_value() ? 1 : 0; });
    while (result < 0) std::this_thread::yield();
    return result == 1;
  };
  make_certificate(files_, 2);
  EXPECT_TRUE(reload());
  EXPECT_TRUE(HttpClient().call(call(s, "/echo")));
  HttpCall with_old = call(s, "/echo");
  with_old.ca_file = old_certificate;
  EXPECT_FALSE(HttpClient().call(with_old));
  // With the old certificate back in the file that the clients trust, only a connection that is
  // open still works.
  const std::string new_certificate = directory_ + "/new.pem";
  std::filesystem::rename(files_.certificate_file, new_certificate);
  std::filesystem::copy_file(old_certificate, files_.certificate_file);
  EXPECT_FALSE(HttpClient().call(call(s, "/echo")));
  EXPECT_TRUE(old_connection.call(call(s, "/echo")));
  std::filesystem::rename(new_certificate, files_.certificate_file);
  std::ofstream(files_.key_file) << "rubbish";
  EXPECT_FALSE(reload());
  EXPECT_TRUE(HttpClient().call(call(s, "/echo")));
}

TEST_F(Tls, missing_or_wrong_files_refuse_to_listen) {
  EventLoop loop;
  TargetHandler handler;
  HttpServer server(loop, handler);
  TlsFiles missing{.certificate_file = directory_ + "/none.pem", .key_file = files_.key_file};
  const auto none = server.listen("127.0.0.1:0", missing);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::io_error);
  TlsFiles other{.certificate_file = directory_ + "/b.pem", .key_file = directory_ + "/bkey.pem"};
  make_certificate(other, 3);
  EXPECT_FALSE(server.listen(
      "127.0.0.1:0", {.certificate_file = files_.certificate_file, .key_file = other.key_file}));
}

// Drives the filter against an OpenSSL client in memory that offers at most `version`.
TlsSession::State handshake_with(const TlsFiles& files, int version) {
  const auto context = TlsContext::load(files);
  EXPECT_TRUE(context);
  TlsSession session(*context);
  SSL_CTX* client_context = SSL_CTX_new(TLS_client_method());
  SSL_CTX_set_security_level(client_context, 0);
  SSL_CTX_set_min_proto_version(client_context, TLS1_VERSION);
  SSL_CTX_set_max_proto_version(client_context, version);
  SSL* client = SSL_new(client_context);
  BIO* in = BIO_new(BIO_s_mem());
  BIO* out = BIO_new(BIO_s_mem());
  SSL_set_bio(client, in, out);
  SSL_set_connect_state(client);
  for (int i = 0; i < 10 && session.state() == TlsSession::State::handshake; ++i) {
    SSL_do_handshake(client);
    char* data = nullptr;
    const long size = BIO_get_mem_data(out, &data);
    std::string plain;
    std::string answer;
    // One byte at a time: records do not come whole.
    for (const char c : std::string(data, static_cast<std::size_t>(size))) {
      session.feed(std::string_view(&c, 1), plain, answer);
    }
    BIO_reset(out);
    BIO_write(in, answer.data(), static_cast<int>(answer.size()));
  }
  SSL_free(client);
  SSL_CTX_free(client_context);
  return session.state();
}

TEST_F(Tls, speaks_1_2_and_1_3_and_nothing_older) {
  EXPECT_EQ(handshake_with(files_, TLS1_3_VERSION), TlsSession::State::open);
  EXPECT_EQ(handshake_with(files_, TLS1_2_VERSION), TlsSession::State::open);
  EXPECT_EQ(handshake_with(files_, TLS1_1_VERSION), TlsSession::State::failed);
}

}  // namespace
}  // namespace weir::net
