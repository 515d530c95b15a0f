import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { type Clock, realClock } from '@mcm/kube';
import { expect, test } from 'vitest';
import { conformanceCommand } from './command.ts';
import { SCENARIOS } from './run.ts';

const example = (name: string): string => fileURLToPath(new URL(`../examples/${name}`, import.meta.url));

const WRONG = 'wrong.yaml';
const OTHER = 'other.yaml';

function stopwatch(): Clock {
  let ms = 0;
  return {
    ...realClock,
    monotonic: () => {
      ms += 250;
      return ms;
    },
  };
}

async function run(...args: string[]) {
  let out = '';
  const written = new Map<string, string>();
  const code = await conformanceCommand(args, {
    clock: realClock,
    stopwatch: stopwatch(),
    write: (text) => {
      out += text;
    },
    readFile: async (path) => {
      const toy = await readFile(example('toy.yaml'), 'utf8');
      if (path === WRONG) return toy.replace('id: null', 'id: vol-1');
      return path === OTHER ? toy.replace('provider: toy', 'provider: toys') : readFile(path, 'utf8');
    },
    writeFile: async (path, text) => void written.set(path, text),
    connect: () => () => Promise.reject(new Error('no network in tests')),
    variables: {},
  });
  return { code, out, written };
}

const TOY = ['--driver', example('toy-driver.ts'), '--config', example('toy.yaml')];

test('the example passes all scenarios, and both forms of the report show this', async () => {
  const { code, out, written } = await run(...TOY, '--junit', 'report.xml');
  expect(out).not.toContain('FAIL');
  expect(code).toBe(0);
  expect(out).toContain('PASS  a crash between any two requests of a creation\n');
  expect(out).toContain(`${SCENARIOS.length - 2} passed, 0 failed, 2 skipped`);
  const xml = written.get('report.xml') ?? '';
  expect(xml).toContain(`<testsuites tests="${SCENARIOS.length}" failures="0" skipped="2">`);
  expect(xml).toContain('name="initialize" time="0.25"><skipped message="the driver has no method initialize"/>');
});

test('a failed scenario is reported with its reason and its impact on users, and the exit code is 1', async () => {
  const { code, out, written } = await run('--driver', example('toy-driver.ts'), '--config', WRONG, '--junit', 'r.xml');
  expect(code).toBe(1);
  expect(out).toContain('the volume {"hostPath":{"path":"/data"}} has the id vol-1, but the driver returns none\n');
  expect(out).toContain('Impact on users: a drain does not wait for the detachment of volumes');
  expect(written.get('r.xml')).toContain('<failure message="the volume {&quot;hostPath&quot;');
});

test('a class with the name of another provider passes, and a note reports both names', async () => {
  const only = ['--only', 'creation', '--junit', 'r.xml'];
  const { code, out, written } = await run('--driver', example('toy-driver.ts'), '--config', OTHER, ...only);
  expect(code).toBe(0);
  expect(out).toContain('NOTE  machineClass.provider is "toys", but the name of the driver is "toy"\n');
  expect(written.get('r.xml')).toContain('<system-out>machineClass.provider is &quot;toys&quot;, but');
  const same = await run(...TOY, ...only);
  expect(same.out).not.toContain('NOTE');
  expect(same.written.get('r.xml')).not.toContain('system-out');
});

test.each([
  [['--driver', 'x.ts'], 'mcm-conformance: --config must be set: write the path of a YAML file'],
  [['--config', 'x.yaml'], 'mcm-conformance: --driver must be set: write the path of a module'],
  [['--drivr', 'x.ts'], 'mcm-conformance: unknown flag --drivr; did you mean --driver?'],
  [[...TOY, '--seed', 'x'], "argument 'x' is invalid. The value must be a whole number."],
  [['--driver', 'x.ts', '--config', '/nope.yaml'], 'cannot use --config /nope.yaml: ENOENT'],
  [
    [...TOY, '--only', 'creaton'],
    '--only must be a part of the name of a scenario, not "creaton"; the scenarios are: ',
  ],
  [['--driver', '/nope.ts', '--config', example('toy.yaml')], 'cannot use --driver /nope.ts: '],
  [['--driver', example('toy.yaml'), '--config', example('toy.yaml')], 'mcm-conformance: '],
  [['--driver', example('toy-cloud.ts'), '--config', example('toy.yaml')], 'createDriver'],
  [['--driver', example('toy-driver.ts'), '--config', example('toy-driver.ts')], 'mcm-conformance: '],
])('%j cannot run, and the message states the reason', async (args, why) => {
  const { code, out } = await run(...args);
  expect(code).toBe(2);
  expect(out).toContain(why);
});
