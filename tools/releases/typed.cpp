// typed.cpp: `mutants` (tests/conformance/README.md) for one release's runtime, as far as the measurement of element types needs it: runs variants of
// a program with other bytes, each in a child process of its own, with inputs of the types in the file.
//
//     typed FILE [--jobs N] [--content mixed|zeros|ones] < MUTATIONS
//
// The environment variable PTE_EMIT_VALID names a program that all releases load.

#include "layout.h"

#include <executorch/runtime/core/exec_aten/util/dim_order_util.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>
#include <executorch/runtime/platform/runtime.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <iostream>

namespace {

constexpr unsigned kSeconds = 10;

std::string content = "mixed";

// The answer of a child, in memory shared with its parent.
char* answer = nullptr;

void failed(const char* step, Error error) {
  std::snprintf(answer, 64, "%s 0x%02X", step, static_cast<unsigned>(error));
}

void fill(aten::ScalarType type, uint8_t* data, size_t size) {
  const size_t width = rt::elementSize(type);
  const bool integer = rt::isIntegralType(type, true);
  for (size_t i = 0; content != "zeros" && i < size / width; ++i) {
    uint8_t* at = data + i * width;
    const int turn = static_cast<int>(i * 7 % 13);
    const auto x = content == "ones" ? 1.0f : 0.25f * static_cast<float>(turn) - 1.0f;
    if (type == aten::ScalarType::Float) {
      std::memcpy(at, &x, width);
    } else if (type == aten::ScalarType::Double) {
      const double wide = x;
      std::memcpy(at, &wide, width);
    } else if (type == aten::ScalarType::Half || type == aten::ScalarType::BFloat16) {
      at[1] = content == "ones" ? (type == aten::ScalarType::Half ? 0x3c : 0x3f) : static_cast<uint8_t>(0x38 + turn % 8);
      at[0] = content == "ones" && type == aten::ScalarType::BFloat16 ? 0x80 : 0;
    } else {
      at[0] = static_cast<uint8_t>(content == "ones" ? 1 : integer ? turn % 2 : turn);
    }
  }
}

Error set_tensor(rt::Method& method, const rt::TensorInfo& info, size_t index) {
  const auto sizes = info.sizes();
  const auto order = info.dim_order();
  auto* own_sizes = new std::vector<int32_t>(sizes.begin(), sizes.end());
  auto* own_order = new std::vector<uint8_t>(order.begin(), order.end());
  auto* strides = new std::vector<int32_t>(own_sizes->size());
  if (!own_sizes->empty()) {
    const Error error = rt::dim_order_to_stride(own_sizes->data(), own_order->data(), own_sizes->size(), strides->data());
    if (error != Error::Ok) {
      return error;
    }
  }
  uint8_t* data = memory(info.nbytes());
  fill(info.scalar_type(), data, info.nbytes());
  auto* impl = new aten::TensorImpl(
      info.scalar_type(), static_cast<ssize_t>(own_sizes->size()), own_sizes->data(), data, own_order->data(), strides->data());
  return method.set_input(rt::EValue(aten::Tensor(impl)), index);
}

Error set_inputs(rt::Method& method, const rt::MethodMeta& meta) {
  for (size_t i = 0; i < meta.num_inputs(); ++i) {
    const auto tag = meta.input_tag(i);
    if (!tag.ok()) {
      return tag.error();
    }
    Error error = Error::Ok;
    if (tag.get() == rt::Tag::Tensor) {
      uint8_t* info = call([&] { return meta.input_tensor_meta(i); });
      error = outcome(info, layout.tensor);
      if (error == Error::Ok) {
        error = set_tensor(method, as<rt::TensorInfo>(info), i);
      }
    } else {
      // A scalar must equal the one in the file.
      const rt::EValue value = method.get_input(i);
      error = method.set_input(value, i);
    }
    if (error != Error::Ok) {
      return error;
    }
  }
  return Error::Ok;
}

void try_file(const std::string& bytes) {
  Loader loader(bytes);
  uint8_t* loaded = load_program(&loader, true);
  if (outcome(loaded, layout.program) != Error::Ok) {
    return failed("load", outcome(loaded, layout.program));
  }
  const auto& program = as<rt::Program>(loaded);
  const auto name = program.get_method_name(0);
  uint8_t* meta = call([&] { return program.method_meta(name.get()); });
  if (outcome(meta, layout.meta) != Error::Ok) {
    return failed("method", outcome(meta, layout.meta));
  }
  const auto& known = as<rt::MethodMeta>(meta);
  rt::MemoryManager* manager = nullptr;
  Error error = allocate(known, manager);
  if (error != Error::Ok) {
    return failed("method", error);
  }
  uint8_t* method = call([&] { return load_method_of(program, name.get(), manager, nullptr); });
  if (outcome(method, layout.method) != Error::Ok) {
    return failed("method", outcome(method, layout.method));
  }
  error = set_inputs(as<rt::Method>(method), known);
  if (error != Error::Ok) {
    return failed("input", error);
  }
  error = execute(as<rt::Method>(method), known);
  if (error != Error::Ok) {
    return failed("exec", error);
  }
  std::snprintf(answer, 64, "ok 0");
}

// Changes bytes as a line says: `OFFSET=BYTE...`.
std::string changed(std::string bytes, const std::string& line) {
  const char* at = line.c_str();
  while (*at != '\0') {
    char* end = nullptr;
    const size_t offset = std::strtoull(at, &end, 10);
    bytes.at(offset) = static_cast<char>(std::strtol(end + 1, &end, 10));
    at = *end == ' ' ? end + 1 : end;
  }
  return bytes;
}

std::string judge(const std::string& bytes) {
  std::memset(answer, 0, 64);
  const pid_t pid = fork();
  if (pid == 0) {
    alarm(kSeconds);
    try_file(bytes);
    _exit(0);
  }
  int status = 0;
  (void)waitpid(pid, &status, 0);
  if (WIFSIGNALED(status)) {
    return "signal " + std::to_string(WTERMSIG(status)) + " -";
  }
  return answer[0] == '\0' ? "exit 1" : answer;
}

[[noreturn]] void work(const std::string& bytes, const std::vector<std::string>& lines, unsigned which, unsigned jobs) {
  answer = static_cast<char*>(mmap(nullptr, 64, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  for (size_t i = which; i < lines.size(); i += jobs) {
    const std::string text = std::to_string(i) + " " + judge(changed(bytes, lines[i])) + "\n";
    // A short line is written atomically.
    if (write(STDOUT_FILENO, text.data(), text.size()) < 0) {
      _exit(3);
    }
  }
  _exit(0);
}

} // namespace

int main(int argc, char** argv) {
  const char* valid = std::getenv("PTE_EMIT_VALID");
  if (argc < 2 || valid == nullptr) {
    std::fputs("usage: PTE_EMIT_VALID=VALID.pte typed FILE [--jobs N] [--content mixed|zeros|ones] < MUTATIONS\n", stderr);
    return 2;
  }
  unsigned jobs = 1;
  for (int i = 2; i + 1 < argc; i += 2) {
    const std::string word = argv[i];
    (word == "--jobs" ? void(jobs = static_cast<unsigned>(std::atoi(argv[i + 1]))) : void(content = argv[i + 1]));
  }
  const struct rlimit none = {0, 0};
  (void)setrlimit(RLIMIT_CORE, &none);
  const int nowhere = open("/dev/null", O_WRONLY);
  (void)dup2(nowhere, STDERR_FILENO);
  guarding = true;
  rt::runtime_init();
  const std::string bytes = read_file(argv[1]);
  measure_layout(valid);
  std::vector<std::string> lines;
  for (std::string line; std::getline(std::cin, line);) {
    lines.push_back(line);
  }
  std::vector<pid_t> workers;
  for (unsigned which = 0; which < jobs; ++which) {
    workers.push_back(fork());
    if (workers.back() == 0) {
      work(bytes, lines, which, jobs);
    }
  }
  int result = 0;
  for (const pid_t worker : workers) {
    int status = 0;
    if (waitpid(worker, &status, 0) != worker || status != 0) {
      result = 3;
    }
  }
  return result;
}
