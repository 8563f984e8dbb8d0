// SPDX-License-Identifier: Apache-2.0
#include "net/tls.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <array>
#include <utility>

namespace weir::net {
namespace {

std::string openssl_reason() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  if (code == 0) return "unknown reason";
  std::array<char, 256> text{};
  ERR_error_string_n(code, text.data(), text.size());
  return text.data();
}

int choose_protocol(SSL*, const unsigned char** out, unsigned char* out_size,
                    const unsigned char* in, unsigned int in_size, void*) {
  static constexpr std::array<unsigned char, 9> kHttp11{8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
  unsigned char* chosen = nullptr;
  const int found =
      SSL_select_next_proto(&chosen, out_size, kHttp11.data(), kHttp11.size(), in, in_size);
  if (found != OPENSSL_NPN_NEGOTIATED) return SSL_TLSEXT_ERR_NOACK;
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

}  // namespace

struct TlsContext::Handle {
  SSL_CTX* context = nullptr;
  ~Handle() { SSL_CTX_free(context); }
};

struct TlsSession::Handle {
  SSL* ssl = nullptr;
  BIO* in = nullptr;   // owned by ssl
  BIO* out = nullptr;  // owned by ssl
  ~Handle() { SSL_free(ssl); }
};

TlsContext::TlsContext(std::unique_ptr<Handle> handle) : handle_(std::move(handle)) {}
TlsContext::~TlsContext() = default;

Result<std::shared_ptr<const TlsContext>> TlsContext::load(const TlsFiles& files) {
  ERR_clear_error();
  auto handle = std::make_unique<Handle>();
  handle->context = SSL_CTX_new(TLS_server_method());
  SSL_CTX* context = handle->context;
  if (context == nullptr) return failure(ErrorCode::io_error, "TLS: " + openssl_reason());
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_options(
      context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  // Idle connections give their record buffers back.
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_alpn_select_cb(context, choose_protocol, nullptr);
  if (SSL_CTX_use_certificate_chain_file(context, files.certificate_file.c_str()) != 1) {
    return failure(ErrorCode::io_error,
                   "TLS certificate " + files.certificate_file + ": " + openssl_reason());
  }
  if (SSL_CTX_use_PrivateKey_file(context, files.key_file.c_str(), SSL_FILETYPE_PEM) != 1) {
    return failure(ErrorCode::io_error, "TLS key " + files.key_file + ": " + openssl_reason());
  }
  if (SSL_CTX_check_private_key(context) != 1) {
    return failure(ErrorCode::io_error,
                   "TLS key " + files.key_file + " does not belong to the certificate");
  }
  struct Enable : TlsContext {
    explicit Enable(std::unique_ptr<Handle> h) : TlsContext(std::move(h)) {}
  };
  return std::make_shared<const Enable>(std::move(handle));
}

TlsSession::TlsSession(std::shared_ptr<const TlsContext> context)
    : context_(std::move(context)), handle_(std::make_unique<Handle>()) {
  handle_->ssl = SSL_new(context_->handle().context);
  handle_->in = BIO_new(BIO_s_mem());
  handle_->out = BIO_new(BIO_s_mem());
  if (handle_->ssl == nullptr || handle_->in == nullptr || handle_->out == nullptr) {
    state_ = State::failed;
    return;
  }
  SSL_set_bio(handle_->ssl, handle_->in, handle_->out);
  SSL_set_accept_state(handle_->ssl);
}

TlsSession::~TlsSession() = default;

void TlsSession::take_output(std::string& cipher_out) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(handle_->out, &data);
  if (size <= 0) return;
  cipher_out.append(data, static_cast<std::size_t>(size));
  (void)BIO_reset(handle_->out);
}

TlsSession::State TlsSession::fail_or_close(int result) {
  const int reason = SSL_get_error(handle_->ssl, result);
  if (reason == SSL_ERROR_WANT_READ || reason == SSL_ERROR_WANT_WRITE) return state_;
  ERR_clear_error();
  state_ = reason == SSL_ERROR_ZERO_RETURN ? State::closed : State::failed;
  return state_;
}

TlsSession::State TlsSession::feed(std::string_view cipher_in, std::string& plain,
                                   std::string& cipher_out) {
  if (state_ == State::failed || state_ == State::closed) return state_;
  ERR_clear_error();
  if (BIO_write(handle_->in, cipher_in.data(), static_cast<int>(cipher_in.size())) !=
      static_cast<int>(cipher_in.size())) {
    return state_ = State::failed;
  }
  if (state_ == State::handshake) {
    const int result = SSL_do_handshake(handle_->ssl);
    if (result == 1) {
      state_ = State::open;
    } else {
      fail_or_close(result);
    }
  }
  std::array<char, 16 * 1024> buffer;
  while (state_ == State::open) {
    const int count = SSL_read(handle_->ssl, buffer.data(), static_cast<int>(buffer.size()));
    if (count <= 0) {
      fail_or_close(count);
      break;
    }
    plain.append(buffer.data(), static_cast<std::size_t>(count));
  }
  take_output(cipher_out);  // also the alert of a failure
  return state_;
}

bool TlsSession::encrypt(std::string_view plain, std::string& cipher_out) {
  ERR_clear_error();
  // The output is memory: either all is taken or the session is broken.
  const int count = SSL_write(handle_->ssl, plain.data(), static_cast<int>(plain.size()));
  if (count != static_cast<int>(plain.size())) {
    state_ = State::failed;
    return false;
  }
  take_output(cipher_out);
  return true;
}

void TlsSession::shutdown(std::string& cipher_out) {
  if (state_ != State::open && state_ != State::closed) return;
  ERR_clear_error();
  SSL_shutdown(handle_->ssl);
  take_output(cipher_out);
}

}  // namespace weir::net
