// What each name of tokenizer.ggml.pre stands for. Names that cut alike share a list of steps. Three things
// differ from the expressions models are published with, none of them in what is matched:
// - character classes stand where lookaheads did, so that matching needs no stack;
// - looking behind and possessive runs keep a long run from being scanned again from each of its places;
// - numbers cut into threes from the right are marked in_threes instead of looking ahead at every digit.
#include <cstddef>
#include <iterator>

#include "text/pretokenize.h"

namespace rz {

namespace {

#define CONTRACTION R"((?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD]))"
#define UPPER R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])"
#define LOWER R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])"
#define LETTERS R"([^\r\n\p{L}\p{N}]?\p{L}+)"
#define SYMBOLS R"( ?[^\s\p{L}\p{N}]+[\r\n]*)"
#define SPACES R"(\s*[\r\n]+|\s+(?!\S)|\s+)"
// Words with capitals first or capitals only, each with a contraction behind it where `behind` says so.
#define CASED_WORDS(behind)                          \
  R"([^\r\n\p{L}\p{N}]?)" UPPER "*" LOWER "+" behind \
  "|"                                                \
  R"([^\r\n\p{L}\p{N}]?)" UPPER "+" LOWER "*" behind "|"

#define GPT2 R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S))"
#define CL100K CONTRACTION "|" LETTERS R"(|\p{N}{1,3}|)" SYMBOLS "|" SPACES
#define QWEN2 CONTRACTION "|" LETTERS R"(|\p{N}|)" SYMBOLS "|" SPACES
#define O200K CASED_WORDS(CONTRACTION "?") R"(\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|)" SPACES
#define DEEPSEEK_V3                                                                          \
  R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|)" \
  R"( ?[\p{P}\p{S}]+[\r\n]*|)" SPACES
#define HAN_AND_KANA R"([\x{4e00}-\x{9fa5}\x{3040}-\x{309f}\x{30a0}-\x{30ff}]+)"
#define CJK R"([\x{4e00}-\x{9fa5}\x{800}-\x{4e00}\x{ac00}-\x{d7ff}]+)"
#define BLOOM R"( ?[^(\s|.,!?\x{2026}\x{3002}\x{ff0c}\x{3001}\x{964}\x{6d4}\x{60c})]+)"

constexpr PatternStep kGpt2[] = {{GPT2}};
constexpr PatternStep kDigitGpt2[] = {{R"(\p{N})"}, {GPT2}};
constexpr PatternStep kDefault[] = {{R"([\p{P}\$\+<=>\^~\|]+)"}, {GPT2}, {R"(\p{N}+)"}, {"[0-9][0-9][0-9]"}};
constexpr PatternStep kFalcon[] = {{R"([\p{P}\$\+<=>\^~\|`]+)"}, {GPT2}, {"[0-9][0-9][0-9]"}};
constexpr PatternStep kLlama3[] = {{CL100K}};
constexpr PatternStep kQwen2[] = {{QWEN2}};
constexpr PatternStep kQwen35[] = {{CONTRACTION R"(|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}|)"
                                                R"( ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|)" SPACES}};
constexpr PatternStep kMiniCpm5[] = {{R"(\p{N}{1,3})"},
                                     {CONTRACTION "|" LETTERS R"(|\p{N}+|)" SYMBOLS "|" SPACES}};
constexpr PatternStep kGpt4o[] = {{O200K}};
constexpr PatternStep kTekken[] = {{CASED_WORDS("") R"(\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|)" SPACES}};
constexpr PatternStep kTinyAya[] = {{R"((?<!\d)\d++\b)", true}, {O200K}};
constexpr PatternStep kSuperBpe[] = {{R"(\p{N}+)"}, {R"(\d++)", true}};
constexpr PatternStep kDeepSeekV3[] = {{R"(\p{N}{1,3})"}, {HAN_AND_KANA}, {DEEPSEEK_V3}};
constexpr PatternStep kDeepSeekCoder[] = {
    {R"([\r\n])"}, {R"(\s?\p{L}+)"}, {R"(\s?\p{P}+)"}, {CJK}, {R"(\p{N})"}};
// The letters are those of scripts that have case, as of the Unicode version the model was made with.
constexpr PatternStep kDeepSeekLlm[] = {
    {R"([\r\n])"},
    {R"(\s?[A-Za-z\x{b5}\x{c0}-\x{d6}\x{d8}-\x{f6}\x{f8}-\x{1ba}\x{1bc}-\x{1bf}\x{1c4}-\x{293}\x{295}-\x{2af})"
     R"(\x{370}-\x{373}\x{376}\x{377}\x{37b}-\x{37d}\x{37f}\x{386}\x{388}-\x{38a}\x{38c}\x{38e}-\x{3a1})"
     R"(\x{3a3}-\x{3f5}\x{3f7}-\x{481}\x{48a}-\x{52f}\x{531}-\x{556}\x{10a0}-\x{10c5}\x{13a0}-\x{13f5})"
     R"(\x{13f8}-\x{13fd}\x{1c90}-\x{1cba}\x{1cbd}-\x{1cbf}\x{1d00}-\x{1d2b}\x{1d6b}-\x{1d77})"
     R"(\x{1d79}-\x{1d9a}\x{1e00}-\x{1f15}\x{1f18}-\x{1f1d}\x{1f20}-\x{1f45}\x{1f48}-\x{1f4d})"
     R"(\x{1f50}-\x{1f57}\x{1f59}\x{1f5b}\x{1f5d}\x{1f5f}-\x{1f7d}\x{1f80}-\x{1fb4}\x{1fb6}-\x{1fbc}\x{1fbe})"
     R"(\x{1fc2}-\x{1fc4}\x{1fc6}-\x{1fcc}\x{1fd0}-\x{1fd3}\x{1fd6}-\x{1fdb}\x{1fe0}-\x{1fec})"
     R"(\x{1ff2}-\x{1ff4}\x{1ff6}-\x{1ffc}\x{2102}\x{2107}\x{210a}-\x{2113}\x{2115}\x{2119}-\x{211d}\x{2124})"
     R"(\x{2126}\x{2128}\x{212a}-\x{212d}\x{212f}-\x{2134}\x{2139}\x{213c}-\x{213f}\x{2145}-\x{2149}\x{214e})"
     R"(\x{2183}\x{2184}\x{2c00}-\x{2c7b}\x{2c7e}-\x{2ce4}\x{2ceb}-\x{2cee}\x{2cf2}\x{2cf3}\x{a640}-\x{a66d})"
     R"(\x{a680}-\x{a69b}\x{a722}-\x{a76f}\x{a771}-\x{a787}\x{a78b}-\x{a78e}\x{ab70}-\x{abbf})"
     R"(\x{fb00}-\x{fb06}\x{fb13}-\x{fb17}\x{ff21}-\x{ff3a}\x{ff41}-\x{ff5a}\x{10400}-\x{1044f})"
     R"(\x{104b0}-\x{104d3}\x{104d8}-\x{104fb}\x{10c80}-\x{10cb2}\x{10cc0}-\x{10cf2}\x{118a0}-\x{118df})"
     R"(\x{1e900}-\x{1e943}]+)"},
    {R"(\s?[!-/:-~\x{ff01}-\x{ff0f}\x{ff1a}-\x{ff5e}\x{2018}-\x{201f}\x{3000}-\x{3002}]+)"},
    {R"((?<!\s)\s++$)"},
    {CJK},
    {R"(\p{N}+)"}};
constexpr PatternStep kYoutu[] = {
    {R"([\x{ac00}-\x{d7a3}\x{3131}-\x{318e}]+|)"
     R"([\x{ff01}\x{2026}\x{201c}\x{201d}\x{2018}\x{2019}\x{2014}\x{ff1a}\x{ff1b}\x{ff0c}\x{3001}-\x{303f})"
     R"(\x{fe30}-\x{fe4f}]+|[\x{3105}-\x{312f}]+|)" HAN_AND_KANA},
    {CASED_WORDS(CONTRACTION "?") R"(\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|)" SPACES}};
// White space behind white space without a newline was tried for newlines before, from the start of its run.
constexpr PatternStep kJais2[] = {
    {CONTRACTION "|" LETTERS R"(|\p{N}{1,3}|)" SYMBOLS
                 R"(|(?<![^\S\r\n])\s*[\r\n]+|\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|\s{64}(?!\S))"
                 R"(|\s{32}(?!\S)|\s{16}(?!\S)|\s{8}(?!\S)|\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1})"}};
constexpr PatternStep kLines[] = {{R"([^\n]+|[\n]+)"}};
constexpr PatternStep kWhitespace[] = {{R"(\S+)"}};
constexpr PatternStep kBloom[] = {{BLOOM}};
constexpr PatternStep kViking[] = {{BLOOM}, {R"(\p{N})"}};
constexpr PatternStep kExaoneMoe[] = {{CONTRACTION
                                       R"(|[^\r\n\p{L}\p{N}]?\p{L}\p{M}*+(?: ?\p{L}\p{M}*+)*+|\p{N}|)"
                                       R"( ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+)"}};
constexpr PatternStep kChameleon[] = {{"<sentinel:[0-9]+>"},       {"IMGIMG[A-I]{1,4}Z"},
                                      {R"([\t\n]|    |  )"},       {R"(\p{N})"},
                                      {R"([\p{P}!-/:-@\[-`{-~])"}, {GPT2}};
constexpr PatternStep kBailing[] = {{R"('(?:[sSdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE])|)" LETTERS
                                     R"(|\p{N}|)" SYMBOLS R"(|\s*[\r\n]|\s+(?!\S)|\s+)"}};
constexpr PatternStep kSeedCoder[] = {{CONTRACTION "|" LETTERS R"(|\p{N}| ?[^\s\p{L}\p{N}\r\n]+|)" SPACES}};
// Letters by what they are not, so that Han can be left out of the class: general categories part all
// characters.
#define KIMI_UPPER R"([^\p{Ll}\p{N}\p{P}\p{S}\p{Z}\p{C}\p{sc:Han}])"
#define KIMI_LOWER R"([^\p{Lu}\p{Lt}\p{N}\p{P}\p{S}\p{Z}\p{C}\p{sc:Han}])"
constexpr PatternStep kKimiK2[] = {{R"(\p{sc:Han}+|[^\r\n\p{L}\p{N}]?)" KIMI_UPPER "*" KIMI_LOWER
                                    "+" CONTRACTION R"(?|[^\r\n\p{L}\p{N}]?)" KIMI_UPPER "+" KIMI_LOWER
                                    "*" CONTRACTION R"(?|\p{N}{1,3}|)" SYMBOLS "|" SPACES}};
constexpr PatternStep kAfmoe[] = {
    {R"(\d++)", true},
    {R"([\x{4e00}-\x{9fff}\x{3400}-\x{4dbf}\x{f900}-\x{faff}\x{3040}-\x{309f}\x{30a0}-\x{30ff})"
     R"(\x{ff65}-\x{ff9f}\x{2f00}-\x{2fdf}\x{e40}-\x{e7f}\x{e80}-\x{eff}\x{1780}-\x{17ff}\x{1000}-\x{109f})"
     R"(\x{aa60}-\x{aa7f}\x{a9e0}-\x{a9ff}\x{ac00}-\x{d7af}\x{1100}-\x{11ff}]+)"},
    {DEEPSEEK_V3}};
constexpr PatternStep kLaguna[] = {{R"([^\n]+|[\n]+)"}, {QWEN2}};

template <size_t N>
constexpr PretokenizerInfo plain(const char *name, const PatternStep (&steps)[N]) {
  return {.name = name, .steps = steps, .n_steps = static_cast<int>(N)};
}
template <size_t N>
constexpr PretokenizerInfo whole(const char *name, const PatternStep (&steps)[N], bool add_bos) {
  auto info = plain(name, steps);
  info.ignore_merges = true;
  info.add_bos = add_bos;
  return info;
}
template <size_t N>
constexpr PretokenizerInfo characters(const char *name, const PatternStep (&steps)[N], bool escape,
                                      bool drops_gaps) {
  auto info = plain(name, steps);
  info.byte_level = false;
  info.escape_whitespaces = escape;
  info.drops_gaps = drops_gaps;
  return info;
}
constexpr PretokenizerInfo with_bos(PretokenizerInfo info) {
  info.add_bos = true;
  return info;
}
constexpr PretokenizerInfo by_id(PretokenizerInfo info) {
  info.merges_by_id = true;
  return info;
}

constexpr PretokenizerInfo kTable[] = {
    plain("default", kDefault),
    plain("gpt-2", kGpt2),
    plain("phi-2", kGpt2),
    plain("mpt", kGpt2),
    plain("olmo", kGpt2),
    plain("jais", kGpt2),
    plain("exaone4", kGpt2),
    plain("trillion", kGpt2),
    plain("granite-docling", kGpt2),
    plain("jina-es", kGpt2),
    plain("jina-de", kGpt2),
    plain("jina-v1-en", kGpt2),
    plain("jina-v2-es", kGpt2),
    plain("jina-v2-de", kGpt2),
    plain("jina-v2-code", kGpt2),
    plain("roberta-bpe", kGpt2),
    plain("gigachat", kGpt2),
    plain("a.x-4.0", kGpt2),
    plain("mellum", kGpt2),
    plain("modern-bert", kGpt2),
    plain("starcoder", kDigitGpt2),
    plain("refact", kDigitGpt2),
    plain("command-r", kDigitGpt2),
    plain("smollm", kDigitGpt2),
    plain("codeshell", kDigitGpt2),
    plain("exaone", kDigitGpt2),
    plain("minerva-7b", kDigitGpt2),
    plain("mellum2", kDigitGpt2),
    plain("falcon", kFalcon),
    whole("llama3", kLlama3, true),
    whole("llama-v3", kLlama3, true),
    whole("llama-bpe", kLlama3, true),
    whole("falcon3", kLlama3, true),
    whole("falcon-h1", kLlama3, true),
    whole("pixtral", kLlama3, true),
    whole("midm-2.0", kLlama3, true),
    whole("lfm2", kLlama3, true),
    whole("jina-v5-nano", kLlama3, true),
    plain("dbrx", kLlama3),
    plain("smaug-bpe", kLlama3),
    plain("glm4", kLlama3),
    plain("chatglm-bpe", kLlama3),
    whole("minicpm5", kMiniCpm5, false),
    plain("jais-2", kJais2),
    plain("qwen2", kQwen2),
    plain("deepseek-r1-qwen", kQwen2),
    plain("kormo", kQwen2),
    plain("f2llmv2", kQwen2),
    plain("stablelm2", kQwen2),
    plain("megrez", kQwen2),
    plain("hunyuan", kQwen2),
    plain("grok-2", kQwen2),
    plain("solar-open", kQwen2),
    plain("qwen35", kQwen35),
    plain("laguna", kLaguna),
    plain("bailingmoe", kBailing),
    plain("bailingmoe2", kBailing),
    plain("llada-moe", kBailing),
    plain("seed-coder", kSeedCoder),
    plain("exaone-moe", kExaoneMoe),
    plain("deepseek-llm", kDeepSeekLlm),
    plain("deepseek-coder", kDeepSeekCoder),
    plain("deepseek-v3", kDeepSeekV3),
    plain("hunyuan-dense", kDeepSeekV3),
    plain("joyai-llm", kDeepSeekV3),
    plain("afmoe", kAfmoe),
    whole("youtu", kYoutu, false),
    whole("tekken", kTekken, true),
    plain("gpt-4o", kGpt4o),
    plain("llama4", kGpt4o),
    plain("kanana2", kGpt4o),
    plain("talkie", kGpt4o),
    plain("minimax-m2", kGpt4o),
    whole("granite-embed-multi-97m", kGpt4o, false),
    plain("tiny_aya", kTinyAya),
    plain("cohere2moe", kTinyAya),
    plain("superbpe", kSuperBpe),
    plain("poro-chat", kBloom),
    plain("bloom", kBloom),
    plain("gpt3-finnish", kBloom),
    plain("viking", kViking),
    with_bos(plain("chameleon", kChameleon)),
    characters("gemma4", kLines, true, false),
    characters("granite-embed-multi-311m", kLines, true, false),
    characters("sarvam-moe", kLines, true, false),
    characters("whitespace", kWhitespace, false, true),
    by_id(plain("kimi-k2", kKimiK2)),
};

}  // namespace

const PretokenizerInfo *find_pretokenizer(std::string_view name) {
  for (const PretokenizerInfo &info : kTable) {
    if (name == info.name) return &info;
  }
  return nullptr;
}

std::vector<const PretokenizerInfo *> pretokenizers() {
  std::vector<const PretokenizerInfo *> all;
  for (const PretokenizerInfo &info : kTable) all.push_back(&info);
  return all;
}

}  // namespace rz
