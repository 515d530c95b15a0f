import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  Annotations,
  crds,
  type Machine,
  type MachineDeployment,
  type MachineSet,
  machineDeployments,
  machineSets,
  machines,
} from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { createClient, type KubeClient, type Lease, leases, realClock, VirtualClock } from '@mcm/kube';
import { partial } from '@mcm/kube/testing';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { readDeployment } from '../cluster/deployment-reading.ts';
import { explainDeployment } from '../explain/deployment/deployment.ts';
import { deploymentLines } from '../explain/deployment/deployment-lines.ts';
import { pause, promote, RolloutAnnotations, restart, resume, type Target, undo } from './actions.ts';
import { history, revisionTemplate } from './history.ts';
import { changeRollout } from './run.ts';
import { followStatus, type RolloutState, rolloutState } from './status.ts';

let client: KubeClient;
let close: () => Promise<void>;
let target: Target;

const template = (name: string) => ({
  metadata: { labels: { name: 'workers' } },
  spec: { class: { kind: 'MachineClass', name } },
});

beforeEach(async () => {
  const clock = new VirtualClock();
  const plane = await startControlPlane({ clock, crds, controllers: false });
  close = () => plane.close();
  client = createClient({ transport: plane.transport, userAgent: 'test', clock });
  target = { client, namespace: 'default', name: 'workers', clock };
  await client.resource<MachineDeployment>(machineDeployments, 'default').create({
    metadata: { name: 'workers', namespace: 'default' },
    spec: {
      replicas: 3,
      selector: { matchLabels: { name: 'workers' } },
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
      template: template('green'),
    },
  });
});
afterEach(() => close());

const get = () => client.resource<MachineDeployment>(machineDeployments, 'default').get('workers');

async function makeSet(name: string, revision: number, machineClass: string): Promise<void> {
  const { metadata } = await get();
  const owner = { apiVersion: 'machine.sapcloud.io/v1alpha1', kind: 'MachineDeployment', name: 'workers' };
  await client.resource(machineSets, 'default').create({
    metadata: {
      name,
      namespace: 'default',
      annotations: { 'deployment.kubernetes.io/revision': String(revision) },
      ownerReferences: [{ ...owner, uid: metadata.uid, controller: true, blockOwnerDeletion: true }],
    },
    spec: { replicas: 0, selector: { matchLabels: { name: 'workers' } }, template: template(machineClass) },
  });
}

test('pause and resume write spec.paused, and fail if there is nothing to do', async () => {
  await expect(resume(target)).rejects.toThrow('workers is not paused');
  expect(await pause(target)).toEqual({
    namespace: 'default',
    name: 'workers',
    action: 'paused',
    text: 'machinedeployment workers paused',
  });
  expect((await get()).spec.paused).toBe(true);
  await expect(pause(target)).rejects.toThrow('already paused');
  await expect(restart(target)).rejects.toThrow('mcm rollout resume workers');
  await resume(target);
  expect((await get()).spec.paused).toBeUndefined();
});

test('a pause is repeated after a conflict with the controller', async () => {
  const resource = client.resource<MachineDeployment>(machineDeployments, 'default');
  let writes = 0;
  // Between the read and the write of the command, a second client changes the object.
  const meddled = Object.assign(Object.create(resource), {
    get: async (name: string) => {
      const seen = await resource.get(name);
      const labels = { n: `${++writes}` };
      if (writes <= 3) await resource.patch(name, { type: 'merge', body: { metadata: { labels } } });
      return seen;
    },
    patch: (...patch: Parameters<typeof resource.patch>) => resource.patch(...patch),
  });
  const busy = Object.assign(Object.create(client), { resource: () => meddled });
  await pause({ ...target, client: busy });
  expect([(await get()).spec.paused, writes]).toEqual([true, 4]);
});

test('restart writes the time into the template', async () => {
  await restart(target);
  expect((await get()).spec.template.metadata?.annotations?.[RolloutAnnotations.RestartedAt]).toBe(
    target.clock.now().toISOString(),
  );
});

test('undo accepts an existing revision that is not the current one', async () => {
  await expect(undo(target, 0)).rejects.toThrow('no previous revision; existing revisions: none');
  await makeSet('workers-b', 2, 'green');
  await expect(undo(target, 0)).rejects.toThrow('no previous revision; existing revisions: 2');
  await makeSet('workers-a', 1, 'blue');
  await expect(undo(target, 7)).rejects.toThrow('no revision 7; existing revisions: 1, 2');
  await expect(undo(target, 2)).rejects.toThrow('already at revision 2');
  expect(await undo(target, 0)).toMatchObject({
    revision: 1,
    text: expect.stringContaining('revision 1 (class blue)'),
  });
  expect((await get()).spec.rollbackTo).toEqual({ revision: 1 });
});

test('undo of a template without a set returns to the newest revision', async () => {
  await makeSet('workers-a', 1, 'blue');
  await makeSet('workers-b', 2, 'red');
  expect(await history(target)).toEqual([
    expect.stringMatching(/^REVISION/),
    expect.stringMatching(/^1 /),
    expect.stringMatching(/^2 /),
    'The template of the deployment (class green) has no set and no revision yet.',
  ]);
  expect(await undo(target, 0)).toMatchObject({ revision: 2, text: expect.stringContaining('(class red)') });
  expect((await get()).spec.rollbackTo).toEqual({ revision: 2 });
});

test('undo resumes a paused deployment in the same write', async () => {
  await makeSet('workers-a', 1, 'blue');
  await makeSet('workers-b', 2, 'green');
  await pause(target);
  const { metadata } = await get();
  expect(await undo(target, 0)).toMatchObject({
    resumed: true,
    text: expect.stringMatching(/revision 1 \(class blue\) and resumed$/),
  });
  const { metadata: after, spec } = await get();
  expect([spec.rollbackTo, spec.paused]).toEqual([{ revision: 1 }, undefined]);
  // The generation proves that the command wrote the object only once.
  expect(after.generation).toBe((metadata.generation ?? 0) + 1);
});

describe('promote', () => {
  const SOAK = { [Annotations.RolloutCanary]: '1', [Annotations.RolloutCanarySoak]: '1h' };
  const annotate = (annotations: Readonly<Record<string, string | null>>) =>
    client
      .resource<MachineDeployment>(machineDeployments, 'default')
      .patch('workers', { type: 'merge', body: { metadata: { annotations } } });
  const resize = async (name: string, replicas: number) => {
    const resource = client.resource<MachineSet>(machineSets, 'default');
    await resource.patch(name, { type: 'merge', body: { spec: { replicas } } });
    await resource.patch(name, { type: 'merge', body: { status: { replicas } } }, { subresource: 'status' });
  };

  async function canary() {
    await annotate(SOAK);
    await makeSet('workers-a', 1, 'blue');
    await makeSet('workers-b', 2, 'green');
    await resize('workers-a', 2);
    await resize('workers-b', 1);
    const now = target.clock.now();
    const running = (name: string, uid: string): Machine =>
      partial<Machine>({
        metadata: { name, namespace: 'default', uid: name, ownerReferences: [{ uid, controller: true }] },
        spec: { class: { name: 'x' } },
        status: { currentStatus: { phase: 'Running', lastUpdateTime: now.toISOString() } },
      });
    return async () => {
      const reading = await readDeployment(client, 'default', 'workers');
      const machines = new Map(
        reading.sets.map(({ metadata: { uid, name }, spec: { replicas = 0 } }) => [
          uid,
          Array.from({ length: replicas }, (_, i) => running(`${name}-${i}`, uid)),
        ]),
      );
      return explainDeployment({ ...reading, machines, fleet: [...machines.values()].flat() }, now);
    };
  }

  test('promote ends the soak time of the canaries, as the decision function of the manager shows', async () => {
    const explain = await canary();
    expect(await explain()).toMatchObject({
      next: expect.stringContaining('mcm observes canaries for'),
      changes: [],
      hints: [expect.stringContaining('mcm rollout promote workers')],
    });
    expect(await promote(target)).toMatchObject({ action: 'promoted', set: 'workers-b' });
    expect((await explain()).changes).not.toEqual([]);
    await expect(promote(target)).rejects.toThrow('is already promoted, because workers-b is the last good set');
  });

  const CANARY = 'workers-b-0';

  /** Starts a soak time of 1h with a Running canary in the cluster, and observes the spec. */
  async function soaking() {
    await canary();
    const { uid } = (await client.resource<MachineSet>(machineSets, 'default').get('workers-b')).metadata;
    const fleet = client.resource<Machine>(machines, 'default');
    const owner = { apiVersion: 'machine.sapcloud.io/v1alpha1', kind: 'MachineSet', name: 'workers-b', uid };
    await fleet.create({
      metadata: { name: CANARY, labels: { name: 'workers' }, ownerReferences: [{ ...owner, controller: true }] },
      spec: { class: { kind: 'MachineClass', name: 'green' } },
    });
    await runsSince(target.clock.now());
    await report({ observedGeneration: 1, replicas: 3, updatedReplicas: 1, availableReplicas: 3 });
  }

  const runsSince = (time: Date) =>
    client.resource<Machine>(machines, 'default').patch(
      CANARY,
      {
        type: 'merge',
        body: { status: { currentStatus: { phase: 'Running', lastUpdateTime: time.toISOString() } } },
      },
      { subresource: 'status' },
    );
  const report = (status: object) =>
    client
      .resource<MachineDeployment>(machineDeployments, 'default')
      .patch('workers', { type: 'merge', body: { status } }, { subresource: 'status' });

  async function statusOnce(): Promise<readonly RolloutState[]> {
    const said: RolloutState[] = [];
    await followStatus(target, (state) => said.push(state), { follow: false, signal: new AbortController().signal });
    return said;
  }

  test('status reports the soak time, its end, and the command that ends it', async () => {
    await soaking();
    const soakEndsAt = new Date(target.clock.now().getTime() + 3_600_000).toISOString().replace('.000Z', 'Z');
    expect((await statusOnce()).slice(1)).toEqual([
      {
        kind: 'under way',
        text: `Waiting for machinedeployment workers: mcm observes canaries for 1h0m0s more, until ${soakEndsAt}. To continue now, run: mcm rollout promote workers`,
        soakEndsAt,
      },
    ]);
    await promote(target);
    await report({ observedGeneration: 1 });
    expect(await statusOnce()).toEqual([expect.not.objectContaining({ soakEndsAt: expect.anything() })]);
  });

  test.each([
    ['the deployment is paused', () => pause(target).then(() => report({ observedGeneration: 2 }))],
    [
      'a window is closed',
      () => report({ conditions: [{ type: 'RolloutWaiting', status: 'True', message: 'closed' }] }),
    ],
    ['the spec is not observed', () => report({ observedGeneration: 0 })],
    [
      'the canary does not run',
      () =>
        client
          .resource<Machine>(machines, 'default')
          .patch(
            CANARY,
            { type: 'merge', body: { status: { currentStatus: { phase: 'Pending' } } } },
            { subresource: 'status' },
          ),
    ],
  ])('status reports no soak time if %s', async (_, change) => {
    await soaking();
    await change();
    expect(await statusOnce()).toEqual([expect.not.objectContaining({ soakEndsAt: expect.anything() })]);
  });

  test('status that follows a rollout reports each soak time once', async () => {
    await soaking();
    const end = new AbortController();
    const ends: string[] = [];
    const heard: PromiseWithResolvers<void>[] = [Promise.withResolvers(), Promise.withResolvers()];
    const say = ({ soakEndsAt }: RolloutState) => {
      if (soakEndsAt === undefined) return;
      ends.push(soakEndsAt);
      heard[ends.length - 1]?.resolve();
    };
    const following = followStatus(target, say, { follow: true, signal: end.signal });
    await heard[0]?.promise;
    const now = target.clock.now().getTime();
    // This status has the same soak time, so it is not reported again.
    await report({ readyReplicas: 2 });
    await runsSince(new Date(now - 600_000));
    await report({ readyReplicas: 3 });
    await heard[1]?.promise;
    end.abort(new Error('stopped'));
    await expect(following).rejects.toThrow('stopped');
    const minutes = ends.map((text) => (Date.parse(text) - now) / 60_000);
    expect(minutes).toEqual([60, 50]);
  });

  test('after a promotion, the next template has canaries again', async () => {
    const explain = await canary();
    await promote(target);
    await makeSet('workers-c', 3, 'red');
    await resize('workers-b', 0);
    await resize('workers-c', 1);
    await client
      .resource<MachineDeployment>(machineDeployments, 'default')
      .patch('workers', { type: 'merge', body: { spec: { template: template('red') } } });
    expect((await explain()).next).toContain('mcm observes canaries for');
  });

  test('promote is refused without canaries, without a rollout, and while paused', async () => {
    await expect(promote(target)).rejects.toThrow(
      'has no wait to skip: set annotation rollout.machine.sapcloud.io/canary or',
    );
    await canary();
    await pause(target);
    await expect(promote(target)).rejects.toThrow('is paused and cannot be promoted');
    await resume(target);
    await resize('workers-b', 0);
    await expect(promote(target)).rejects.toThrow('has no machine of its template yet');
    await resize('workers-b', 1);
    await resize('workers-a', 0);
    await expect(promote(target)).rejects.toThrow('has no rollout in progress');
  });
});

test('history marks the current revision and prints templates', async () => {
  await makeSet('workers-a', 1, 'blue');
  await makeSet('workers-b', 2, 'green');
  const [head, first, second] = await history(target);
  expect(head).toMatch(/^REVISION +SET +CLASS +MACHINES +CHANGE-CAUSE$/);
  expect(first).toMatch(/^1 +workers-a +blue +0/);
  expect(second).toMatch(/^2\* +workers-b +green +0 +<none>$/);
  const [json = ''] = await history(target, 'json');
  expect(json).not.toContain('<none>');
  expect(JSON.parse(json)).toMatchObject([
    { revision: 1, machines: 0 },
    { revision: 2, current: true },
  ]);
  expect((await revisionTemplate(target, 1)).join('\n')).toContain('name: blue');
  await expect(revisionTemplate(target, 9)).rejects.toThrow('no revision 9; existing revisions: 1, 2');
});

test('the error for an unknown deployment contains its namespace', async () => {
  const absent = (name: string) => expect(pause({ ...target, name })).rejects.toThrow;
  await absent('nope')('no machinedeployment nope in namespace default; there are workers');
  await absent('wrokers')('did you mean workers?');
});

const withStatus = (deployment: MachineDeployment, status: object): MachineDeployment =>
  ({ ...deployment, status: { observedGeneration: 1, ...status } }) as MachineDeployment;

test('the state of a rollout comes from the status', async () => {
  const deployment = await get();
  const reported = (status: object) => rolloutState(withStatus(deployment, status));
  expect(reported({ observedGeneration: 0 }).text).toContain('has not observed the change');
  expect(reported({ updatedReplicas: 1, replicas: 3 }).text).toContain('1 out of 3 new machines');
  expect(reported({ updatedReplicas: 3, replicas: 4 }).text).toContain('1 old machine is pending termination');
  expect(reported({ updatedReplicas: 3, replicas: 3, availableReplicas: 2 }).text).toContain('2 of 3 updated machines');
  expect(reported({ updatedReplicas: 3, replicas: 3, availableReplicas: 3 }).kind).toBe('complete');
  const conditions = [{ type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded', message: 'late' }];
  expect(reported({ conditions })).toMatchObject({ kind: 'failed', text: expect.stringContaining('late') });
  const isOld = { observedGeneration: 0, conditions };
  expect(reported(isOld)).toMatchObject({ kind: 'under way', text: expect.stringContaining('has not observed') });
});

test('an exceeded progress deadline counts only for the MachineSet of the current template', async () => {
  await makeSet('old', 1, 'blue');
  await makeSet('new', 2, 'green');
  const kindFor = async (named: string) => {
    const message = `MachineSet "${named}" has timed out progressing.`;
    const conditions = [{ type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded', message }];
    const deployments = client.resource<MachineDeployment>(machineDeployments, 'default');
    const body = { status: { observedGeneration: 1, conditions } };
    await deployments.patch('workers', { type: 'merge', body }, { subresource: 'status' });
    const said: RolloutState[] = [];
    const { signal } = new AbortController();
    await followStatus(target, (state) => said.push(state), { follow: false, signal });
    return said[0]?.kind;
  };
  expect(await kindFor('new')).toBe('failed');
  expect(await kindFor('old')).toBe('under way');
});

test('a rollout that waits for machines shows the failed ones and their errors', async () => {
  const description = 'Cloud provider message - machine codes error: code = [ResourceExhausted] message = [no cores.]';
  const failed = (name: string) => ({ name, lastOperation: { description, state: 'Failed', type: 'Create' } });
  const waiting = { replicas: 3, updatedReplicas: 3, availableReplicas: 1, failedMachines: [failed('b'), failed('a')] };
  expect(rolloutState(withStatus(await get(), waiting)).text).toBe(
    'Waiting for machinedeployment workers rollout to finish: 1 of 3 updated machines are available; machine a: ResourceExhausted: no cores, and 1 more failed...',
  );
});

test('a blocked rollout shows its blocker instead of counts', async () => {
  const message = 'spec.template.spec.class.name: there is no MachineClass "typo".';
  const blocked = withStatus(await get(), {
    replicas: 3,
    updatedReplicas: 0,
    conditions: [{ type: 'InvalidSpec', status: 'True', reason: 'ClassNotFound', message }],
  });
  expect(rolloutState(blocked)).toEqual({
    kind: 'failed',
    text: 'the rollout of machinedeployment workers cannot continue: spec.template.spec.class.name: there is no MachineClass "typo".',
  });
});

test.each([
  ['InvalidSpec', 'ValidationFailed', 'failed'],
  ['InvalidSpec', 'SelectingAll', 'failed'],
  ['InvalidSpec', 'SelectorOverlaps', 'under way'],
  ['RolloutBlocked', 'PausedOnFailure', 'failed'],
  ['RolloutBlocked', 'NodesNotReadable', 'under way'],
])('a rollout with %s and reason %s is %s', async (type, reason, kind) => {
  const conditions = [{ type, status: 'True', reason, message: 'text' }];
  expect(rolloutState(withStatus(await get(), { replicas: 3, conditions })).kind).toBe(kind);
  // The condition in the status still describes the previous spec.
  expect(rolloutState(withStatus(await get(), { observedGeneration: 0, conditions })).kind).toBe('under way');
});

test('status ends when the deployment reports a missing class', async () => {
  const said: string[] = [];
  const following = followStatus(target, ({ text }) => said.push(text), {
    follow: true,
    signal: AbortSignal.timeout(30_000),
  });
  const conditions = [{ type: 'InvalidSpec', status: 'True', reason: 'ClassNotFound', message: 'no class' }];
  await client
    .resource<MachineDeployment>(machineDeployments, 'default')
    .patch(
      'workers',
      { type: 'merge', body: { status: { observedGeneration: 1, conditions } } },
      { subresource: 'status' },
    );
  expect(await following).toBe(false);
  expect(said.at(-1)).toBe('the rollout of machinedeployment workers cannot continue: no class');
});

test('status ends after its timeout', async () => {
  const clock = new VirtualClock();
  const said: string[] = [];
  const following = followStatus({ ...target, clock }, ({ kind, text }) => said.push(`${kind}: ${text}`), {
    follow: true,
    signal: AbortSignal.timeout(30_000),
    timeoutMs: 5_000,
  });
  await clock.advance(4_000);
  expect(said.filter((text) => text.includes('--timeout'))).toEqual([]);
  await clock.advance(2_000);
  expect(await following).toBe(false);
  expect(said.at(-1)).toBe('failed: machinedeployment workers did not complete its rollout before --timeout');
});

test('a rollout outside of its window shows when it may continue', async () => {
  const message =
    'The rollout waits: no window is open (0 14 * * * UTC 10m); the rollout may continue at 2026-01-01T14:00:00Z.';
  const waiting = withStatus(await get(), {
    replicas: 3,
    updatedReplicas: 0,
    conditions: [{ type: 'RolloutWaiting', status: 'True', reason: 'OutsideWindow', message }],
  });
  expect(rolloutState(waiting).text).toBe(
    'Waiting for machinedeployment workers rollout to finish: The rollout waits: no window is open (0 14 * * * UTC 10m); the rollout may continue at 2026-01-01T14:00:00Z...',
  );
});

test('status is followed until the rollout is complete', async () => {
  const said: string[] = [];
  const following = followStatus(target, ({ text }) => said.push(text), {
    follow: true,
    signal: AbortSignal.timeout(30_000),
  });
  const done = { observedGeneration: 1, updatedReplicas: 3, replicas: 3, availableReplicas: 3 };
  await client
    .resource<MachineDeployment>(machineDeployments, 'default')
    .patch('workers', { type: 'merge', body: { status: done } }, { subresource: 'status' });
  expect(await following).toBe(true);
  expect(said.at(-1)).toBe('machinedeployment workers successfully rolled out');
});

test.each([true, false])('status reports a manager that is not working (follow: %s)', async (follow) => {
  const renewTime = new Date(target.clock.now().getTime() - 700_000).toISOString().replace('Z', '000Z');
  await client.resource<Lease>(leases, 'default').create({
    metadata: { name: 'machine-controller-manager' },
    spec: { holderIdentity: 'host_1', leaseDurationSeconds: 15, renewTime },
  });
  const end = new AbortController();
  const said: string[] = [];
  const say = ({ text }: { readonly text: string }) => {
    said.push(text);
    if (text.startsWith('machine-controller-manager is not working since ')) end.abort(new Error('stopped'));
  };
  await followStatus(target, say, { follow, signal: end.signal }).catch(() => undefined);
  expect(said.at(-1)).toContain('the leader host_1 does not renew Lease default/machine-controller-manager');
});

test('an interrupt while the server does not respond ends the command', async () => {
  const end = new AbortController();
  const asked = Promise.withResolvers<AbortSignal | undefined>();
  const silent = createClient({
    transport: ({ signal }) => {
      asked.resolve(signal);
      return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
    },
    userAgent: 'test',
    clock: realClock,
  });
  const following = followStatus({ ...target, client: silent }, () => undefined, { follow: true, signal: end.signal });
  const heard = await asked.promise;
  end.abort(new Error('stopped'));
  expect(heard?.aborted).toBe(true);
  await expect(following).rejects.toThrow('stopped');
});

test('explain shows the next step of the controller, and how to resume a paused rollout', async () => {
  const now = realClock.now();
  const lines = async () =>
    deploymentLines(explainDeployment(await readDeployment(client, 'default', 'workers'), now), now).join('\n');
  expect(await lines()).toMatch(
    /wants {2}3 machines of class green.*with at most 1 additional machine and 0 unavailable machines/,
  );
  expect(await lines()).toMatch(/This step:\n {2}- mcm creates MachineSet workers-\w{5} with 3 machines/);
  await pause(target);
  expect(await lines()).toContain('no step, because the rollout is paused');
  expect(await lines()).toContain('mcm rollout resume workers');
});

test('explain names the invalid field of a spec with a hint', async () => {
  const reading = await readDeployment(client, 'default', 'workers');
  const spec = { ...reading.deployment.spec, replicas: -1 };
  const { next, hints } = explainDeployment({ ...reading, deployment: { ...reading.deployment, spec } }, new Date(0));
  expect(next).toBe('no step, because the spec of the deployment is not valid');
  expect(hints).toEqual(['correct spec.replicas, which must be an integer from 0 to 2147483647']);
});

test('a selector changes several deployments; a refused deployment is reported', async () => {
  const clock = new VirtualClock();
  const plane = await startControlPlane({ port: 0, clock, crds, controllers: false });
  const folder = await mkdtemp(join(tmpdir(), 'mcm-rollout-'));
  onTestFinished(async () => {
    process.exitCode = undefined;
    await Promise.all([plane.close(), rm(folder, { recursive: true })]);
  });
  const kubeconfig = join(folder, 'kubeconfig');
  await writeFile(kubeconfig, plane.kubeconfig(), { mode: 0o600 });
  const all = createClient({ transport: plane.transport, userAgent: 'test', clock }).resource<MachineDeployment>(
    machineDeployments,
    'default',
  );
  for (const [name, paused] of [
    ['a', true],
    ['b', false],
    ['c', false],
  ] as const)
    await all.create({
      metadata: { name, labels: { tier: name === 'c' ? 'test' : 'prod' } },
      spec: {
        replicas: 0,
        paused,
        selector: { matchLabels: { name } },
        template: { ...template('green'), metadata: { labels: { name } } },
      },
    });
  const [said, warned]: [string[], string[]] = [[], []];
  const environment = { say: (line: string) => void said.push(line), warn: (line: string) => void warned.push(line) };
  const flags = { kubeconfig, dataDir: folder, output: 'text' as const };
  await changeRollout('pause', undefined, { ...flags, selector: 'tier=prod' }, environment);
  expect(said).toEqual(['machinedeployment b paused']);
  expect(warned).toEqual(['mcm: machinedeployment a is already paused']);
  expect(process.exitCode).toBe(1);
  expect((await all.get('c')).spec.paused).toBe(false);
  await expect(changeRollout('pause', undefined, { ...flags, selector: 'tier=x' }, environment)).rejects.toThrow(
    'no machinedeployment in namespace default has the labels tier=x',
  );
});
