import { startControlPlane } from '@mcm/control-plane';
import { createClient, events, KubeError, pods, VirtualClock } from '@mcm/kube';
import { expect, onTestFinished, test } from 'vitest';
import { ensureNamespace } from './namespace.ts';
import { hasPods, untilReady } from './ready.ts';

const { signal } = new AbortController();

async function setUp() {
  const clock = new VirtualClock();
  const plane = await startControlPlane({ clock, controllers: false });
  onTestFinished(() => plane.close());
  const transport = plane.transport;
  const refused = new Set<string>();
  const client = createClient({
    transport: (request) => {
      if (refused.has(request.method)) throw new KubeError('not for you', { code: 403, reason: 'Forbidden' });
      return transport(request);
    },
    userAgent: 'test',
    clock,
  });
  return { clock, client, refused };
}

test('the namespace is created once', async () => {
  const { client } = await setUp();
  expect(await ensureNamespace(client, 'machines', signal)).toBe(true);
  expect(await ensureNamespace(client, 'machines', signal)).toBe(false);
});

test('a namespace that is being deleted, or that the user cannot create, is refused', async () => {
  const { client, refused } = await setUp();
  await client.request('POST', '/api/v1/namespaces', {
    body: {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'going', finalizers: ['example.com/kept'] },
    },
  });
  await client.request('DELETE', '/api/v1/namespaces/going');
  await expect(ensureNamespace(client, 'going', signal)).rejects.toThrow('namespace going is being deleted; wait');
  refused.add('POST');
  await expect(ensureNamespace(client, 'absent', signal)).rejects.toThrow(
    'namespace absent does not exist, and the credentials cannot create the namespace (not for you); first: kubectl create namespace absent',
  );
  refused.add('GET');
  expect(await ensureNamespace(client, 'absent', signal)).toBe(false);
});

/** Creates a Deployment with one pod, and waits for one minute until the Deployment is ready. */
async function deployed(podStatus: object, status: object = {}) {
  const { clock, client } = await setUp();
  const labels = { app: 'mcm' };
  const containers = [{ name: 'manager', image: 'i' }];
  const deployment = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'mcm', namespace: 'default' },
    spec: { replicas: 1, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers } } },
  };
  const path = '/apis/apps/v1/namespaces/default/deployments';
  await client.request('POST', path, { body: deployment });
  await client.resource(pods, 'default').create({ metadata: { name: 'mcm-0', labels }, spec: { containers } } as never);
  const merge = { contentType: 'application/merge-patch+json' };
  await client.request('PATCH', '/api/v1/namespaces/default/pods/mcm-0/status', {
    ...merge,
    body: { status: podStatus },
  });
  const setStatus = (given: object) =>
    client.request('PATCH', `${path}/mcm/status`, { ...merge, body: { status: given } });
  await setStatus(status);
  const waiting = untilReady(client, [deployment, { kind: 'Service' }], { clock, signal, timeoutMs: 60_000 });
  return { clock, client, setStatus, waiting };
}
const READY = { observedGeneration: 1, replicas: 1, updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1 };

test('waits until the Deployment is rolled out', async () => {
  const { clock, setStatus, waiting } = await deployed({});
  let ended = false;
  void waiting.then(() => {
    ended = true;
  });
  await clock.advance(10_000);
  expect(ended).toBe(false);
  await setStatus(READY);
  await clock.advance(2_000);
  expect(await waiting).toEqual([]);
});

const waitingFor = (reason: string, message: string, more: object = {}) => ({
  containerStatuses: [
    {
      name: 'manager',
      image: 'i',
      imageID: '',
      ready: false,
      restartCount: 0,
      state: { waiting: { reason, message } },
      ...more,
    },
  ],
});

test.each([
  [waitingFor('ImagePullBackOff', 'no such image'), '  pod mcm-0, container manager: ImagePullBackOff: no such image'],
  [
    waitingFor('CrashLoopBackOff', 'back-off', { lastState: { terminated: { exitCode: 3 } } }),
    '  pod mcm-0, container manager: CrashLoopBackOff: back-off; the container exited with 3, see: kubectl -n default logs mcm-0 -c manager --previous',
  ],
  [
    { conditions: [{ type: 'PodScheduled', status: 'False', message: '0/3 nodes are available' }] },
    '  pod mcm-0 is not scheduled: 0/3 nodes are available',
  ],
  [{}, '  pod mcm-0 is not ready: the containers of the pod are starting'],
])('after the time limit, explains why a pod is not ready: %o', async (podStatus, line) => {
  const { clock, waiting } = await deployed(podStatus);
  await clock.advance(60_000);
  expect(await waiting).toEqual(['deployment/mcm: 0 of 1 pods are available', line]);
});

test('a missing Secret is explained by the event of the pod', async () => {
  const { clock, client, waiting } = await deployed({});
  await client.resource(events, 'default').create({
    metadata: { name: 'e' },
    type: 'Warning',
    reason: 'FailedMount',
    message: 'secret "kubeconfigs" not found',
    involvedObject: { apiVersion: 'v1', kind: 'Pod', name: 'mcm-0', namespace: 'default' },
  } as never);
  await clock.advance(60_000);
  expect((await waiting).at(-1)).toBe('  pod mcm-0 is not ready: secret "kubeconfigs" not found');
});

test('a Deployment without pods is explained by the refusal of its pods', async () => {
  const conditions = [{ type: 'ReplicaFailure', status: 'True', message: 'exceeded quota' }];
  const { clock, client, waiting } = await deployed({}, { conditions });
  await client.resource(pods, 'default').delete('mcm-0');
  await clock.advance(60_000);
  expect(await waiting).toEqual(['deployment/mcm: 0 of 1 pods are available', '  exceeded quota']);
});

test('during an upgrade, available old pods do not hide that new pods are missing', async () => {
  const old = { observedGeneration: 1, replicas: 2, readyReplicas: 1, availableReplicas: 1, updatedReplicas: 0 };
  const { clock, waiting } = await deployed(waitingFor('ImagePullBackOff', 'no such image'), old);
  await clock.advance(60_000);
  expect((await waiting)[0]).toBe('deployment/mcm: 1 of 1 pods are available, and only 0 of 1 pods are updated');
});

test.each([
  [[{ kind: 'ClusterRole' }, { kind: 'Deployment' }], true],
  [[{ kind: 'ClusterRole' }, {}], false],
])('only workloads create pods: %j', (objects, creates) => {
  expect(hasPods(objects)).toBe(creates);
});
