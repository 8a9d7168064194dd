// trials.cpp: loads and executes methods with allocators and buffers of exactly
// the stated sizes, and prints where they fail. The protocol is described in
// README.md next to this file; fetch.sh builds it.

#include <executorch/extension/data_loader/file_data_loader.h>
#include <executorch/extension/flat_tensor/flat_tensor_data_map.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/exec_aten/util/dim_order_util.h>
#include <executorch/runtime/core/memory_allocator.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/platform/runtime.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace rt = executorch::runtime;
namespace ext = executorch::extension;
namespace aten = executorch::aten;
using rt::Error;

namespace {

constexpr size_t kMethodMemory = size_t{512} << 20;
constexpr size_t kTempMemory = size_t{64} << 20;
constexpr unsigned kSeconds = 300;

// Zero-filled memory that begins at an odd multiple of 16 bytes, so that no
// figure depends on a larger alignment.
class Block {
 public:
  explicit Block(size_t size) : memory_(std::calloc(size + 64, 1)), size_(size) {
    const auto address = reinterpret_cast<uintptr_t>(memory_);
    data_ = static_cast<uint8_t*>(memory_) + (64 - address % 64) % 64;
    data_ += data_ - static_cast<uint8_t*>(memory_) >= 48 ? -48 : 16;
  }
  Block(Block&& other) : memory_(other.memory_), data_(other.data_), size_(other.size_) {
    other.memory_ = nullptr;
  }
  Block& operator=(Block&&) = delete;
  ~Block() { std::free(memory_); }
  uint8_t* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  void* memory_;
  uint8_t* data_;
  size_t size_;
};

// Records the most that is allocated before a reset.
class Counted : public rt::MemoryAllocator {
 public:
  Counted(uint32_t size, uint8_t* base) : rt::MemoryAllocator(size, base) {}
  void* allocate(size_t size, size_t alignment) override {
    void* const memory = rt::MemoryAllocator::allocate(size, alignment);
    most = std::max(most, used_size());
    return memory;
  }
  size_t most = 0;
};

struct Trial {
  std::string file;
  std::string data; // empty: no .ptd
  std::string method;
  long long method_memory; // -1: as much as it takes, like the next
  long long temp_memory;
  std::string pools; // `auto`: those of the file
  std::string outputs; // `auto`: as many bytes as they have
};

std::string unquote(const std::string& word) {
  std::string text;
  for (size_t i = 0; i < word.size(); ++i) {
    if (word[i] == '%' && i + 2 < word.size()) {
      text += static_cast<char>(std::stoi(word.substr(i + 1, 2), nullptr, 16));
      i += 2;
    } else if (word[i] != '%') {
      text += word[i];
    }
  }
  return text;
}

std::vector<std::string> items(const std::string& list) {
  std::vector<std::string> found;
  std::stringstream text(list);
  for (std::string item; std::getline(text, item, ',');) {
    found.push_back(item);
  }
  return found;
}

[[noreturn]] void fail(const char* step, Error error) {
  std::printf("%s 0x%02x\n", step, static_cast<unsigned>(error));
  std::fflush(stdout);
  std::_Exit(0);
}

// Sets an input: zeros of the largest sizes, or the value that was traced.
Error set_input(rt::Method& method, size_t index) {
  const auto meta = method.method_meta();
  const auto tag = meta.input_tag(index);
  if (!tag.ok()) {
    return tag.error();
  }
  if (tag.get() != rt::Tag::Tensor) {
    std::vector<rt::EValue> inputs(method.inputs_size());
    // Nothing else returns the value.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    const Error error = method.get_inputs(inputs.data(), inputs.size());
#pragma GCC diagnostic pop
    return error == Error::Ok ? method.set_input(inputs[index], index) : error;
  }
  const auto info = meta.input_tensor_meta(index);
  if (!info.ok()) {
    return info.error();
  }
  struct Input {
    explicit Input(size_t bytes) : data(bytes) {}
    std::vector<int32_t> sizes, strides;
    std::vector<uint8_t> order;
    Block data;
    std::unique_ptr<aten::TensorImpl> impl;
  };
  // Inputs live as long as the process.
  auto* input = new Input(info->nbytes());
  input->sizes.assign(info->sizes().begin(), info->sizes().end());
  input->order.assign(info->dim_order().begin(), info->dim_order().end());
  input->strides.resize(input->sizes.size());
  rt::dim_order_to_stride_nocheck(
      input->sizes.data(), input->order.data(), input->sizes.size(), input->strides.data());
  input->impl = std::make_unique<aten::TensorImpl>(
      info->scalar_type(),
      static_cast<ssize_t>(input->sizes.size()),
      input->sizes.data(),
      input->data.data(),
      input->order.data(),
      input->strides.data());
  return method.set_input(rt::EValue(aten::Tensor(input->impl.get())), index);
}

// Provides the outputs of a list: a size in bytes, or `x` for one that has
// memory.
Error set_outputs(rt::Method& method, const std::string& sizes) {
  const auto list = items(sizes);
  for (size_t i = 0; i < method.outputs_size(); ++i) {
    const rt::EValue& output = method.get_output(i);
    if (!output.isTensor()) {
      continue;
    }
    const aten::Tensor& tensor = output.toTensor();
    size_t size = tensor.nbytes();
    if (sizes == "auto") {
      if (tensor.const_data_ptr() != nullptr || size == 0) {
        continue;
      }
    } else if (i >= list.size() || list[i] == "x") {
      continue;
    } else {
      size = std::stoull(list[i]);
    }
    // Outputs live as long as the process, too.
    const Error error = method.set_output_data_ptr((new Block(size))->data(), size, i);
    // One that is in the memory of an input cannot be set.
    if (error != Error::Ok && sizes != "auto") {
      return error;
    }
  }
  return Error::Ok;
}

[[noreturn]] void run(const Trial& trial) {
  auto loader = ext::FileDataLoader::from(trial.file.c_str());
  if (!loader.ok()) {
    fail("file", loader.error());
  }
  std::unique_ptr<ext::FileDataLoader> data_loader;
  std::unique_ptr<ext::FlatTensorDataMap> data;
  if (!trial.data.empty()) {
    auto opened = ext::FileDataLoader::from(trial.data.c_str());
    if (!opened.ok()) {
      fail("data", opened.error());
    }
    data_loader = std::make_unique<ext::FileDataLoader>(std::move(opened.get()));
    auto map = ext::FlatTensorDataMap::load(data_loader.get());
    if (!map.ok()) {
      fail("data", map.error());
    }
    data = std::make_unique<ext::FlatTensorDataMap>(std::move(map.get()));
  }
  const auto program = rt::Program::load(&loader.get());
  if (!program.ok()) {
    fail("program", program.error());
  }
  const auto meta = program->method_meta(trial.method.c_str());
  if (!meta.ok()) {
    fail("method", meta.error());
  }
  std::vector<Block> blocks;
  if (trial.pools == "auto") {
    for (size_t i = 0; i < meta->num_memory_planned_buffers(); ++i) {
      blocks.emplace_back(static_cast<size_t>(meta->memory_planned_buffer_size(i).get()));
    }
  } else {
    for (const std::string& size : items(trial.pools)) {
      blocks.emplace_back(std::stoull(size));
    }
  }
  std::vector<rt::Span<uint8_t>> spans;
  for (const Block& block : blocks) {
    spans.emplace_back(block.data(), block.size());
  }
  rt::HierarchicalAllocator planned({spans.data(), spans.size()});
  const Block method_memory(trial.method_memory < 0 ? kMethodMemory : trial.method_memory);
  const Block temp_memory(trial.temp_memory < 0 ? kTempMemory : trial.temp_memory);
  rt::MemoryAllocator method_allocator(method_memory.size(), method_memory.data());
  Counted temp(temp_memory.size(), temp_memory.data());
  rt::MemoryManager manager(&method_allocator, &planned, &temp);
  auto method = program->load_method(trial.method.c_str(), &manager, nullptr, data.get());
  if (!method.ok()) {
    fail("load", method.error());
  }
  temp.most = 0;
  for (size_t i = 0; i < method->inputs_size(); ++i) {
    const Error error = set_input(method.get(), i);
    if (error != Error::Ok) {
      fail("input", error);
    }
  }
  const Error outputs = set_outputs(method.get(), trial.outputs);
  if (outputs != Error::Ok) {
    fail("output", outputs);
  }
  const Error executed = method->execute();
  if (executed != Error::Ok) {
    fail("execute", executed);
  }
  std::printf("ok %zu\n", temp.most);
  std::fflush(stdout);
  std::_Exit(0);
}

} // namespace

int main() {
  rt::runtime_init();
  for (std::string line; std::getline(std::cin, line);) {
    std::stringstream words(line);
    Trial trial;
    std::string file, data, name;
    words >> file >> data >> name >> trial.method_memory >> trial.temp_memory >>
        trial.pools >> trial.outputs;
    if (!words) {
      std::fprintf(stderr, "trials: %s\n", line.c_str());
      return 2;
    }
    trial.file = unquote(file);
    trial.data = data == "-" ? "" : unquote(data);
    trial.method = unquote(name);
    const pid_t child = fork();
    if (child == 0) {
      alarm(kSeconds);
      run(trial);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) {
      return 2;
    }
    if (WIFSIGNALED(status)) {
      std::printf("signal %d\n", WTERMSIG(status));
      std::fflush(stdout);
    }
  }
  return 0;
}
