// Draws a report. The data are JSON in the element `data`: `name`; `files`, each with `name`, `contents` (as
// `inspect --json`), `size` and
// `tensors` (as `size --json`, by segment and by tensor), `findings` and `truncated` (as `check --json`); `memory` (as
// `memory --json`), `graph` and `error`; with an older file `before`, its name, and `changes` (as `diff --json`) or `comparison_error`;
// with --etdump, `profile` (as `profile --json`). Text
// of the data becomes text nodes only. Layouts are those of dagre and d3-hierarchy; a large graph is placed in rows.

const data = JSON.parse(document.getElementById("data").textContent);
const started = performance.now();
