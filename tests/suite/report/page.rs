//! What a person sees of a report in a browser, at 1400 x 900 and on a phone: positions, sizes and texts of what is
//! visible, not pixels.

use pte_emit::{
    Model,
    inspect::{ReportFormat, ReportOptions},
};
use serde_json::{Value, json};

use super::models::{chain, delegated, uneven, unknown_operators};
use super::{browse, formatted};
use crate::support::root;

/// Sizes of the window.
const SIZES: [(u32, u32); 2] = [(1400, 900), (400, 800)];

/// Functions in JavaScript for the steps.
const FUNCTIONS: &str = "
window.inside = (e, frame) => { const [a, b] = [e.getBoundingClientRect(), frame.getBoundingClientRect()];
  return a.width > 0 && a.left >= b.left - 1 && a.right <= b.right + 1 && a.top >= Math.max(b.top, 0) - 1
    && a.bottom <= Math.min(b.bottom, innerHeight) + 1; };
window.all = (selector) => [...document.querySelectorAll(selector)];
window.graphView = () => document.querySelector('#graph .view');
window.seen = (selector) => all(selector).filter((e) => inside(e, graphView())).length;
window.fonts = (selector) => all(selector).filter((e) => e.getClientRects().length > 0)
  .map((e) => parseFloat(getComputedStyle(e).fontSize) * (e.getScreenCTM?.().a ?? 1));
window.smallest = (selector) => fonts(selector).reduce((least, size) => Math.min(least, size), 99);
window.texts = (selector) => all(selector).map((e) => e.textContent);
window.shownGraph = () => { document.getElementById('graph').scrollIntoView(); return true; };
window.rgb = (text) => (text.match(/[\\d.]+/g) ?? []).slice(0, 3).map(Number);
0";

fn is(expression: &str, expected: impl Into<Value>) -> Value {
    json!(["eval", expression, expected.into()])
}

fn least(expression: &str, number: f64) -> Value {
    json!(["min", expression, number])
}

const FIT: &str = "button[title='Show all of the graph']";
const CLOSE: &str = "button[title='Close all groups and payloads']";
const ZOOM_OUT: &str = "button[title='Zoom out']";

fn page(model: &Model) -> String {
    formatted(model, ReportFormat::Html).unwrap_or_else(|error| panic!("{error}"))
}

fn with_statistics(model: &Model) -> String {
    let options = ReportOptions::default().data_statistics(true);
    model.report(None, &options).unwrap_or_else(|error| panic!("{error}"))
}

/// A page and what is judged of it, at both sizes of the window.
fn judge(name: &str, page: &str, steps: impl Fn(u32) -> Vec<Value>) {
    let jobs = SIZES.map(|(width, height)| {
        let steps = [vec![is(FUNCTIONS, 0)], steps(width)].concat();
        let jobs = json!({"size": [width, height], "steps": steps});
        (format!("{name}-{width}.html"), page.to_owned(), jobs)
    });
    browse(jobs.into_iter().collect());
}

/// All of the picture is in the view, and its texts can be read.
fn is_whole() -> Vec<Value> {
    vec![
        is("shownGraph()", true),
        least("smallest('#graph .node text')", 9.0),
        least("smallest('#graph .types text')", 9.0),
        is("seen('#graph .node rect') - all('#graph .node rect').length", 0),
        is("document.querySelector('.overview').getClientRects().length", 0),
    ]
}

#[test]
#[ignore = "needs Chromium and Python"]
fn chains_of_any_length_are_seen_as_a_whole() {
    for count in [20, 300, 3000] {
        judge(&format!("chain{count}"), &page(&chain(count)), |width| {
            let nodes = if width < 600 { 20 } else { count.min(200) };
            let mut steps = is_whole();
            steps.push(least("all('#graph .node').length", nodes as f64));
            steps.push(json!(["click", FIT]));
            steps.extend(is_whole());
            // What is closed says what it has, and opens.
            if count > 20 {
                steps.push(is("texts('#graph .node.group').every((text) => /\\d+ to \\d+/.test(text))", true));
            }
            // Text is legible at every zoom.
            steps.extend((0..12).map(|_| json!(["click", ZOOM_OUT])));
            steps.push(least("smallest('#graph .node text')", 9.0));
            // Of a larger picture than the view, the map shows where it is.
            steps.push(json!(["click", "button[title='Open all groups']"]));
            steps.push(least("smallest('#graph .node text')", 9.0));
            if count >= 300 && width < 600 {
                steps.push(is("shownGraph()", true));
                steps.push(is("document.querySelector('.overview').getClientRects().length", 1));
                steps.push(is("inside(document.querySelector('.overview'), graphView())", true));
                let place = "document.querySelector('#graph .view > svg > g').getAttribute('transform')";
                steps.push(is(&format!("(window.before = {place}, 0)"), 0));
                steps.push(json!(["at", ".overview", 0.9, 0.9]));
                steps.push(is(&format!("window.before === {place}"), false));
            }
            steps
        });
    }
}

#[test]
#[ignore = "needs Chromium and Python"]
fn delegated_models_begin_with_the_operations_of_the_delegate() {
    for (blocks, copies) in [(2, 6), (42, 16)] {
        judge(&format!("delegated{blocks}"), &page(&delegated(blocks, copies)), |width| {
            let operations = if blocks == 2 {
                14
            } else if width < 600 {
                8
            } else {
                40
            };
            let mut steps = vec![
                is("shownGraph()", true),
                is("seen('#graph .node.delegate rect')", 1),
                is("all('#graph .node.inner').length", 7 * blocks),
                least("seen('#graph .node.inner rect')", f64::from(operations)),
                least("smallest('#graph .node text')", 9.0),
                is(
                    "texts('#graph .node.inner').slice(0, 3).map((t) => /conv2d|clamp/.test(t)).join()",
                    "true,true,true",
                ),
            ];
            if blocks == 42 {
                steps.push(is("inside(document.querySelector('.overview'), graphView())", true));
            }
            steps.push(json!(["click", FIT]));
            steps.extend(is_whole());
            steps.push(is("seen('#graph .node.delegate rect')", 1));
            steps
        });
    }
}

#[test]
#[ignore = "needs Chromium and Python"]
fn payloads_of_thousands_of_operations_are_blocks() {
    judge("delegated3000", &page(&delegated(430, 16)), |_| {
        let mut steps = is_whole();
        steps.push(is("seen('#graph .node.delegate rect')", 1));
        steps.push(least("all('#graph .node.group').length", 10.0));
        steps.push(json!(["type", "#graph input[type=search]", "depthwise"]));
        steps.push(is("document.querySelector('#graph .bar .quiet').textContent", "430\u{a0}hits"));
        steps
    });
}

#[test]
#[ignore = "needs Chromium and Python"]
fn search_finds_operations_of_closed_payloads_and_values() {
    judge("search", &page(&delegated(42, 16)), |_| {
        vec![
            json!(["click", CLOSE]),
            is("all('#graph .node.inner').length", 0),
            json!(["type", "#graph input[type=search]", "depthwise"]),
            is("texts('.hits bdi').slice(0, 2).join()", "depthwise_conv2d,depthwise_conv2d"),
            is("texts('.hits li')[0].includes('operation 2 of the payload of instruction 16')", true),
            // What is closed is marked.
            is("all('#graph .node.delegate.found, #graph .node.group.found').length", 1),
            json!(["click", ".hits li:nth-child(2) button"]),
            is("document.querySelector('.detail h3').textContent", "depthwise_conv2d"),
            is("document.querySelector('.detail').textContent.includes('9 of the payload of instruction 16')", true),
            is("(shownGraph(), seen('.node.chosen rect'))", 1),
            least("all('#graph .node.inner').length", 10.0),
            is("texts('.hits li.current').length", 1),
            json!(["eval", "document.querySelector('#graph input[type=search]').value = ''", ""]),
            json!(["type", "#graph input[type=search]", "state3"]),
            is("texts('.hits li').some((text) => text.startsWith('state3 value '))", true),
            json!(["key", "Enter"]),
            is("document.querySelector('.detail').textContent.includes('state3')", true),
        ]
    });
}

#[test]
#[ignore = "needs Chromium and Python"]
fn loops_go_back_and_jumps_say_when() {
    let source = Model::open(root().join("examples/loop.yaml")).unwrap();
    judge("loop", &page(&source), |_| {
        let ends = "((path) => { const e = path.getTotalLength(); const [a, b] = [path.getPointAtLength(0), path.getPointAtLength(e)]; return b.y - a.y; })";
        vec![
            // The jump, and the counter of the next iteration.
            is("all('.edge.back[data-from=n7][data-to=n3]').length", 1),
            is("all('.edge.back[data-from=n6][data-to=n3]').length", 1),
            is(&format!("{ends}(document.querySelector('.edge.back[data-from=n7] path')) < 0"), true),
            is("texts('.edge[data-from=n7] title').join().includes('if false')", false),
            is("texts('.edge.jump[data-from=n4] title').join().includes('if false')", true),
            json!(["click", "[data-key=n7]"]),
            is("document.querySelector('.detail').textContent.includes('jumps toinstruction 3')", true),
            is("document.querySelector('.detail').textContent.includes('if false')", false),
        ]
    });
}

#[test]
#[ignore = "needs Chromium and Python"]
fn parts_of_the_treemap_begin_with_what_differs() {
    judge("size", &page(&delegated(2, 2)), |width| {
        let mut steps = vec![
            is("document.querySelector('#size select').value", "tensor"),
            is("texts('.map text').filter((text) => /^segment \\d|methods\\./.test(text)).length", 0),
            is(
                "all('.map g[role=button]').some((e) => e.getAttribute('aria-label').includes(' / conv2d_0 filter: '))",
                true,
            ),
            is(
                "all('.map g').every((g) => [...g.querySelectorAll('text')].every((t) => t.getBoundingClientRect().right <= g.querySelector('rect').getBoundingClientRect().right + 2))",
                true,
            ),
            least("smallest('.map text')", 9.0),
            json!(["choose", "#size select", "layer"]),
            is("texts('.map text').some((text) => /^conv2d_0/.test(text) || /^0/.test(text))", true),
            is(
                "all('.map g[role=button]').some((e) => e.getAttribute('aria-label').includes(' / conv2d_0 / conv2d_0 bias: '))",
                true,
            ),
            json!(["choose", "#size select", "segment"]),
            is("texts('.map text').some((text) => /^segment|^FlatB/.test(text))", true),
            is("document.documentElement.scrollWidth", width),
        ];
        if width > 600 {
            let size = "texts('.map text').some((text) => / B$| KiB$/.test(text.replace('\\u00a0', ' ')))";
            steps.insert(5, is("texts('.map text').some((text) => /^conv2d_\\d+ filter/.test(text))", true));
            steps.insert(6, is(size, true));
        }
        steps
    });
}

#[test]
#[ignore = "needs Chromium and Python"]
fn small_tensors_of_a_memory_plan_are_visible() {
    judge("memory", &page(&uneven()), |_| {
        let boxes = "all('.plan .tensor').map((e) => e.getBoundingClientRect())";
        vec![
            is("(document.querySelector('#memory').scrollIntoView(), 0)", 0),
            least("all('.plan .tensor').length", 20.0),
            is(&format!("{boxes}.every((b) => b.height >= 2 && b.width >= 2)"), true),
            // The colour differs from the background.
            is(
                "all('.plan .tensor').every((e) => { const [a, b] = [rgb(getComputedStyle(e).fill), rgb(getComputedStyle(e.closest('svg')).backgroundColor)]; return a.reduce((sum, c, i) => sum + Math.abs(c - b[i]), 0) > 120; })",
                true,
            ),
            // On the scale by bytes, the others are lines.
            json!(["choose", "#memory .bar select", "linear"]),
            is(&format!("{boxes}.every((b) => b.height >= 2)"), true),
            json!(["choose", "#memory .bar select", "logarithmic"]),
            least(&format!("{boxes}.filter((b) => b.height >= 8).length"), 20.0),
            json!(["hover", ".plan .tensor[aria-label^='large: ']"]),
            is("document.querySelector('.tip').hidden", false),
            is(
                "document.querySelector('.tip').textContent.includes('large') && document.querySelector('.tip').textContent.includes('float32 [1048576], 4\u{a0}194\u{a0}304\u{a0}bytes')",
                true,
            ),
            is("inside(document.querySelector('.tip'), document.documentElement)", true),
            // Dragging enlarges an area.
            is(&format!("(window.widest = Math.max(...{boxes}.slice(1).map((b) => b.width)), 0)"), 0),
            json!(["drag", ".plan", 0.4, 0.2, 0.6, 0.8]),
            least(&format!("Math.max(...{boxes}.map((b) => b.width)) / window.widest"), 1.5),
            json!(["click", "#memory .bar button:last-of-type"]),
            least("all('.plan .tensor').length", 20.0),
            // Links lead both ways.
            json!(["click", ".plan .tensor[aria-label^='x7: ']"]),
            json!(["click", "#memory .line button"]),
            is("document.querySelector('.detail').textContent.includes('x7')", true),
            is(
                "(window.link = all('.detail dd button').find((b) => b.closest('dd').previousSibling.textContent === 'x7'), link.textContent)",
                "memory plan",
            ),
            is(
                "(link.click(), document.querySelector('.plan .tensor.chosen').getAttribute('aria-label').split(':')[0])",
                "x7",
            ),
        ]
    });
    let source = Model::open(root().join("examples/methods.yaml")).unwrap();
    judge("pools", &page(&source), |_| {
        vec![
            is("texts('#memory tbody td:first-child').join()", "forward,forward2"),
            json!(["click", "#memory tbody tr:nth-child(2) button"]),
            is("document.querySelector('#memory .bar:not(:has(input)) select').selectedIndex", 1),
        ]
    });
}

#[test]
#[ignore = "needs Chromium and Python"]
fn findings_are_grouped_by_rule_and_layout_is_not_meaning() {
    let source = unknown_operators();
    let findings = source.check(&pte_emit::check::CheckOptions::default()).unwrap().remove(0).1;
    let rules: std::collections::BTreeSet<String> =
        findings.list.iter().map(|found| found.rule.id.to_string()).collect();
    judge("findings", &page(&source), |_| {
        vec![
            is("all('#findings details.rule').length", rules.len()),
            is("new Set(texts('#findings details.rule summary b')).size", rules.len()),
            is("texts('#findings details.rule summary').some((text) => /3\\d\u{a0}findings/.test(text))", true),
        ]
    });
    let yaml = std::fs::read_to_string(root().join("examples/memory.yaml")).unwrap();
    let before = Model::from_yaml("before.yaml", &yaml, ".");
    let now = Model::from_yaml("now.yaml", yaml.replace("offset: 64", "offset: 256"), ".");
    let both = now.report(Some(&before), &ReportOptions::default()).unwrap();
    judge("layout", &both, |_| {
        vec![
            is("all('#changes details.area-layout').length", 1),
            is("all('#changes details.area-layout[open]').length", 0),
            is("all('#changes tr.changed, #changes tr.added').length", 0),
            is("all('#graph .node.changed').length", 0),
            least("all('#graph .node.placed').length", 1.0),
        ]
    });
}

#[test]
#[ignore = "needs Chromium and Python"]
fn headings_show_that_they_sort() {
    judge("headings", &page(&delegated(2, 2)), |_| {
        let mark = "getComputedStyle(document.querySelector('#tensors th:nth-child(6) .sort'), '::after').content";
        let head = "#tensors th:nth-child(6)";
        vec![
            is(&format!("{mark}.includes('\u{21c5}')"), true),
            json!(["at", head, 0.03, 0.9]),
            is("document.querySelector('#tensors th:nth-child(6)').getAttribute('aria-sort')", "descending"),
            is(&format!("{mark}.includes('\u{25bc}')"), true),
            json!(["at", head, 0.97, 0.1]),
            is("document.querySelector('#tensors th:nth-child(6)').getAttribute('aria-sort')", "ascending"),
        ]
    });
}

#[test]
#[ignore = "needs Chromium and Python"]
fn weights_have_statistics_on_request() {
    let source = delegated(2, 2);
    judge("weights", &with_statistics(&source), |_| {
        vec![
            json!(["click", "#weights tbody tr button"]),
            is("document.querySelector('#weights .panel h3').textContent", "conv2d_0 filter"),
            is("texts('#weights .panel dt').join()", "elements,minimum,maximum,mean,zeros"),
            is("texts('#weights .panel dd')[0]", "64"),
            is("all('#weights .histogram rect').length", 40),
            is("Number(texts('#weights .panel dd')[1]) < 0 && Number(texts('#weights .panel dd')[2]) > 0", true),
            least("smallest('.histogram text')", 9.0),
            least("all('#weights .histogram rect').filter((e) => e.getBoundingClientRect().height >= 2).length", 15.0),
            json!(["click", "#weights .panel button"]),
            is("document.querySelector('.detail h3').textContent", "conv2d"),
            is("all('.detail details .histogram').length", 2),
        ]
    });
    judge("unread", &page(&source), |_| {
        vec![
            json!(["click", "#weights tbody tr button"]),
            is("document.querySelector('#weights .panel').textContent.includes('--data-statistics')", true),
            is("all('#weights .histogram').length", 0),
        ]
    });
}
