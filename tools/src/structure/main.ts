import { dirname } from 'node:path';
import { parseArgs } from 'node:util';
import { ROOT } from '../root.ts';
import { castsOf, functionsOf } from './functions.ts';
import { folderGraph, knots } from './knots.ts';
import { importGraph, isTest, readSources } from './sources.ts';

// usage: pnpm structure [--all]: how easy the source tree is to navigate. Without --all, each list ends after ten lines.
const { values } = parseArgs({ options: { all: { type: 'boolean', default: false } } });
const MAX_FILES = 15;
const MAX_LINES = 80;

const sources = readSources(ROOT);
const product = sources.filter(({ path }) => !isTest(path));
const graph = importGraph(product);

const perFolder = Object.entries(Object.groupBy(product, ({ path }) => dirname(path)))
  .map(([folder, files]) => ({ folder, count: files?.length ?? 0 }))
  .filter(({ count }) => count > MAX_FILES)
  .sort((a, b) => b.count - a.count);
print(
  `Folders with more than ${MAX_FILES} source files`,
  perFolder.map(({ folder, count }) => `${count} ${folder}`),
);
print(
  'Import cycles between files',
  knots(graph).map((cycle) => `${cycle.length} files: ${cycle.join(' ')}`),
);
print(
  'Import cycles between the top folders of a package',
  knots(folderGraph(graph, 1)).map((knot) => knot.join(' ')),
);
print(
  'Import cycles between folders',
  knots(folderGraph(graph, Number.POSITIVE_INFINITY)).map((knot) => `${knot.length} folders: ${knot.join(' ')}`),
);

const long = product.flatMap(functionsOf).filter(({ lines }) => lines > MAX_LINES);
long.sort((a, b) => b.lines - a.lines);
print(
  `Functions over ${MAX_LINES} lines`,
  long.map(({ path, name, lines }) => `${lines} ${path} ${name}`),
);
const casts = product.flatMap((source) => castsOf(source).map((line) => `${source.path}:${line}`));
print('Casts through unknown', casts);

function print(title: string, lines: readonly string[]) {
  const shown = values.all ? lines : lines.slice(0, 10);
  const rest = lines.length - shown.length;
  process.stdout.write(`${title}: ${lines.length}\n${shown.map((line) => `  ${line}\n`).join('')}`);
  if (rest > 0) process.stdout.write(`  and ${rest} more\n`);
}
