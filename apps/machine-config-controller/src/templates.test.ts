import {
  type ControllerConfig,
  decodeContents,
  generateForRole,
  generateMachineConfigs,
  type IgnitionFile,
  ignitionOf,
  kubeletConfOf,
  loadTemplates,
  type MachineConfig,
  parseKubeletConf,
  validateMachineConfigSpec,
} from '@mcm/machine-config';
import { expect, test } from 'vitest';
import { TEMPLATES } from './binary.ts';

const CA = Buffer.from('-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n').toString('base64');
const configOf = (spec: object = {}): ControllerConfig =>
  ({ metadata: { name: 'machine-config-controller' }, spec: { platform: 'none', ...spec } }) as ControllerConfig;
const TLS = { tlsMinVersion: 'VersionTLS12', tlsCipherSuites: ['TLS_AES_128_GCM_SHA256'] };
const tree = await loadTemplates(TEMPLATES);
const made = (spec?: object, pullSecret?: string) =>
  generateMachineConfigs(
    { tree, controllerConfig: configOf(spec), ...TLS, ...(pullSecret !== undefined && { pullSecret }) },
    'h',
  );
const filesOf = (configs: readonly MachineConfig[]): Record<string, IgnitionFile> =>
  Object.fromEntries(
    configs.flatMap((config) => ignitionOf(config)?.storage?.files ?? []).map((file) => [file.path, file]),
  );
const textOf = (file: IgnitionFile | undefined) =>
  decodeContents(file?.contents?.source, file?.contents?.compression).toString('utf8');

test('the built-in templates result in three valid MachineConfigs for each role, on every platform', () => {
  for (const platform of ['none', 'aws', 'azure', 'gcp', 'local', 'vsphere', 'openstack', 'external']) {
    const configs = made({ platform, clusterDNSIP: '10.96.0.10', rootCAData: CA, apiServerURL: 'https://api:6443' });
    expect(configs.map(({ metadata }) => metadata.name)).toEqual(
      ['00-master', '00-worker', '01-master-container-runtime', '01-master-kubelet'].concat([
        ...['01-worker-container-runtime', '01-worker-kubelet'],
      ]),
    );
    for (const { spec } of configs) expect(() => validateMachineConfigSpec(spec ?? {})).not.toThrow();
  }
});

test('kubelet.conf contains the settings of a node, the names of the cluster and its TLS profile', () => {
  const config = generateForRole({ tree, controllerConfig: configOf({ clusterDNSIP: '10.96.0.10' }), ...TLS }, 'infra');
  const conf = parseKubeletConf(config.map(kubeletConfOf).find((text) => text !== undefined) ?? '');
  expect(conf).toMatchObject({
    cgroupDriver: 'systemd',
    cgroupRoot: '/',
    clusterDNS: ['10.96.0.10'],
    clusterDomain: 'cluster.local',
    containerLogMaxSize: '50Mi',
    maxPods: 250,
    podPidsLimit: 4096,
    protectKernelDefaults: true,
    rotateCertificates: true,
    serverTLSBootstrap: true,
    kubeAPIBurst: 100,
    kubeAPIQPS: 50,
    systemCgroups: '/system.slice',
    systemReservedCgroup: '/system.slice',
    enforceNodeAllocatable: ['pods', 'system-reserved-compressible'],
    ...TLS,
  });
  const of = (role: string) =>
    generateForRole({ tree, controllerConfig: configOf(), ...TLS }, role)
      .map(kubeletConfOf)
      .join('');
  expect(of('master')).toContain('failSwapOn: true');
  expect(of('worker')).toContain('failSwapOn: false');
  expect(of('worker')).not.toContain('clusterDNS');
});

test('an absent field of the ControllerConfig creates no file, and only root can read the pull secret', () => {
  const bare = filesOf(made());
  const optional = ['/var/lib/kubelet/config.json', '/etc/kubernetes/root-ca.crt', '/etc/kubernetes/apiserver-url.env'];
  for (const path of optional) expect(bare[path]).toBeUndefined();
  const full = filesOf(made({ rootCAData: CA, apiServerURL: 'https://api.example:6443' }, '{"auths":{}}'));
  expect(full['/var/lib/kubelet/config.json']).toMatchObject({ mode: 0o600 });
  expect(textOf(full['/var/lib/kubelet/config.json']).trim()).toBe('{"auths":{}}');
  expect(textOf(full['/etc/kubernetes/root-ca.crt'])).toBe(Buffer.from(CA, 'base64').toString('utf8'));
  expect(textOf(full['/etc/kubernetes/apiserver-url.env'])).toBe(
    "KUBERNETES_SERVICE_HOST='api.example'\nKUBERNETES_SERVICE_PORT='6443'\n",
  );
});

test('a platform sets the clock of the cloud and the flag for an external cloud provider', () => {
  const clock = (platform: string) => textOf(filesOf(made({ platform }))['/etc/chrony/conf.d/10-cloud.conf']);
  expect(clock('aws')).toContain('169.254.169.123');
  expect(clock('gcp')).toContain('metadata.google.internal');
  expect(filesOf(made())['/etc/chrony/conf.d/10-cloud.conf']).toBeUndefined();
  const unit = (platform: string) =>
    made({ platform })
      .flatMap((config) => ignitionOf(config)?.systemd?.units ?? [])
      .find(({ name }) => name === 'kubelet.service')?.contents;
  expect(unit('aws')).toContain('\n  --cloud-provider=external \\\n  --system-reserved=');
  expect(unit('none')).toContain('--kubeconfig=/var/lib/kubelet/kubeconfig \\\n  --system-reserved=');
});

test('values of the ControllerConfig cannot create other files or run code', () => {
  const evil = { clusterDomain: 'x\nmode: 0777\npath: /etc/passwd', platform: 'none' };
  expect(() => made(evil)).toThrow(/template .*kubelet-conf\.yaml/);
  const harmless = filesOf(made({ clusterDomain: '{{ pullSecret }}' }, '{"auths":"secret"}'));
  expect(textOf(harmless['/etc/kubernetes/kubelet.conf'])).not.toContain('secret');
});
