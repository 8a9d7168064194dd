// adapters.cpp: loads several instances of programs with .ptd files in one
// process, executes and destroys them in any order, with XNNPACK's cache of
// packed weights on or off, in the real runtime. The protocol is described in
// README.md next to this file; fetch.sh builds it.

#include <executorch/extension/data_loader/file_data_loader.h>
#include <executorch/extension/flat_tensor/flat_tensor_data_map.h>
#include <executorch/extension/named_data_map/merged_data_map.h>
#include <executorch/runtime/backend/backend_options_map.h>
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/backend/options.h>
#include <executorch/runtime/core/memory_allocator.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/platform/runtime.h>

#include <malloc.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

namespace rt = executorch::runtime;
namespace ext = executorch::extension;
using rt::Error;

namespace {

constexpr char kBackend[] = "XnnpackBackend";
constexpr char kEnabled[] = "weight_cache_enabled";
constexpr char kPath[] = "packed_cache_path";
constexpr size_t kMethodMemory = size_t{64} << 10;

// A file with a loader that copies what is read.
struct File {
  std::optional<ext::FileDataLoader> loader;

  Error open(const std::string& path) {
    auto opened = ext::FileDataLoader::from(path.c_str());
    if (!opened.ok()) {
      return opened.error();
    }
    loader.emplace(std::move(opened.get()));
    return Error::Ok;
  }
};

// A loaded method `forward`, with everything that it refers to.
class Instance {
 public:
  Error load(
      const std::string& pte,
      const std::vector<std::string>& ptds,
      rt::Span<rt::BackendOption> options) {
    Error error = open(pte, ptds);
    if (error != Error::Ok) {
      return error;
    }
    const auto meta = program_->method_meta("forward");
    if (!meta.ok()) {
      return meta.error();
    }
    for (size_t pool = 0; pool < meta->num_memory_planned_buffers(); ++pool) {
      pools_.emplace_back(meta->memory_planned_buffer_size(pool).get());
      spans_.emplace_back(pools_.back().data(), pools_.back().size());
    }
    arena_.emplace(rt::Span<rt::Span<uint8_t>>(spans_.data(), spans_.size()));
    memory_.resize(kMethodMemory);
    allocator_.emplace(kMethodMemory, memory_.data());
    manager_.emplace(&*allocator_, &*arena_);
    if (options.size() > 0) {
      error = options_.set_options(kBackend, options);
      if (error != Error::Ok) {
        return error;
      }
    }
    auto method =
        program_->load_method("forward", &*manager_, nullptr, data(), &options_);
    if (!method.ok()) {
      return method.error();
    }
    method_.emplace(std::move(method.get()));
    return Error::Ok;
  }

  // Executes with an input whose elements are all `number`, and prints the first
  // elements of the output.
  Error run(float number) {
    const auto& input = method_->get_input(0).toTensor();
    for (ssize_t i = 0; i < input.numel(); ++i) {
      input.mutable_data_ptr<float>()[i] = number;
    }
    const Error error = method_->execute();
    if (error != Error::Ok) {
      return error;
    }
    const auto& output = method_->get_output(0).toTensor();
    std::printf("ok");
    for (ssize_t i = 0; i < output.numel() && i < 4; ++i) {
      std::printf(" %g", static_cast<double>(output.const_data_ptr<float>()[i]));
    }
    std::printf("\n");
    return Error::Ok;
  }

 private:
  // Null when there are no files.
  const rt::NamedDataMap* data() const {
    if (merged_) {
      return merged_.get();
    }
    return maps_.empty() ? nullptr : maps_.front().get();
  }

  Error open(const std::string& pte, const std::vector<std::string>& ptds) {
    Error error = program_file_.open(pte);
    if (error != Error::Ok) {
      return error;
    }
    auto program = rt::Program::load(
        &*program_file_.loader, rt::Program::Verification::InternalConsistency);
    if (!program.ok()) {
      return program.error();
    }
    program_.emplace(std::move(program.get()));
    std::vector<const rt::NamedDataMap*> parts;
    for (const std::string& path : ptds) {
      files_.push_back(std::make_unique<File>());
      error = files_.back()->open(path);
      if (error != Error::Ok) {
        return error;
      }
      auto map = ext::FlatTensorDataMap::load(&*files_.back()->loader);
      if (!map.ok()) {
        return map.error();
      }
      maps_.push_back(std::make_unique<ext::FlatTensorDataMap>(std::move(map.get())));
      parts.push_back(maps_.back().get());
    }
    if (parts.size() > 1) {
      using Merged = ext::ET_MERGED_DATA_MAP_NAMESPACE::MergedDataMap;
      auto merged = Merged::load({parts.data(), parts.size()});
      if (!merged.ok()) {
        return merged.error();
      }
      merged_ = std::make_unique<Merged>(std::move(merged.get()));
    }
    return Error::Ok;
  }

  // In the order of dependence: the method is destroyed first.
  File program_file_;
  std::vector<std::unique_ptr<File>> files_;
  std::vector<std::unique_ptr<ext::FlatTensorDataMap>> maps_;
  std::unique_ptr<rt::NamedDataMap> merged_;
  std::optional<rt::Program> program_;
  std::vector<std::vector<uint8_t>> pools_;
  std::vector<rt::Span<uint8_t>> spans_;
  std::optional<rt::HierarchicalAllocator> arena_;
  std::vector<uint8_t> memory_;
  std::optional<rt::MemoryAllocator> allocator_;
  std::optional<rt::MemoryManager> manager_;
  rt::LoadBackendOptionsMap options_;
  std::optional<rt::Method> method_;
};

void answer(Error error) {
  if (error == Error::Ok) {
    std::printf("ok\n");
  } else {
    std::printf("error 0x%02x\n", static_cast<unsigned>(error));
  }
}

// The option of the whole process, after it is set unless `word` is `default`.
void cache(const std::string& word) {
  rt::BackendOptions<1> options;
  (void)options.set_option(kEnabled, word == "on");
  Error error = Error::Ok;
  if (word != "default") {
    error = rt::set_option(kBackend, options.view());
  }
  if (error == Error::Ok) {
    error = rt::get_option(kBackend, options.view());
  }
  if (error != Error::Ok) {
    answer(error);
    return;
  }
  const bool* enabled = std::get_if<bool>(&options.view()[0].value);
  std::printf("%s\n", enabled == nullptr ? "unknown" : *enabled ? "on" : "off");
}

} // namespace

int main() {
  rt::runtime_init();
  std::map<std::string, std::unique_ptr<Instance>> instances;
  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    std::string command, name, word;
    words >> command >> name;
    const auto found = instances.find(name);
    if (command == "cache") {
      cache(name);
    } else if (command == "heap") {
      const auto info = mallinfo2();
      std::printf("%zu\n", info.uordblks + info.hblkhd);
    } else if (command == "load" && found == instances.end()) {
      std::string pte;
      std::vector<std::string> ptds;
      rt::BackendOptions<2> options;
      words >> pte;
      while (words >> word) {
        if (word == "cache=on" || word == "cache=off") {
          (void)options.set_option(kEnabled, word == "cache=on");
        } else if (word.rfind("path=", 0) == 0) {
          (void)options.set_option(kPath, word.c_str() + 5);
        } else {
          ptds.push_back(word);
        }
      }
      auto instance = std::make_unique<Instance>();
      const Error error = instance->load(pte, ptds, options.view());
      if (error == Error::Ok) {
        instances[name] = std::move(instance);
      }
      answer(error);
    } else if (command == "run" && found != instances.end()) {
      float number = 0;
      words >> number;
      const Error error = found->second->run(number);
      if (error != Error::Ok) {
        answer(error);
      }
    } else if (command == "destroy" && found != instances.end()) {
      instances.erase(found);
      answer(Error::Ok);
    } else {
      std::printf("not a command: %s\n", line.c_str());
      return 2;
    }
    std::fflush(stdout);
  }
  return 0;
}
