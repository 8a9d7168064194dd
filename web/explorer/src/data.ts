// The document of a report. Generated from docs/report.schema.json by `npm run types`.

export type DataOfAPageOfPteEmitReport = ReportDocument;
/**
 * Effect of a call on an argument.
 */
export type Role = "in" | "in_place" | "out";
/**
 * Index of the value that is read, and of the instructions that may have written its content; null instead of them if no instruction did.
 *
 * @minItems 2
 */
export type Read = [number | null, number | null, ...(number | null)[]];
/**
 * Area of a `Difference`. Its name is also the value of `--only`.
 */
export type DiffArea = "meaning" | "layout" | "data";
/**
 * Kind of serializer that wrote a FlatBuffer, part of `FileFacts`.
 */
export type SerializerKind = "object-api" | "flatc";
/**
 * Property by which a level of the tree divides the bytes.
 */
export type SizeDimension = "segment" | "method" | "kind" | "pattern" | "tensor";
/**
 * An event. Serialised as an array.
 */
export type TimelineEvent = [number, number, number] | [number, number, number, number, number | null];

/**
 * Data of a report. Elements refer to each other by their indices in the lists.
 */
export interface ReportDocument {
  /**
   * The program of the older version; null without one, or if it cannot be compared.
   */
  base?: BaseProgram | null;
  /**
   * Name of an older version to compare with.
   */
  before: string | null;
  /**
   * Bytes of the first file; null if it cannot be read.
   */
  bytes: ReportedBytes | null;
  /**
   * Differences from the older version, as `pte-emit diff --json` prints them.
   */
  changes: Differences | null;
  /**
   * Reason why the two cannot be compared.
   */
  comparison_error: string | null;
  /**
   * The graphs have the statistics of constant data.
   */
  data_statistics: boolean;
  /**
   * First error of a malformed file.
   */
  error: string | null;
  /**
   * The file, or the files that YAML assembles to. The first one has the program.
   */
  files: ReportedFile[];
  /**
   * Graphs of the program; null if it cannot be read.
   */
  graph: ProgramGraph1 | null;
  /**
   * Memory of the program, as `pte-emit memory --json` prints it; null if it cannot be read.
   */
  memory: ProgramMemory1 | null;
  /**
   * Name of the source.
   */
  name: string;
  /**
   * Times that the runtime recorded, as `pte-emit profile --json` prints them; null if they were not requested.
   */
  profile?: TimeProfile | null;
  /**
   * The program as YAML, as `pte-emit dump` prints it; null without a program.
   */
  text: ReportedText | null;
  /**
   * Single events that the runtime recorded; null if they were not requested.
   */
  timeline?: Timeline | null;
  /**
   * Version of the serialised form: it grows when a key is removed or changes its meaning.
   */
  version: 1;
}
/**
 * The older one of two programs.
 */
export interface BaseProgram {
  graph: ProgramGraph;
  memory: ProgramMemory;
  /**
   * By method of the newer program: the method of the older one with the same name, if there is one.
   */
  methods: (BaseMethod | null)[];
}
/**
 * Its graphs. Differences are marked as in the graphs of the newer program.
 */
export interface ProgramGraph {
  /**
   * Operators, backends and kinds of instructions that methods call, each once.
   */
  callees: Callee[];
  /**
   * Methods in the order of the program.
   */
  methods: MethodGraph[];
  /**
   * Decoded payloads, each once.
   */
  payloads: PayloadGraph[];
  /**
   * Version of the serialised form: it grows when a key changes.
   */
  version: number;
  /**
   * Constants, each stored one once, the largest first.
   */
  weights: GraphWeight[];
}
/**
 * Operator, backend or kind of instruction.
 */
export interface Callee {
  /**
   * Arguments of the operator in the order of `GraphNode::args`, which has the results again after them; empty for an operator that is not known, and for other instructions.
   */
  args?: CalleeArg[];
  /**
   * Kind.
   */
  kind:
    | "convolution"
    | "matmul"
    | "elementwise"
    | "activation"
    | "normalization"
    | "pooling"
    | "reduction"
    | "shape"
    | "copy"
    | "quantize"
    | "index"
    | "creation"
    | "control"
    | "delegate"
    | "other";
  /**
   * Library with the kernel; null for kernels of the default runtime, and for other instructions.
   */
  library?: string | null;
}
/**
 * An argument of a `Callee`.
 */
export interface CalleeArg {
  /**
   * Name in the schema of the operator.
   */
  name: string;
  /**
   * Effect of the call on it, if it is not only read.
   */
  role?: Role | null;
  /**
   * Type, such as `Tensor` or `int[]?`.
   */
  type: string;
}
/**
 * The graph of a method.
 */
export interface MethodGraph {
  /**
   * By label: index in `ProgramGraph::callees`.
   */
  callees: number[];
  /**
   * Delegates.
   */
  delegates: GraphDelegate[];
  /**
   * Differences about the method that belong to no node, value or delegate.
   */
  differences: number[];
  /**
   * Findings about the method that belong to no node, value or delegate.
   */
  findings: number[];
  /**
   * Distinct lines of the stack traces.
   */
  frames: GraphFrame[];
  /**
   * Values that the caller sets.
   */
  inputs: number[];
  /**
   * Distinct labels of instructions, to which the nodes refer.
   */
  labels: string[];
  /**
   * Modules that the stack traces name.
   */
  modules: GraphModule[];
  /**
   * Name; empty if it has none.
   */
  name: string;
  /**
   * Instructions of all chains in their order.
   */
  nodes: GraphNode[];
  /**
   * Values that the caller reads at the end.
   */
  outputs: Read[];
  /**
   * All values.
   */
  values: GraphValue[];
}
/**
 * A delegate of a method.
 */
export interface GraphDelegate {
  /**
   * Backend.
   */
  backend: string;
  /**
   * Size of the payload in bytes.
   */
  bytes: number;
  /**
   * Compile specs by key: what their values mean, otherwise their text or first bytes; a list of those of a key that occurs several times.
   */
  compile_specs?: {
    [k: string]: unknown;
  };
  /**
   * Chip, system and processor, such as `Ethos-U55-128`; empty if neither payload nor compile specs say it.
   */
  compiled_for?: string[];
  /**
   * Differences from another program.
   */
  differences?: number[];
  /**
   * Findings of `check`.
   */
  findings?: number[];
  /**
   * Name in the YAML.
   */
  name: string;
  /**
   * Index in `ProgramGraph::payloads`, if the payload is decoded.
   */
  payload?: number | null;
}
/**
 * A line of a stack trace.
 */
export interface GraphFrame {
  /**
   * Source of the line.
   */
  context: string | null;
  /**
   * Source file.
   */
  file: string | null;
  /**
   * Line number in the file.
   */
  line: number;
  /**
   * Name of the function.
   */
  name: string | null;
}
/**
 * A module, or a function, that other modules call.
 */
export interface GraphModule {
  /**
   * Attribute through which it is called: `layers[0]` for `self.layers[0`.
   */
  name: string;
  /**
   * Index of the module that calls it.
   */
  parent?: number | null;
}
/**
 * Node of an instruction.
 */
export interface GraphNode {
  /**
   * The condition of the jump is a constant: it is always taken.
   */
  always?: boolean;
  /**
   * Values of its arguments, in the order of `Callee::args`; null for an index out of range.
   */
  args?: (number | null)[];
  /**
   * Delegate that it calls.
   */
  delegate?: number | null;
  /**
   * Differences from another program.
   */
  differences?: number[];
  /**
   * Findings of `check`.
   */
  findings?: number[];
  /**
   * Instruction that is executed instead of the next one if a condition is false.
   */
  jump?: number | null;
  /**
   * Index in `MethodGraph::labels`.
   */
  label: number;
  /**
   * Module that it was exported from, as an index of `MethodGraph::modules`.
   */
  module?: number | null;
  /**
   * Number of further values that it reads.
   */
  more_reads?: number;
  /**
   * Number of further values that it writes: lists of a program can have many items in many calls.
   */
  more_writes?: number;
  /**
   * Values that it reads, with the instructions that may have written each.
   */
  reads?: Read[];
  /**
   * Names of numbers by their position in the arguments: element types and memory formats.
   */
  texts?: [number, string][];
  /**
   * Stack trace as indices of `MethodGraph::frames`, from the outermost call.
   */
  trace?: number[];
  /**
   * Work of a call.
   */
  work?: GraphWork | null;
  /**
   * Values that it writes, each once.
   */
  writes?: number[];
}
/**
 * Work of a call of a kernel or a delegate, or of an operation of a payload, for the sizes in the file.
 */
export interface GraphWork {
  /**
   * Bytes of the constants that are read.
   */
  constant?: number;
  /**
   * Multiply-accumulate operations; null if their number is not known.
   */
  macs: number | null;
  /**
   * Bytes of the other tensors that are read.
   */
  planned?: number;
  /**
   * Bytes of the tensors that are written.
   */
  written?: number;
}
/**
 * A value of a method.
 */
export interface GraphValue {
  /**
   * For a view, the value whose memory and content it has.
   */
  base?: number | null;
  /**
   * Size of the data of a constant in bytes.
   */
  bytes?: number | null;
  /**
   * Source of its content before the first instruction: `input`, `constant`, `external` (data of a `.ptd`), `state` or `literal`; absent for a tensor without initial content.
   */
  content?: string | null;
  /**
   * Differences from another program.
   */
  differences?: number[];
  /**
   * Findings of `check`.
   */
  findings?: number[];
  /**
   * Items of a list of tensors, without those that are None.
   */
  items?: number[];
  /**
   * Name in the YAML, or its index.
   */
  name: string;
  /**
   * Statistics of constant data, if they were requested.
   */
  statistics?: TensorStatistics | null;
  /**
   * Content of a number, string or list: `[1, 1]`, `none`; names of the members of a list of tensors. Lists of more than 64 items are truncated.
   */
  text?: string | null;
  /**
   * Element type and sizes of a tensor, value of a literal, kind of a list.
   */
  type: string;
}
/**
 * Statistics of the elements of a tensor.
 */
export interface TensorStatistics {
  /**
   * Number of elements.
   */
  elements: number;
  /**
   * Numbers of finite elements in bins of equal width from the minimum to the maximum, which belongs to the last one; a single bin if all are equal, none if there are no finite ones.
   */
  histogram: number[];
  /**
   * Largest finite element; null if there is none.
   */
  maximum: number | null;
  /**
   * Mean of the finite elements; null if there is none.
   */
  mean: number | null;
  /**
   * Smallest finite element; null if there is none.
   */
  minimum: number | null;
  /**
   * Number of elements that are an infinity or NaN. They count for nothing else.
   */
  not_finite: number;
  /**
   * Number of elements that are 0.
   */
  zeros: number;
}
/**
 * A decoded payload.
 */
export interface PayloadGraph {
  /**
   * Values that are the first arguments of the delegate.
   */
  inputs: number[];
  /**
   * Operations in order.
   */
  nodes: PayloadOperation[];
  /**
   * Values that are the other arguments of the delegate.
   */
  outputs: number[];
  /**
   * Values of the graph.
   */
  values: PayloadValue[];
}
/**
 * An operation of a payload.
 */
export interface PayloadOperation {
  /**
   * Parameters: name, such as `stride`, and text, such as `2 2`.
   */
  attributes?: [string, string][];
  /**
   * Kind.
   */
  kind:
    | "convolution"
    | "matmul"
    | "elementwise"
    | "activation"
    | "normalization"
    | "pooling"
    | "reduction"
    | "shape"
    | "copy"
    | "quantize"
    | "index"
    | "creation"
    | "control"
    | "delegate"
    | "other";
  /**
   * Name.
   */
  name: string;
  /**
   * Values that it reads.
   */
  reads: number[];
  /**
   * Roles of the values that it reads, such as `filter`.
   */
  roles: string[];
  work: GraphWork1;
  /**
   * Values that it writes.
   */
  writes: number[];
}
/**
 * Work of a call of a kernel or a delegate, or of an operation of a payload, for the sizes in the file.
 */
export interface GraphWork1 {
  /**
   * Bytes of the constants that are read.
   */
  constant?: number;
  /**
   * Multiply-accumulate operations; null if their number is not known.
   */
  macs: number | null;
  /**
   * Bytes of the other tensors that are read.
   */
  planned?: number;
  /**
   * Bytes of the tensors that are written.
   */
  written?: number;
}
/**
 * A value of a payload.
 */
export interface PayloadValue {
  /**
   * Size of its data in bytes; null if it is not constant.
   */
  bytes?: number | null;
  /**
   * Name of the element type.
   */
  dtype: string;
  /**
   * Name in the payload; of a constant without one, the first operation that reads it, and its role.
   */
  name?: string | null;
  /**
   * Parameters of the quantization: name and text.
   */
  quantization?: [string, string][];
  /**
   * Size of each dimension.
   */
  sizes: number[];
  /**
   * Statistics of its data, if they were requested.
   */
  statistics?: TensorStatistics | null;
  /**
   * Element type, sizes and quantization.
   */
  type: string;
}
/**
 * A stored constant.
 */
export interface GraphWeight {
  /**
   * Size in bytes.
   */
  bytes: number;
  /**
   * Key of named data.
   */
  key?: string | null;
  /**
   * Name of the first value that has it, or key of named data.
   */
  name: string;
  /**
   * Values of payloads that have it: index of the payload, and of the value.
   */
  payload_values?: [number, number][];
  /**
   * Element type and sizes of that value.
   */
  type: string;
  /**
   * Values that have it: index of the method, and of the value.
   */
  values?: [number, number][];
}
/**
 * Its memory, as `ReportDocument::memory`.
 */
export interface ProgramMemory {
  /**
   * Binary interface that the sizes of the method allocator are for.
   */
  abi: "64" | "arm32";
  largest_method: MemoryTotal;
  loaded: LoadedProgram;
  /**
   * Methods in the order of the program.
   */
  methods: MethodFootprint[];
  /**
   * Processor that the memory of delegates is for.
   */
  processor: "x86-avx512" | "x86-avx2" | "arm64" | "arm32";
  total: MemoryTotal2;
  /**
   * Version of the serialised form: it grows when a key changes.
   */
  version: 4;
}
/**
 * Largest total of a method; `MemoryTotal::with_files` includes the program.
 */
export interface MemoryTotal {
  /**
   * Both numbers are lower bounds.
   */
  at_least: boolean;
  /**
   * Bytes with files that are mapped, or in memory such as flash: planned memory, method allocator, temporary allocator, the inputs and outputs that the caller provides, and what delegates take from the heap.
   */
  bytes: number;
  /**
   * Both numbers contain estimates of the memory of delegates.
   */
  estimated: boolean;
  /**
   * Bytes with files that a loader reads into RAM.
   */
  with_files: number;
  /**
   * `MemoryTotal::with_files` is a lower bound.
   */
  with_files_at_least: boolean;
}
/**
 * Bytes of the files that are in RAM as long as the program, if a loader reads them there.
 */
export interface LoadedProgram {
  /**
   * The size is a lower bound: the program needs a `.ptd` file that is not given.
   */
  at_least: boolean;
  /**
   * Size in bytes: the sum of the others.
   */
  bytes: number;
  /**
   * Segment of the constants.
   */
  constants: number;
  /**
   * Headers and FlatBuffers of the `.ptd` files.
   */
  data_files: number;
  /**
   * Header and FlatBuffer, which also has inline constants and payloads.
   */
  program: number;
}
/**
 * Memory of a method, part of `ProgramMemory`.
 */
export interface MethodFootprint {
  /**
   * Bytes that its delegates take from the heap, of those that are counted.
   */
  delegate_bytes: number;
  /**
   * Memory that its delegates take, in the order of the program.
   */
  delegates: DelegateFootprint[];
  inputs: BoundaryBuffers;
  /**
   * Label of each instruction: the operator, the backend, or the kind of the instruction. Long names are truncated.
   */
  instructions: string[];
  loaded: LoadedMethod;
  method_allocator: MethodAllocator;
  /**
   * Name; empty if it has none.
   */
  name: string;
  /**
   * Backends whose own memory the total does not contain, or not all of it.
   */
  not_counted: string[];
  outputs: BoundaryBuffers1;
  /**
   * Size of all pools in bytes.
   */
  planned: number;
  /**
   * Pools that are not empty, in the order of their numbers.
   */
  pools: MemoryPool[];
  temporary_allocator: TemporaryAllocator;
  total: MemoryTotal1;
}
/**
 * Memory of a delegate, part of `MethodFootprint`.
 */
export interface DelegateFootprint {
  /**
   * Name of the backend; empty if it has none.
   */
  backend: string;
  /**
   * Number of instructions that call it.
   */
  calls: number;
  /**
   * Memory that it takes; null if it is not counted.
   */
  memory: DelegateMemory | null;
  /**
   * Name as in `payload show`, without the method.
   */
  name: string;
  /**
   * Reason why it is not counted.
   */
  not_counted?: string | null;
}
/**
 * Memory that a delegate takes in the runtime, besides planned memory and the structures that every delegate has.
 */
export interface DelegateMemory {
  /**
   * Accuracy of the bytes.
   */
  accuracy:
    | "exact"
    | {
        percent: number;
      }
    | "at_most"
    | "unmeasured";
  /**
   * Bytes of the named data that the payload refers to. A loader reads them while the method is loaded; those that stay are a part.
   */
  named_data: number;
  /**
   * Description of the memory that is not counted; empty if the parts are complete.
   */
  not_counted: string[];
  /**
   * Parts that are not empty, in the order in which they are taken.
   */
  parts: DelegatePart[];
}
/**
 * Memory of one kind that a delegate takes, part of `DelegateMemory`.
 */
export interface DelegatePart {
  /**
   * Alignment in bytes of its start.
   */
  alignment: number;
  /**
   * Size in bytes, without the overhead of an allocator.
   */
  bytes: number;
  /**
   * Content, such as `packed weights`.
   */
  content: string;
  /**
   * When it is in use.
   */
  held: "load" | "first_execution" | "call";
  /**
   * All delegates of the process share it: the largest counts, not the sum.
   */
  shared: boolean;
  /**
   * Allocator that the bytes come from.
   */
  source: "heap" | "method_allocator" | "temporary_allocator" | "loader";
}
/**
 * Tensors among the inputs.
 */
export interface BoundaryBuffers {
  /**
   * The size is a lower bound: that of a tensor which the caller provides is not known.
   */
  at_least: boolean;
  /**
   * Total size in bytes of the buffers that the caller provides.
   */
  bytes: number;
  /**
   * Tensors in the order of the method.
   */
  tensors: BoundaryTensor[];
}
/**
 * Tensor that is an input or output, part of `BoundaryBuffers`.
 */
export interface BoundaryTensor {
  /**
   * Size in bytes, which is an upper bound for a dynamic tensor; 0 if it is not known.
   */
  bytes: number;
  /**
   * Index among the inputs or outputs, as `Method::set_input` takes it.
   */
  index: number;
  /**
   * Name in the YAML. Long names are truncated.
   */
  name: string;
  /**
   * The caller provides its memory. Otherwise it is in planned memory, a constant, or in the memory of another value; the runtime copies an input there.
   */
  provided: boolean;
  /**
   * Element type and sizes: `float32 [2, 3]`. Long lists are truncated.
   */
  type: string;
}
/**
 * Bytes of the files that are in RAM as long as the method, if a loader reads them there.
 */
export interface LoadedMethod {
  /**
   * The sizes are lower bounds: the memory of an XNNPACK delegate is not counted, or the size of a constant is not known.
   */
  at_least: boolean;
  /**
   * Size in bytes: the sum of the next two.
   */
  bytes: number;
  /**
   * Constants in `.ptd` files, each key once.
   */
  external_constants: number;
  /**
   * Payloads of delegates in segments, unless the backend frees them earlier; of XNNPACK, the named data that operations read in place.
   */
  payloads: number;
  /**
   * Most additional bytes while the method is loaded: the payload of an XNNPACK delegate, with the named data that it packs.
   */
  while_loading: number;
}
/**
 * Memory that loading the method takes from the method allocator.
 */
export interface MethodAllocator {
  /**
   * Both numbers are lower bounds, because `MethodAllocator::unknown_backends` may take more.
   */
  at_least: boolean;
  /**
   * Bytes with a temporary allocator that has room for the metadata of the arguments of each call.
   */
  bytes: number;
  /**
   * Backends whose allocations are not known.
   */
  unknown_backends: string[];
  /**
   * Bytes without a temporary allocator.
   */
  without_temporary_allocator: number;
}
/**
 * Tensors among the outputs.
 */
export interface BoundaryBuffers1 {
  /**
   * The size is a lower bound: that of a tensor which the caller provides is not known.
   */
  at_least: boolean;
  /**
   * Total size in bytes of the buffers that the caller provides.
   */
  bytes: number;
  /**
   * Tensors in the order of the method.
   */
  tensors: BoundaryTensor[];
}
/**
 * Pool of planned memory (an item of `non_const_buffer_sizes`), part of `MethodFootprint`.
 */
export interface MemoryPool {
  /**
   * Alignment in bytes of its start, which the offsets of the exporter presuppose.
   */
  alignment: number;
  /**
   * The sizes are lower bounds: that of the pool is negative, or that of a tensor in it is not known.
   */
  at_least: boolean;
  /**
   * Size in bytes; 0 if the program states a negative size.
   */
  bytes: number;
  /**
   * Device, such as `cpu`.
   */
  device: string;
  /**
   * Maximum number of bytes that are alive at once. No plan can need less.
   */
  lower_bound: number;
  /**
   * Bytes after the end of the last tensor: for alignment, and those that the exporter adds.
   */
  padding: number;
  /**
   * The exporter added 64 bytes of the padding for XNNPACK.
   */
  padding_for_xnnpack: boolean;
  peak: MemoryPeak;
  /**
   * `memory_id`, from 1.
   */
  pool: number;
  /**
   * Tensors that are not views, sorted by offset.
   */
  tensors: PlannedTensor[];
  /**
   * Times at which the number of live bytes changes, from 0 on, each with the number of bytes from then on. Time 0 is before the first instruction, and instruction `n`, counted from 0 through all chains, is at time `n + 1`. At the last time, the outputs are read.
   */
  timeline: [number, number][];
  /**
   * Total size in bytes of its tensors, which is the size that the pool would have without sharing.
   */
  unshared: number;
}
/**
 * First time at which `MemoryPool::lower_bound` bytes are alive.
 */
export interface MemoryPeak {
  /**
   * Description of this time: an instruction with its operator, or the access to the inputs or outputs.
   */
  event: string;
  /**
   * Time, counted as in `MemoryPool::timeline`.
   */
  time: number;
}
/**
 * Tensor in planned memory that is not a view of another one, part of a `MemoryPool`.
 */
export interface PlannedTensor {
  /**
   * First and last time at which it is alive; null if nothing uses it.
   *
   * @minItems 2
   * @maxItems 2
   */
  alive: [number, number] | null;
  /**
   * Size in bytes, which is an upper bound for a dynamic tensor; 0 if it is not known.
   */
  bytes: number;
  /**
   * Name in the YAML.
   */
  name: string;
  /**
   * Offset in the pool in bytes.
   */
  offset: number;
  /**
   * Element type and sizes: `float32 [2, 3]`.
   */
  type: string;
  /**
   * Index of the value.
   */
  value: number;
}
/**
 * Memory that loading and executing the method take from the temporary allocator.
 */
export interface TemporaryAllocator {
  /**
   * The size is a lower bound, because the `TemporaryAllocator::unknown` may take more.
   */
  at_least: boolean;
  /**
   * Size in bytes: the larger one of the next two. With a smaller one, loading or executing the method fails, unless the method allocator has room for what loading takes without a temporary allocator.
   */
  bytes: number;
  /**
   * Bytes that kernels take: the largest number of an instruction.
   */
  kernels: number;
  /**
   * First instruction whose kernel takes `TemporaryAllocator::kernels`; null if that is 0.
   */
  largest: string | null;
  /**
   * Bytes that it must have for the lookup of kernels while the method is loaded.
   */
  lookup: number;
  /**
   * Operators and backends whose memory is not known.
   */
  unknown: string[];
}
/**
 * Total, without `ProgramMemory::loaded`.
 */
export interface MemoryTotal1 {
  /**
   * Both numbers are lower bounds.
   */
  at_least: boolean;
  /**
   * Bytes with files that are mapped, or in memory such as flash: planned memory, method allocator, temporary allocator, the inputs and outputs that the caller provides, and what delegates take from the heap.
   */
  bytes: number;
  /**
   * Both numbers contain estimates of the memory of delegates.
   */
  estimated: boolean;
  /**
   * Bytes with files that a loader reads into RAM.
   */
  with_files: number;
  /**
   * `MemoryTotal::with_files` is a lower bound.
   */
  with_files_at_least: boolean;
}
/**
 * Total of all methods at once.
 */
export interface MemoryTotal2 {
  /**
   * Both numbers are lower bounds.
   */
  at_least: boolean;
  /**
   * Bytes with files that are mapped, or in memory such as flash: planned memory, method allocator, temporary allocator, the inputs and outputs that the caller provides, and what delegates take from the heap.
   */
  bytes: number;
  /**
   * Both numbers contain estimates of the memory of delegates.
   */
  estimated: boolean;
  /**
   * Bytes with files that a loader reads into RAM.
   */
  with_files: number;
  /**
   * `MemoryTotal::with_files` is a lower bound.
   */
  with_files_at_least: boolean;
}
/**
 * A method of a `BaseProgram`. Its instructions and values that no index leads to were removed.
 */
export interface BaseMethod {
  /**
   * Index in the older program.
   */
  method: number;
  /**
   * By instruction of the newer method: index of the same instruction in the older one; null if it was added.
   */
  nodes: (number | null)[];
  /**
   * By value of the newer method: index of the same value in the older one; null if it was added.
   */
  values: (number | null)[];
}
/**
 * Bytes of a file.
 */
export interface ReportedBytes {
  /**
   * A row is an object, or several objects, instead of a field: the file has too many fields.
   */
  coarse: boolean;
  data: BytesExcerpt;
  /**
   * By path: the element of the graph that it leads to.
   */
  elements: ([number, number, number] | null)[];
  /**
   * Meanings: names of fields, indices of items, or descriptions.
   */
  meanings: string[];
  /**
   * Paths of the elements that own regions.
   */
  paths: string[];
  /**
   * The regions.
   */
  regions: [number, number, number, number, number, string | null][];
  /**
   * Size of the file in bytes.
   */
  size: number;
  /**
   * Types of regions: `u32`, `string`, `data`; of coarse rows, `object`.
   */
  types: string[];
}
/**
 * The bytes of a file of at most 256 KiB, of a larger one the first 64 KiB.
 */
export interface BytesExcerpt {
  /**
   * The bytes in base64.
   */
  base64: string;
  /**
   * Offset of the first one in the file.
   */
  offset: number;
}
/**
 * All differences between two programs or files in a fixed order, and `DiffTotals` of both sides. Each `Difference` has a `DiffArea`, a `DiffKind`, a `DiffTopic` and one or two `DifferingPart`s; differences of data have `DataStatistics`.
 */
export interface Differences {
  /**
   * Areas that were compared.
   */
  compared: DiffArea[];
  /**
   * Number of differences of each area that was compared.
   */
  counts: {
    [k: string]: number;
  };
  /**
   * All differences, in the order of the areas.
   */
  differences: Difference[];
  /**
   * There are no differences.
   */
  equal: boolean;
  left: DiffTotals;
  right: DiffTotals1;
  /**
   * Version of the serialised form: it grows when a key is removed or changes its meaning.
   */
  version: 1;
}
/**
 * A difference between two programs or files; `Differences` has an example.
 */
export interface Difference {
  /**
   * Area.
   */
  area: "meaning" | "layout" | "data";
  /**
   * Statistics of data.
   */
  data?: DataStatistics | null;
  /**
   * Kind.
   */
  kind: "added" | "removed" | "changed" | "moved";
  /**
   * The element in the left one; null if it is added.
   */
  left?: DifferingPart | null;
  /**
   * Path of the element in the left one, or in the right one if it is added.
   */
  path: string;
  /**
   * The element in the right one; null if it is removed.
   */
  right?: DifferingPart | null;
  /**
   * Kind of element.
   */
  topic:
    | "method"
    | "input"
    | "output"
    | "value"
    | "instruction"
    | "operator"
    | "delegate"
    | "memory"
    | "file"
    | "ignored"
    | "constant"
    | "named data"
    | "external data"
    | "test"
    | "newer schema";
}
/**
 * Statistics of data that differ, element by element.
 */
export interface DataStatistics {
  /**
   * Cosine similarity of the two sides as vectors. null if one of them is zero.
   */
  cosine: number | null;
  /**
   * Number of elements, or of bytes, that differ. null if the data have different lengths or were not read.
   */
  differing: number | null;
  /**
   * Element type; null for bytes without one.
   */
  dtype: string | null;
  /**
   * Number of elements, or of bytes.
   */
  elements: number;
  /**
   * Maximum absolute difference of the elements that are finite on both sides.
   */
  max_abs: number | null;
  /**
   * Mean absolute difference of the elements that are finite on both sides.
   */
  mean_abs: number | null;
  /**
   * Number of elements that differ and are not finite on a side. The following numbers do not include them.
   */
  not_finite: number;
  /**
   * SHA-256 of both sides, for data without statistics.
   *
   * @minItems 2
   * @maxItems 2
   */
  sha256: [string, string] | null;
}
/**
 * One of the two sides of a `Difference`.
 */
export interface DifferingPart {
  /**
   * Number of further uses; null if no use is known.
   */
  more_uses?: number | null;
  /**
   * Name of a value, in the YAML or as `dump` prints it, if the caller adds it.
   */
  name?: string | null;
  /**
   * Path of the element, such as `methods.forward.instructions[3].args[1]`.
   */
  path: string;
  /**
   * Paths of the first uses of data.
   */
  uses?: string[];
  /**
   * Description of its content.
   */
  value: string;
}
/**
 * Totals of the left one.
 */
export interface DiffTotals {
  /**
   * Bytes of constants and initial states, each stored range once.
   */
  constants: number;
  /**
   * Calls of delegates.
   */
  delegate_calls: number;
  /**
   * Bytes of the data in a `.ptd` or a `.safetensors`; for a program, of those that it refers to.
   */
  external_data: number;
  /**
   * Name of the file, if the caller adds it.
   */
  file?: string | null;
  /**
   * Instructions of all methods.
   */
  instructions: number;
  /**
   * Kernel calls: instructions that run operators outside of delegates.
   */
  kernel_calls: number;
  /**
   * Bytes of its metadata.
   */
  metadata: number;
  /**
   * Bytes of named data.
   */
  named_data: number;
  /**
   * Names of the operators that kernel calls use, sorted.
   */
  operator_names: string[];
  /**
   * Different operators that kernel calls use.
   */
  operators: number;
  /**
   * Bytes of the payloads of delegates.
   */
  payloads: number;
  /**
   * Bytes of the planned pools of all methods.
   */
  planned_memory: number;
  /**
   * Bytes of the file, or of the program that YAML assembles to.
   */
  size: number;
}
/**
 * Totals of the right one.
 */
export interface DiffTotals1 {
  /**
   * Bytes of constants and initial states, each stored range once.
   */
  constants: number;
  /**
   * Calls of delegates.
   */
  delegate_calls: number;
  /**
   * Bytes of the data in a `.ptd` or a `.safetensors`; for a program, of those that it refers to.
   */
  external_data: number;
  /**
   * Name of the file, if the caller adds it.
   */
  file?: string | null;
  /**
   * Instructions of all methods.
   */
  instructions: number;
  /**
   * Kernel calls: instructions that run operators outside of delegates.
   */
  kernel_calls: number;
  /**
   * Bytes of its metadata.
   */
  metadata: number;
  /**
   * Bytes of named data.
   */
  named_data: number;
  /**
   * Names of the operators that kernel calls use, sorted.
   */
  operator_names: string[];
  /**
   * Different operators that kernel calls use.
   */
  operators: number;
  /**
   * Bytes of the payloads of delegates.
   */
  payloads: number;
  /**
   * Bytes of the planned pools of all methods.
   */
  planned_memory: number;
  /**
   * Bytes of the file, or of the program that YAML assembles to.
   */
  size: number;
}
/**
 * A file of a `ReportDocument`.
 */
export interface ReportedFile {
  /**
   * Contents, as `pte-emit inspect --json` prints them; null if they cannot be read.
   */
  contents: Inspection | null;
  /**
   * What a malformed file is that is something else, or how it was damaged.
   */
  diagnosis?: Diagnosis | null;
  /**
   * Findings in the order in which they were added, at most as many per rule as `CheckOptions::kept` says.
   */
  findings: Finding[];
  /**
   * Name.
   */
  name: string;
  size: FileSize;
  tensors: FileSize1;
  /**
   * Number of findings of each rule in `rules::RULES`. Only rules with more findings than are kept are serialised.
   */
  truncated: TruncatedRule[];
}
/**
 * Contents of a file: its `FileFacts`, and depending on its format a `ProgramSummary`, `KeySummary`s and `TestsSummary`s.
 */
export interface Inspection {
  /**
   * Size in bytes.
   */
  bytes: number;
  /**
   * Methods without instructions and inputs, each with its name and the values that it returns, in the order of the program.
   */
  constant_methods?: {
    [k: string]: string[];
  };
  /**
   * Constants of tensors by element type, the largest first.
   */
  constants?: ConstantsSummary[];
  /**
   * Bytes of data that are stored more than once; null if they were not compared.
   */
  duplicated_bytes?: number | null;
  /**
   * Data that are stored more than once, in the order of the program.
   */
  duplicates?: DuplicateData[];
  /**
   * Messages about the parts of a malformed file that could not be read; empty if all of it was read.
   */
  errors: string[];
  /**
   * Name of the file.
   */
  file: string;
  /**
   * Extension of the format: `pte`, `ptd` or `bpte`.
   */
  format: "pte" | "ptd" | "bpte";
  /**
   * Extended header; null without one.
   */
  header: HeaderFacts | null;
  /**
   * Entries of a `.ptd`; null for other files.
   */
  keys?: KeySummary[] | null;
  /**
   * Size in bytes of the header and the FlatBuffer: up to the first segment, or of the whole file if it has none.
   */
  metadata_bytes: number;
  /**
   * Methods with instructions, in the order of the program.
   */
  methods?: MethodSummary[];
  /**
   * Keys of the named data with the size of their data in bytes, in the order of the program.
   */
  named_data?: {
    [k: string]: number;
  };
  /**
   * Keys of the named data with the first operation that reads them, if its payload is decoded: `forward/delegates[0] nodes[3] convolution filter`.
   */
  named_data_users?: {
    [k: string]: string;
  };
  /**
   * Oldest release of the runtime that supports the program; null if all releases do.
   */
  needs?: NeededRelease | null;
  /**
   * Fields and members of unions that only a newer schema has, each with its table, slot and bytes.
   */
  newer?: string[];
  /**
   * Releases of the runtime that run the file: of those that were measured, the ones with which `check --runtime` finds no error; null if they were not compared.
   */
  releases?: string[] | null;
  /**
   * Keys that the runtime looks up in `.ptd` files, sorted.
   */
  required_keys?: string[];
  /**
   * Segments in the order of the file.
   */
  segments: SegmentFacts[];
  /**
   * Kind of the serializer of the FlatBuffer, recognised by the order of the fields of its root table; null if either may have written it.
   */
  serializer: SerializerKind | null;
  /**
   * Bytes that sharing equal data saves.
   */
  shared_bytes?: number;
  /**
   * Tests of a `.bpte`, by method; null for other files.
   */
  tests?: TestsSummary[] | null;
  /**
   * Version of the serialised form: it grows when a key changes.
   */
  version: 1;
}
/**
 * Constants of an element type, part of `ProgramSummary`.
 */
export interface ConstantsSummary {
  /**
   * Size of their data in bytes. Shared data count once.
   */
  bytes: number;
  /**
   * Number of tensors.
   */
  tensors: number;
  /**
   * Element type.
   */
  type: string;
}
/**
 * Data that are stored more than once, part of `ProgramSummary`.
 */
export interface DuplicateData {
  /**
   * Size of a copy in bytes.
   */
  bytes: number;
  /**
   * First element that refers to each copy: `methods.forward.linear_weight (values[2])`.
   */
  copies: string[];
}
/**
 * Extended header of a file, part of `FileFacts`.
 */
export interface HeaderFacts {
  /**
   * Value of its length field, in bytes.
   */
  length: number;
  /**
   * Magic bytes.
   */
  magic: string;
  [k: string]: number | string;
}
/**
 * Entry of a `.ptd`, part of an `Inspection`.
 */
export interface KeySummary {
  /**
   * Size of its data in bytes.
   */
  bytes: number;
  /**
   * Key.
   */
  key: string;
  /**
   * Size of each dimension; null for data that are not a tensor.
   */
  sizes: number[] | null;
  /**
   * Element type; null for data that are not a tensor.
   */
  type: string | null;
}
/**
 * A method, part of `ProgramSummary`.
 */
export interface MethodSummary {
  constant_calls: ConstantCalls;
  /**
   * Delegates.
   */
  delegates: DelegateSummary[];
  /**
   * Inputs.
   */
  inputs: InterfaceSummary[];
  /**
   * Number of instructions.
   */
  instructions: number;
  method_allocator: AllocatorSummary;
  /**
   * Name; empty if it has none.
   */
  name: string;
  /**
   * Size in bytes of the named data that the payloads of XNNPACK delegates refer to, each key once.
   */
  named_data_bytes: number;
  /**
   * Operators with the number of their calls, the most frequent first.
   */
  operators: {
    [k: string]: number;
  };
  /**
   * Operators that are called between the first call of a delegate and the last one, with the number of these calls.
   */
  operators_between_delegates: {
    [k: string]: number;
  };
  /**
   * Outputs.
   */
  outputs: InterfaceSummary[];
  /**
   * Planned memory in bytes, of all pools.
   */
  planned_bytes: number;
  /**
   * Tensors that keep their content from one execution to the next.
   */
  state: StateSummary[];
  /**
   * Number of values.
   */
  values: number;
}
/**
 * Calls whose arguments are constants, which `optimize` folds.
 */
export interface ConstantCalls {
  /**
   * Size of their results in planned memory in bytes.
   */
  bytes: number;
  /**
   * Number of calls of operators that can be evaluated without a runtime.
   */
  calls: number;
}
/**
 * Delegate of a `MethodSummary`.
 */
export interface DelegateSummary {
  /**
   * Backend.
   */
  backend: string;
  /**
   * Size of the payload in bytes.
   */
  bytes: number;
  /**
   * Number of calls.
   */
  calls: number;
  /**
   * Compile specs by key: what their values mean, otherwise their text or first bytes; a list of those of a key that occurs several times.
   */
  compile_specs?: {
    [k: string]: unknown;
  };
  /**
   * Chip, system and processor, such as `Ethos-U55-128`; empty if neither payload nor compile specs say it.
   */
  compiled_for?: string[];
  /**
   * First arguments of its calls.
   */
  inputs?: string[];
  /**
   * Name for `payload show`: `forward/part0`.
   */
  name: string;
  /**
   * Size in bytes of the named data that the payload refers to, each key once; 0 if it is not decoded.
   */
  named_data_bytes: number;
  /**
   * Other arguments of its calls.
   */
  outputs?: string[];
}
/**
 * Input or output of a `MethodSummary`.
 */
export interface InterfaceSummary {
  /**
   * Name, or the index of the value.
   */
  name: string;
  /**
   * True for a tensor in planned memory, false for one whose memory the caller provides; null for a constant, for a tensor with the memory of another value, and for other values.
   */
  planned: boolean | null;
  /**
   * Scale, if all calls that read an input, or write an output, quantize or dequantize it with the same numbers; also in the payload of an XNNPACK delegate.
   */
  scale: number | null;
  /**
   * Element type and sizes, `<=` before upper bounds; or the value of a literal, and the items of a list.
   */
  type: string;
  /**
   * Zero point, with the scale.
   */
  zero_point: number | null;
}
/**
 * Memory that loading takes from the method allocator of a 64-bit runtime.
 */
export interface AllocatorSummary {
  /**
   * The size is a lower bound: backends may take more.
   */
  at_least: boolean;
  /**
   * Size in bytes.
   */
  bytes: number;
}
/**
 * Tensor of a `MethodSummary` that keeps its content from one execution to the next.
 */
export interface StateSummary {
  /**
   * Size of its initial data in bytes; null without them.
   */
  initial_bytes: number | null;
  /**
   * Name, or the index of the value.
   */
  name: string;
  /**
   * Element type and sizes, `<=` before upper bounds.
   */
  type: string;
}
/**
 * Release of ExecuTorch that a program needs, part of `ProgramSummary`.
 */
export interface NeededRelease {
  /**
   * Feature of the program that needs this release.
   */
  feature: string;
  /**
   * Release, such as `1.0`.
   */
  release: string;
}
/**
 * Segment of a file, part of `FileFacts`.
 */
export interface SegmentFacts {
  /**
   * Size in bytes.
   */
  bytes: number;
  /**
   * Roles of its content, such as named data, at most 8; empty if nothing refers to the segment.
   */
  content: string[];
}
/**
 * Tests of a method in a `.bpte`, part of an `Inspection`.
 */
export interface TestsSummary {
  /**
   * Number of test cases.
   */
  cases: number;
  /**
   * Name of the method.
   */
  method: string;
}
/**
 * What a file is that cannot be read.
 */
export interface Diagnosis {
  /**
   * What the file is, such as `a pointer of Git LFS`.
   */
  found: string;
  /**
   * What to do.
   */
  help: string;
}
/**
 * A violated rule and its location; an item of `Findings`.
 */
export interface Finding {
  /**
   * Value that the rule requires.
   */
  expected: string;
  /**
   * Value in the file.
   */
  found: string;
  /**
   * Offset in bytes from the start of the file; null if the path has no bytes (a missing field of a missing table).
   */
  offset: number | null;
  /**
   * Path from the root, such as `methods.forward.values[3].sizes`; empty for the file as a whole.
   */
  path: string;
  /**
   * Stable identifier, such as `H-1`.
   */
  rule: string;
  /**
   * Behaviour of ExecuTorch 1.5.1 for a violation.
   */
  runtime: string;
  /**
   * Severity of a violation.
   */
  severity: "malformed" | "invalid" | "suspicious" | "note";
  /**
   * Position in the YAML; null for findings about a file as a whole, or about data files, and for binary files.
   */
  source?: SourcePosition | null;
  /**
   * Requirement, in one sentence.
   */
  title: string;
  /**
   * Reason for the rule.
   */
  why: string;
}
/**
 * Position of a finding in the YAML that a file was assembled from. Bytes count from the start of the document, with variables replaced; lines from that of the file.
 */
export interface SourcePosition {
  /**
   * Column in characters, counted from 1.
   */
  column: number;
  end: number;
  /**
   * Line in the file, counted from 1.
   */
  line: number;
  /**
   * Path with the names of the YAML.
   */
  path: string;
  start: number;
}
/**
 * Sizes of its parts, by segment, kind and tensor.
 */
export interface FileSize {
  /**
   * Size of the file in bytes: the sum of the children.
   */
  bytes: number;
  /**
   * First level, the largest node first.
   */
  children: SizeNode[];
  /**
   * Levels of the tree below its root.
   */
  dimensions: SizeDimension[];
  /**
   * Name of the file.
   */
  file: string;
  /**
   * Version of the serialised form: it grows when a key changes.
   */
  version: 2;
}
/**
 * Bytes with the same value of a dimension, part of a `FileSize`.
 */
export interface SizeNode {
  /**
   * Size in bytes: the sum of the children, unless there are none.
   */
  bytes: number;
  /**
   * Next level, the largest node first.
   */
  children?: SizeNode[];
  /**
   * Value of the dimension: a part of the file, a method, a kind or an owner.
   */
  name: string;
}
/**
 * Sizes of its tensors and other elements.
 */
export interface FileSize1 {
  /**
   * Size of the file in bytes: the sum of the children.
   */
  bytes: number;
  /**
   * First level, the largest node first.
   */
  children: SizeNode[];
  /**
   * Levels of the tree below its root.
   */
  dimensions: SizeDimension[];
  /**
   * Name of the file.
   */
  file: string;
  /**
   * Version of the serialised form: it grows when a key changes.
   */
  version: 2;
}
/**
 * A rule with more findings than `Findings` keeps.
 */
export interface TruncatedRule {
  /**
   * Number of all its findings.
   */
  count: number;
  /**
   * The violated rule.
   */
  rule: string;
}
/**
 * The graphs of a program.
 */
export interface ProgramGraph1 {
  /**
   * Operators, backends and kinds of instructions that methods call, each once.
   */
  callees: Callee[];
  /**
   * Methods in the order of the program.
   */
  methods: MethodGraph[];
  /**
   * Decoded payloads, each once.
   */
  payloads: PayloadGraph[];
  /**
   * Version of the serialised form: it grows when a key changes.
   */
  version: number;
  /**
   * Constants, each stored one once, the largest first.
   */
  weights: GraphWeight[];
}
/**
 * Memory that a program needs, as a list of `MethodFootprint`: the result of `ProgramMemory::new`.
 */
export interface ProgramMemory1 {
  /**
   * Binary interface that the sizes of the method allocator are for.
   */
  abi: "64" | "arm32";
  largest_method: MemoryTotal;
  loaded: LoadedProgram;
  /**
   * Methods in the order of the program.
   */
  methods: MethodFootprint[];
  /**
   * Processor that the memory of delegates is for.
   */
  processor: "x86-avx512" | "x86-avx2" | "arm64" | "arm32";
  total: MemoryTotal2;
  /**
   * Version of the serialised form: it grows when a key changes.
   */
  version: 4;
}
/**
 * Times of the methods of a program. They are in ticks of the clock of the platform: nanoseconds on Linux, macOS, Windows and Android.
 */
export interface TimeProfile {
  loading: MeasuredTime;
  /**
   * Methods that were executed, in the order of the program.
   */
  methods: MethodProfile[];
  /**
   * Version of the serialised form: it grows when a key changes.
   */
  version: number;
}
/**
 * Times of loading methods; an ETDump does not say which.
 */
export interface MeasuredTime {
  /**
   * Times of the second ETDump, if there is one.
   */
  compared?: ComparedTime | null;
  /**
   * Number of executions; 0 if there was none.
   */
  count: number;
  /**
   * Longest one.
   */
  max: number;
  /**
   * Mean of an execution.
   */
  mean: number;
  /**
   * Shortest one.
   */
  min: number;
  /**
   * Part of the time of the method, from 0 to 1.
   */
  share: number;
  /**
   * Sum.
   */
  total: number;
}
/**
 * Durations in the second ETDump, and their relation to those in the first one.
 */
export interface ComparedTime {
  /**
   * Number of executions.
   */
  count: number;
  /**
   * Change of the time per execution of the method, in ticks.
   */
  delta: number;
  /**
   * Time per execution of the method in the first one, in ticks.
   */
  first: number;
  /**
   * Longest one.
   */
  max: number;
  /**
   * Mean of an execution.
   */
  mean: number;
  /**
   * Shortest one.
   */
  min: number;
  /**
   * Time per execution of the method as a multiple of that in the first one; null if that is 0.
   */
  ratio: number | null;
  /**
   * Time per execution of the method in the second one, in ticks.
   */
  second: number;
  /**
   * Part of the time of the method, from 0 to 1.
   */
  share: number;
  /**
   * Sum.
   */
  total: number;
}
/**
 * Times of a method.
 */
export interface MethodProfile {
  /**
   * Delegates that were called, the one that took longest first.
   */
  delegates: DelegateTime[];
  executions: MeasuredTime1;
  /**
   * Index in the program.
   */
  index: number;
  /**
   * Instructions that were executed, in the order of the program.
   */
  instructions: InstructionTime[];
  /**
   * Name; empty if it has none.
   */
  name: string;
  /**
   * Operators that were called, the one that took longest first.
   */
  operators: OperatorTime[];
  overhead: MeasuredTime2;
}
/**
 * Times of a delegate.
 */
export interface DelegateTime {
  /**
   * Name of the backend; empty if it has none.
   */
  backend: string;
  /**
   * Times of the second ETDump, if there is one.
   */
  compared?: ComparedTime | null;
  /**
   * Number of executions; 0 if there was none.
   */
  count: number;
  /**
   * Number of instructions that called it.
   */
  instructions: number;
  /**
   * Longest one.
   */
  max: number;
  /**
   * Mean of an execution.
   */
  mean: number;
  /**
   * Shortest one.
   */
  min: number;
  /**
   * Name as in `payload show`, without the method.
   */
  name: string;
  /**
   * Operations inside of it that the backend measured, the one that took longest first.
   */
  operations: OperationTime[];
  /**
   * Part of the time of the method, from 0 to 1.
   */
  share: number;
  /**
   * Sum.
   */
  total: number;
}
/**
 * Times of an operation inside of a delegate.
 */
export interface OperationTime {
  /**
   * Times of the second ETDump, if there is one.
   */
  compared?: ComparedTime | null;
  /**
   * Number of executions; 0 if there was none.
   */
  count: number;
  /**
   * Longest one.
   */
  max: number;
  /**
   * Mean of an execution.
   */
  mean: number;
  /**
   * Shortest one.
   */
  min: number;
  /**
   * Operations of the graph of the payload that it executes: first the one of its kind. Empty if they are not known.
   */
  nodes: GraphOperation[];
  /**
   * Name or number that the backend gave.
   */
  operation: string;
  /**
   * Part of the time of the method, from 0 to 1.
   */
  share: number;
  /**
   * Sum.
   */
  total: number;
}
/**
 * An operation of the graph of a payload.
 */
export interface GraphOperation {
  /**
   * Position among the operations of the graph.
   */
  index: number;
  /**
   * Name of the operation, such as `conv2d`; empty if the graph is not printed.
   */
  name: string;
}
/**
 * Times of whole executions.
 */
export interface MeasuredTime1 {
  /**
   * Times of the second ETDump, if there is one.
   */
  compared?: ComparedTime | null;
  /**
   * Number of executions; 0 if there was none.
   */
  count: number;
  /**
   * Longest one.
   */
  max: number;
  /**
   * Mean of an execution.
   */
  mean: number;
  /**
   * Shortest one.
   */
  min: number;
  /**
   * Part of the time of the method, from 0 to 1.
   */
  share: number;
  /**
   * Sum.
   */
  total: number;
}
/**
 * Times of an instruction.
 */
export interface InstructionTime {
  /**
   * Times of the second ETDump, if there is one.
   */
  compared?: ComparedTime | null;
  /**
   * Number of executions; 0 if there was none.
   */
  count: number;
  /**
   * Name of the delegate that it calls, as in `payload show`, without the method.
   */
  delegate?: string | null;
  /**
   * Index among the instructions of all chains of the method.
   */
  index: number;
  /**
   * Operator, backend, or kind of the instruction.
   */
  label: string;
  /**
   * Longest one.
   */
  max: number;
  /**
   * Mean of an execution.
   */
  mean: number;
  /**
   * Shortest one.
   */
  min: number;
  /**
   * Number of other results.
   */
  more_results: number;
  /**
   * Path in the program, such as `methods.forward.instructions[3]`.
   */
  path: string;
  /**
   * Names of its results, the first 16. Those of a delegate are not known.
   */
  results: string[];
  /**
   * Part of the time of the method, from 0 to 1.
   */
  share: number;
  /**
   * Sum.
   */
  total: number;
}
/**
 * Times of an operator.
 */
export interface OperatorTime {
  /**
   * Times of the second ETDump, if there is one.
   */
  compared?: ComparedTime | null;
  /**
   * Number of executions; 0 if there was none.
   */
  count: number;
  /**
   * Number of instructions that called it.
   */
  instructions: number;
  /**
   * Longest one.
   */
  max: number;
  /**
   * Mean of an execution.
   */
  mean: number;
  /**
   * Shortest one.
   */
  min: number;
  /**
   * Name with the overload, such as `aten::add.out`.
   */
  operator: string;
  /**
   * Part of the time of the method, from 0 to 1.
   */
  share: number;
  /**
   * Sum.
   */
  total: number;
}
/**
 * Times of executions outside of instructions.
 */
export interface MeasuredTime2 {
  /**
   * Times of the second ETDump, if there is one.
   */
  compared?: ComparedTime | null;
  /**
   * Number of executions; 0 if there was none.
   */
  count: number;
  /**
   * Longest one.
   */
  max: number;
  /**
   * Mean of an execution.
   */
  mean: number;
  /**
   * Shortest one.
   */
  min: number;
  /**
   * Part of the time of the method, from 0 to 1.
   */
  share: number;
  /**
   * Sum.
   */
  total: number;
}
/**
 * YAML of a program. Lines are numbered from 1; 0 stands for an element that the YAML does not declare, such as a literal that is an argument.
 */
export interface ReportedText {
  /**
   * Lines by method, in the order of the graphs.
   */
  methods: MethodLines[];
  /**
   * Reason why there is no YAML.
   */
  reason: string | null;
  /**
   * The YAML; null if it has more than 1 MiB, or the program cannot be printed.
   */
  text: string | null;
}
/**
 * Lines of a method.
 */
export interface MethodLines {
  /**
   * Lines of the delegates.
   */
  delegates: DelegateLines[];
  /**
   * Line of its name.
   */
  line: number;
  /**
   * Lines of the instructions of all chains.
   */
  nodes: number[];
  /**
   * Lines of the values, or of the instructions whose results they are.
   */
  values: number[];
}
/**
 * Lines of a delegate.
 */
export interface DelegateLines {
  /**
   * Line of its name.
   */
  line: number;
  /**
   * Lines of the operations of its payload; empty if it is not printed as a graph.
   */
  nodes: number[];
}
/**
 * Executions of the methods of a program, in order.
 */
export interface Timeline {
  /**
   * Number of events beyond the first 50,000, which are missing.
   */
  dropped: number;
  /**
   * Executions.
   */
  executions: TimelineExecution[];
  /**
   * Distinct names of events of backends.
   */
  names: string[];
}
/**
 * An execution of a method.
 */
export interface TimelineExecution {
  /**
   * End in ticks; null if the execution did not end.
   */
  end: number | null;
  /**
   * Events in order.
   */
  events: TimelineEvent[];
  /**
   * Index of the method.
   */
  method: number;
  /**
   * Start in ticks.
   */
  start: number;
}
