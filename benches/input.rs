//! Generated sources, and interleaved measurements.

use std::time::{Duration, Instant};

use pte_yaml::tree;

/// What the results of a chain of operators say about themselves.
#[derive(Clone, Copy, PartialEq)]
pub enum Results {
    /// They are declared, and compared with what the operator gives.
    Declared,
    /// They are declared, and nothing is known of the operator: nothing is inferred.
    Unknown,
    /// They are not declared, as in what `dump` prints.
    Inferred,
}

/// YAML of a chain of `count` operators on `count + 1` declared tensors.
pub fn yaml(count: usize) -> String {
    chain(count, Results::Declared)
}

/// YAML of a chain of `count` operators on `count + 1` tensors.
pub fn chain(count: usize, results: Results) -> String {
    let mut text = String::from("methods:\n  forward:\n    values:\n");
    let declared = if results == Results::Inferred { 0 } else { count };
    for i in 0..=declared {
        text += &format!("      t{i}: {{tensor: float32, sizes: [4, 8], dim_order: [0, 1], dynamism: static}}\n");
    }
    text += &format!("    inputs: [t0]\n    outputs: [t{count}]\n    instructions:\n");
    let operator = if results == Results::Unknown { "bench::add.out" } else { "aten::add.out" };
    for i in 0..count {
        let next = i + 1;
        text +=
            &format!("      - {{kernel: {operator}, args: [t{i}, t{i}, 1], out: t{next}}}  # step {i} of the chain\n");
    }
    text
}

/// Converts YAML to JSON.
pub fn json(yaml: &str) -> String {
    serde_json::Value::from(&tree::parse(yaml).expect("valid YAML")).to_string()
}

/// Reads the events of YAML, and drops them.
pub fn events(yaml: &str) {
    let options = granit_parser::options! { emit_comments: false, simple_key_max_lookahead: 1 << 16 };
    for event in granit_parser::Parser::new_from_str_with_options(yaml, options) {
        std::hint::black_box(event.expect("valid YAML"));
    }
}

/// Name and function to measure.
pub type Case<'a> = (&'a str, Box<dyn FnMut() + 'a>);

/// Runs the cases in rounds, every other one in reverse order, so that side effects of a case (such as freed memory) do
/// not always affect the same one. Returns the median time of each.
pub fn interleaved(rounds: usize, cases: &mut [Case<'_>]) -> Vec<Duration> {
    let mut times = vec![Vec::with_capacity(rounds); cases.len()];
    for round in 0..rounds {
        let mut order: Vec<usize> = (0..cases.len()).collect();
        if round % 2 == 1 {
            order.reverse();
        }
        for index in order {
            let start = Instant::now();
            cases[index].1();
            times[index].push(start.elapsed());
        }
    }
    times.iter_mut().for_each(|times| times.sort());
    times.iter().map(|times| times[times.len() / 2]).collect()
}

/// Prints a table of times with their ratios to a baseline.
pub fn print(title: &str, baseline: Duration, rows: &[(&str, Duration)]) {
    println!("\n{title}");
    for (name, time) in rows {
        let ratio = time.as_secs_f64() / baseline.as_secs_f64();
        println!("  {name:<44} {:>10.3} ms  {ratio:>6.2}", time.as_secs_f64() * 1e3);
    }
}
