import { describe, expect, test } from 'vitest';
import { commonFlags } from './common-flags.ts';
import { formatDuration, parseDuration } from './duration.ts';
import { durationFlag, listFlag } from './flag.ts';
import { parseFlags } from './parse-flags.ts';

const program = { name: 'demo', version: '1.2.3', description: 'A demo.' };
const flags = {
  ...commonFlags({ port: 10_258, concurrency: 10, controllers: ['a', 'b'] }),
  'machine-drain-timeout': durationFlag({ default: 7_200_000, help: 'h' }),
  'node-conditions': listFlag({ default: ['A'], help: 'h' }),
};

async function run(...argv: string[]) {
  const parsed = await parseFlags(program, flags, argv);
  if (parsed.kind !== 'run') throw new Error(parsed.text);
  return parsed;
}

describe('flags', () => {
  test('flags have their defaults', async () => {
    const { values, warnings } = await run();
    expect(values).toMatchObject({
      port: 10_258,
      'leader-elect': true,
      'leader-elect-lease-duration': 15_000,
      'kube-api-qps': 0,
      'machine-drain-timeout': 7_200_000,
      'node-conditions': ['A'],
      namespace: 'default',
    });
    expect(warnings).toEqual([]);
  });

  test.each([
    [['--port=8080'], 'port', 8080],
    [['--port', '8080'], 'port', 8080],
    [['--leader-elect=false'], 'leader-elect', false],
    [['--leader-elect', 'false'], 'leader-elect', false],
    [['--leader-elect'], 'leader-elect', true],
    [['--machine_drain_timeout=1h30m'], 'machine-drain-timeout', 5_400_000],
    [['--node-conditions=A, B,,'], 'node-conditions', ['A', 'B']],
    [['-v', '4'], 'v', 4],
    [['--v=4'], 'v', 4],
    [['--kube-api-qps=2.5'], 'kube-api-qps', 2.5],
    [['--control-kubeconfig=/a_b/c'], 'control-kubeconfig', '/a_b/c'],
  ])('%j', async (argv, name, value) => {
    expect((await run(...argv)).values).toHaveProperty(name, value);
  });

  test('deprecated names work with a warning', async () => {
    const { values, warnings } = await run('--concurrent-node-syncs=7', '--address=127.0.0.1');
    expect(values).toMatchObject({ 'concurrent-syncs': 7, 'bind-address': '127.0.0.1' });
    expect(warnings).toEqual([
      '--concurrent-node-syncs is deprecated: use --concurrent-syncs',
      '--address is deprecated: use --bind-address',
    ]);
    expect((await run('--concurrent-node-syncs=7', '--concurrent-syncs=8')).values['concurrent-syncs']).toBe(8);
  });

  test('flags of the original are accepted', async () => {
    const { warnings } = await run(
      '--cloud-provider=x',
      '--min-resync-period=12h',
      '--kube-api-content-type=application/json',
    );
    expect(warnings.length).toBe(3);
  });

  test('all errors are reported together, each with the name', async () => {
    await expect(
      run('--port=99999', '--leader-elect=maybe', '--machine-drain-timeout=20', '--kube-api-qps=-1'),
    ).rejects.toThrow(
      [
        '--kube-api-qps must be a number of at least 0, not "-1"',
        '--leader-elect must be true or false, not "maybe"',
        '--port must be an integer from 0 to 65535, not "99999"',
        '--machine-drain-timeout must be a duration with a unit, such as 90s, 20m or 1h30m, not "20"',
      ].join('\n'),
    );
  });

  test.each([
    [['--prot=secret'], /^unknown flag --prot; did you mean --port\?; --help lists the flags$/],
    [['--leaderelect'], /^unknown flag --leaderelect; did you mean --leader-elect\?; --help/],
    [['--zzz', 'x'], /^unknown flag --zzz; --help lists the flags$/],
    [['-q'], /^unknown flag -q; --help/],
    [['-namespace=x'], /^unknown flag -namespace; did you mean --namespace\?; --help/],
    [['stray', 'x'], /^stray, x: is not a flag; flags begin with --; --help lists the flags$/],
    [['--leader-elect-resource-lock=endpoints'], 'must be one of leases'],
    [['--leader-elect-lease-duration=999ms'], 'must be a duration of at least 1s'],
  ])('%j is refused', async (argv, words) => {
    await expect(run(...argv)).rejects.toThrow(words);
  });

  test('a program prints help and version', async () => {
    expect(await parseFlags(program, flags, ['--version'])).toEqual({ kind: 'print', text: '1.2.3\n' });
    const help = await parseFlags(program, flags, ['--help']);
    expect(help).toMatchObject({ kind: 'print', text: expect.stringContaining('--machine-drain-timeout <duration>') });
    expect(help).toMatchObject({ text: expect.stringContaining('(default 2h0m0s)') });
    expect(help).toMatchObject({ text: expect.stringContaining('(older: --address)') });
  });
});

test.each([
  ['20m', 1_200_000, '20m0s'],
  ['1h30m', 5_400_000, '1h30m0s'],
  ['1.5s', 1500, '1.5s'],
  ['250ms', 250, '250ms'],
  ['0', 0, '0s'],
  ['-1m', -60_000, '-1m0s'],
  ['.5h', 1_800_000, '30m0s'],
])('duration %s', (text, ms, shown) => {
  expect(parseDuration(text)).toBe(ms);
  expect(formatDuration(ms)).toBe(shown);
});

test.each(['', '20', 'm', '1d', '1 h', '1h-5m', 'NaN', '1e3s'])('%j is not a duration', (text) => {
  expect(parseDuration(text)).toBeUndefined();
});

describe('the number of workers can be set by controller', () => {
  test('values per controller override the common value', async () => {
    const { values } = await run('--concurrent-syncs-by-controller=a=3, b=7');
    expect(values['concurrent-syncs-by-controller']).toEqual({ a: 3, b: 7 });
    expect((await run()).values['concurrent-syncs-by-controller']).toEqual({});
  });

  test.each(['c=3', 'a=0', 'a', 'a=1=2', 'a=x', 'a='])('the error for %s contains the allowed names', async (text) => {
    await expect(run(`--concurrent-syncs-by-controller=${text}`)).rejects.toThrow(
      `--concurrent-syncs-by-controller must contain pairs such as a=5; the names are a, b, and the numbers are integers of at least 1, not "${text}"`,
    );
  });
});
