import { readFileSync } from 'node:fs';
import { Annotations, type Machine, type MachineClass, machineClasses, machines } from '@mcm/api';
import {
  events,
  type KubeObject,
  persistentVolumeClaims,
  persistentVolumes,
  podDisruptionBudgets,
  pods,
  type ResourceDefinition,
  type Transport,
  volumeAttachments,
} from '@mcm/kube';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { NAMESPACE, type Rig } from './testing/rig.ts';
import { createRig } from './testing/start.ts';

/** In each test, the controller lacks one rule of its roles, and the control plane enforces RBAC. */

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

const RULES = ['rbac', 'target-rbac']
  .map((name) => new URL(`../../../../deploy/kustomize/base/${name}.yaml`, import.meta.url))
  .flatMap((file) => parseAllDocuments(readFileSync(file, 'utf8')))
  .map((document): { readonly rules?: readonly Rule[] } => document.toJS())
  .flatMap(({ rules = [] }) => rules)
  .map(({ apiGroups, resources, verbs }): Rule => ({ apiGroups, resources, verbs }));

const less = (missing: string | undefined): readonly Rule[] =>
  RULES.flatMap(({ apiGroups, resources, verbs }) =>
    resources.map((resource) => ({
      apiGroups,
      resources: [resource],
      verbs: resource === missing ? verbs.filter((verb) => verb !== 'list' && verb !== 'watch') : verbs,
    })),
  ).filter(({ verbs }) => verbs.length > 0);

const USER = 'machine-controller';
const asUser =
  (transport: Transport): Transport =>
  (request) =>
    transport({ ...request, headers: { ...request.headers, 'impersonate-user': USER } });

const rbac = { group: 'rbac.authorization.k8s.io', version: 'v1', namespaced: false } as const;
const clusterRoles: ResourceDefinition<KubeObject & { readonly rules: readonly Rule[] }> = {
  ...rbac,
  plural: 'clusterroles',
  kind: 'ClusterRole',
};
const clusterRoleBindings: ResourceDefinition<KubeObject & { readonly roleRef: object; readonly subjects: object[] }> =
  {
    ...rbac,
    plural: 'clusterrolebindings',
    kind: 'ClusterRoleBinding',
  };

const allow = (rig: Rig, missing?: string) =>
  rig.admin.resource(clusterRoles).patch(USER, { type: 'merge', body: { rules: less(missing) } });

async function start(wrap: (transport: Transport) => Transport = asUser): Promise<Rig> {
  const { rig } = await createRig({ wrap });
  const metadata = { name: USER };
  await rig.admin.resource(clusterRoles).create({ metadata, rules: less(undefined) });
  const apiGroup = rbac.group;
  await rig.admin.resource(clusterRoleBindings).create({
    metadata,
    roleRef: { apiGroup, kind: 'ClusterRole', name: USER },
    subjects: [{ apiGroup, kind: 'User', name: USER }],
  });
  await rig.createClass();
  rig.start();
  return rig;
}

const runs = (rig: Rig, ...names: readonly string[]) =>
  rig.until(async () =>
    (await Promise.all(names.map((name) => rig.phase(name)))).every((phase) => phase === 'Running'),
  );

async function createPodWithVolume(rig: Rig, name: string, nodeName: string): Promise<void> {
  await rig.admin.resource(persistentVolumes).create({
    metadata: { name: 'pv' },
    spec: {
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteOnce'],
      csi: { driver: 'disks', volumeHandle: 'vol-1' },
    },
  });
  await rig.admin.resource(persistentVolumeClaims, NAMESPACE).create({
    metadata: { name: 'data', namespace: NAMESPACE },
    spec: { volumeName: 'pv', accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  });
  await rig.admin.resource(volumeAttachments).create({
    metadata: { name: 'att' },
    spec: { attacher: 'disks', nodeName, source: { persistentVolumeName: 'pv' } },
  });
  await rig.createPod(name, nodeName, {}, [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }]);
}

async function live(rig: Rig, minutes: number): Promise<void> {
  const client = rig.admin.resource(pods, NAMESPACE);
  for (let passed = 0; passed < minutes * 60; passed += 30) {
    await rig.clock.advance(30_000);
    const all = (await client.list()).items;
    for (const { metadata } of all) {
      if (metadata.deletionTimestamp) await client.delete(metadata.name, { gracePeriodSeconds: 0 });
    }
    const attachments = (await rig.admin.resource(volumeAttachments).list()).items;
    if (attachments.length > 0 && !all.some(({ metadata }) => metadata.name === 'b')) {
      await rig.admin.resource(volumeAttachments).delete('att');
    }
  }
}

async function fate(rig: Rig, name: string): Promise<string> {
  const machine = await rig.machine(name);
  if (!machine) return 'gone';
  return `${machine.status?.currentStatus?.phase ?? 'new'}: ${machine.status?.lastOperation?.description ?? ''}`;
}

const waits = (resource: string): string =>
  `Terminating: Drain failed due to - the pods of the node cannot be read: this process does not have the permission to list ${resource}. Will retry in next sync.`;
const RUNS = /^Running: /;
const uncalled = (resource: string): RegExp =>
  new RegExp(`^Terminating: VM deletion failed due to - .*does not have the permission to list ${resource}`);
const UNREAD_RULES =
  /^Terminating: Drain failed due to - the hooks and drain rules of the class cannot be read: .* to list machineclasses/;
const VOLUMES = { made: RUNS, plain: 'gone', full: 'waits' } as const;
const DRAINS = { made: RUNS, plain: 'gone', full: 'gone' } as const;

interface Row {
  readonly made: RegExp;
  readonly plain: RegExp | 'gone' | 'waits';
  readonly full: RegExp | 'gone' | 'waits';
}

const TABLE: Readonly<Record<string, Row>> = {
  pods: { made: RUNS, plain: 'waits', full: 'waits' },
  persistentvolumeclaims: VOLUMES,
  persistentvolumes: VOLUMES,
  volumeattachments: VOLUMES,
  poddisruptionbudgets: DRAINS,
  csinodes: DRAINS,
  nodes: { made: /^Pending: /, plain: 'waits', full: 'waits' },
  secrets: {
    made: /^CrashLoopBackOff: .*does not have the permission to list secrets/,
    plain: uncalled('secrets'),
    full: uncalled('secrets'),
  },
  machineclasses: {
    made: /^CrashLoopBackOff: .*does not have the permission to list machineclasses/,
    plain: UNREAD_RULES,
    full: UNREAD_RULES,
  },
  machines: { made: /^new: $/, plain: RUNS, full: RUNS },
};

const GROUPS: Readonly<Record<string, string>> = { volumeattachments: '.storage.k8s.io' };

test.each(Object.entries(TABLE))(
  'without %s, only work that needs them waits, and continues when they exist',
  async (resource, row) => {
    const rig = await start();
    for (const name of ['plain', 'full', 'well']) await rig.createMachine(name);
    await runs(rig, 'plain', 'full', 'well');
    await rig.createPod('a', 'plain');
    await createPodWithVolume(rig, 'b', 'full');
    await rig.kill();
    await allow(rig, resource);
    rig.start();
    await rig.createMachine('made');
    for (const name of ['plain', 'full']) await rig.deleteMachine(name);
    await live(rig, 4);

    const reported = waits(`${resource}${GROUPS[resource] ?? ''}`);
    const expected = (fate: RegExp | 'gone' | 'waits') => (fate === 'waits' ? expect.stringContaining(reported) : fate);
    expect(await fate(rig, 'made')).toMatch(row.made);
    for (const name of ['plain', 'full'] as const) {
      const wanted = expected(row[name]);
      if (wanted instanceof RegExp) expect(await fate(rig, name)).toMatch(wanted);
      else expect(await fate(rig, name)).toEqual(wanted);
      expect(rig.cloud.vms.some(({ machineName }) => machineName === name)).toBe(row[name] !== 'gone');
    }
    expect(await rig.phase('well')).toBe('Running');

    await allow(rig);
    await live(rig, 3);
    expect(await Promise.all(['made', 'plain', 'full', 'well'].map((name) => fate(rig, name)))).toEqual([
      expect.stringMatching(RUNS),
      'gone',
      'gone',
      expect.stringMatching(RUNS),
    ]);
    expect(await rig.nodes()).toHaveLength(2);
  },
);

test('without permission to list pods a running drain waits forever, until force-deletion', async () => {
  const rig = await start();
  await rig.createMachine('m', { drainTimeout: '20m' });
  await runs(rig, 'm');
  await rig.createPod('a', 'm');
  await rig.deleteMachine('m');
  await rig.until(async () => (await fate(rig, 'm')).includes('Evicting'));
  await allow(rig, 'pods');
  // The API server ends each open watch after at most ten minutes.
  await rig.clock.advance(11 * 60_000);
  expect(await fate(rig, 'm')).toMatch(
    /^Terminating: Drain failed .* cannot be read: this process does not have the permission to watch pods/,
  );
  const reported = (await rig.admin.resource(events, NAMESPACE).list()).items.filter(
    ({ reason }) => reason === 'DeletionBlocked',
  );
  expect(reported.map(({ message }) => message)).toEqual([
    expect.stringContaining('force-deletion=true on the machine'),
  ]);
  await rig.clock.advance(60 * 60_000);
  expect(rig.cloud.vms).toHaveLength(1);
  const forced = { metadata: { labels: { 'force-deletion': 'True' } } };
  await rig.admin.resource<Machine>(machines, NAMESPACE).patch('m', { type: 'merge', body: forced });
  await rig.until(async () => (await rig.machine('m')) === undefined, 60_000);
  expect(rig.cloud.vms).toEqual([]);
});

test('a class that cannot be read may forbid force, so nothing is forced until it can be read', async () => {
  const rig = await start();
  await rig.createMachine('m', { drainTimeout: '20m' });
  await runs(rig, 'm');
  await rig.createPod('a', 'm', { app: 'a' });
  await rig.admin.resource(podDisruptionBudgets, NAMESPACE).create({
    metadata: { name: 'a', namespace: NAMESPACE },
    spec: { minAvailable: 1, selector: { matchLabels: { app: 'a' } } },
  });
  await rig.kill();
  await allow(rig, 'machineclasses');
  rig.start();
  await rig.deleteMachine('m');
  await rig.clock.advance(60 * 60_000);
  const [pod] = (await rig.admin.resource(pods, NAMESPACE).list()).items;
  expect(pod?.metadata).toMatchObject({ name: 'a' });
  expect(pod?.metadata.deletionTimestamp).toBeUndefined();
  await allow(rig);
  await rig.until(async () => (await rig.machine('m')) === undefined, 60_000);
});

test.each([
  ['a hook before the drain', Annotations.Hooks, 'before-drain backup backup-operator 30m Block'],
  ['a rule that waits for the pod', Annotations.DrainRules, '[{"name": "jobs", "behavior": "WaitCompleted"}]'],
])('a class that cannot be read may have %s, so no pod is evicted until it can be read', async (_what, key, text) => {
  const rig = await start();
  const client = rig.admin.resource<MachineClass>(machineClasses, NAMESPACE);
  await client.patch('small', { type: 'merge', body: { metadata: { annotations: { [key]: text } } } });
  await rig.createMachine('m');
  await runs(rig, 'm');
  await rig.createPod('a', 'm');
  await rig.kill();
  await allow(rig, 'machineclasses');
  rig.start();
  await rig.deleteMachine('m');
  await rig.clock.advance(5 * 60_000);
  const isLeaving = async () =>
    (await rig.admin.resource(pods, NAMESPACE).get('a')).metadata.deletionTimestamp !== undefined;
  expect(await isLeaving()).toBe(false);
  await allow(rig);
  await rig.clock.advance(60_000);
  expect(await isLeaving()).toBe(false);
  await client.patch('small', { type: 'merge', body: { metadata: { annotations: { [key]: null } } } });
  await rig.until(isLeaving, 60_000);
});

test('kinds that a server does not have are not awaited: budgets and VolumeAttachments', async () => {
  const absent = (transport: Transport): Transport => {
    const ask = asUser(transport);
    const status =
      '{"kind":"Status","code":404,"reason":"NotFound","message":"the server could not find the requested resource"}';
    return (request) =>
      /^\/apis\/(policy\/v1|storage.k8s.io\/v1\/volumeattachments)/.test(request.path)
        ? Promise.resolve(new Response(status, { status: 404 }))
        : ask(request);
  };
  const rig = await start(absent);
  await rig.createMachine('full');
  await runs(rig, 'full');
  await createPodWithVolume(rig, 'b', 'full');
  await rig.deleteMachine('full');
  await live(rig, 2);
  expect(await fate(rig, 'full')).toBe('gone');
});
