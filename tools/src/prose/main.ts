import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { ROOT } from '../root.ts';
import { type Counts, countsOf, excesses, printed, shrink } from './baseline.ts';
import { readPhrases, textsByFile } from './repository.ts';
import { check, type Violation } from './rules.ts';

// usage: pnpm prose [--update] [--list] [file…]
//   Reports each file with more violations against docs/contributing/writing.md than baseline.gen.json allows. The exit
//   status is 1 if there is one.
//   --update  lowers the counts of the baseline, and follows texts that moved to another file
//   --list    prints all violations of the files, or of all files
const { values, positionals } = parseArgs({
  options: { update: { type: 'boolean', default: false }, list: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const BASELINE = new URL('baseline.gen.json', import.meta.url);
const phrases = readPhrases();
const found = new Map<string, Violation[]>();
for (const [path, texts] of textsByFile(ROOT)) {
  found.set(
    path,
    texts.flatMap((text) => check(text, phrases)),
  );
}

if (values.list) {
  for (const [path, violations] of found) {
    if (positionals.length === 0 || positionals.some((part) => path.startsWith(part))) print(path, violations);
  }
} else {
  let baseline: Counts = JSON.parse(readFileSync(BASELINE, 'utf8'));
  if (values.update) {
    baseline = shrink(countsOf(found), baseline);
    writeFileSync(BASELINE, printed(baseline));
  }
  const bad = excesses(found, baseline);
  for (const { path, rule, allowed, violations } of bad) {
    process.stdout.write(
      `${path} has ${violations.length} violations of the rule "${rule}", at most ${allowed} allowed:\n`,
    );
    print(path, violations.slice(0, 12));
    if (violations.length > 12) process.stdout.write(`  to list all violations: pnpm prose --list ${path}\n`);
  }
  process.stdout.write(
    bad.length === 0
      ? 'The prose of all files is within the baseline.\n'
      : 'Write these sentences as docs/contributing/writing.md says. If the sentences moved from another file: pnpm prose --update\n',
  );
  process.exitCode = bad.length === 0 ? 0 : 1;
}

function print(path: string, violations: readonly Violation[]) {
  for (const { line, message } of violations) process.stdout.write(`  ${path}:${line} ${message}\n`);
}
