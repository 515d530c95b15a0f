import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { commonFlags } from './common-flags.ts';
import { listFlag } from './flag.ts';
import { parseFlags } from './parse-flags.ts';

const program = { name: 'demo', version: '1.2.3', description: 'A demo.' };
const flags = {
  ...commonFlags({ port: 10_258, concurrency: 10, controllers: ['a', 'b'] }),
  'node-conditions': listFlag({ default: ['A'], help: 'h' }),
};

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'config file '));
});
afterAll(() => rm(folder, { recursive: true }));

async function run(text: string, argv: readonly string[] = [], env: Record<string, string> = {}) {
  const file = join(folder, 'c.yaml');
  await writeFile(file, text);
  const parsed = await parseFlags(program, flags, [`--config=${file}`, ...argv], env);
  if (parsed.kind !== 'run') throw new Error(parsed.text);
  return parsed;
}

const errorOf = async (text: string, env: Record<string, string> = {}): Promise<string> =>
  run(text, [], env).then(
    () => 'accepted',
    (error: Error) => error.message.replaceAll(`${folder}/`, ''),
  );

test('a file sets values of every kind', async () => {
  const { values } = await run('namespace: shoot\nport: 0\nleader-elect: false\nnode-conditions: [A, B]\n');
  expect(values).toMatchObject({ namespace: 'shoot', port: 0, 'leader-elect': false, 'node-conditions': ['A', 'B'] });
});

test('a flag overrides the environment, which overrides the file', async () => {
  const text = 'port: 1\nnamespace: file\nlog-level: warn\n';
  const { values } = await run(text, ['--port=3'], {
    MCM_FLAG_PORT: '2',
    MCM_FLAG_NAMESPACE: 'env',
    MCM_FLAG_LOG_LEVEL: '',
  });
  expect(values).toMatchObject({ port: 3, namespace: 'env', 'log-level': 'warn' });
});

test('the environment sets values, and the name of the file', async () => {
  await run('namespace: file\n');
  const parsed = await parseFlags(program, flags, [], { MCM_FLAG_CONFIG: join(folder, 'c.yaml'), MCM_FLAG_V: '4' });
  expect(parsed).toMatchObject({ kind: 'run', values: { namespace: 'file', v: 4 } });
});

test('a deprecated name in a file works with a warning', async () => {
  const { values, warnings } = await run('namespace: n\nconcurrent-node-syncs: 7\nvmodule: x\n');
  expect(values).toMatchObject({ 'concurrent-syncs': 7 });
  expect(warnings.map((line) => line.replace(`${folder}/`, ''))).toEqual([
    'c.yaml:2: concurrent-node-syncs is deprecated: use --concurrent-syncs',
    'c.yaml:3: vmodule has no effect: use --log-level',
  ]);
});

test('all invalid entries are reported together, with line and name', async () => {
  expect(await errorOf('prot: 1\nnamespace: {a: 1}\nwhatever: 2\nconfig: x\nport: 99999\n')).toBe(
    [
      'c.yaml:1: prot: unknown setting; did you mean port?',
      'c.yaml:2: namespace: must be a string, a number, true or false, or a list of strings',
      'c.yaml:3: whatever: unknown setting; see --help for the flags; omit the dashes',
      'c.yaml:4: config: unknown setting in a file',
      'c.yaml:5: port must be an integer from 0 to 65535, not "99999"',
    ].join('\n'),
  );
});

test.each([
  ['port: 99999\n', 'c.yaml:1: port must be an integer from 0 to 65535, not "99999"'],
  ['- a\n', 'c.yaml:1: must be a mapping of flag names to values'],
  ['a: [\n', expect.stringMatching(/^c\.yaml:\d: .+/)],
  ['port: 1\nport: 2\n', 'c.yaml:2: port: occurs twice; keep one of the entries'],
  ['port: 1\n---\nport: 2\n', 'c.yaml:2: a second YAML document starts here; put all settings into one document'],
  ['', 'accepted'],
])('%j', async (text, words) => {
  expect(await errorOf(text)).toEqual(words);
});

test('the error for an invalid variable names it', async () => {
  expect(await errorOf('', { MCM_FLAG_PORT: 'x' })).toBe('MCM_FLAG_PORT must be an integer from 0 to 65535, not "x"');
});

test('a variable without a flag is a warning with the nearest name', async () => {
  const parsed = await parseFlags(program, flags, [], { MCM_FLAG_PROT: '1', MCM_FLAG_XYZZY: '1', MCM_PORT: '1' });
  expect(parsed).toMatchObject({
    warnings: [
      'MCM_FLAG_PROT has no effect: unknown flag; did you mean MCM_FLAG_PORT?',
      'MCM_FLAG_XYZZY has no effect: unknown flag',
    ],
  });
});

test('a file that is missing, invalid or too large is an error', async () => {
  const open = (path: string) => parseFlags(program, flags, [`--config=${path}`]);
  await expect(open(join(folder, 'none.yaml'))).rejects.toThrow(/^--config=.*none\.yaml: cannot be read: .*ENOENT/);
  await expect(open(folder)).rejects.toThrow('cannot be read');
  await expect(run('#'.repeat(1_048_577))).rejects.toThrow('c.yaml: cannot be read: the file has 1048577 bytes');
});
