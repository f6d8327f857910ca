// Opening a model: headers, Spec, tokenizer, then the family's Plan over the mapped weights.
#include "model/model.h"

#include <algorithm>
#include <array>
#include <cinttypes>

#include "base/error.h"
#include "model/arch.h"
#include "model/finite.h"
#include "model/vocab.h"

namespace rz {
namespace {

struct FileType {
  int64_t number;
  const char *name;
};

// general.file_type: what a file is made mostly of.
constexpr FileType kFileTypes[] = {
    {0, "F32"},     {1, "F16"},     {2, "Q4_0"},    {3, "Q4_1"},    {7, "Q8_0"},
    {8, "Q5_0"},    {9, "Q5_1"},    {10, "Q2_K"},   {11, "Q3_K_S"}, {12, "Q3_K_M"},
    {13, "Q3_K_L"}, {14, "Q4_K_S"}, {15, "Q4_K_M"}, {16, "Q5_K_S"}, {17, "Q5_K_M"},
    {18, "Q6_K"},   {21, "Q2_K_S"}, {25, "IQ4_NL"}, {30, "IQ4_XS"}, {32, "BF16"},
};
constexpr int64_t kGuessed = 1024;  // a flag on the number: the writer was not sure

const char *most_common_type(const ModelFile &file) {
  std::array<uint64_t, static_cast<size_t>(Type::Count)> elements{};
  for (const TensorInfo &tensor : file.tensors)
    elements[static_cast<size_t>(tensor.type)] += tensor.elements();
  const auto most = std::max_element(elements.begin(), elements.end());
  return *most == 0 ? "" : traits(static_cast<Type>(most - elements.begin())).name;
}

std::string quantization_name(const ModelFile &file) {
  const int64_t number = file.metadata.integer_or("general.file_type", 0, UINT32_MAX, -1);
  for (const FileType &type : kFileTypes) {
    if (number >= 0 && type.number == (number & ~kGuessed)) return type.name;
  }
  return most_common_type(file);
}

void read_names(const Metadata &metadata, Spec &spec) {
  spec.architecture = metadata.string("general.architecture");
  spec.name = metadata.string_or("general.name", "");
}

// A model without a vocabulary has as many tokens as its embeddings have rows.
int32_t rows_of_embeddings(const ModelFile &file) {
  const TensorInfo *embeddings = file.find("token_embd.weight");
  if (!embeddings) fail(Status::Format, "token_embd.weight: expected the tensor, found nothing");
  if (embeddings->dims[1] < 1 || embeddings->dims[1] > INT32_MAX) {
    fail(Status::Limit, "token_embd.weight: expected at most %d rows, found %s", INT32_MAX,
         embeddings->shape().c_str());
  }
  return static_cast<int32_t>(embeddings->dims[1]);
}

void build_plan(const Architecture &architecture, const LoadOptions &options, Model &model) {
  const Metadata &metadata = model.file->metadata;
  model.spec = read_spec(metadata, options.context);
  if (model.spec.vocab == 0) model.spec.vocab = rows_of_embeddings(*model.file);
  if (options.check_tensors && !options.headers_only) check_finite(*model.file);

  const auto read = options.headers_only ? Weights::Read::HeadersOnly : Weights::Read::All;
  model.weights = std::make_unique<Weights>(*model.file, read, options.progress);
  PlanBuilder builder(model.spec);
  ArchContext context{metadata, model.spec, *model.weights, builder};
  architecture.build(context);
  model.plan = builder.finish();
}

}  // namespace

uint64_t Model::weights_bytes() const {
  uint64_t bytes = 0;
  for (const TensorInfo &tensor : file->tensors) bytes += tensor.size_bytes;
  return bytes;
}

std::unique_ptr<Model> load_model(std::shared_ptr<const Source> source, const LoadOptions &options) {
  auto model = std::make_unique<Model>();
  options.progress(0);
  model->file = open_model_file(std::move(source));
  for (const TensorInfo &tensor : model->file->tensors) model->parameters += tensor.elements();
  model->quantization = quantization_name(*model->file);

  // An architecture that is not known explains whatever else is odd about a file, so it is named first.
  const Metadata &metadata = model->file->metadata;
  const Architecture *architecture =
      options.vocab_only ? nullptr : &find_architecture(metadata.string("general.architecture"));
  Vocab vocab = read_vocab(metadata);
  if (architecture) {
    build_plan(*architecture, options, *model);
  } else {
    read_names(metadata, model->spec);
    model->spec.vocab = vocab.size();
  }
  if (vocab.kind != VocabKind::None) model->tokenizer = Tokenizer::create(std::move(vocab));
  if (options.lock_memory && !options.headers_only) {
    for (const auto &file : model->file->sources) file->lock_memory();
  }
  options.progress(1);
  return model;
}

}  // namespace rz
