//! The rules as a table: each with a stable id, how bad it is to break it, why it exists, and what the real runtime does
//! then. Who looks for it is in the files beside this one; docs/rules.md is printed from here.
//!
//! Ids are stable. `O-` rules are about operators' arguments, `X-` rules about what a method does with its values, `G-` rules about
//! what the runtime should reject and does not; the others about what it checks, or relies on without a check.

use std::collections::HashMap;
use std::fmt;
use std::sync::LazyLock;

/// How bad it is to break a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The bytes cannot be read.
    Malformed,
    /// The runtime refuses it, aborts, or does what nobody defined.
    Invalid,
    /// Legal, but surely not meant.
    Suspicious,
    /// Worth knowing.
    Note,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Malformed => "malformed",
            Severity::Invalid => "invalid",
            Severity::Suspicious => "suspicious",
            Severity::Note => "note",
        })
    }
}

/// The runtime that a file will meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Profile {
    /// All of them on a 64-bit machine: what any build refuses is refused.
    #[default]
    Strict,
    /// Portable kernels on a 64-bit machine.
    Portable,
    /// The build with ATen's tensors.
    Aten,
    /// Portable kernels where an address has 32 bits.
    Bits32,
    /// Files of old releases: no header, short headers, constants inside the FlatBuffer.
    Legacy,
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Profile::Strict => "strict",
            Profile::Portable => "portable",
            Profile::Aten => "aten",
            Profile::Bits32 => "32-bit",
            Profile::Legacy => "legacy",
        })
    }
}

/// A rule.
#[derive(Debug)]
pub struct Rule {
    /// Stable name.
    pub id: &'static str,
    /// How bad it is to break it.
    pub severity: Severity,
    /// The profiles in which it counts.
    pub profiles: &'static [Profile],
    /// What must hold, in one sentence.
    pub title: &'static str,
    /// Why.
    pub why: &'static str,
    /// What ExecuTorch 1.5.1 does with a file that breaks it.
    pub runtime: &'static str,
    /// A file that breaks it, in words or as text.
    pub example: &'static str,
}

impl Rule {
    /// Whether it counts for this runtime.
    pub fn applies(&self, profile: Profile) -> bool {
        self.profiles.contains(&profile)
    }
}

/// Every profile.
pub const ALL: &[Profile] = &[Profile::Strict, Profile::Portable, Profile::Aten, Profile::Bits32, Profile::Legacy];

/// Every profile but the one for old files.
const RECENT: &[Profile] = &[Profile::Strict, Profile::Portable, Profile::Aten, Profile::Bits32];

/// Every profile but the build with ATen's tensors.
const PORTABLE: &[Profile] = &[Profile::Strict, Profile::Portable, Profile::Bits32, Profile::Legacy];

/// The profile for addresses of 32 bits.
const NARROW: &[Profile] = &[Profile::Bits32];

/// Writes the table down: id, severity, profiles; then title, why, runtime, example.
macro_rules! rules {
    ($( $id:literal $severity:ident $profiles:ident $title:literal $why:literal $runtime:literal $example:literal )*) => {
        &[$( Rule {
            id: $id,
            severity: Severity::$severity,
            profiles: $profiles,
            title: $title,
            why: $why,
            runtime: $runtime,
            example: $example,
        } ),*]
    };
}

/// All rules, by the step that looks for them.
pub static RULES: &[Rule] = rules! {
    "H-1" Malformed ALL
    "A .pte has 64 bytes at least."
    "The runtime reads the first 64 bytes before it knows whether there is a header."
    "InvalidArgument when the program is loaded"
    "a file of 40 bytes"

    "H-3" Suspicious ALL
    "A header that begins with `eh` is `eh00`."
    "Any other four bytes mean that there is no header, so that a damaged header goes unnoticed until data are missing."
    "loads the program as one without segments; whatever needs a segment fails later"
    "`eh01` at byte 8"

    "H-4" Malformed ALL
    "The extended header of a .pte says that it has 24 bytes or more."
    "A shorter one has no room for the size of the program and the place of the segments."
    "InvalidProgram when the program is loaded"
    "a header length of 16"

    "H-5" Suspicious RECENT
    "The extended header of a .pte has 32 bytes."
    "Releases before 1.0 wrote 24, without the size of the data: then nothing tells a file that was cut from a whole one."
    "loads it, and takes the size of the data for unknown"
    "a header length of 24"

    "H-7" Invalid ALL
    "Where the data begin and how many they are add up to a number of 64 bits."
    "The sum is where the file must end."
    "InvalidProgram when the program is loaded"
    "a `segment_data_size` of 2^64 - 1"

    "H-8" Invalid ALL
    "The data that the header of a .pte announces are in the file."
    "A file that ends too early has lost weights."
    "InvalidProgram when the program is loaded"
    "a file whose last byte is cut off"

    "H-9" Invalid ALL
    "Segments begin inside the file, even if the header says nothing of their size."
    "Without a size the runtime does not compare the place with the file."
    "InvalidArgument when the program is loaded if it has constants, else when another segment is read"
    "a `segment_base_offset` of 2^40 and a `segment_data_size` of 0"

    "H-10" Malformed ALL
    "The program is not longer than the file."
    "The header says how many bytes the program has; they must be there to be read."
    "InvalidProgram or InvalidArgument when the program is loaded"
    "a `program_size` of 2^40"

    "H-12" Malformed ALL
    "The program has 8 bytes at least."
    "Less has no room for the place of the root table and the identifier."
    "InvalidProgram when the program is loaded"
    "a `program_size` of 0"

    "H-13" Malformed ALL
    "A .pte has the identifier `ET12` at byte 4."
    "The identifier names the schema; another one means another format, or a version that this runtime cannot read."
    "InvalidProgram when the program is loaded"
    "`ET13` at byte 4"

    "H-14" Malformed ALL
    "The root table of a .pte lies behind its first 8 bytes and inside the program."
    "It is the only check that the default level of verification makes on the FlatBuffer."
    "InvalidProgram when the program is loaded"
    "a root offset of 4"

    "G-1" Invalid ALL
    "Segments begin where the program ends, or later."
    "Segments that share bytes with the program let one change the other."
    "loads it and hands out bytes of the program as weights"
    "a `segment_base_offset` of 8"

    "G-2" Invalid ALL
    "Without a place where segments begin there are no segments with bytes in them."
    "The runtime takes the place for 0 then, and reads from the start of the file."
    "loads it; constants are read from the program's own bytes, other data fail with NotFound"
    "no header, and `segments: [{offset: 0, size: 16}]`"

    "G-3" Suspicious ALL
    "A file ends where its data end."
    "Bytes that nothing refers to are bytes that somebody added or a size that is wrong."
    "ignores them"
    "a zero byte appended to a .pte"

    "G-5" Invalid NARROW
    "Sizes and offsets have 32 bits."
    "On a machine with 32-bit addresses the runtime keeps the lower half of them without a word."
    "reads at another place, or with another length"
    "a segment of 5 GiB on a microcontroller"

    "H-20" Malformed ALL
    "A .ptd has 64 bytes at least."
    "The runtime reads its first 64 bytes before anything else."
    "InvalidArgument when the data are loaded"
    "a file of 40 bytes"

    "H-21" Malformed ALL
    "A .ptd has the header `FH01` at byte 8."
    "Without the header nobody knows where the metadata end; unlike a program's it cannot be left out."
    "InvalidExternalData when the data are loaded"
    "`FH00` at byte 8"

    "H-22" Malformed ALL
    "The header of a .ptd says that it has 40 bytes or more."
    "Its four numbers take as many."
    "InvalidExternalData when the data are loaded"
    "a header length of 32"

    "H-23" Invalid ALL
    "The data that the header of a .ptd announces are in the file."
    "A file that ends too early has lost weights; the runtime does not see a sum that overflows."
    "InvalidExternalData when the data are loaded, or at the first key if the sum overflows"
    "a .ptd whose last byte is cut off"

    "H-24" Malformed ALL
    "The metadata of a .ptd are in the file."
    "They must be there to be read; the runtime does not see a sum that overflows."
    "InvalidArgument when the data are loaded, or whatever the wrong bytes lead to"
    "a `flatbuffer_size` of 2^40"

    "H-25" Malformed ALL
    "A .ptd has the identifier `FT01` at byte 4."
    "The identifier names the schema."
    "InvalidExternalData when the data are loaded"
    "`FT02` at byte 4"

    "H-27" Invalid ALL
    "A .ptd has a list of segments and a list of keys."
    "They may be empty, but the runtime wants to see both."
    "InvalidExternalData when the data are loaded"
    "a .ptd without `named_data`"

    "G-6" Invalid ALL
    "The version of a .ptd is 0."
    "ExecuTorch's own Python reader knows no other, and the runtime takes none that is newer than it knows."
    "InvalidExternalData when the data are loaded; the Python reader raises NotImplementedError"
    "`version: 1`"

    "G-7" Invalid ALL
    "The header of a .ptd takes 40 bytes or more of the file."
    "This number, together with the next, says where the metadata end."
    "reads too few metadata, without checking any of them"
    "a `flatbuffer_offset` of 8"

    "G-8" Invalid ALL
    "The data of a .ptd begin where its metadata end, or later."
    "Data that share bytes with the metadata let one change the other."
    "loads it and hands out metadata as weights"
    "a `segment_base_offset` of 0"

    "H-30" Malformed ALL
    "A .bpte has the identifier `BP08` at byte 4."
    "The identifier names the schema."
    "NotSupported when the program is asked for"
    "`BP07` at byte 4"

    "H-31" Malformed ALL
    "A .bpte has 12 bytes at least."
    "The runtime looks for the identifier without asking how long the file is."
    "reads behind the end"
    "a file of 6 bytes"

    "F-1" Malformed ALL
    "A FlatBuffer has 12 bytes at least."
    "Less has no room for a root table."
    "InvalidProgram when the program is verified; what nobody defined if it is not"
    "a `program_size` of 11"

    "F-2" Malformed ALL
    "The root offset leads to a multiple of 4 inside the FlatBuffer."
    "Everything else is found by way of the root table."
    "InvalidProgram when the program is verified; a crash if it is not; of a .ptd InvalidExternalData, or a crash if it is odd"
    "an odd root offset"

    "F-5" Malformed ALL
    "Every table leads to a vtable, of an even size, at an even place inside the FlatBuffer."
    "The vtable says where a table's fields are; without it nothing of the table can be read."
    "InvalidProgram when the program is verified; a crash if it is not"
    "a table whose first four bytes are 0x7fffffff"

    "F-6" Invalid ALL
    "Fields lie behind a table's first four bytes, and inside the table."
    "A field elsewhere shares its bytes with another one; nobody writes such a table."
    "reads it all the same"
    "a vtable entry of 2"

    "F-7" Malformed ALL
    "A field lies inside the FlatBuffer at a multiple of its size."
    "It cannot be read elsewhere."
    "InvalidProgram when the program is verified; what nobody defined if it is not"
    "a vtable entry of 5 for an `int`"

    "F-8" Malformed ALL
    "The offset in a field leads forward, to a multiple of 4 inside the FlatBuffer, and is not 0."
    "A field that is there must lead to its table, list or text."
    "InvalidProgram when the program is verified; a crash if it is not"
    "an offset of 0"

    "F-9" Malformed ALL
    "A list ends inside the FlatBuffer."
    "Its items are read without another look at the end."
    "InvalidProgram when the program is verified; reads behind the end if it is not"
    "a list of 2^31 tables"

    "F-10" Malformed ALL
    "The offset of each table in a list leads forward, to a multiple of 4 inside the FlatBuffer, and is not 0."
    "An item that leads to itself or outside is no table."
    "InvalidProgram when the program is verified; a crash if it is not"
    "an item of 0"

    "F-11" Malformed ALL
    "Behind every text is a zero byte."
    "The runtime hands texts on as C strings."
    "InvalidProgram when the program is verified; reads on if it is not"
    "a name without its end"

    "G-10" Malformed ALL
    "A vtable has 4 bytes at least."
    "A shorter one has no room for its own head; taken literally, all fields are absent."
    "takes the fields for absent"
    "a vtable size of 2"

    "G-11" Invalid ALL
    "The items of a list of 8-byte numbers lie at multiples of 8."
    "The runtime uses them where they are. An empty list may lie anywhere, as flatc writes it."
    "what nobody defined: a bus error on some machines"
    "a `DoubleList` four bytes off"

    "G-12" Note ALL
    "Bytes that the schema aligns are aligned as it says."
    "Payloads and constants inside the FlatBuffer are used where they are. An exporter can be told to align them less."
    "uses them; a backend may want more"
    "an inline payload at a byte that is no multiple of 16"

    "G-13" Invalid ALL
    "Texts are UTF-8."
    "FlatBuffers says so, and every reader but the runtime relies on it."
    "compares bytes; Python's reader fails"
    "a method called `\\xff`"

    "G-14" Invalid ALL
    "There is no zero byte inside a text."
    "The runtime compares names up to the first zero byte, so that two different names can be the same to it."
    "takes the rest for absent"
    "a method called `forward\\0x`"

    "G-15" Invalid ALL
    "A truth value is the byte 0 or 1."
    "Lists of truth values are used where they are, as C++ bools, and no other byte is one."
    "what nobody defined"
    "a `BoolList` with the byte 2 in it"

    "G-16" Invalid ALL
    "There are a million tables at most, counted once for each way that leads to them."
    "FlatBuffers' verifier gives up then."
    "InvalidProgram when the program is verified; loads it if it is not"
    "a program with a million values"

    "G-17" Malformed ALL
    "Tables and lists are not referred to again and again."
    "A small file could otherwise take for ever to read."
    "reads each of them again, up to a million tables"
    "a list of a million items that are all the same table"

    "G-18" Invalid ALL
    "No table and no list lies in the bytes of the header."
    "One set of bytes would have two meanings."
    "loads it"
    "a vtable at byte 16"

    "P-1" Invalid ALL
    "The version of a program is 0."
    "No release wrote another, and the runtime takes none that is newer than it knows."
    "InvalidProgram when the program is loaded"
    "`version: 1`"

    "P-V1" Invalid ALL
    "A program has a list of methods."
    "The runtime goes through it at every look-up."
    "InvalidProgram when the program is verified; a crash at the first look-up if it is not"
    "a `Program` without `execution_plan`"

    "P-2" Suspicious ALL
    "A program has a method."
    "There is nothing else that it could be asked for."
    "loads it; every name of a method is an InvalidArgument"
    "`methods: {}`"

    "P-3" Invalid ALL
    "Every method has a name of its own."
    "Only the first of two can ever be reached."
    "loads the first"
    "two methods called `forward`"

    "P-4" Invalid ALL
    "Every method has a name."
    "It is the only way to ask for one."
    "InvalidArgument for any name; InvalidProgram when names are listed"
    "an `ExecutionPlan` without `name`"

    "P-N1" Invalid ALL
    "A program with named data has a list of segments."
    "The list of keys is of no use without it, and the runtime asks for both, even if they are empty."
    "InvalidArgument when the program is loaded"
    "`named_data: []` without `segments`"

    "P-C1" Invalid RECENT
    "A program says where its constants are: `constant_segment` with one offset at least."
    "Without it constants are looked for inside the FlatBuffer, which releases since 2024 do not write and usual builds refuse."
    "InvalidProgram when the program is loaded, unless it was built to read old files"
    "`constant_buffer` alone"

    "P-C3" Invalid ALL
    "Constants are in a segment or inside the FlatBuffer, not in both."
    "An index of a constant could mean either."
    "InvalidProgram when the program is loaded"
    "a `constant_segment` with two offsets beside a filled `constant_buffer`"

    "P-C4" Invalid ALL
    "A program with constants in a segment has a list of segments."
    "The constants are nowhere without it."
    "InvalidProgram when the program is loaded"
    "two offsets and no `segments`"

    "P-C5" Invalid ALL
    "The segment of the constants is in the list of segments."
    "The constants are nowhere without it."
    "InvalidProgram when the program is loaded"
    "`segment_index: 9` with one segment"

    "P-C6" Invalid ALL
    "A program with constants says where its segments begin."
    "The runtime reads the constants from the start of the file otherwise."
    "loads it, with the program's own bytes for constants"
    "constants and no extended header"

    "P-C7" Suspicious ALL
    "Constants that are used are not in an empty segment."
    "Exporters write such a segment for a model whose only constants are empty; loaded from a file its address is null, and the look-up then takes another way."
    "works from memory; InvalidArgument or InvalidProgram from a file"
    "one constant of sizes `[0]`"

    "P-K1" Invalid ALL
    "A constant that a tensor refers to is in the list of constants."
    "Its place in the segment is found there."
    "InvalidArgument when the method is loaded"
    "`data_buffer_idx: 9` with two constants"

    "P-K2" Invalid ALL
    "The bytes of a constant are in its segment."
    "They would be another segment's otherwise, or behind the end of the file."
    "InvalidArgument when the method is loaded"
    "a tensor of 64 bytes at offset 16 of a segment of 32"

    "P-K3" Invalid ALL
    "A constant inside the FlatBuffer is there, with as many bytes as the tensor needs."
    "It would be read beyond its end."
    "InvalidArgument when the method is loaded; arithmetic on a null pointer if the bytes are absent; InvalidProgram in builds without such constants"
    "a tensor of 64 bytes whose `storage` has 32"

    "P-K5" Invalid ALL
    "A program whose `constant_segment` says that there are no constants has none inside the FlatBuffer either."
    "One build takes the constants from there, the other refuses."
    "InvalidProgram when a constant is read, or accepted, by how it was built"
    "offsets `[0]` beside a filled `constant_buffer`"

    "P-K6" Invalid ALL
    "Constants lie one after the other, at multiples of their element's size."
    "Kernels read them where they are."
    "loads it; what kernels then do nobody defined"
    "a float32 constant at offset 3"

    "G-20" Suspicious ALL
    "A constant ends where the next one begins, or earlier."
    "Two constants that share some of their bytes were hardly meant."
    "loads it"
    "32 bytes at offset 0, and the next constant at offset 16"

    "S-1" Invalid ALL
    "A program that uses a segment says where segments begin."
    "The runtime looks for no segment otherwise."
    "NotFound when the method is loaded"
    "a delegate whose payload is in a segment, and no extended header"

    "S-2" Invalid ALL
    "A program that uses a segment has a list of segments."
    "The segment is nowhere without it."
    "InvalidProgram when the method is loaded"
    "a delegate whose payload is in segment 0, and no `segments`"

    "S-3" Invalid ALL
    "A segment that is used is in the list of segments."
    "The segment is nowhere otherwise."
    "NotFound when the method is loaded"
    "a delegate whose payload is in segment 9 of 2"

    "S-4" Invalid ALL
    "Where a segment lies in the file is a number of 64 bits."
    "A sum that overflows leads into the program."
    "InvalidProgram for a payload; for constants it reads the program itself"
    "a segment offset of 2^64 - 1"

    "S-5" Invalid ALL
    "Segments end inside the data that the header announces."
    "What is behind the end belongs to nobody."
    "InvalidArgument if it is outside the file; read all the same if it is inside"
    "a segment of 64 bytes in 32 bytes of data"

    "S-6" Invalid ALL
    "Segments with bytes in them lie one after the other without sharing any."
    "Nobody writes them otherwise, and shared bytes let one change the other."
    "loads it"
    "two segments at offset 0"

    "S-10" Invalid ALL
    "A program with initial bytes for mutable tensors says where segments begin."
    "The bytes are nowhere otherwise."
    "NotFound when the method is loaded"
    "initial bytes and no extended header"

    "S-11" Invalid ALL
    "Initial bytes of mutable tensors are listed in `mutable_data_segments`."
    "The bytes are nowhere otherwise. An exporter leaves the list out if all of them are empty."
    "NotFound when the method is loaded"
    "a tensor with both `data_buffer_idx` and `allocation_info`, and no list"

    "S-12" Invalid ALL
    "A tensor's number of initial bytes is in the list of offsets."
    "Its place in the segment is found there."
    "NotFound when the method is loaded"
    "`data_buffer_idx: 9` with two offsets"

    "S-13" Invalid ALL
    "The segment of the initial bytes is in the list of segments."
    "The bytes are nowhere otherwise."
    "NotFound when the method is loaded, or InvalidProgram without any segments"
    "`segment_index: 9` in `mutable_data_segments`"

    "S-14" Invalid ALL
    "Where initial bytes end is a number of 64 bits."
    "A sum that overflows leads elsewhere."
    "InvalidProgram when the method is loaded"
    "an offset of 2^64 - 1"

    "S-15" Invalid ALL
    "Initial bytes are in their segment."
    "They would be another segment's otherwise."
    "InvalidArgument when the method is loaded"
    "16 bytes from offset 8 of a segment of 16"

    "S-18" Suspicious ALL
    "There is one entry of `mutable_data_segments`."
    "The runtime uses the first, whatever tensors say; ExecuTorch's Python reader refuses more."
    "ignores the others"
    "two entries"

    "N-1" Invalid ALL
    "Every entry of a program's named data has a key."
    "The look-up of any key behind it meets it."
    "InvalidArgument at that look-up"
    "a `NamedData` without `key`"

    "N-2" Invalid ALL
    "Keys differ from each other."
    "Only the first of two can be found."
    "takes the first; refuses the whole file if it is merged with others"
    "two entries called `weight`"

    "N-3" Invalid ALL
    "The segment of a key is in the list of segments."
    "The bytes are nowhere otherwise."
    "InvalidArgument when the key is looked up"
    "`segment_index: 9` with one segment"

    "N-11" Invalid ALL
    "Every entry of a .ptd has a key."
    "The look-up of any key behind it follows a null pointer."
    "a crash at that look-up"
    "a `NamedData` without `key`"

    "N-12" Invalid ALL
    "The segment of a key of a .ptd is in the list of segments."
    "The bytes are nowhere otherwise."
    "InvalidExternalData when the key is looked up"
    "`segment_index: 9` with one segment"

    "N-16" Invalid ALL
    "The element type of a layout has a number from 0 to 29."
    "The runtime ends the process on any other."
    "aborts when the layout is looked up"
    "`scalar_type: 30`"

    "N-17" Invalid ALL
    "The sizes of a layout are not negative, and their product is a number of bytes."
    "The tensor could not be held otherwise."
    "InvalidArgument when the layout is looked up"
    "`sizes: [-1]`"

    "N-18" Invalid ALL
    "A layout has sizes and a dim_order that names each of up to 16 dimensions once."
    "The runtime reads as many entries as there are sizes, whether they are there or not."
    "reads behind the end, follows a null pointer, or InvalidArgument, by what is missing"
    "two sizes and a `dim_order` of `[0]`"

    "N-19" Invalid ALL
    "The segment of a key has as many bytes as its layout says, or more."
    "The runtime never compares the two, and reads as many bytes as the layout says."
    "reads behind the end"
    "a layout of 24 bytes and a segment of 4"

    "N-30" Note ALL
    "A .ptd has a key."
    "A module that is given only empty ones refuses to load."
    "NotFound when a method asks a single such file for a key; InvalidArgument if none of several has one"
    "a .ptd without keys"

    "N-31" Invalid ALL
    "A key is in the program or in a .ptd, not in both."
    "The runtime means to refuse that and does not notice."
    "takes the one in the .ptd"
    "`weight` in `named_data` and in a .ptd given with it"

    "N-32" Invalid ALL
    "A key is in one .ptd of those that are given."
    "Nobody could say which is meant."
    "InvalidArgument when the files are merged"
    "the same .ptd given twice"

    "G-30" Invalid ALL
    "A .ptd that is given with a program has no errors of its own."
    "The runtime does not verify it at all."
    "a crash, or wrong weights"
    "`--with` a damaged file"

    "G-22" Invalid ALL
    "A method has lists of inputs, outputs and buffer sizes."
    "They may be empty; absent they stop every look at the method."
    "InvalidProgram when the method is asked for"
    "an `ExecutionPlan` without `inputs`"

    "G-23" Invalid ALL
    "Sizes of planned buffers are not negative."
    "Nobody can give a buffer of such a size."
    "InvalidProgram when the size is asked for"
    "`non_const_buffer_sizes: [0, -1]`"

    "G-24" Invalid ALL
    "Devices are given for buffers that there are, and are of types that there are."
    "Whoever makes the buffers goes by this list."
    "ignores what it does not know"
    "`buffer_idx: 9` with one buffer"

    "M-1" Invalid ALL
    "A method has a list of values."
    "Instructions have nothing to refer to otherwise."
    "InvalidProgram when the program is verified or the method loaded"
    "an `ExecutionPlan` without `values`"

    "M-2" Invalid ALL
    "Every value has a kind, and is there unless it is None."
    "The runtime has nothing to make it from otherwise."
    "InvalidProgram when the method is loaded"
    "a value of kind Int without `val`"

    "M-5" Invalid ALL
    "A String has its text."
    "Absent is not the same as empty here."
    "InvalidProgram when the method is loaded"
    "a `String` without `string_val`"

    "M-6" Invalid ALL
    "A DoubleList or BoolList has its items."
    "Absent is not the same as empty here."
    "InvalidProgram when the method is loaded"
    "a `BoolList` without `items`"

    "M-7" Invalid ALL
    "The items of an IntList are there and are indices of values."
    "The list holds values of the method, not numbers."
    "InvalidProgram when the method is loaded"
    "`items: [99]` with five values"

    "M-8" Invalid ALL
    "The items of an IntList are Ints. Bools will do for a delegate."
    "The runtime looks only when a kernel reads the list."
    "aborts when a kernel reads it"
    "an IntList that holds a Tensor"

    "G-29" Suspicious ALL
    "The items of an IntList come before the list."
    "Exporters write them so."
    "loads it"
    "an IntList as value 0 that holds value 1"

    "M-9" Invalid ALL
    "The items of a TensorList are there and are tensors before the list."
    "The runtime makes values in their order and takes what is at the index, made or not."
    "InvalidProgram or InvalidType when the method is loaded; uninitialised memory for a later value"
    "a TensorList as value 0 that holds value 1"

    "M-11" Invalid ALL
    "The items of an OptionalTensorList are there and are -1, None, or tensors before the list."
    "The runtime makes values in their order and takes what is at the index, made or not."
    "InvalidProgram or InvalidType when the method is loaded; uninitialised memory for a later value"
    "`items: [-2]`"

    "M-13" Invalid ALL
    "The kind of a value is one that the schema has."
    "A newer kind passes the verifier, and no runtime of today knows it."
    "InvalidProgram when the method is loaded"
    "a value of kind 12"

    "M-20" Invalid ALL
    "A method has a list of delegates."
    "It may be empty."
    "InvalidProgram when the method is loaded"
    "an `ExecutionPlan` without `delegates`"

    "M-21" Invalid ALL
    "A method has a chain."
    "It may have no instructions, but it must be there."
    "InvalidProgram when the method is loaded"
    "`chains: []`"

    "M-22" Invalid ALL
    "A chain has a list of instructions."
    "It may be empty."
    "InvalidProgram when the method is loaded"
    "a `Chain` without `instructions`"

    "M-25" Invalid ALL
    "A method with kernel calls has a list of operators."
    "The call names its operator by index."
    "InvalidProgram when the method is loaded, unless a later call hides it"
    "a `KernelCall` and no `operators`"

    "M-26" Invalid ALL
    "Inputs and outputs are values of the method."
    "The runtime does not look when it loads the method."
    "aborts when the input is set or the output read"
    "`inputs: [99]` with five values"

    "M-27" Invalid ALL
    "An input is no constant."
    "Setting it writes into the bytes of the program."
    "a crash if the file is mapped into memory"
    "a tensor with data among the inputs"

    "G-21" Suspicious ALL
    "A value is an input once."
    "The second argument would replace the first."
    "loads it"
    "`inputs: [0, 0]`"

    "M-28" Invalid ALL
    "An input is a Tensor, Int, Double, Bool, String or None."
    "There is no way to set any other."
    "InvalidArgument when the input is set"
    "an IntList among the inputs"

    "T-1" Invalid ALL
    "The storage offset of a tensor is 0."
    "The runtime knows no tensors that begin inside their memory."
    "NotSupported when the method is loaded"
    "`storage_offset: 4`"

    "T-2" Invalid ALL
    "The element type of a tensor has a number from 0 to 29."
    "The size of an element is unknown otherwise."
    "InvalidProgram when the method is loaded"
    "`scalar_type: 30`"

    "T-3" Invalid PORTABLE
    "A tensor's size has a bound."
    "Portable tensors cannot grow; the build with ATen's can."
    "NotSupported when the method is loaded"
    "`dynamism: dynamic_unbound`"

    "T-4" Invalid ALL
    "How a tensor's shape may change is 0, 1 or 2."
    "Any other number makes a tensor whose resizing does nothing."
    "loads it; kernels then write with a wrong shape"
    "`shape_dynamism: 3`"

    "T-5" Invalid ALL
    "A tensor has sizes."
    "A tensor without dimensions has an empty list."
    "InvalidProgram when the program is verified or the method loaded"
    "a `Tensor` without `sizes`"

    "T-6" Invalid ALL
    "A tensor has 16 dimensions at most."
    "The runtime has no room for more."
    "InvalidProgram when the method is loaded"
    "17 sizes"

    "T-7" Invalid ALL
    "A tensor has a dim_order as long as its sizes."
    "A tensor without dimensions has an empty one."
    "InvalidProgram when the method is loaded"
    "two sizes and a `dim_order` of `[0]`"

    "T-8" Invalid ALL
    "Sizes are not negative."
    "There is no such tensor."
    "InvalidProgram when the program is verified or the method loaded"
    "`sizes: [-1]`"

    "T-9" Invalid ALL
    "A dim_order names each dimension once."
    "Strides are computed from it."
    "Internal when the method is loaded"
    "`dim_order: [0, 0]`"

    "T-11" Invalid ALL
    "All dimensions but the outermost have 2^31 - 1 elements at most."
    "The runtime computes strides with 32 bits and does not look at the overflow."
    "loads it, with a stride that leads elsewhere"
    "`sizes: [2, 65536, 65536]`"

    "T-12" Invalid ALL
    "The bytes of a tensor are a number of 63 bits."
    "A product that overflows looks like a small tensor."
    "InvalidProgram when the program is verified, if the tensor is static or no input; loads it otherwise"
    "`sizes: [65536, 65536, 65536, 65536]`"

    "P-V4" Invalid ALL
    "The product of the sizes does not overflow on its way from left to right, even if a 0 follows."
    "The verifier multiplies in this order and does not go back."
    "InvalidProgram when the program is verified; loads it if it is not"
    "`sizes: [2147483647, 2147483647, 4, 0]`"

    "T-13" Invalid ALL
    "A tensor's device has the type 0 or 1, and an index from 0."
    "The portable build never looks, the build with ATen's tensors does."
    "loads it, or InvalidProgram by how it was built; NotSupported when a planned input on such a device is set"
    "`device_type: 7`"

    "G-25" Invalid ALL
    "Where a tensor's data are is 0 or 1."
    "The runtime takes any other number for 0."
    "looks for the data in the program"
    "`location: 2`"

    "G-26" Invalid ALL
    "The index into `mutable_data_segments` is 0."
    "The runtime uses entry 0 whatever the tensor says."
    "loads the bytes of entry 0"
    "`mutable_data_segments_idx: 1`"

    "T-21" Invalid ALL
    "A planned tensor lies in a buffer that the method asks for, counted from 1."
    "Number 0 is reserved and means no buffer."
    "InvalidArgument when the method is loaded"
    "`memory_id: 0`"

    "T-22" Invalid ALL
    "Where a planned tensor ends is a number of 64 bits."
    "A sum that overflows leads elsewhere."
    "InvalidArgument when the method is loaded"
    "an offset of 2^64 - 1"

    "T-23" Invalid ALL
    "A planned tensor ends inside its buffer."
    "It would be written over what follows."
    "MemoryAllocationFailed when the method is loaded, if buffers are as large as the program asks"
    "16 bytes at offset 16 of a buffer of 16"

    "T-24" Invalid NARROW
    "Offsets in planned memory have 32 bits."
    "There is no more memory than that."
    "NotSupported when the method is loaded"
    "`memory_offset_high: 1` on a microcontroller"

    "T-25" Invalid ALL
    "A planned tensor lies at a multiple of its element's size."
    "Kernels read and write whole elements."
    "loads it; what kernels then do nobody defined"
    "a float32 tensor at offset 2"

    "T-30" Note ALL
    "External data of a program can be judged only with the .ptd that has them."
    "Sizes and types must agree, and only the .ptd has the others."
    "InvalidState when the method is loaded without it"
    "a program with external weights checked without `--with`"

    "T-31" Invalid ALL
    "A tensor whose data are external has a name."
    "The name is the key in the .ptd."
    "InvalidExternalData when the method is loaded"
    "`location: 1` without `fully_qualified_name`"

    "T-32" Invalid ALL
    "The key of external data is in a .ptd that is given."
    "The data are nowhere otherwise; keyed data of the program are not looked at."
    "NotFound when the method is loaded"
    "a .ptd of another model"

    "T-33" Invalid ALL
    "An external tensor has the element type, sizes and dim_order that the .ptd says."
    "The bytes would mean something else. The runtime compares only the first tensor of a key."
    "InvalidExternalData when the method is loaded; wrong memory for a second tensor of the key"
    "float32 in the program, float16 in the .ptd"

    "T-34" Invalid ALL
    "External data are as many bytes as the tensor has, or more."
    "The runtime never compares the two."
    "reads behind the end"
    "a tensor of 24 bytes and a segment of 4"

    "T-40" Invalid ALL
    "The bools of a constant are 0 or 1 (looked at with `--data`)."
    "Compilers take it for granted, and kernels add them up or index with them."
    "undefined"
    "a bool tensor with the byte 2"

    "T-41" Note ALL
    "The elements of a constant are numbers (looked at with `--data`)."
    "What is not a number spreads to all that is computed with it; few models mean that."
    "computes with it"
    "a weight with a NaN"

    "T-42" Suspicious ALL
    "The data of a tensor can be read (looked at with `--data`)."
    "Nothing can be said of what nobody can read."
    "depends on why they cannot be read"
    "a file that becomes shorter while it is checked"

    "N-15" Invalid ALL
    "The key of an external tensor belongs to a tensor, not to a blob."
    "A blob has no layout to compare, and the runtime follows a null pointer."
    "a crash when the method is loaded"
    "a tensor that names a delegate's blob"

    "D-1" Invalid ALL
    "A delegate names its backend."
    "Nobody could run it otherwise."
    "InvalidProgram when the method is loaded"
    "a `BackendDelegate` without `id`"

    "D-3" Invalid ALL
    "A delegate says where its payload is."
    "The runtime follows the reference without a look."
    "a crash when the method is loaded"
    "a `BackendDelegate` without `processed`"

    "D-4" Invalid ALL
    "A program with an inline payload has a list of them."
    "The runtime follows it without a look."
    "a crash when the method is loaded"
    "an inline payload and no `backend_delegate_data`"

    "D-5" Invalid ALL
    "An inline payload is in the list, and has data."
    "Data that are absent are not the same as empty ones."
    "NotFound when the method is loaded, or a crash if the data are absent"
    "payload 9 of 1"

    "D-7" Invalid ALL
    "A payload is inline (0) or in a segment (1)."
    "There is no other place."
    "Internal when the method is loaded"
    "`location: 2`"

    "D-9" Invalid ALL
    "Options of a delegate have a key and a value."
    "The runtime hands both to the backend without a look."
    "a crash when the method is loaded, or a wild pointer in the backend"
    "a `CompileSpec` without `value`"

    "D-10" Suspicious ALL
    "Every delegate is called."
    "It is loaded with the method all the same, and takes memory for nothing."
    "loads it"
    "a delegate and no instruction that names it"

    "D-11" Invalid ALL
    "The payload of an XNNPACK delegate has its graph and its constants inside."
    "The backend takes the header's word for it, and reads behind the end."
    "a crash, DelegateInvalidCompatibility or InvalidArgument when the method is loaded"
    "a segment that ends before the graph in it does"

    "D-12" Invalid ALL
    "The graph of an XNNPACK delegate can be followed."
    "It is a FlatBuffer that nobody verifies, and its operations refer to values by numbers that are not looked up with care."
    "a crash, an abort or DelegateInvalidCompatibility when the method is loaded"
    "an operation on value 7 of a graph with 3 values"

    "D-13" Invalid ALL
    "The constants of an XNNPACK graph are there, and as long as its tensors."
    "They are in the payload, or named data of the program or of a .ptd; XNNPACK packs as many bytes as its tensors have."
    "NotFound or a crash when the method is loaded"
    "a graph that asks for `w`, and named data `v`"

    "D-14" Invalid ALL
    "An XNNPACK delegate is called with the tensors that its graph asks for."
    "The backend takes as many arguments as the graph has inputs and outputs, and their bytes for what the graph says they are."
    "a crash or an abort when the call is reached"
    "a graph with one input and one output, called with one tensor"

    "I-1" Invalid ALL
    "Every instruction has its arguments."
    "There is nothing to run otherwise."
    "InvalidProgram when the method is loaded"
    "an `Instruction` without `instr_args`"

    "I-2" Invalid ALL
    "The kind of an instruction is one that the schema has."
    "A newer kind passes the verifier, and no runtime of today knows it."
    "InvalidProgram when the method is loaded"
    "an instruction of kind 6"

    "I-3" Invalid ALL
    "The arguments of a kernel call are there and are values of the method."
    "The runtime collects their addresses when it loads the method."
    "InvalidProgram when the method is loaded"
    "`args: [99]` with five values"

    "I-4" Invalid ALL
    "The operator of a kernel call is in the list of operators."
    "The runtime keeps the error until the end and forgets it if a later call is good."
    "InvalidProgram when the method is loaded, or a wild function pointer when it runs"
    "`op_index: 9` with two operators"

    "I-5" Invalid ALL
    "An operator that is called has a name and an overload, which may be empty."
    "The error of a missing name can be hidden by a later call; a missing overload is followed when the kernel fails."
    "InvalidProgram when the method is loaded, or a crash later"
    "an `Operator` without `overload`"

    "I-6" Invalid ALL
    "The name of an operator that is called has 99 bytes at most, with its overload."
    "The runtime has no room for more, and can forget the error as it does with a wrong index."
    "Internal when the method is loaded, or a wild function pointer when it runs"
    "a name of 120 letters"

    "I-7b" Invalid ALL
    "The text that the runtime makes of the tensors of a call has 658 bytes at most."
    "It looks for kernels by types and orders of dimensions, and has no room for more."
    "InvalidArgument when the method is loaded, or a wild function pointer when it runs"
    "a call with 219 tensors"

    "I-10" Invalid ALL
    "The arguments of a delegate call are there and are values of the method."
    "The runtime collects their addresses when it loads the method."
    "InvalidProgram when the method is loaded"
    "`args: [99]` with five values"

    "I-22" Invalid ALL
    "The delegate of a call is in the list of delegates."
    "The runtime does not look until the call runs."
    "Internal when the method runs"
    "`delegate_index: 9` with one delegate"

    "I-11" Invalid ALL
    "The condition of a jump is a value of the method."
    "There is nothing to look at otherwise."
    "InvalidProgram when the method is loaded"
    "`cond_value_index: 99` with five values"

    "I-23" Invalid ALL
    "The condition of a jump is a Bool or a Tensor of bool."
    "Nothing else is true or false."
    "InvalidProgram when the jump runs"
    "an Int as condition"

    "I-24" Invalid ALL
    "A jump leads to an instruction of its chain, or to its end."
    "The runtime ends the chain without a word, or fails when it is stepped through."
    "ends the method early"
    "`destination_instruction: 99` in a chain of five"

    "I-12" Invalid ALL
    "A move is from a value of the method to a value of the method."
    "There is nothing to move otherwise."
    "InvalidProgram when the method is loaded"
    "`move_to: 99` with five values"

    "I-25" Invalid ALL
    "A move is between values of one kind."
    "The target becomes what the source is, and those who use it rely on what it was."
    "moves it; kernels abort on the wrong kind"
    "a Tensor over an Int"

    "I-13" Invalid ALL
    "What is freed is a value of the method."
    "There is nothing to free otherwise."
    "InvalidProgram when the method is loaded"
    "`value_index: 99` with five values"

    "I-26" Invalid ALL
    "What is freed is a tensor of unbounded size that is neither input nor output."
    "Any other tensor loses its memory for good."
    "InvalidType for what is no tensor; a null pointer for the next to use it otherwise"
    "a planned tensor"

    "B-2" Invalid ALL
    "A .bpte has a program, at a multiple of 16."
    "The runtime follows it without a look, and loads no program from elsewhere."
    "a crash, or InvalidArgument when the program is loaded"
    "a `BundledProgram` without `program`"

    "G-9" Suspicious ALL
    "The version of a .bpte is 2."
    "That is what is written; the runtime never looks."
    "ignores it"
    "`version: 1`"

    "B-3" Invalid ALL
    "A .bpte has its lists: of methods, of tests, of inputs, of outputs; and each list of tests names its method."
    "They may be empty, but the runtime follows them without a look."
    "a crash when the tests are looked up"
    "a test case without `inputs`"

    "B-4" Invalid ALL
    "Tests are of a method that the program has, all of one method together."
    "Tests that cannot be found do not run."
    "InvalidArgument when they are looked up; the second list of a method is never found"
    "tests of `backward` beside a program that has only `forward`"

    "B-6" Invalid ALL
    "A test has as many inputs as its method."
    "The runtime takes one for each input of the method."
    "reads behind the end; ignores what is too much"
    "one input for a method of two"

    "B-7" Invalid ALL
    "An input of a test is a Tensor, Int, Bool or Double."
    "Nothing else can be bundled."
    "NotSupported when the input is set"
    "an input of kind 5"

    "B-8" Invalid ALL
    "An input of a test is of the kind, type and shape that the method has; a number is the one that the program has."
    "The runtime refuses to set any other."
    "NotSupported when the input is set"
    "int64 for a method of float32"

    "B-9" Invalid ALL
    "A bundled tensor has sizes, a dim_order, and as many bytes as they say."
    "The runtime never counts the bytes."
    "reads behind the end, or follows a null pointer; the build with ATen's tensors aborts"
    "8 bytes for a tensor of 24"

    "B-10" Invalid ALL
    "A test expects nothing, or as many tensors as its method gives, each of the same type and shape."
    "The runtime compares tensors alone, one for each output."
    "NotSupported or NotFound when the outputs are compared; reads behind the end if there are too few"
    "one expected output for a method of two"

    "G-31" Note ALL
    "An expected output has the dim_order of the method's output."
    "Outputs are compared in their memory's order. ExecuTorch's own tools write the default order whatever the method has."
    "aborts when the outputs are compared"
    "the order 0, 1, 2, 3 for an output in channels-last"

    // Operators (O-) and meaning (X-): looked for in operators.rs and semantics/.

    "O-1" Invalid ALL
    "A kernel gets as many arguments as it takes."
    "Arguments are found by their position, so one too few or too many shifts nothing and simply cannot be run."
    "InvalidProgram when the call is reached; older releases read beyond the arguments"
    "aten::add.out with args [x, y, z]: it takes self, other, alpha, out, and the out again"

    "O-2" Invalid ALL
    "An argument is of a kind that the kernel takes."
    "Kernels take their arguments out of values without asking what is in them. Nothing is converted, an Int is no Double."
    "abort when the call is reached; InvalidType from most of executorch_prim"
    "the scale of quantized_decomposed::quantize_per_tensor.out as the Int 1 instead of the Double 1.0"

    "O-3" Invalid ALL
    "A list of ints that a kernel reads consists of Int values."
    "An IntList holds indices of values, and a kernel turns each of them into an integer."
    "abort when the call is reached"
    "the dims of aten::sum.IntList_out as an IntList that points at a Bool"

    "O-4" Suspicious ALL
    "The last argument of a call is its result: the out again, a list of all outs, or a value of the kind that is returned."
    "It is where who comes next looks for the result. An out variant leaves it alone, other operators replace what is there."
    "an out variant ignores it; a returned value replaces the value, whatever it was"
    "aten::add.out with args [x, y, alpha, z, w]: the result is z, not w"

    "O-6" Invalid ALL
    "Where an operator returns a value, the file states one of the kind that is returned."
    "The value is replaced. Whoever used it as what the file states finds something else there from then on."
    "abort when another call takes it for what it was"
    "the result of aten::sym_size.int is a Tensor"

    "O-7" Invalid ALL
    "No kernel is made to divide by the Int 0."
    "Some divide without looking: arithmetic of executorch_prim, strides of pools, groups of convolutions."
    "the process dies of a division by zero"
    "executorch_prim::floordiv.Scalar with args [n, zero, result]"

    "O-8" Invalid ALL
    "The arguments of a quantization agree with each other: types, sizes, channels, and the range of values."
    "The kernels of quantized_decomposed do not refuse a call, they abort."
    "abort when the call is reached"
    "quantize_per_tensor.out from 0 to 255 into a tensor of int8"

    "O-5" Note ALL
    "An operator is one that the runtime registers."
    "Other operators need a runtime that was built with them, and what they do with their arguments is not known here."
    "OperatorMissing when the method is loaded, unless it was built with such a kernel"
    "mine::scale.out without a line for it in the file that --ops names"

    "O-9" Invalid ALL
    "A delegate is called with arguments."
    "A backend takes as many as its payload says, and does not count those that it is given."
    "XNNPACK reads beyond the arguments"
    "a delegate call with an empty list"

    "O-10" Invalid ALL
    "A kernel gets tensors of types that it has code for, where it does not look first."
    "Most kernels refuse the others in good order. These do not: what they cannot promote they abort at."
    "abort when the call is reached"
    "aten::embedding.out with indices of float32"

    "O-11" Invalid ALL
    "The dimension of which the size is asked for is there."
    "aten::sym_size.int does not look, and does not count from the end."
    "abort when the call is reached"
    "aten::sym_size.int with the dimension -1"

    "O-12" Invalid ALL
    "A range has no more elements than its out has room for."
    "The kernel resizes its out, which cannot grow."
    "abort when the call is reached"
    "aten::arange.start_out from -1 to 4 into a tensor of 4 elements"

    "X-1" Suspicious ALL
    "A tensor is written before it is read."
    "Before, it has the content that another tensor left there: its memory is not its own, so it is no state either."
    "the result depends on what was in memory"
    "a kernel that reads t, where t is written by a later one, and its memory is used by u, too"

    "X-2" Suspicious ALL
    "An output is written, or is an input, a constant or state."
    "Otherwise the caller gets what happened to be in memory."
    "the output is whatever was there"
    "an output that no instruction mentions"

    "X-3" Invalid ALL
    "A tensor that instructions use has memory."
    "Without a plan and without data, only inputs, outputs and named tensors get memory from the caller."
    "a null pointer goes to the kernel, which refuses it or crashes"
    "a tensor between two kernels with `memory: none`"

    "X-4" Suspicious ALL
    "Memory is not overwritten while a tensor in it is still to be read."
    "Tensors may share memory only if they are not needed at the same time."
    "the later read sees the bytes of the other tensor"
    "a at 0..64 and b at 32..96 of one pool: a is written, b is written, a is read"

    "X-5" Note ALL
    "A tensor in the very place of another one that is still to be read is its view."
    "A planner's mistake and a view look the same in a file if both begin at the same byte."
    "both tensors have the bytes that were written last"
    "a and b at byte 0 of one pool: a is written, b is written, a is read"

    "X-6" Suspicious ALL
    "The results of a call do not share bytes."
    "One of them is lost."
    "the result that is written last wins"
    "aten::topk.values with values and indices at the same offset"

    "X-7" Invalid ALL
    "A constant is not written."
    "Constants are used where the file has them, and files are mapped read-only."
    "a crash if the file is mapped, otherwise every later execution uses the changed constant"
    "aten::add.out whose out has data and no planned memory"

    "X-8" Suspicious ALL
    "An input is not the out of a kernel."
    "The caller's own tensor may be what is written. Operators that work in place say so."
    "the caller's memory changes, if the input is not planned"
    "aten::relu.out with an input as its out"

    "X-9" Suspicious ALL
    "Every instruction can be reached."
    "What follows a jump that is always taken, and has no jump to it, never runs."
    "the instructions are loaded, their kernels must exist, and they never run"
    "a jump to the end on a Bool that is always false, with instructions behind it"

    "X-10" Invalid ALL
    "From every instruction there is a way to the end."
    "A loop that nothing leaves goes on until the runtime gives up."
    "InvalidProgram after 10,000,000 instructions"
    "a jump to itself on a Bool that is always false"

    "X-11" Suspicious ALL
    "A loop changes what its condition depends on."
    "If it turns once, it turns for ever."
    "InvalidProgram after 10,000,000 instructions, if the loop turns at all"
    "a jump back on a Bool that is computed in front of the loop"

    "X-12" Note ALL
    "Outputs are different values."
    "The caller gets the same tensor twice."
    "nothing; both outputs share memory"
    "outputs [y, y]"

    "X-13" Note ALL
    "Tensors with data are used."
    "They make the file larger for nothing."
    "the data are loaded, and state is copied, for nothing"
    "a weight that no instruction has among its arguments"

    "X-14" Note ALL
    "Values are used."
    "Each takes room when the method is loaded. The exporter leaves some."
    "the values are loaded and never used"
    "an Int that nothing refers to"

    "X-15" Suspicious ALL
    "A delegate is called."
    "It is initialised when the method is loaded, however long that takes."
    "the delegate is initialised and never run"
    "a delegate without a delegate call"

    "X-16" Note ALL
    "Named data have a delegate that can ask for them."
    "Nothing else looks data up by their key in a .pte."
    "nothing asks for the data"
    "`named_data` in a program without delegates"

    "X-17" Note ALL
    "State with initial data is read."
    "Initial data that the first execution overwrites have no effect."
    "the data are copied when the method is loaded, and overwritten"
    "a mutable tensor with data that is only ever an out"

    "X-18" Note ALL
    "Lists are used a reasonable number of times."
    "Items of lists are followed each time a list is used, within bounds."
    "nothing"
    "a list of 10,000 tensors that is an argument of 10,000 calls"

    "X-20" Invalid ALL
    "Memory is not overwritten while indices in it are still to be read."
    "As X-4; but kernels do not look whether indices lead anywhere."
    "a crash or an abort when the indices are read, or wrong results"
    "indices at 0..64 and b at 32..96 of one pool: indices are written, b is written, indices are read"

    "X-19" Note ALL
    "State is written by some method."
    "A tensor without data that is read and never written stays as the runtime found its memory."
    "it reads zeros, if the application clears planned memory"
    "a mutable tensor without data that every instruction only reads"
};

static BY_ID: LazyLock<HashMap<&'static str, usize>> =
    LazyLock::new(|| RULES.iter().enumerate().map(|(index, rule)| (rule.id, index)).collect());

/// The rule with this id, and its place in the table.
pub fn find(id: &str) -> Option<(usize, &'static Rule)> {
    BY_ID.get(id).map(|index| (*index, &RULES[*index]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_and_sentences_are_sentences() {
        assert_eq!(BY_ID.len(), RULES.len());
        for rule in RULES {
            assert!(rule.title.ends_with('.') && rule.why.ends_with('.'), "{}", rule.id);
            assert!(!rule.runtime.is_empty() && !rule.runtime.ends_with('.'), "{}", rule.id);
            assert!(!rule.example.is_empty() && !rule.profiles.is_empty(), "{}", rule.id);
        }
    }
}
