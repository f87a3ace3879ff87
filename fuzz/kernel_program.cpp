#include "kernel_program.h"

#include <regex>
#include <stdexcept>

namespace anymps::fuzz {
namespace {

void write_line(std::string_view text, unsigned depth, std::string& out) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    out.append(std::size_t{2} * depth, ' ').append(text.substr(begin, end - begin)).append("\n");
    begin = end + 1;
  }
}

void write(const std::vector<Statement>& statements, unsigned depth, std::string& out) {
  for (const Statement& statement : statements) {
    write_line(statement.text, depth, out);
    for (const Statement::Block& block : statement.blocks) {
      write_line(block.head, depth, out);
      write(block.body, depth + 1, out);
    }
    write_line(statement.tail, depth, out);
  }
}

std::string size_text(const std::array<std::uint32_t, 2>& size) {
  return std::to_string(size[0]) + "x" + std::to_string(size[1]);
}

std::uint32_t number(const std::ssub_match& text) { return static_cast<std::uint32_t>(std::stoul(text.str())); }

}  // namespace

std::string text_of(const LaunchPlan& plan) {
  std::string text = "// values " + std::to_string(plan.values);
  for (const LaunchShape& shape : plan.shapes) {
    text += ", grid " + size_text(shape.grid) + " group " + size_text(shape.group);
  }
  return text;
}

LaunchPlan plan_of(std::string_view source) {
  const std::string line(source.substr(0, source.find('\n')));
  std::smatch values;
  if (!std::regex_search(line, values, std::regex("^// values (\\d+)"))) {
    throw std::runtime_error("the first line does not say how to launch it: " + line);
  }
  LaunchPlan plan{.values = number(values[1]), .shapes = {}};
  const std::regex shape("grid (\\d+)x(\\d+) group (\\d+)x(\\d+)");
  for (auto found = std::sregex_iterator(line.begin(), line.end(), shape); found != std::sregex_iterator(); ++found) {
    const std::smatch& s = *found;
    plan.shapes.push_back({.grid = {number(s[1]), number(s[2])}, .group = {number(s[3]), number(s[4])}});
  }
  return plan;
}

std::string KernelProgram::source() const {
  std::string text = text_of(plan) + "\n" + head;
  write(body, 1, text);
  return text + tail;
}

}  // namespace anymps::fuzz
