import { partial } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { ignitionOf } from '../config/parsed.ts';
import { ConfigAnnotations } from '../constants/annotations.ts';
import { decodeContents, type IgnitionFile } from '../ignition/index.ts';
import type { ControllerConfig } from '../kinds/controller-config.ts';
import type { KubeletConfig, KubeletConfigSpec } from '../kinds/kubelet-config.ts';
import type { MachineConfig } from '../kinds/machine-config.ts';
import type { MachineConfigPool } from '../kinds/machine-config-pool.ts';
import { withVerdict } from './conditions.ts';
import type { KubeletConfiguration } from './configuration.ts';
import { kubeletFiles, parseKubeletConf } from './files.ts';
import { planKubeletConfig } from './kind.ts';
import { unknownKubeletFields } from './unknown.ts';
import { validateKubeletConfig, validateStaticPodPath } from './validate.ts';

const NOW = '2026-01-01T12:00:00Z';
const conf = (role: string) =>
  `mode: 0644\npath: /etc/kubernetes/kubelet.conf\ncontents:\n  inline: |\n    kind: KubeletConfiguration\n    apiVersion: kubelet.config.k8s.io/v1beta1\n    maxPods: 250\n    clusterDomain: of.${role}\n`;
const TREE = new Map(
  ['master', 'worker'].map((role) => [`${role}/01-${role}-kubelet/_base/files/kubelet.yaml`, conf(role)]),
);
const CC = partial<ControllerConfig>({
  metadata: { name: 'machine-config-controller', generation: 1 },
  spec: { platform: 'none' },
  status: { observedGeneration: 1, conditions: [{ type: 'TemplateControllerCompleted', status: 'True' }] },
});

const pool = (name: string, labels: Record<string, string> = { p: name }): MachineConfigPool =>
  partial<MachineConfigPool>({ metadata: { name, uid: `uid-${name}`, labels }, spec: {} });
const config = (name: string, p: string, spec: KubeletConfigSpec = {}, metadata: object = {}): KubeletConfig =>
  partial<KubeletConfig>({
    metadata: { name, uid: `uid-${name}`, generation: 1, creationTimestamp: NOW, ...metadata },
    spec: {
      machineConfigPoolSelector: { matchExpressions: [{ key: 'p', operator: 'In', values: p.split(' ') }] },
      ...spec,
    },
  });

interface Given {
  readonly pools?: readonly MachineConfigPool[];
  readonly stored?: readonly KubeletConfig[];
  readonly machineConfigs?: readonly MachineConfig[];
  readonly featureGates?: Readonly<Record<string, boolean>>;
  readonly hash?: string;
}
const plan = (one: KubeletConfig, given: Given = {}) =>
  planKubeletConfig({
    config: one,
    tree: TREE,
    controllerConfig: CC,
    cluster: { featureGates: given.featureGates ?? {} },
    hash: given.hash ?? 'h',
    stored: given.stored ?? [one],
    machineConfigs: given.machineConfigs ?? [],
    pools: given.pools ?? [pool('master'), pool('worker'), pool('infra')],
  });
const names = (configs: readonly MachineConfig[]) => configs.map(({ metadata }) => metadata.name);
const textOf = (file: IgnitionFile | undefined) =>
  decodeContents(file?.contents?.source, file?.contents?.compression).toString('utf8');
const fileOf = (files: readonly IgnitionFile[] | undefined, path: string) =>
  textOf(files?.find((one) => one.path === path));
const confIn = (one: MachineConfig | undefined): KubeletConfiguration =>
  parseKubeletConf(fileOf(one && ignitionOf(one)?.storage?.files, '/etc/kubernetes/kubelet.conf'));
const merged = (base: object, user: Record<string, unknown>): KubeletConfiguration =>
  parseKubeletConf(
    fileOf(
      kubeletFiles(base as KubeletConfiguration, config('k', 'x', { kubeletConfig: user })),
      '/etc/kubernetes/kubelet.conf',
    ),
  );

test('a KubeletConfig of several pools results in one MachineConfig for each, with the base of its role [K2]', () => {
  const { create } = plan(config('k', 'master infra', { kubeletConfig: { maxPods: 7 } }));
  expect(names(create)).toEqual(['99-infra-generated-kubelet', '99-master-generated-kubelet']);
  expect(create.map(confIn)).toMatchObject([
    { clusterDomain: 'of.worker', maxPods: 7 },
    { clusterDomain: 'of.master', maxPods: 7 },
  ]);
});

const made = (name: string, hash: string, owner?: KubeletConfig): MachineConfig =>
  partial<MachineConfig>({
    metadata: {
      name,
      labels: {},
      annotations: { [ConfigAnnotations.GeneratedByControllerVersion]: hash },
      ...(owner && {
        ownerReferences: [{ kind: 'KubeletConfig', name: owner.metadata.name, uid: owner.metadata.uid }],
      }),
    },
    spec: {},
  });

test('an older KubeletConfig without a suffix keeps the name in its finalizer [K4]', () => {
  const name = '99-master-generated-kubelet';
  const older = config('older', 'master', {}, { finalizers: [name] });
  const newer = config('newer', 'master', {}, { creationTimestamp: '2026-01-02T00:00:00Z' });
  const { update, create, annotations } = plan(older, {
    stored: [older, newer],
    machineConfigs: [made(name, 'h', older)],
  });
  expect([names(update), names(create)]).toEqual([[name], []]);
  expect(annotations?.[ConfigAnnotations.MachineConfigNameSuffix]).toBe('');
});

test('settings that do not belong to the cluster are valid [K6]', () => {
  expect(() => validateKubeletConfig(config('k', 'x', { kubeletConfig: { maxPods: 100 } }))).not.toThrow();
});

test('log levels from 0 to 10 are valid [K7]', () => {
  for (const logLevel of [0, 2, 10, undefined]) {
    const spec = logLevel === undefined ? {} : { logLevel };
    expect(() => validateKubeletConfig(config('k', 'x', spec))).not.toThrow();
  }
  for (const logLevel of [-1, 11]) {
    expect(() => validateKubeletConfig(config('k', 'x', { logLevel }))).toThrow(
      `KubeletConfig's LogLevel is not valid [0,10]: ${logLevel}`,
    );
  }
});

test('an empty staticPodPath is allowed except for the control plane [K9]', () => {
  const empty = config('k', 'x', { kubeletConfig: { staticPodPath: '' } });
  for (const name of ['worker', 'infra']) expect(() => validateStaticPodPath(empty, pool(name))).not.toThrow();
  expect(() => validateStaticPodPath(empty, pool('master'))).toThrow('staticPodPath is not allowed');
});

test.each<[row: string, base: object, user: Record<string, unknown>, result: object]>([
  ['K12 a zero leaves the base', { maxPods: 250 }, { maxPods: 0 }, { maxPods: 250 }],
  [
    'K14 maps are merged by key, zeros too',
    { evictionHard: { a: '1', b: '1' } },
    { evictionHard: { a: '' } },
    { evictionHard: { a: '', b: '1' } },
  ],
  [
    'K15 a false behind a pointer is lost',
    { serializeImagePulls: true },
    { serializeImagePulls: false },
    { serializeImagePulls: true },
  ],
  [
    'K17 CPUs set aside by number leave no control group to enforce',
    { systemReservedCgroup: '/system.slice', enforceNodeAllocatable: ['pods', 'system-reserved-compressible'] },
    { reservedSystemCPUs: '0-1' },
    { reservedSystemCPUs: '0-1', enforceNodeAllocatable: ['pods'] },
  ],
  [
    'K17 pods are enforced first where nothing else is left',
    { enforceNodeAllocatable: ['system-reserved', 'kube-reserved'] },
    { reservedSystemCPUs: '0-1' },
    { reservedSystemCPUs: '0-1', enforceNodeAllocatable: ['pods', 'kube-reserved'] },
  ],
  [
    'K18 without CPUs set aside nothing changes',
    { systemReservedCgroup: '/system.slice', enforceNodeAllocatable: ['pods'] },
    { reservedSystemCPUs: '' },
    { systemReservedCgroup: '/system.slice', enforceNodeAllocatable: ['pods'] },
  ],
  [
    'K21 the control group and what is enforced stay the base’s',
    { systemReservedCgroup: '/system.slice', enforceNodeAllocatable: ['pods', 'system-reserved-compressible'] },
    { maxPods: 200 },
    {
      maxPods: 200,
      systemReservedCgroup: '/system.slice',
      enforceNodeAllocatable: ['pods', 'system-reserved-compressible'],
    },
  ],
])('%s', (_row, base, user, result) => {
  expect(merged(base, user)).toMatchObject(result);
});

test('protectKernelDefaults can be disabled [K16]', () => {
  expect(merged({ protectKernelDefaults: true }, { maxPods: 1 }).protectKernelDefaults).toBe(true);
  expect(
    merged({ protectKernelDefaults: true }, { protectKernelDefaults: false }).protectKernelDefaults,
  ).toBeUndefined();
});

test('reserved CPUs clear the control group, and an empty control group stays empty [K17] [K18]', () => {
  const base = {
    systemReservedCgroup: '/system.slice',
    enforceNodeAllocatable: ['pods', 'system-reserved-compressible'],
  };
  expect(merged(base, { reservedSystemCPUs: '0-1' }).systemReservedCgroup).toBeUndefined();
  const { systemReservedCgroup, enforceNodeAllocatable } = merged(
    { enforceNodeAllocatable: ['pods'] },
    { reservedSystemCPUs: '0-3' },
  );
  expect([systemReservedCgroup, enforceNodeAllocatable]).toEqual([undefined, ['pods']]);
});

test('without system-reserved enforcement and without a named control group, none is set [K20]', () => {
  const base = {
    systemReservedCgroup: '/system.slice',
    enforceNodeAllocatable: ['pods', 'system-reserved-compressible'],
  };
  const result = merged(base, { maxPods: 100, systemReservedCgroup: '', enforceNodeAllocatable: ['pods'] });
  expect([result.systemReservedCgroup, result.enforceNodeAllocatable]).toEqual([undefined, ['pods']]);
});

test('a systemCgroups that differs from the base’s systemReservedCgroup is refused [K22]', () => {
  expect(() => merged({ systemReservedCgroup: '/system.slice' }, { systemCgroups: '/foo.slice' })).toThrow(
    'must match',
  );
});

test('reserved memory is written to the sizing file, not to kubelet.conf [K24]', () => {
  const files = kubeletFiles({}, config('k', 'x', { kubeletConfig: { systemReserved: { memory: '500Mi' } } }));
  expect(files.map(({ path }) => path)).toEqual(['/etc/node-sizing-enabled.env', '/etc/kubernetes/kubelet.conf']);
  expect(fileOf(files, '/etc/node-sizing-enabled.env')).toBe(
    'NODE_SIZING_ENABLED=false\nSYSTEM_RESERVED_MEMORY=500Mi\nSYSTEM_RESERVED_CPU=500m\nSYSTEM_RESERVED_ES=1Gi\n',
  );
  expect(parseKubeletConf(fileOf(files, '/etc/kubernetes/kubelet.conf')).systemReserved).toBeUndefined();
});

test('a change of the cluster’s feature gates generates the MachineConfig again [K25]', () => {
  const one = config('k', 'worker', { kubeletConfig: { maxPods: 7 } });
  const { create } = plan(one);
  expect(names(plan(one, { machineConfigs: create }).update)).toEqual([]);
  const { update } = plan(one, { machineConfigs: create, featureGates: { Nice: true } });
  expect(update.map(confIn)).toMatchObject([{ featureGates: { Nice: true }, maxPods: 7 }]);
});

test('an up-to-date pool is skipped, and one without its MachineConfig gets it [K26]', () => {
  const { create: first } = plan(config('k', 'worker'));
  const { create, update } = plan(config('k', 'worker infra'), { machineConfigs: first });
  expect([names(create), names(update)]).toEqual([['99-infra-generated-kubelet'], []]);
});

test('three results are stored, then the entry in the old form [K27]', () => {
  const history = ['1', '2', '3', '4'].reduce(
    (conditions, problem) => [...withVerdict(conditions, problem, NOW)],
    [] as Parameters<typeof withVerdict>[0],
  );
  expect(history.map(({ type, message }) => [type, message])).toEqual([
    ...['2', '3', '4'].map((message) => ['Accepted', message]),
    ['Failure', '4'],
  ]);
});

test('Accepted True and False are followed by Success and Failure with status True [K29]', () => {
  const pair = (problem: string | undefined) =>
    withVerdict([], problem, NOW).map(({ type, status }) => `${type}=${status}`);
  expect(pair(undefined)).toEqual(['Accepted=True', 'Success=True']);
  expect(pair('no')).toEqual(['Accepted=False', 'Failure=True']);
});

test('after an upgrade, MachineConfigs without an owner are deleted, those with one are generated again, and similar names stay [K30]', () => {
  const annotations = { [ConfigAnnotations.MachineConfigNameSuffix]: '1' };
  const owner = config('k', 'master', {}, { annotations });
  const machineConfigs = [
    made('99-master-generated-kubelet', 'old'),
    made('99-master-generated-kubelet-1', 'old', owner),
    made('custom-kubelet', 'old'),
  ];
  const { update, create, remove } = plan(owner, { machineConfigs, hash: 'new' });
  expect([names(update), names(create), remove]).toEqual([
    ...[['99-master-generated-kubelet-1'], [], ['99-master-generated-kubelet']],
  ]);
  expect(update[0]?.metadata.annotations?.[ConfigAnnotations.GeneratedByControllerVersion]).toBe('new');
});

test('a MachineConfig of another build is deleted, unless another KubeletConfig owns it and generates it again', () => {
  const own = config('own', 'worker');
  const other = config('other', 'infra');
  const machineConfigs = [
    made('99-infra-generated-kubelet', 'old', other),
    made('99-former-generated-kubelet', 'old', own),
    made('99-gone-generated-kubelet-3', 'old', config('gone', 'worker')),
    made('99-nobody-generated-kubelet', 'old'),
    made('99-current-generated-kubelet', 'new', own),
    made('99-x-generated-kubelet-12', 'old'),
    made('99-user-generated-kubelet', ''),
  ];
  const { remove } = plan(own, { stored: [own, other], machineConfigs, hash: 'new' });
  expect(remove).toEqual([
    ...['99-former-generated-kubelet', '99-gone-generated-kubelet-3', '99-nobody-generated-kubelet'],
  ]);
});

test('unknown fields are reported at any depth with the most similar known one; keys of maps may be any text', () => {
  const known = {
    maxPods: 1,
    MAXPODS: 1,
    evictionHard: { 'any.signal': '1' },
    memorySwap: {},
    apiVersion: 'v',
    kind: 'K',
  };
  expect(unknownKubeletFields(known)).toEqual([]);
  expect(unknownKubeletFields(undefined)).toEqual([]);
  const unknown = {
    maxPod: 1,
    somethingElseAltogether: 2,
    logging: { option: {} },
    tracing: { endPoints: 'x' },
    registerWithTaints: [{ key: 'a', effects: 'NoSchedule' }],
    authentication: { x509: { clientCaFil: '' } },
  };
  expect(unknownKubeletFields(unknown)).toEqual([
    'spec.kubeletConfig.maxPod is an unknown field without effect (did you mean maxPods?)',
    'spec.kubeletConfig.somethingElseAltogether is an unknown field without effect (remove the field)',
    'spec.kubeletConfig.logging.option is an unknown field without effect (did you mean options?)',
    'spec.kubeletConfig.tracing.endPoints is an unknown field without effect (did you mean endpoint?)',
    'spec.kubeletConfig.registerWithTaints[0].effects is an unknown field without effect (did you mean effect?)',
    'spec.kubeletConfig.authentication.x509.clientCaFil is an unknown field without effect (did you mean clientCAFile?)',
  ]);
});

test.each([
  ['cgroupDriver', { cgroupDriver: 'cgroupfs' }],
  ['clusterDNS', { clusterDNS: ['1.2.3.4'] }],
  ['clusterDomain', { clusterDomain: 'mine' }],
  ['featureGates', { featureGates: { A: false } }],
  ['failSwapOn', { failSwapOn: false }],
  ['swapBehavior', { memorySwap: { swapBehavior: 'LimitedSwap' } }],
])('fields that belong to the cluster are refused: %s [K5]', (field, kubeletConfig) => {
  expect(() => validateKubeletConfig(config('k', 'worker', { kubeletConfig }))).toThrow(
    `KubeletConfiguration: ${field} is not allowed to be set`,
  );
});
