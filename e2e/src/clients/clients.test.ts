import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { isThorough } from '@mcm/kube/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { conformancePrograms, readSelection } from './conformance.ts';
import { readKnownFailures, surprises } from './known-failures.ts';
import { readGinkgo, readGoTest, readPytest } from './outcomes.ts';
import { missingPrograms, runSuite } from './run-suite.ts';
import { readVitest } from './run-tests.ts';
import type { Suite } from './suite.ts';
import { SUITES } from './suites.ts';

let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'programs of clients '));
});
afterEach(() => rmSync(dir, { recursive: true }));

function fake(path: string, script: string): void {
  mkdirSync(dirname(join(dir, path)), { recursive: true });
  writeFileSync(join(dir, path), `#!/bin/sh\n${script}\n`);
  chmodSync(join(dir, path), 0o755);
}

const suite = (path: string, results: 'ginkgo' | 'go-test'): Suite => ({
  name: 's',
  controllers: false,
  programs: [{ path, cwd: '.', args: [], env: { ASKED: 'yes' }, results }],
});

const REPORT = [
  {
    SpecReports: [
      { LeafNodeType: 'BeforeSuite', State: 'passed' },
      { ContainerHierarchyTexts: ['Client', 'Create'], LeafNodeType: 'It', LeafNodeText: 'works', State: 'passed' },
      { ContainerHierarchyTexts: ['Client'], LeafNodeType: 'It', LeafNodeText: 'breaks', State: 'panicked' },
      { ContainerHierarchyTexts: ['Client'], LeafNodeType: 'It', LeafNodeText: 'later', State: 'pending' },
      { ContainerHierarchyTexts: null, LeafNodeType: 'AfterSuite', LeafNodeText: '', State: 'timedout' },
    ],
  },
];

test('a report of Ginkgo has the results of specs and of failed setups', () => {
  expect(readGinkgo(JSON.stringify(REPORT))).toEqual([
    { name: 'Client Create works', passed: true },
    { name: 'Client breaks', passed: false },
    { name: 'AfterSuite', passed: false },
  ]);
  expect(() => readGinkgo('{}')).toThrow('must be a list');
});

test('the output of a Go test contains each test once, and a test without a result counts as failed', () => {
  const output = [
    '=== RUN   TestA',
    '=== RUN   TestA/one',
    '    --- PASS: TestA/one (0.00s)',
    '=== RUN   TestA/two',
    '    --- FAIL: TestA/two (0.00s)',
    '--- FAIL: TestA (0.01s)',
    '=== RUN   TestB',
    '--- PASS: TestB (0.01s)',
    '=== RUN   TestC',
    '--- SKIP: TestC (0.00s)',
    '=== RUN   TestD',
    'panic: boom',
  ].join('\n');
  expect(readGoTest(output)).toEqual([
    { name: 'TestA/one', passed: true },
    { name: 'TestA/two', passed: false },
    { name: 'TestB', passed: true },
    { name: 'TestD', passed: false },
  ]);
});

test('the output of pytest contains each test once, and an error after a passed test counts as a failure', () => {
  const output = [
    'tests/e2e/test_a.py::test_one[01-minimal] PASSED                [ 25%]',
    'tests/e2e/test_a.py::test_one[02 children] FAILED               [ 50%]',
    'tests/e2e/test_a.py::test_two SKIPPED (no library)              [ 75%]',
    'tests/e2e/test_a.py::test_three PASSED                          [100%]',
    'tests/e2e/test_a.py::test_three ERROR                           [100%]',
    'FAILED tests/e2e/test_a.py::test_one[02 children] - assert 1 == 0',
  ].join('\n');
  expect(readPytest(output)).toEqual([
    { name: 'tests/e2e/test_a.py::test_one[01-minimal]', passed: true },
    { name: 'tests/e2e/test_a.py::test_one[02 children]', passed: false },
    { name: 'tests/e2e/test_a.py::test_three', passed: false },
  ]);
});

test('an unexpected failure and an unexpected success are both reported', () => {
  const outcomes = [
    { name: 'a', passed: true },
    { name: 'b', passed: false },
  ];
  expect(surprises(outcomes, { b: 'no kubelet' })).toEqual([]);
  expect(surprises(outcomes, {})).toEqual(['failed: b']);
  expect(surprises(outcomes, { a: 'r', b: 'r', c: 'r' })).toEqual([
    'passed, but is listed as a known failure: a',
    'is listed as a known failure, but did not run: c',
  ]);
  expect(surprises([], {})).toEqual(['no test ran']);
});

test('a known failure needs a reason', () => {
  expect(readKnownFailures('s:\n  a: no kubelet\nt:\n')).toEqual({ s: { a: 'no kubelet' }, t: {} });
  expect(() => readKnownFailures('s:\n  a: \n')).toThrow('known-failures.yaml: s: "a" must have a reason');
});

test('each expected failure in the repository belongs to a suite', () => {
  const text = readFileSync(join(import.meta.dirname, '../../clients/known-failures.yaml'), 'utf8');
  const names = SUITES.map(({ name }) => name);
  expect(Object.keys(readKnownFailures(text)).filter((name) => !names.includes(name))).toEqual([]);
});

test('each program gets its own cluster, and its report is read', async () => {
  writeFileSync(join(dir, 'report.json'), JSON.stringify(REPORT));
  fake(
    'x.test',
    `grep -q client-certificate-data "$KUBECONFIG" || exit 7
[ "$ASKED" = yes ] || exit 8
for each in "$@"; do case $each in --ginkgo.json-report=*) cp report.json "\${each#*=}" ;; esac; done
exit 1`,
  );
  expect(await runSuite(suite('x.test', 'ginkgo'), dir)).toEqual([
    { name: 'x: Client Create works', passed: true },
    { name: 'x: Client breaks', passed: false },
    { name: 'x: AfterSuite', passed: false },
  ]);
});

test.for([false, true])('a suite with Nodes gets ready Nodes; with kubelets: %s', async (kubelets) => {
  writeFileSync(
    join(dir, 'nodes.mjs'),
    `import { readFileSync } from 'node:fs';
import { get } from 'node:https';
const text = readFileSync(process.env.KUBECONFIG, 'utf8');
const [server, token] = [/server: "?([^"\\s]+)/, /token: "?([^"\\s]+)/].map((part) => part.exec(text)[1]);
get(server + '/api/v1/nodes', { rejectUnauthorized: false, headers: { authorization: 'Bearer ' + token } }, async (answer) => {
  let body = '';
  for await (const chunk of answer) body += chunk;
  for (const { metadata, spec, status } of JSON.parse(body).items)
    console.log('=== RUN   ' + metadata.name + '\\n--- PASS: ' + metadata.name + status.conditions.find(({ type }) => type === 'Ready').status + spec.taints + ' (0.00s)');
});`,
  );
  fake('x.test', `exec "${process.execPath}" nodes.mjs`);
  const { programs } = suite('x.test', 'go-test');
  const withNodes = { name: 's', controllers: kubelets, nodes: ['n1', 'n2'] };
  const outcomes = await runSuite({ ...withNodes, programs: programs.map((each) => ({ ...each, kubelets })) }, dir);
  expect(outcomes).toContainEqual({ name: 'x: n1Trueundefined', passed: true });
  expect(outcomes).toContainEqual({ name: 'x: n2Trueundefined', passed: true });
});

test('a program that ends with an error and without a failed test is a failure with the end of its output', async () => {
  fake('x.test', 'echo "--- PASS: TestA (0.00s)"; echo "no cluster" >&2; exit 3');
  expect(await runSuite(suite('x.test', 'go-test'), dir)).toEqual([
    { name: 'x: TestA', passed: true },
    { name: expect.stringMatching(/^x: ended with status 3: .*no cluster/), passed: false },
  ]);
});

const MAIN = join(import.meta.dirname, 'main.ts');
const clients = (args: readonly string[], env: Readonly<Record<string, string>>) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--conditions=source', MAIN, ...args], {
    env: { ...process.env, MCM_CLIENTS: '', ...env },
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
};

test('the command runs the suites whose programs exist, prints the counts, and fails after an unexpected result', () => {
  const found = SUITES.find(({ name }) => name === 'cluster-api');
  for (const { path, cwd } of found && 'programs' in found ? found.programs : []) {
    fake(path, 'echo "--- PASS: TestA (0.00s)"');
    mkdirSync(join(dir, cwd), { recursive: true });
  }
  const good = clients([], { MCM_CLIENTS: dir });
  expect(good.stdout).toContain('cluster-api: 3 passed, 0 failed\n');
  expect(good.stdout).toMatch(/^controller-runtime: not run, missing controller-runtime\/client\.test/m);
  expect(good.status).toBe(0);
  fake('cluster-api/machine.test', 'echo "--- FAIL: TestA (0.00s)"; exit 1');
  const bad = clients(['cluster-api'], { MCM_CLIENTS: dir });
  expect(bad.stdout).toContain('cluster-api: unexpected: failed: machine: TestA\ncluster-api: 2 passed, 1 failed\n');
  expect(bad.status).toBe(1);
});

test.runIf(isThorough)('an autoscaler that ends without a scale-up is a failure', { timeout: 300_000 }, () => {
  fake('cluster-autoscaler/cluster-autoscaler', 'exit 1');
  const { status, stdout } = clients(['cluster-autoscaler'], { MCM_CLIENTS: dir });
  expect(stdout).toContain('unexpected: failed: each scale-up and scale-in is complete within 5 minutes\n');
  expect(stdout).toContain('cluster-autoscaler: 3 passed, 2 failed\n');
  expect(status).toBe(1);
});

test('reads the report of Vitest, with a file that cannot be loaded and without skipped tests', () => {
  const assertionResults = ['passed', 'failed', 'skipped'].map((status) => ({ fullName: ` ${status}`, status }));
  const testResults = [
    { name: 'a.test.ts', status: 'failed', assertionResults },
    { name: 'b.test.ts', status: 'failed', assertionResults: [] },
  ];
  expect(readVitest(JSON.stringify({ testResults }))).toEqual([
    { name: 'passed', passed: true },
    { name: 'failed', passed: false },
    { name: 'b.test.ts', passed: false },
  ]);
});

test('a conformance spec runs without the scheduler, with the scheduler, with kubelets, or not at all', () => {
  const selection = {
    excluded: { 'needs a pod': ['[sig-a] Pods (all) ', '[sig-a] Sets should serve '] },
    scheduler: ['[sig-a] Class [x] should schedule '],
    kubelets: ['[sig-a] Sets '],
  };
  const programs = conformancePrograms(selection);
  const value = (args: readonly string[], flag: string): string =>
    args.find((each) => each.startsWith(`--ginkgo.${flag}=`))?.slice(`--ginkgo.${flag}=`.length) ?? '(?!)';
  const runs = (name: string): string[] =>
    programs
      .filter(({ args }) => new RegExp(value(args, 'focus')).test(name) && !new RegExp(value(args, 'skip')).test(name))
      .map(({ controllers, kubelets }) => `${controllers}${kubelets === true ? ' with kubelets' : ''}`);
  for (const name of ['Pods (all) should run', 'Sets should serve images'])
    expect(runs(`[sig-a] ${name} [Conformance]`)).toEqual([]);
  expect(runs('[sig-a] Class [x] should schedule a Pod [Conformance]')).toEqual(['*,-nodelifecycle']);
  expect(runs('[sig-a] Class [x] should be listed [Conformance]')).toEqual(['*,-nodelifecycle,-scheduler']);
  expect(runs('[sig-a] Sets should scale [Conformance]')).toEqual(['true with kubelets']);
  for (const name of [
    '[sig-a] Class [x] should schedule a Pod',
    '[sig-a] Class [x] should be listed',
    '[sig-a] Sets x',
  ])
    expect(runs(name), 'no conformance spec').toEqual([]);
});

test('the selection of conformance specs in the repository has a reason for each exclusion', () => {
  const { excluded, scheduler, kubelets } = readSelection();
  for (const text of [...Object.values(excluded).flat(), ...scheduler, ...kubelets])
    expect(text).toMatch(/^\[sig-[a-z-]+\] \S.*\s$/);
  expect(Object.keys(excluded).filter((reason) => !reason.endsWith('.'))).toEqual([]);
});

test('the command refuses unknown suites, a missing folder, and a named suite whose programs are missing', () => {
  expect(clients([], {})).toMatchObject({ status: 2, stderr: expect.stringContaining('set MCM_CLIENTS') });
  expect(clients(['x'], { MCM_CLIENTS: dir }).stderr).toContain('unknown suites: x; known suites: controller-runtime');
  expect(clients(['conformance'], { MCM_CLIENTS: dir })).toMatchObject({
    status: 1,
    stdout: 'conformance: not run, missing conformance/e2e.test\n',
  });
  expect(missingPrograms(suite('x.test', 'ginkgo'), dir)).toEqual(['x.test']);
});
