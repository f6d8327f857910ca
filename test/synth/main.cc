// rz-synth: a GGUF file in a real model's shape with random weights, so that speed and memory can be measured
// where the model itself cannot be had.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>

#include "base/error.h"
#include "synth.h"

namespace {

struct Request {
  rz::synth::Shape shape;
  const rz::Mix *mix;
  const char *path;
  uint64_t seed = 1;
};

[[noreturn]] void show_use() {
  std::fprintf(
      stderr,
      "use: rz-synth SHAPE SCHEME OUT.gguf [--seed N] [--vocab real|tiny] [--layers N] [--context N]\n"
      "SHAPE: %s\nSCHEME: %s\n",
      rz::synth::shape_names().c_str(), rz::mix_names().c_str());
  std::exit(2);
}

int64_t number(const char *option, const char *text, int64_t low, int64_t high) {
  char *end;
  const long long value = std::strtoll(text, &end, 10);
  if (*text && !*end && value >= low && value <= high) return value;
  rz::fail(rz::Status::Argument, "%s: expected %lld to %lld, found \"%s\"", option,
           static_cast<long long>(low), static_cast<long long>(high), text);
}

void set_option(Request &request, const std::string &option, const char *value) {
  rz::synth::Shape &shape = request.shape;
  if (option == "--seed") {
    request.seed = static_cast<uint64_t>(number("--seed", value, 0, INT64_MAX));
  } else if (option == "--layers") {
    shape.layers = static_cast<int32_t>(number("--layers", value, 1, 512));
  } else if (option == "--context") {
    shape.context = static_cast<int32_t>(number("--context", value, 1, 1 << 30));
  } else if (option == "--vocab" && std::strcmp(value, "tiny") == 0) {
    shape.vocabulary = &rz::synth::tiny_vocabulary(shape.vocabulary->spelling);
  } else if (option != "--vocab" || std::strcmp(value, "real") != 0) {
    show_use();
  }
}

Request read_request(int n_args, char **args) {
  if (n_args < 4 || n_args % 2 != 0) show_use();
  const rz::synth::Shape *shape = rz::synth::find_shape(args[1]);
  const rz::Mix *mix = rz::find_mix(args[2]);
  if (!shape || !mix) show_use();
  Request request{*shape, mix, args[3]};
  for (int i = 4; i < n_args; i += 2) set_option(request, args[i], args[i + 1]);
  return request;
}

}  // namespace

int main(int n_args, char **args) {
  try {
    const Request request = read_request(n_args, args);
    const auto start = std::chrono::steady_clock::now();
    rz::synth::write_model(request.shape, *request.mix, request.seed, request.path);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    std::printf("%s: %s %s, written in %.1f s\n", request.path, request.shape.name, request.mix->name,
                took.count());
  } catch (const std::exception &error) {
    std::fprintf(stderr, "rz-synth: %s\n", error.what());
    return 1;
  }
}
