import { isThorough } from '@mcm/kube/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Cluster, hasKubectl, startCluster } from './cluster.ts';

describe.skipIf(!hasKubectl)('kubectl reads', () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await startCluster();
  });
  afterAll(() => cluster.stop());

  test('kubectl get works in every format', async () => {
    await cluster.run('create configmap one --from-literal=a=1');
    await cluster.run('label configmap one tier=front');
    expect(await cluster.run('get nodes')).toMatch(
      /^NAME +STATUS +ROLES +AGE +VERSION\nn1 +Ready +<none> +\S+ +v1.36.3\nn2/,
    );
    expect(await cluster.run('get nodes -o wide')).toContain('CONTAINER-RUNTIME');
    expect(await cluster.run('get cm one -o yaml')).toMatch(/^apiVersion: v1\ndata:\n {2}a: "1"\nkind: ConfigMap/);
    expect(await cluster.run('get cm one -o jsonpath={.data.a}')).toBe('1');
    expect(await cluster.run('get cm -l tier=front -o custom-columns=N:.metadata.name,A:.data.a')).toBe(
      'N     A\none   1',
    );
    expect(await cluster.run('get cm -l tier=front -L tier --no-headers')).toMatch(/^one +1 +\S+ +front$/);
    expect(await cluster.run('get cm --chunk-size=1 -o name')).toBe('configmap/kube-root-ca.crt\nconfigmap/one');
    expect(await cluster.run('get cm --field-selector=metadata.name=one -o name')).toBe('configmap/one');
    expect(await cluster.refused('get cm nope')).toBe('Error from server (NotFound): configmaps "nope" not found');
    expect(await cluster.refused('get nope')).toBe('error: the server doesn\'t have a resource type "nope"');
    expect(await cluster.refused('get pods --field-selector=x=1')).toContain('field label not supported: x');
  });

  test('kubectl get -w shows existing and new objects', async () => {
    const watch = cluster.follow(['get', 'cm', '-w', '--output-watch-events']);
    await watch.until(/^EVENT +NAME +DATA +AGE\nADDED +kube-root-ca.crt +1/);
    await cluster.run('create cm followed');
    await cluster.run('delete cm followed');
    await watch.until(/^ADDED +followed[\s\S]*^DELETED +followed/m);
    watch.stop();
  });

  test.runIf(isThorough)('describe shows nodes, pods and custom resources', async () => {
    await cluster.run('run shown --image=shown:1');
    await cluster.run('wait pod/shown --for=condition=Ready --timeout=20s');
    const node = await cluster.run('describe node n1');
    expect(node).toMatch(/Name: +n1/);
    expect(node).toMatch(/RenewTime:/);
    expect(await cluster.run('describe pod shown')).toMatch(/Image: +shown:1[\s\S]*Ready +True[\s\S]*Tolerations:/);
    const machineClass = {
      apiVersion: 'machine.sapcloud.io/v1alpha1',
      kind: 'MachineClass',
      metadata: { name: 'small' },
      provider: 'local',
      providerSpec: { size: 'small' },
    };
    await cluster.run('create -f -', machineClass);
    expect(await cluster.run('describe machineclass small')).toMatch(/Provider Spec:\n +Size: +small/);
    expect(await cluster.run('get mcc')).toContain('small');
  });

  test.runIf(isThorough)('explain supports built-in and custom kinds', async () => {
    expect(await cluster.run('explain pods.spec.containers.image')).toMatch(/FIELD: image <string>/);
    expect(await cluster.run('explain deployments --recursive')).toContain('maxUnavailable');
    expect(await cluster.run('explain machines.spec')).toMatch(
      /GROUP: +machine.sapcloud.io[\s\S]*class\t<Object> -required-/,
    );
    expect(await cluster.run('explain machinedeployments.spec.strategy --recursive')).toContain('maxSurge');
    expect(await cluster.refused('explain pods.spec.nix')).toContain('field "nix" does not exist');
  });

  test('kubectl reads the discovery documents', async () => {
    expect(await cluster.run('api-versions')).toContain('machine.sapcloud.io/v1alpha1');
    expect(await cluster.run('api-resources')).toMatch(/^deployments +deploy +apps\/v1 +true +Deployment$/m);
    expect(await cluster.run('api-resources --api-group=machine.sapcloud.io -o name')).toBe(
      ['classes', 'deployments', 's', 'sets'].map((end) => `machine${end}.machine.sapcloud.io`).join('\n'),
    );
    // If the user selects a real API server, the test does not know its version.
    if (cluster.plane.kind === 'embedded') expect(await cluster.run('version -o json')).toContain('"v1.36.3"');
    expect(await cluster.run('get --raw /readyz')).toBe('ok');
  });
});
