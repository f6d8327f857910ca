#include "engine/lab.h"

#include <algorithm>
#include <random>

namespace rz::test {

namespace {

std::vector<std::string> letters() {
  std::vector<std::string> pieces{"</s>"};
  while (pieces.size() < kEmojiFirst) {
    const auto letter = static_cast<char>('a' + pieces.size() % 26);
    pieces.push_back(pieces.size() < 27 ? std::string(1, letter) : std::string{letter, ' '});
  }
  for (const char byte : {'\xF0', '\x9F', '\x98', '\x80'}) pieces.emplace_back(1, byte);
  return pieces;
}

struct Pieces {
  std::vector<std::string> texts = letters();
};

class LetterTokenizer final : private Pieces, public Tokenizer {
 public:
  LetterTokenizer() : Pieces(), Tokenizer(make_vocab(texts)) {
    for (const std::string &text : texts) add_raw_piece(text);
  }

 private:
  static Vocab make_vocab(const std::vector<std::string> &texts) {
    Vocab vocab;
    vocab.kind = VocabKind::Spm;
    vocab.pieces.assign(texts.begin(), texts.end());
    vocab.kinds.assign(texts.size(), TokenKind::Normal);
    vocab.kinds[kEndToken] = TokenKind::Control;
    vocab.eos = kEndToken;
    vocab.end_of_generation = {kEndToken};
    return vocab;
  }
  void encode_text(std::string_view, std::vector<int32_t> &) const override {}
};

}  // namespace

Lab::Lab(const LabOptions &given) : tokenizer_(std::make_unique<LetterTokenizer>()) {
  auto fake = std::make_unique<FakeExecutor>(given.pages);
  fake_ = fake.get();
  fake_->op_time = given.op_time;
  fake_->poison = given.poison;
  fake_->ahead = given.ahead;
  EngineOptions options;
  options.step = {given.rows, given.sequences, given.logit_rows, kFakeVocab, kFakeHidden};
  options.context = given.context;
  options.pages = given.pages;
  options.n_ops = kFakeOps;
  options.manual_step = given.manual_step;
  options.keep_prefixes = given.keep_prefixes;
  options.tokenizer = tokenizer_.get();
  options.model_identity = [] { return Hash128{12, 34}; };
  engine_ = std::make_unique<Engine>(std::move(fake), options);
}

Tokens random_tokens(size_t n, uint32_t seed) {
  std::mt19937 random(seed);
  Tokens tokens(n);
  for (int32_t &token : tokens) token = 1 + static_cast<int32_t>(random() % (kEmojiFirst - 1));
  return tokens;
}

GenerateRequest request(Tokens prompt, int32_t max_tokens) {
  GenerateRequest request;
  request.prompt = std::move(prompt);
  request.max_tokens = max_tokens;
  request.ignore_eos = true;
  return request;
}

Tokens greedy_continuation(Tokens prompt, int32_t n) {
  Tokens result;
  for (int32_t i = 0; i < n; ++i) {
    float logits[kFakeVocab];
    fake_logits(prompt, logits);
    const auto token = static_cast<int32_t>(std::max_element(logits, logits + kFakeVocab) - logits);
    prompt.push_back(token);
    result.push_back(token);
  }
  return result;
}

std::unique_ptr<Generation> start(Engine &engine, GenerateRequest request) {
  auto generation = std::make_unique<Generation>(engine, std::move(request));
  Generation::start(engine, {&generation, 1});
  return generation;
}

void take(Collected &into, const Event &event) {
  if (event.kind == EventKind::Prefill) {
    into.prefill.push_back(event.index);
  } else {
    into.tokens.push_back(event.token);
    into.text += event.text;
  }
}

Collected collect(Generation &generation) {
  Collected all;
  const Event *event = nullptr;
  while (generation.next(Clock::time_point::max(), &event) == Generation::Next::Event) take(all, *event);
  all.text += generation.tail();
  all.finish = generation.finish();
  return all;
}

Collected collect(Engine &engine, GenerateRequest request) {
  return collect(*start(engine, std::move(request)));
}

}  // namespace rz::test
