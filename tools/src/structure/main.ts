import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { ROOT } from '../root.ts';
import { countsOf, excesses, type Limits, lowered } from './limits.ts';
import { type Measure, measuresOf } from './measures.ts';
import { readSources } from './sources.ts';
import { unusedExports } from './unused.ts';

// usage: pnpm structure [--all] [--check] [--update] Prints how easy the source tree is to navigate. --all     prints
// all lines; without it, each list ends after ten lines --check   prints only the packages with more weaknesses than
// limits.gen.json allows. The exit status is 1 if such a package exists. --update  lowers the limits to the current
// numbers
const { values } = parseArgs({
  options: {
    all: { type: 'boolean', default: false },
    check: { type: 'boolean', default: false },
    update: { type: 'boolean', default: false },
  },
});
const LIMITS = new URL('limits.gen.json', import.meta.url);
const measures = [...measuresOf(readSources(ROOT)), ...unusedExports(ROOT)];

if (values.update) {
  const limits = lowered(readLimits(), countsOf(measures));
  writeFileSync(LIMITS, `${JSON.stringify(limits, undefined, 2)}\n`);
}
if (values.check) check(excesses(measures, readLimits()));
else for (const measure of measures) print(measure);

function readLimits(): Limits {
  return JSON.parse(readFileSync(LIMITS, 'utf8')) as Limits;
}

function check(messages: readonly string[]) {
  process.exitCode = messages.length === 0 ? 0 : 1;
  process.stdout.write(
    messages.length === 0
      ? 'The structure of all packages is within the limits.\n'
      : `${messages.join('')}Remove the violations that your change adds. An unused export needs no export keyword.\n`,
  );
}

function print({ title, found }: Measure) {
  const shown = values.all ? found : found.slice(0, 10);
  const rest = found.length - shown.length;
  process.stdout.write(`${title}: ${found.length}\n${shown.map(({ text }) => `  ${text}\n`).join('')}`);
  if (rest > 0) process.stdout.write(`  and ${rest} more\n`);
}
