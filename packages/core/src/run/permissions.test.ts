import { readFileSync } from 'node:fs';
import { type Machine, machines } from '@mcm/api';
import { evictionRequests, nodes, pods, type Transport, volumeAttachments } from '@mcm/kube';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { ORPHAN_DEFAULTS } from '../safety/orphans/orphan-options.ts';
import { NAMESPACE } from './testing/rig.ts';
import { createRig } from './testing/start.ts';

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}
interface Document {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly rules?: readonly Rule[];
}

const manifest = ['rbac', 'target-rbac']
  .map((name) => new URL(`../../../../deploy/kustomize/base/${name}.yaml`, import.meta.url))
  .flatMap((file) => parseAllDocuments(readFileSync(file, 'utf8')))
  .map((document): Document => document.toJS())
  .filter(({ metadata: { name } }) => !name.startsWith('machine-controller-manager'));

const allowed = new Set(
  manifest.flatMap(({ metadata: { namespace = '*' }, rules = [] }) =>
    rules.flatMap(({ apiGroups, resources, verbs }) =>
      apiGroups.flatMap((group) =>
        resources.flatMap((resource) => verbs.map((verb) => `${namespace} ${group}/${resource} ${verb}`)),
      ),
    ),
  ),
);

const VERBS: Readonly<Record<string, string>> = { POST: 'create', PATCH: 'patch', PUT: 'update', DELETE: 'delete' };

function askedFor(method: string, path: string): { readonly namespace: string; readonly what: string } | undefined {
  const [plain = '', query = ''] = path.split('?');
  const parts =
    /^\/(?:api\/v1|apis\/([^/]+)\/[^/]+)(?:\/namespaces\/([^/]+))?\/([^/]+)(?:\/([^/]+))?(?:\/([^/]+))?$/.exec(plain);
  if (!parts) return undefined;
  const [, group = '', namespace = '*', resource = '', name, subresource] = parts;
  const read = name === undefined ? (query.includes('watch=') ? 'watch' : 'list') : 'get';
  const what = `${group}/${resource}${subresource ? `/${subresource}` : ''} ${VERBS[method] ?? read}`;
  return { namespace, what };
}

const MINUTE = 60_000;
const UNREACHABLE = [{ type: 'Ready', status: 'Unknown', lastTransitionTime: '2026-01-01T00:00:00Z' }] as const;

test('the allowed requests suffice for everything that a machine controller does, and all of them are used', async () => {
  const used = new Set<string>();
  const refused = new Set<string>();
  const wrap =
    (transport: Transport): Transport =>
    (request) => {
      const asked = askedFor(request.method, request.path);
      const hit = asked && [`${asked.namespace} ${asked.what}`, `* ${asked.what}`].find((each) => allowed.has(each));
      if (hit) used.add(hit);
      if (!asked || hit) return transport(request);
      refused.add(`${asked.namespace} ${asked.what}`);
      return Promise.resolve(
        new Response('{"kind":"Status","code":403,"reason":"Forbidden","message":"no"}', { status: 403 }),
      );
    };
  const orphans = { ...ORPHAN_DEFAULTS, periodMs: MINUTE };
  const controller = { orphans, evidencePerClass: 1 };
  const runtimeConfig = ['lifecycle.k8s.io/v1alpha1'];
  const { rig } = await createRig({ wrap, joinAfterMs: undefined, controller, runtimeConfig });
  const api = rig.admin.resource<Machine>(machines, NAMESPACE);
  const runs = async (name: string): Promise<void> => {
    const vm = rig.cloud.vms.find(({ machineName }) => machineName === name);
    if (vm) await rig.join(vm);
    await rig.until(async () => (await rig.phase(name)) === 'Running', 5 * MINUTE);
  };
  const gone = (name: string) => rig.until(async () => (await rig.machine(name)) === undefined, 30 * MINUTE);
  await rig.createClass('small', 'join with <<BOOTSTRAP_TOKEN>>');
  rig.start();
  // mcm extends the token of one of two machines that never join, and deletes the older evidence.
  for (const name of ['late', 'never']) await rig.createMachine(name, { creationTimeout: '2m' });
  await rig.until(async () => (await rig.machines()).every((m) => m.status?.currentStatus?.phase === 'Pending'));
  await api.patch('late', { type: 'merge', body: { spec: { creationTimeout: '1h' } } });
  await rig.clock.advance(1_000);
  for (const name of ['never', 'late']) {
    await rig.until(async () => (await rig.phase(name)) === 'Failed', 90 * MINUTE);
    await rig.deleteMachine(name);
    await gone(name);
  }
  await rig.createMachine('full');
  await rig.until(async () => (await rig.phase('full')) === 'Pending');
  await runs('full');
  for (const name of ['a', 'b']) await rig.createPod(name, 'full');
  await rig.admin.resource(volumeAttachments).create({
    metadata: { name: 'att' },
    spec: { attacher: 'csi', nodeName: 'full', source: { persistentVolumeName: 'pv' } },
  });
  await rig.deleteMachine('full');
  await rig.until(
    async () => (await rig.admin.resource(pods, NAMESPACE).get('a')).metadata.deletionTimestamp !== undefined,
  );
  await api.patch('full', { type: 'merge', body: { metadata: { labels: { 'force-deletion': 'True' } } } });
  await gone('full');
  // No controller handles the EvictionRequests of this machine, so mcm evicts its pod.
  await rig.createMachine('held', { drainTimeout: '2m' });
  await rig.until(async () => (await rig.phase('held')) === 'Pending');
  await runs('held');
  const policy = { 'node.machine.sapcloud.io/undrainable-policy': 'Quarantine' };
  await api.patch('held', { type: 'merge', body: { metadata: { annotations: policy } } });
  await rig.createPod('c', 'held');
  await rig.deleteMachine('held');
  const asks = async (): Promise<boolean> =>
    (await rig.admin.resource(evictionRequests, NAMESPACE).list()).items.some(
      ({ spec }) => spec.target.pod?.name === 'c',
    );
  await rig.until(asks, MINUTE);
  await rig.until(async () => !(await asks()));
  await rig.admin.resource(pods, NAMESPACE).delete('c', { gracePeriodSeconds: 0 });
  await gone('held');
  for (const name of ['by-node', 'ghost']) {
    await rig.createMachine(name);
    await rig.until(async () => (await rig.phase(name)) === 'Pending');
    await runs(name);
  }
  await rig.admin.resource(nodes).delete('by-node');
  await gone('by-node');
  await rig.clock.advance(30 * MINUTE);
  await rig.kill();
  await rig.conditions('ghost', UNREACHABLE);
  await api.patch('ghost', { type: 'merge', body: { metadata: { finalizers: null } } });
  rig.cloud.lose('ghost');
  await api.delete('ghost');
  rig.start();
  await rig.until(async () => (await rig.nodes()).length === 0, 120 * MINUTE);
  await rig.clock.advance(MINUTE);

  expect([...refused]).toEqual([]);
  const unused = [...allowed].filter((each) => !used.has(each));
  // Other parts of the process send these requests: leader election, repeated events, and a probe of the Machines.
  const elsewhere = [/\/leases /, /\/namespaces get$/, /\/events patch$/, /\/machines get$/, /\/configmaps patch$/];
  expect(unused.filter((each) => !elsewhere.some((pattern) => pattern.test(each)))).toEqual([]);
});
