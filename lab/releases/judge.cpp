// judge.cpp: answers of one release's runtime to files. Loads and executes each file in a child process of its own; the
// protocol is described in README.md next to this file.

#include "heap.h"
#include "layout.h"

#include <executorch/runtime/platform/runtime.h>

#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <iostream>
#include <map>
#include <sstream>

namespace {

// Of the processor, and of a clock.
constexpr time_t kBusySeconds = 3;
constexpr unsigned kSeconds = 60;
constexpr rlim_t kGigabytes = 64;

// ---- what a child says ------------------------------------------------------

struct Said {
  char step[32];
  char answer[64];
  size_t length;
  char values[1 << 20];
};
Said* said = nullptr;

void step(const char* name) {
  std::snprintf(said->step, sizeof(said->step), "%s", name);
}

// The first failure is the answer.
void failed(const char* name, Error error) {
  if (said->answer[0] == '\0') {
    std::snprintf(said->answer, sizeof(said->answer), "%s 0x%02X", name, static_cast<unsigned>(error));
  }
}

void value(const std::string& text) {
  if (said->length + text.size() + 1 < sizeof(said->values)) {
    std::memcpy(said->values + said->length, text.data(), text.size());
    said->length += text.size();
    said->values[said->length++] = '\n';
  }
}

// ---- one file ---------------------------------------------------------------

struct Job {
  std::string program;
  std::vector<std::string> data;
  bool verified = true;
  bool guards = false;
  bool heap = false;
  bool metadata = false;
  bool values = false;
  unsigned executions = 1;
  struct Inputs {
    std::string name;
    std::vector<std::string> values;
  };
  std::vector<Inputs> methods;
};

class Hash {
 public:
  void bytes(const void* data, size_t size) {
    const auto* p = static_cast<const uint8_t*>(data);
    for (size_t i = 0; i < size; ++i) {
      state_ = (state_ ^ p[i]) * 0x100000001b3ull;
    }
  }
  template <typename T>
  void number(T n) { bytes(&n, sizeof(n)); }
  uint64_t value() const { return state_; }

 private:
  uint64_t state_ = 0xcbf29ce484222325ull;
};

std::string hex(const void* data, size_t size) {
  const char* digits = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < size; ++i) {
    const uint8_t byte = static_cast<const uint8_t*>(data)[i];
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text.empty() ? "-" : text;
}

template <typename List>
std::string commas(const List& list) {
  std::string text;
  for (const auto item : list) {
    text += (text.empty() ? "" : ",") + std::to_string(static_cast<int64_t>(item));
  }
  return text.empty() ? "-" : text;
}

std::vector<int64_t> numbers(const std::string& text) {
  std::vector<int64_t> list;
  std::istringstream stream(text);
  for (std::string word; text != "-" && std::getline(stream, word, ',');) {
    list.push_back(std::stoll(word));
  }
  return list;
}

// `tensor CODE SIZES DIMORDER HEX`: HEX is an element, or all of them. Lives as long as the child.
rt::EValue tensor(std::istringstream& words) {
  int code = 0;
  std::string sizes_text, order_text, element;
  words >> code >> sizes_text >> order_text >> element;
  auto* sizes = new std::vector<int32_t>();
  auto* order = new std::vector<uint8_t>();
  size_t count = 1;
  for (const int64_t size : numbers(sizes_text)) {
    sizes->push_back(static_cast<int32_t>(size));
    count *= static_cast<size_t>(size);
  }
  for (const int64_t dim : numbers(order_text)) {
    order->push_back(static_cast<uint8_t>(dim));
  }
  auto* strides = new std::vector<int32_t>(sizes->size());
  int32_t stride = 1;
  for (size_t i = order->size(); i-- > 0;) {
    strides->at(order->at(i)) = stride;
    stride *= std::max(sizes->at(order->at(i)), 1);
  }
  auto* impl = new aten::TensorImpl(
      static_cast<aten::ScalarType>(code), static_cast<ssize_t>(sizes->size()), sizes->data(), nullptr, order->data(), strides->data());
  const size_t width = static_cast<size_t>(impl->element_size());
  std::string bytes;
  for (size_t i = 0; element != "-" && i + 1 < element.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(element.substr(i, 2), nullptr, 16));
  }
  uint8_t* data = memory(count * width);
  for (size_t i = 0; data != nullptr && !bytes.empty() && i < count * width; ++i) {
    data[i] = static_cast<uint8_t>(bytes[i % bytes.size()]);
  }
  impl->set_data(data);
  return rt::EValue(aten::Tensor(impl));
}

rt::EValue input(const std::string& text) {
  std::istringstream words(text);
  std::string kind, word;
  words >> kind;
  if (kind == "tensor") {
    return tensor(words);
  }
  words >> word;
  if (kind == "int") {
    return rt::EValue(static_cast<int64_t>(std::stoll(word)));
  }
  if (kind == "double") {
    return rt::EValue(std::stod(word));
  }
  if (kind == "bool") {
    return rt::EValue(word == "1");
  }
  return rt::EValue();
}

void output(const rt::EValue& found, const Job& job, Hash& hash) {
  hash.number(static_cast<uint32_t>(found.tag));
  std::string text;
  if (found.isTensor()) {
    const aten::Tensor& tensor = found.toTensor();
    const bool has = tensor.const_data_ptr() != nullptr;
    text = "tensor " + std::to_string(static_cast<int>(tensor.scalar_type())) + " " + commas(tensor.sizes()) + " " + commas(tensor.dim_order());
    hash.bytes(text.data(), text.size());
    if (has) {
      hash.bytes(tensor.const_data_ptr(), tensor.nbytes());
    }
    if (job.values) {
      text += " " + (has ? hex(tensor.const_data_ptr(), tensor.nbytes()) : "null");
    }
  } else if (found.isInt()) {
    hash.number(found.toInt());
    text = "int " + std::to_string(found.toInt());
  } else if (found.isDouble()) {
    hash.number(found.toDouble());
    const double x = found.toDouble();
    text = "double " + hex(&x, sizeof(x));
  } else if (found.isBool()) {
    hash.number(found.toBool());
    text = found.toBool() ? "bool 1" : "bool 0";
  } else if (found.isString()) {
    const auto string = found.toString();
    hash.bytes(string.data(), string.size());
    text = "string " + hex(string.data(), string.size());
  } else {
    text = "other " + std::to_string(static_cast<unsigned>(found.tag));
  }
  if (job.values) {
    value(text);
  }
}

struct Data {
  const rt::NamedDataMap* map = nullptr;
  Error error = Error::Ok;
};

Data open_data(const Job& job) {
  auto* maps = new std::vector<const rt::NamedDataMap*>();
  for (const std::string& path : job.data) {
    auto* loader = new Loader(read_file(path));
    uint8_t* map = call([&] { return FlatTensorDataMap::load(loader); });
    if (outcome(map, layout.data) != Error::Ok) {
      return {nullptr, outcome(map, layout.data)};
    }
    maps->push_back(reinterpret_cast<rt::NamedDataMap*>(map));
  }
  if (maps->size() < 2) {
    return {maps->empty() ? nullptr : maps->front(), Error::Ok};
  }
  uint8_t* merged = call([&] { return MergedDataMap::load({maps->data(), maps->size()}); });
  return {reinterpret_cast<rt::NamedDataMap*>(merged), outcome(merged, layout.merged)};
}

void try_method(const rt::Program& program, const Job& job, size_t number, const char* name, Hash& hash) {
  step("load");
  uint8_t* meta = call([&] { return program.method_meta(name); });
  if (outcome(meta, layout.meta) != Error::Ok) {
    return failed("load", outcome(meta, layout.meta));
  }
  auto& planned = as<rt::MethodMeta>(meta);
  rt::MemoryManager* memory_manager = nullptr;
  const Error allocated = allocate(planned, memory_manager);
  if (allocated != Error::Ok) {
    return failed("load", allocated);
  }
  const Data data = open_data(job);
  if (data.error != Error::Ok) {
    return failed("load", data.error);
  }
  uint8_t* loaded = call([&] { return load_method_of(program, name, memory_manager, data.map); });
  if (outcome(loaded, layout.method) != Error::Ok) {
    return failed("load", outcome(loaded, layout.method));
  }
  auto& method = as<rt::Method>(loaded);
  for (unsigned turn = 0; turn < job.executions; ++turn) {
    step("input");
    if (number < job.methods.size()) {
      const auto& values = job.methods[number].values;
      for (size_t i = 0; i < values.size(); ++i) {
        (void)method.set_input(input(values[i]), i); // execute reports it
      }
    }
    step("execute");
    const Error error = execute(method, planned);
    if (error != Error::Ok) {
      return failed("execute", error);
    }
    step("read");
    for (size_t i = 0; i < method.outputs_size(); ++i) {
      output(method.get_output(i), job, hash);
    }
  }
}

void try_file(const Job& job, const std::string& bytes) {
  Hash hash;
  step("program");
  Loader loader(bytes);
  uint8_t* loaded = load_program(&loader, job.verified);
  if (outcome(loaded, layout.program) != Error::Ok) {
    return failed("program", outcome(loaded, layout.program));
  }
  const auto& program = as<rt::Program>(loaded);
  step("methods");
  std::vector<std::string> names;
  for (size_t i = 0; i < program.num_methods(); ++i) {
    const auto name = program.get_method_name(i);
    if (!name.ok()) {
      return failed("methods", name.error());
    }
    names.push_back(name.get());
  }
  for (size_t i = 0; names.empty() && i < job.methods.size(); ++i) {
    names.push_back(job.methods[i].name);
  }
  if (job.metadata && static_cast<bool>(&rt::Program::get_output_flattening_encoding)) {
    for (const std::string& name : names) {
      (void)program.get_output_flattening_encoding(name.c_str());
    }
  }
  for (size_t i = 0; i < names.size() && said->answer[0] == '\0'; ++i) {
    try_method(program, job, i, names[i].c_str(), hash);
  }
  if (said->answer[0] == '\0') {
    std::snprintf(said->answer, sizeof(said->answer), "ok %016llx", static_cast<unsigned long long>(hash.value()));
  }
}

// ---- many files -------------------------------------------------------------

void limit(int what, rlim_t to) {
  const struct rlimit both = {to, to};
  (void)setrlimit(what, &both);
}

// The last lines that the child wrote to stderr.
void print_log(int log) {
  std::string text(1 << 16, '\0');
  const off_t size = lseek(log, 0, SEEK_END);
  const off_t start = std::max<off_t>(0, size - static_cast<off_t>(text.size()));
  text.resize(static_cast<size_t>(std::max<ssize_t>(0, pread(log, text.data(), text.size(), start))));
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(line);
  }
  for (size_t i = lines.size() > 6 ? lines.size() - 6 : 0; i < lines.size(); ++i) {
    std::printf("log %s\n", lines[i].c_str());
  }
}

// The functions for as many data files.
bool can_take_data(size_t files) {
  return files == 0 || (FlatTensorDataMap::load != nullptr && (files == 1 || MergedDataMap::load != nullptr));
}

void judge(const Job& job) {
  if (!can_take_data(job.data.size())) {
    std::printf("answer unable\nend\n");
    return;
  }
  const std::string bytes = read_file(job.program);
  std::memset(said, 0, offsetof(Said, values));
  std::fflush(stdout);
  const int log = memfd_create("log", 0);
  const pid_t pid = fork();
  if (pid == 0) {
    (void)dup2(log, STDERR_FILENO);
    (void)dup2(log, STDOUT_FILENO);
    struct itimerval busy = {};
    busy.it_value.tv_sec = kBusySeconds;
    (void)setitimer(ITIMER_PROF, &busy, nullptr);
    alarm(kSeconds);
    guarding = job.guards;
    if (job.heap) {
      guard_heap();
    }
    try_file(job, bytes);
    _exit(0);
  }
  int status = 0;
  if (pid < 0 || waitpid(pid, &status, 0) != pid) {
    std::fprintf(stderr, "judge: cannot start a child\n");
    std::exit(3);
  }
  if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGALRM || WTERMSIG(status) == SIGPROF)) {
    std::printf("answer timeout %s\n", said->step);
  } else if (WIFSIGNALED(status)) {
    std::printf("answer signal %d %s\n", WTERMSIG(status), said->step);
  } else if (said->answer[0] == '\0') {
    std::printf("answer exit %d %s\n", WEXITSTATUS(status), said->step);
  } else {
    std::printf("answer %s\n", said->answer);
  }
  std::istringstream values(std::string(said->values, said->length));
  for (std::string line; std::getline(values, line);) {
    std::printf("value %s\n", line.c_str());
  }
  print_log(log);
  std::printf("end\n");
  std::fflush(stdout);
  close(log);
}

void facts() {
  std::map<std::string, unsigned> kernels;
  for (const auto& kernel : rt::get_registered_kernels()) {
    ++kernels[kernel.name_];
  }
  for (const auto& [name, count] : kernels) {
    std::printf("operator %s %u\n", name.c_str(), count);
  }
  const char* known[] = {"XnnpackBackend", "CoreMLBackend", "MPSBackend", "VulkanBackend", "QnnBackend", "OpenvinoBackend", "EthosUBackend",
                         "ArmBackend", "NeuropilotBackend", "CadenceBackend", "EnnBackend", "SamsungBackend", "CudaBackend", "MLXBackend"};
  if (rt::get_num_registered_backends != nullptr) {
    for (size_t i = 0; i < rt::get_num_registered_backends(); ++i) {
      std::printf("backend %s\n", rt::get_backend_name(i).get());
    }
  } else {
    for (const char* name : known) {
      if (rt::get_backend_class(name) != nullptr) {
        std::printf("backend %s\n", name);
      }
    }
  }
  std::printf("data %s\n", can_take_data(2) ? "several" : can_take_data(1) ? "one" : "none");
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: judge VALID.pte < JOBS\n", stderr);
    return 2;
  }
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_AS, kGigabytes << 30);
  rt::runtime_init();
  said = static_cast<Said*>(mmap(nullptr, sizeof(Said), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  measure_layout(argv[1]);
  Job job;
  for (std::string line; std::getline(std::cin, line);) {
    const size_t space = line.find(' ');
    const std::string word = line.substr(0, space);
    const std::string rest = space == std::string::npos ? "" : line.substr(space + 1);
    if (word == "program") {
      job = Job();
      job.program = rest;
    } else if (word == "data") {
      job.data.push_back(rest);
    } else if (word == "verify") {
      job.verified = rest == "full";
    } else if (word == "guards") {
      job.guards = rest == "yes";
    } else if (word == "heap") {
      job.heap = rest == "yes";
    } else if (word == "metadata") {
      job.metadata = rest == "yes";
    } else if (word == "values") {
      job.values = rest == "yes";
    } else if (word == "executions") {
      job.executions = static_cast<unsigned>(std::stoul(rest));
    } else if (word == "method") {
      job.methods.push_back({rest, {}});
    } else if (word == "input" && !job.methods.empty()) {
      job.methods.back().values.push_back(rest);
    } else if (word == "run") {
      judge(job);
    } else if (word == "facts") {
      facts();
      std::printf("end\n");
      std::fflush(stdout);
    } else {
      std::fprintf(stderr, "judge: unknown command: %s\n", line.c_str());
      return 2;
    }
  }
  return 0;
}
