import { partial } from '@mcm/kube/testing';
import {
  type ControllerConfig,
  certificatesOfPool,
  DEFAULT_POLICY,
  diffConfigs,
  generateMachineConfigs,
  ignitionOf,
  isCertificatePath,
  loadTemplates,
  type MachineConfig,
  type MachineConfigPool,
  mergeMachineConfigs,
  needsDrain,
  postActions,
} from '@mcm/machine-config';
import { expect, test } from 'vitest';
import { TEMPLATES } from './binary.ts';

const tree = await loadTemplates(TEMPLATES);
const TLS = { tlsMinVersion: 'VersionTLS12', tlsCipherSuites: ['TLS_AES_128_GCM_SHA256'] };
const PLATFORMS = ['none', 'aws', 'azure', 'gcp', 'local', 'vsphere', 'openstack', 'external'];
const ROLES = ['master', 'worker'];

const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** The fields of the ControllerConfig with certificates, CA bundles and pull secrets. */
const ROTATING = {
  kubeAPIServerServingCAData: base64,
  rootCAData: base64,
  cloudProviderCAData: base64,
  additionalTrustBundle: base64,
  internalRegistryPullSecret: base64,
  imageRegistryBundleUserData: (text: string) => [{ file: 'a.io', data: base64(text) }],
  imageRegistryBundleData: (text: string) => [{ file: 'b.io..5000', data: base64(text) }],
  pullSecret: (text: string) => JSON.stringify({ auths: { [text]: {} } }),
} as const;
type Field = keyof typeof ROTATING;
const FIELDS = Object.keys(ROTATING) as Field[];

function rendered(platform: string, role: string, second: readonly Field[] = []) {
  const versionOf = (field: Field) => ROTATING[field](second.includes(field) ? '2' : '1');
  const { pullSecret, ...bytes } = Object.fromEntries(FIELDS.map((field) => [field, versionOf(field)]));
  const spec = { platform, clusterDNSIP: '10.96.0.10', apiServerURL: 'https://api:6443', ...bytes };
  const controllerConfig = partial<ControllerConfig>({ metadata: { name: 'machine-config-controller' }, spec });
  const inputs = { tree, controllerConfig, ...TLS, pullSecret: String(pullSecret) };
  const configs = generateMachineConfigs(inputs, 'h').filter(({ metadata }) => metadata.name.includes(role));
  const merged = mergeMachineConfigs(configs, { osImageURL: '', extensionsImage: '' });
  const pool = partial<MachineConfigPool>({ metadata: { name: role, uid: 'u' } });
  return {
    config: partial<MachineConfig>({ metadata: { name: 'rendered' }, spec: merged?.spec }),
    certificates: certificatesOfPool(pool, configs, controllerConfig),
  };
}

const filesOf = (config: MachineConfig | undefined): readonly string[] =>
  (config && ignitionOf(config)?.storage?.files?.map(({ path }) => path)) ?? [];

const cases = PLATFORMS.flatMap((platform) => ROLES.map((role) => [platform, role] as const));

test.each(cases)(
  'on %s, %s: the rotation of a certificate, CA bundle or pull secret causes no drain and no reboot',
  (platform, role) => {
    const before = rendered(platform, role);
    for (const fields of [...FIELDS.map((field) => [field]), FIELDS]) {
      const after = rendered(platform, role, fields);
      const diff = diffConfigs(before.config, after.config);
      expect(diff.files.filter((path) => !isCertificatePath(path))).toEqual([]);
      const actions = postActions(diff, DEFAULT_POLICY);
      expect([actions.some(({ type }) => type === 'Reboot'), needsDrain(actions, () => false)]).toEqual([false, false]);
      // Nodes receive changes of all rotating fields without a rollout.
      const rotated = diffConfigs(before.certificates, after.certificates).files;
      expect(rotated).toEqual(expect.arrayContaining([...diff.files]));
      expect(rotated.length).toBeGreaterThan(0);
    }
  },
);

test('every template with a certificate, a CA bundle or a pull secret writes a rotatable file', () => {
  const words = FIELDS.map((field) => new RegExp(`\\b${field}\\b`));
  const holding = [...tree].filter(([, text]) => words.some((word) => word.test(text)));
  expect(holding.length).toBeGreaterThan(3);
  for (const [path, text] of holding) {
    expect([path, isCertificatePath(/^path: (\S+)$/m.exec(text)?.[1] ?? '')]).toEqual([path, true]);
  }
});

test('all other files and units of the templates are listed here: their change causes a drain and a reboot', () => {
  const files = new Set(cases.flatMap(([platform, role]) => filesOf(rendered(platform, role).config)));
  expect([...files].filter((path) => !isCertificatePath(path)).toSorted()).toEqual([
    '/etc/chrony/conf.d/10-cloud.conf',
    '/etc/containerd/config.toml',
    '/etc/kubernetes/apiserver-url.env',
    '/etc/kubernetes/kubelet.conf',
    '/etc/kubernetes/node-role.env',
    '/etc/modules-load.d/90-kubernetes.conf',
    '/etc/node-sizing-enabled.env',
    '/etc/sysctl.d/90-kubernetes.conf',
    '/usr/local/sbin/node-sizing',
  ]);
  expect(files).toContain('/etc/kubernetes/kubelet-ca.crt');
});
