// Saved sessions: tokens and KV pages of one timeline in a file that only the same model reads back.
// Everything in it is covered by a checksum, and nothing is taken over before all of it has been checked.
//
//   header | tokens: (n_tokens) int32 | pages: (n_pages, page_bytes) | checksum: uint64
#pragma once

#include <memory>
#include <string>

#include "engine/session.h"

namespace rz {

class SessionFile {
 public:
  // The old file or the whole new one is there afterwards.
  static void save(const Session &session, const std::string &path);
  // Throws Io where there is no such file; State where it is damaged or of another model; Context or Limit
  // where this engine has no room for it.
  static std::shared_ptr<Session> load(Engine &engine, const std::string &path);
};

}  // namespace rz
