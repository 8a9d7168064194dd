// errors.cpp: produces the errors of the real runtime, each by one cause. Prints a line `0xNN CAUSE` for each on stdout,
// and on stderr, after the log of the runtime; the causes are those of crates/pte-check/src/errors.table, word by word.
// The argument is a folder with the programs that lab/tests/runtime/errors.rs writes; fetch.sh builds it.

#include <executorch/devtools/etdump/data_sinks/buffer_data_sink.h>
#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/extension/data_loader/file_data_loader.h>
#include <executorch/extension/flat_tensor/flat_tensor_data_map.h>
#include <executorch/extension/named_data_map/merged_data_map.h>
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/kernel/operator_registry.h>
#include <executorch/runtime/platform/runtime.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rt = executorch::runtime;
namespace ext = executorch::extension;
namespace aten = executorch::aten;
using rt::Error;
using rt::EValue;

namespace {

std::string folder;

// Without a cause, for a success that what follows needs.
void print(Error error, const char* cause = "") {
  for (FILE* const out : {stdout, stderr}) {
    std::fprintf(out, "0x%02x %s\n", static_cast<unsigned>(error), cause);
    std::fflush(out);
  }
}

std::vector<uint8_t> read(const char* name) {
  std::ifstream in(folder + "/" + name, std::ios::binary);
  if (!in) {
    std::fprintf(stderr, "no file %s\n", name);
    std::exit(2);
  }
  return std::vector<uint8_t>((std::istreambuf_iterator<char>(in)), {});
}

// Bytes at an address that is `offset` bytes after a multiple of 64.
struct Image {
  uint8_t* bytes;
  size_t size;
  explicit Image(const std::vector<uint8_t>& from, size_t offset = 0) : size(from.size()) {
    auto* const block = static_cast<uint8_t*>(std::aligned_alloc(64, (size + offset + 127) / 64 * 64));
    bytes = block + offset;
    std::memcpy(bytes, from.data(), size);
  }
};

// A .ptd file.
struct Data {
  ext::BufferDataLoader loader;
  rt::Result<ext::FlatTensorDataMap> map;
  explicit Data(const std::vector<uint8_t>& from) : Data(Image(from)) {}
  explicit Data(Image image)
      : loader(image.bytes, image.size), map(ext::FlatTensorDataMap::load(&loader)) {}
};

// Memory that the application provides.
struct Sizes {
  size_t method = size_t{1} << 20;
  size_t temporary = size_t{1} << 20;
  size_t less_planned = 0;
  size_t fewer_pools = 0;
};

// A loaded program and its method `forward`; each lives until the process ends.
struct Loaded {
  ext::BufferDataLoader loader;
  rt::Result<rt::Program> program;
  std::vector<rt::Span<uint8_t>> pools;
  std::unique_ptr<rt::HierarchicalAllocator> planned;
  std::unique_ptr<rt::MemoryAllocator> allocator, temporary;
  std::unique_ptr<rt::MemoryManager> manager;
  Error error = Error::Ok;
  std::optional<rt::Method> method;

  explicit Loaded(const char* name, const rt::NamedDataMap* data = nullptr, Sizes sizes = {}, const char* method_name = "forward")
      : Loaded(Image(read(name)), data, sizes, method_name) {}

  Loaded(Image image, const rt::NamedDataMap* data, Sizes sizes, const char* method_name)
      : loader(image.bytes, image.size), program(rt::Program::load(&loader)) {
    if (!program.ok()) {
      error = program.error();
      return;
    }
    const auto meta = program->method_meta("forward");
    for (size_t i = 0; i < meta->num_memory_planned_buffers(); ++i) {
      const size_t size = meta->memory_planned_buffer_size(i).get();
      pools.emplace_back(Image(std::vector<uint8_t>(size)).bytes, size - std::min(size, sizes.less_planned));
    }
    pools.resize(pools.size() - sizes.fewer_pools);
    const auto memory = [](size_t size) {
      return std::make_unique<rt::MemoryAllocator>(size, Image(std::vector<uint8_t>(size)).bytes);
    };
    planned = std::make_unique<rt::HierarchicalAllocator>(rt::Span<rt::Span<uint8_t>>(pools.data(), pools.size()));
    allocator = memory(sizes.method);
    temporary = memory(sizes.temporary);
    manager = std::make_unique<rt::MemoryManager>(allocator.get(), planned.get(), temporary.get());
    auto result = program->load_method(method_name, manager.get(), nullptr, data);
    error = result.error();
    if (result.ok()) {
      method.emplace(std::move(*result));
    }
  }
};

Loaded& loaded(const char* name) {
  auto* const made = new Loaded(name);
  if (made->error != Error::Ok) {
    std::fprintf(stderr, "%s: 0x%02x\n", name, static_cast<unsigned>(made->error));
    std::exit(2);
  }
  return *made;
}

// A tensor of zeros.
EValue tensor(std::vector<aten::SizesType> sizes, aten::ScalarType type = aten::ScalarType::Float) {
  const auto rank = sizes.size();
  auto* const all = new std::vector<aten::SizesType>(std::move(sizes));
  auto* const order = new std::vector<aten::DimOrderType>(rank);
  auto* const strides = new std::vector<aten::StridesType>(rank, 1);
  for (size_t i = 0; i < rank; ++i) {
    (*order)[i] = static_cast<aten::DimOrderType>(i);
  }
  for (size_t i = rank; i-- > 1;) {
    (*strides)[i - 1] = (*strides)[i] * (*all)[i];
  }
  auto* const memory = new std::vector<uint8_t>(4096);
  return EValue(aten::Tensor(new aten::TensorImpl(
      type, static_cast<ssize_t>(rank), all->data(), memory->data(), order->data(), strides->data())));
}

void nothing(rt::KernelRuntimeContext&, rt::Span<EValue*>) {}

// Registers kernels in a process of its own: the runtime ends it, and its log has the number of the error.
void registration(const std::vector<rt::Kernel>& kernels, const char* cause) {
  int ends[2];
  if (pipe(ends) != 0) {
    std::exit(2);
  }
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    (void)rt::register_kernels({kernels.data(), kernels.size()});
    _exit(0);
  }
  close(ends[1]);
  std::string log;
  char part[4096];
  for (ssize_t size; (size = ::read(ends[0], part, sizeof part)) > 0;) {
    log.append(part, static_cast<size_t>(size));
  }
  close(ends[0]);
  waitpid(child, nullptr, 0);
  std::fputs(log.c_str(), stderr);
  const char* const words = "registration failed with error ";
  const size_t at = log.find(words);
  const int error = at == std::string::npos ? 0 : std::atoi(log.c_str() + at + std::strlen(words));
  print(static_cast<Error>(error), cause);
}

class NoBackend final : public rt::BackendInterface {
 public:
  bool is_available() const override { return true; }
  rt::Result<rt::DelegateHandle*> init(
      rt::BackendInitContext&, rt::FreeableBuffer*, rt::ArrayRef<rt::CompileSpec>) const override {
    return nullptr;
  }
  Error execute(rt::BackendExecutionContext&, rt::DelegateHandle*, rt::Span<EValue*>) const override {
    return Error::Ok;
  }
};

// A loader without `load_into`.
class PlainLoader final : public rt::DataLoader {
 public:
  explicit PlainLoader(Image image) : image_(image) {}
  rt::Result<rt::FreeableBuffer> load(size_t offset, size_t size, const SegmentInfo&) const override {
    return rt::FreeableBuffer(image_.bytes + offset, size, nullptr);
  }
  rt::Result<size_t> size() const override { return image_.size; }

 private:
  const Image image_;
};

Error program_error(const Image& image) {
  auto* const loader = new ext::BufferDataLoader(image.bytes, image.size);
  return rt::Program::load(loader).error();
}

void states() {
  print(Loaded("external.pte").error, "the program has tensors in a `.ptd`, and no `.ptd` is passed to `load_method`");
  Loaded& two = loaded("steps.pte");
  (void)two.method->set_input(tensor({2, 2}), 0);
  print(two.method->step());
  print(two.method->set_input(tensor({2, 2}), 0), "an input is set between two steps");
  print(two.method->execute(), "`execute` is called between two steps");
  print(two.method->reset_execution(), "`reset_execution` is called before the last step");
  while (two.method->step() == Error::Ok) {
  }
  print(two.method->step(), "`step` is called after the last step");
  uint8_t memory[64];
  print(two.method->set_output_data_ptr(memory, sizeof memory, 0),
        "memory is set for an output that is in planned memory or a constant (`set_output_data_ptr`)");
}

void inputs() {
  Loaded& fixed = loaded("static.pte");
  const auto set = [&](const EValue& value, const char* cause, size_t input = 0) {
    print(fixed.method->set_input(value, input), cause);
  };
  print(fixed.method->execute(), "an input is not set");
  const char* const number = "a number, a string or None is passed for a tensor, or a tensor for a number";
  set(EValue(int64_t{3}), number);
  set(EValue(), number);
  set(tensor({1}), number, 1);
  set(EValue(int64_t{4}), "an input that is a number has another value than in the program", 1);
  set(tensor({2, 2}, aten::ScalarType::Int), "an input has another element type than the method");
  set(tensor({2, 2}), "the index of an input is out of range", 7);
  const EValue one[] = {tensor({2, 2})};
  print(fixed.method->set_inputs({one, 1}), "the number of inputs is wrong (`set_inputs`)");
  set(tensor({2}), "an input has another number of dimensions than the method");
  set(tensor({2, 3}), "an input that is static has other sizes than the method");
  Loaded& dynamic = loaded("dynamic.pte");
  print(dynamic.method->set_input(tensor({5}), 0), "an input is larger than the upper bound of its dynamic sizes");
  for (const auto* name : {"dynamic.pte", "xnnpack.pte"}) {
    Loaded& method = loaded(name);
    (void)method.method->set_input(tensor({2}), 0);
    (void)method.method->set_input(tensor({3}), 1);
    const bool kernel = std::strcmp(name, "dynamic.pte") == 0;
    print(method.method->execute(),
          kernel ? "the actual sizes of the arguments of a kernel do not fit each other"
                 : "XNNPACK cannot execute its graph with the actual sizes of the inputs");
  }
  uint8_t memory[4];
  print(loaded("unplanned.pte").method->set_output_data_ptr(memory, sizeof memory, 0),
        "the memory for an output is too small (`set_output_data_ptr`)");
  print(fixed.method->get_output(0).tryToInt().error(), "a value is read as another type than it has (`tryToInt`)");
}

void programs() {
  const auto bytes = read("static.pte");
  const char* const alignment = "the address of the program is not aligned to 16 bytes (8 on 32-bit processors)";
  print(program_error(Image(bytes, 1)), alignment);
  print(program_error(Image(bytes, 8)), alignment);
  print(program_error(Image({bytes.begin(), bytes.begin() + 40})), "the file has fewer than 64 bytes");
  const auto whole = read("state.pte");
  print(program_error(Image({whole.begin(), whole.end() - 1})), "the file is truncated");
  print(program_error(Image(std::vector<uint8_t>(400, '<'))), "the file is not a `.pte`");
  auto text = bytes;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') {
      text.insert(text.begin() + static_cast<ptrdiff_t>(i++), '\r');
    }
  }
  if (text.size() == bytes.size()) {
    std::exit(2);
  }
  print(program_error(Image(text)), "a transfer in text mode changed the file");
  print(Loaded("static.pte", nullptr, {}, "forwrad").error, "the name of the method is misspelt");
  print(Loaded("missing.pte").error, "no linked library registers a kernel for the operator");
  print(Loaded("backend.pte").error, "the backend of a delegate is not registered: its library is not linked, or the linker dropped it");
  auto payload = read("xnnpack.pte");
  const char* const format = "XN01";
  const auto at = std::search(payload.begin(), payload.end(), format, format + 4);
  if (at == payload.end()) {
    std::exit(2);
  }
  at[3] = '9';
  print(Loaded(Image(payload), nullptr, {}, "forward").error, "the payload of XNNPACK has another format than the runtime reads");
  PlainLoader plain{Image(whole)};
  auto program = rt::Program::load(&plain);
  Loaded memory("state.pte");
  print(program->load_method("forward", memory.manager.get()).error(),
        "a method with initial state is loaded by a data loader without `load_into`");
}

void sizes() {
  Sizes method, temporary, planned, pools;
  method.method = 64;
  Loaded enough("static.pte");
  temporary.method = enough.allocator->used_size();
  print(Loaded("static.pte", nullptr, temporary).error);
  temporary.temporary = 16;
  planned.less_planned = 16;
  pools.fewer_pools = 1;
  print(Loaded("static.pte", nullptr, method).error, "the method allocator is too small");
  print(Loaded("static.pte", nullptr, temporary).error, "the temporary allocator is too small, and the method allocator has no room for what loading takes from it instead");
  Sizes kernel;
  kernel.temporary = 16;
  Loaded top("topk.pte", nullptr, kernel);
  (void)top.method->set_input(tensor({2, 4}), 0);
  print(top.method->execute(), "the temporary allocator is too small for what a kernel takes from it");
  print(Loaded("static.pte", nullptr, planned).error, "a pool of planned memory is smaller than the method needs");
  print(Loaded("static.pte", nullptr, pools).error, "the application has fewer pools of planned memory than the method");
}

void data() {
  Data other(read("other.ptd"));
  Data wrong(read("wrong.ptd"));
  print(Loaded("external.pte", &other.map.get()).error, "the `.ptd` that is passed lacks the key of a tensor");
  print(Loaded("external.pte", &wrong.map.get()).error,
        "the `.ptd` belongs to another export: a tensor has another element type or other sizes");
  auto bytes = read("wrong.ptd");
  print(Data({bytes.begin(), bytes.end() - 64}).map.error(), "the `.ptd` is truncated or is another file");
  print(Data(read("static.pte")).map.error(), "the `.ptd` is truncated or is another file");
  const rt::NamedDataMap* both[] = {&wrong.map.get(), &wrong.map.get()};
  print(ext::merged_data_map::MergedDataMap::load({both, 2}).error(), "two `.ptd` files have the same key");
  const auto path = folder + "/static.pte";
  print(ext::FileDataLoader::from((folder + "/none.pte").c_str()).error(), "a file does not exist or cannot be opened");
  auto file = ext::FileDataLoader::from(path.c_str());
  if (truncate(path.c_str(), 16) != 0) {
    std::exit(2);
  }
  print(file->load(0, 64, rt::DataLoader::SegmentInfo()).error(), "a file becomes shorter while it is open");
}

void registrations() {
  // Kernels for a part of the calls: the program calls `my::op.out` with float32.
  print(rt::register_kernel(rt::Kernel("my::op", nothing)));
  print(Loaded("missing.pte").error, "only another overload of the operator is registered, such as `my::op` for `my::op.out`");
  print(rt::register_kernel(rt::Kernel("my::op.out", rt::KernelKey("v1/7;0|7;0"), nothing)));
  print(Loaded("missing.pte").error, "the kernel is registered for other element types or orders of dimensions");
  registration({rt::Kernel("my::op", nothing)}, "two linked libraries register the same kernel, or one is loaded twice");
  std::vector<std::string> names;
  for (int i = 0; i < 20000; ++i) {
    names.push_back("my::op" + std::to_string(i));
  }
  std::vector<rt::Kernel> kernels;
  for (const auto& name : names) {
    kernels.emplace_back(name.c_str(), nothing);
  }
  registration(kernels, "the linked libraries have more kernels than `MAX_KERNEL_NUM`, or than the number of a selective build");
  static NoBackend backend;
  static std::vector<std::string> backends(20, "Backend");
  print(rt::register_backend({"XnnpackBackend", &backend}), "a backend is registered twice");
  for (size_t i = 0; i < backends.size(); ++i) {
    backends[i] += std::to_string(i);
    const Error error = rt::register_backend({backends[i].c_str(), &backend});
    if (error != Error::Ok) {
      print(error, "more than 16 backends are registered");
      break;
    }
  }
  std::vector<uint8_t> small(8);
  auto sink = executorch::etdump::BufferDataSink::create({small.data(), small.size()});
  print(sink->write(small.data(), 64).error(), "the buffer for the debug data of an ETDump is too small");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: errors FOLDER\n");
    return 2;
  }
  folder = argv[1];
  rt::runtime_init();
  states();
  inputs();
  programs();
  sizes();
  registrations();
  data();
  return 0;
}
