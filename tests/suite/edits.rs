//! Edits by the command line: upgrades of old files, and what the commands say of what they did.

use pretty_assertions::assert_eq;

use crate::support::folder::{Done, Folder};

const OLD: &str = "
methods:
  forward:
    values:
      w: {tensor: float32, data: [[1, 2], [3, 4]]}
      x: {tensor: float32, sizes: [1, 2]}
    inputs: [x]
    outputs: [y]
    instructions:
      - {kernel: aten::mm.out, args: [x, w], out: y}
layout: {constants: inline}
";

/// Folder with `old.pte` and `other.pte`, whose constants are inside the FlatBuffer.
fn old() -> Folder {
    let folder = Folder::new(&[("old.yaml", OLD)]);
    folder.run(&["old.yaml", "-o", "old.pte"]).exits(0).stderr_contains("--for-runtime 1.5.1");
    folder.write("other.pte", folder.read("old.pte"));
    folder
}

#[test]
fn one_command_upgrades_an_old_file() {
    let folder = old();
    let moved = "for ExecuTorch 1.5.1: `constants`: inline -> segment";
    for (arguments, says) in [
        (&["old.pte"][..], moved),
        (&["optimize", "old.pte"], moved),
        (&["bound", "old.pte", "--static"], moved),
        (&["merge", "old.pte", "other.pte", "--prefix", "other:b_"], moved),
    ] {
        let done = folder.run(&[arguments, &["--for-runtime", "1.5.1", "-o", "new.pte"]].concat());
        done.exits(0).stderr_contains(says);
        folder.run(&["check", "new.pte"]).exits(0);
    }
    // What the exporter of the release decides is no conflict between inputs.
    folder.run(&["old.pte", "--for-runtime", "1.5.1", "-o", "new.pte"]).exits(0);
    let merge = ["merge", "old.pte", "new.pte", "--prefix", "new:b_", "-o", "merged.pte"];
    folder.run(&merge).exits(1).stderr_contains("different layouts");
    folder.run(&[&merge[..], &["--for-runtime", "1.5.1"]].concat()).exits(0).stderr_contains(moved);
    folder.run(&["check", "merged.pte"]).exits(0);
}

/// The version is that of the current release.
#[test]
fn refusals_name_the_command_of_an_upgrade() {
    let folder = old();
    let current = pte_emit::release::Release::known().last().unwrap().version();
    let command = format!("`pte-emit FILE.pte -o NEW.pte --for-runtime {current}`");
    for arguments in [&["optimize", "old.pte", "-o", "new.pte"][..], &["strip", "old.pte", "-o", "new.pte"]] {
        folder.run(arguments).exits(1).stderr_contains(&command);
    }
    for arguments in [&["check", "old.pte"][..], &["explain", "P-C1"]] {
        let Done { stdout, .. } = folder.run(arguments);
        assert!(String::from_utf8(stdout).unwrap().contains(&command), "{arguments:?}");
    }
}

/// A binary file is converted to YAML in memory before it is changed. Messages name elements of the program, not lines
/// of this YAML, which the user has never seen.
#[test]
fn messages_about_a_binary_file_have_no_lines() {
    let yaml = OLD.replace("aten::mm.out, args: [x, w]", "aten::bitwise_left_shift.Tensor_out, args: [x, x]");
    let yaml = yaml.replace("float32", "int32").replace("layout: {constants: inline}", "");
    let folder = Folder::new(&[("new.yaml", &yaml)]);
    folder.run(&["new.yaml", "--prune", "-o", "new.pte"]).exits(0);
    let done = folder.run(&["optimize", "new.pte", "--for-runtime", "0.4", "-o", "old.pte"]).exits(1);
    assert!(
        done.stderr.contains("aten::bitwise_left_shift.Tensor_out") && !done.stderr.contains("-->"),
        "{}",
        done.stderr
    );
    assert!(done.stderr.contains("methods.forward"), "{}", done.stderr);
}

/// Three times the same weights, of which two are transposed.
const TIED: &str = "
methods:
  forward:
    values:
      w: {tensor: float32, sizes: [64, 16], data: {fill: 1.5}}
      w2: {tensor: float32, sizes: [64, 16], data: {fill: 1.5}}
      i: {tensor: int64, sizes: [4]}
    inputs: [i]
    outputs: [y]
    instructions:
      - {kernel: aten::embedding.out, args: [w, i, -1, false, false], out: e}
      - {kernel: aten::permute_copy.out, args: [w2, [1, 0]], out: t}
      - {kernel: aten::mm.out, args: [e, t], out: z}
      - {kernel: aten::permute_copy.out, args: [w, [1, 0]], out: t2}
      - {kernel: aten::mm.out, args: [e, t2], out: z2}
      - {kernel: aten::add.out, args: [z, z2, 1], out: y}
";

#[test]
fn optimize_says_what_growth_would_save_and_how_large_the_file_is() {
    let folder = Folder::new(&[("tied.yaml", TIED)]);
    folder.run(&["tied.yaml", "-o", "tied.pte"]).exits(0).stderr_contains("equal data stored once: 4096 bytes saved");
    let done = folder.run(&["optimize", "tied.pte", "-o", "same.pte"]).exits(0).stderr_contains("no changes");
    assert!(!done.stderr.contains("saved"), "{}", done.stderr);
    let (_, rest) = done.stderr.split_once("; `--max-growth ").unwrap();
    let (growth, rest) = rest.split_once("` folds all, for a planned memory of ").unwrap();
    let (least, _) = rest.split_once(" bytes\n").unwrap();
    let done = folder.run(&["optimize", "tied.pte", "--max-growth", growth, "-o", "small.pte"]).exits(0);
    assert!(done.stderr.contains(&format!(" -> {least} bytes (-")), "{least}: {}", done.stderr);
    let [before, after] = ["tied.pte", "small.pte"].map(|name| folder.read(name).len());
    assert!(done.stderr.contains(&format!("program: {before} -> {after} bytes\n")), "{}", done.stderr);
    for claim in ["saved", "smaller", "larger"] {
        assert!(!done.stderr.contains(claim), "{}", done.stderr);
    }
}

/// Folding one of two equal weights that are stored twice saves bytes, folding the other one costs bytes: both count.
#[test]
fn the_growth_that_optimize_names_is_the_least() {
    let yaml = "
methods:
  forward:
    values:
      x: {tensor: float32, sizes: [1, 8]}
      w: {tensor: float32, sizes: [8, 8], data: {random: {seed: 1}}}
      w2: {tensor: float32, sizes: [8, 8], data: {random: {seed: 1}, copy: 1}}
    inputs: [x]
    outputs: [y, z]
    instructions:
      - {kernel: aten::permute_copy.out, args: [w, [1, 0]], out: t}
      - {kernel: aten::mm.out, args: [x, t], out: a}
      - {kernel: aten::mm.out, args: [a, w], out: b}
      - {kernel: aten::mm.out, args: [b, w2], out: y}
      - {kernel: aten::permute_copy.out, args: [w2, [1, 0]], out: t2}
      - {kernel: aten::mm.out, args: [y, t2], out: z}
";
    let folder = Folder::new(&[("twice.yaml", yaml)]);
    folder.run(&["twice.yaml", "-q", "-o", "twice.pte"]).exits(0);
    let stays = |growth: u64| {
        let done = folder.run(&["optimize", "twice.pte", "--max-growth", &growth.to_string(), "--dry-run"]).exits(0);
        let named = done.stderr.split_once("; `--max-growth ").map(|(_, rest)| rest.split_once('`').unwrap().0);
        named.map(|named| named.parse::<u64>().unwrap())
    };
    let least = stays(0).unwrap();
    assert_eq!((stays(least - 1), stays(least)), (Some(least), None));
}

/// In the order that needs less memory, the second call of `neg` repeats the first one.
#[test]
fn optimize_repeats_its_passes_until_nothing_changes() {
    let yaml = "
methods:
  forward:
    values:
      state: {tensor: float32, sizes: [1], mutable: true, data: [0]}
      x: {tensor: float32, sizes: [1]}
      x_1: {tensor: float32, sizes: [1, 1]}
    inputs: [x, x_1]
    outputs: []
    instructions:
      - {view: x_1, sizes: [1], out: view}
      - {move: {from: view, to: merged}}
      - {kernel: aten::neg.out, args: [x], out: neg}
      - {kernel: aten::copy_, args: [state, neg], out: state}
      - {kernel: aten::neg.out, args: [x], out: merged}
";
    let folder = Folder::new(&[("m.yaml", yaml)]);
    folder.run(&["m.yaml", "-q", "-o", "m.pte"]).exits(0);
    folder
        .run(&["optimize", "m.pte", "-o", "once.pte", "--explain"])
        .exits(0)
        .stderr_contains("instruction 1 (aten::neg.out): removed: it repeats an earlier call");
    folder.run(&["optimize", "once.pte", "-o", "twice.pte"]).exits(0).stderr_contains("no changes");
    assert_eq!(folder.read("once.pte"), folder.read("twice.pte"));
}

/// A method with more accesses than `check` follows.
#[test]
fn optimize_only_prunes_a_method_beyond_the_limits_of_check() {
    let names = |prefix: &str, count: usize| (0..count).map(|n| format!("{prefix}{n}")).collect::<Vec<_>>();
    let (inputs, results) = (names("x", 1100), names("y", 1000));
    let declare = |name: &String, size: usize| format!("      {name}: {{tensor: float32, sizes: [{size}]}}\n");
    let values: String = inputs.iter().map(|name| declare(name, 1)).collect();
    let values = values + &results.iter().map(|name| declare(name, inputs.len())).collect::<String>();
    let calls: String = results
        .iter()
        .map(|name| format!("      - {{kernel: aten::cat.out, args: [all, 0], out: {name}}}\n"))
        .collect();
    let (list, used) = (inputs.join(", "), results[..results.len() - 1].join(", "));
    let yaml = format!(
        "methods:\n  forward:\n    values:\n{values}      all: {{tensor_list: [{list}]}}\n    inputs: [{list}]\n    \
         outputs: [{used}]\n    instructions:\n{calls}"
    );
    let folder = Folder::new(&[("large.yaml", &yaml)]);
    folder.run(&["large.yaml", "-o", "large.pte"]).exits(0).stderr_contains("[X-18]");
    let done = folder.run(&["optimize", "large.pte", "-o", "pruned.pte"]).exits(0);
    done.stderr_contains("1000 -> 999 instructions").stderr_contains("warning: large.pte: invalid[X-18]");
}

/// The graph of a program after the exporter's `constant_prop_pass`: what it clones comes before the inputs.
#[test]
fn a_program_whose_calls_come_before_its_inputs_is_planned_again() {
    let yaml = "
methods:
  forward:
    values:
      w: {tensor: float32, data: [[1, 2], [3, 4]], index: 0}
      flag: {bool: false, index: 1}
      c: {tensor: float32, sizes: [2, 2], index: 3}
      x: {tensor: float32, sizes: [1, 2], index: 4}
    inputs: [x]
    outputs: [y, c]
    instructions:
      - {kernel: 'dim_order_ops::_clone_dim_order.out', args: [w, flag, null], out: c}
      - {kernel: aten::mm.out, args: [x, c], out: z}
      - {kernel: aten::relu.out, args: [z], out: y}
";
    let folder = Folder::new(&[("p.yaml", yaml)]);
    folder.run(&["p.yaml", "-o", "p.pte"]).exits(0);
    folder.run(&["dump", "p.pte", "-o", "d.yaml"]).exits(0);
    let printed = String::from_utf8(folder.read("d.yaml")).unwrap();
    assert!(!printed.contains("Every property") && !printed.contains("offset"), "{printed}");
    let done = folder.run(&["optimize", "p.pte", "-o", "o.pte"]).exits(0);
    assert!(!done.stderr.contains("the memory plan stays") && done.stderr.contains("alive at once"), "{}", done.stderr);
}

#[test]
fn a_ptd_that_is_replaced_is_no_duplicate() {
    let folder = Folder::new(&[("w.yaml", &OLD.replace("layout: {constants: inline}", ""))]);
    folder.run(&["w.yaml", "--external-data", "-o", "w.pte"]).exits(0);
    let again = ["w.pte", "--with", "w.ptd", "--external-data", "-o", "new/"];
    let done = folder.run(&again).exits(0);
    assert!(!done.stderr.contains("warning"), "{}", done.stderr);
    assert_eq!(folder.read("new/w.ptd"), folder.read("w.ptd"));
    // Both files would be loaded.
    let own = "named_data: {w: {tensor: float32, data: [7]}}";
    folder.write("own.yaml", own);
    folder.run(&["own.yaml", "-o", "own.ptd"]).exits(0);
    folder.run(&["check", "w.pte", "--with", "w.ptd", "--with", "own.ptd"]).exits(1);
}

#[test]
fn the_alignment_of_segments_survives_external_and_back() {
    for layout in ["", "layout: {segment_alignment: 4096}"] {
        let folder = Folder::new(&[("w.yaml", &OLD.replace("layout: {constants: inline}", layout))]);
        folder.run(&["w.yaml", "-o", "w.pte"]).exits(0);
        folder.run(&["w.pte", "--external-data", "-o", "external.pte"]).exits(0);
        folder.run(&["external.pte", "--with", "external.ptd", "--internal-data", "-o", "back.pte"]).exits(0);
        assert!(folder.read("back.pte") == folder.read("w.pte"), "{layout}");
    }
}

#[test]
fn equal_old_weights_are_ambiguous() {
    let bias = |name: &str, data: &str| format!("  {name}: {{tensor: float32, data: {data}}}\n");
    let file = |a: &str, b: &str| format!("named_data:\n{}{}", bias("a", a), bias("b", b));
    let program = "
methods:
  forward:
    values: {p: {tensor: float32, data: [0, 0]}, q: {tensor: float32, data: [0, 0]}, x: {tensor: float32, sizes: [2]}}
    inputs: [x]
    outputs: [z]
    instructions: [{kernel: aten::add.out, args: [x, p, 1], out: y}, {kernel: aten::mul.out, args: [y, q], out: z}]
";
    let folder = Folder::new(&[("p.yaml", program)]);
    for (name, text) in
        [("old", file("[0, 0]", "[0, 0]")), ("new", file("[1, 2]", "[3, 4]")), ("tied", file("[5, 6]", "[5, 6]"))]
    {
        folder.write(&format!("{name}.yaml"), text);
        folder.run(&[&format!("{name}.yaml"), "-o", &format!("{name}.safetensors")]).exits(0);
    }
    let set =
        |from: &'static str| ["weights", "set", "p.yaml", "--like", "old.safetensors", "--from", from, "-o", "n.pte"];
    let done = folder.run(&set("new.safetensors")).exits(1);
    done.stderr_contains(
        "the source of the constant `p` (float32 [2]) is ambiguous: its old bytes are those of `a`, `b`",
    );
    folder.run(&[&set("new.safetensors")[..], &["--map", "p=a", "--map", "q=b"]].concat()).exits(0);
    // The new bytes are equal, too.
    folder.run(&set("tied.safetensors")).exits(0).stderr_contains("set 2 constants");
}

/// Of a square matrix, the order of its dimensions is unknown if its transposition has the same bytes.
#[test]
fn a_symmetric_old_matrix_is_ambiguous() {
    let file = |data: &str| format!("named_data: {{w: {{tensor: float32, data: {data}}}}}");
    let folder = Folder::new(&[(
        "p.yaml",
        &OLD.replace("[[1, 2], [3, 4]]", "[[1, 2], [2, 1]]").replace("w:", "v:").replace("w]", "v]"),
    )]);
    for (name, data) in [("old", "[[1, 2], [2, 1]]"), ("new", "[[1, 2], [3, 4]]")] {
        folder.write(&format!("{name}.yaml"), file(data));
        folder.run(&[&format!("{name}.yaml"), "-o", &format!("{name}.safetensors")]).exits(0);
    }
    let set = ["weights", "set", "p.yaml", "--like", "old.safetensors", "--from", "new.safetensors", "-o", "n.pte"];
    folder.run(&set).exits(1).stderr_contains("its old bytes are those of `w` and of its transposition");
}
