//! The rules as a table: each with a stable id, how bad it is to break it, why it exists, and what the real runtime does
//! then. Who looks for it is in the files beside this one; docs/rules.md is printed from here.
//!
//! Ids are those of the paper `runtime-rules.md` where it has one (`H-4`, `T-9`); ours are `O-` (operators' arguments),
//! `X-` (what a method does with its values) and `G-` (gaps of the paper's appendix A without an id of their own).

use std::fmt;

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
    /// All of them: what any build refuses is refused.
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

/// All rules, by the step that looks for them.
pub static RULES: &[Rule] = &[
    Rule {
        id: "H-1",
        severity: Severity::Malformed,
        profiles: ALL,
        title: "A .pte has 64 bytes at least.",
        why: "The runtime reads its first 64 bytes before it knows whether there is a header.",
        runtime: "InvalidArgument when the program is loaded",
        example: "a file of 40 bytes",
    },
    // Operators (O-), execution (I-22 to I-26) and meaning (X-): looked for in operators.rs and semantics/.
    Rule {
        id: "O-1",
        severity: Severity::Invalid,
        profiles: ALL,
        title: "A kernel gets as many arguments as it takes.",
        why: "Arguments are found by their position, so one too few or too many shifts nothing and simply cannot be run.",
        runtime: "InvalidProgram when the call is reached; older releases read beyond the arguments",
        example: "aten::add.out with args [x, y, z]: it takes self, other, alpha, out, and the out again",
    },
    Rule {
        id: "O-2",
        severity: Severity::Invalid,
        profiles: ALL,
        title: "An argument is of a kind that the kernel takes.",
        why: "Kernels take their arguments out of values without asking what is in them. Nothing is converted, an Int is no Double.",
        runtime: "abort when the call is reached; InvalidType from most of executorch_prim",
        example: "the scale of quantized_decomposed::quantize_per_tensor.out as the Int 1 instead of the Double 1.0",
    },
    Rule {
        id: "O-3",
        severity: Severity::Invalid,
        profiles: ALL,
        title: "A list of ints that a kernel reads consists of Int values.",
        why: "An IntList holds indices of values, and a kernel turns each of them into an integer.",
        runtime: "abort when the call is reached",
        example: "the dims of aten::sum.IntList_out as an IntList that points at a Bool",
    },
    Rule {
        id: "O-4",
        severity: Severity::Suspicious,
        profiles: ALL,
        title: "The last argument of a call is its result: the out again, a list of all outs, or a value of the kind that is returned.",
        why: "It is where who comes next looks for the result. An out variant leaves it alone, other operators replace what is there.",
        runtime: "an out variant ignores it; a returned value replaces the value, whatever it was",
        example: "aten::add.out with args [x, y, alpha, z, w]: the result is z, not w",
    },
    Rule {
        id: "O-5",
        severity: Severity::Note,
        profiles: ALL,
        title: "An operator is one that the runtime registers.",
        why: "Other operators need a runtime that was built with them, and what they do with their arguments is not known here.",
        runtime: "OperatorMissing when the method is loaded, unless it was built with such a kernel",
        example: "mine::scale.out without a line for it in the file that --ops names",
    },
    Rule {
        id: "I-22",
        severity: Severity::Invalid,
        profiles: ALL,
        title: "A delegate call names one of the method's delegates.",
        why: "The index is looked at only when the call is reached.",
        runtime: "Internal when the call is reached",
        example: "delegate_index 1 in a method with one delegate",
    },
    Rule {
        id: "I-23",
        severity: Severity::Invalid,
        profiles: ALL,
        title: "The condition of a jump is a Bool, or a tensor of bool.",
        why: "Nothing else is true or false.",
        runtime: "InvalidProgram when the jump is reached",
        example: "a jump that depends on an Int",
    },
    Rule {
        id: "I-24",
        severity: Severity::Invalid,
        profiles: ALL,
        title: "A jump leads to an instruction of its chain, or to the chain's end.",
        why: "The destination counts from the chain's first instruction; the number of instructions is its end.",
        runtime: "the chain ends there without a word; running step by step gives Internal for ever",
        example: "a jump to instruction 9 in a chain of 5",
    },
    Rule {
        id: "I-25",
        severity: Severity::Invalid,
        profiles: ALL,
        title: "A move is between values of one kind.",
        why: "Whoever uses the target relies on the kind the file states for it.",
        runtime: "the target becomes what the source is, and the next kernel that uses it aborts",
        example: "a move from a Tensor to an Int",
    },
    Rule {
        id: "I-26",
        severity: Severity::Invalid,
        profiles: ALL,
        title: "Only tensors of unbound shape are freed, and neither inputs nor outputs.",
        why: "All other tensors lie in memory that is not theirs alone.",
        runtime: "InvalidType for what is no tensor; a tensor loses its memory, and the next kernel that uses it may crash",
        example: "a free of a planned tensor",
    },
    Rule {
        id: "X-1",
        severity: Severity::Suspicious,
        profiles: ALL,
        title: "A tensor is written before it is read.",
        why: "Before, it has the content that another tensor left there: its memory is not its own, so it is no state either.",
        runtime: "the result depends on what was in memory",
        example: "a kernel that reads t, where t is written by a later one, and its memory is used by u, too",
    },
    Rule {
        id: "X-2",
        severity: Severity::Suspicious,
        profiles: ALL,
        title: "An output is written, or is an input, a constant or state.",
        why: "Otherwise the caller gets what happened to be in memory.",
        runtime: "the output is whatever was there",
        example: "an output that no instruction mentions",
    },
    Rule {
        id: "X-3",
        severity: Severity::Invalid,
        profiles: ALL,
        title: "A tensor that instructions use has memory.",
        why: "Without a plan and without data, only inputs, outputs and named tensors get memory from the caller.",
        runtime: "a null pointer goes to the kernel, which refuses it or crashes",
        example: "a tensor between two kernels with `memory: none`",
    },
    Rule {
        id: "X-4",
        severity: Severity::Suspicious,
        profiles: ALL,
        title: "Memory is not overwritten while a tensor in it is still to be read.",
        why: "Tensors may share memory only if they are not needed at the same time.",
        runtime: "the later read sees the bytes of the other tensor",
        example: "a at 0..64 and b at 32..96 of one pool: a is written, b is written, a is read",
    },
    Rule {
        id: "X-5",
        severity: Severity::Note,
        profiles: ALL,
        title: "A tensor in the very place of another one that is still to be read is its view.",
        why: "A planner's mistake and a view look the same in a file if both begin at the same byte.",
        runtime: "both tensors have the bytes that were written last",
        example: "a and b at byte 0 of one pool: a is written, b is written, a is read",
    },
    Rule {
        id: "X-6",
        severity: Severity::Suspicious,
        profiles: ALL,
        title: "The results of a call do not share bytes.",
        why: "One of them is lost.",
        runtime: "the result that is written last wins",
        example: "aten::topk.values with values and indices at the same offset",
    },
    Rule {
        id: "X-7",
        severity: Severity::Invalid,
        profiles: ALL,
        title: "A constant is not written.",
        why: "Constants are used where the file has them, and files are mapped read-only.",
        runtime: "a crash if the file is mapped, otherwise every later execution uses the changed constant",
        example: "aten::add.out whose out has data and no planned memory",
    },
    Rule {
        id: "X-8",
        severity: Severity::Suspicious,
        profiles: ALL,
        title: "An input is not the out of a kernel.",
        why: "The caller's own tensor may be what is written. Operators that work in place say so.",
        runtime: "the caller's memory changes, if the input is not planned",
        example: "aten::relu.out with an input as its out",
    },
    Rule {
        id: "X-9",
        severity: Severity::Suspicious,
        profiles: ALL,
        title: "Every instruction can be reached.",
        why: "What follows a jump that is always taken, and has no jump to it, never runs.",
        runtime: "the instructions are loaded, their kernels must exist, and they never run",
        example: "a jump to the end on a Bool that is always false, with instructions behind it",
    },
    Rule {
        id: "X-10",
        severity: Severity::Invalid,
        profiles: ALL,
        title: "From every instruction there is a way to the end.",
        why: "A loop that nothing leaves goes on until the runtime gives up.",
        runtime: "InvalidProgram after 10,000,000 instructions",
        example: "a jump to itself on a Bool that is always false",
    },
    Rule {
        id: "X-11",
        severity: Severity::Suspicious,
        profiles: ALL,
        title: "A loop changes what its condition depends on.",
        why: "If it turns once, it turns for ever.",
        runtime: "InvalidProgram after 10,000,000 instructions, if the loop turns at all",
        example: "a jump back on a Bool that is computed in front of the loop",
    },
    Rule {
        id: "X-12",
        severity: Severity::Note,
        profiles: ALL,
        title: "Outputs are different values.",
        why: "The caller gets the same tensor twice.",
        runtime: "nothing; both outputs share memory",
        example: "outputs [y, y]",
    },
    Rule {
        id: "X-13",
        severity: Severity::Note,
        profiles: ALL,
        title: "Tensors with data are used.",
        why: "They make the file larger for nothing.",
        runtime: "the data are loaded, and state is copied, for nothing",
        example: "a weight that no instruction has among its arguments",
    },
    Rule {
        id: "X-14",
        severity: Severity::Note,
        profiles: ALL,
        title: "Values are used.",
        why: "Each takes room when the method is loaded. The exporter leaves some.",
        runtime: "the values are loaded and never used",
        example: "an Int that nothing refers to",
    },
    Rule {
        id: "X-15",
        severity: Severity::Suspicious,
        profiles: ALL,
        title: "A delegate is called.",
        why: "It is initialised when the method is loaded, however long that takes.",
        runtime: "the delegate is initialised and never run",
        example: "a delegate without a delegate call",
    },
    Rule {
        id: "X-16",
        severity: Severity::Note,
        profiles: ALL,
        title: "Named data have a delegate that can ask for them.",
        why: "Nothing else looks data up by their key in a .pte.",
        runtime: "nothing asks for the data",
        example: "`named_data` in a program without delegates",
    },
    Rule {
        id: "X-17",
        severity: Severity::Note,
        profiles: ALL,
        title: "State with initial data is read.",
        why: "Initial data that the first execution overwrites have no effect.",
        runtime: "the data are copied when the method is loaded, and overwritten",
        example: "a mutable tensor with data that is only ever an out",
    },
    Rule {
        id: "X-18",
        severity: Severity::Note,
        profiles: ALL,
        title: "Lists are used a reasonable number of times.",
        why: "Items of lists are followed each time a list is used, within bounds.",
        runtime: "nothing",
        example: "a list of 10,000 tensors that is an argument of 10,000 calls",
    },
    Rule {
        id: "X-19",
        severity: Severity::Note,
        profiles: ALL,
        title: "State is written by some method.",
        why: "A tensor without data that is read and never written stays as the runtime found its memory.",
        runtime: "it reads zeros, if the application clears planned memory",
        example: "a mutable tensor without data that every instruction only reads",
    },
    // End of operators, execution and meaning.
];

/// The rule with this id, and its place in the table.
pub fn find(id: &str) -> Option<(usize, &'static Rule)> {
    RULES.iter().enumerate().find(|(_, rule)| rule.id == id)
}
