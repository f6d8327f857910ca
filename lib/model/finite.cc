// Decodes all weights a piece at a time and looks for NaN and infinity. Pieces keep the memory small whatever
// the file's size.
#include "model/finite.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <vector>

#include "base/error.h"

namespace rz {
namespace {

constexpr uint64_t kPieceWeights = 1 << 16;  // a multiple of every format's block

struct Piece {
  std::vector<std::byte> blocks;
  std::vector<float> weights = std::vector<float>(kPieceWeights);
};

void check_tensor(const ModelFile &file, const TensorInfo &tensor, Piece &piece) {
  const TypeTraits &type = traits(tensor.type);
  if (!type.decode) return;
  const Source &source = *file.sources[static_cast<size_t>(tensor.shard)];
  const uint64_t n_weights = tensor.elements();
  for (uint64_t first = 0; first < n_weights; first += kPieceWeights) {
    const uint64_t n = std::min(kPieceWeights, n_weights - first);
    piece.blocks.resize(bytes_of(tensor.type, n));
    source.read_at(tensor.offset + bytes_of(tensor.type, first), piece.blocks.data(), piece.blocks.size());
    type.decode(piece.blocks.data(), piece.weights.data(), static_cast<int64_t>(n));
    for (uint64_t i = 0; i < n; ++i) {
      if (std::isfinite(piece.weights[i])) continue;
      fail(Status::Numeric, "%.*s[%" PRIu64 "]: expected a finite number, found %g",
           static_cast<int>(tensor.name.size()), tensor.name.data(), first + i,
           static_cast<double>(piece.weights[i]));
    }
  }
}

}  // namespace

void check_finite(const ModelFile &file) {
  Piece piece;
  for (const TensorInfo &tensor : file.tensors) check_tensor(file, tensor, piece);
}

}  // namespace rz
