import { crds } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import {
  bootIgnition,
  encodeDataUrl,
  type MachineConfig,
  machineConfigCrds,
  machineConfigs,
  NodeAnnotations,
  pointerConfig,
} from '@mcm/machine-config';
import { expect, test } from 'vitest';
import { MemoryStore } from '../cloud/store/memory-store.ts';
import { type JoinRigOptions, joinRig, type StartPlane } from '../testing/join-rig.ts';
import type { ApiTransport } from './node/api-address.ts';
import { parseUserData } from './node/user-data.ts';

const withKinds: StartPlane = (options) => startControlPlane({ ...options, crds: [...crds, ...machineConfigCrds] });
const SERVER = 'https://config.test:22623';
const { CurrentConfig, DesiredConfig, State } = NodeAnnotations;

const userData = (more: object = {}) =>
  JSON.stringify({
    ...pointerConfig({ server: SERVER, pool: 'worker', authority: 'THE CA', token: 'abcdef.0123456789abcdef' }),
    ...more,
  });

function configServer() {
  const asked: { readonly path: string; readonly headers: Readonly<Record<string, string>> }[] = [];
  const state: { config: MachineConfig | undefined } = { config: undefined };
  const transport: ApiTransport = async ({ path, headers }) => {
    asked.push({ path, headers });
    const { config } = state;
    if (!config) return new Response('pool worker is not rendered yet; retry later\n', { status: 500 });
    return new Response(JSON.stringify(bootIgnition({ machineConfig: config, controllerConfig: undefined })));
  };
  return { asked, state, transport };
}

async function rigWith(server: ReturnType<typeof configServer>, options: JoinRigOptions = {}) {
  const rig = await joinRig(withKinds, {
    defaults: { configDaemon: true },
    ...options,
    elsewhere: (origin) => (origin === SERVER ? server.transport : undefined),
  });
  const files = [{ path: '/etc/a', overwrite: true, contents: { source: encodeDataUrl('a') } }];
  const config = { ignition: { version: '3.5.0' }, storage: { files } };
  const machineConfig = await rig.client
    .resource(machineConfigs)
    .create({ metadata: { name: 'rendered-a' }, spec: { config, kernelArguments: ['nosmt'] } });
  return { rig, machineConfig };
}

test('user data that refers to a config: server, path, CA and the shown text', () => {
  expect(parseUserData(userData()).pointer).toEqual({
    server: SERVER,
    path: '/config/worker',
    ca: 'THE CA',
    headers: { authorization: 'Bearer abcdef.0123456789abcdef' },
  });
  expect(parseUserData('{"ignition":{"version":"3.5.0"}}').pointer).toBeUndefined();
  const bad = {
    ignition: {
      security: { tls: { certificateAuthorities: [{ source: 'data:' }] } },
      config: { merge: [{ source: SERVER }] },
    },
  };
  expect(() => parseUserData(JSON.stringify(bad))).toThrow(/ignition\.security\.tls\.certificateAuthorities/);
  expect(() => parseUserData('{"ignition":{"config":{"merge":[{"source":"nowhere"}]}}}')).toThrow(/ignition\.config/);
});

test('a machine has its files before its node exists, and its node is at the target from the start', async () => {
  const server = configServer();
  const { rig, machineConfig } = await rigWith(server);
  await using _ = rig;
  const { id } = await rig.launch({ name: 'n-1', userData: userData() });
  await rig.clock.advance(30_000);
  expect(await rig.node('n-1'), 'no configuration yet: no node').toBeUndefined();
  server.state.config = machineConfig;
  await rig.clock.advance(30_000);
  const said = (await rig.node('n-1'))?.metadata.annotations ?? {};
  expect(said).toMatchObject({ [CurrentConfig]: 'rendered-a', [DesiredConfig]: 'rendered-a', [State]: 'Done' });
  expect(server.asked.at(-1)).toMatchObject({
    path: '/config/worker',
    headers: { authorization: 'Bearer abcdef.0123456789abcdef', accept: expect.stringContaining('version=3.5.0') },
  });
  const { output = '' } = (await rig.call('GET', `/v1/instances/${id}/console`)).body;
  const order = [
    '500: pool worker is not rendered yet',
    'boot number 2, kernel command line: ro quiet nosmt',
    'registered node n-1',
  ];
  expect(order.map((text) => output.indexOf(text)).every((at, index, all) => at > (all[index - 1] ?? -1))).toBe(true);
  expect(output).not.toContain('rebooting');
  const count = server.asked.length;
  await rig.clock.advance(600_000);
  expect(server.asked, 'asked once more than it took').toHaveLength(count);
});

test('a machine gets its files only once, also after restarts', async () => {
  const store = new MemoryStore();
  const server = configServer();
  const { rig, machineConfig } = await rigWith(server, { store });
  server.state.config = machineConfig;
  await rig.launch({ name: 'n-1', userData: userData() });
  await rig.clock.advance(30_000);
  expect(server.asked).toHaveLength(1);
  await rig.cloud.close();
  await using again = await joinRig(withKinds, {
    store,
    clock: rig.clock,
    plane: rig.plane,
    defaults: { configDaemon: true },
    elsewhere: () => server.transport,
  });
  await again.clock.advance(60_000);
  expect(server.asked).toHaveLength(1);
  expect((await again.node('n-1'))?.metadata.annotations).toMatchObject({ [CurrentConfig]: 'rendered-a' });
  await rig.plane.close();
});
