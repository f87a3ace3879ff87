// Random kernels on three engines, until they disagree:
//
//   kernel_fuzz [--seed N] [--count N] [--seconds S] [--show N] [--check] [FILE...]
//
// Each seed is a program; a disagreement is printed with the smallest program that still shows it, and the next seed
// follows. --show prints the program of a seed. --check asks the sanitiser whether programs are what they should be.
// Files are programs to try, as tests/metal/found has them.
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "kernel_reducer.h"
#include "kernel_trial.h"
#include "random_kernel.h"

namespace {

using namespace anymps::fuzz;
using Clock = std::chrono::steady_clock;

struct Options {
  std::uint64_t seed = 1;
  std::uint64_t count = 1000;
  double seconds = 1e9;
  double reduce_seconds = 180;
  bool show = false;
  bool check = false;
  std::vector<std::string> files;
};

// A program that crashes or hangs an engine takes this process with it; its seed is all that can be said then.
volatile std::sig_atomic_t seed_now_ = 0;
constexpr unsigned kMostSeconds = 120;

extern "C" void say_seed(int signal) {
  char text[96];
  const int length = std::snprintf(text, sizeof text, "\nseed %ld: %s\n", static_cast<long>(seed_now_),
                                   signal == SIGALRM ? "it takes too long" : "a crash");
  if (::write(STDERR_FILENO, text, static_cast<std::size_t>(length)) < 0) std::_Exit(3);
  std::_Exit(2);
}

Options options_of(int count, char** words) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    const auto value = [&]() -> std::string {
      if (++i == count) throw std::runtime_error(word + " wants a number");
      return words[i];
    };
    if (word == "--seed") {
      options.seed = std::stoull(value());
    } else if (word == "--count") {
      options.count = std::stoull(value());
    } else if (word == "--seconds") {
      options.seconds = std::stod(value());
    } else if (word == "--reduce-seconds") {
      options.reduce_seconds = std::stod(value());
    } else if (word == "--show") {
      options.show = true;
      options.seed = std::stoull(value());
    } else if (word == "--check") {
      options.check = true;
    } else if (word.starts_with("-")) {
      throw std::runtime_error("what is " + word + "?");
    } else {
      options.files.push_back(word);
    }
  }
  return options;
}

void report(std::uint64_t seed, const KernelProgram& program, const Disagreement& disagreement, double seconds) {
  std::cout << "\nseed " << seed << ": " << disagreement.text() << std::endl;
  // Without an alarm: a smaller program that hangs is not looked for.
  const KernelProgram small = reduced(
      program,
      [&](const KernelProgram& candidate) {
        alarm(kMostSeconds);
        const Trial trial = try_kernel(candidate.source());
        return trial.disagreement && trial.disagreement->who == disagreement.who;
      },
      seconds);
  const Trial trial = try_kernel(small.source());
  std::cout << small.source() << "// seed " << seed << ": "
            << (trial.disagreement ? trial.disagreement->text() : "not seen again") << std::endl;
}

class Tally {
 public:
  void add(const Trial& trial) {
    ++programs_;
    if (trial.disagreement) ++disagreements_;
    if (!trial.not_vectorized.empty()) ++declined_[trial.not_vectorized];
  }
  bool any_disagreement() const { return disagreements_ != 0; }
  void print(double seconds) const {
    std::cout << programs_ << " programs in " << seconds << " seconds, " << programs_ / seconds << " a second; "
              << disagreements_ << " disagreements\n";
    for (const auto& [why, count] : declined_) std::cout << "  declined " << count << ": " << why << "\n";
  }

 private:
  std::uint64_t programs_ = 0;
  std::uint64_t disagreements_ = 0;
  std::map<std::string, std::uint64_t> declined_;
};

int try_files(const std::vector<std::string>& files) {
  int failures = 0;
  for (const std::string& path : files) {
    std::ifstream file(path, std::ios::binary);
    const Trial trial = try_kernel({std::istreambuf_iterator<char>(file), {}});
    const std::string said = !trial.compiles ? trial.refusal : trial.disagreement ? trial.disagreement->text() : "";
    std::cout << path << ": " << (said.empty() ? "the same" : said)
              << (trial.not_vectorized.empty() ? "" : "; declined: " + trial.not_vectorized) << "\n";
    failures += said.empty() ? 0 : 1;
  }
  return failures != 0 ? 1 : 0;
}

int run(const Options& options) {
  if (options.show) {
    std::cout << random_kernel(options.seed).source();
    return 0;
  }
  if (!options.files.empty()) return try_files(options.files);
  const auto begin = Clock::now();
  const auto passed = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  Tally tally;
  for (std::uint64_t seed = options.seed; seed < options.seed + options.count && passed() < options.seconds; ++seed) {
    seed_now_ = static_cast<std::sig_atomic_t>(seed);
    alarm(kMostSeconds);
    const KernelProgram program = random_kernel(seed);
    const Trial trial = try_kernel(program.source());
    if (!trial.compiles) {
      std::cout << "seed " << seed << " is no program:\n" << trial.refusal << std::endl;
      return 1;
    }
    tally.add(trial);
    if (options.check) {
      if (const std::string faults = faults_of(program.source()); !faults.empty()) {
        std::cout << "seed " << seed << " has faults:\n" << faults << std::endl;
        return 1;
      }
    }
    if (trial.disagreement) report(seed, program, *trial.disagreement, options.reduce_seconds);
  }
  tally.print(passed());
  return tally.any_disagreement() ? 1 : 0;
}

}  // namespace

int main(int count, char** words) {
  // Nobody asks for these programs again.
  ::setenv("ANYMPS_CACHE_LIMIT", "0", /*overwrite=*/0);
  for (const int signal : {SIGSEGV, SIGABRT, SIGBUS, SIGILL, SIGFPE, SIGALRM}) std::signal(signal, say_seed);
  try {
    return run(options_of(count, words));
  } catch (const std::exception& error) {
    std::cerr << "kernel_fuzz: " << error.what() << "\n";
    return 2;
  }
}
