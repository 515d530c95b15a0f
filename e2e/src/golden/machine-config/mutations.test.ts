import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { parseCase, type RecordedCase, readRecordings } from './calls/recording.ts';
import { answerOf, compare } from './index.ts';

const OWN_COPY = fileURLToPath(new URL('../../../testdata', import.meta.url));

type Path = readonly (string | number)[];

function leavesOf(value: unknown, path: Path = []): readonly Path[] {
  if (Array.isArray(value)) return value.flatMap((entry, index) => leavesOf(entry, [...path, index]));
  if (typeof value === 'object' && value !== null) {
    return Object.entries(value).flatMap(([key, entry]) => leavesOf(entry, [...path, key]));
  }
  return value === undefined ? [] : [path];
}

const changed = (value: unknown): unknown => {
  if (typeof value === 'number') return value + 1;
  if (typeof value === 'boolean') return !value;
  return typeof value === 'string' ? `${value}§` : 'something';
};

function mutated(value: unknown, [key, ...rest]: Path): unknown {
  if (key === undefined) return changed(value);
  if (Array.isArray(value)) return value.map((entry, index) => (index === key ? mutated(entry, rest) : entry));
  const fields = value as Readonly<Record<string, unknown>>;
  return { ...fields, [key]: mutated(fields[key], rest) };
}

/** Returns a path without the parts that differ from case to case, such as names and indexes. */
const kindOf = (fn: string, path: Path): string =>
  `${fn} ${path
    .filter((key) => typeof key === 'string')
    .map((key) => (/[./-]|\d/.test(key) ? '*' : key))
    .join('.')}`;

const CHANGES = 30;

async function survivorsOf(recorded: RecordedCase): Promise<readonly string[]> {
  const answer = await answerOf(recorded);
  const leaves = leavesOf(answer);
  const step = Math.max(1, Math.floor(leaves.length / CHANGES));
  return leaves
    .filter((_path, index) => index % step === 0)
    .filter((path) => compare(recorded, mutated(answer, path)) === undefined)
    .map((path) => kindOf(recorded.fn, path));
}

/** Changes of a recorded result that the comparison intentionally ignores. */
const DO_NOT_COUNT: readonly (readonly [where: RegExp, rule: string])[] = [
  [/^(decode|kc-files|kc-key|kc-validate|template|validate) error$/, 'the words of a parser'],
  [/^size error$/, 'the hint at the end of the size error'],
  [/^name name$/, 'a number that JSON in JavaScript does not hold exactly'],
  [/^render-sync steps\.pools\.\w+\.conditions\.message$/, 'the hint at the end of our text'],
];

test('a changed value in an answer is a difference, unless a rule says that it does not count', async () => {
  const survivors = new Map<string, number>();
  let cases = 0;
  for (const one of await readRecordings(OWN_COPY)) {
    const recorded = parseCase(one);
    if (typeof recorded === 'string') throw new Error(recorded);
    cases += 1;
    for (const kind of await survivorsOf(recorded)) survivors.set(kind, (survivors.get(kind) ?? 0) + 1);
  }
  expect(cases).toBeGreaterThanOrEqual(1083);
  expect([...survivors.keys()].filter((kind) => !DO_NOT_COUNT.some(([where]) => where.test(kind)))).toEqual([]);
  const total = [...survivors.values()].reduce((sum, one) => sum + one, 0);
  expect(total).toBeLessThanOrEqual(34);
});

type Variation = readonly [title: string, recorded: Partial<RecordedCase>, output: object, wrong: object];
const variations: readonly Variation[] = [
  [
    'without a config, a kernel type is refused before an extension',
    { fn: 'validate', input: { spec: { kernelType: 'x', extensions: ['nope'] } } },
    { error: 'kernelType=x is invalid' },
    { error: 'invalid extensions found: [nope]' },
  ],
  [
    'without a config, an unknown extension is refused',
    { fn: 'validate', input: { spec: { extensions: ['nope', 'usbguard', 'no'] } } },
    { error: null },
    { error: 'invalid extensions found: [nope]' },
  ],
  [
    'another invalid duration',
    { fn: 'kc-validate', input: { kubeletConfig: { spec: { kubeletConfig: { syncFrequency: 'soon' } } } } },
    { error: 'KubeletConfig could not be unmarshalled, err: time: invalid duration "soon"' },
    { error: 'Kubelet could not be unmarshalled, err: time: invalid duration "soon"' },
  ],
  [
    'incomplete base64 data in a report',
    {
      fn: 'validate',
      input: {
        spec: {
          config: {
            ignition: { version: '3.0.0' },
            storage: { files: [{ path: '/a', mode: 420, contents: { source: 'data:;base64,a' } }] },
          },
        },
      },
    },
    {
      error:
        'parsing Ignition config spec v3 failed with error: config is not valid\nReport: error at ' +
        '$.storage.files.0.contents.source, line 1 col 96: illegal base64 data at input byte 0\n',
    },
    { error: 'parsing Ignition config spec v3 failed: illegal base64 data at input byte 0' },
  ],
  ...(
    [
      ['a report of spec 2 without its message', 'config is not valid\nReport: '],
      ['a report of spec 2 with another message', 'config is not valid\nReport: error at $: no filesystem specified'],
      [
        'a report of spec 2 with an additional message',
        'config is not valid\nReport: error at $: path not absolute\nerror at $: no filesystem specified',
      ],
      [
        'a report of spec 2 with another head',
        'HandleParseErrors called with a valid config\nReport: error at $: path not absolute',
      ],
    ] as const
  ).map(
    ([title, wrong]): Variation => [
      title,
      {
        fn: 'validate',
        input: {
          spec: {
            config: { ignition: { version: '2.2.0' }, storage: { files: [{ filesystem: 'root', path: 'b/c' }] } },
          },
        },
      },
      {
        error:
          'parsing Ignition spec v2 failed with error: config is not valid\nReport: error at line 1, column 84\n' +
          '    1: {"ignition":{"version":"2.2.0"},"storage":{"files":[{"filesystem":"root","path":"b/c\n' +
          '        ^\npath not absolute\nwarning at line 1, column 85\npermissions unset, defaulting to 0000',
      },
      { error: `parsing Ignition spec v2 failed with error: ${wrong}` },
    ],
  ),
  [
    'a truncated archive',
    {
      fn: 'decode',
      input: { source: `data:;base64,${Buffer.from('1f8b0800000000000003').toString()}`, compression: null },
    },
    { error: null, text: Buffer.from('1f8b0800000000000003', 'base64').toString('utf8') },
    { error: null, text: 'x' },
  ],
  [
    'an archive with incomplete content',
    { fn: 'decode', input: { source: 'data:;base64,H4sIAAAAAAAAA8tIzQ==', compression: 'gzip' } },
    { error: 'failed decompressing: unexpected EOF' },
    { error: 'could not create gzip reader: unexpected EOF' },
  ],
];

test.each(variations)(
  '%s: our answer equals the answer of the original, and a changed one does not',
  async (_title, one, output, wrong) => {
    const recorded = {
      id: 'x',
      title: 'x',
      tags: [],
      input: {},
      fn: '',
      ...one,
      output: output as RecordedCase['output'],
    };
    const answer = await answerOf(recorded);
    expect(compare(recorded, answer)).toBeUndefined();
    expect(compare(recorded, wrong)).toBeDefined();
  },
);
