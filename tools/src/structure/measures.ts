import { dirname } from 'node:path';
import { castsOf, functionsOf } from './functions.ts';
import { folderGraph, knots } from './knots.ts';
import { importGraph, isTest, type Source } from './sources.ts';
import { spreadsOf } from './spreads.ts';

const MAX_FILES = 15;
const MAX_LINES = 80;

interface Weakness {
  path: string;
  text: string;
}

export interface Measure {
  id: string;
  title: string;
  found: Weakness[];
}

/** Measures the sources of the product, without its tests. Every list starts with the largest weakness. */
export function measuresOf(sources: readonly Source[]): Measure[] {
  const product = sources.filter(({ path }) => !isTest(path));
  const graph = importGraph(product);
  return [
    { id: 'large-folders', title: `Folders with more than ${MAX_FILES} source files`, found: largeFolders(product) },
    { id: 'file-cycles', title: 'Import cycles between files', found: cycles(graph, 'files') },
    {
      id: 'top-folder-cycles',
      title: 'Import cycles between the top folders of a package',
      found: cycles(folderGraph(graph, 1), 'folders'),
    },
    {
      id: 'folder-cycles',
      title: 'Import cycles between folders',
      found: cycles(folderGraph(graph, Number.POSITIVE_INFINITY), 'folders'),
    },
    { id: 'long-functions', title: `Functions over ${MAX_LINES} lines`, found: longFunctions(product) },
    {
      id: 'unknown-casts',
      title: 'Casts through unknown',
      found: linesOf(product, castsOf),
    },
    {
      id: 'literal-spreads',
      title: 'Object literals that spread another object literal (write plain members instead)',
      found: linesOf(product, spreadsOf),
    },
  ];
}

export function packageOf(path: string): string {
  const parts = path.split('/');
  return parts.slice(0, /^(packages|providers|apps)$/.test(parts[0] ?? '') ? 2 : 1).join('/');
}

function largeFolders(product: readonly Source[]): Weakness[] {
  return Object.entries(Object.groupBy(product, ({ path }) => dirname(path)))
    .map(([folder, files]) => ({ folder, count: files?.length ?? 0 }))
    .filter(({ count }) => count > MAX_FILES)
    .sort((a, b) => b.count - a.count)
    .map(({ folder, count }) => at(folder, `${count} ${folder}`));
}

function cycles(graph: ReadonlyMap<string, readonly string[]>, noun: string): Weakness[] {
  return knots(graph).map((cycle) => at(cycle[0] ?? '', `${cycle.length} ${noun}: ${cycle.join(' ')}`));
}

function longFunctions(product: readonly Source[]): Weakness[] {
  return product
    .flatMap(functionsOf)
    .filter(({ lines }) => lines > MAX_LINES)
    .sort((a, b) => b.lines - a.lines)
    .map(({ path, name, lines }) => at(path, `${lines} ${path} ${name}`));
}

function linesOf(product: readonly Source[], search: (source: Source) => number[]): Weakness[] {
  return product.flatMap((source) => search(source).map((line) => at(source.path, `${source.path}:${line}`)));
}

const at = (path: string, text: string): Weakness => ({ path, text });
