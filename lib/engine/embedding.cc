#include "engine/embedding.h"

#include <algorithm>
#include <cmath>

namespace rz {

namespace {

EmbedPooling resolve(const Engine &engine, EmbedPooling pooling) {
  if (pooling != EmbedPooling::Default) return pooling;
  switch (engine.options().pooling) {
    case Pooling::First:
      return EmbedPooling::Cls;
    case Pooling::Last:
      return EmbedPooling::Last;
    case Pooling::Mean:
    case Pooling::None:
      break;
  }
  return EmbedPooling::Mean;
}

class Embedding : public Sequence {
 public:
  Embedding(Timeline &timeline, EmbedPooling pooling, int32_t hidden, float *out)
      : Sequence(timeline, Output::Hidden, true),
        pooling_(pooling),
        hidden_(static_cast<size_t>(hidden)),
        out_(out) {
    if (pooling_ == EmbedPooling::Mean) sums_.resize(hidden_);
    if (pooling_ == EmbedPooling::Last) outputs_from = timeline.size() - 1;
  }

  void take(float *rows, int32_t n) override {  // (n, hidden)
    for (int32_t i = 0; i < n; ++i, rows += hidden_, ++taken_) take_row(rows);
  }

  void rows_done() override {
    if (timeline.pending() > 0) return;
    over = true;
    for (size_t i = 0; i < sums_.size(); ++i)
      out_[i] = static_cast<float>(sums_[i] / static_cast<double>(taken_));
  }

 private:
  void take_row(const float *row) {  // (hidden)
    switch (pooling_) {
      case EmbedPooling::Mean:
        for (size_t i = 0; i < hidden_; ++i) sums_[i] += static_cast<double>(row[i]);
        break;
      case EmbedPooling::None:
        std::copy_n(row, hidden_, out_ + taken_ * hidden_);
        break;
      case EmbedPooling::Cls:
        if (taken_ == 0) std::copy_n(row, hidden_, out_);
        break;
      case EmbedPooling::Last:
      case EmbedPooling::Default:
        std::copy_n(row, hidden_, out_);
    }
  }

  EmbedPooling pooling_;
  size_t hidden_;
  float *out_;
  std::vector<double> sums_;  // (hidden)
  size_t taken_ = 0;          // rows
};

void check_and_normalize(float *vector, size_t n, bool normalize) {
  double squares = 0;
  for (size_t i = 0; i < n; ++i) {
    if (!std::isfinite(vector[i])) fail(Status::Numeric, "embedding: element %zu is no number", i);
    squares += static_cast<double>(vector[i]) * static_cast<double>(vector[i]);
  }
  if (!normalize || squares == 0) return;
  const double scale = 1 / std::sqrt(squares);
  for (size_t i = 0; i < n; ++i) vector[i] = static_cast<float>(static_cast<double>(vector[i]) * scale);
}

}  // namespace

size_t embedding_size(const Engine &engine, EmbedPooling pooling, size_t n_tokens) {
  const auto hidden = static_cast<size_t>(engine.options().step.hidden);
  return pooling == EmbedPooling::None ? n_tokens * hidden : hidden;
}

void embed(Engine &engine, std::span<const int32_t> tokens, EmbedPooling pooling, bool normalize,
           float *out) {
  const EngineOptions &options = engine.options();
  if (tokens.empty()) fail(Status::Argument, "prompt: expected at least one token, found none");
  if (tokens.size() > static_cast<size_t>(options.context)) {
    fail(Status::Context, "prompt: %zu tokens, the context holds %d", tokens.size(), options.context);
  }
  Timeline timeline;
  timeline.tokens.assign(tokens.begin(), tokens.end());
  engine.check_fits(timeline.size());
  Embedding embedding(timeline, resolve(engine, pooling), options.step.hidden, out);
  engine.run_to_end(embedding);
  const auto hidden = static_cast<size_t>(options.step.hidden);
  const size_t size = embedding_size(engine, pooling, tokens.size());
  for (size_t at = 0; at < size; at += hidden) check_and_normalize(out + at, hidden, normalize);
}

}  // namespace rz
