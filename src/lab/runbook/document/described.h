// Structs as JSON and back, from one list of their fields:
//
//   struct Knee {
//     std::uint64_t batch = 0;
//     std::string why;
//
//     template <typename Fields, typename Self>
//     static void describe(Fields& fields, Self& self) {
//       fields("batch", self.batch);
//       fields("why", self.why);
//     }
//   };
//
// to_json(knee) writes the list and described_from<Knee>(json) reads it, so that the two cannot drift apart. Reading
// trusts nothing: what is not there, or of another kind than the field, leaves the field as it is by default. Numbers
// are not made up that way: a struct that lacks a field which is not optional is left out of a list, a map or an
// optional.
//
// Kinds of fields: bool, integers, double, std::string, enums with words (enum_words.h), std::optional (null where
// there is none), std::vector, std::map by std::string, described structs, and nlohmann::json for what has no schema.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "lab/runbook/document/enum_words.h"

namespace anymps::lab::runbook::document {

class FieldWriter;
class FieldReader;

template <typename T>
concept Described = requires(FieldWriter& writer, const T& value) { T::describe(writer, value); };

namespace detail {

template <typename T>
struct Kind;  // of a field: write() and read()

template <typename T>
nlohmann::json write(const T& value) {
  return Kind<T>::write(value);
}
// Whether `from` was of that kind.
template <typename T>
bool read(const nlohmann::json& from, T& value) {
  return Kind<T>::read(from, value);
}

}  // namespace detail

class FieldWriter {
 public:
  template <typename T>
  void operator()(const char* name, const T& value) {
    object_[name] = detail::write(value);
  }
  // A field that is only there where it has a value.
  template <typename T>
  void if_any(const char* name, const std::optional<T>& value) {
    if (value) object_[name] = detail::write(*value);
  }
  // A field that follows from others: written for those who read the JSON, and not read.
  template <typename T>
  void derived(const char* name, const T& value) {
    object_[name] = detail::write(value);
  }
  // Fields that are there together or not at all, amid the others.
  template <typename T>
  void together(const std::optional<T>& group) {
    if (group) T::describe(*this, *group);
  }
  nlohmann::json take() { return std::move(object_); }

 private:
  nlohmann::json object_ = nlohmann::json::object();
};

class FieldReader {
 public:
  // `object` must be one, and outlive the reader.
  explicit FieldReader(const nlohmann::json& object) : object_(object) {}

  template <typename T>
  void operator()(const char* name, T& value) {
    const auto found = object_.find(name);
    is_any_ |= found != object_.end();
    if (found == object_.end() || !detail::read(*found, value)) is_complete_ = false;
  }
  template <typename T>
  void operator()(const char* name, std::optional<T>& value) {
    const auto found = object_.find(name);
    is_any_ |= found != object_.end();
    if (found != object_.end()) detail::read(*found, value);
  }
  template <typename T>
  void if_any(const char* name, std::optional<T>& value) {
    (*this)(name, value);
  }
  template <typename T>
  void derived(const char* /*name*/, const T& /*value*/) {}
  // Of a group that is there in part, what is there.
  template <typename T>
  void together(std::optional<T>& group) {
    T made;
    FieldReader reader(object_);
    T::describe(reader, made);
    if (!reader.is_any_) return;
    is_any_ = true;
    is_complete_ = is_complete_ && reader.is_complete_;
    group = std::move(made);
  }

  // Whether all fields that are not optional were there.
  bool is_complete() const { return is_complete_; }

 private:
  const nlohmann::json& object_;
  bool is_complete_ = true;
  bool is_any_ = false;
};

template <Described T>
nlohmann::json to_json(const T& value) {
  FieldWriter writer;
  T::describe(writer, value);
  return writer.take();
}

template <Described T>
T described_from(const nlohmann::json& object) {
  T value;
  detail::read(object, value);
  return value;
}

namespace detail {

template <typename T>
struct Kind {
  static nlohmann::json write(const T& value) {
    if constexpr (Described<T>) {
      return to_json(value);
    } else if constexpr (std::is_enum_v<T>) {
      return word_of(value);
    } else {
      return value;
    }
  }
  static bool read(const nlohmann::json& from, T& value) {
    if constexpr (Described<T>) {
      if (!from.is_object()) return false;
      FieldReader reader(from);
      T::describe(reader, value);
      return reader.is_complete();
    } else if constexpr (std::is_enum_v<T>) {
      const auto* text = from.template get_ptr<const std::string*>();
      const auto found = text != nullptr ? enum_of<T>(*text) : std::nullopt;
      if (found) value = *found;
      return found.has_value();
    } else if constexpr (std::same_as<T, nlohmann::json>) {
      value = from;
      return true;
    } else if constexpr (std::same_as<T, bool>) {
      if (!from.is_boolean()) return false;
      value = from.template get<bool>();
      return true;
    } else if constexpr (std::integral<T>) {
      return read_integer(from, value);
    } else if constexpr (std::floating_point<T>) {
      if (!from.is_number() || !std::isfinite(from.template get<double>())) return false;
      value = from.template get<T>();
      return true;
    } else {
      static_assert(std::same_as<T, std::string>, "no kind of field");
      if (!from.is_string()) return false;
      value = from.template get<std::string>();
      return true;
    }
  }

 private:
  static bool read_integer(const nlohmann::json& from, T& value) {
    if (from.is_number_unsigned()  ? !std::in_range<T>(from.template get<std::uint64_t>())
        : from.is_number_integer() ? !std::in_range<T>(from.template get<std::int64_t>())
                                   : !is_within(from)) {
      return false;
    }
    value = from.template get<T>();
    return true;
  }
  // Of a number with a point: the limits as doubles may be rounded up, so that they themselves are left out.
  static bool is_within(const nlohmann::json& from) {
    if (!from.is_number_float()) return false;
    const auto number = from.template get<double>();
    return number > static_cast<double>(std::numeric_limits<T>::min()) - 1 &&
           number < static_cast<double>(std::numeric_limits<T>::max());
  }
};

template <typename T>
struct Kind<std::optional<T>> {
  static nlohmann::json write(const std::optional<T>& value) {
    return value ? detail::write(*value) : nlohmann::json();
  }
  static bool read(const nlohmann::json& from, std::optional<T>& value) {
    if (from.is_null()) {
      value.reset();
      return true;
    }
    T made{};
    if (!detail::read(from, made)) return false;
    value = std::move(made);
    return true;
  }
};

template <typename T>
struct Kind<std::vector<T>> {
  static nlohmann::json write(const std::vector<T>& values) {
    auto list = nlohmann::json::array();
    for (const T& value : values) list.push_back(detail::write(value));
    return list;
  }
  // Without those that are of another kind.
  static bool read(const nlohmann::json& from, std::vector<T>& values) {
    if (!from.is_array()) return false;
    values.clear();
    for (const nlohmann::json& one : from) {
      T made{};
      if (detail::read(one, made)) values.push_back(std::move(made));
    }
    return true;
  }
};

template <typename T>
struct Kind<std::map<std::string, T>> {
  static nlohmann::json write(const std::map<std::string, T>& values) {
    auto object = nlohmann::json::object();
    for (const auto& [name, value] : values) object[name] = detail::write(value);
    return object;
  }
  static bool read(const nlohmann::json& from, std::map<std::string, T>& values) {
    if (!from.is_object()) return false;
    values.clear();
    for (const auto& [name, one] : from.items()) {
      T made{};
      if (detail::read(one, made)) values.emplace(name, std::move(made));
    }
    return true;
  }
};

}  // namespace detail
}  // namespace anymps::lab::runbook::document
