import { expect, test } from 'vitest';
import { sourcesUnder } from './sources.ts';

const sources = sourcesUnder('packages', 'providers', 'apps').map(({ path, text }) => ({
  path,
  text: text.replace(/\/\*[\s\S]*?\*\/|(?<!:)\/\/.*$/gm, ''),
}));
const pathsOf = (found: RegExp, but: (path: string) => boolean = () => false): string[] =>
  sources.filter(({ path, text }) => found.test(text) && !but(path)).map(({ path }) => path);

test('the search finds source files', () => {
  expect(sources.length).toBeGreaterThan(300);
});

test('clients of clusters are created in one module (R7)', () => {
  expect(pathsOf(/\bconnectClusters\(/)).toEqual([
    'packages/kube/src/run/cluster/clusters.ts',
    'packages/kube/src/run/run-binary.ts',
  ]);
});

const CLOUD = 'packages/conformance/src/programs/cloud.ts';

test('only main ends the process (R8)', () => {
  const isMain = (path: string) =>
    /(^|\/)(main|command|start-program)\.ts$/.test(path) ||
    ['packages/kube/src/run/process/host.ts', 'packages/conformance/src/process.ts', CLOUD].includes(path);
  expect(pathsOf(/\bprocess\.(exit|abort|kill)\(/, isMain).filter((path) => !path.startsWith('apps/mcm/'))).toEqual([]);
});

test('there are no client builders, no kinds for a single cloud and no names with the prefix Cluster (R9, R26, R27)', () => {
  expect(pathsOf(/class \w*ClientBuilder|OrDie\b/)).toEqual([]);
  const general = sources.filter(({ path }) => /^packages\/(api|kube|core)\//.test(path));
  expect(
    general.filter(({ text }) => /(AWS|Azure|GCP|OpenStack)Machine(Class)?\b/i.test(text)).map(({ path }) => path),
  ).toEqual([]);
  expect(pathsOf(/kind: 'Cluster(Machine|Class)/)).toEqual([]);
});

test('no module below main reads the time, sets a timer or generates random numbers directly', () => {
  const library = sources.filter(({ path }) => /^packages\/(api|kube|core)\/src\//.test(path));
  const isClock = (path: string) =>
    /^packages\/kube\/src\/clock[./]/.test(path) || path === 'packages/kube/src/base/random.ts';
  const own = /\bDate\.now\(\)|\bnew Date\(\)|(?<![.\w])setTimeout\(|(?<![.\w])setInterval\(|\bMath\.random\(/;
  expect(library.filter(({ path, text }) => own.test(text) && !isClock(path)).map(({ path }) => path)).toEqual([]);
});

test('names match their meaning: there is no deleteNodeObject (R44)', () => {
  expect(pathsOf(/\bdeleteNodeObject\b/i)).toEqual([]);
});
