#include "engine/session.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "engine/lab.h"
#include "engine/session_file.h"
#include "support/error_of.h"
#include "support/shared_data.h"

namespace rz {
namespace {

using namespace test;

class ASession : public EitherWay {};
RZ_EITHER_WAY(ASession);

std::vector<float> rows_of(const Tokens &tokens, int32_t n_rows) {
  std::vector<float> rows(static_cast<size_t>(n_rows) * kFakeVocab);
  for (size_t i = 0; i < static_cast<size_t>(n_rows); ++i) {
    const size_t n = tokens.size() - static_cast<size_t>(n_rows) + i + 1;
    fake_logits({tokens.data(), n}, rows.data() + i * kFakeVocab);
  }
  return rows;
}

std::vector<float> eval(Session &session, const Tokens &tokens, int32_t n_rows) {
  std::vector<float> rows(static_cast<size_t>(n_rows) * kFakeVocab);
  session.eval(tokens, rows.data(), n_rows);
  return rows;
}

Tokens operator+(Tokens a, const Tokens &b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Tokens first(const Tokens &tokens, size_t n) {
  return Tokens(tokens.begin(), tokens.begin() + static_cast<long>(n));
}

TEST_P(ASession, GivesTheLogitsOfItsLastRows) {
  Lab lab;
  Session session(lab.engine(), 0);
  const Tokens a = random_tokens(90, 1), b = random_tokens(30, 2);
  EXPECT_EQ(eval(session, a, 20), rows_of(a, 20));  // more than the 4 rows of logits that a step has
  session.eval(b, nullptr, 0);
  EXPECT_EQ(eval(session, {}, 1), rows_of(a + b, 1));
  EXPECT_EQ(eval(session, {7}, 40), rows_of(a + b + Tokens{7}, 40));  // some of them once more
  EXPECT_EQ(session.tokens(), a + b + Tokens{7});
}

TEST_P(ASession, GoesOnFromWhereItWasWoundBackTo) {
  Lab lab;
  Session session(lab.engine(), 0);
  const Tokens a = random_tokens(100, 3);
  eval(session, a, 1);
  for (const size_t n : {100u, 99u, 64u, 63u, 33u, 1u, 0u}) {
    session.rewind(static_cast<int32_t>(n));
    const Tokens more = random_tokens(5, static_cast<uint32_t>(n));
    EXPECT_EQ(eval(session, more, 2), rows_of(first(a, n) + more, 2)) << n;
    session.rewind(static_cast<int32_t>(n));
  }
  EXPECT_EQ(error_of([&] { session.rewind(1); }).status(), Status::Argument);
}

TEST_P(ASession, ForksShareUntilTheyWrite) {
  Lab lab;
  Session session(lab.engine(), 0);
  const Tokens a = random_tokens(70, 4), b = random_tokens(9, 5), c = random_tokens(40, 6);
  eval(session, a, 1);
  const int32_t used = [&] {
    const Engine::Lock lock = lab.engine().lock();
    return lab.engine().pool().stats().used;
  }();
  const auto fork = session.fork();
  {
    const Engine::Lock lock = lab.engine().lock();
    EXPECT_EQ(lab.engine().pool().stats().used, used);
  }
  EXPECT_EQ(eval(*fork, b, 3), rows_of(a + b, 3));
  EXPECT_EQ(eval(session, c, 3), rows_of(a + c, 3));
  EXPECT_EQ(eval(*fork, c, 3), rows_of(a + b + c, 3));
}

TEST_P(ASession, RefusesMoreThanItsContext) {
  Lab lab;
  Session session(lab.engine(), 50);
  eval(session, random_tokens(40, 1), 1);
  const Error error = error_of([&] { session.eval(random_tokens(11, 1), nullptr, 0); });
  EXPECT_EQ(error.status(), Status::Context);
  EXPECT_EQ(session.tokens().size(), 40u);
  EXPECT_EQ(error_of([&] { Session(lab.engine(), 513); }).status(), Status::Argument);
}

TEST_P(ASession, IsAsBeforeWhenAnEvaluationFails) {
  LabOptions options;
  options.poison = 77;
  Lab lab(options);
  Session session(lab.engine(), 0);
  Tokens a = random_tokens(40, 1);
  std::ranges::replace(a, 77, 1);
  eval(session, a, 1);
  EXPECT_EQ(error_of([&] { session.eval(Tokens{1, 77, 2}, nullptr, 0); }).status(), Status::Numeric);
  EXPECT_EQ(session.tokens(), a);
  EXPECT_EQ(eval(session, {3}, 1), rows_of(a + Tokens{3}, 1));
}

TEST_P(ASession, IsContinuedByAGeneration) {
  Lab lab;
  const auto session = std::make_shared<Session>(lab.engine(), 0);
  const Tokens a = random_tokens(40, 1), b = random_tokens(8, 2);
  session->eval(a, nullptr, 0);
  GenerateRequest more = request(b, 20);
  more.session = session;
  const Tokens expected = greedy_continuation(a + b, 20);
  EXPECT_EQ(collect(lab.engine(), more).tokens, expected);
  EXPECT_EQ(session->tokens(), a + b + expected);
  // The last token has no KV yet; that must not show.
  GenerateRequest again = request({}, 10);
  again.session = session;
  EXPECT_EQ(collect(lab.engine(), again).tokens, greedy_continuation(a + b + expected, 10));
  const std::vector<float> logits = eval(*session, {5}, 1);
  EXPECT_EQ(logits, rows_of(session->tokens(), 1));
}

TEST_P(ASession, KeepsExactlyWhatWasHandedOut) {
  Lab lab;
  const auto session = std::make_shared<Session>(lab.engine(), 0);
  const Tokens prompt = random_tokens(40, 1);
  const Tokens expected = greedy_continuation(prompt, 7);
  GenerateRequest asking = request(prompt, 0);
  asking.session = session;
  const Event *event = nullptr;
  auto generation = start(lab.engine(), asking);
  for (int i = 0; i < 7; ++i)
    ASSERT_EQ(generation->next(Clock::time_point::max(), &event), Generation::Next::Event);
  EXPECT_EQ(error_of([&] { session->tokens(); }).status(), Status::Busy);
  generation->cancel();
  EXPECT_EQ(generation->next(Clock::time_point::max(), &event), Generation::Next::End);
  EXPECT_EQ(generation->finish(), Finish::Cancelled);
  EXPECT_EQ(generation->stats().generated_tokens, 7u);
  EXPECT_EQ(session->tokens(), prompt + expected);
  EXPECT_EQ(eval(*session, {9}, 2), rows_of(prompt + expected + Tokens{9}, 2));
}

TEST_P(ASession, KeepsWhatWasHandedOutWhenTheGenerationIsFreed) {
  Lab lab;
  const auto session = std::make_shared<Session>(lab.engine(), 0);
  GenerateRequest asking = request({4, 5}, 100);
  asking.session = session;
  const Event *event = nullptr;
  auto generation = start(lab.engine(), asking);
  ASSERT_EQ(generation->next(Clock::time_point::max(), &event), Generation::Next::Event);
  const int32_t token = event->token;
  generation.reset();
  EXPECT_EQ(session->tokens(), (Tokens{4, 5, token}));
}

class SavedSession : public ::testing::Test {
 protected:
  void SetUp() override {
    session_ = std::make_unique<Session>(lab_.engine(), 0);
    eval(*session_, tokens_, 1);
    path_ = (scratch_folder() / "session").string();
    SessionFile::save(*session_, path_);
  }
  Error load_error(const std::string &bytes) {
    std::ofstream(path_, std::ios::binary) << bytes;
    return error_of([&] { SessionFile::load(lab_.engine(), path_); });
  }
  int32_t used() {
    const Engine::Lock lock = lab_.engine().lock();
    return lab_.engine().pool().stats().used;
  }

  Lab lab_;
  Tokens tokens_ = random_tokens(75, 1);
  std::unique_ptr<Session> session_;
  std::string path_;
};

TEST_F(SavedSession, GoesOnAsTheOneThatWasSaved) {
  Lab fresh;
  const auto loaded = SessionFile::load(fresh.engine(), path_);
  EXPECT_EQ(loaded->tokens(), tokens_);
  EXPECT_EQ(eval(*loaded, {8, 9}, 2), rows_of(tokens_ + Tokens{8, 9}, 2));
  EXPECT_EQ(fresh.fake().largest_batch, 2);  // nothing was computed again
}

TEST_F(SavedSession, MayBeEmptyOrHaveATokenWithoutKv) {
  Session empty(lab_.engine(), 0);
  SessionFile::save(empty, path_);
  EXPECT_TRUE(SessionFile::load(lab_.engine(), path_)->tokens().empty());

  const auto session = std::make_shared<Session>(lab_.engine(), 0);
  GenerateRequest asking = request(tokens_, 21);  // the cache ends in the middle of a page
  asking.session = session;
  collect(lab_.engine(), asking);
  SessionFile::save(*session, path_);
  Lab fresh;
  const auto loaded = SessionFile::load(fresh.engine(), path_);
  EXPECT_EQ(loaded->tokens(), session->tokens());
  EXPECT_EQ(eval(*loaded, {}, 1), rows_of(session->tokens(), 1));
}

TEST_F(SavedSession, IsRefusedWhenCutOrChangedAnywhere) {
  const std::string good = read_file(path_);
  const int32_t used_before = used();
  for (size_t n = 0; n < good.size(); n += n < 100 ? 1 : 37) {
    EXPECT_EQ(load_error(good.substr(0, n)).status(), Status::State) << n;
  }
  for (size_t i = 0; i < good.size(); i += i < 400 ? 1 : 13) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ (1 << (i % 8)));
    EXPECT_EQ(load_error(bad).status(), Status::State) << i;
  }
  EXPECT_EQ(load_error(good + "x").status(), Status::State);
  EXPECT_EQ(used(), used_before);
}

TEST_F(SavedSession, IsRefusedWhereThereIsNoRoom) {
  LabOptions small;
  small.context = 64;
  Lab short_context(small);
  EXPECT_EQ(error_of([&] { SessionFile::load(short_context.engine(), path_); }).status(), Status::Context);
  small.context = 512;
  small.pages = 2;
  Lab few_pages(small);
  EXPECT_EQ(error_of([&] { SessionFile::load(few_pages.engine(), path_); }).status(), Status::Limit);
  EXPECT_EQ(error_of([&] { SessionFile::load(lab_.engine(), "/nowhere/at/all"); }).status(), Status::Io);
}

}  // namespace
}  // namespace rz
