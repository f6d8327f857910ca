// rz.h: sessions.
#include <algorithm>
#include <limits>

#include "api/buffers.h"
#include "api/handles.h"
#include "api/versioned.h"
#include "engine/session_file.h"

namespace rz::api {

namespace {

int32_t count_argument(size_t value, const char *name) {
  if (value <= static_cast<size_t>(std::numeric_limits<int32_t>::max())) return static_cast<int32_t>(value);
  fail(Status::Argument, "%s: expected at most %d, found %zu", name, std::numeric_limits<int32_t>::max(),
       value);
}

rz_session *make_handle(rz_model *model, std::shared_ptr<Session> session) {
  return new rz_session{ModelReference(model), std::move(session)};
}

}  // namespace

}  // namespace rz::api

using namespace rz::api;

rz_status rz_session_open(rz_model *model, const rz_session_options *options, rz_session **out,
                          rz_error *err) {
  return guard(err, [&] {
    need(out, "out");
    *out = nullptr;
    rz::Engine &engine = engine_of(model);
    const rz_session_options o = take_or_default(options, "options");
    check_flags(o.flags, 0, "options.flags");
    *out = make_handle(model, std::make_shared<rz::Session>(engine, o.context_length));
  });
}

void rz_session_free(rz_session *session) { delete session; }

rz_status rz_session_eval(rz_session *session, const int32_t *tokens, size_t n_tokens, float *logits,
                          size_t n_rows, rz_error *err) {
  return guard(err, [&] {
    need(session, "session");
    check_tokens(session->model.get(), tokens, n_tokens, "tokens");
    session->session->eval({tokens, n_tokens}, logits, count_argument(n_rows, "n_rows"));
  });
}

rz_status rz_session_tokens(const rz_session *session, int32_t *tokens, size_t capacity, size_t *count,
                            rz_error *err) {
  return guard(err, [&] {
    need(session, "session");
    const std::vector<int32_t> all = session->session->tokens();
    check_capacity(all.size(), tokens, capacity, count);
    std::ranges::copy(all, tokens);
  });
}

rz_status rz_session_rewind(rz_session *session, size_t n_tokens, rz_error *err) {
  return guard(err, [&] {
    need(session, "session");
    session->session->rewind(count_argument(n_tokens, "n_tokens"));
  });
}

rz_status rz_session_fork(const rz_session *session, rz_session **out, rz_error *err) {
  return guard(err, [&] {
    need(out, "out");
    *out = nullptr;
    need(session, "session");
    *out = make_handle(session->model.get(), session->session->fork());
  });
}

rz_status rz_session_save(const rz_session *session, const char *path, rz_error *err) {
  return guard(err, [&] {
    need(session, "session");
    need(path, "path");
    rz::SessionFile::save(*session->session, path);
  });
}

rz_status rz_session_load(rz_model *model, const char *path, rz_session **out, rz_error *err) {
  return guard(err, [&] {
    need(out, "out");
    *out = nullptr;
    rz::Engine &engine = engine_of(model);
    need(path, "path");
    *out = make_handle(model, rz::SessionFile::load(engine, path));
  });
}
