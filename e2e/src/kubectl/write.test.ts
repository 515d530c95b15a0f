import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Cluster, hasKubectl, startCluster } from './cluster.ts';

const map = (name: string, data: Record<string, string>) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  data,
});

describe.skipIf(!hasKubectl)('kubectl writes', () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await startCluster();
  });
  afterAll(() => cluster.stop());

  test('a client-side apply creates, configures or keeps objects, and removes fields that the file omits', async () => {
    expect(await cluster.run('apply -f -', map('a', { x: '1', y: '1' }))).toBe('configmap/a created');
    const difference = await cluster.kubectl(['diff', '-f', '-'], { input: JSON.stringify(map('a', { x: '2' })) });
    expect(difference.code).toBe(1);
    expect(difference.stdout).toMatch(/^- {2}x: "1"$/m);
    expect(difference.stdout).toMatch(/^\+ {2}x: "2"$/m);
    expect(await cluster.run('apply -f -', map('a', { x: '2' }))).toBe('configmap/a configured');
    expect(await cluster.run('apply -f -', map('a', { x: '2' }))).toBe('configmap/a unchanged');
    expect(await cluster.run('get cm a -o jsonpath={.data}')).toBe('{"x":"2"}');
    expect(await cluster.run('apply view-last-applied cm a -o json')).toContain('"x": "2"');
  });

  test('the conflict of a server-side apply contains the manager and the field, and can be forced', async () => {
    await cluster.run('apply --server-side --field-manager=first -f -', map('b', { x: '1' }));
    const second = 'apply --server-side --field-manager=second -f -';
    expect(await cluster.refused(second, map('b', { x: '2' }))).toMatch(/conflict with "first": \.data\.x/);
    expect(await cluster.run(`${second} --force-conflicts`, map('b', { x: '2' }))).toBe(
      'configmap/b serverside-applied',
    );
    expect(await cluster.run('get cm b -o jsonpath={.data.x}')).toBe('2');
    // kubectl takes over the fields of client-side apply, because it must be able to remove them.
    await cluster.run('apply -f -', map('c', { x: '1', y: '1' }));
    await cluster.run('apply --server-side -f -', map('c', { x: '1' }));
    expect(await cluster.run('get cm c -o jsonpath={.data}')).toBe('{"x":"1"}');
  });

  test('unknown fields are refused, cause a warning, or are ignored', async () => {
    const odd = { ...map('odd', {}), dota: {} };
    expect(await cluster.refused('apply -f -', odd)).toContain('unknown field "dota"');
    const warned = await cluster.kubectl(['apply', '--validate=warn', '-f', '-'], { input: JSON.stringify(odd) });
    expect(warned).toMatchObject({ code: 0, stderr: 'Warning: unknown field "dota"' });
    expect(await cluster.run('create --dry-run=server -o name -f -', map('dry', {}))).toBe('configmap/dry');
    expect(await cluster.refused('get cm dry')).toContain('NotFound');
  });

  test('kubectl edit changes an object', async () => {
    await cluster.run('create cm edited --from-literal=a=before');
    const editor = cluster.file('edit.sh', 'sed -i s/before/after/ "$1"\n');
    const { stdout } = await cluster.kubectl(['edit', 'cm', 'edited'], { env: { KUBE_EDITOR: `sh ${editor}` } });
    expect(stdout).toBe('configmap/edited edited');
    expect(await cluster.run('get cm edited -o jsonpath={.data.a}')).toBe('after');
  });

  test('kubectl sends patches of all types, and changes labels and annotations', async () => {
    await cluster.run('create deployment patched --image=web:1 --replicas=0');
    const container = { name: 'web', env: [{ name: 'A', value: 'b' }] };
    await cluster.run(
      `patch deployment patched -p ${JSON.stringify({ spec: { template: { spec: { containers: [container] } } } })}`,
    );
    const one = 'get deployment patched -o jsonpath={.spec.template.spec.containers[0].image}/{..env[0].value}';
    expect(await cluster.run(one)).toBe('web:1/b');
    await cluster.run('patch deployment patched --type=merge -p {"metadata":{"labels":{"app":null}}}');
    await cluster.run('patch deployment patched --type=json -p [{"op":"replace","path":"/spec/replicas","value":2}]');
    await cluster.run('patch deployment patched --subresource=scale --type=merge -p {"spec":{"replicas":1}}');
    expect(await cluster.run('get deployment patched -o jsonpath={.spec.replicas}{.metadata.labels}')).toBe('1');
    await cluster.run('label deployment patched l=1');
    expect(await cluster.refused('label deployment patched l=2')).toContain("'l' already has a value (1)");
    await cluster.run('label deployment patched l=2 --overwrite');
    await cluster.run('annotate deployment patched note=x');
    expect(
      await cluster.run('get deployment patched -o jsonpath={.metadata.labels.l}{.metadata.annotations.note}'),
    ).toBe('2x');
    await cluster.run('label deployment patched l-');
    expect(await cluster.run('get deployment -l l -o name')).toBe('');
  });

  test('kubectl delete waits for finalizers, and supports the three policies for dependents', async () => {
    await cluster.run('create -f -', {
      ...map('held', {}),
      metadata: { name: 'held', finalizers: ['example.org/hold'] },
    });
    expect(await cluster.run('delete cm held --wait=false')).toBe('configmap "held" deleted');
    expect(await cluster.refused('delete cm held --timeout=1s')).toContain('timed out waiting for the condition');
    await cluster.run('patch cm held --type=json -p [{"op":"remove","path":"/metadata/finalizers"}]');
    await cluster.run('wait --for=delete cm/held --timeout=10s');
    for (const how of ['background', 'foreground', 'orphan']) {
      const name = `by-${how}`;
      await cluster.run(`create deployment ${name} --image=web`);
      await cluster.run(`rollout status deployment/${name} --timeout=20s`);
      await cluster.run(`delete deployment ${name} --cascade=${how} --timeout=20s`);
      if (how === 'background') await cluster.run(`wait --for=delete rs,pods -l app=${name} --timeout=20s`);
      const left = await cluster.run(`get rs,pods -l app=${name} -o name`);
      expect(left === '').toBe(how !== 'orphan');
    }
    await cluster.run('create namespace short');
    await cluster.run('create cm inside -n short');
    await cluster.run('delete namespace short --timeout=20s');
    expect(await cluster.refused('get namespace short')).toContain('NotFound');
  });
});
