import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  Annotations,
  crds,
  DEFAULT_REPLICAS,
  type Machine,
  machineClasses,
  machineDeployments,
  machineSets,
  machines,
} from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { templateHash } from '@mcm/core';
import {
  createClient,
  handlerTransport,
  type KubeClient,
  type Node,
  nodes,
  podDisruptionBudgets,
  pods,
  seededRandom,
  VirtualClock,
} from '@mcm/kube';
import { partial } from '@mcm/kube/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { PLAN_EXIT } from '../command/exit-codes.ts';
import type { ControllerHealth } from '../controllers/health.ts';
import { readObjects } from '../files/read.ts';
import { drainMs, durationLines, joinedIn } from './durations.ts';
import { planLines } from './lines.ts';
import { proposalsIn, proposed } from './proposal.ts';
import { planAll, planExit } from './run.ts';

const NS = 'default';
const NOW = new Date('2026-01-01T12:00:00Z');
const MINUTE = 60_000;
let client: KubeClient;
let clock: VirtualClock;
let close: () => Promise<void>;
let folder: string;
const writes: string[] = [];
const reads: string[] = [];
let refused = '';

const template = (name: string) => ({
  metadata: { labels: { name: 'workers' } },
  spec: { class: { kind: 'MachineClass', name } },
});
const spec = (machineClass: string, replicas: number) => ({
  replicas,
  selector: { matchLabels: { name: 'workers' } },
  template: template(machineClass),
  strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
});
const file = (machineClass: string, replicas: number, more = '') => `
apiVersion: machine.sapcloud.io/v1alpha1
kind: MachineDeployment
metadata: { name: workers ${more} }
spec: ${JSON.stringify(spec(machineClass, replicas))}
`;

beforeEach(async () => {
  refused = '';
  folder = await mkdtemp(join(tmpdir(), 'plan-'));
  clock = new VirtualClock({ start: NOW });
  const plane = await startControlPlane({ clock, crds, controllers: false });
  close = () => plane.close();
  const transport = handlerTransport((request) => {
    if (new URL(request.url).pathname === refused) {
      const status = { kind: 'Status', status: 'Failure', reason: 'Forbidden', code: 403, message: `no ${refused}` };
      return Promise.resolve(Response.json(status, { status: 403 }));
    }
    const { pathname } = new URL(request.url);
    if (request.method === 'GET') reads.push(pathname);
    else writes.push(`${request.method} ${pathname}`);
    return plane.fetch(request);
  });
  client = createClient({ transport, userAgent: 'test', clock });
  await stand(3);
  writes.length = 0;
  reads.length = 0;
});
afterEach(async () => {
  await close();
  await rm(folder, { recursive: true });
});

async function stand(count: number): Promise<void> {
  for (const name of ['small', 'large']) {
    const body = { metadata: { name, namespace: NS }, providerSpec: {}, secretRef: { name, namespace: NS } };
    await client.resource(machineClasses, NS).create(body as never);
  }
  const { metadata } = await client
    .resource(machineDeployments, NS)
    .create({ metadata: { name: 'workers', namespace: NS }, spec: spec('small', count) } as never);
  const hash = templateHash(template('small') as never, undefined);
  const labels = { name: 'workers', 'machine-template-hash': hash };
  const owner = (kind: string, name: string, uid: string) => [
    { apiVersion: 'machine.sapcloud.io/v1alpha1', kind, name, uid, controller: true, blockOwnerDeletion: true },
  ];
  const set = await client.resource(machineSets, NS).create({
    metadata: {
      name: 'workers-a',
      namespace: NS,
      labels,
      ownerReferences: owner('MachineDeployment', 'workers', metadata.uid),
      annotations: {
        'deployment.kubernetes.io/desired-replicas': String(count),
        'deployment.kubernetes.io/max-replicas': String(count + 1),
        'deployment.kubernetes.io/revision': '1',
      },
    },
    spec: {
      replicas: count,
      selector: { matchLabels: labels },
      template: { ...template('small'), metadata: { labels } },
    },
  } as never);
  for (let index = 0; index < count; index++) {
    const name = `m-${index}`;
    const references = owner('MachineSet', 'workers-a', set.metadata.uid);
    await client.resource<Machine>(machines, NS).create({
      metadata: { name, namespace: NS, labels: { ...labels, node: name }, ownerReferences: references },
      spec: template('small').spec,
    } as never);
    const body = { status: { currentStatus: { phase: 'Running', lastUpdateTime: NOW.toISOString() } } };
    await client.resource(machines, NS).patch(name, { type: 'merge', body }, { subresource: 'status' });
    await client.resource<Node>(nodes).create({ metadata: { name }, spec: {} });
  }
}

async function plan(
  text: string,
  given: object = { join: 3 * MINUTE, drain: MINUTE },
  unread?: Set<string>,
  controllers: readonly ControllerHealth[] = [],
) {
  const path = join(folder, 'file.yaml');
  await writeFile(path, text);
  const cluster = { client, target: client, namespace: NS };
  const { signal } = new AbortController();
  const around = { random: seededRandom(1), signal, clock, controllers, ...(unread && { unread }) };
  return planAll(cluster, proposalsIn(await readObjects([path]), path), given, around);
}

async function keep(node: string): Promise<void> {
  const labels = { app: 'db' };
  await client.resource(pods, NS).create({
    metadata: {
      name: 'db-0',
      namespace: NS,
      labels,
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'db', uid: 'db', controller: true }],
    },
    spec: { nodeName: node, containers: [{ name: 'db', image: 'db' }] },
  } as never);
  const running = { status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] } };
  await client.resource(pods, NS).patch('db-0', { type: 'merge', body: running }, { subresource: 'status' });
  await client.resource(podDisruptionBudgets, NS).create({
    metadata: { name: 'db', namespace: NS },
    spec: { minAvailable: 1, selector: { matchLabels: labels } },
  } as never);
  const status = {
    disruptionsAllowed: 0,
    currentHealthy: 1,
    desiredHealthy: 1,
    expectedPods: 1,
    observedGeneration: 1,
  };
  await client
    .resource(podDisruptionBudgets, NS)
    .patch('db', { type: 'merge', body: { status } }, { subresource: 'status' });
}

describe('mcm plan', () => {
  test('mcm plan has no steps if the file equals the stored object', async () => {
    const plans = await plan(file('small', 3));
    expect(plans).toMatchObject([{ steps: [], ends: 'the deployment matches its spec' }]);
    expect(planExit(plans)).toBe(PLAN_EXIT.nothing);
    expect(planLines(plans, false)).toContain('  does   mcm does not create, delete or update any machine');
  });

  test.each([
    ['', 'mcm replaces the machine after its health timeout, unless the timeout is disabled'],
    [
      `, annotations: { ${Annotations.RolloutOnCannotUpdateInPlace}: Stop }`,
      `mcm keeps the machine and selects no other node, because ${Annotations.RolloutOnCannotUpdateInPlace} is Stop`,
    ],
  ])('mcm plan prints the effect of a failed in-place update: %s', async (more, effect) => {
    const inPlace = {
      type: 'InPlaceUpdate',
      inPlaceUpdate: { maxSurge: 0, maxUnavailable: 1, orchestrationType: 'Auto' },
    };
    const given = file('large', 3, more).replace(
      JSON.stringify(spec('large', 3)),
      JSON.stringify({ ...spec('large', 3), strategy: inPlace }),
    );
    const plans = await plan(given);
    expect(plans[0]?.machines.updated).toBe(3);
    expect(plans[0]?.assumes.at(-1)).toBe(
      `the simulation assumes that in-place updates succeed; if an update fails, ${effect}`,
    );
    expect((await plan(file('large', 3))).flatMap(({ assumes }) => assumes).join()).not.toContain('if an update fails');
  });

  test.each([
    [Annotations.RolloutUndoOnFailure, 'undoes'],
    [Annotations.RolloutPauseOnFailure, 'pauses'],
  ])('mcm plan prints the effect of a pod of a canary that is not Ready: %s', async (key, then) => {
    const ready = `${Annotations.RolloutCanaryPodsReady}: "true"`;
    const more = `, annotations: { ${Annotations.RolloutCanary}: "1", ${Annotations.RolloutCanarySoak}: 1m, ${ready}, ${key}: "true" }`;
    const [planned] = await plan(file('large', 3, more));
    expect(planned?.complete).toBe(true);
    expect(planned?.assumes.at(-1)).toBe(
      `the simulation assumes that pods of canaries are Ready; if a pod is not Ready, mcm ${then} the rollout`,
    );
  });

  test('mcm plan prints the costs of a rollout, and a quota that is too small', async () => {
    expect(planLines(await plan(file('large', 3)), false).join('\n')).not.toContain('costs');
    for (const [name, price] of [
      ['small', '0.1 USD'],
      ['large', '0.2 USD'],
    ] as const) {
      const annotations = { [Annotations.HourlyPrice]: price, [Annotations.Quota]: '2' };
      await client.resource(machineClasses, NS).patch(name, { type: 'merge', body: { metadata: { annotations } } });
    }
    const text = planLines(await plan(file('large', 3)), false).join('\n');
    expect(text).toMatch(
      /^ {2}costs {2}0.3 USD per hour now, at most \S+ USD per hour during the plan, 0.6 USD per hour/m,
    );
    expect(text).toContain('Blocked by:\n  - MachineClass large: the plan needs 3 machines at the same time');
  });

  test('a file with only a class plans the deployments that use the class, and states that only new machines use it', async () => {
    const stored = await client.resource(machineClasses, NS).get('small');
    const { resourceVersion: _, uid: __, ...metadata } = stored.metadata;
    const same = JSON.stringify({
      ...stored,
      metadata,
      apiVersion: 'machine.sapcloud.io/v1alpha1',
      kind: 'MachineClass',
    });
    const changed = JSON.stringify({ ...JSON.parse(same), providerSpec: { size: 'other' } });
    const [[one], [other]] = [await plan(same), await plan(changed)];
    expect([one?.name, other?.name, one?.steps, other?.steps]).toEqual(['workers', 'workers', [], []]);
    const note =
      'only new machines use the changed MachineClass small; to replace the other machines after the change: mcm rollout restart workers';
    expect([one?.assumes.includes(note), other?.assumes.includes(note)]).toEqual([false, true]);
    await expect(plan(same.replaceAll('"small"', '"unused"'))).rejects.toThrow(
      'no template of a MachineDeployment refers to MachineClass unused, so the file changes no new machine',
    );
  });

  test('a selector limits the deployments of the files', async () => {
    const path = join(folder, 'two.yaml');
    await writeFile(
      path,
      `${file('small', 3)}---\n${file('small', 3, ', labels: { team: a }').replace('workers', 'b')}`,
    );
    const objects = await readObjects([path]);
    const named = (selector: string) =>
      proposalsIn(objects, path, selector).deployments.map((one) => one.metadata.name);
    expect([named(''), named('team=a'), named('!team')]).toEqual([['workers', 'b'], ['b'], ['workers']]);
    expect(() => named('team=x')).toThrow(`no MachineDeployment in ${path} has the labels team=x`);
    expect(() => named('a=b=c')).toThrow('invalid --selector: ');
  });

  test('mcm plan states that minReadySeconds does not extend the rollout', async () => {
    const waiting = file('large', 3).replace('"replicas":3', '"replicas":3,"minReadySeconds":600');
    const [[plain], [delayed]] = [await plan(file('large', 3)), await plan(waiting)];
    expect(delayed?.lasts).toBe(plain?.lasts);
    const note = 'the duration does not include spec.minReadySeconds (600), because mcm ignores this field';
    expect(delayed?.assumes).toContain(note);
    expect(plain?.assumes.join()).not.toContain('minReadySeconds');
  });

  test('mcm plan shows the zone of each machine and the reason for it', async () => {
    const zones = `, annotations: { ${Annotations.Zones}: '[{"zone":"a"},{"zone":"b"}]' }`;
    const [made] = await plan(file('small', 5, zones));
    const lines = planLines(made ? [made] : [], true);
    expect(lines.find((line) => line.includes('AFTER'))).toMatch(/OF SET +ZONE +BECAUSE$/);
    const rows = lines.filter((line) => line.includes(' make '));
    expect(rows.map((line) => / workers-a +([ab]) +.*; (.*)$/.exec(line)?.slice(1))).toEqual([
      ['a', 'the zone has 0 of 3 machines'],
      ['b', 'the zone has 0 of 2 machines'],
    ]);
    expect(planLines(await plan(file('small', 5)), true).join()).not.toContain('ZONE');
  });

  test('mcm plan shows the machines that a new template replaces, their order and the duration, and writes nothing', async () => {
    const plans = await plan(file('large', 3));
    const lines = planLines(plans, false).map((line) => line.replaceAll(/workers-[0-9a-f]{3,}/g, 'workers-NEW'));
    expect(lines.slice(0, 14)).toEqual([
      'machinedeployment workers',
      '  wants  3 machines of class large by RollingUpdate, with at most 1 additional machine and 0 unavailable machines',
      '  does   3 machines made, 3 machines deleted',
      expect.stringMatching(
        /^ {2}takes {2}about 1[0-9]m\d+s; at least 3 are available and at most 4 exist at any time$/,
      ),
      '  ends   the deployment matches its spec',
      '',
      expect.stringMatching(/^ {2}AFTER +ACTION +OBJECT +OF SET$/),
      expect.stringMatching(/^ {2}0s +make set +workers-NEW$/),
      expect.stringMatching(/^ {2}0s +make +workers-NEW-<1> +workers-NEW$/),
      expect.stringMatching(/^ {2}3m0s +delete +m-0 +workers-a$/),
      ...[2, 3].flatMap((place) => [
        expect.stringMatching(new RegExp(`make +workers-NEW-<${place}>`)),
        expect.stringMatching(new RegExp(`delete +m-${place - 1} `)),
      ]),
    ]);
    expect(planExit(plans)).toBe(PLAN_EXIT.changes);
    expect(writes).toEqual([]);
    expect(planLines(plans, true).join('\n')).toContain('BECAUSE');
  });

  test('mcm plan shows a scale-in and a scale-out', async () => {
    const [fewer] = await plan(file('small', 1));
    expect(fewer?.steps.map(({ action, name }) => `${action} ${name}`)).toEqual(['delete m-0', 'delete m-1']);
    const [more] = await plan(file('small', 5));
    expect(more).toMatchObject({ machines: { made: 2, deleted: 0 }, lasts: '3m0s', complete: true });
    expect(fewer?.assumes.slice(0, 2)).toEqual([
      'a drain without blockers takes 1m0s, from --drain-time',
      'the deletion of a VM takes 1m0s',
    ]);
    expect(more?.assumes[0]).toBe('a new machine joins after 3m0s, from --join-time');
  });

  test('mcm plan names the pod and the budget that block a drain, and includes the wait', async () => {
    await keep('m-0');
    writes.length = 0;
    const [blocked] = await plan(file('large', 3));
    expect(blocked?.blockers.join('\n')).toMatch(/^machine m-0: .*default\/db/);
    // A drain with 360 evictions and an interval of 20 s would take 2 h, which is the drain timeout.
    expect(blocked?.lasts).toMatch(/^2h/);
    expect(writes).toEqual([]);
  });

  test('without access to nodes or pods mcm plan lists the assumptions and missing permissions, and requests pods once', async () => {
    refused = '/api/v1/nodes';
    const unread = new Set<string>();
    const [blind] = await plan(file('large', 3), undefined, unread);
    expect(blind?.assumes).toContain(
      'no permission to read nodes, so the simulation does not know drains and in-place updates',
    );
    expect([...unread]).toEqual([expect.stringContaining('no /api/v1/nodes')]);
    unread.clear();
    await keep('m-0');
    refused = '/api/v1/pods';
    reads.length = 0;
    const [half] = await plan(file('large', 3), undefined, unread);
    expect(half).toMatchObject({ blockers: [], complete: true, lasts: '15m0s' });
    expect(half?.assumes).toContain(
      '3 drains have no preview; the simulation assumes that nothing blocks these drains',
    );
    expect([...unread]).toEqual([expect.stringContaining('no /api/v1/pods')]);
    expect(reads.filter((path) => path.endsWith('/poddisruptionbudgets'))).toHaveLength(1);
    await expect(plan(file('large', 3))).rejects.toThrow('no /api/v1/pods');
  });

  test('mcm plan gets stuck at a drain that is never forced', async () => {
    await keep('m-0');
    const annotations = { [Annotations.UndrainablePolicy]: 'Quarantine' };
    await client.resource(machines, NS).patch('m-0', { type: 'merge', body: { metadata: { annotations } } });
    writes.length = 0;
    const plans = await plan(file('large', 3));
    expect(plans).toMatchObject([{ complete: false }]);
    expect(planExit(plans)).toBe(PLAN_EXIT.stuck);
    expect(plans[0]?.steps.filter(({ action }) => action === 'make')).toHaveLength(3);
  });

  test('mcm plan names new and terminating machines that make no progress at the end', async () => {
    const refused = 'machine codes error: code = [PermissionDenied] message = [PermissionDenied: no right]';
    const status = (name: string, phase: string, description: string) => {
      const type = phase === 'Terminating' ? 'Delete' : 'Create';
      const lastOperation = { description, state: 'Failed', type };
      const body = { status: { currentStatus: { phase }, lastOperation } };
      return client.resource(machines, NS).patch(name, { type: 'merge', body }, { subresource: 'status' });
    };
    await status('m-0', 'CrashLoopBackOff', `Cloud provider message - ${refused}`);
    const [coming] = await plan(file('small', 3));
    expect(coming).toMatchObject({
      complete: false,
      ends: 'the deployment does not match its spec: it waits until 1 machine of the newest MachineSet is Running',
      blockers: [
        expect.stringMatching(/^machine m-0 \(CrashLoopBackOff for 0s\): PermissionDenied: no right; in 20m0s/),
      ],
    });
    const stopped = { state: 'stopped', reason: '', effects: [], unprocessed: [] } as const;
    const blockersUnder = async (name: ControllerHealth['name']) => {
      const controllers = [{ ...stopped, name }];
      return (await plan(file('small', 3), undefined, undefined, controllers))[0]?.blockers.join();
    };
    expect(await blockersUnder('machine-controller-manager')).toContain(
      'while machine-controller-manager is not working',
    );
    expect(await blockersUnder('machine-controller')).toMatch(
      /machine-controller is not working; last report: .* no right$/,
    );
    const finalizers = ['machine.sapcloud.io/machine-controller-manager'];
    await client.resource(machines, NS).patch('m-1', { type: 'merge', body: { metadata: { finalizers } } });
    await client.resource(machines, NS).delete('m-1');
    await status(
      'm-1',
      'Terminating',
      `VM deletion failed due to - ${refused}. Aborting operation. Initiate VM deletion`,
    );
    const [going] = await plan(file('small', 1));
    expect(going?.complete).toBe(false);
    expect(going?.blockers).toEqual([
      'machine m-1 (Terminating for 0s): VM deletion failed: PermissionDenied: no right',
    ]);
  });

  test('mcm plan waits for machines that are already terminating, with the blockers of their drains', async () => {
    await keep('m-0');
    const finalizers = ['machine.sapcloud.io/machine-controller-manager'];
    await client.resource(machines, NS).patch('m-0', { type: 'merge', body: { metadata: { finalizers } } });
    await client.resource(machines, NS).delete('m-0');
    const [blocked] = await plan(file('small', 2));
    expect(blocked).toMatchObject({ steps: [], complete: true });
    expect(blocked?.lasts).toMatch(/^2h/);
    expect(blocked?.blockers.join('\n')).toMatch(/^machine m-0: .*default\/db/);
  });

  test('a new deployment is created, with a class of the same file', async () => {
    const other = file('huge', 2).replaceAll('workers', 'others');
    const [without] = await plan(other);
    expect(without?.ends).toBe('the deployment does not match its spec: MachineClass "huge" does not exist');
    const made = `${other}---\n{ apiVersion: machine.sapcloud.io/v1alpha1, kind: MachineClass, metadata: { name: huge }, providerSpec: {} }\n`;
    expect(await plan(made)).toMatchObject([{ complete: true, machines: { made: 2, deleted: 0, updated: 0 } }]);
  });

  const awsClass = (name: string) =>
    `---\n{ apiVersion: machine.sapcloud.io/v1alpha1, kind: MachineClass, metadata: { name: ${name} }, provider: AWS, providerSpec: { ami: 7 } }\n`;

  test('a file with an invalid provider spec is refused with the field, as the event of the class names it', async () => {
    await expect(plan(`${file('huge', 3)}${awsClass('huge')}`)).rejects.toThrow(
      'MachineClass huge: mcm cannot create VMs: providerSpec.ami: must be a string, not a number',
    );
  });

  test('a stored class with an invalid provider spec blocks the machines that a plan makes', async () => {
    const body = { provider: 'AWS', providerSpec: { ami: 7 } };
    await client.resource(machineClasses, NS).patch('large', { type: 'merge', body });
    const [rolled] = await plan(file('large', 3));
    const said = expect.stringContaining('MachineClass large: mcm cannot create VMs: providerSpec.ami');
    expect(rolled).toMatchObject({ complete: false, ends: said, blockers: [said] });
    await client.resource(machineClasses, NS).patch('small', { type: 'merge', body });
    expect(await plan(file('small', 2))).toMatchObject([{ complete: true, blockers: [] }]);
  });

  test('a namespace is read once for any number of deployments', async () => {
    const three = [0, 1, 2].map((index) => file('small', 1).replaceAll('workers', `w${index}`)).join('---');
    expect(await plan(three)).toHaveLength(3);
    expect(reads.filter((path) => reads.indexOf(path) !== reads.lastIndexOf(path))).toEqual([]);
    expect(reads).toHaveLength(7); // The plan reads four kinds of machine objects, two Leases, and the nodes.
  });

  test('a paused deployment has no steps, and a hint how to continue', async () => {
    const text = file('large', 3).replace('"replicas":3', '"replicas":3,"paused":true');
    const plans = await plan(text);
    expect(plans).toMatchObject([{ steps: [], complete: false }]);
    expect(plans[0]?.ends).toContain('mcm rollout resume workers');
  });

  test('an invalid spec is an error with the field', async () => {
    await expect(plan(file('small', -1))).rejects.toThrow('machinedeployment workers is invalid: spec.replicas ');
    await expect(plan('{ apiVersion: v1, kind: ConfigMap, metadata: { name: x } }')).rejects.toThrow(
      'no MachineDeployment',
    );
  });
});

test('a file is merged with the stored object as in kubectl apply', async () => {
  const stored = await client.resource(machineDeployments, NS).get('workers');
  const last = {
    metadata: { labels: { old: '1' }, annotations: { gone: '1' } },
    spec: { minReadySeconds: 5, replicas: 3 },
  };
  const annotations = {
    'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify(last),
    gone: '1',
    kept: 'by the controller',
  };
  const there = {
    ...stored,
    metadata: { ...stored.metadata, labels: { old: '1', theirs: '1' }, annotations },
    spec: { ...stored.spec, minReadySeconds: 5, replicas: 7 },
  };
  const { replicas: _, ...rest } = spec('large', 0);
  const wanted = {
    apiVersion: 'x',
    kind: 'MachineDeployment',
    metadata: { name: 'workers', labels: { fresh: '1' } },
    spec: rest,
  };
  const result = proposed(wanted as never, there, NOW);
  expect(result.metadata.labels).toEqual({ theirs: '1', fresh: '1' });
  expect(result.metadata.annotations).toMatchObject({ kept: 'by the controller' });
  expect(result.metadata.annotations).not.toHaveProperty('gone');
  expect(result.spec).not.toHaveProperty('minReadySeconds');
  // If only the last applied file contains a field, the field gets its default value, as with kubectl apply.
  expect(result.spec.replicas).toBe(DEFAULT_REPLICAS);
  expect(result.spec.template.spec.class.name).toBe('large');
});

test('a plan names the origin of each assumed duration', () => {
  const machine = (name: string) =>
    partial<Machine>({
      metadata: { name, creationTimestamp: NOW.toISOString(), labels: { node: name } },
      spec: { class: { name: 'small' } },
    });
  const node = (name: string, minutes: number) =>
    ({ metadata: { name, creationTimestamp: new Date(NOW.getTime() + minutes * MINUTE).toISOString() } }) as Node;
  const fleet = { machines: ['a', 'b', 'c'].map(machine), nodes: [node('a', 2), node('b', 9), node('c', 4)] };
  const steps = { made: 1, deleted: 0, updated: 0 };
  expect(durationLines(fleet, {}, 'small', steps)).toEqual([
    'a new machine joins after 4m0s, the median of 3 machines of class small',
  ]);
  expect(durationLines(fleet, {}, 'large', steps)).toEqual([
    'a new machine joins after 4m0s, the median of 3 machines of other classes',
  ]);
  const warm = { ...steps, made: 0, used: 1 };
  const ready = 'the Node of a stopped warm machine is Ready after';
  expect(durationLines(fleet, {}, 'small', warm)).toEqual([`${ready} 1m0s, the default of --start-time`]);
  expect(durationLines(fleet, { start: 2 * MINUTE }, 'small', warm)).toEqual([`${ready} 2m0s, from --start-time`]);
  expect(durationLines(fleet, { join: 1_000 }, 'small', warm)).toEqual([
    `${ready} 1s: the plan assumes that a start takes no longer than the join of a new machine`,
  ]);
  expect(durationLines(fleet, { update: MINUTE }, 'small', { made: 0, deleted: 0, updated: 2 })).toEqual([
    'a drain without blockers takes 2m0s, the default of --drain-time',
    'an in-place update takes 1m0s, from --update-time',
  ]);
});

test('durations come from earlier machines and from the blockers of a drain', () => {
  const machine = (name: string) =>
    partial<Machine>({
      metadata: { name, creationTimestamp: NOW.toISOString(), labels: { node: name } },
      spec: { class: { name: 'small' } },
    });
  const node = (name: string, minutes: number) =>
    ({ metadata: { name, creationTimestamp: new Date(NOW.getTime() + minutes * MINUTE).toISOString() } }) as Node;
  const fleet = ['a', 'b', 'c'].map(machine);
  expect(joinedIn(fleet, [node('a', 2), node('b', 9), node('c', 4)])).toBe(4 * MINUTE);
  expect(joinedIn(fleet, [node('a', -60)])).toBeUndefined();
  expect(joinedIn(fleet, [node('a', 2)], 'large')).toBeUndefined();
  const drain = { node: 'a', drained: false, overAt: NOW, deletesFrom: new Date(NOW.getTime() + 9 * MINUTE) };
  const pod = { pod: 'x/y', fate: 'blocked', because: '', volumes: [], budgets: [] } as const;
  const blockers = [{ text: 'a budget' }] as never;
  expect(drainMs({ ...drain, pods: [], blockers: [], policy: 'Force' }, NOW, MINUTE)).toBe(0);
  expect(drainMs({ ...drain, pods: [pod], blockers: [], policy: 'Force' }, NOW, MINUTE)).toBe(MINUTE);
  expect(drainMs({ ...drain, pods: [pod], blockers, policy: 'Force' }, NOW, MINUTE)).toBe(9 * MINUTE);
  expect(drainMs({ ...drain, pods: [pod], blockers, policy: 'Quarantine' }, NOW, MINUTE)).toBe(
    Number.POSITIVE_INFINITY,
  );
});
