import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { castsOf, functionsOf } from './functions.ts';
import { folderGraph, knots } from './knots.ts';
import { countsOf, excesses, lowered } from './limits.ts';
import { measuresOf, packageOf } from './measures.ts';
import { importGraph, isTest, parseSource } from './sources.ts';
import { spreadsOf } from './spreads.ts';
import { measuresOfReport } from './unused.ts';

describe('knots', () => {
  test('finds exactly the nodes that reach each other, for any graph', () => {
    const edges = fc.array(fc.tuple(fc.integer({ min: 0, max: 7 }), fc.integer({ min: 0, max: 7 })), { maxLength: 20 });
    fc.assert(
      fc.property(edges, (drawn) => {
        const nodes = Array.from({ length: 8 }, (_, node) => String(node));
        const graph = new Map(nodes.map((node) => [node, targetsOf(drawn, node)]));
        const together = knots(graph);
        for (const a of nodes) {
          const same = together.find((knot) => knot.includes(a)) ?? [a];
          const expected = nodes.filter((b) => a === b || (reaches(graph, a, b) && reaches(graph, b, a)));
          expect(same).toEqual(expected);
        }
      }),
      { numRuns: 300, seed: 7 },
    );
  });

  test('folders are joined at the given depth', () => {
    const graph = new Map([
      ['packages/a/src/x/one.ts', ['packages/a/src/x/deep/two.ts']],
      ['packages/a/src/x/deep/two.ts', ['packages/a/src/y/three.ts']],
      ['packages/a/src/y/three.ts', ['packages/a/src/x/one.ts']],
    ]);
    expect(folderGraph(graph, 1)).toEqual(
      new Map([
        ['packages/a/src/x', ['packages/a/src/y']],
        ['packages/a/src/y', ['packages/a/src/x']],
      ]),
    );
    expect(knots(folderGraph(graph, 2))).toEqual([['packages/a/src/x', 'packages/a/src/x/deep', 'packages/a/src/y']]);
  });
});

describe('sources', () => {
  test('imports of types, re-exports and plain imports are edges', () => {
    const sources = [
      parseSource(
        'a/one.ts',
        `import type { T } from './two.ts';\nexport { t } from '../b/three.ts';\nimport 'node:fs';`,
      ),
      parseSource('a/two.ts', ''),
      parseSource('b/three.ts', `export * from '../a/one.ts';`),
    ];
    expect([...importGraph(sources)]).toEqual([
      ['a/one.ts', ['a/two.ts', 'b/three.ts']],
      ['a/two.ts', []],
      ['b/three.ts', ['a/one.ts']],
    ]);
  });

  test('a file that is not TypeScript is refused by name', () => {
    expect(() => parseSource('a/broken.ts', 'const = 1')).toThrow('a/broken.ts: ');
  });

  test.each(['a/b.test.ts', 'a/testing.ts', 'a/testing/b.ts', 'a/b.testing.ts', 'a/test-b.ts', 'a/testdata/b.ts'])(
    '%s serves tests only',
    (path) => expect(isTest(path)).toBe(true),
  );
  test.each(['a/b.ts', 'a/latest.ts', 'a/contesting/b.ts'])('%s is a source file of the product', (path) =>
    expect(isTest(path)).toBe(false),
  );
});

describe('functions', () => {
  test('each function has its name and its length', () => {
    const text = `function one() {
  return 1;
}
const two = () => {
  return { three() {}, four: () =>
    4 };
};
class Five { six() {
} }`;
    expect(
      functionsOf(parseSource('x.ts', text))
        .map(({ name, lines }) => `${name} ${lines}`)
        .sort(),
    ).toEqual(['four 2', 'one 3', 'six 2', 'three 1', 'two 4']);
  });

  test('a cast through unknown is found, a plain cast is not', () => {
    expect(castsOf(parseSource('x.ts', 'a as B;\na as unknown as B;\n(a as unknown) as B;\na as unknown;'))).toEqual([
      2, 3,
    ]);
  });
});

describe('spreads', () => {
  test.each([
    '...{ a }',
    '...({ a } as const)',
    '...(a ? { a } : {})',
    '...(a === undefined ? {} : { a, b })',
    '...(a ? undefined : { a })',
    '...(a && { a })',
    'b: { ...(a && b && { a }) }',
  ])('plain members can replace %s', (member) =>
    expect(spreadsOf(parseSource('x.ts', `f({\n  c,\n  ${member}\n});`))).toEqual([3]),
  );

  test.each([
    '...a',
    '...{}',
    '...(a ? b : {})',
    '...(a ? { b } : { c })',
    '...(a && b)',
    '...f({ a })',
    'a: b && { a }',
  ])('no plain member replaces %s', (member) =>
    expect(spreadsOf(parseSource('x.ts', `f({ c, ${member} });`))).toEqual([]),
  );

  test('a spread in an array does not count', () =>
    expect(spreadsOf(parseSource('x.ts', 'f([...(a ? [a] : [])], ...b);'))).toEqual([]));
});

describe('limits', () => {
  const cycle = [
    parseSource('packages/a/src/one.ts', `import './two.ts';`),
    parseSource('packages/a/src/two.ts', `import type { X } from './one.ts';`),
  ];
  const measures = [
    ...measuresOf(cycle),
    ...measuresOfReport({
      issues: [
        { file: 'tools/src/x.ts', exports: [{ name: 'x', line: 3 }], types: [{ name: 'Y', line: 5 }] },
        { file: 'tools/src/z.ts', files: [{ name: 'tools/src/z.ts' }] },
      ],
    }),
  ];
  const none = Object.fromEntries(measures.map(({ id }) => [id, {}]));
  const counts = {
    ...none,
    'file-cycles': { 'packages/a': 1 },
    'unused-exports': { tools: 2 },
    'unused-files': { tools: 1 },
  };

  test('weaknesses are counted by measure and package', () => expect(countsOf(measures)).toEqual(counts));

  test('a package at its limit passes, and a package over its limit is listed with its weaknesses', () => {
    expect(excesses(measures, counts)).toEqual([]);
    expect(excesses(measures, { ...counts, 'file-cycles': {}, 'unused-exports': { tools: 1 } })).toEqual([
      'packages/a: Import cycles between files: 1, at most 0 allowed\n  2 files: packages/a/src/one.ts packages/a/src/two.ts\n',
      'tools: Exports without an importer: 2, at most 1 allowed\n  tools/src/x.ts:3 x\n  tools/src/x.ts:5 Y\n',
    ]);
  });

  test('an update lowers a limit and never raises one', () => {
    const limits = { ...none, 'unused-exports': { tools: 1 }, 'unused-files': { tools: 4, e2e: 2 } };
    expect(lowered(limits, counts)).toEqual({
      ...none,
      'unused-exports': { tools: 1 },
      'unused-files': { tools: 1 },
    });
  });

  test.each([
    ['packages/kube/src/a.ts', 'packages/kube'],
    ['apps/mcm/src', 'apps/mcm'],
    ['e2e/src/a/b.ts', 'e2e'],
  ])('%s is in the package %s', (path, expected) => expect(packageOf(path)).toBe(expected));
});

function targetsOf(edges: readonly (readonly [number, number])[], node: string): string[] {
  return [...new Set(edges.filter(([from]) => String(from) === node).map(([, to]) => String(to)))];
}

function reaches(graph: ReadonlyMap<string, readonly string[]>, from: string, to: string): boolean {
  const seen = new Set<string>();
  const work = [...(graph.get(from) ?? [])];
  for (let node = work.pop(); node !== undefined; node = work.pop()) {
    if (node === to) return true;
    if (seen.has(node)) continue;
    seen.add(node);
    work.push(...(graph.get(node) ?? []));
  }
  return false;
}
