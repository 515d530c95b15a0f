import {
  Annotations,
  Labels,
  type Machine,
  type MachineClass,
  type MachineDeployment,
  type MachineSet,
} from '@mcm/api';
import { type DrainExplanation, MACHINE_DEFAULTS, SAFEGUARD_DEFAULTS, templateHash } from '@mcm/core';
import type { Node } from '@mcm/kube';
import { expect, test } from 'vitest';
import { planLines } from './lines.ts';
import { type DeploymentPlan, planDeployment } from './plan.ts';
import type { PlanSource } from './source.ts';

const API = 'machine.sapcloud.io/v1alpha1';
const NOW = new Date('2026-01-01T12:00:00Z');
const MINUTE = 60_000;
const COUNT = 2;
const GIVEN = { join: 3 * MINUTE, drain: MINUTE };

const meta = (name: string, more: object = {}) => ({
  name,
  namespace: 'test',
  uid: `uid-${name}`,
  resourceVersion: '1',
  generation: 1,
  creationTimestamp: '2026-01-01T02:00:00Z',
  ...more,
});
const templateOf = (name: string, more: object = {}) => ({
  metadata: { labels: { app: 'pool' } },
  spec: { class: { kind: 'MachineClass', name }, ...more },
});
const owned = (kind: string, name: string) => ({
  ownerReferences: [{ apiVersion: API, kind, name, uid: `uid-${name}`, controller: true }],
});

interface Given {
  readonly small?: string;
  readonly large?: string;
  readonly replicas?: number;
  readonly template?: MachineDeployment['spec']['template'];
  readonly annotations?: Readonly<Record<string, string>>;
  readonly fleet?: (fleet: readonly Machine[]) => readonly Machine[];
}

function machineOf(name: string, set: MachineSet, more: object = {}, phase = 'Running'): Machine {
  const labels = { ...set.spec.template.metadata?.labels, [Labels.Node]: name };
  return {
    apiVersion: API,
    kind: 'Machine',
    metadata: meta(name, { ...owned('MachineSet', 'pool-a'), labels, ...more }),
    spec: { ...set.spec.template.spec, providerID: `local:///${name}` },
    status: { currentStatus: { phase, lastUpdateTime: '2026-01-01T02:00:00Z' } },
  } as Machine;
}

function setOf(): MachineSet {
  const labels = { app: 'pool', [Labels.TemplateHash]: templateHash(templateOf('small') as never, undefined) };
  const template = { ...templateOf('small'), metadata: { labels } };
  const sizes = {
    'deployment.kubernetes.io/desired-replicas': `${COUNT}`,
    'deployment.kubernetes.io/max-replicas': '3',
  };
  const annotations = { ...sizes, 'deployment.kubernetes.io/revision': '1' };
  const metadata = meta('pool-a', { ...owned('MachineDeployment', 'pool'), labels, annotations });
  const spec = { replicas: COUNT, selector: { matchLabels: labels }, template };
  return { apiVersion: API, kind: 'MachineSet', metadata, spec } as MachineSet;
}

function source({
  small,
  large,
  replicas = COUNT,
  annotations = {},
  fleet = (all) => all,
  ...given
}: Given): PlanSource {
  const classOf = (name: string, hooks: string | undefined) =>
    ({
      kind: 'MachineClass',
      metadata: meta(name, { annotations: hooks ? { [Annotations.Hooks]: hooks } : {} }),
    }) as unknown as MachineClass;
  const set = setOf();
  const machines = Array.from({ length: COUNT }, (_, index) => machineOf(`m-${index}`, set));
  const nodes = machines.map(({ metadata: { name } }) => ({ kind: 'Node', metadata: meta(name), spec: {} }));
  const spec = {
    replicas,
    selector: { matchLabels: { app: 'pool' } },
    strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
    template: given.template ?? templateOf('small'),
  };
  return {
    deployment: {
      apiVersion: API,
      kind: 'MachineDeployment',
      metadata: meta('pool', { annotations }),
      spec,
    } as MachineDeployment,
    sets: [set],
    fleet: fleet(machines),
    others: [],
    classes: [classOf('small', small), classOf('large', large)],
    nodes: nodes as unknown as Node[],
    manager: { safeguards: SAFEGUARD_DEFAULTS, remark: undefined } as unknown as PlanSource['manager'],
    ofMachines: { defaults: MACHINE_DEFAULTS, remark: undefined },
  };
}

const plan = (given: Given): Promise<DeploymentPlan> =>
  planDeployment(source(given), GIVEN, () => Promise.resolve(new Map()), NOW);

const takes = (planned: DeploymentPlan): string =>
  planLines([planned], false).find((line) => line.startsWith('  takes')) ?? '';

test('a plan lists the hooks of new machines and of deleted machines, each from the class of the machine', async () => {
  const small = 'before-drain backup operator 30m Continue; before-drain copy operator 5m Continue';
  const large = 'before-create permit db 2m Continue; after-ready check db 1m Continue; nonsense';
  const rolled = await plan({ small, large, template: templateOf('large') });
  expect(rolled.waits).toEqual([
    expect.stringContaining('of MachineClass large: entry "nonsense" is ignored: the stage must be one of'),
    '2 machines wait for before-create/permit of db, each for at most 2m0s (Continue)',
    '2 machines wait for after-ready/check of db, each for at most 1m0s (Continue)',
    '2 machines wait for before-drain/backup of operator, each for at most 30m0s (Continue)',
    '2 machines wait for before-drain/copy of operator, each for at most 5m0s (Continue)',
    'all hooks of a new machine take at most 3m0s',
    'all hooks of a deleted machine take at most 30m0s',
  ]);
  expect(rolled.hooks[0]).toEqual({
    stage: 'before-create',
    name: 'permit',
    owner: 'db',
    machines: 2,
    atMost: '2m0s',
    afterTimeout: 'Continue',
  });
  // Each of the two replacements takes 3 minutes for the join, 2 minutes for the deletion, and up to 33 minutes for
  // hooks.
  expect([rolled.lasts, rolled.longest]).toEqual(['10m0s', '1h16m0s']);
  expect(takes(rolled)).toContain('takes  about 10m0s, at most 1h16m0s with all waits for hooks; at least');
  expect(planLines([rolled], false)).toContain('Hooks:');
});

test('a hook with Block gives the plan no limit', async () => {
  const blocked = await plan({ small: 'before-delete detach db 1m Block', replicas: 1 });
  expect(blocked.waits).toEqual([
    '1 machine waits for before-delete/detach of db without a limit (Block)',
    'the hooks of a deleted machine have no limit, because the machine waits until the owner ends the hook',
  ]);
  expect([blocked.complete, blocked.longest]).toEqual([true, 'unlimited']);
  expect(takes(blocked)).toContain(', longer if a hook without a limit does not end;');
});

test.each([
  ['after-ready check db 18m Continue', undefined, true],
  ['after-ready check db 10m Continue', undefined, false],
  ['after-ready check db 10m Continue', '12m', true],
])('a plan reports hooks that exceed the creation timeout: %s, %s', async (small, creationTimeout, isLate) => {
  const template = templateOf('small', { ...(creationTimeout && { creationTimeout }) });
  const more = await plan({ small, replicas: COUNT + 1, template: template as never });
  const text = `the hooks of a new machine can exceed its creation timeout of ${creationTimeout ?? '20m'}0s`;
  expect(more.waits.join().includes(text)).toBe(isLate);
  expect(more.longest).toBe(isLate ? 'unlimited' : '13m0s');
});

test('a plan evaluates the condition of a hook for each machine', async () => {
  const small = 'before-drain backup db 30m Continue if machine.name == "m-1"; before-drain x db 1m Block if false';
  const { waits } = await plan({ small, template: templateOf('large') });
  expect(waits[0]).toBe('1 machine waits for before-drain/backup of db for at most 30m0s (Continue)');
});

test('a plan contains the remaining time of hooks that machines already wait for, and no hook that has ended', async () => {
  const small = 'before-drain backup db 30m Continue; before-drain copy db 60m Continue';
  const begun = {
    [Annotations.HooksBegun]: 'before-drain=2026-01-01T11:50:00Z',
    [`before-drain.${Annotations.HookSuffix}/backup`]: 'db',
  };
  const fleet = ([first, ...others]: readonly Machine[]): readonly Machine[] => {
    const more = { annotations: begun, deletionTimestamp: '2026-01-01T11:50:00Z' };
    return first ? [{ ...first, metadata: { ...first.metadata, ...more } }, ...others] : [];
  };
  const going = await plan({ small, fleet });
  expect(going.waits[0]).toBe('1 machine waits for before-drain/backup of db for at most 20m0s (Continue)');
  expect(going.waits.join()).not.toContain('copy');
});

test('a plan without a new or deleted machine has no hooks', async () => {
  const idle = await plan({ small: 'after-ready check db 1m Continue; before-drain backup db 30m Block' });
  expect([idle.steps, idle.hooks, idle.waits, idle.longest]).toEqual([[], [], [], undefined]);
  expect(takes(idle)).toContain('takes  about 0s; at least');
  expect(planLines([idle], false)).not.toContain('Hooks:');
});

test('a plan contains the hooks of warm machines that are created, and of machines that already wait', async () => {
  const small = 'before-create permit db 2m Continue; after-ready check db 10m Continue';
  const annotations = { [Annotations.WarmMachines]: '1' };
  const fleet = (all: readonly Machine[]): readonly Machine[] => {
    const set = setOf();
    const begun = {
      [Annotations.HooksBegun]: 'after-ready=2026-01-01T11:56:00Z',
      [`after-ready.${Annotations.HookSuffix}/check`]: 'db',
    };
    return [...all.slice(1), machineOf('m-0', set, { annotations: begun }, 'Pending')];
  };
  const { waits } = await plan({ small, annotations, fleet });
  expect(waits.slice(0, 2)).toEqual([
    '2 machines wait for after-ready/check of db, each for at most 10m0s (Continue)',
    '1 machine waits for before-create/permit of db for at most 2m0s (Continue)',
  ]);
  const { waits: alone } = await plan({ small, fleet });
  expect(alone[0]).toBe('1 machine waits for after-ready/check of db for at most 6m0s (Continue)');
});

test('a plan that waits for a drain without an end has no longest duration', async () => {
  const pod = { pod: 'x/y', fate: 'blocked', because: '', volumes: [], budgets: [] } as const;
  const drain = { node: 'm-0', drained: false, overAt: NOW, pods: [pod], blockers: [{ text: 'a budget' }] };
  const held = new Map([['m-0', { ...drain, policy: 'Hold' } as unknown as DrainExplanation]]);
  const given = { small: 'before-drain backup db 30m Continue', template: templateOf('large') };
  const stuck = await planDeployment(source(given), GIVEN, () => Promise.resolve(held), NOW);
  expect([stuck.complete, stuck.longest]).toEqual([false, undefined]);
  expect(stuck.waits[0]).toContain('for before-drain/backup of db');
});
