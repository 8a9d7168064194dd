//! Texts to measure with, and measuring in turn.

use std::time::{Duration, Instant};

/// A chain of `count` operators on `count + 1` tensors.
pub fn yaml(count: usize) -> String {
    let mut text = String::from("methods:\n  forward:\n    values:\n");
    for i in 0..=count {
        text += &format!(
            "      t{i}: {{tensor: float32, sizes: [{}, {}], dim_order: [0, 1], dynamism: static}}\n",
            1 + i % 7,
            4 + i % 5
        );
    }
    text += &format!("    inputs: [t0]\n    outputs: [t{count}]\n    instructions:\n");
    for i in 0..count {
        let next = i + 1;
        text += &format!(
            "      - {{kernel: aten::add.out, args: [t{i}, t{i}, 1], out: t{next}}}  # step {i} of the chain\n"
        );
    }
    text
}

/// The same text as JSON.
pub fn json(yaml: &str) -> String {
    let value: serde_json::Value = serde_saphyr::from_str_with_options(yaml, unlimited()).expect("the text is ours");
    serde_json::to_string(&value).expect("it is a tree")
}

fn unlimited() -> serde_saphyr::Options {
    let budget =
        serde_saphyr::budget! { max_events: usize::MAX, max_nodes: usize::MAX, max_total_scalar_bytes: usize::MAX };
    serde_saphyr::options! { budget: budget, with_snippet: false }
}

/// A name and what to measure.
pub type Case<'a> = (&'a str, Box<dyn FnMut() + 'a>);

/// Runs the cases one after the other, again and again, every other time backwards: what a case leaves behind (memory that was just
/// freed, say) is not always the same one's to use. Gives the median time of each.
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

/// A table of times, each with its ratio to a baseline.
pub fn print(title: &str, baseline: Duration, rows: &[(&str, Duration)]) {
    println!("\n{title}");
    for (name, time) in rows {
        let ratio = time.as_secs_f64() / baseline.as_secs_f64();
        println!("  {name:<44} {:>10.3} ms  {ratio:>6.2}", time.as_secs_f64() * 1e3);
    }
}
