// The part of the report's document that the explorer reads. `data.ts`, which is generated from the JSON Schema, has all
// of it; this file names the parts, and lets fields be absent, so that older and partial documents are shown, too.

export interface Statistics {
  elements: number; not_finite: number; zeros: number;
  minimum: number | null; maximum: number | null; mean: number | null; histogram: number[];
}
/** The value, and the instructions that may have written its content; null is the caller. */
export type Read = [number, ...(number | null)[]];
export interface ValueData {
  name?: string; type?: string; content?: string; bytes?: number; base?: number; items?: (number | null)[]; text?: string;
  statistics?: Statistics | null; findings?: number[]; differences?: number[];
}
export interface Work { macs?: number | null; planned?: number; constant?: number; written?: number }
export interface NodeData {
  label: number; delegate?: number; args?: (number | null)[]; writes?: number[]; reads?: Read[];
  jump?: number; always?: boolean; trace?: number[]; texts?: [number, string][]; module?: number; work?: Work;
  more_reads?: number; more_writes?: number; findings?: number[]; differences?: number[];
}
export interface DelegateData {
  backend: string; name?: string; bytes: number; compiled_for?: string[]; compile_specs?: Record<string, unknown>;
  payload?: number; findings?: number[]; differences?: number[];
}
export interface Callee { kind: string; args?: { name: string; type: string; role?: string }[]; library?: string }
export interface FrameData { file?: string | null; line?: number; name?: string | null; context?: string | null }
export interface MethodData {
  name: string; inputs: number[]; outputs: Read[]; values: ValueData[]; labels: string[];
  nodes: NodeData[]; delegates: DelegateData[]; frames: FrameData[]; findings?: number[]; differences?: number[];
  /** Indices of the callees of the graph, parallel to `labels`. */
  callees?: number[]; modules?: { name: string; parent?: number | null }[];
}
export interface PayloadValue {
  name?: string; type?: string; bytes?: number; statistics?: Statistics | null; quantization?: [string, string][];
}
export interface OperationData {
  name: string; reads: number[]; writes: number[]; kind?: string; attributes?: [string, string][]; roles?: string[]; work?: Work;
}
export interface PayloadData { values: PayloadValue[]; inputs: number[]; outputs: number[]; nodes: OperationData[] }
export interface WeightData {
  name: string; type: string; bytes: number; values?: [number, number][]; payload_values?: [number, number][]; key?: string;
}
export interface GraphData { methods: MethodData[]; payloads: PayloadData[]; callees?: Callee[]; weights?: WeightData[] }

export interface SizeNode { name: string; bytes: number; children?: SizeNode[] }
/** The sizes of a file. */
export interface SizeTree { bytes: number; children: SizeNode[] }
export interface Finding {
  rule: string; severity: string; title?: string; why?: string; runtime?: string; offset?: number | null; path?: string | null;
  found: string; expected: string;
}
export interface FileData {
  name: string; contents?: Contents | null; size?: SizeTree; tensors?: SizeTree; findings?: Finding[]; truncated?: { rule: string; count: number }[];
  /** Of a file that is not of these formats: what it seems to be, and what to do. */
  diagnosis?: { found: string; help: string };
}
export interface Contents {
  format?: string; bytes?: number; errors?: string[]; needs?: { release: string; feature: string } | null;
  releases?: string[]; segments?: { bytes: number; content: string[] }[]; methods?: { name: string; planned_bytes?: number }[];
  constant_methods?: Record<string, string[]>; named_data?: Record<string, number>; required_keys?: string[];
}

export interface PlannedTensor { value: number; name: string; type: string; offset: number; bytes: number; alive: [number, number] | null }
export interface Pool {
  pool: number; device: string; bytes: number; unshared: number; lower_bound: number; peak: { time: number; event: string };
  timeline: [number, number][]; tensors: PlannedTensor[];
}
export interface MemoryMethod { name: string; planned: number; pools: Pool[]; instructions: string[] }
export interface MemoryData { methods: MemoryMethod[]; total?: { bytes: number; with_files: number } }

export interface Timing { count: number; total: number; mean: number; min: number; max: number; share: number }
export interface ProfileMethod {
  name: string; index: number; executions: Timing; instructions: (Timing & { index: number; label: string })[];
  operators: (Timing & { operator: string; instructions: number })[];
  delegates?: (Timing & { name: string; backend: string; operations: (Timing & { operation: string; nodes: { index: number; name: string }[] })[] })[];
}
export interface ProfileData { methods: ProfileMethod[]; loading?: Timing | null }
export type TimelineEvent = [number, number, number] | [number, number, number, number, number | null];
export interface Timeline {
  names?: string[]; dropped?: number;
  executions: { method: number; start: number; end: number | null; events: TimelineEvent[] }[];
}

export interface DelegateLines { line: number; values?: number[]; nodes?: number[] }
export interface TextData {
  text: string | null; reason?: string | null;
  methods?: { line: number; values: number[]; nodes: number[]; delegates?: DelegateLines[] }[];
}
/** Offset and size; indices of path, type and meaning; a value to show. */
export type Region = [number, number, number, number, number, string | number | null];
/** Kind 0 is a method, 1 an instruction, 2 a value, 3 a delegate. */
export type Element = [number, number, number] | null;
export interface BytesData {
  size: number; coarse: boolean; paths: string[]; types: string[]; meanings: string[]; elements?: Element[]; regions: Region[];
  data?: { offset: number; base64: string };
}

export interface Side { path?: string; value?: unknown }
export interface Difference {
  kind: string; path: string; area: string; topic?: string; left?: { value?: unknown } | null; right?: { value?: unknown } | null;
}
export interface Changes { left: Record<string, unknown>; right: Record<string, unknown>; differences?: Difference[]; list?: Difference[] }
export interface Base {
  graph: GraphData | null; memory?: MemoryData | null;
  methods: ({ method: number; nodes: (number | null)[]; values: (number | null)[] } | null)[];
}

export interface ReportDocument {
  version?: number; name: string; files: FileData[]; memory?: MemoryData | null; graph?: GraphData | null; error?: string | null;
  before?: string | null; changes?: Changes | null; comparison_error?: string | null; data_statistics?: boolean;
  profile?: ProfileData | null; timeline?: Timeline | null; text?: TextData | null; bytes?: BytesData | null; base?: Base | null;
}
