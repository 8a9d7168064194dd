// Draws the parts in order; each is shown before the next one begins.

const done = (step) => performance.measure(step, { start: started });
const steps = [["summary", summary], ["changes", changesSection], ["graph", graphSection], ["times", timesSection], ["memory", memorySection],
  ["size", sizeSection], ["weights", weightsSection], ["findings", findingsSection], ["tables", tables]];
function next() {
  const [name, step] = steps.shift();
  step();
  done(name);
  if (steps.length > 0) setTimeout(next);
  else {
    // The browser looked for it before there was any section.
    if (location.hash.length > 1) document.getElementById(location.hash.slice(1))?.scrollIntoView();
    document.documentElement.dataset.drawn = "all";
  }
}
next();
