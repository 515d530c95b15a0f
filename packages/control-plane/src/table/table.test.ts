import { describe, expect, it } from 'vitest';
import type { KindDefinition, PrinterColumn } from '../apimachinery/objects/kind.ts';
import type { ApiObject, JsonObject } from '../apimachinery/objects/object.ts';
import { ageOf, compileJsonPath, humanDuration, JsonPathError, toTable } from './index.ts';

const now = new Date('2024-01-02T00:00:00Z');
const base: KindDefinition = {
  group: 'g.example',
  version: 'v1',
  kind: 'Thing',
  listKind: 'ThingList',
  plural: 'things',
  singular: 'thing',
  namespaced: true,
  custom: true,
};
const object: ApiObject = {
  apiVersion: 'g.example/v1',
  kind: 'Thing',
  metadata: { name: 'a', resourceVersion: '7', creationTimestamp: '2024-01-01T23:59:00Z' },
  spec: { size: 3, ratio: 1.5, free: { k: 'v' }, on: true },
  status: {
    conditions: [
      { type: 'Odd', status: 'x' },
      { type: 'Ready', status: 'True' },
    ],
  },
};

it('a Table ends before the first custom column with an invalid JSON path', () => {
  const columns = ['.spec.size', '.spec.free[', '.spec.on'].map(
    (jsonPath, at): PrinterColumn => ({ name: `C${at}`, type: 'string', jsonPath }),
  );
  const { columnDefinitions } = toTable({ ...base, columns }, [object], { now, includeObject: 'None' });
  expect((columnDefinitions as { name: string }[]).map(({ name }) => name)).toEqual(['Name', 'C0']);
});

describe('humanDuration', () => {
  const [second, minute, hour, day] = [1000, 60_000, 3_600_000, 86_400_000];
  it.each([
    [-3 * second, '<invalid>'],
    [-second, '0s'],
    [0, '0s'],
    [119 * second, '119s'],
    [2 * minute, '2m'],
    [9 * minute + 59 * second, '9m59s'],
    [10 * minute + 5 * second, '10m'],
    [179 * minute, '179m'],
    [3 * hour, '3h'],
    [7 * hour + 59 * minute, '7h59m'],
    [8 * hour + 30 * minute, '8h'],
    [47 * hour, '47h'],
    [2 * day, '2d'],
    [7 * day + 23 * hour, '7d23h'],
    [8 * day + hour, '8d'],
    [729 * day, '729d'],
    [2 * 365 * day, '2y'],
    [2 * 365 * day + 5 * day, '2y5d'],
    [8 * 365 * day + 5 * day, '8y'],
    [400 * 365 * day, '292y'],
  ])('%i ms is %s', (milliseconds, expected) => {
    expect(humanDuration(milliseconds)).toBe(expected);
  });

  it('returns <unknown> without a time', () => {
    expect(ageOf(undefined, now)).toBe('<unknown>');
    expect(ageOf('yesterday', now)).toBe('<invalid>');
    expect(ageOf('2024-01-01T00:00:00.5Z', now)).toBe('23h');
  });
});

describe('compileJsonPath', () => {
  const data = {
    a: { 'b.c': 1, 'd-e': [1, 2, 3] },
    list: [
      { t: 'x', v: 1 },
      { t: 'y', v: 2 },
    ],
    n: null,
  };
  it.each([
    ['.a', [data.a]],
    ['{.list[0].v}', [1]],
    ['.list[-1].t', ['y']],
    ['.list[*].v', [1, 2]],
    ['.list[?(@.t=="y")].v', [2]],
    ['.list[?(@.v>1)].t', ['y']],
    ["$.a['b.c']", [1]],
    ['.a.b\\.c', [1]],
    ['.a.d-e[0:2]', [1, 2]],
    ['..v', [1, 2]],
    ['.n', [null]],
    ['.constructor', []],
    ['.a.nothing.deeper', []],
  ])('%s', (path, expected) => {
    expect(compileJsonPath(path)(data)).toEqual(expected);
  });

  it.each(['spec', '.a[', '.a[x]'])('%s is not a path', (path) => {
    expect(() => compileJsonPath(path)).toThrow(JsonPathError);
  });
});

describe('toTable', () => {
  const cells = (columns: PrinterColumn[], custom = true): unknown[] => {
    const table = toTable({ ...base, custom, columns }, [object], { now, includeObject: 'None' });
    return (table.rows as { cells: unknown[] }[])[0]?.cells ?? [];
  };

  it('puts the name first, and formats each cell by its declared type', () => {
    const column = (name: string, type: PrinterColumn['type'], jsonPath: string): PrinterColumn => ({
      name,
      type,
      jsonPath,
    });
    expect(
      cells([
        column('Size', 'integer', '.spec.size'),
        column('Whole', 'integer', '.spec.ratio'),
        column('Ratio', 'number', '.spec.ratio'),
        column('Free', 'string', '.spec.free'),
        column('On', 'boolean', '.spec.on'),
        column('Text', 'string', '.spec.size'),
        column('Ready', 'string', '.status.conditions[?(@.type=="Ready")].status'),
        column('None', 'string', '.spec.nothing'),
        column('Wrong', 'integer', '.metadata.name'),
        column('Age', 'date', '.metadata.creationTimestamp'),
      ]),
    ).toEqual(['a', 3, 1, 1.5, '{"k":"v"}', true, '3', 'True', null, null, '60s']);
  });

  it('describes a custom column by its path unless it has a description', () => {
    const columns: PrinterColumn[] = [{ name: 'Size', type: 'integer', jsonPath: '.spec.size', priority: 1 }];
    const table = toTable({ ...base, columns }, [], { now, includeObject: 'None', listMeta: { resourceVersion: '9' } });
    expect(table).toMatchObject({ metadata: { resourceVersion: '9' }, rows: [] });
    expect((table.columnDefinitions as unknown[])[1]).toEqual({
      name: 'Size',
      type: 'integer',
      format: '',
      description: 'Custom resource definition column (in JSONPath format): .spec.size',
      priority: 1,
    });
  });

  it('shows the age for custom kinds and the creation time for built-in ones, if no columns are declared', () => {
    expect(cells([])).toEqual(['a', '60s']);
    expect(cells([], false)).toEqual(['a', '2024-01-01T23:59:00Z']);
  });

  it('converts the time in a built-in column to an age of type string', () => {
    const columns: PrinterColumn[] = [
      { name: 'Age', type: 'date', value: ({ metadata }) => metadata.creationTimestamp ?? null },
    ];
    const table = toTable({ ...base, custom: false, columns }, [object], { now, includeObject: 'None' });
    expect((table.columnDefinitions as { type: string }[]).map(({ type }) => type)).toEqual(['string']);
    expect(cells(columns, false)).toEqual(['60s']);
  });

  it('uses the position and the cell of the name that a built-in kind defines', () => {
    const columns: PrinterColumn[] = [
      { name: 'Kind', type: 'string', value: ({ kind }) => kind },
      { name: 'Name', type: 'string', priority: 1, value: ({ metadata }) => `${metadata.name} (default)` },
    ];
    const table = toTable({ ...base, custom: false, columns }, [object], { now, includeObject: 'None' });
    expect(table.columnDefinitions).toMatchObject([{ name: 'Kind' }, { name: 'Name', format: 'name', priority: 1 }]);
    expect(cells(columns, false)[1]).toBe('a (default)');
  });

  it('adds the conditions that the kind defines to a row', () => {
    const conditions = [{ type: 'Completed', status: 'True' }];
    const rows = (found: JsonObject[]) =>
      toTable({ ...base, rowConditions: () => found }, [object], { now, includeObject: 'None' }).rows;
    expect(rows(conditions)).toMatchObject([{ conditions }]);
    expect(rows([])).not.toMatchObject([{ conditions: [] }]);
  });

  it.each([
    ['None', null],
    ['Metadata', { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: object.metadata }],
    ['Object', object],
  ] as const)('includes %s of the object', (includeObject, expected) => {
    const table = toTable(base, [object], { now, includeObject, noHeaders: true });
    expect(table).toMatchObject({ metadata: { resourceVersion: '7' }, columnDefinitions: null });
    expect((table.rows as { object: unknown }[])[0]?.object).toEqual(expected);
  });
});

it('a path with too many values in an object returns none', () => {
  let deep: JsonObject = { a: 1 };
  for (let level = 0; level < 200; level += 1) deep = { a: deep };
  expect(compileJsonPath('..a..a')(deep)).toHaveLength(200 * 100 + 100);
  expect(compileJsonPath('..a..a..a..a..a..a')(deep)).toEqual([]);
});

it('a filter with many blanks is refused in linear time', () => {
  expect(() => compileJsonPath(`[?(a${' '.repeat(200_000)}b)]`)).toThrow(JsonPathError);
});
