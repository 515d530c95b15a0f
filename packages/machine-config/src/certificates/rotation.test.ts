import { nodes, secrets } from '@mcm/kube';
import { partial, sampled, thoroughly } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { KUBELET_CA_PATH, PULL_SECRET_PATH, TRUST_BUNDLE_PATH } from '../config/certificate-paths.ts';
import { DaemonPaths, KUBELET_KUBECONFIG_PATHS } from '../config/daemon-paths.ts';
import { NodeAnnotations } from '../constants/annotations.ts';
import { ConfigLabels } from '../constants/labels.ts';
import { CONTROLLER_CONFIG_NAME } from '../constants/names.ts';
import { bringCertificates } from '../daemon/certificates.ts';
import { readText, textEntry } from '../daemon/disk/disk.ts';
import { fileOf } from '../daemon/disk/wanted.ts';
import { findDrift } from '../daemon/drift.ts';
import { PlayedFleet, PlayedHost } from '../daemon/fleet.testing.ts';
import { withUserPolicy } from '../daemon/policy/disruption.ts';
import type { MachineConfig } from '../kinds/machine-config.ts';
import { controllerConfigs, kubeletConfigs, machineConfigPools, machineConfigs } from '../kinds/resources.ts';
import { configOf, fillWorld, startWorld, TREE, WORKER_ROLE, type World, type WorldOptions } from '../testing.ts';

const { CurrentConfig, DesiredConfig, State, DesiredDrain, DesiredCertificates, CurrentCertificates } = NodeAnnotations;
const REGISTRY_CA = '/etc/docker/certs.d/registry:5000/ca.crt';

const file = (path: string, inline: string) => `mode: 0600\npath: ${path}\ncontents:\n  inline: "${inline}"\n`;
const ROTATING_TREE = new Map([
  ...TREE,
  ['common/_base/files/ca.yaml', file(KUBELET_CA_PATH, '{{ kubeAPIServerServingCAData | base64_decode }}')],
  ['common/_base/files/bundle.yaml', file(TRUST_BUNDLE_PATH, '{{ additionalTrustBundle | base64_decode }}')],
  [
    'common/_base/files/pull.yaml',
    `mode: 0600\npath: ${PULL_SECRET_PATH}\ncontents:\n  inline: |\n    {{ pullSecret }}\n`,
  ],
]);

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const spec = (version: string) => ({
  kubeAPIServerServingCAData: base64(`ca-${version}`),
  additionalTrustBundle: base64(`bundle-${version}`),
  imageRegistryBundleUserData: [{ file: 'registry..5000', data: base64(`registry-${version}`) }],
});
const secretData = (version: string) => ({ '.dockerconfigjson': base64(JSON.stringify({ auths: { [version]: {} } })) });

async function inFleet(
  work: (world: World, fleet: PlayedFleet) => Promise<void>,
  { pool = {}, ...options }: WorldOptions & { readonly pool?: object } = {},
): Promise<void> {
  const world = await startWorld({ tree: ROTATING_TREE, ...options });
  const { client, clock } = world;
  const fleet = new PlayedFleet(client, clock);
  try {
    await client.resource(secrets, 'default').create({
      metadata: { name: 'pull', namespace: 'default' },
      type: 'kubernetes.io/dockerconfigjson',
      data: secretData('one'),
    });
    await fillWorld(client, { count: 0, maxUnavailable: 3, spec: pool });
    const body = { spec: { pullSecret: { namespace: 'default', name: 'pull' }, ...spec('1') } };
    await client.resource(controllerConfigs).patch(CONTROLLER_CONFIG_NAME, { type: 'merge', body });
    const labels = { 'node-role.kubernetes.io/worker': '' };
    for (const name of ['n0', 'n1', 'n2'])
      await client.resource(nodes).create({ metadata: { name, labels }, spec: {} });
    await clock.advance(120_000);
    await work(world, fleet);
  } finally {
    fleet.stop();
    await world.end();
  }
}

async function rotate({ client }: World, version: string): Promise<void> {
  await client
    .resource(controllerConfigs)
    .patch(CONTROLLER_CONFIG_NAME, { type: 'merge', body: { spec: spec(version) } });
  await client.resource(secrets, 'default').patch('pull', { type: 'merge', body: { data: secretData(version) } });
}

const pause = ({ client }: World, paused: boolean) =>
  client.resource(machineConfigPools).patch('worker', { type: 'merge', body: { spec: { paused } } });

const target = async ({ client }: World) =>
  (await client.resource(machineConfigPools).get('worker')).spec?.configuration?.name;

const nodeOf = async ({ client }: World, name: string) => {
  const { metadata, spec: { unschedulable = false } = {} } = await client.resource(nodes).get(name);
  return { annotations: metadata.annotations ?? {}, unschedulable };
};

async function certificatesOn(fleet: PlayedFleet, name: string): Promise<readonly (string | undefined)[]> {
  const { disk } = fleet.host(name);
  const texts = [KUBELET_CA_PATH, TRUST_BUNDLE_PATH, PULL_SECRET_PATH, REGISTRY_CA].map((path) => readText(disk, path));
  return (await Promise.all(texts)).map((text) => text?.trim());
}

const rotated = (version: string) => [
  ...[`ca-${version}`, `bundle-${version}`, `{"auths":{"${version}":{}}}`, `registry-${version}`],
];

test('nodes of a paused pool get rotated certificates, CA bundles and pull secrets, without a drain and a reboot', () =>
  inFleet(async (world, fleet) => {
    const { client, clock } = world;
    await pause(world, true);
    const before = { target: await target(world), node: await nodeOf(world, 'n0'), boots: fleet.host('n0').boots };
    await client
      .resource(machineConfigs)
      .create({ metadata: { name: '50-user', labels: WORKER_ROLE }, spec: { config: configOf('user') } });
    await rotate(world, '2');
    await clock.advance(30_000);
    for (const name of ['n0', 'n1', 'n2']) {
      expect(await certificatesOn(fleet, name)).toEqual(rotated('2'));
      const { annotations, unschedulable } = await nodeOf(world, name);
      expect(annotations).toMatchObject({ [CurrentConfig]: before.target, [State]: 'Done' });
      expect(annotations[CurrentCertificates]).toBe(annotations[DesiredCertificates]);
      expect([annotations[DesiredDrain], unschedulable]).toEqual([before.node.annotations[DesiredDrain], false]);
    }
    const { boots, actions, disk } = fleet.host('n0');
    expect(boots).toBe(before.boots);
    expect(actions.filter((action) => !['Restart', 'Reload'].includes(action))).toEqual([]);
    expect(await readText(disk, '/etc/a')).toBeUndefined();
    expect(await target(world)).toBe(before.target);
  }));

const INPUTS: Readonly<Record<string, (world: World) => Promise<unknown>>> = {
  'a MachineConfig': ({ client }) =>
    client
      .resource(machineConfigs)
      .create({ metadata: { name: '50-user', labels: WORKER_ROLE }, spec: { config: configOf('user') } }),
  'a KubeletConfig': ({ client }) =>
    client.resource(kubeletConfigs).create({
      metadata: { name: 'pods' },
      spec: {
        kubeletConfig: { maxPods: 100 },
        machineConfigPoolSelector: { matchLabels: { [`${ConfigLabels.PoolPrefix}worker`]: '' } },
      },
    }),
  'an image of the operating system': ({ client }) =>
    client
      .resource(controllerConfigs)
      .patch(CONTROLLER_CONFIG_NAME, { type: 'merge', body: { spec: { baseOSContainerImage: 'image@sha256:new' } } }),
};

test.each(Object.entries(INPUTS))(
  'a paused pool does not render %s, but its nodes get certificates; the pool renders after the pause',
  (_input, add) =>
    inFleet(async (world, fleet) => {
      const { client, clock } = world;
      const renderedNames = async () =>
        (await client.resource(machineConfigs).list()).items
          .map(({ metadata }) => metadata.name)
          .filter((name) => name.startsWith('rendered-'))
          .toSorted();
      await pause(world, true);
      const before = { target: await target(world), rendered: await renderedNames() };
      await add(world);
      await clock.advance(30_000);
      await rotate(world, '2');
      await clock.advance(30_000);
      expect(await renderedNames()).toEqual(before.rendered);
      expect(await target(world)).toBe(before.target);
      expect(await certificatesOn(fleet, 'n1')).toEqual(rotated('2'));
      await pause(world, false);
      await clock.advance(30_000);
      expect(await target(world)).not.toBe(before.target);
      expect(await certificatesOn(fleet, 'n1')).toEqual(rotated('2'));
    }),
);

test('nodes of a pool that is not paused are neither drained nor rebooted by a rotation', () =>
  inFleet(async (world, fleet) => {
    const before = { target: await target(world), node: await nodeOf(world, 'n1'), boots: fleet.host('n1').boots };
    await rotate(world, '2');
    await world.clock.advance(120_000);
    const { annotations } = await nodeOf(world, 'n1');
    expect(await target(world)).not.toBe(before.target);
    expect(annotations).toMatchObject({ [CurrentConfig]: await target(world), [State]: 'Done' });
    expect(annotations[DesiredDrain]).toBe(before.node.annotations[DesiredDrain]);
    expect(fleet.host('n1').boots).toBe(before.boots);
    expect(await certificatesOn(fleet, 'n1')).toEqual(rotated('2'));
  }));

test('certificates reach a node whose rollout fails, and a revert to an older config keeps them', () =>
  inFleet(async (world, fleet) => {
    const { client, clock } = world;
    const old = await target(world);
    fleet.fails = (config) => config !== old;
    const bad = { metadata: { name: '50-user', labels: WORKER_ROLE }, spec: { config: configOf('user') } };
    await client.resource(machineConfigs).create(bad);
    await clock.advance(60_000);
    expect((await nodeOf(world, 'n0')).annotations[State]).toBe('Degraded');
    await pause(world, true);
    await rotate(world, '2');
    await clock.advance(120_000);
    expect(await certificatesOn(fleet, 'n0')).toEqual(rotated('2'));
    await client
      .resource(nodes)
      .patch('n0', { type: 'merge', body: { metadata: { annotations: { [DesiredConfig]: old ?? '' } } } });
    await clock.advance(120_000);
    expect((await nodeOf(world, 'n0')).annotations).toMatchObject({ [CurrentConfig]: old, [State]: 'Done' });
    expect(await certificatesOn(fleet, 'n0')).toEqual(rotated('2'));
    const stored = await client.resource(machineConfigs).get(old ?? '');
    expect(await findDrift(fleet.host('n0').disk, stored)).toBeUndefined();
  }));

test('a part of the pool that cannot be rendered does not delay certificates', () =>
  inFleet(async (world, fleet) => {
    const spoiled = { metadata: { name: '50-user', labels: WORKER_ROLE }, spec: { kernelType: 'unknown' } };
    await world.client.resource(machineConfigs).create(spoiled);
    const before = await target(world);
    await rotate(world, '2');
    await world.clock.advance(30_000);
    expect(await target(world)).toBe(before);
    expect(await certificatesOn(fleet, 'n2')).toEqual(rotated('2'));
  }));

test('a daemon that dies at any step of a rotation, before or after its effect, still restarts the services', () =>
  inFleet(async (world, fleet) => {
    const { clock } = world;
    await pause(world, true);
    const host = fleet.host('n0');
    let deaths = 0;
    for (const round of sampled([...Array(30).keys()], 3)) {
      const version = String(round + 2);
      const left = Math.floor(round / 2);
      host.actions.length = 0;
      Object.assign(host, { left, done: round % 2 === 1 });
      await rotate(world, version);
      await clock.advance(30_000);
      const died = host.left < 0;
      fleet.restart('n0');
      await clock.advance(30_000);
      expect(await certificatesOn(fleet, 'n0')).toEqual(rotated(version));
      expect(host.actions).toContain('Restart');
      const { annotations } = await nodeOf(world, 'n0');
      expect([annotations[CurrentCertificates], annotations[State]]).toEqual([
        annotations[DesiredCertificates],
        'Done',
      ]);
      expect(JSON.parse((await readText(host.disk, DaemonPaths.Certificates)) ?? '')).toMatchObject({ pending: [] });
      if (!died) break;
      deaths += 1;
    }
    expect(deaths).toBeGreaterThan(thoroughly(10, 3));
  }));

/** Returns two kubeconfigs: one in the format of the config server, and one in the format of the kubelet. */
const kubeconfigs = (authority: object): readonly string[] => {
  const cluster = { server: 'https://api:6443', ...authority };
  const config = { apiVersion: 'v1', kind: 'Config', clusters: [{ name: 'local', cluster }] };
  const lines = Object.entries(cluster).map(([key, value]) => `    ${key}: ${value}\n`);
  return [JSON.stringify(config), `apiVersion: v1\nclusters:\n- cluster:\n${lines.join('')}  name: local\n`];
};

const putKubeconfigs = async (fleet: PlayedFleet, name: string, authority: object): Promise<void> => {
  const texts = kubeconfigs(authority);
  for (const [index, path] of KUBELET_KUBECONFIG_PATHS.entries())
    await fleet.host(name).memory.put(path, textEntry(texts[index] ?? ''));
};

const kubeconfigsOn = (fleet: PlayedFleet, name: string) =>
  Promise.all(KUBELET_KUBECONFIG_PATHS.map((path) => readText(fleet.host(name).disk, path)));

test('a new CA reaches the kubeconfigs of the kubelet by a restart of the kubelet, without a drain and a reboot', () =>
  inFleet(async (world, fleet) => {
    const data = (text: string) => ({ 'certificate-authority-data': base64(text) });
    const path = { 'certificate-authority': KUBELET_CA_PATH };
    await putKubeconfigs(fleet, 'n0', data('ca-1\n'));
    await putKubeconfigs(fleet, 'n1', data('another authority'));
    await putKubeconfigs(fleet, 'n2', path);
    const before = { target: await target(world), node: await nodeOf(world, 'n0'), boots: fleet.host('n0').boots };
    await pause(world, true);
    for (const name of ['n0', 'n1', 'n2']) fleet.host(name).actions.length = 0;
    await rotate(world, '2');
    await world.clock.advance(30_000);
    expect(await kubeconfigsOn(fleet, 'n0')).toEqual(kubeconfigs(data('ca-2')));
    expect(await kubeconfigsOn(fleet, 'n1')).toEqual(kubeconfigs(data('another authority')));
    expect(await kubeconfigsOn(fleet, 'n2')).toEqual(kubeconfigs(path));
    const kubeletRestarts = (name: string) =>
      fleet.host(name).services.filter((service) => service === 'Restart kubelet.service').length;
    expect(['n0', 'n1', 'n2'].map(kubeletRestarts)).toEqual([1, 0, 1]);
    expect(await fleet.host('n0').disk.read(DaemonPaths.Kubeconfig)).toMatchObject({ mode: 0o600 });
    const { annotations, unschedulable } = await nodeOf(world, 'n0');
    expect([annotations[DesiredDrain], unschedulable]).toEqual([before.node.annotations[DesiredDrain], false]);
    expect([fleet.host('n0').boots, await target(world)]).toEqual([before.boots, before.target]);
  }));

test('a kubeconfig in the config of the node gets its CA by a rollout that restarts the kubelet only', () =>
  inFleet(async (world, fleet) => {
    const { client, clock } = world;
    const [text = ''] = kubeconfigs({ 'certificate-authority-data': base64('ca-1') });
    const file = (content: string) => fileOf(DaemonPaths.Kubeconfig, content, 0o600);
    const config = (content: string) => ({ ignition: { version: '3.5.0' }, storage: { files: [file(content)] } });
    const mine = { metadata: { name: '50-user', labels: WORKER_ROLE }, spec: { config: config(text) } };
    await client.resource(machineConfigs).create(mine);
    await clock.advance(120_000);
    const node = await nodeOf(world, 'n0');
    const { boots, services } = fleet.host('n0');
    services.length = 0;
    await rotate(world, '2');
    await clock.advance(120_000);
    expect(await readText(fleet.host('n0').disk, DaemonPaths.Kubeconfig)).toBe(text);
    const [next = ''] = kubeconfigs({ 'certificate-authority-data': base64('ca-2') });
    await client.resource(machineConfigs).patch('50-user', { type: 'merge', body: { spec: { config: config(next) } } });
    await clock.advance(120_000);
    expect(await readText(fleet.host('n0').disk, DaemonPaths.Kubeconfig)).toBe(next);
    expect((await nodeOf(world, 'n0')).annotations[DesiredDrain]).toBe(node.annotations[DesiredDrain]);
    expect(fleet.host('n0').boots).toBe(boots);
    expect(services.filter((one) => one === 'Restart kubelet.service')).toHaveLength(1);
  }));

test('a rotation reaches the kubelet although a policy requires a reboot after a change of a kubeconfig', async () => {
  const host = new PlayedHost();
  const kubelet = (text: string) => JSON.stringify({ 'certificate-authority-data': base64(text) });
  const config = (name: string, text: string) => {
    const storage = { files: [fileOf(KUBELET_CA_PATH, text)] };
    return partial<MachineConfig>({
      metadata: { name },
      spec: { config: { ignition: { version: '3.5.0' }, storage } },
    });
  };
  await host.memory.put(KUBELET_CA_PATH, textEntry('old'));
  await host.memory.put(DaemonPaths.JoinedKubeconfig, textEntry(kubelet('old')));
  const policy = withUserPolicy({
    files: [{ path: DaemonPaths.JoinedKubeconfig, actions: [{ type: 'Reboot' }] }],
    units: [],
  });
  const job = { version: 'v', config: config('certificates-a', 'new'), stored: config('rendered', 'old'), policy };
  await bringCertificates(host, job);
  expect(await readText(host.disk, DaemonPaths.JoinedKubeconfig)).toBe(kubelet('new'));
  expect([host.services, host.boots]).toEqual([['Restart kubelet.service'], 0]);
});

test('a daemon that dies at any step still writes the new CA to the kubeconfigs, and the kubelet restarts', () =>
  inFleet(async (world, fleet) => {
    const { clock } = world;
    await pause(world, true);
    const host = fleet.host('n0');
    await putKubeconfigs(fleet, 'n0', { 'certificate-authority-data': base64('ca-1') });
    for (const round of sampled([...Array(24).keys()], 3)) {
      const version = String(round + 2);
      host.services.length = 0;
      Object.assign(host, { left: Math.floor(round / 2), done: round % 2 === 1 });
      await rotate(world, version);
      await clock.advance(30_000);
      fleet.restart('n0');
      await clock.advance(30_000);
      const authority = { 'certificate-authority-data': base64(`ca-${version}`) };
      expect(await kubeconfigsOn(fleet, 'n0')).toEqual(kubeconfigs(authority));
      expect(host.services).toContain('Restart kubelet.service');
    }
    expect(host.left).toBeGreaterThan(0);
  }));

test('the certificate of a removed registry is deleted; certificates that are still in the config stay', () =>
  inFleet(async (world, fleet) => {
    const { client, clock } = world;
    await pause(world, true);
    const body = { spec: { imageRegistryBundleUserData: [] } };
    await client.resource(controllerConfigs).patch(CONTROLLER_CONFIG_NAME, { type: 'merge', body });
    await clock.advance(30_000);
    expect(await certificatesOn(fleet, 'n0')).toEqual([...rotated('1').slice(0, 2), '{"auths":{"one":{}}}', undefined]);
  }));

test('a completed rotation writes nothing', () =>
  inFleet(async (world) => {
    await pause(world, true);
    await rotate(world, '2');
    await world.clock.advance(60_000);
    world.writes.length = 0;
    await world.clock.advance(3_600_000);
    expect(world.writes).toEqual([]);
  }));
