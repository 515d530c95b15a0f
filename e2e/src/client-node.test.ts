import {
  AppsV1Api,
  CoreV1Api,
  CustomObjectsApi,
  KubeConfig,
  makeInformer,
  PatchStrategy,
  setHeaderOptions,
  type V1ConfigMap,
  type V1ConfigMapList,
  Watch,
} from '@kubernetes/client-node';
import { crds } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ApiServer, startApiServer } from './harness/api-server.ts';

let plane: ApiServer;
let config: KubeConfig;

beforeAll(async () => {
  plane = await startApiServer({ crds });
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

test('the informer of client-node reports created, changed and deleted objects', async () => {
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

test('patches of all four types work', async () => {
  const apps = config.makeApiClient(AppsV1Api);
  const name = 'patched';
  const template = { metadata: { labels: { app: name } }, spec: { containers: [{ name: 'web', image: 'web:1' }] } };
  const body = { metadata: { name }, spec: { selector: { matchLabels: { app: name } }, template, replicas: 0 } };
  await apps.createNamespacedDeployment({ namespace, body });
  const patch = (strategy: string, change: object) =>
    apps.patchNamespacedDeployment(
      { namespace, name, body: change, fieldManager: 'tester' },
      setHeaderOptions('Content-Type', strategy),
    );
  const sidecar = { spec: { template: { spec: { containers: [{ name: 'side', image: 'side:1' }] } } } };
  const merged = await patch(PatchStrategy.StrategicMergePatch, sidecar);
  expect(merged.spec?.template.spec?.containers.map((one) => one.name).sort()).toEqual(['side', 'web']);
  const replaced = await patch(PatchStrategy.MergePatch, sidecar);
  expect(replaced.spec?.template.spec?.containers.map((one) => one.name)).toEqual(['side']);
  const scaled = await patch(PatchStrategy.JsonPatch, [{ op: 'replace', path: '/spec/replicas', value: 2 }]);
  expect(scaled.spec?.replicas).toBe(2);
  const applied = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name }, spec: { replicas: 3 } };
  const other = { ...applied, spec: { replicas: 4 } };
  const apply = (change: object, fieldManager: string, force: boolean) =>
    apps.patchNamespacedDeployment(
      { namespace, name, body: change, fieldManager, force },
      setHeaderOptions('Content-Type', PatchStrategy.ServerSideApply),
    );
  expect((await apply(applied, 'first', true)).spec?.replicas).toBe(3);
  await expect(apply(other, 'second', false)).rejects.toMatchObject({ code: 409 });
  expect((await apply(other, 'second', true)).spec?.replicas).toBe(4);
});

test('a watch starts after a list, contains only selected objects, and ends on request', async () => {
  const core = config.makeApiClient(CoreV1Api);
  const { metadata } = await core.listNamespacedConfigMap({ namespace });
  const seen: string[] = [];
  let ended = (): void => undefined;
  const end = new Promise<void>((resolve) => {
    ended = resolve;
  });
  const watch = await new Watch(config).watch(
    `/api/v1/namespaces/${namespace}/configmaps`,
    { resourceVersion: metadata?.resourceVersion, labelSelector: 'pick=yes' },
    (phase: string, object: V1ConfigMap) => {
      seen.push(`${phase} ${object.metadata?.name}`);
      if (phase === 'DELETED') watch.abort();
    },
    () => ended(),
  );
  await core.createNamespacedConfigMap({ namespace, body: { metadata: { name: 'left-out' } } });
  const picked = { metadata: { name: 'picked', labels: { pick: 'yes' } } };
  const created = await core.createNamespacedConfigMap({ namespace, body: picked });
  // When the selector no longer matches an object, the watch reports the object as deleted.
  const relabelled = { ...created, metadata: { ...created.metadata, labels: { pick: 'no' } } };
  await core.replaceNamespacedConfigMap({ namespace, name: 'picked', body: relabelled });
  await end;
  expect(seen).toEqual(['ADDED picked', 'DELETED picked']);
});

test('the informer of client-node lists again when its version is too old to continue (410)', async () => {
  let ahead = 0;
  const clock = {
    now: () => new Date(Date.now() + ahead),
    setTimeout: (fn: () => void, ms: number) => {
      const timer = setTimeout(fn, ms);
      return { cancel: () => clearTimeout(timer) };
    },
  };
  const aging = await startControlPlane({ port: 0, controllers: false, clock });
  const access = new KubeConfig();
  access.loadFromString(aging.kubeconfig());
  const core = access.makeApiClient(CoreV1Api);
  const create = (name: string) => core.createNamespacedConfigMap({ namespace, body: { metadata: { name } } });
  await create('before');
  const stale = await core.listNamespacedConfigMap({ namespace });
  await create('forgotten');
  ahead = 10 * 60_000;
  await create('after');
  const lists: V1ConfigMapList[] = [stale];
  let asked = 0;
  const informer = makeInformer<V1ConfigMap>(access, `/api/v1/namespaces/${namespace}/configmaps`, async () => {
    asked++;
    return lists.pop() ?? core.listNamespacedConfigMap({ namespace });
  });
  const names = new Set<string>();
  const all = new Promise<void>((resolve) => {
    informer.on('add', (object) => {
      names.add(object.metadata?.name ?? '');
      if (names.size === 3) resolve();
    });
  });
  await informer.start();
  await all;
  await informer.stop();
  await aging.close();
  expect(asked).toBe(2);
  expect([...names].sort()).toEqual(['after', 'before', 'forgotten']);
});
