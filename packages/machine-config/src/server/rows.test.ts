import { gzipSync } from 'node:zlib';
import { VirtualClock } from '@mcm/kube';
import { partial } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { certificatesVersion } from '../certificates/bundle.ts';
import { DaemonPaths } from '../config/daemon-paths.ts';
import { readText } from '../daemon/disk/disk.ts';
import { MemoryDisk } from '../daemon/disk/memory-disk.ts';
import { wantedDisk } from '../daemon/disk/wanted.ts';
import { findDrift } from '../daemon/drift.ts';
import { decodeContents, type IgnitionConfig, toIgnitionVersion } from '../ignition/index.ts';
import type { ControllerConfig } from '../kinds/controller-config.ts';
import type { MachineConfig } from '../kinds/machine-config.ts';
import type { MachineConfigPool } from '../kinds/machine-config-pool.ts';
import { bootConfigName, bootIgnition } from './boot-config.ts';
import { createRateLimiter } from './limiter.ts';
import { pointerConfig } from './pointer.ts';
import { versionFor } from './version.ts';

const accepting = (...versions: string[]) =>
  versionFor(versions.map((one) => `application/vnd.coreos.ignition+json;version=${one}`).join(', '));

test('a machine gets the version of Ignition that it accepts [W3]', () => {
  for (const version of ['3.1.0', '3.2.0', '3.3.0', '3.4.0', '3.5.0']) expect(accepting(version)).toBe(version);
  expect(accepting('3.1.0; q=0.5', '3.4.0;q=0.9', '3.2.0;q=0.1')).toBe('3.4.0');
});

test('later minor versions get 3.5, another major version is refused, and everything else gets 2.2 [W4]', () => {
  expect(accepting('3.99.0')).toBe('3.5.0');
  for (const other of ['4.0.0', '4.2.0', '1.1.0']) expect(accepting(other)).toBeUndefined();
  for (const accept of [undefined, '', 'text/plain', '*/*', 'garbage;;=,', 'application/vnd.coreos.ignition+json']) {
    expect(versionFor(accept)).toBe('2.2.0');
  }
});

const poolOf = (updatedMachineCount: number | undefined, target?: string, completed?: string): MachineConfigPool =>
  ({
    metadata: { name: 'worker' },
    spec: { ...(target !== undefined && { configuration: { name: target } }) },
    status: {
      ...(updatedMachineCount !== undefined && { updatedMachineCount }),
      ...(completed !== undefined && { configuration: { name: completed } }),
    },
  }) as MachineConfigPool;

test('the target is served when one node has it, before that the config of all nodes [W5]', () => {
  expect(bootConfigName(poolOf(0, 'new', 'old'))).toBe('old');
  expect(bootConfigName(poolOf(undefined, 'new', 'old'))).toBe('old');
  expect(bootConfigName(poolOf(1, 'new', 'old'))).toBe('new');
  expect(bootConfigName(poolOf(0, 'new'))).toBe('new');
  expect(bootConfigName(poolOf(0))).toBeUndefined();
});

const RENDERED = partial<MachineConfig>({
  apiVersion: 'machineconfiguration.openshift.io/v1',
  kind: 'MachineConfig',
  metadata: { name: 'rendered-worker-1' },
  spec: {
    osImageURL: 'image',
    kernelArguments: ['nosmt'],
    config: {
      ignition: { version: '3.5.0' },
      storage: { files: [{ path: '/etc/a', contents: { source: 'data:,a' } }] },
    },
  },
});

const textAt = ({ storage }: IgnitionConfig, path: string): string => {
  const file = storage?.files?.find((one) => one.path === path);
  return decodeContents(file?.contents?.source, file?.contents?.compression).toString('utf8');
};

test('the rendered config gets annotations of the node, kubeconfig, CAs of registries, the MachineConfig, and the encapsulated one as the last', () => {
  const controllerConfig = partial<ControllerConfig>({
    metadata: { name: 'c' },
    spec: {
      apiServerURL: 'https://api:6443',
      rootCAData: 'Q0E=',
      imageRegistryBundleData: [
        { file: 'registry.example..5000', data: Buffer.from('PEM').toString('base64') },
        { file: '../../etc/passwd', data: '' },
      ],
    },
  });
  const config = bootIgnition({ machineConfig: RENDERED, controllerConfig, bootstrapToken: 'abcdef.0123456789abcdef' });
  expect(config.storage?.files?.map(({ path }) => path)).toEqual([
    '/etc/a',
    '/etc/machine-config-daemon/node-annotations.json',
    '/etc/kubernetes/kubeconfig',
    '/etc/mcs-machine-config-content.json',
    '/etc/docker/certs.d/registry.example:5000/ca.crt',
    '/etc/ignition-machine-config-encapsulated.json',
  ]);
  const P = 'machineconfiguration.openshift.io';
  expect(JSON.parse(textAt(config, '/etc/machine-config-daemon/node-annotations.json'))).toEqual({
    [`${P}/currentConfig`]: 'rendered-worker-1',
    [`${P}/desiredConfig`]: 'rendered-worker-1',
    [`${P}/firstPivotConfig`]: 'rendered-worker-1',
    [`${P}/state`]: 'Done',
  });
  expect(config.storage?.files?.find(({ path }) => path === '/etc/kubernetes/kubeconfig')?.mode).toBe(0o600);
  expect(JSON.parse(textAt(config, '/etc/kubernetes/kubeconfig'))).toMatchObject({
    clusters: [{ cluster: { server: 'https://api:6443', 'certificate-authority-data': 'Q0E=' } }],
    users: [{ user: { token: 'abcdef.0123456789abcdef' } }],
  });
  const encapsulated = JSON.parse(textAt(config, '/etc/ignition-machine-config-encapsulated.json'));
  expect(encapsulated.spec).toEqual({ osImageURL: 'image', kernelArguments: ['nosmt'] });
  for (const version of ['2.2.0', '3.1.0', '3.5.0']) {
    expect(toIgnitionVersion(config, version)).toMatchObject({ ignition: { version } });
  }
});

test('a first boot gets the certificates of the pool instead of older ones, and the record for its daemon', async () => {
  const path = '/etc/kubernetes/kubelet-ca.crt';
  const withCa = (text: string, compression?: string) => ({
    metadata: { name: 'certificates-worker' },
    spec: {
      config: {
        ignition: { version: '3.5.0' },
        storage: { files: [{ path, contents: { source: text, ...(compression && { compression }) } }] },
      },
    },
  });
  const packed = `data:;base64,${gzipSync('old').toString('base64')}`;
  const machineConfig = partial<MachineConfig>({ ...withCa(packed, 'gzip'), metadata: { name: 'rendered' } });
  const certificates = partial<MachineConfig>(withCa('data:,new'));
  const config = bootIgnition({ machineConfig, controllerConfig: undefined, certificates });
  const disk = new MemoryDisk();
  const wanted = wantedDisk(partial<MachineConfig>({ metadata: { name: 'boot' }, spec: { config } }));
  for (const [where, entry] of wanted.entries) await disk.put(where, entry);
  expect(await readText(disk, path)).toBe('new');
  expect(await disk.read(DaemonPaths.Certificates)).toMatchObject({ mode: 0o600 });
  expect(await findDrift(disk, machineConfig)).toBeUndefined();
  expect(JSON.parse((await readText(disk, DaemonPaths.Certificates)) ?? '')).toMatchObject({
    version: certificatesVersion(certificates),
  });
});

test('there is no kubeconfig without a bootstrap token or an API server’s address', () => {
  const paths = (bootstrapToken?: string) =>
    bootIgnition({
      machineConfig: RENDERED,
      controllerConfig: undefined,
      ...(bootstrapToken && { bootstrapToken }),
    }).storage?.files?.map(({ path }) => path);
  expect(paths()).not.toContain('/etc/kubernetes/kubeconfig');
  expect(paths('abcdef.0123456789abcdef')).not.toContain('/etc/kubernetes/kubeconfig');
});

test('the pointer config contains server, pool, CA and token', () => {
  const config = pointerConfig({ server: 'https://c:22623/', pool: 'infra', authority: 'PEM', token: 't' });
  expect(config).toEqual({
    ignition: {
      version: '3.5.0',
      config: {
        merge: [
          { source: 'https://c:22623/config/infra', httpHeaders: [{ name: 'Authorization', value: 'Bearer t' }] },
        ],
      },
      security: { tls: { certificateAuthorities: [{ source: 'data:text/plain;charset=utf-8;base64,UEVN' }] } },
    },
  });
});

test('each address has its own limits at once and per minute', async () => {
  const clock = new VirtualClock({ start: new Date('2026-01-01T12:00:00Z') });
  const limiter = createRateLimiter({ burst: 2, perMinute: 6 }, clock);
  expect([limiter.take('a'), limiter.take('a'), limiter.take('a'), limiter.take('b')]).toEqual([
    ...[undefined, undefined, 10, undefined],
  ]);
  await clock.advance(10_000);
  expect([limiter.take('a'), limiter.take('a')]).toEqual([undefined, 10]);
});
