//! The rows of the YAML grammar: each map with its keys, each key with the form of its value, the field of the document
//! that it becomes, and its documentation. Tables and code are expanded from them elsewhere.
//!
//! A map is `TABLE = module "documentation" required [keys] one of [keys] => [struct]`. A key is a row
//!
//! ```text
//! field ("key"): FORM => Type as decoder = default: "what a message expects", "documentation";
//! ```
//!
//! in which `("key")` is written if the key differs from the field, `as decoder` if the type does not determine how the
//! value is decoded, and `= default` if an absent key has a value. A row without `=> Type` is decoded and written by
//! hand-written code. The rows are in the order in which `dump` prints the keys. Four macros expand them: `shapes!`
//! (`super::shape`, the tables of the grammar), `structs!` (`super::document`, the struct of each `node`), `decoders!`
//! (`super::decode`) and `writers!` (`super::write`). The struct of a `model` is declared in [`pte_model::program`].
//! Fields in braces after the name of a struct are not keys: hand-written code supplies them.

/// Expands the macro `$then` with all rows.
macro_rules! grammar {
    ($then:ident) => {
        $then! {
            DOCUMENT = document "A program, or weights for one." required [] one of []
            => [node #[derive(Debug, Default)] ParsedDocument<'a> {}] {
                name: Text => Option<Word<'a>> as name, "File name of the outputs, without extension, unless the command line gives one.";
                methods: Map(&Form::Shape(&METHOD)) => Option<Vec<Method<'a>>> as map: "a map of names to methods", "The methods, in the order of the file.";
                files: Map(&Text), "Short names of files, for use where data are read from a file.";
                data: Map(&SOURCE) => Vec<(Word<'a>, Data<'a>)> as map: "a map of names to data", "Named payloads, for use where data are expected.";
                named_data: Either(&[Map(&Either(&[SOURCE, Form::Shape(&NAMED_DATA)])), Null]) => Option<At<Vec<ParsedNamedData<'a>>>> as named_data_map, "Blobs by key; in a document without methods the content of a .ptd.";
                checkpoints: List(&Form::Shape(&CHECKPOINT)) => Vec<Checkpoint<'a>>: "a list of checkpoints", "Files of weights, which are stored in a .ptd.";
                runtime: Text => Option<At<Release>> as release, "Release of ExecuTorch that the files are written for, such as \"0.7\": its header, fields and layout, and operators that it has.";
                layout: Form::Shape(&LAYOUT) => Layout as layout, "How the file is laid out.";
                unknown: Form::Shape(&UNKNOWN) => Option<At<ParsedUnknown<'a>>>, "Parts of a newer schema: fields, and members of unions, with their bytes.";
                raw: Form::Shape(&RAW) => ParsedOverrides<'a>, "Overrides that are applied after layout, for files that are malformed on purpose.";
                version: UInt => Option<u32>: "a version number", "The schema version, 0 in every release.";
            }
            METHOD = method "A method: its values, inputs, outputs and instructions." required [] one of []
            => [node #[derive(Debug)] Method<'a> { name: Word<'a>, chains: Vec<ParsedChain<'a>> }] {
                values: Map(&VALUE) => Vec<Declaration<'a>> as declarations, "The values by name, in the order of their numbers.";
                inputs: LITERALS => Vec<At<Literal<'a>>>: "a list", "The inputs, by name.";
                outputs: LITERALS => Vec<At<Literal<'a>>>: "a list", "The outputs, by name; a literal makes a constant method.";
                instructions: INSTRUCTIONS, "The instructions, in order.";
                chains: List(&Form::Shape(&CHAIN)), "Several lists of instructions, in place of `instructions`.";
                delegates: Map(&Form::Shape(&DELEGATE)) => Vec<Delegate<'a>> as map: "a map of names to delegates", "Delegates, by name.";
                operators: NAMES => Vec<Word<'a>>: "a list of operators", "The operators in the order of the file's table; computed from the instructions.";
                memory: Form::Shape(&METHOD_MEMORY) => MethodMemory, "Planned memory; computed.";
                requires_grad: Bool => bool, "true: constants of floating point numbers require gradients unless they state otherwise, and so do results if an argument does.";
                container_meta: Either(&[Form::Shape(&CONTAINER_META), Null]) => Option<Option<ContainerMetadata>> as container_meta, "How containers were flattened; computed for inputs and outputs without containers, null omits it.";
                tests: List(&Form::Shape(&TEST)) => Vec<At<Test<'a>>>: "a list of tests", "Inputs and expected outputs.";
            }
            TENSOR_BASE = tensor "A tensor." required [] one of []
            => [node #[derive(Debug, Default)] ParsedTensor<'a> { attributes: Vec<(usize, i32)> }] {
                scalar_type ("tensor"): Dtype => Option<At<ScalarType>>, "Element type; inferred if left out of what an instruction writes or a view.";
                sizes: INTS => Option<At<Vec<i32>>>: "a size", "Size of each dimension; for a dynamic tensor the upper bound. Taken from nested data, or inferred with dim_order and dynamism, if left out. A view may have one -1.";
                dim_order: SIZES => Option<At<DimOrder>>: "a dimension", "Dimensions from the outermost in memory to the innermost; contiguous if left out.";
                mutable: Bool => bool, "The tensor keeps its content from one execution to the next.";
                memory: Either(&[OneOf(MEMORY_PLACEMENT_WORDS), Form::Shape(&MEMORY_PLACEMENT)]) => Option<MemoryPlacement>, "Placement in planned memory.";
                external: Either(&[Bool, Text]) => Option<At<Option<Cow<'a, str>>>> as external, "The data are stored in a .ptd: true, or the tag that names it.";
                name: Text => Option<Word<'a>>: "a name", "Fully qualified name; the key of external data.";
                extra_tensor_info: Bool => bool, "true: the table is present although it states nothing; else it is present if a key requires it.";
                device: Text => Option<Device> as device, "cpu, cuda, cuda:1.";
                data_buffer_idx: UInt => Option<At<u32>>: "a number", "With `external` and no data: the index in the file, which is unused; counted.";
                data: SOURCE => Option<Data<'a>>, "Constant content, or the initial state of a mutable tensor.";
                view_of: Text => Option<Word<'a>>: "the name of a tensor", "The tensor whose memory or data this one shares, with other sizes; no instruction produces it.";
                index: UInt, "Number of the value; computed in the exporter's order.";
            }
            MEMORY_PLACEMENT = memory_placement "Placement in planned memory." required [pool] one of []
            => [node #[derive(Debug, Clone, Copy)] ParsedPlacement] {
                pool: UInt => u32: "the number of a pool, from 1", "Number of the planned buffer, from 1.";
                offset: UInt => Option<u64>: "an offset in bytes", "Bytes from its start; computed if left out.";
            }
            LITERAL_MAP = literal_map "A value of a stated kind: one of the keys, and an optional index." required [] one of [int double bool string null dtype memory_format int_list double_list bool_list tensor_list optional_tensor_list unknown] or [index] => [] {
                int: Int, "An Int.";
                double: Number, "A Double.";
                bool: Bool, "A Bool.";
                string: Text, "A String.";
                null: Null, "The value None.";
                dtype: Dtype, "The Int that stands for an element type.";
                memory_format: OneOf(MEMORY_FORMATS), "The Int that stands for a memory format.";
                int_list: LITERALS, "An IntList: integers, or names of Int values.";
                double_list: List(&Number), "A DoubleList.";
                bool_list: List(&Bool), "A BoolList.";
                tensor_list: LITERALS, "A TensorList of names.";
                optional_tensor_list: LITERALS, "An OptionalTensorList of names and null.";
                unknown: UInt, "In `values`: a value of a newer schema, by its number in the union KernelTypes.";
                index: Int, "In `values`: the number of the value. Alone, in `args`: the value of that number, unchecked.";
            }
            INSTRUCTION = instruction "An instruction: one of kernel, delegate, move, jump_false, free, or one of a newer schema (unknown); a view or a value, which emit nothing; a label alone marks a position." required [] one of [kernel delegate move_ jump_false free unknown view value] or [label] => [] {
                kernel: Form::Operator, "Operator with overload: aten::add.out.";
                args: LITERALS, "Arguments: names, literals, {index: 3}.";
                out: Either(&[Text, List(&Either(&[Text, Null]))]), "What the operator writes, or the view; with it the stack is completed by the operator's schema. Names that are not declared become tensors; null is an out that a mask among the arguments excludes.";
                delegate: Either(&[Text, Int]), "Name of a delegate.";
                move_ ("move"): Form::Shape(&MOVE), "Makes a value the same as another: a number is copied, a tensor gets the memory of the other, which a later write changes for both.";
                jump_false: Form::Shape(&JUMP_FALSE), "Jumps if a value is false.";
                free: LITERAL, "Frees a tensor's memory.";
                unknown: UInt, "An instruction of a newer schema, by its number in the union InstructionArguments.";
                view: Text, "The tensor whose memory `out` shares from here on, with other sizes.";
                sizes: INTS, "With view: size of each dimension, of which one may be -1.";
                value: Text, "A value under `values` that is numbered here, not before all instructions.";
                label: Text, "Name of this position, for jumps.";
                stacktrace: FRAMES, "Source of the instruction.";
            }
            MOVE = r#move "A copy of a value." required [from to] one of [] => [] {
                from: LITERAL, "The source.";
                to: LITERAL, "The target.";
            }
            JUMP_FALSE = jump_false "A conditional jump." required [cond to] one of [] => [] {
                cond: LITERAL, "A Bool, or a bool tensor.";
                to: Either(&[Text, Int]), "A label, or the number of an instruction.";
            }
            FRAME = frame "A line of a stack trace." required [] one of []
            => [model StackFrame] {
                filename: Text => Option<String>: "a string", "File.";
                name: Text => Option<String>: "a string", "Function.";
                context: Text => Option<String>: "a string", "Source of the line.";
                lineno: Int => i32 = 0: "a line number", "Line.";
            }
            CHAIN = chain "A list of instructions." required [instructions] one of []
            => [node #[derive(Debug, Default)] ParsedChain<'a>] {
                instructions: INSTRUCTIONS => Vec<ParsedInstruction<'a>>: "a list of instructions", "The instructions, in order.";
                inputs: LITERALS => Vec<At<Literal<'a>>>: "a list", "Never read by the runtime.";
                outputs: LITERALS => Vec<At<Literal<'a>>>: "a list", "Never read by the runtime.";
                stacktraces: UInt => Option<At<u32>>: "a number of stack traces", "Number of stack traces; one for each instruction if any has one.";
            }
            DELEGATE = delegate "A part of a method that a backend runs." required [backend] one of [data graph]
            => [node #[derive(Debug)] Delegate<'a> { name: Word<'a>, payload: ParsedPayload<'a> }] {
                backend: Text => Word<'a>: "the name of a backend", "Name of the backend: XnnpackBackend.";
                data: SOURCE, "The payload, as bytes.";
                graph: Form::Shape(&GRAPH), "The payload, as a graph: of XnnpackBackend.";
                compile_specs: List(&Form::Shape(&COMPILE_SPEC)) => Vec<ParsedCompileSpec<'a>>: "a list of {key, value}", "Options for the backend.";
                inline: Bool => Option<bool>, "The payload stays inside the FlatBuffer.";
            }
            COMPILE_SPEC = compile_spec "An option for a backend." required [key value] one of []
            => [node #[derive(Debug)] ParsedCompileSpec<'a>] {
                key: Text => Cow<'a, str>: "a name", "Name.";
                value: SOURCE => Data<'a>, "Bytes; a string is stored as its bytes.";
            }
            GRAPH = graph "The payload of an XnnpackBackend delegate." required [] one of []
            => [node #[derive(Debug)] ParsedGraph<'a> { id: NodeId }] {
                values: Map(&Form::Shape(&GRAPH_VALUE)) => Vec<ParsedGraphValue<'a>> as map: "a map of names to values", "The values by name, in the order of the payload. Outputs of nodes that are not listed follow.";
                inputs: NAMES => Vec<Word<'a>>: "a list of names", "The values that are inputs, in the order of the arguments of the delegate.";
                outputs: NAMES => Vec<Word<'a>>: "a list of names", "The values that are outputs, in the order of the arguments, which follow those for the inputs.";
                nodes: List(&Form::Shape(&GRAPH_NODE)) => Vec<ParsedNode<'a>>: "a list of operations", "The operations, in order.";
                identifier: OneOf(&IDENTIFIERS) => Option<usize> as position, "File identifier of the graph; XN01.";
                header: Bool => Option<bool>, "false: the payload has no header, and the graph contains the constants; true.";
                named_keys: Bool => Option<bool>, "false: constant 0, which is a placeholder, has no empty key, as before release 0.7; true.";
                version: Text => Option<Word<'a>>: "a version", "Version of the schema; \"0\".";
                num_externs: UInt => Option<u32>: "a number of arguments", "Number of arguments; computed.";
                input_ids: SIZES => Option<Vec<u32>>: "a non-negative integer", "Ids of the inputs; computed.";
                output_ids: SIZES => Option<Vec<u32>>: "a non-negative integer", "Ids of the outputs; computed.";
                mem_buffer_sizes: SIZES => Option<Vec<u32>>: "a non-negative integer", "Sizes of constants without a header; computed.";
                copy: UInt => u32 = 0: "a number", "Equal payloads share an offset in the file; those with another number have their own. 0.";
            }
            GRAPH_VALUE = graph_value "A value of a graph." required [] one of []
            => [node #[derive(Debug)] ParsedGraphValue<'a> { name: Word<'a>, constant: Option<ParsedConstant<'a>>, quantization: Option<At<ParsedQuantization<'a>>> }] {
                datatype: OneOf(&DATATYPE_WORDS) => Option<i16> as datatype, "Element type; of an output of a node inferred, if left out: that of the first input, or what the operation computes of it.";
                sizes: SIZES => Option<At<Vec<u32>>>: "a size", "Size of each dimension in the order of memory, so of an image batch, height, width, channels. Taken from nested data, or inferred of an output of a node, if left out.";
                scale: Number, "One scale for all elements: `PerTensorQuant`. Inferred, if left out, of elements that an operation moves, and of an int32 bias: the scale of the input times that of the filter.";
                zero_point: Int, "With scale: the number that stands for 0; 0.";
                channel_dim: Int, "With scales: the dimension of the channels; 0.";
                group_size: Int, "With scales: number of elements of a channel that share a scale.";
                scale_bf16: SIZES, "With group_size: a field of older releases, as integers.";
                scales: Either(&[List(&Number), Form::Shape(&GRAPH_SCALES)]), "A scale for each channel, or with group_size for each group of a channel: `PerChannelQuant`, `PerChannelGroupQuant`. Inferred of an int32 bias like scale.";
                num_scales: UInt, "With scales: their number as the graph states it; computed.";
                num_nonbatch_dims: Int, "Number of trailing dimensions with a scale that is computed at run time: `PerTokenDynamicQuant`; 3 for a convolution, otherwise 1.";
                data: SOURCE, "Content of a constant, in the payload. Elements of 4 bits are given as bytes of two.";
                key: Text, "Key of the content of a constant in the named data of the program, or of a .ptd. Not with `header: false`.";
                size: UInt, "Size of the constant in bytes; computed.";
                num_dims: UInt => Option<u32>: "a non-negative integer", "Number of dimensions as the graph states it; computed.";
                value_id ("id"): UInt => Option<u32>: "a non-negative integer", "Number of the value; its position.";
                external_id: UInt => Option<u32>: "a non-negative integer", "Number of the argument; computed.";
                flags: UInt => Option<u32>: "a non-negative integer", "1 for an input, 2 for an output; computed.";
                dq_datatype: OneOf(&DATATYPE_WORDS) => Option<i16> as datatype, "Element type of a result that is quantized at run time, before release 0.4.";
            }
            GRAPH_SCALES = graph_scales "Scales in a constant: float32, with group_size bfloat16." required [] one of [data key] => [] {
                data: SOURCE, "Content, in the payload.";
                key: Text, "Key in the named data of the program, or of a .ptd.";
                size: UInt, "Size in bytes; computed.";
            }
            GRAPH_NODE_BASE = graph_node "An operation of a graph: its name, and what belongs to all of them." required [] one of []
            => [node #[derive(Debug)] ParsedNode<'a> { id: NodeId, operation: NodeOperation, fields: Vec<(usize, At<ParsedField<'a>>)> }] {
                unknown: Form::Shape(&UNKNOWN_OPERATION), "An operation that the schema of ExecuTorch 1.5.1 does not have: all its fields are in extra.";
                extra: List(&Form::Shape(&EXTRA_FIELD)) => Vec<ParsedExtraField<'a>>: "a list of {slot, bytes}", "Fields of the operation that the schema of ExecuTorch 1.5.1 does not have.";
                output_min: Number => Option<f32>, "Lower bound that the output is clamped to; -inf if only output_max is given. Only some operations apply it.";
                output_max: Number => Option<f32>, "Upper bound; inf if only output_min is given.";
                debug_handle: UInt => Option<u32>: "a number", "Number of the node in the exporter's graph; 65535.";
            }
            UNKNOWN_OPERATION = unknown_operation "An operation that the schema does not have." required [tag] one of [] => [] {
                tag: UInt, "Number in the union of operations, 48 or more.";
            }
            EXTRA_FIELD = extra_field "A field that the schema does not have." required [slot bytes] one of []
            => [node #[derive(Debug)] ParsedExtraField<'a> { id: NodeId }] {
                slot: UInt => u16: "a number below 32765", "Position in the table of the operation, after those of the schema.";
                bytes: SOURCE => Data<'a>, "A number of 1, 2, 4 or 8 bytes, or the items of a vector.";
                width: UInt => Option<u8>: "1, 2, 4 or 8", "Size of an item of a vector in bytes: 1, 2, 4 or 8.";
            }
            METHOD_MEMORY = memory "Planned memory of a method." required [] one of []
            => [node #[derive(Debug, Default)] MethodMemory] {
                sizes ("non_const_buffer_sizes"): INTS => Option<Vec<i64>>: "a size in bytes", "Sizes of the planned buffers in bytes, the first reserved; computed. Given sizes are checked.";
                devices ("non_const_buffer_device"): List(&Form::Shape(&BUFFER_DEVICE)) => Option<Vec<ParsedBufferDevice>>: "a list of {buffer_idx, device}", "Devices of the planned buffers; computed.";
                planner: OneOf(MemoryPlanner::WORDS) => MemoryPlanner, "greedy; naive: no tensors share memory; greedy_no_overlap: at one time, each object of memory has one tensor; minimal: the smallest pools that a search finds.";
                alignment: Alignment => Option<u64> as memory_alignment, "Offsets are multiples of this, 16 at least.";
                padding: Size => Option<u64> as size, "Padding after each used buffer, in bytes; 64 with an XNNPACK delegate, but for pools of shared state, else 0.";
                reserved: List(&Size) => Vec<u64> as sizes: "a list of sizes", "Bytes left free at the start of each buffer, from buffer 1.";
                shared_order: UInt => Option<u32>: "a number", "Position of the method when the state that methods share is placed; that in the file.";
                unplanned_inputs ("inputs"): OneOf(&["planned", "unplanned"]) => bool as unplanned, "Planned memory of inputs.";
                unplanned_outputs ("outputs"): OneOf(&["planned", "unplanned"]) => bool as unplanned, "Planned memory of outputs.";
            }
            BUFFER_DEVICE = buffer_device "Device of a planned buffer." required [buffer_idx device] one of []
            => [node #[derive(Debug)] ParsedBufferDevice] {
                buffer_idx: Int => i32: "the index of a buffer", "Number of the buffer.";
                device: Text => Device as device, "cpu, cuda, cuda:1.";
            }
            CONTAINER_META = container_meta "How containers were flattened: pytree's JSON." required [] one of []
            => [model ContainerMetadata] {
                encoded_inp_str ("inputs"): Either(&[Text, Null]) => Option<String> as string_or_null: "a string, or null to omit it", "Of the inputs.";
                encoded_out_str ("outputs"): Either(&[Text, Null]) => Option<String> as string_or_null: "a string, or null to omit it", "Of the outputs.";
            }
            TEST = test "Inputs of a method and the expected outputs." required [] one of []
            => [node #[derive(Debug)] Test<'a>] {
                inputs: List(&TEST_VALUE) => Option<At<Vec<At<TestValue<'a>>>>>: "a list of values", "One for each input.";
                outputs: List(&TEST_VALUE) => Option<At<Vec<At<TestValue<'a>>>>>: "a list of values", "One for each output; without them nothing is compared.";
                atol: Number => Option<f64> as tolerance, "Allowed absolute difference; 1e-6.";
                rtol: Number => Option<f64> as tolerance, "Allowed relative difference; 1e-5.";
            }
            TEST_TENSOR = test_tensor "A tensor of a test whose sizes differ from the method's." required [data] one of []
            => [node #[derive(Debug)] TestTensor<'a>] {
                sizes: SIZES => Option<At<Vec<i32>>>: "a size", "Size of each dimension.";
                data: SOURCE => Data<'a>, "Content.";
            }
            NAMED_DATA = named_data "A keyed blob." required [data] one of []
            => [node #[derive(Debug)] ParsedNamedData<'a> { key: Word<'a> }] {
                scalar_type ("tensor"): Dtype => Option<ScalarType>, "Element type, if the content is a tensor.";
                sizes: SIZES => Option<At<Vec<i32>>>: "a size", "Size of each dimension, if the content is a tensor.";
                dim_order: SIZES => Option<At<DimOrder>>: "a dimension", "Dimensions from the outermost in memory to the innermost.";
                align: Alignment => Option<u64> as multiple, "Alignment of its segment, at least.";
                data: SOURCE => Data<'a>, "Content.";
                external: Either(&[Bool, Text]) => Option<At<Option<Cow<'a, str>>>> as external, "The blob is stored in a .ptd: true, or the tag that names it.";
            }
            CHECKPOINT = checkpoint "The tensors of a .safetensors file, or of a set of them, with their names, types and sizes." required [safetensors] one of []
            => [node #[derive(Debug)] Checkpoint<'a>] {
                safetensors: Text => Word<'a>: "the name of a file", "A .safetensors file, or the index of a set of them: model.safetensors.index.json.";
                include: PATTERNS => Option<Vec<Word<'a>>> as patterns, "Only tensors whose names match one of these, where * matches any string; all.";
                exclude: PATTERNS => Vec<Word<'a>> as patterns, "But none whose name matches one of these.";
                rename: Map(&Text) => Vec<(Word<'a>, Word<'a>)> as map: "a map of prefixes", "Prefixes of names, and their replacements; the longest match counts.";
                tag ("external"): Either(&[Bool, Text]) => Option<Cow<'a, str>> as tag, "The tag of the .ptd that stores them; the default one.";
            }
            DATA = data_map "Source of bytes: one of the keys, with those that belong to it." required [] one of [hex base64 text numbers fill iota random file npy safetensors ptd pte flatbuffer]
            => [node #[derive(Debug)] Data<'a> { id: NodeId, source: DataSource<'a> }] {
                hex: Text, "Hexadecimal digits; spaces are ignored.";
                base64: Text, "Base64.";
                text: Text, "The bytes of a string.";
                numbers: NUMBERS, "Numbers, as a list alone.";
                fill: Either(&[Number, Bool, Text]), "The same number for every element.";
                iota: Form::Shape(&IOTA), "A progression.";
                random: Form::Shape(&RANDOM), "Random numbers, the same on every machine.";
                file: Text, "A file, relative to the YAML file, or a name under `files`; as for the other kinds of files.";
                npy: Text, "A .npy file.";
                safetensors: Text, "A .safetensors file.";
                ptd: Text, "A .ptd file.";
                pte: Text, "A .pte file: its named data, or its constants that have a name.";
                flatbuffer: Form::Shape(&FLATBUFFER), "A FlatBuffer as text, by its schema.";
                key: Text, "With ptd or pte: the key, or the name.";
                tensor: Text, "With safetensors: the tensor's name.";
                offset: Size, "With file: offset of the first byte.";
                size: Size, "With file: number of bytes; all, or with `offset`, also 0, those of the tensor, if left out. With fill and no tensor: number of elements.";
                dtype: Dtype => Option<ScalarType>, "Element type of numbers that are not a tensor's; of the data in a file, to convert them to that of the tensor.";
                copy: UInt => u32 = 0: "a number", "Equal data share an offset in the file; data with another number have their own. 0.";
                align: Alignment => Option<u64> as multiple, "For named data: alignment of the segment, at least.";
            }
            FLATBUFFER = flatbuffer "A FlatBuffer as text." required [schema root] one of [] => [] {
                schema: Text, "Name of a schema that pte-emit has, or the path of a .bfbs file, which `flatc --binary --schema` writes.";
                root: Form::Any, "The root table: a map of its fields. A table or a struct is a map, a member of a union a map with its name; numbers of an enum are names; a vector of numbers is a list, or data.";
                constants: SOURCE, "Bytes after the FlatBuffer, in a format with a header.";
                header: Bool, "false: the payload has no header, though its format has one; true.";
                writer: OneOf(FlatWriter::WORDS), "Arrangement of the parts: that of flatc from JSON, of the builder of Python, or of functions for C++; that of the format's own writer, or flatc.";
            }
            IOTA = iota "start, start + step, and so on." required [] one of []
            => [node #[derive(Debug)] ParsedIota] {
                start: Number => Option<NumericValue>, "First number; 0.";
                step: Number => Option<NumericValue>, "Difference; 1.";
            }
            RANDOM = random "Random numbers." required [seed] one of [] => [] {
                seed: UInt, "The same seed gives the same numbers.";
                distribution: OneOf(&["uniform", "normal"]), "uniform if left out.";
                low: Number, "uniform: smallest number; 0.";
                high: Number, "uniform: bound above, excluded; 1 for floats, the type's own for integers.";
                mean: Number, "normal: centre; 0.";
                std: Number, "normal: standard deviation; 1.";
            }
            UNKNOWN = unknown "Parts of a newer schema: `dump` prints them, and they are written again as they are." required [tables] one of []
            => [node #[derive(Debug)] ParsedUnknown<'a>] {
                root: UInt => u32 = 0: "a number of bytes", "Distance of the root table from the end of the FlatBuffer; used with `fixed` only.";
                fixed: Bool => bool, "true: the parts can only be written at the offsets that they have, because a word may be an offset or a number.";
                tables: List(&Form::Shape(&UNKNOWN_TABLE)) => Vec<ParsedUnknownTable<'a>>: "a list of tables", "Tables of the schema with unknown parts.";
                objects: List(&Form::Shape(&UNKNOWN_OBJECT)) => Vec<ParsedUnknownObject<'a>>: "a list of objects", "Tables, vectors and strings that only unknown parts refer to; each refers to earlier ones.";
            }
            UNKNOWN_TABLE = unknown_table "A table of the schema with unknown parts." required [table object] one of []
            => [node #[derive(Debug)] ParsedUnknownTable<'a>] {
                at: Text => Option<Word<'a>>: "a path", "Path of the table, as in messages of `check`; the root table.";
                table: Text => Word<'a>: "the name of a table", "Name of the table in the schema.";
                object: Form::Shape(&UNKNOWN_OBJECT) => At<ParsedUnknownObject<'a>>, "Its bytes, with zeros for known fields.";
            }
            UNKNOWN_OBJECT = unknown_object "Bytes that are written as they are, except offsets." required [end bytes] one of []
            => [node #[derive(Debug)] ParsedUnknownObject<'a>] {
                end: UInt => At<u32>: "a number of bytes", "Distance of its start from the end of the FlatBuffer, which stays the same modulo 16.";
                vtable: SIZES => Vec<u16>: "an offset in bytes", "Of a table: its size in bytes, then the offset of each field, 0 if it is absent.";
                bytes: SOURCE => Data<'a>, "Its bytes, with zeros for offsets.";
                references: Map(&UInt) => Vec<(Word<'a>, u32)> as map: "a map of positions to numbers of objects", "Offsets to other objects: position in the bytes, and position in `objects`.";
            }
            RAW = raw "Overrides that are applied after layout, in this order, to the .pte, or in a document without methods to the .ptd; nothing is recomputed." required [] one of []
            => [node #[derive(Debug, Default)] ParsedOverrides<'a> {}] {
                fields ("set"): Map(&OVERRIDE) => Vec<(At<FieldPath>, OverrideSource<'a>)> as map: "a map of paths to override values", "Overrides of fields of the header and the FlatBuffer, by path.";
                fill: UInt => Option<u8>: "a byte", "Byte of the padding around segments; 0.";
                patches ("patch"): List(&Form::Shape(&PATCH)) => Vec<ParsedPatch<'a>>: "a list of patches", "Bytes that are overwritten.";
                truncate: UInt => Option<u64>: "a number of bytes", "Length in bytes that the file is truncated to.";
                append: SOURCE => Option<Data<'a>>, "Bytes that are appended to the file.";
                ptd: Form::Shape(&RAW) => Option<Box<ParsedOverrides<'a>>>, "Overrides of the first .ptd beside a program.";
                bpte: Form::Shape(&RAW) => Option<Box<ParsedOverrides<'a>>>, "Overrides of the .bpte around a program.";
            }
            FIELD_OVERRIDE = field_override "An override that is neither a number nor a string." required [] one of [same_as bytes] => [] {
                same_as: Text, "Path of another field; the offset refers to the same target.";
                bytes: SOURCE, "Bytes that overwrite a number, a string, the items of a vector, or a table, from its first byte on.";
            }
            PATCH = patch "Bytes that are overwritten." required [at bytes] one of []
            => [node #[derive(Debug)] ParsedPatch<'a>] {
                at: UInt => At<u64>: "an offset", "Offset in bytes from the start of the file.";
                bytes: SOURCE => Data<'a>, "Content.";
            }
        }
    };
}
pub(super) use grammar;
