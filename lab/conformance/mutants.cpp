// mutants.cpp: runs thousands of mutated variants of one file, or thousands of
// files that are stored in one, in the real ExecuTorch runtime: every mutant is
// loaded, executed and its outputs are read in a child process of its own, which
// may crash. The protocol is described in README.md next to this file; fetch.sh
// builds it.
//
// Unlike the runner, it chooses the inputs itself, prints hashes instead of
// values, and places guard pages so that out-of-bounds accesses crash. It does
// not decide which mutants should be rejected.

#include <executorch/extension/flat_tensor/flat_tensor_data_map.h>
#include <executorch/extension/named_data_map/merged_data_map.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/exec_aten/util/dim_order_util.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/platform/runtime.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rt = executorch::runtime;
namespace ext = executorch::extension;
namespace aten = executorch::aten;
using rt::Error;

namespace {

// ---- options ----------------------------------------------------------------

struct Options {
  std::string file;
  std::string program; // for a .ptd: the program that uses it
  std::vector<std::string> data;
  rt::Program::Verification verify =
      rt::Program::Verification::InternalConsistency;
  bool apart = true; // every load in memory of its own
  size_t slack = 0;
  bool backward = false; // methods from the last to the first
  unsigned jobs = 1;
  bool many = false; // the file is a concatenation of files
  bool serve = false; // the files come from stdin, one after the other
  unsigned executions = 1; // of each method, except of a .bpte
  rlim_t gigabytes = 4; // of address space, per child
  // Of the inputs: -1 for numbers of both signs, else each element.
  int content = -1;
  bool log = false; // ExecuTorch's log to stderr
};

Options options;

struct Mutation {
  size_t start = 0; // with --many: the file begins here
  std::vector<std::pair<size_t, uint8_t>> changes;
  size_t length = SIZE_MAX; // the file ends here
};

constexpr uint8_t kFill = 0xa5;
constexpr size_t kLargest = size_t{1} << 30;
constexpr int kCpuSeconds = 8;
constexpr int kSeconds = 60;

// Result of a child, in memory shared with its parent. The stage is for a child
// that crashes.
struct Said {
  char stage[32];
  char outcome[64];
};

Said* said = nullptr;

void stage(const char* what) {
  std::snprintf(said->stage, sizeof(said->stage), "%s", what);
}

// The first failure is the outcome; the later steps still run.
void failed(const char* what, Error error) {
  if (said->outcome[0] == '\0') {
    std::snprintf(
        said->outcome,
        sizeof(said->outcome),
        "%s 0x%02X",
        what,
        static_cast<unsigned>(error));
  }
}

class Hash {
 public:
  void bytes(const void* data, size_t size) {
    const auto* p = static_cast<const uint8_t*>(data);
    for (size_t i = 0; i < size; ++i) {
      state_ = (state_ ^ p[i]) * 0x100000001b3ull;
    }
  }
  template <typename T>
  void number(T value) {
    bytes(&value, sizeof(value));
  }
  uint64_t value() const { return state_; }

 private:
  uint64_t state_ = 0xcbf29ce484222325ull;
};

// ---- memory -----------------------------------------------------------------

size_t page() {
  static const auto size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return size;
}

// Memory that ends, except for alignment and slack, at a guard page. Null if it
// is too large. Filled with a pattern that is an invalid pointer and index if
// used uninitialized.
uint8_t* guarded(size_t size, size_t alignment, bool fill = true) {
  if (size > kLargest || alignment > page()) {
    return nullptr;
  }
  const size_t reach = size + options.slack;
  const size_t inside = (reach + page() - 1) / page() * page() + page();
  auto* base = static_cast<uint8_t*>(mmap(
      nullptr,
      inside + 2 * page(),
      PROT_NONE,
      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
      -1,
      0));
  if (base == MAP_FAILED ||
      mprotect(base + page(), inside - page(), PROT_READ | PROT_WRITE) != 0) {
    return nullptr;
  }
  uint8_t* end = base + inside;
  auto start = reinterpret_cast<uintptr_t>(end - reach);
  start -= start % alignment;
  auto* data = reinterpret_cast<uint8_t*>(start);
  if (data < base + page()) { // only if size is 0: no byte may be accessed
    data = end;
  }
  if (fill) {
    std::memset(data, kFill, std::min(size, size_t{1} << 20));
  }
  return data;
}

// Every allocation in pages of its own.
class GuardedAllocator : public rt::MemoryAllocator {
 public:
  GuardedAllocator() : rt::MemoryAllocator(0, nullptr) {}
  void* allocate(size_t size, size_t alignment = kDefaultAlignment) override {
    if (!isPowerOf2(alignment)) {
      return nullptr;
    }
    return guarded(std::max(size, size_t{1}), std::max(alignment, size_t{1}));
  }
  // Temporary memory of kernels lives until the child ends.
  void reset() override {}
};

// Loads as FileDataLoader does: each load is a copy in memory of its own, never
// null. Or as BufferDataLoader does: pointers into one buffer.
class Loader : public rt::DataLoader {
 public:
  Loader(const uint8_t* data, size_t size) : data_(data), size_(size) {}

  rt::Result<rt::FreeableBuffer> load(
      size_t offset, size_t size, const SegmentInfo&) const override {
    if (!inside(offset, size)) {
      return Error::InvalidArgument;
    }
    if (!options.apart) {
      return rt::FreeableBuffer(data_ + offset, size, nullptr);
    }
    if (size == 0) {
      return rt::FreeableBuffer(nullptr, 0, nullptr);
    }
    uint8_t* copy = guarded(size, 16, false);
    if (copy == nullptr) {
      return Error::MemoryAllocationFailed;
    }
    std::memcpy(copy, data_ + offset, size);
    return rt::FreeableBuffer(copy, size, nullptr);
  }

  Error load_into(
      size_t offset, size_t size, const SegmentInfo&, void* to) const override {
    if (!inside(offset, size) || to == nullptr) {
      return Error::InvalidArgument;
    }
    std::memcpy(to, data_ + offset, size);
    return Error::Ok;
  }

  rt::Result<size_t> size() const override { return size_; }

 private:
  bool inside(size_t offset, size_t size) const {
    return offset <= size_ && size <= size_ - offset;
  }
  const uint8_t* data_;
  size_t size_;
};

// ---- a .bpte, read without checks, as ExecuTorch's devtools do ---------------

// The wheel has no bundled-program functions; these have the same steps, and as
// few checks.
template <typename T>
T peek(const uint8_t* at) {
  T value;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

const uint8_t* follow(const uint8_t* at) {
  return at + peek<uint32_t>(at);
}

const uint8_t* field(const uint8_t* table, uint16_t slot) {
  const uint8_t* vtable = table - peek<int32_t>(table);
  const uint16_t place = 4 + 2 * slot;
  const uint16_t offset =
      place < peek<uint16_t>(vtable) ? peek<uint16_t>(vtable + place) : 0;
  return offset == 0 ? nullptr : table + offset;
}

const uint8_t* child(const uint8_t* table, uint16_t slot) {
  const uint8_t* at = field(table, slot);
  return at == nullptr ? nullptr : follow(at);
}

struct Vector {
  explicit Vector(const uint8_t* at) : at(at) {}
  uint32_t size() const { return peek<uint32_t>(at); }
  const uint8_t* data() const { return at + 4; }
  const uint8_t* table(size_t i) const { return follow(data() + 4 * i); }
  const uint8_t* at;
};

uint8_t tag_of(const uint8_t* value) {
  const uint8_t* at = field(value, 0);
  return at == nullptr ? 0 : *at;
}

aten::TensorImpl bundled_tensor(const uint8_t* table) {
  const uint8_t* type = field(table, 0);
  const Vector sizes(child(table, 1));
  const Vector data(child(table, 2));
  const Vector order(child(table, 3));
  return aten::TensorImpl(
      static_cast<aten::ScalarType>(type == nullptr ? 0 : *type),
      static_cast<ssize_t>(sizes.size()),
      reinterpret_cast<int32_t*>(const_cast<uint8_t*>(sizes.data())),
      const_cast<uint8_t*>(data.data()),
      const_cast<uint8_t*>(order.data()),
      nullptr);
}

Error set_bundled_inputs(rt::Method& method, const Vector& inputs) {
  for (size_t i = 0; i < method.inputs_size(); ++i) {
    const uint8_t* value = inputs.table(i);
    const uint8_t* table = child(value, 1);
    Error error = Error::NotSupported;
    if (tag_of(value) == 1) {
      aten::TensorImpl impl = bundled_tensor(table);
      error = method.set_input(rt::EValue(aten::Tensor(&impl)), i);
    } else if (tag_of(value) == 2) {
      const uint8_t* at = field(table, 0);
      error = method.set_input(
          rt::EValue(at == nullptr ? int64_t{0} : peek<int64_t>(at)), i);
    } else if (tag_of(value) == 3) {
      const uint8_t* at = field(table, 0);
      error = method.set_input(rt::EValue(at != nullptr && *at != 0), i);
    } else if (tag_of(value) == 4) {
      const uint8_t* at = field(table, 0);
      error = method.set_input(
          rt::EValue(at == nullptr ? 0.0 : peek<double>(at)), i);
    }
    if (error != Error::Ok) {
      return Error::NotSupported;
    }
  }
  return Error::Ok;
}

Error compare_bundled_outputs(rt::Method& method, const Vector& outputs) {
  if (outputs.size() == 0) {
    return Error::Ok; // nothing was expected
  }
  for (size_t i = 0; i < method.outputs_size(); ++i) {
    const uint8_t* value = outputs.table(i);
    if (tag_of(value) != 1) {
      return Error::NotSupported;
    }
    aten::TensorImpl impl = bundled_tensor(child(value, 1));
    const aten::Tensor expected(&impl);
    const aten::Tensor found = method.get_output(i).toTensor();
    if (expected.scalar_type() != found.scalar_type() ||
        expected.sizes() != found.sizes()) {
      return Error::NotFound;
    }
    if (expected.dim() > 16) {
      abort();
    }
    int32_t strides[16] = {0};
    const Error error = rt::dim_order_to_stride(
        expected.sizes().data(),
        expected.dim_order().data(),
        static_cast<size_t>(expected.dim()),
        strides);
    if (error != Error::Ok ||
        !std::equal(
            found.strides().begin(), found.strides().end(), strides)) {
      abort();
    }
    // The devtools compare values; this only tests that both can be read.
    const volatile int same =
        expected.nbytes() == 0 ||
        std::memcmp(
            expected.const_data_ptr(),
            found.const_data_ptr(),
            expected.nbytes()) == 0;
    (void)same;
  }
  return Error::Ok;
}

// ---- one method -------------------------------------------------------------

// Small numbers of both signs; as integers they are valid indices.
bool contents(aten::ScalarType type, uint8_t* data, size_t size) {
  const size_t width = rt::elementSize(type);
  const bool integer = rt::isIntegralType(type, true);
  for (size_t i = 0; i < size / width && i < (size_t{1} << 20); ++i) {
    uint8_t* at = data + i * width;
    const int turn = static_cast<int>(i * 7 % 13);
    std::memset(at, 0, width);
    if (options.content == 0) {
      continue;
    }
    if (options.content > 0 && type == aten::ScalarType::Half) {
      const uint16_t bits = options.content == 1 ? 0x3c00 : 0x5640;
      std::memcpy(at, &bits, width);
    } else if (options.content > 0 && type == aten::ScalarType::BFloat16) {
      const uint16_t bits = options.content == 1 ? 0x3f80 : 0x42c8;
      std::memcpy(at, &bits, width);
    } else if (options.content > 0 && type == aten::ScalarType::Float) {
      const auto x = static_cast<float>(options.content);
      std::memcpy(at, &x, width);
    } else if (options.content > 0 && type == aten::ScalarType::Double) {
      const double x = options.content;
      std::memcpy(at, &x, width);
    } else if (options.content > 0) {
      at[0] = type == aten::ScalarType::Bool
          ? 1
          : static_cast<uint8_t>(options.content);
    } else if (integer) {
      at[0] = turn % 2;
    } else if (type == aten::ScalarType::Float) {
      const float x = 0.25f * static_cast<float>(turn) - 1.0f;
      std::memcpy(at, &x, width);
    } else if (type == aten::ScalarType::Double) {
      const double x = 0.25 * turn - 1.0;
      std::memcpy(at, &x, width);
    } else if (width == 2) { // 0.5 to 2 as Half, near 0 as BFloat16
      at[1] = static_cast<uint8_t>(0x38 + turn % 8);
    } else {
      at[0] = static_cast<uint8_t>(turn);
    }
  }
  return true;
}

// Memory of an input or an output lives as long as the child.
Error set_tensor(rt::Method& method, const rt::TensorInfo& info, size_t i) {
  const auto sizes = info.sizes();
  const auto order = info.dim_order();
  auto* own_sizes = new std::vector<int32_t>(sizes.begin(), sizes.end());
  auto* own_order = new std::vector<uint8_t>(order.begin(), order.end());
  auto* strides = new std::vector<int32_t>(own_sizes->size());
  if (!own_sizes->empty()) {
    const Error error = rt::dim_order_to_stride(
        own_sizes->data(), own_order->data(), own_sizes->size(), strides->data());
    if (error != Error::Ok) {
      return error;
    }
  }
  uint8_t* data = guarded(info.nbytes(), 16, false);
  if (data == nullptr) {
    return Error::MemoryAllocationFailed;
  }
  contents(info.scalar_type(), data, info.nbytes());
  auto* impl = new aten::TensorImpl(
      info.scalar_type(),
      static_cast<ssize_t>(own_sizes->size()),
      own_sizes->data(),
      data,
      own_order->data(),
      strides->data());
  return method.set_input(rt::EValue(aten::Tensor(impl)), i);
}

Error set_inputs(rt::Method& method, const rt::MethodMeta& meta) {
  for (size_t i = 0; i < meta.num_inputs(); ++i) {
    const auto tag = meta.input_tag(i);
    if (!tag.ok()) {
      return tag.error();
    }
    Error error;
    if (tag.get() == rt::Tag::Tensor) {
      const auto info = meta.input_tensor_meta(i);
      error = info.ok() ? set_tensor(method, info.get(), i) : info.error();
    } else {
      // A scalar input must equal the one in the file.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
      const rt::EValue value = method.get_input(i);
#pragma GCC diagnostic pop
      error = method.set_input(value, i);
    }
    if (error != Error::Ok) {
      return error;
    }
  }
  return Error::Ok;
}

Error set_outputs(rt::Method& method, const rt::MethodMeta& meta) {
  for (size_t i = 0; i < method.outputs_size(); ++i) {
    const rt::EValue& value = method.get_output(i);
    if (!value.isTensor()) {
      continue;
    }
    const auto info = meta.output_tensor_meta(i);
    if (!info.ok()) {
      return info.error();
    }
    if (info->is_memory_planned() ||
        value.toTensor().const_data_ptr() != nullptr) {
      continue;
    }
    uint8_t* data = guarded(info->nbytes(), 16);
    if (data == nullptr) {
      return Error::MemoryAllocationFailed;
    }
    const Error error = method.set_output_data_ptr(data, info->nbytes(), i);
    if (error != Error::Ok) {
      return error;
    }
  }
  return Error::Ok;
}

void add_value(const rt::EValue& value, Hash& hash) {
  hash.number(static_cast<uint32_t>(value.tag));
  if (value.isTensor()) {
    const aten::Tensor& tensor = value.toTensor();
    hash.number(static_cast<int>(tensor.scalar_type()));
    for (const auto size : tensor.sizes()) {
      hash.number(size);
    }
    for (const auto dim : tensor.dim_order()) {
      hash.number(dim);
    }
    if (tensor.const_data_ptr() != nullptr) {
      hash.bytes(tensor.const_data_ptr(), tensor.nbytes());
    }
  } else if (value.isInt()) {
    hash.number(value.toInt());
  } else if (value.isDouble()) {
    hash.number(value.toDouble());
  } else if (value.isBool()) {
    hash.number(value.toBool());
  } else if (value.isString()) {
    const auto text = value.tryToString();
    if (text.ok()) {
      hash.bytes(text->data(), text->size());
    }
  } else if (value.isIntList()) {
    for (const auto item : value.toIntList()) {
      hash.number(item);
    }
  } else if (value.isDoubleList()) {
    const auto list = value.toDoubleList();
    hash.bytes(list.data(), list.size() * sizeof(double));
  } else if (value.isBoolList()) {
    const auto list = value.toBoolList();
    hash.bytes(list.data(), list.size());
  }
}

void run_method(
    rt::Method& method,
    const rt::MethodMeta& meta,
    Hash& hash,
    bool again = false) {
  stage(again ? "exec again" : "exec");
  Error error = set_outputs(method, meta);
  if (error != Error::Ok) {
    failed("output", error);
  }
  error = method.execute();
  if (error != Error::Ok) {
    failed("exec", error);
    return;
  }
  stage("read");
  for (size_t i = 0; i < method.outputs_size(); ++i) {
    add_value(method.get_output(i), hash);
  }
}

// After a failure in one method the others still run.
void try_method(
    const rt::Program& program,
    const char* name,
    const rt::NamedDataMap* data,
    const uint8_t* bundle,
    Hash& hash) {
  stage("meta");
  const auto meta = program.method_meta(name);
  if (!meta.ok()) {
    return failed("method", meta.error());
  }
  std::vector<rt::Span<uint8_t>> planned;
  for (size_t i = 0; i < meta->num_memory_planned_buffers(); ++i) {
    const auto size = meta->memory_planned_buffer_size(i);
    if (!size.ok()) {
      return failed("method", size.error());
    }
    uint8_t* block = guarded(static_cast<size_t>(size.get()), 64);
    if (block == nullptr) {
      return failed("method", Error::MemoryAllocationFailed);
    }
    planned.emplace_back(block, static_cast<size_t>(size.get()));
  }
  rt::HierarchicalAllocator arena({planned.data(), planned.size()});
  GuardedAllocator own;
  GuardedAllocator temporary;
  rt::MemoryManager manager(&own, &arena, &temporary);
  stage("method");
  auto method = program.load_method(name, &manager, nullptr, data);
  if (!method.ok()) {
    return failed("method", method.error());
  }
  std::optional<Vector> cases;
  if (bundle != nullptr) {
    stage("suite");
    const Vector suites(child(bundle, 1));
    for (size_t i = 0; i < suites.size() && !cases; ++i) {
      const char* suite = reinterpret_cast<const char*>(
          Vector(child(suites.table(i), 0)).data());
      if (std::strcmp(suite, name) == 0) {
        cases.emplace(child(suites.table(i), 1));
      }
    }
  }
  if (cases) {
    for (size_t i = 0; i < cases->size(); ++i) {
      stage("input");
      const Error set =
          set_bundled_inputs(*method, Vector(child(cases->table(i), 0)));
      if (set != Error::Ok) {
        failed("input", set);
        continue;
      }
      run_method(*method, *meta, hash);
      stage("compare");
      const Error same =
          compare_bundled_outputs(*method, Vector(child(cases->table(i), 1)));
      if (same != Error::Ok) {
        failed("compare", same);
      }
    }
    return;
  }
  for (unsigned i = 0; i < options.executions; ++i) {
    stage(i == 0 ? "input" : "input again");
    const Error set = set_inputs(*method, *meta);
    if (set != Error::Ok) {
      failed("input", set);
    }
    run_method(*method, *meta, hash, i > 0);
  }
}

// ---- one file ---------------------------------------------------------------

struct Bytes {
  const uint8_t* data = nullptr;
  size_t size = 0;
};

void add_data(const rt::NamedDataMap& map, Hash& hash) {
  const auto count = map.get_num_keys();
  for (uint32_t i = 0; count.ok() && i < count.get(); ++i) {
    const auto key = map.get_key(i);
    if (!key.ok()) {
      return failed("data", key.error());
    }
    auto data = map.get_data(key.get());
    if (!data.ok()) {
      return failed("data", data.error());
    }
    hash.bytes(data->data(), data->size());
  }
}

// `mutant` replaces the file that it is a mutant of.
void try_file(
    const Bytes& program_file,
    const std::vector<Bytes>& data_files,
    const uint8_t* bundle) {
  Hash hash;
  std::vector<std::unique_ptr<Loader>> loaders;
  std::vector<std::unique_ptr<ext::FlatTensorDataMap>> maps;
  using Merged = ext::ET_MERGED_DATA_MAP_NAMESPACE::MergedDataMap;
  std::unique_ptr<Merged> merged;
  stage("data");
  for (const Bytes& file : data_files) {
    loaders.push_back(std::make_unique<Loader>(file.data, file.size));
    auto map = ext::FlatTensorDataMap::load(loaders.back().get());
    if (!map.ok()) {
      return failed("data", map.error());
    }
    maps.push_back(
        std::make_unique<ext::FlatTensorDataMap>(std::move(map.get())));
    add_data(*maps.back(), hash);
  }
  const rt::NamedDataMap* data = maps.empty() ? nullptr : maps[0].get();
  if (maps.size() > 1) {
    std::vector<const rt::NamedDataMap*> parts;
    for (const auto& map : maps) {
      parts.push_back(map.get());
    }
    auto joined = Merged::load({parts.data(), parts.size()});
    if (!joined.ok()) {
      return failed("data", joined.error());
    }
    merged = std::make_unique<Merged>(std::move(joined.get()));
    data = merged.get();
  }
  stage("load");
  Loader loader(program_file.data, program_file.size);
  auto program = rt::Program::load(&loader, options.verify);
  if (!program.ok()) {
    return failed("load", program.error());
  }
  stage("names");
  const auto named = program->get_named_data_map();
  if (named.ok()) {
    add_data(*named.get(), hash);
  }
  const size_t methods = program->num_methods();
  for (size_t i = 0; i < methods; ++i) {
    stage("names");
    const auto name =
        program->get_method_name(options.backward ? methods - 1 - i : i);
    if (!name.ok()) {
      failed("name", name.error());
      continue;
    }
    hash.bytes(name.get(), std::strlen(name.get()));
    try_method(program.get(), name.get(), data, bundle, hash);
  }
  if (said->outcome[0] == '\0') {
    std::snprintf(
        said->outcome,
        sizeof(said->outcome),
        "ok %016llx",
        static_cast<unsigned long long>(hash.value()));
  }
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    std::fprintf(stderr, "mutants: cannot read %s\n", path.c_str());
    std::exit(2);
  }
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Base {
  std::string bytes;
  std::string program;
  std::vector<std::string> data;
};

Bytes view(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// In the child.
void try_mutant(const Base& base, const Mutation& mutation) {
  const size_t size =
      std::min(base.bytes.size() - mutation.start, mutation.length);
  uint8_t* copy = guarded(size, 64, false);
  std::memcpy(copy, base.bytes.data() + mutation.start, size);
  for (const auto& [offset, byte] : mutation.changes) {
    if (offset < size) {
      copy[offset] = byte;
    }
  }
  const Bytes mutant{copy, size};
  std::vector<Bytes> data;
  for (const std::string& file : base.data) {
    data.push_back(view(file));
  }
  const std::string kind = base.bytes.substr(mutation.start + 4, 4);
  if (kind == "FT01") {
    data.insert(data.begin(), mutant);
    return try_file(view(base.program), data, nullptr);
  }
  if (kind != "BP08") {
    return try_file(mutant, data, nullptr);
  }
  stage("bundle");
  if (std::memcmp(copy + 4, "BP08", 4) != 0) {
    return failed("bundle", Error::NotSupported);
  }
  const uint8_t* bundle = follow(copy);
  const Vector program(child(bundle, 2));
  try_file({program.data(), program.size()}, data, bundle);
}

// ---- many mutants -----------------------------------------------------------

// A line of --many: offset and length of a file.
Mutation read_part(const Base& base, const std::string& line) {
  Mutation part;
  char* end = nullptr;
  part.start = std::strtoull(line.c_str(), &end, 10);
  part.length = std::strtoull(end, &end, 10);
  if (*end != '\0' || part.length < 8 || part.start > base.bytes.size() ||
      part.length > base.bytes.size() - part.start) {
    std::fprintf(stderr, "mutants: bad part: %s\n", line.c_str());
    std::exit(2);
  }
  return part;
}

Mutation read_mutation(const Base& base, const std::string& line) {
  if (options.many) {
    return read_part(base, line);
  }
  Mutation mutation;
  const char* at = line.c_str();
  while (*at != '\0') {
    char* end = nullptr;
    if (*at == '<') {
      mutation.length = std::strtoull(at + 1, &end, 10);
    } else {
      const size_t offset = std::strtoull(at, &end, 10);
      if (*end != '=') {
        std::fprintf(stderr, "mutants: bad mutation: %s\n", line.c_str());
        std::exit(2);
      }
      const auto byte = std::strtoul(end + 1, &end, 10);
      mutation.changes.emplace_back(offset, static_cast<uint8_t>(byte));
    }
    at = *end == ' ' ? end + 1 : end;
    if (*end != ' ' && *end != '\0') {
      std::fprintf(stderr, "mutants: bad mutation: %s\n", line.c_str());
      std::exit(2);
    }
  }
  return mutation;
}

void limit(int what, rlim_t to) {
  const struct rlimit both = {to, to};
  (void)setrlimit(what, &both);
}

std::string judge(const Base& base, const Mutation& mutation) {
  std::memset(said, 0, sizeof(*said));
  const pid_t pid = fork();
  if (pid == 0) {
    struct itimerval cpu = {};
    cpu.it_value.tv_sec = kCpuSeconds;
    (void)setitimer(ITIMER_PROF, &cpu, nullptr);
    alarm(kSeconds);
    try_mutant(base, mutation);
    _exit(0);
  }
  int status = 0;
  if (pid < 0 || waitpid(pid, &status, 0) != pid) {
    std::fprintf(stderr, "mutants: cannot start a child\n");
    std::exit(3);
  }
  if (WIFSIGNALED(status)) {
    const int number = WTERMSIG(status);
    const bool late = number == SIGPROF || number == SIGALRM;
    return (late ? "timeout " : "signal " + std::to_string(number) + " ") +
        std::string(said->stage);
  }
  if (WEXITSTATUS(status) != 0 || said->outcome[0] == '\0') {
    return "exit " + std::to_string(WEXITSTATUS(status));
  }
  return said->outcome;
}

void share_said() {
  said = static_cast<Said*>(mmap(
      nullptr,
      sizeof(Said),
      PROT_READ | PROT_WRITE,
      MAP_SHARED | MAP_ANONYMOUS,
      -1,
      0));
}

void answer(size_t number, const Base& base, const Mutation& mutation) {
  const std::string line =
      std::to_string(number) + " " + judge(base, mutation) + "\n";
  // A short line is written atomically.
  if (write(STDOUT_FILENO, line.data(), line.size()) < 0) {
    _exit(3);
  }
}

// One of several processes that share the work: it takes every `jobs`-th mutant.
[[noreturn]] void work(
    const Base& base, const std::vector<std::string>& lines, unsigned which) {
  share_said();
  for (size_t i = which; i < lines.size(); i += options.jobs) {
    answer(i, base, read_mutation(base, lines[i]));
  }
  _exit(0);
}

// Runs each file of stdin, a line with its length before its bytes, as it comes.
[[noreturn]] void serve() {
  share_said();
  Base base;
  std::string line;
  for (size_t number = 0; std::getline(std::cin, line); ++number) {
    base.bytes.resize(std::strtoull(line.c_str(), nullptr, 10));
    if (base.bytes.size() < 8 ||
        !std::cin.read(
            &base.bytes[0], static_cast<std::streamsize>(base.bytes.size()))) {
      std::exit(2);
    }
    answer(number, base, Mutation());
  }
  std::exit(0);
}

[[noreturn]] void usage() {
  std::fputs(
      "usage: mutants FILE [--program MODEL.pte] [--data FILE.ptd]... "
      "[--verify full|minimal] [--loader apart|buffer] [--slack BYTES] "
      "[--jobs N] [--executions N] [--methods forward|backward] [--gigabytes N] "
      "[--content mixed|zeros|ones|hundreds] [--many yes|no] [--log yes|no] < MUTATIONS\n"
      "       mutants --serve yes [OPTIONS] < FILES\n",
      stderr);
  std::exit(2);
}

void prepare() {
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_AS, options.gigabytes << 30);
  // ExecuTorch's log of a hundred thousand malformed files is not useful.
  const int nowhere = open("/dev/null", O_WRONLY);
  if (nowhere >= 0 && !options.log) {
    (void)dup2(nowhere, STDERR_FILENO);
  }
  rt::runtime_init();
}

} // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.rfind("--", 0) != 0) {
      options.file = word;
      continue;
    }
    if (++i == argc) {
      usage();
    }
    const std::string value = argv[i];
    if (word == "--program") {
      options.program = value;
    } else if (word == "--data") {
      options.data.push_back(value);
    } else if (word == "--verify" && value == "full") {
      options.verify = rt::Program::Verification::InternalConsistency;
    } else if (word == "--verify" && value == "minimal") {
      options.verify = rt::Program::Verification::Minimal;
    } else if (word == "--loader" && (value == "apart" || value == "buffer")) {
      options.apart = value == "apart";
    } else if (word == "--slack") {
      options.slack = std::strtoul(value.c_str(), nullptr, 10);
    } else if (word == "--executions" && std::atoi(value.c_str()) > 0) {
      options.executions = static_cast<unsigned>(std::atoi(value.c_str()));
    } else if (
        word == "--methods" && (value == "forward" || value == "backward")) {
      options.backward = value == "backward";
    } else if (word == "--jobs" && std::atoi(value.c_str()) > 0) {
      options.jobs = static_cast<unsigned>(std::atoi(value.c_str()));
    } else if (word == "--gigabytes" && std::atoi(value.c_str()) > 0) {
      options.gigabytes = static_cast<rlim_t>(std::atoi(value.c_str()));
    } else if (word == "--content" && value == "mixed") {
      options.content = -1;
    } else if (word == "--content" && (value == "zeros" || value == "ones")) {
      options.content = value == "ones";
    } else if (word == "--content" && value == "hundreds") {
      options.content = 100;
    } else if (word == "--log" && (value == "yes" || value == "no")) {
      options.log = value == "yes";
    } else if (word == "--serve" && (value == "yes" || value == "no")) {
      options.serve = value == "yes";
    } else if (word == "--many" && (value == "yes" || value == "no")) {
      options.many = value == "yes";
    } else {
      usage();
    }
  }
  if (options.serve) {
    prepare();
    serve();
  }
  if (options.file.empty()) {
    usage();
  }
  Base base;
  base.bytes = read_file(options.file);
  if (base.bytes.size() < 8) {
    usage();
  }
  if (base.bytes.substr(4, 4) == "FT01") {
    if (options.program.empty()) {
      usage();
    }
    base.program = read_file(options.program);
  }
  for (const std::string& path : options.data) {
    base.data.push_back(read_file(path));
  }
  std::vector<std::string> lines;
  for (std::string line; std::getline(std::cin, line);) {
    lines.push_back(line);
  }

  prepare();
  std::vector<pid_t> workers;
  for (unsigned i = 0; i < options.jobs; ++i) {
    const pid_t pid = fork();
    if (pid == 0) {
      work(base, lines, i);
    }
    workers.push_back(pid);
  }
  int result = 0;
  for (const pid_t pid : workers) {
    int status = 0;
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) {
      result = 3;
    }
  }
  return result;
}
