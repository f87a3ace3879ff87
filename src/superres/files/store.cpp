#include "superres/files/store.h"

#include <fmt/format.h>
#include <lmdb.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "lab/base/json_text.h"
#include "superres/files/lmdb_pages.h"
#include "superres/files/text_hash.h"

namespace anymps::superres::files {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::size_t kMapBytes = std::size_t{1} << 40;
constexpr int kVersion = 1;
constexpr std::string_view kAboutKey = "about";
constexpr std::string_view kCountKey = "count";
constexpr char kRecordKey = 'r';
constexpr char kSourceKey = 's';
constexpr std::size_t kLongestSourceName = 480;  // LMDB's keys have 511 bytes

void check(int result, const fs::path& path) {
  if (result != MDB_SUCCESS) throw StoreError(fmt::format("{}: {}", path.string(), mdb_strerror(result)));
}

// Ends with nothing done where commit() was not reached.
class Transaction {
 public:
  Transaction(MDB_env* environment, const fs::path& path, bool writes) : path_(path) {
    check(mdb_txn_begin(environment, nullptr, writes ? 0 : MDB_RDONLY, &handle_), path);
  }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction() {
    if (handle_ != nullptr) mdb_txn_abort(handle_);
  }

  MDB_txn* handle() const { return handle_; }

  // Valid until the transaction ends.
  std::optional<std::string_view> get(unsigned database, std::string_view key) const {
    MDB_val name = value_of(key);
    MDB_val found{};
    const int result = mdb_get(handle_, database, &name, &found);
    if (result == MDB_NOTFOUND) return std::nullopt;
    check(result, path_);
    return std::string_view(static_cast<const char*>(found.mv_data), found.mv_size);
  }

  void put(unsigned database, std::string_view key, std::string_view value) {
    MDB_val name = value_of(key);
    MDB_val bytes = value_of(value);
    check(mdb_put(handle_, database, &name, &bytes, 0), path_);
  }

  void commit() {
    MDB_txn* handle = std::exchange(handle_, nullptr);
    check(mdb_txn_commit(handle), path_);
  }

 private:
  static MDB_val value_of(std::string_view text) {
    return {text.size(), const_cast<char*>(text.data())};  // LMDB reads from it
  }

  const fs::path& path_;
  MDB_txn* handle_ = nullptr;
};

// In an order that is that of the numbers.
std::string record_key(std::uint64_t index) {
  std::string key(1, kRecordKey);
  for (int shift = 56; shift >= 0; shift -= 8) key.push_back(static_cast<char>(index >> shift));
  return key;
}

// A name that is too long for a key keeps its end, and a hash of the whole.
std::string source_key(std::string_view name) {
  if (name.size() <= kLongestSourceName) return kSourceKey + std::string(name);
  return fmt::format("{}{:016x}{}", kSourceKey, text_hash(name), name.substr(name.size() - kLongestSourceName + 16));
}

Source source_in(std::string_view text) {
  const json value = lab::base::json_of(text);
  if (!value.is_object()) return {};
  return {value.value("name", ""), value.value("first", std::uint64_t{0}), value.value("count", std::uint64_t{0}),
          value.value("error", ""), value.value("bytes", std::uint64_t{0})};
}

std::uint64_t count_in(const Transaction& transaction, unsigned database) {
  const auto text = transaction.get(database, kCountKey);
  return text ? std::strtoull(std::string(*text).c_str(), nullptr, 10) : 0;
}

bool is_empty(const Transaction& transaction, unsigned database, const fs::path& path) {
  MDB_stat statistics{};
  check(mdb_stat(transaction.handle(), database, &statistics), path);
  return statistics.ms_entries == 0;
}

// Of the state that is read; where a writer goes on meanwhile, of the next one.
void check_state(MDB_env* environment, const fs::path& path, bool for_writing) {
  constexpr int kMostStates = 100;
  for (int i = 0; i < kMostStates; ++i) {
    const Transaction held(environment, path, false);
    if (check_pages(path, mdb_txn_id(held.handle()), for_writing)) return;
  }
  throw StoreError(path.string() + ": it changes too quickly to be read");
}

// With the name of the file.
template <typename Work>
void naming(const fs::path& path, const Work& work) {
  try {
    work();
  } catch (const PagesError& error) {
    throw StoreError(fmt::format("{}: {}", path.string(), error.what()));
  }
}

// As a pack leaves it that was killed at its very beginning.
[[noreturn]] void throw_unpacked(const fs::path& path) {
  throw StoreError(path.string() + ": nothing is packed into it yet: pack again");
}

}  // namespace

void Store::Close::operator()(MDB_env* environment) const { mdb_env_close(environment); }

Store::Store(const fs::path& path, bool writable) : path_(path) {
  MDB_env* made = nullptr;
  naming(path, [&] { check_first_pages(path); });
  check(mdb_env_create(&made), path);
  environment_.reset(made);
  check(mdb_env_set_mapsize(made, kMapBytes), path);
  // The loader's threads read with the same environment, each with transactions of its own.
  constexpr unsigned kFlags = MDB_NOSUBDIR | MDB_NOTLS | MDB_NORDAHEAD;
  check(mdb_env_open(made, path.c_str(), kFlags | (writable ? 0U : MDB_RDONLY), 0644), path);
  mapped_ = std::make_unique<MappedFile>(path);
  naming(path, [&] { check_state(made, path, writable); });
  Transaction transaction(made, path_, writable);
  check(mdb_dbi_open(transaction.handle(), nullptr, 0, &database_), path);
  if (const auto about = transaction.get(database_, kAboutKey)) {
    const json found = lab::base::json_of(*about);
    if (!found.is_object() || found.value("program", "") != "anymps sr") {
      throw StoreError(path.string() + ": it is a database of another program");
    }
    if (found.value("version", 0) != kVersion) {
      throw StoreError(fmt::format("{}: it is of version {}, and this anymps reads version {}: pack it again",
                                   path.string(), found.value("version", 0), kVersion));
    }
    settings_ = found.value("settings", json::object());
  } else if (!is_empty(transaction, database_, path)) {
    throw StoreError(path.string() + ": it is a database of another program");
  } else if (!writable) {
    throw_unpacked(path);
  }
  transaction.commit();
}

Store Store::open(const fs::path& path) {
  if (!fs::is_regular_file(path)) throw StoreError(path.string() + ": there is no such database");
  if (fs::file_size(path) == 0) throw_unpacked(path);
  return {path, false};
}

Store Store::append_to(const fs::path& path, const json& settings) {
  Store store(path, true);
  if (store.settings_.is_null()) {
    Transaction transaction(store.environment_.get(), path, true);
    transaction.put(store.database_, kAboutKey,
                    lab::base::json_line({{"program", "anymps sr"}, {"version", kVersion}, {"settings", settings}}));
    transaction.commit();
    store.settings_ = settings;
  } else if (store.settings_ != settings) {
    throw StoreError(
        fmt::format("{}: it was packed with other settings ({}): name another database, or the same settings",
                    path.string(), lab::base::json_line(store.settings_)));
  }
  return store;
}

std::uint64_t Store::size() const { return count_in(Transaction(environment_.get(), path_, false), database_); }

Pair Store::at(std::uint64_t index) const {
  const Transaction transaction(environment_.get(), path_, false);
  const auto bytes = transaction.get(database_, record_key(index));
  if (!bytes) throw StoreError(fmt::format("{}: record {} is missing", path_.string(), index));
  try {
    Pair pair = decode_record({reinterpret_cast<const std::uint8_t*>(bytes->data()), bytes->size()});
    const int scale = settings_.value("scale", 0);
    if (pair.high.width != pair.low.width * scale || pair.high.height != pair.low.height * scale) {
      throw RecordError(fmt::format("one side is not {} times as large as the other", scale));
    }
    return pair;
  } catch (const RecordError& error) {
    throw StoreError(fmt::format("{}: record {}: {}", path_.string(), index, error.what()));
  }
}

std::optional<Source> Store::source(std::string_view name) const {
  const Transaction transaction(environment_.get(), path_, false);
  const auto text = transaction.get(database_, source_key(name));
  return text ? std::optional(source_in(*text)) : std::nullopt;
}

std::vector<Source> Store::sources() const {
  const Transaction transaction(environment_.get(), path_, false);
  MDB_cursor* cursor = nullptr;
  check(mdb_cursor_open(transaction.handle(), database_, &cursor), path_);
  const std::unique_ptr<MDB_cursor, decltype(&mdb_cursor_close)> kept(cursor, &mdb_cursor_close);
  std::array<char, 1> first{kSourceKey};
  MDB_val key{first.size(), first.data()};
  MDB_val value{};
  std::vector<Source> all;
  for (int result = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE); result != MDB_NOTFOUND;
       result = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) {
    check(result, path_);
    if (key.mv_size == 0 || *static_cast<const char*>(key.mv_data) != kSourceKey) break;
    all.push_back(source_in({static_cast<const char*>(value.mv_data), value.mv_size}));
  }
  std::ranges::sort(all, {}, &Source::first);
  return all;
}

void Store::add(const std::string& name, std::uint64_t bytes_of_file, const std::vector<Pair>& pairs) {
  Transaction transaction(environment_.get(), path_, true);
  const std::uint64_t first = count_in(transaction, database_);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const std::vector<std::uint8_t> bytes = encode_record(pairs[i]);
    transaction.put(database_, record_key(first + i), {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  transaction.put(database_, kCountKey, std::to_string(first + pairs.size()));
  transaction.put(
      database_, source_key(name),
      lab::base::json_line({{"name", name}, {"first", first}, {"count", pairs.size()}, {"bytes", bytes_of_file}}));
  transaction.commit();
}

void Store::skip(const std::string& name, const std::string& error) {
  Transaction transaction(environment_.get(), path_, true);
  transaction.put(database_, source_key(name), lab::base::json_line({{"name", name}, {"error", error}}));
  transaction.commit();
}

std::uint64_t Store::map_bytes() const {
  MDB_envinfo info{};
  mdb_env_info(environment_.get(), &info);
  return info.me_mapsize;
}

std::uint64_t Store::disk_bytes() const {
  struct stat status{};
  return ::stat(path_.c_str(), &status) == 0 ? static_cast<std::uint64_t>(status.st_blocks) * 512 : 0;
}

}  // namespace anymps::superres::files
