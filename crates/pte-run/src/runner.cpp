// runner.cpp: loads one .pte program (and its .ptd files) in the real
// ExecuTorch runtime and executes a line script, so that tests can compare the
// outputs of the runtime with the expected ones. docs/runners.md describes the
// protocol; `pte-emit runner install` builds it (install.rs), and
// lab/conformance/fetch.sh does for tests.
//
// It is not a sandbox: a malformed file may crash this process.

#include <executorch/devtools/etdump/data_sinks/file_data_sink.h>
#include <executorch/devtools/etdump/etdump_flatcc.h>
#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/extension/data_loader/file_data_loader.h>
#include <executorch/extension/data_loader/mmap_data_loader.h>
#include <executorch/extension/flat_tensor/flat_tensor_data_map.h>
#include <executorch/extension/memory_allocator/malloc_memory_allocator.h>
#include <executorch/extension/named_data_map/merged_data_map.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/platform/runtime.h>

#include <sys/resource.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace etdump = executorch::etdump;
namespace rt = executorch::runtime;
namespace ext = executorch::extension;
namespace aten = executorch::aten;
using rt::Error;

namespace {

// ---- output -----------------------------------------------------------------

const char* error_name(Error error) {
  switch (static_cast<uint32_t>(error)) {
    case 0x00: return "Ok";
    case 0x01: return "Internal";
    case 0x02: return "InvalidState";
    case 0x03: return "EndOfMethod";
    case 0x04: return "AlreadyLoaded";
    case 0x10: return "NotSupported";
    case 0x11: return "NotImplemented";
    case 0x12: return "InvalidArgument";
    case 0x13: return "InvalidType";
    case 0x14: return "OperatorMissing";
    case 0x15: return "RegistrationExceedingMaxKernels";
    case 0x16: return "RegistrationAlreadyRegistered";
    case 0x20: return "NotFound";
    case 0x21: return "MemoryAllocationFailed";
    case 0x22: return "AccessFailed";
    case 0x23: return "InvalidProgram";
    case 0x24: return "InvalidExternalData";
    case 0x25: return "OutOfResources";
    case 0x30: return "DelegateInvalidCompatibility";
    case 0x31: return "DelegateMemoryAllocationFailed";
    case 0x32: return "DelegateInvalidHandle";
    default: return "Unknown";
  }
}

const char* tag_name(rt::Tag tag) {
  switch (tag) {
    case rt::Tag::None: return "None";
    case rt::Tag::Tensor: return "Tensor";
    case rt::Tag::String: return "String";
    case rt::Tag::Double: return "Double";
    case rt::Tag::Int: return "Int";
    case rt::Tag::Bool: return "Bool";
    case rt::Tag::ListBool: return "ListBool";
    case rt::Tag::ListDouble: return "ListDouble";
    case rt::Tag::ListInt: return "ListInt";
    case rt::Tag::ListTensor: return "ListTensor";
    case rt::Tag::ListScalar: return "ListScalar";
    case rt::Tag::ListOptionalTensor: return "ListOptionalTensor";
    default: return "Unknown";
  }
}

void say(const std::string& line) {
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fputc('\n', stdout);
  std::fflush(stdout);
}

void say_outcome(const char* what, Error error) {
  if (error == Error::Ok) {
    say(std::string(what) + " ok");
    return;
  }
  char code[16];
  std::snprintf(code, sizeof(code), "0x%02X", static_cast<unsigned>(error));
  say(std::string(what) + " error " + code + " " + error_name(error));
}

[[noreturn]] void bad_command(const char* why) {
  std::fprintf(stderr, "runner: %s\n", why);
  say("bad command");
  std::exit(2);
}

const char kDigits[] = "0123456789abcdef";

std::string to_hex(const void* data, size_t size) {
  if (size == 0) {
    return "-";
  }
  const auto* bytes = static_cast<const uint8_t*>(data);
  std::string hex(size * 2, '0');
  for (size_t i = 0; i < size; ++i) {
    hex[2 * i] = kDigits[bytes[i] >> 4];
    hex[2 * i + 1] = kDigits[bytes[i] & 15];
  }
  return hex;
}

// A method name as one word: bytes outside '!'..'~', and '%', become %xx; the
// empty name is a lone '%'.
std::string quote(const char* name) {
  std::string word;
  for (const char* p = name; *p != '\0'; ++p) {
    const auto byte = static_cast<uint8_t>(*p);
    if (byte > 0x20 && byte < 0x7f && byte != '%') {
      word += *p;
    } else {
      word += '%';
      word += kDigits[byte >> 4];
      word += kDigits[byte & 15];
    }
  }
  return word.empty() ? "%" : word;
}

// ---- input ------------------------------------------------------------------

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string from_hex(const std::string& word) {
  if (word == "-") {
    return {};
  }
  if (word.empty() || word.size() % 2 != 0) {
    bad_command("odd or empty HEX");
  }
  std::string bytes(word.size() / 2, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) {
    const int high = hex_digit(word[2 * i]);
    const int low = hex_digit(word[2 * i + 1]);
    if (high < 0 || low < 0) {
      bad_command("HEX has a character that is not a hex digit");
    }
    bytes[i] = static_cast<char>(high * 16 + low);
  }
  return bytes;
}

std::string unquote(const std::string& word) {
  if (word == "%") {
    return {};
  }
  std::string name;
  for (size_t i = 0; i < word.size(); ++i) {
    if (word[i] != '%') {
      name += word[i];
      continue;
    }
    const int high = i + 2 < word.size() ? hex_digit(word[i + 1]) : -1;
    const int low = high >= 0 ? hex_digit(word[i + 2]) : -1;
    if (low < 0 || high + low == 0) {
      bad_command("bad %xx in NAME");
    }
    name += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return name;
}

int64_t to_int(const std::string& word, int64_t low, int64_t high) {
  errno = 0;
  char* end = nullptr;
  const long long value = std::strtoll(word.c_str(), &end, 10);
  if (word.empty() || *end != '\0' || errno != 0 || value < low ||
      value > high) {
    bad_command("a number is malformed or out of range");
  }
  return value;
}

template <typename T>
std::vector<T> to_list(const std::string& word) {
  std::vector<T> list;
  if (word == "-") {
    return list;
  }
  size_t start = 0;
  for (;;) {
    const size_t comma = word.find(',', start);
    const size_t length =
        comma == std::string::npos ? std::string::npos : comma - start;
    list.push_back(static_cast<T>(to_int(
        word.substr(start, length), 0, std::numeric_limits<T>::max())));
    if (comma == std::string::npos) {
      return list;
    }
    start = comma + 1;
  }
}

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> words;
  size_t start = 0;
  while (start < line.size()) {
    size_t end = line.find(' ', start);
    if (end == std::string::npos) {
      end = line.size();
    }
    if (end > start) {
      words.push_back(line.substr(start, end - start));
    }
    start = end + 1;
  }
  return words;
}

// ---- memory -----------------------------------------------------------------

// Zero-filled bytes at a 64-byte boundary. calloc hands out untouched pages for
// large sizes, so a program may request much more than it uses.
class Block {
 public:
  explicit Block(size_t size) : size_(size) {
    if (size <= std::numeric_limits<size_t>::max() - 64) {
      memory_.reset(std::calloc(size + 64, 1));
    }
    auto address = reinterpret_cast<uintptr_t>(memory_.get());
    data_ = memory_ == nullptr
        ? nullptr
        : static_cast<uint8_t*>(memory_.get()) + (64 - address % 64) % 64;
  }
  uint8_t* data() const { return data_; } // null: out of memory
  size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  std::unique_ptr<void, Free> memory_;
  uint8_t* data_;
  size_t size_;
};

// ---- files ------------------------------------------------------------------

enum class LoaderKind { File, Mmap, Buffer };

struct Source {
  std::unique_ptr<Block> bytes; // Buffer only
  std::unique_ptr<rt::DataLoader> loader;
};

template <typename T>
Error keep(rt::Result<T>&& result, Source& source) {
  if (!result.ok()) {
    return result.error();
  }
  source.loader = std::make_unique<T>(std::move(result.get()));
  return Error::Ok;
}

Error open_source(const std::string& path, LoaderKind kind, Source& source) {
  switch (kind) {
    case LoaderKind::File:
      return keep(ext::FileDataLoader::from(path.c_str()), source);
    case LoaderKind::Mmap:
      return keep(
          ext::MmapDataLoader::from(
              path.c_str(), ext::MmapDataLoader::MlockConfig::NoMlock),
          source);
    case LoaderKind::Buffer:
      break;
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return Error::AccessFailed;
  }
  std::string content;
  char piece[1 << 16];
  do {
    file.read(piece, sizeof(piece));
    content.append(piece, static_cast<size_t>(file.gcount()));
  } while (file);
  if (!file.eof()) {
    return Error::AccessFailed;
  }
  source.bytes = std::make_unique<Block>(content.size());
  if (source.bytes->data() == nullptr) {
    return Error::MemoryAllocationFailed;
  }
  std::memcpy(source.bytes->data(), content.data(), content.size());
  source.loader = std::make_unique<ext::BufferDataLoader>(
      source.bytes->data(), content.size());
  return Error::Ok;
}

// The .ptd files of the command line, opened at the first `load` and kept.
class DataFiles {
 public:
  DataFiles(std::vector<std::string> paths, LoaderKind kind)
      : paths_(std::move(paths)), kind_(kind) {}

  Error open() {
    if (!outcome_) {
      outcome_ = open_all();
    }
    return *outcome_;
  }

  // Null when there are no files.
  const rt::NamedDataMap* map() const {
    if (merged_) {
      return merged_.get();
    }
    return maps_.empty() ? nullptr : maps_.front().get();
  }

 private:
  Error open_all() {
    for (const std::string& path : paths_) {
      sources_.emplace_back();
      const Error error = open_source(path, kind_, sources_.back());
      if (error != Error::Ok) {
        return error;
      }
      auto map = ext::FlatTensorDataMap::load(sources_.back().loader.get());
      if (!map.ok()) {
        return map.error();
      }
      maps_.push_back(
          std::make_unique<ext::FlatTensorDataMap>(std::move(map.get())));
    }
    if (maps_.size() < 2) {
      return Error::Ok;
    }
    std::vector<const rt::NamedDataMap*> parts;
    for (const auto& map : maps_) {
      parts.push_back(map.get());
    }
    using Merged = ext::ET_MERGED_DATA_MAP_NAMESPACE::MergedDataMap;
    auto merged = Merged::load({parts.data(), parts.size()});
    if (!merged.ok()) {
      return merged.error();
    }
    merged_ = std::make_unique<Merged>(std::move(merged.get()));
    return Error::Ok;
  }

  const std::vector<std::string> paths_;
  const LoaderKind kind_;
  std::optional<Error> outcome_;
  std::vector<Source> sources_;
  std::vector<std::unique_ptr<ext::FlatTensorDataMap>> maps_;
  std::unique_ptr<rt::NamedDataMap> merged_;
};

// ---- trace ------------------------------------------------------------------

// Records an ETDump. Its base class aborts on values that ETDump has no encoding
// for: these are left out. Elements of a type that ETDump does not have are
// recorded as another type of the same size, so that their bytes are kept.
class Recorder final : public etdump::ETDumpGen {
 public:
  rt::Result<bool> log_evalue(
      const rt::EValue& value,
      rt::LoggedEValueType type) override {
    if (value.isTensor()) {
      return log_tensor(value.toTensor(), type);
    }
    const bool is_known = value.isInt() || value.isDouble() || value.isBool() ||
        (value.isTensorList() && is_known_list(value));
    return is_known ? ETDumpGen::log_evalue(value, type)
                    : rt::Result<bool>(false);
  }

  // Records the values, too. Called before the first `load`.
  Error record_values(const std::string& path) {
    auto sink = etdump::FileDataSink::create(path.c_str());
    if (!sink.ok()) {
      return sink.error();
    }
    values_ = std::make_unique<etdump::FileDataSink>(std::move(sink.get()));
    set_data_sink(values_.get());
    set_event_tracer_debug_level(
        rt::EventTracerDebugLogLevel::kIntermediateOutputs);
    return Error::Ok;
  }

  // Writes the ETDump, which is empty if no method was loaded.
  bool write(const std::string& path) {
    const auto dump = get_etdump_data();
    std::ofstream file(path, std::ios::binary);
    file.write(static_cast<const char*>(dump.buf), dump.size);
    file.close();
    std::free(dump.buf);
    if (values_ != nullptr) {
      values_->close();
    }
    return !file.fail();
  }

 private:
  // The type that elements are recorded as; Undefined if there is none.
  static aten::ScalarType recorded(aten::ScalarType type) {
    switch (type) {
      case aten::ScalarType::Byte:
      case aten::ScalarType::Char:
      case aten::ScalarType::Short:
      case aten::ScalarType::Int:
      case aten::ScalarType::Long:
      case aten::ScalarType::Float:
      case aten::ScalarType::Double:
      case aten::ScalarType::Bool:
      case aten::ScalarType::Bits16:
      case aten::ScalarType::UInt16:
        return type;
      default:
        break;
    }
    switch (rt::elementSize(type)) {
      case 1:
        return aten::ScalarType::Byte;
      case 2:
        return aten::ScalarType::Bits16;
      case 4:
        return aten::ScalarType::Int;
      case 8:
        return aten::ScalarType::Long;
      default:
        return aten::ScalarType::Undefined;
    }
  }

  static bool has_data(const aten::Tensor& tensor) {
    return tensor.nbytes() == 0 || tensor.const_data_ptr() != nullptr;
  }

  static bool is_known_list(const rt::EValue& value) {
    for (const aten::Tensor& tensor : value.toTensorList()) {
      const aten::ScalarType type = tensor.scalar_type();
      if (recorded(type) != type || !has_data(tensor)) {
        return false;
      }
    }
    return true;
  }

  rt::Result<bool> log_tensor(
      const aten::Tensor& tensor,
      rt::LoggedEValueType type) {
    const aten::ScalarType elements = recorded(tensor.scalar_type());
    if (elements == aten::ScalarType::Undefined || !has_data(tensor)) {
      return false;
    }
    aten::TensorImpl impl(
        elements,
        tensor.dim(),
        const_cast<aten::SizesType*>(tensor.sizes().data()),
        const_cast<void*>(tensor.const_data_ptr()),
        const_cast<aten::DimOrderType*>(tensor.dim_order().data()),
        const_cast<aten::StridesType*>(tensor.strides().data()));
    return ETDumpGen::log_evalue(rt::EValue(aten::Tensor(&impl)), type);
  }

  std::unique_ptr<etdump::FileDataSink> values_;
};

// ---- one loaded method ------------------------------------------------------

struct InputTensor {
  InputTensor(
      aten::ScalarType type,
      std::vector<int32_t> sizes_in,
      std::vector<uint8_t> order_in,
      std::vector<int32_t> strides_in,
      const std::string& bytes)
      : sizes(std::move(sizes_in)),
        order(std::move(order_in)),
        strides(std::move(strides_in)),
        data(bytes.size()),
        impl(
            type,
            static_cast<ssize_t>(sizes.size()),
            sizes.data(),
            data.data(),
            order.data(),
            strides.data()) {
    if (data.data() != nullptr && !bytes.empty()) {
      std::memcpy(data.data(), bytes.data(), bytes.size());
    }
  }
  std::vector<int32_t> sizes;
  std::vector<uint8_t> order;
  std::vector<int32_t> strides;
  Block data;
  aten::TensorImpl impl;
};

struct InputString {
  explicit InputString(std::string bytes_in)
      : bytes(std::move(bytes_in)), view(bytes.data(), bytes.size()) {}
  std::string bytes;
  aten::ArrayRef<char> view;
};

// Members are destroyed in reverse order: the method goes first.
struct Loaded {
  std::vector<Block> planned;
  std::vector<rt::Span<uint8_t>> spans;
  std::unique_ptr<rt::HierarchicalAllocator> arena;
  ext::MallocMemoryAllocator method_memory;
  ext::MallocMemoryAllocator temp_memory;
  std::unique_ptr<rt::MemoryManager> manager;
  std::vector<std::unique_ptr<InputTensor>> tensors;
  std::vector<std::unique_ptr<InputString>> strings;
  std::vector<Block> outputs;
  std::unique_ptr<rt::Method> method;
};

Error load_method(
    const rt::Program& program,
    DataFiles& data,
    const std::string& name,
    rt::EventTracer* recorder,
    std::unique_ptr<Loaded>& slot) {
  slot.reset();
  auto meta = program.method_meta(name.c_str());
  if (!meta.ok()) {
    return meta.error();
  }
  auto loaded = std::make_unique<Loaded>();
  for (size_t i = 0; i < meta->num_memory_planned_buffers(); ++i) {
    const auto size = meta->memory_planned_buffer_size(i);
    if (!size.ok()) {
      return size.error();
    }
    if (size.get() < 0) {
      return Error::InvalidProgram;
    }
    loaded->planned.emplace_back(static_cast<size_t>(size.get()));
    if (loaded->planned.back().data() == nullptr) {
      return Error::MemoryAllocationFailed;
    }
  }
  for (const Block& block : loaded->planned) {
    loaded->spans.emplace_back(block.data(), block.size());
  }
  loaded->arena = std::make_unique<rt::HierarchicalAllocator>(
      rt::Span<rt::Span<uint8_t>>(loaded->spans.data(), loaded->spans.size()));
  loaded->manager = std::make_unique<rt::MemoryManager>(
      &loaded->method_memory, loaded->arena.get(), &loaded->temp_memory);

  const Error opened = data.open();
  if (opened != Error::Ok) {
    return opened;
  }
  auto method = program.load_method(
      name.c_str(), loaded->manager.get(), recorder, data.map());
  if (!method.ok()) {
    return method.error();
  }
  loaded->method = std::make_unique<rt::Method>(std::move(method.get()));
  slot = std::move(loaded);
  return Error::Ok;
}

// 0: not a type this runtime knows.
size_t element_size(int64_t code) {
#define RUNNER_CASE(ctype, name)                    \
  case static_cast<int64_t>(aten::ScalarType::name): \
    return sizeof(ctype);
  switch (code) {
    ET_FORALL_SCALAR_TYPES(RUNNER_CASE)
    default:
      return 0;
  }
#undef RUNNER_CASE
}

InputTensor& make_tensor(
    const std::vector<std::string>& words, // CODE SIZES DIMORDER HEX from 3 on
    Loaded& loaded) {
  const int64_t code = to_int(words[3], 0, 127);
  auto sizes = to_list<int32_t>(words[4]);
  auto order = to_list<uint8_t>(words[5]);
  const std::string bytes = from_hex(words[6]);

  const size_t rank = sizes.size();
  if (order.size() != rank) {
    bad_command("SIZES and DIMORDER differ in length");
  }
  std::vector<bool> seen(rank, false);
  for (const uint8_t dim : order) {
    if (dim >= rank || seen[dim]) {
      bad_command("DIMORDER is not a permutation");
    }
    seen[dim] = true;
  }
  size_t expected = element_size(code);
  if (expected == 0) {
    bad_command("CODE is not a ScalarType of this runtime");
  }
  for (const int32_t size : sizes) {
    if (__builtin_mul_overflow(expected, static_cast<size_t>(size), &expected)) {
      bad_command("SIZES overflow");
    }
  }
  if (bytes.size() != expected) {
    bad_command("HEX does not have the length that CODE and SIZES give");
  }
  // Innermost last; a size of 0 counts as 1, so that no stride is lost. (More
  // than 2^31 elements cannot arrive in a text line, so nothing wraps but with
  // a size of 0, where no stride is ever used.)
  std::vector<int32_t> strides(rank);
  uint32_t stride = 1;
  for (size_t i = rank; i-- > 0;) {
    strides[order[i]] = static_cast<int32_t>(stride);
    stride *= sizes[order[i]] == 0 ? 1u : static_cast<uint32_t>(sizes[order[i]]);
  }
  loaded.tensors.push_back(std::make_unique<InputTensor>(
      static_cast<aten::ScalarType>(code),
      std::move(sizes),
      std::move(order),
      std::move(strides),
      bytes));
  return *loaded.tensors.back();
}

Error set_input(const std::vector<std::string>& words, Loaded* loaded) {
  if (words.size() < 3) {
    bad_command("input: too few words");
  }
  const std::string& kind = words[2];
  const size_t count = kind == "tensor" ? 7 : kind == "none" ? 3 : 4;
  if (words.size() != count) {
    bad_command("input: wrong number of words");
  }
  const auto index = static_cast<size_t>(
      to_int(words[1], 0, std::numeric_limits<int64_t>::max()));
  if (loaded == nullptr) {
    return Error::InvalidState;
  }
  rt::Method& method = *loaded->method;
  if (kind == "tensor") {
    InputTensor& tensor = make_tensor(words, *loaded);
    if (tensor.data.data() == nullptr) {
      return Error::MemoryAllocationFailed;
    }
    return method.set_input(rt::EValue(aten::Tensor(&tensor.impl)), index);
  }
  if (kind == "int") {
    const int64_t value = to_int(
        words[3],
        std::numeric_limits<int64_t>::min(),
        std::numeric_limits<int64_t>::max());
    return method.set_input(rt::EValue(value), index);
  }
  if (kind == "double") {
    if (words[3].size() != 16) {
      bad_command("double: not 16 hex digits");
    }
    uint64_t bits = 0;
    for (const char byte : from_hex(words[3])) {
      bits = bits << 8 | static_cast<uint8_t>(byte);
    }
    double value = 0;
    std::memcpy(&value, &bits, sizeof(value));
    return method.set_input(rt::EValue(value), index);
  }
  if (kind == "bool") {
    const bool value = to_int(words[3], 0, 1) != 0;
    return method.set_input(rt::EValue(value), index);
  }
  if (kind == "string") {
    loaded->strings.push_back(
        std::make_unique<InputString>(from_hex(words[3])));
    return method.set_input(rt::EValue(&loaded->strings.back()->view), index);
  }
  if (kind == "none") {
    return method.set_input(rt::EValue(), index);
  }
  bad_command("input: unknown kind");
}

Error execute(Loaded* loaded) {
  if (loaded == nullptr) {
    return Error::InvalidState;
  }
  rt::Method& method = *loaded->method;
  const rt::MethodMeta meta = method.method_meta();
  for (size_t i = 0; i < method.outputs_size(); ++i) {
    const rt::EValue& value = method.get_output(i);
    if (!value.isTensor()) {
      continue;
    }
    const auto info = meta.output_tensor_meta(i);
    if (!info.ok()) {
      return info.error();
    }
    // A non-null pointer is that of a constant, of an input that is also an
    // output, or one set by an earlier execute.
    if (info->is_memory_planned() ||
        value.toTensor().const_data_ptr() != nullptr) {
      continue;
    }
    loaded->outputs.emplace_back(info->nbytes());
    const Block& block = loaded->outputs.back();
    if (block.data() == nullptr) {
      return Error::MemoryAllocationFailed;
    }
    const Error error = method.set_output_data_ptr(block.data(), block.size(), i);
    if (error != Error::Ok) {
      return error;
    }
  }
  return method.execute();
}

template <typename List>
std::string join(const List& list) {
  std::string word;
  for (const auto item : list) {
    if (!word.empty()) {
      word += ',';
    }
    word += std::to_string(static_cast<int64_t>(item));
  }
  return word.empty() ? "-" : word;
}

std::string describe(const rt::EValue& value) {
  if (value.isTensor()) {
    const aten::Tensor& tensor = value.toTensor();
    const size_t size = tensor.nbytes();
    const void* data = tensor.const_data_ptr();
    return "tensor " +
        std::to_string(static_cast<int>(tensor.scalar_type())) + " " +
        join(tensor.sizes()) + " " + join(tensor.dim_order()) + " " +
        (data == nullptr && size != 0 ? "null" : to_hex(data, size));
  }
  if (value.isInt()) {
    return "int " + std::to_string(value.toInt());
  }
  if (value.isDouble()) {
    const double number = value.toDouble();
    uint64_t bits = 0;
    std::memcpy(&bits, &number, sizeof(bits));
    char hex[17];
    std::snprintf(
        hex, sizeof(hex), "%016llx", static_cast<unsigned long long>(bits));
    return std::string("double ") + hex;
  }
  if (value.isBool()) {
    return value.toBool() ? "bool 1" : "bool 0";
  }
  if (value.isString()) {
    const auto text = value.tryToString();
    return "string " +
        (text.ok() ? to_hex(text->data(), text->size()) : "null");
  }
  if (value.isNone()) {
    return "none";
  }
  return std::string("other ") + tag_name(value.tag);
}

void outputs(const Loaded* loaded) {
  if (loaded == nullptr) {
    say_outcome("outputs", Error::InvalidState);
    return;
  }
  const rt::Method& method = *loaded->method;
  say("outputs " + std::to_string(method.outputs_size()));
  for (size_t i = 0; i < method.outputs_size(); ++i) {
    say("output " + std::to_string(i) + " " + describe(method.get_output(i)));
  }
}

void methods(const rt::Program& program) {
  std::string line = "methods";
  for (size_t i = 0; i < program.num_methods(); ++i) {
    const auto name = program.get_method_name(i);
    if (!name.ok()) {
      say_outcome("methods", name.error());
      return;
    }
    line += " " + quote(name.get());
  }
  say(line);
}

[[noreturn]] void usage() {
  std::fputs(
      "usage: runner MODEL.pte [--data FILE.ptd]... [--verify full|minimal] "
      "[--loader file|mmap|buffer] [--etdump FILE [--debug-buffer FILE]] "
      "< SCRIPT\n",
      stderr);
  std::exit(2);
}

} // namespace

int main(int argc, char** argv) {
  std::string model;
  std::vector<std::string> data_paths;
  std::string etdump_path;
  std::string values_path;
  auto verify = rt::Program::Verification::InternalConsistency;
  auto kind = LoaderKind::File;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.rfind("--", 0) != 0) {
      if (!model.empty()) {
        usage();
      }
      model = word;
      continue;
    }
    if (++i == argc) {
      usage();
    }
    const std::string value = argv[i];
    if (word == "--data") {
      data_paths.push_back(value);
    } else if (word == "--etdump") {
      etdump_path = value;
    } else if (word == "--debug-buffer") {
      values_path = value;
    } else if (word == "--verify" && value == "full") {
      verify = rt::Program::Verification::InternalConsistency;
    } else if (word == "--verify" && value == "minimal") {
      verify = rt::Program::Verification::Minimal;
    } else if (word == "--loader" && value == "file") {
      kind = LoaderKind::File;
    } else if (word == "--loader" && value == "mmap") {
      kind = LoaderKind::Mmap;
    } else if (word == "--loader" && value == "buffer") {
      kind = LoaderKind::Buffer;
    } else {
      usage();
    }
  }
  if (model.empty() || (etdump_path.empty() && !values_path.empty())) {
    usage();
  }

  // A crash is an expected outcome: write no core dump.
  const struct rlimit no_core = {0, 0};
  (void)setrlimit(RLIMIT_CORE, &no_core);

  rt::runtime_init();

  Source source;
  const Error opened = open_source(model, kind, source);
  if (opened != Error::Ok) {
    say_outcome("program", opened);
    return 1;
  }
  auto result = rt::Program::load(source.loader.get(), verify);
  if (!result.ok()) {
    say_outcome("program", result.error());
    return 1;
  }
  const rt::Program& program = result.get();
  say("program ok");

  // Before the method, which uses it to its end.
  std::unique_ptr<Recorder> recorder;
  if (!etdump_path.empty()) {
    recorder = std::make_unique<Recorder>();
  }
  if (!values_path.empty() &&
      recorder->record_values(values_path) != Error::Ok) {
    bad_command("--debug-buffer: cannot write the file");
  }

  DataFiles data(std::move(data_paths), kind);
  std::unique_ptr<Loaded> loaded;
  std::string line;
  while (std::getline(std::cin, line)) {
    const std::vector<std::string> words = split(line);
    if (words.empty()) {
      continue;
    }
    const std::string& command = words[0];
    if (command == "methods" && words.size() == 1) {
      methods(program);
    } else if (command == "load" && words.size() == 2) {
      say_outcome(
          "load",
          load_method(
              program, data, unquote(words[1]), recorder.get(), loaded));
    } else if (command == "input") {
      say_outcome("input", set_input(words, loaded.get()));
    } else if (command == "execute" && words.size() == 1) {
      say_outcome("execute", execute(loaded.get()));
    } else if (command == "outputs" && words.size() == 1) {
      outputs(loaded.get());
    } else {
      bad_command("unknown command or wrong number of words");
    }
  }
  loaded.reset();
  if (recorder != nullptr && !recorder->write(etdump_path)) {
    bad_command("--etdump: cannot write the file");
  }
  return 0;
}
