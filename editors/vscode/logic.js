// What the extension computes, without the editor: which files are programs, and findings of `pte-emit check` as ranges
// of a text.
'use strict';

// Names of files that are programs or weights.
const NAME = /\.(pte|ptd)\.ya?ml$/i;

// The line by which `pte-emit dump` names the schema; the examples of the repository name the file beside them.
const SCHEMA_LINE = /^#\s*yaml-language-server:\s*\$schema=\S*pte-emit\.schema\.json\s*$/m;

// Returns true for a file that `check` is run on: by its name, or by the line of the schema among its first lines.
function isProgram(name, text) {
  return NAME.test(name) || SCHEMA_LINE.test(text.slice(0, 4096));
}

// Returns the offset in a text, in units of UTF-16, of an offset in bytes of its file, which may begin with a byte
// order mark.
function offsetInText(bytes, offset) {
  return bytes.subarray(0, Math.max(0, offset)).toString('utf8').replace(/^\ufeff/, '').length;
}

// Returns what `check --format json` reports about YAML: { start, end, level, rule, message }, in offsets of the text.
// Findings without a position, such as those about the assembled file, are at the start and begin with the path of
// their element.
function findings(document, bytes) {
  const all = [];
  for (const file of document.files) {
    for (const finding of file.findings) {
      const source = finding.source ?? null;
      const position = source === null ? null : [source.start, Math.max(source.end, source.start)];
      const [start, end] = position === null ? [0, 0] : position.map((offset) => offsetInText(bytes, offset));
      const where = position === null && finding.path ? `${finding.path}: ` : '';
      const details = [finding.why, finding.help && `help: ${finding.help}`].filter(Boolean);
      const message = [where + finding.message, ...details].join('\n');
      all.push({ start, end, level: finding.level, rule: finding.rule ?? null, message });
    }
  }
  return all;
}

// Returns the document that a run of `check --format json` printed.
//
// Throws an error with what it printed instead, for status 2, or a version without this form.
function parse(stdout, stderr) {
  try {
    const document = JSON.parse(stdout);
    if (Array.isArray(document.files)) return document;
  } catch {
    // Below.
  }
  const text = (stderr || stdout).trim();
  throw new Error(`pte-emit check printed no JSON: ${text.slice(0, 1000) || 'nothing'}`);
}

module.exports = { findings, isProgram, offsetInText, parse };
