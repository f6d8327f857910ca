// One sequence of tokens on an executor, for tests: its pages, and batches made from it.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "model/model.h"

namespace rz::test {

// Each test program opens the devices that it is about: "plain", "avx2", "cuda"; or two that share a model of
// `layers` layers.
std::unique_ptr<Device> device_under_test(const std::string &name, int32_t threads, int32_t layers);

struct Opened {
  std::unique_ptr<Model> model;
  std::unique_ptr<Device> device;
  std::unique_ptr<Executor> executor;
  int32_t vocab() const { return model->plan.vocab; }
};

inline Opened open_model(const std::filesystem::path &path, const std::string &device, int32_t threads = 1,
                         Type kv_type = Type::F16, int32_t pages = 64, int32_t context = 0) {
  LoadOptions load;
  load.context = context;
  Opened opened;
  opened.model = load_model(open_path(path.string(), true), load);
  ExecutorOptions options;
  options.threads = threads;
  options.max_rows = 64;
  options.max_logit_rows = 64;
  options.pages = pages;
  options.kv_type = kv_type;
  const auto layers = static_cast<int32_t>(opened.model->plan.kv.size());
  opened.device = device_under_test(device, threads, layers);
  opened.executor = opened.device->compile(opened.model->plan, options);
  return opened;
}

class Timeline {
 public:
  // Uses pages first_page, first_page + 1, ...
  Timeline(Opened &opened, int32_t first_page, int32_t pages) : opened_(opened) {
    for (int32_t i = 0; i < pages; ++i) pages_.push_back(first_page + i);
  }

  // Computes `tokens` in batches of `chunk` rows; returns the logits of all of them, (tokens, vocab).
  std::vector<float> eval(const std::vector<int32_t> &tokens, int32_t chunk = 64) {
    std::vector<float> logits;
    for (size_t i = 0; i < tokens.size(); i += static_cast<size_t>(chunk)) {
      const size_t n = std::min(tokens.size() - i, static_cast<size_t>(chunk));
      const std::vector<float> part =
          step({tokens.begin() + static_cast<ptrdiff_t>(i), tokens.begin() + static_cast<ptrdiff_t>(i + n)});
      logits.insert(logits.end(), part.begin(), part.end());
    }
    return logits;
  }

  void rewind(int32_t n) { length_ = n; }
  int32_t length() const { return length_; }
  const std::vector<int32_t> &pages() const { return pages_; }
  void advance(int32_t n) { length_ += n; }

 private:
  std::vector<float> step(const std::vector<int32_t> &tokens) {
    std::vector<int32_t> positions, sequences(tokens.size(), 0), rows;
    for (size_t i = 0; i < tokens.size(); ++i) {
      positions.push_back(length_ + static_cast<int32_t>(i));
      rows.push_back(static_cast<int32_t>(i));
    }
    const std::span<const int32_t> table(pages_);
    std::vector<float> logits(tokens.size() * static_cast<size_t>(opened_.vocab()));
    Batch batch;
    batch.tokens = tokens;
    batch.positions = positions;
    batch.sequences = sequences;
    batch.page_tables = {&table, 1};
    batch.logit_rows = rows;
    batch.logits = logits.data();
    opened_.executor->run(batch, {});
    length_ += static_cast<int32_t>(tokens.size());
    return logits;
  }

  Opened &opened_;
  std::vector<int32_t> pages_;
  int32_t length_ = 0;
};

inline std::vector<int32_t> some_tokens(int32_t n, int32_t vocab) {
  std::vector<int32_t> tokens;
  for (int32_t i = 0; i < n; ++i) tokens.push_back((i * 7919 + 13) % vocab);
  return tokens;
}

}  // namespace rz::test
