import type { KubeObject } from '@mcm/kube';
import { partial } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { diffMachineConfigs } from './diff.ts';
import { renderOffline } from './render.ts';

const API = 'machineconfiguration.openshift.io/v1';
const TREE = new Map(
  ['master', 'worker'].flatMap((role) => [
    [
      `${role}/00-${role}/_base/files/motd.yaml`,
      'mode: 0644\npath: /etc/motd\ncontents:\n  inline: "dns {{ clusterDNSIP }}"\n',
    ],
    [
      `${role}/01-${role}-kubelet/_base/files/kubelet.yaml`,
      'path: /etc/kubernetes/kubelet.conf\ncontents:\n  inline: |\n    kind: KubeletConfiguration\n    apiVersion: kubelet.config.k8s.io/v1beta1\n    maxPods: 250\n',
    ],
  ]),
);
const object = <T extends object>(kind: string, name: string, spec: T, labels: Record<string, string> = {}) => ({
  ...partial<KubeObject>({ apiVersion: API, kind, metadata: { name, labels } }),
  spec,
});
const machineConfig = (name: string, text: string, more: object = {}) =>
  object(
    ...['MachineConfig', name],
    {
      config: {
        ignition: { version: '3.5.0' },
        storage: { files: [{ path: '/etc/a', contents: { source: `data:,${text}` }, ...more }] },
      },
    },
    { 'machineconfiguration.openshift.io/role': 'worker' },
  );
const kubelet = (name: string, maxPods: number) =>
  object('KubeletConfig', name, {
    machineConfigPoolSelector: { matchLabels: { 'pools.operator.machineconfiguration.openshift.io/worker': '' } },
    kubeletConfig: { maxPods },
  });
const render = (...objects: KubeObject[]) => renderOffline({ objects, tree: TREE });
const worker = (...objects: KubeObject[]) => render(...objects).pools.find(({ name }) => name === 'worker');

test('objects without a cluster are rendered for the two default pools, in any order', () => {
  const objects = [machineConfig('50-a', 'one'), machineConfig('60-a', 'two'), kubelet('max', 100)];
  const { pools, problems } = render(...objects);
  expect(problems).toEqual([]);
  expect(pools.map(({ name, sources }) => [name, sources])).toEqual([
    ['master', ['00-master', '01-master-kubelet']],
    ['worker', ['00-worker', '01-worker-kubelet', '50-a', '60-a', '99-worker-generated-kubelet']],
  ]);
  expect(render(...objects.toReversed())).toEqual({ pools, problems, warnings: [] });
});

test('two KubeletConfigs of one pool are an error, because without a cluster the newer one is unknown [K34]', () => {
  expect(render(kubelet('a', 1), kubelet('b', 2)).problems).toEqual([
    expect.stringContaining('pool worker is selected by more than one KubeletConfig: a, b'),
  ]);
});

test('errors are reported with object and field', () => {
  const bad = object('MachineConfig', 'bad', { kernelArguments: 'nosmt' });
  const { problems } = render(
    bad,
    kubelet('k', 1),
    object('ContainerRuntimeConfig', 'c', {
      machineConfigPoolSelector: { matchLabels: { 'pools.operator.machineconfiguration.openshift.io/worker': '' } },
      containerRuntimeConfig: { pidsLimit: 3 },
    }),
  );
  expect(problems[0]).toMatch(/^MachineConfig bad: [\s\S]*kernelArguments/);
  expect(problems[1]).toContain('ContainerRuntimeConfig c: spec.containerRuntimeConfig.pidsLimit is 3');
  expect(worker(machineConfig('50-a', 'x', { mode: 0o7777 }))?.problem).toMatch(/50-a|\/etc\/a/);
  const empty = object('MachineConfigPool', 'p', { machineConfigSelector: {} });
  expect(render(empty).pools).toMatchObject([{ name: 'p', problem: expect.stringContaining('matches all') }]);
});

test('unknown fields are reported with kind, name, path and the most similar known field, and the other fields are applied', () => {
  const WORKERS = {
    machineConfigPoolSelector: { matchLabels: { 'pools.operator.machineconfiguration.openshift.io/worker': '' } },
  };
  const bad = machineConfig('50-a', 'x', { mdoe: 420, contents: { source: 'data:,x', verfication: {} } });
  const misspelled = { ...bad, spec: { ...bad.spec, kernelArgument: ['nosmt'] } };
  const { warnings, problems } = render(
    misspelled,
    object('KubeletConfig', 'k', { ...WORKERS, loglevel: 3, kubeletConfig: { maxPod: 7 } }),
    object('ContainerRuntimeConfig', 'c', { ...WORKERS, containerRuntimeConfig: { pidLimit: 30 } }),
    object('ControllerConfig', 'machine-config-controller', { platform: 'none', ownWords: 'read by templates' }),
  );
  expect(warnings).toEqual([
    'MachineConfig 50-a: spec.kernelArgument is an unknown field without effect (did you mean kernelArguments?); ' +
      'spec.config.storage.files.0.contents.verfication is an unknown field without effect (did you mean verification?); ' +
      'spec.config.storage.files.0.mdoe is an unknown field without effect (did you mean mode?)',
    'KubeletConfig k: spec.loglevel is an unknown field without effect (did you mean logLevel?)',
    ...[
      'ContainerRuntimeConfig c: spec.containerRuntimeConfig.pidLimit is an unknown field without effect (did you mean pidsLimit?)',
    ],
    'KubeletConfig k: spec.kubeletConfig.maxPod is an unknown field without effect (did you mean maxPods?)',
  ]);
  expect(problems).toEqual([]);
});

test('templates get all fields of a ControllerConfig, also unknown ones, as in a cluster', () => {
  const tree = new Map([
    ['worker/00-worker/_base/files/a.yaml', 'path: /etc/own\ncontents:\n  inline: "{{ ownWords }}"\n'],
  ]);
  const spec = { platform: 'none', ownWords: 'kept' };
  const { pools, problems } = renderOffline({
    objects: [object('ControllerConfig', 'machine-config-controller', spec)],
    tree,
  });
  expect(problems).toEqual([]);
  expect(JSON.stringify(pools.find(({ name }) => name === 'worker')?.machineConfig)).toContain('kept');
});

test('a difference shows decoded lines, and only a digest of private files', () => {
  const of = (text: string, more?: object) => worker(machineConfig('50-a', text, more))?.machineConfig;
  expect(diffMachineConfigs(of('a%0Ab%0Ac'), of('a%0AB%0Ac'))).toEqual([
    ...['~ file /etc/a', '      mode 0644', '      a', '    - b', '    + B', '      c'],
  ]);
  expect(diffMachineConfigs(of('a'), of('a'))).toEqual([]);
  expect(diffMachineConfigs(worker()?.machineConfig, of('a'))[0]).toBe('+ file /etc/a');
  expect(diffMachineConfigs(of('a'), worker()?.machineConfig)[0]).toBe('- file /etc/a');
  const secret = diffMachineConfigs(of('hidden-1', { mode: 0o600 }), of('hidden-2', { mode: 0o600 }));
  expect(secret.join('\n')).toMatch(/sha256/);
  expect(secret.join('\n')).not.toContain('hidden');
});
