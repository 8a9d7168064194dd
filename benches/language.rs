//! Time of the language server after a key in a chain of calls, with ratios to parsing the text. docs/performance.md
//! has the figures. There are no thresholds. An argument selects the cases whose names contain it.

// Shared with the other benchmarks.
#[allow(dead_code)]
mod input;

use std::hint::black_box;
use std::thread;

use input::{Case, Results, chain, interleaved, print};
use pte_emit::language::{Analysis, LanguageOptions};
use pte_yaml::tree;

fn main() {
    for (count, rounds) in [(2_000, 15), (100_000, 3)] {
        let text = chain(count, Results::Inferred);
        // As it is while a call is typed in the middle.
        let middle = text.find(&format!("out: t{}}}", count / 2)).expect("the text has this call");
        let half = format!("{}\n{}", &text[..middle], &text[middle + 12..]);
        let options = LanguageOptions::default().hint_memory(true);
        let new = |text: &str| Analysis::new("bench.yaml", text, "", &options);
        // The server drops an analysis in a thread of its own.
        let messages = |text: &str| {
            let analysis = new(text);
            _ = black_box(analysis.diagnostics());
            thread::spawn(move || drop(analysis));
        };
        let whole = new(&text);
        whole.diagnostics();
        let screen = middle..middle + 4000;
        let mut cases: Vec<Case<'_>> = vec![
            ("parse", Box::new(|| drop(black_box(tree::parse_with_ranges(&text))))),
            ("messages after a key", Box::new(|| messages(&text))),
            ("messages of half a call", Box::new(|| messages(&half))),
            ("completion", Box::new(|| drop(black_box(whole.completions(middle))))),
            ("hover", Box::new(|| drop(black_box(whole.hover(middle + 6))))),
            ("signature", Box::new(|| drop(black_box(whole.signature(middle - 6))))),
            ("references", Box::new(|| drop(black_box(whole.references(middle + 6))))),
            ("rename", Box::new(|| drop(black_box(whole.rename(middle + 6, "new"))))),
            ("hints of a screen", Box::new(|| drop(black_box(whole.hints(screen.clone()))))),
            ("outline", Box::new(|| drop(black_box(whole.symbols())))),
            ("folding", Box::new(|| drop(black_box(whole.folding())))),
            ("tokens", Box::new(|| drop(black_box(whole.tokens())))),
            ("actions", Box::new(|| drop(black_box(whole.actions(middle..middle))))),
        ];
        let selected = std::env::args().skip(1).find(|argument| !argument.starts_with('-')).unwrap_or_default();
        cases.retain(|(name, _)| *name == "parse" || name.contains(&*selected));
        let times = interleaved(rounds, &mut cases);
        let rows: Vec<_> = cases.iter().map(|(name, _)| *name).zip(times.iter().copied()).collect();
        print(&format!("{count} calls, {} KiB", text.len() >> 10), times[0], &rows);
    }
}
