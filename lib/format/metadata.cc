// Metadata as the rest of the library asks for it: by key, with the type and range it needs. An answer that
// cannot be given says what was expected and what the file holds.
#include <charconv>
#include <cinttypes>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/utf8.h"
#include "format/model_file.h"
#include "format/value_type.h"

namespace rz {

namespace {

// Text of the file as part of a message: one short line of printable characters.
std::string shown(std::string_view text) {
  constexpr size_t kLongest = 60;
  std::string line;
  for (size_t pos = 0; pos < text.size() && line.size() < kLongest;) {
    const uint32_t c = utf8_next(text, pos);
    utf8_append(line, c < 0x20 || c == 0x7f ? '?' : c);
    if (line.size() >= kLongest && pos < text.size()) line += "...";
  }
  return line;
}

template <class Number>
std::string shortest(Number number) {
  char digits[64];
  return std::string(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

// "u32 7", "string \"llama\"", "array [f32 x 12]", "nothing"
std::string found(const Value *value) {
  if (!value) return "nothing";
  const std::string name = value_type_name(value->type);
  if (value->type == ValueType::String)
    return name + " \"" + shown(std::get<std::string_view>(value->data)) + '"';
  return name + ' ' + value->text();
}

[[noreturn]] void fail_expected(std::string_view key, const std::string &expected, const Value *value) {
  fail(Status::Format, "%s: expected %s, found %s", shown(key).c_str(), expected.c_str(),
       found(value).c_str());
}

int64_t integer_of(std::string_view key, const Value *value, int64_t low, int64_t high) {
  if (value) {
    if (const auto *u = std::get_if<uint64_t>(&value->data)) {
      if (std::cmp_greater_equal(*u, low) && std::cmp_less_equal(*u, high)) return static_cast<int64_t>(*u);
    }
    if (const auto *i = std::get_if<int64_t>(&value->data)) {
      if (*i >= low && *i <= high) return *i;
    }
  }
  const std::string range = '[' + std::to_string(low) + ", " + std::to_string(high) + ']';
  fail_expected(key, low == high ? std::to_string(low) : "an integer in " + range, value);
}

double number_of(std::string_view key, const Value *value) {
  if (value) {
    if (const auto *d = std::get_if<double>(&value->data); d && std::isfinite(*d)) return *d;
    if (const auto *u = std::get_if<uint64_t>(&value->data)) return static_cast<double>(*u);
    if (const auto *i = std::get_if<int64_t>(&value->data)) return static_cast<double>(*i);
  }
  fail_expected(key, "a finite number", value);
}

template <class T>
const T &get(std::string_view key, const Value *value, const char *expected) {
  if (value) {
    if (const T *data = std::get_if<T>(&value->data)) return *data;
  }
  fail_expected(key, expected, value);
}

void check_index(const ArrayValue &array, uint64_t index) {
  if (index < array.count) return;
  fail(Status::Internal, "array: expected an index below %" PRIu64 ", found %" PRIu64, array.count, index);
}

}  // namespace

const char *value_type_name(ValueType type) {
  constexpr const char *kNames[kValueTypes] = {"u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
                                               "bool", "string", "array", "u64", "i64", "f64"};
  const auto number = static_cast<uint32_t>(type);
  return number < kValueTypes ? kNames[number] : "unknown";
}

double ArrayValue::number(uint64_t index) const {
  check_index(*this, index);
  if (!is_scalar(element)) fail(Status::Format, "expected an array of numbers, found one of strings");
  return with_scalar(element, [&](auto zero) {
    return static_cast<double>(load<decltype(zero)>(scalars.data() + index * sizeof zero));
  });
}

int64_t ArrayValue::integer(uint64_t index) const {
  check_index(*this, index);
  if (!is_scalar(element) || element == ValueType::F32 || element == ValueType::F64) {
    fail(Status::Format, "expected an array of integers, found one of %s", value_type_name(element));
  }
  return with_scalar(element, [&](auto zero) {
    const auto value = load<decltype(zero)>(scalars.data() + index * sizeof zero);
    if (std::is_same_v<decltype(zero), uint64_t> && static_cast<int64_t>(value) < 0) {
      fail(Status::Format, "array[%" PRIu64 "]: expected at most 2^63 - 1, found %s", index,
           shortest(value).c_str());
    }
    return static_cast<int64_t>(value);
  });
}

std::string Value::text() const {
  if (const auto *u = std::get_if<uint64_t>(&data)) return std::to_string(*u);
  if (const auto *i = std::get_if<int64_t>(&data)) return std::to_string(*i);
  if (const auto *d = std::get_if<double>(&data)) {
    return type == ValueType::F32 ? shortest(static_cast<float>(*d)) : shortest(*d);
  }
  if (const auto *b = std::get_if<bool>(&data)) return *b ? "true" : "false";
  if (const auto *s = std::get_if<std::string_view>(&data)) return std::string(*s);
  const auto &array = std::get<ArrayValue>(data);
  return std::string("[") + value_type_name(array.element) + " x " + std::to_string(array.count) + ']';
}

void Metadata::add(std::string_view key, Value value) {
  const auto [place, is_new] = index_.try_emplace(key, entries_.size());
  if (!is_new) {
    fail(Status::Format, "%s: metadata[%zu] repeats the key of metadata[%zu]", shown(key).c_str(),
         entries_.size(), place->second);
  }
  entries_.push_back({key, std::move(value)});
}

const Value *Metadata::find(std::string_view key) const {
  const auto place = index_.find(key);
  return place == index_.end() ? nullptr : &entries_[place->second].value;
}

int64_t Metadata::integer(std::string_view key, int64_t low, int64_t high) const {
  return integer_of(key, find(key), low, high);
}

double Metadata::number(std::string_view key) const { return number_of(key, find(key)); }

std::string_view Metadata::string(std::string_view key) const {
  return get<std::string_view>(key, find(key), "a string");
}

const ArrayValue &Metadata::array(std::string_view key) const {
  return get<ArrayValue>(key, find(key), "an array");
}

int64_t Metadata::integer_or(std::string_view key, int64_t low, int64_t high, int64_t absent) const {
  const Value *value = find(key);
  return value ? integer_of(key, value, low, high) : absent;
}

double Metadata::number_or(std::string_view key, double absent) const {
  const Value *value = find(key);
  return value ? number_of(key, value) : absent;
}

bool Metadata::boolean_or(std::string_view key, bool absent) const {
  const Value *value = find(key);
  return value ? get<bool>(key, value, "a bool") : absent;
}

std::string_view Metadata::string_or(std::string_view key, std::string_view absent) const {
  const Value *value = find(key);
  return value ? get<std::string_view>(key, value, "a string") : absent;
}

const ArrayValue *Metadata::find_array(std::string_view key) const {
  const Value *value = find(key);
  return value ? &get<ArrayValue>(key, value, "an array") : nullptr;
}

}  // namespace rz
