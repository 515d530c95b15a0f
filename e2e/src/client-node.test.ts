import {
  AppsV1Api,
  CoreV1Api,
  CustomObjectsApi,
  KubeConfig,
  makeInformer,
  type V1ConfigMap,
} from '@kubernetes/client-node';
import { crds } from '@mcm/api';
import { type ControlPlane, startControlPlane } from '@mcm/control-plane';
import { afterAll, beforeAll, expect, test } from 'vitest';

/** An independent client that knows nothing of this repository, over HTTPS with the kubeconfig that the plane writes. */
let plane: ControlPlane;
let config: KubeConfig;

beforeAll(async () => {
  plane = await startControlPlane({ port: 0, crds });
  config = new KubeConfig();
  config.loadFromString(plane.kubeconfig());
});
afterAll(() => plane.close());

const namespace = 'default';

test('typed clients create, read, patch, list and delete', async () => {
  const core = config.makeApiClient(CoreV1Api);
  const created = await core.createNamespacedConfigMap({
    namespace,
    body: { metadata: { name: 'typed' }, data: { a: '1' } },
  });
  expect(created.metadata?.uid).toMatch(/^[0-9a-f-]{36}$/);
  const replaced = await core.replaceNamespacedConfigMap({
    namespace,
    name: 'typed',
    body: { ...created, data: { a: '2' } },
  });
  expect(replaced.data).toEqual({ a: '2' });
  await expect(core.replaceNamespacedConfigMap({ namespace, name: 'typed', body: created })).rejects.toMatchObject({
    code: 409,
  });
  expect((await core.listNamespacedConfigMap({ namespace, fieldSelector: 'metadata.name=typed' })).items).toHaveLength(
    1,
  );
  await core.deleteNamespacedConfigMap({ namespace, name: 'typed' });
  await expect(core.readNamespacedConfigMap({ namespace, name: 'typed' })).rejects.toMatchObject({ code: 404 });
});

test('built-in kinds get the defaults that a real server gives', async () => {
  const apps = config.makeApiClient(AppsV1Api);
  const template = { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'web', image: 'web:1' }] } };
  const body = { metadata: { name: 'web' }, spec: { selector: { matchLabels: { app: 'web' } }, template } };
  const created = await apps.createNamespacedDeployment({ namespace, body });
  expect(created.spec).toMatchObject({ replicas: 1, revisionHistoryLimit: 10, strategy: { type: 'RollingUpdate' } });
  expect(created.spec?.template.spec).toMatchObject({ restartPolicy: 'Always', terminationGracePeriodSeconds: 30 });
});

test('machine kinds are served, and a wrong object is refused with its field', async () => {
  const custom = config.makeApiClient(CustomObjectsApi);
  const machines = { group: 'machine.sapcloud.io', version: 'v1alpha1', namespace, plural: 'machines' };
  const body = {
    apiVersion: 'machine.sapcloud.io/v1alpha1',
    kind: 'Machine',
    metadata: { name: 'm' },
    spec: { class: { kind: '', name: 'c' } },
  };
  await expect(custom.createNamespacedCustomObject({ ...machines, body })).rejects.toMatchObject({
    code: 422,
    body: expect.stringContaining('spec.class'),
  });
});

test('its informer sees an object come, change and go', async () => {
  const core = config.makeApiClient(CoreV1Api);
  const informer = makeInformer<V1ConfigMap>(config, `/api/v1/namespaces/${namespace}/configmaps`, () =>
    core.listNamespacedConfigMap({ namespace }),
  );
  const seen: string[] = [];
  const done = new Promise<void>((resolve) => {
    for (const event of ['add', 'update', 'delete'] as const) {
      informer.on(event, (object) => {
        if (object.metadata?.name !== 'watched') return;
        seen.push(`${event} ${object.data?.['step']}`);
        if (event === 'delete') resolve();
      });
    }
  });
  await informer.start();
  const created = await core.createNamespacedConfigMap({
    namespace,
    body: { metadata: { name: 'watched' }, data: { step: '1' } },
  });
  await core.replaceNamespacedConfigMap({ namespace, name: 'watched', body: { ...created, data: { step: '2' } } });
  await core.deleteNamespacedConfigMap({ namespace, name: 'watched' });
  await done;
  await informer.stop();
  expect(seen).toEqual(['add 1', 'update 2', 'delete 2']);
});
