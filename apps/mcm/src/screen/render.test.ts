import { stripVTControlCharacters } from 'node:util';
import type { Machine } from '@mcm/api';
import { expect, test } from 'vitest';
import { age } from '../output/age.ts';
import { type FleetView, type MachineView, viewFleet } from './fleet.ts';
import { cut, renderScreen, type ScreenView } from './render.ts';

const now = new Date('2026-01-01T00:01:00Z');
const running = (index: number): MachineView => ({
  name: `workers-abcde-${index}`,
  phase: 'Running',
  node: `n${index}`,
  doing: '',
  createdAt: '2026-01-01T00:00:20Z',
});
const fleet: FleetView = {
  deployments: [
    {
      name: 'workers',
      desired: 4,
      ready: 3,
      updated: 1,
      available: 3,
      old: 3,
      paused: false,
      observed: true,
      problem: undefined,
    },
  ],
  machines: [running(1), running(2), running(3), { ...running(4), phase: 'Terminating', doing: 'Waiting for 1 pod' }],
  phases: new Map([
    ['Running', 3],
    ['Terminating', 1],
  ]),
  events: [
    {
      at: '2026-01-01T00:00:59Z',
      type: 'Normal',
      reason: 'SuccessfulCreate',
      object: 'MachineSet/workers-abcde',
      message: 'Created machine workers-abcde-1',
      count: 2,
    },
  ],
  controllers: [],
};
const view: ScreenView = {
  title: 'mcm 1.2.3',
  now,
  startedAt: new Date('2026-01-01T00:00:00Z'),
  programs: [{ name: 'control plane', state: 'ready', address: 'https://127.0.0.1:6443', restarts: 0 }],
  fleet,
  hint: ['kubectl get machines'],
  columns: 100,
  rows: 30,
};
const draw = (change: Partial<ScreenView> = {}): string[] =>
  stripVTControlCharacters(renderScreen({ ...view, ...change })).split('\n');

test('a frame shows programs, machines by state (first those that are not Running), rollouts and the last events', () => {
  expect(draw()).toMatchInlineSnapshot(`
    [
      "mcm 1.2.3  up 60s",
      "",
      "  ● control plane               https://127.0.0.1:6443",
      "",
      "4 machines  3 Running  1 Terminating",
      "",
      "  workers                  3/4 available      █████░░░░░░░░░░░░░░░ 1/4 updated, 3 old",
      "",
      "  workers-abcde-4                Terminating       40s    Waiting for 1 pod",
      "  workers-abcde-1                Running           40s    ",
      "  workers-abcde-2                Running           40s    ",
      "  workers-abcde-3                Running           40s    ",
      "",
      "  00:00:59 SuccessfulCreate MachineSet/workers-abcde: Created machine workers-abcde-1 (×2)",
      "",
      "kubectl get machines",
    ]
  `);
});

test.each([
  [5, 40],
  [12, 60],
  [80, 200],
])('a terminal of %i lines and %i columns is never exceeded', (rows, columns) => {
  const many = { ...fleet, machines: Array.from({ length: 500 }, (_, i) => running(i)) };
  const lines = draw({ rows, columns, fleet: many });
  expect(lines.length).toBeLessThan(Math.max(2, rows));
  for (const line of lines) expect(line.length).toBeLessThanOrEqual(columns);
});

test('a narrow terminal breaks no word, and its columns are only as wide as their texts', () => {
  const lines = draw({ columns: 40, hint: ['kubectl get machinedeployments,machinesets --watch'] });
  expect(lines.filter((line) => /\S…$/.test(line))).toEqual([]);
  expect(draw({ columns: 60 })).toContain('  ● control plane  https://127.0.0.1:6443');
  expect(lines).toContain('  workers-abcde-1  Running      40s    ');
  expect(lines).toContain('  00:00:59 SuccessfulCreate …');
  expect(lines.slice(-2)).toEqual(['kubectl get', '  machinedeployments,machinesets --watch']);
});

test('on a narrow terminal, the activity of a machine has its own line if the line is too long', () => {
  const doing = 'Drain: pod default/web has a budget that allows no disruption';
  const machines = [{ ...running(1), phase: 'Terminating', doing }, running(2), running(3)];
  const lines = draw({ columns: 60, fleet: { ...fleet, machines } });
  expect(lines.slice(lines.indexOf('') + 1)).toEqual(
    expect.arrayContaining([
      '  workers-abcde-1  Terminating  40s   ',
      '    Drain: pod default/web has a budget that allows no …',
    ]),
  );
  const low = draw({ columns: 60, rows: 15, fleet: { ...fleet, machines, events: [] } });
  expect(low.filter((line) => /^ {2}(workers-|\u2026)/.test(line))).toEqual([
    '  workers-abcde-1  Terminating  40s   ',
    '  … 2 more',
  ]);
});

const DEAD = {
  name: 'machine-controller-manager',
  state: 'stopped',
  since: '2026-01-01T00:00:30Z',
  reason: 'the leader host_1 does not renew Lease test/x',
  effects: ['mcm replaces no failed or deleted machine'],
  unprocessed: [],
} as const;
const PROBLEM = 'MachineSet "workers-abcde" has timed out progressing.';

test.each(Array.from({ length: 17 }, (_, index) => 40 + index * 10))(
  'at %i columns, the screen shows the whole problem of a deployment and of a controller',
  (columns) => {
    const [deployment] = fleet.deployments;
    if (!deployment) throw new Error('no deployment');
    const deployments = [{ ...deployment, problem: PROBLEM }];
    const lines = draw({ columns, rows: 60, fleet: { ...fleet, deployments, controllers: [DEAD] } });
    const text = lines.map((line) => line.trim()).join(' ');
    for (const words of [PROBLEM, DEAD.reason, DEAD.effects[0], 'is not working since 2026-01-01T00:00:30Z (30s)'])
      expect(text).toContain(words);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(columns);
  },
);

const PROGRAMS = [
  { name: 'local-cloud', state: 'ready', address: 'http://127.0.0.1:42839', restarts: 0 },
  { name: 'machine-controller-manager', state: 'ready', address: 'http://127.0.0.1:36915', restarts: 1 },
  { name: 'machine-controller-local', state: 'ready', address: 'http://127.0.0.1:45019', restarts: 0 },
] as const;

test('a program that is not working has a red mark, also if its API responds', () => {
  const marked = (name: string): readonly string[] => {
    const colored = renderScreen({
      ...view,
      programs: PROGRAMS,
      fleet: { ...fleet, controllers: [{ ...DEAD, name }] },
    });
    return colored.split('\n').flatMap((line) => /\[31m●\S+ (\S+) +(.*)$/.exec(line)?.slice(1, 3) ?? []);
  };
  expect(marked('machine-controller-manager')[0]).toBe('machine-controller-manager');
  expect(marked('machine-controller')).toEqual(['machine-controller-local', 'http://127.0.0.1:45019']);
  expect(marked('local-cloud').map(stripVTControlCharacters)).toEqual(['local-cloud', 'does not respond']);
  expect(marked('other')).toEqual([]);
});

test('on a narrow terminal, the number of restarts replaces the address of a program', () => {
  const lineOf = (columns: number) => draw({ columns, programs: PROGRAMS }).find((line) => line.includes('manager'));
  expect(lineOf(60)).toBe('  ● machine-controller-manager  restarted 1×');
  expect(lineOf(80)).toBe('  ● machine-controller-manager  http://127.0.0.1:36915  restarted 1×');
});

test('on a short terminal, machines that are not Running have precedence over events', () => {
  const [event] = fleet.events;
  if (!event) throw new Error('no event');
  const events = Array.from({ length: 8 }, () => event);
  const lines = draw({ rows: 18, fleet: { ...fleet, events } });
  expect(lines).toContainEqual(expect.stringContaining('workers-abcde-4 '));
  expect(lines.filter((line) => line.includes('SuccessfulCreate')).length).toBeGreaterThan(0);
});

test('a machine without a description is only marked as not continued', () => {
  const machine = { metadata: { name: 'a', creationTimestamp: '2026-01-01T00:00:20Z' } };
  const stopped = { ...DEAD, name: 'machine-controller' };
  const { machines } = viewFleet([], [], [machine as Machine], [], [stopped]);
  expect(machines.map(({ doing }) => doing)).toEqual(['not continued']);
});

test('a deployment whose controller has not seen the newest spec is not up to date', () => {
  const [deployment] = fleet.deployments;
  if (!deployment) throw new Error('no deployment');
  const deployments = [{ ...deployment, updated: 4, old: 0, observed: false }];
  const text = draw({ fleet: { ...fleet, deployments } }).join('\n');
  expect(text).toContain('workers                  3/4 available      change not yet seen');
});

test('a long colored line is cut by its visible characters', () => {
  expect(stripVTControlCharacters(cut('\u001b[31mabcdef\u001b[39m', 4))).toBe('abc…');
});

test.each([
  [Number.NaN, '<unknown>'],
  [999, '0s'],
  [119_000, '119s'],
  [120_000, '2m'],
  [3 * 3_600_000 + 600_000, '3h10m'],
  [72 * 3_600_000, '3d'],
])('%i ms is %s', (ms, text) => expect(age(ms)).toBe(text));
