import { type KubeClient, nodes } from '@mcm/kube';
import { sampled } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { conditionOf } from './conditions/conditions.ts';
import { NodeAnnotations } from './constants/annotations.ts';
import { CONTROLLER_CONFIG_NAME } from './constants/names.ts';
import { machineConfigCrds } from './crd/crds.ts';
import { controllerConfigs, kubeletConfigs, machineConfigPools, machineConfigs } from './kinds/resources.ts';
import {
  configOf,
  fillWorld,
  playDaemons,
  startWorld,
  storedConfigs,
  TREE,
  WORKER_ROLE,
  type World,
} from './testing.ts';

async function inWorld(
  work: (world: World) => Promise<void>,
  tree = TREE,
  crds: readonly object[] = machineConfigCrds,
): Promise<void> {
  const world = await startWorld({ tree, crds });
  try {
    await fillWorld(world.client);
    await world.clock.advance(20_000);
    await work(world);
  } finally {
    await world.end();
  }
}

const poolNow = (client: KubeClient, name = 'worker') => client.resource(machineConfigPools).get(name);
async function eventsOf({ fetch }: World['plane'], reason: string): Promise<readonly string[]> {
  const answer = await fetch(new Request('http://api/api/v1/events'));
  const { items } = (await answer.json()) as { items: readonly { reason: string; message: string }[] };
  return items.flatMap((event) => (event.reason === reason ? [event.message] : []));
}

const ignition = (sections: object) => ({ config: { ignition: { version: '3.5.0' }, ...sections } });
const files = (...list: object[]) => ignition({ storage: { files: list } });
const data = { contents: { source: 'data:,x' } };

const REFUSED: readonly (readonly [what: string, spec: object, reported: RegExp])[] = [
  [
    'Ignition of another version',
    { config: { ignition: { version: '9.0.0' } } },
    /99-bad.*unknown version|99-bad.*version/,
  ],
  ['Ignition without a version', { config: { storage: {} } }, /99-bad.*version/],
  ['a mode beyond 07777', files({ path: '/etc/x', mode: 99_999, ...data }), /99-bad[\s\S]*storage\.files\.0\.mode/],
  [
    'a mode with special bits',
    files({ path: '/etc/x', mode: 0o1777, ...data }),
    /99-bad: invalid mode 01777 for \/etc\/x, cannot exceed 0777/,
  ],
  ['a relative path', files({ path: 'etc/x', ...data }), /99-bad[\s\S]*storage\.files\.0\.path/],
  ['a path that escapes', files({ path: '/etc/../../x', ...data }), /99-bad[\s\S]*path/],
  [
    'two files of one path',
    files({ path: '/etc/x', ...data }, { path: '/etc/x', ...data }),
    /99-bad[\s\S]*storage\.files/,
  ],
  [
    'a file where a directory is',
    ignition({ storage: { files: [{ path: '/etc/x', ...data }], directories: [{ path: '/etc/x' }] } }),
    /99-bad[\s\S]*storage/,
  ],
  ['a unit without a name', ignition({ systemd: { units: [{ name: '', contents: '[Unit]' }] } }), /99-bad[\s\S]*units/],
  [
    'a file where a unit is',
    ignition({
      storage: { files: [{ path: '/etc/systemd/system/x.service', ...data }] },
      systemd: { units: [{ name: 'x.service', contents: '[Unit]' }] },
    }),
    /99-bad[\s\S]*storage\.files\.0\.path: path conflicts with systemd unit/,
  ],
  ['a source that is no URL', files({ path: '/etc/x', contents: { source: 'x' } }), /99-bad[\s\S]*contents\.source/],
  ['a negative mode', files({ path: '/etc/x', mode: -1, ...data }), /99-bad[\s\S]*storage\.files\.0\.mode/],
  ['a unit of an unknown kind', ignition({ systemd: { units: [{ name: 'x.exe' }] } }), /99-bad[\s\S]*units\.0\.name/],
  ['an unknown extension', { extensions: ['nope'] }, /99-bad.*nope/],
  ['an unknown type of kernel', { kernelType: 'turbo' }, /99-bad.*kernelType=turbo/],
  [
    'a unit whose name leads out of its directory',
    ignition({ systemd: { units: [{ name: '../../../x.service', contents: '[Unit]' }] } }),
    /99-bad: spec\.config\.systemd\.units\.0\.name "\.\.\/\.\.\/\.\.\/x\.service" is not a file name.*write only the file name/,
  ],
  [
    'a drop-in whose name leads out of its directory',
    ignition({ systemd: { units: [{ name: 'x.service', dropins: [{ name: '../../y.conf', contents: '[Unit]' }] }] } }),
    /99-bad: spec\.config\.systemd\.units\.0\.dropins\.0\.name.*write only the file name/,
  ],
  [
    'the root directory',
    files({ path: '/', ...data }),
    /99-bad: spec\.config\.storage\.files\.0\.path "\/" is the root/,
  ],
  [
    'a path with a NUL',
    files({ path: '/etc/x\0y', ...data }),
    /99-bad: .*files\.0\.path.*NUL character.*remove the NUL character/,
  ],
  [
    'what the daemon keeps for itself',
    files({ path: '/etc/machine-config-daemon/currentconfig', ...data }),
    /99-bad: .*files\.0\.path.*file of the machine-config-daemon.*choose another path/,
  ],
  [
    'content that is elsewhere',
    files({ path: '/etc/x', contents: { source: 'https://example.com/x' } }),
    /99-bad: .*files\.0\.contents\.source.*is not in the config.*as a data: URL/,
  ],
  [
    'content that its compression does not fit',
    files({ path: '/etc/x', contents: { source: 'data:,plain', compression: 'gzip' } }),
    /99-bad: .*files\.0\.contents\.source: could not create gzip reader.*compress the content with gzip/,
  ],
  [
    'a file below a file',
    files({ path: '/etc/x', ...data }, { path: '/etc/x/y', ...data }),
    /file \/etc\/x\/y of MachineConfig 99-bad is below file \/etc\/x of MachineConfig 99-bad.*change one of the paths/,
  ],
  [
    'a file below one of another MachineConfig',
    files({ path: '/etc/kubernetes/kubelet.conf/x', ...data }),
    /99-bad is below file \/etc\/kubernetes\/kubelet\.conf of MachineConfig 01-worker-kubelet.*99-bad or MachineConfig 01-worker-kubelet/,
  ],
];
test.each(sampled(REFUSED, 3))(
  'bad input: %s degrades the pool with field and hint, and keeps the last valid render; its deletion clears the condition',
  (_what, spec, reported) =>
    inWorld(async ({ client, clock, plane }) => {
      const before = (await poolNow(client)).spec?.configuration?.name;
      await client.resource(machineConfigs).create({ metadata: { name: '99-bad', labels: WORKER_ROLE }, spec });
      await clock.advance(20_000);
      const pool = await poolNow(client);
      expect(pool.spec?.configuration?.name).toBe(before);
      for (const type of ['RenderDegraded', 'Degraded']) {
        expect(conditionOf(pool.status?.conditions, type)?.status).toBe('True');
      }
      expect(conditionOf(pool.status?.conditions, 'RenderDegraded')?.message).toMatch(reported);
      expect(conditionOf(pool.status?.conditions, 'RenderDegraded')?.message).toMatch(
        /\. To fix the error: .*the nodes keep rendered-\S+ until the error is corrected/,
      );
      expect((await eventsOf(plane, 'RenderFailed'))[0]).toMatch(reported);
      await client.resource(machineConfigs).delete('99-bad');
      await clock.advance(20_000);
      expect(conditionOf((await poolNow(client)).status?.conditions, 'RenderDegraded')?.status).toBe('False');
    }),
);

test('bad input: content over the limit of the API is refused by the rendering, with size, limit and hint', () =>
  inWorld(async ({ client, clock, plane }) => {
    const before = (await poolNow(client)).spec?.configuration?.name;
    for (const name of ['50-big', '51-big']) {
      const config = configOf('x'.repeat(800_000), `/etc/${name}`);
      await client.resource(machineConfigs).create({ metadata: { name, labels: WORKER_ROLE }, spec: { config } });
    }
    await clock.advance(20_000);
    const pool = await poolNow(client);
    expect(pool.spec?.configuration?.name).toBe(before);
    const reported =
      /is too large \(16\d{5} bytes, max 1572864 bytes\).*\/etc\/50-big of MachineConfig 50-big \(800006 bytes\).*To fix the error: make the files/;
    expect(conditionOf(pool.status?.conditions, 'RenderDegraded')?.message).toMatch(reported);
    expect((await eventsOf(plane, 'RenderFailed'))[0]).toMatch(reported);
    await client.resource(machineConfigs).delete('51-big');
    await clock.advance(20_000);
    expect(conditionOf((await poolNow(client)).status?.conditions, 'RenderDegraded')?.status).toBe('False');
    expect((await poolNow(client)).spec?.configuration?.name).not.toBe(before);
  }));

test('bad input: a template with an unknown variable fails the ControllerConfig with template and variable, and creates nothing', () =>
  inWorld(
    async ({ client, plane }) => {
      const { status } = await client.resource(controllerConfigs).get(CONTROLLER_CONFIG_NAME);
      const failing = conditionOf(status?.conditions, 'TemplateControllerFailing');
      const reported = /worker\/00-worker\/_base\/files\/motd\.yaml.*undefined variable: etcdCAData/s;
      expect([failing?.status, failing?.message]).toEqual(['True', expect.stringMatching(reported)]);
      expect((await eventsOf(plane, 'TemplatesFailed'))[0]).toMatch(reported);
      expect(await storedConfigs(client)).toEqual([]);
    },
    new Map([['worker/00-worker/_base/files/motd.yaml', 'path: /etc/motd\ncontents:\n  inline: "{{ etcdCAData }}"\n']]),
  ));

test('bad input: a variable without a value in the ControllerConfig is named; with a value, its templates are rendered', () =>
  inWorld(
    async ({ client, clock }) => {
      const failing = async () =>
        conditionOf(
          (await client.resource(controllerConfigs).get(CONTROLLER_CONFIG_NAME)).status?.conditions,
          'TemplateControllerFailing',
        );
      const reported = /motd\.yaml.*undefined variable: parameters\.motd/s;
      expect((await failing())?.message).toMatch(reported);
      const degraded = async () => conditionOf((await poolNow(client)).status?.conditions, 'RenderDegraded');
      expect(await degraded()).toMatchObject({ status: 'True', reason: 'TemplatesFailed' });
      expect((await degraded())?.message).toMatch(reported);
      expect((await degraded())?.message).toMatch(/To fix the error: correct the template, or the field in spec of/);
      const body = { spec: { parameters: { motd: 'hello' } } };
      await client.resource(controllerConfigs).patch(CONTROLLER_CONFIG_NAME, { type: 'merge', body });
      await clock.advance(20_000);
      expect((await failing())?.status).toBe('False');
      expect(await storedConfigs(client)).toContain('00-worker');
      expect((await degraded())?.status).toBe('False');
    },
    new Map([
      ['worker/00-worker/_base/files/motd.yaml', 'path: /etc/motd\ncontents:\n  inline: "{{ parameters.motd }}"\n'],
    ]),
  ));

test('bad input: two custom pools that claim one node are Degraded with node and hint, until only one claims it', () =>
  inWorld(async ({ client, clock, plane }) => {
    for (const name of ['infra', 'gpu']) {
      await client.resource(machineConfigPools).create({
        metadata: { name },
        spec: { machineConfigSelector: { matchLabels: WORKER_ROLE }, nodeSelector: { matchLabels: { [name]: '' } } },
      });
    }
    const label = (labels: object) =>
      client.resource(nodes).patch('n2', { type: 'merge', body: { metadata: { labels } } });
    await label({ infra: '', gpu: '' });
    await clock.advance(30_000);
    const reported = /^node n2 belongs to 2 custom roles.*Change metadata\.labels of the nodes/;
    for (const name of ['infra', 'gpu']) {
      const { status } = await poolNow(client, name);
      for (const type of ['NodesClaimed', 'Degraded']) {
        expect(conditionOf(status?.conditions, type)).toMatchObject({
          status: 'True',
          reason: 'AmbiguousMembership',
          message: expect.stringMatching(reported),
        });
      }
    }
    expect((await eventsOf(plane, 'NodesClaimed')).length).toBe(2);
    expect((await client.resource(nodes).get('n2')).metadata.annotations?.[NodeAnnotations.DesiredConfig]).toBe(
      'rendered-old',
    );
    await label({ gpu: null });
    await clock.advance(30_000);
    for (const name of ['infra', 'gpu']) {
      const { status } = await poolNow(client, name);
      expect(conditionOf(status?.conditions, 'NodesClaimed')?.status).toBe('False');
      expect(conditionOf(status?.conditions, 'Degraded')?.status).toBe('False');
    }
  }));

test('bad input: a selector that matches no MachineConfig degrades its pool, and the message contains the selector [R17]', () =>
  inWorld(async ({ client, clock, plane }) => {
    const body = {
      spec: { machineConfigSelector: { matchLabels: { 'machineconfiguration.openshift.io/role': 'nobody' } } },
    };
    await client.resource(machineConfigPools).patch('worker', { type: 'merge', body });
    await clock.advance(20_000);
    const reported = /no MachineConfigs found matching selector machineconfiguration\.openshift\.io\/role=nobody/;
    const { status, spec } = await poolNow(client);
    expect(conditionOf(status?.conditions, 'RenderDegraded')).toMatchObject({
      status: 'True',
      message: expect.stringMatching(reported),
    });
    expect((await eventsOf(plane, 'RenderFailed'))[0]).toMatch(reported);
    expect((await eventsOf(plane, 'RenderFailed'))[0]).toContain(
      'To fix the error: correct spec.machineConfigSelector',
    );
    expect(spec?.configuration?.name).toMatch(/^rendered-worker-/);
    const hint = { spec: { machineConfigSelector: { matchLabels: WORKER_ROLE } } };
    await client.resource(machineConfigPools).patch('worker', { type: 'merge', body: hint });
    await clock.advance(20_000);
    expect(conditionOf((await poolNow(client)).status?.conditions, 'RenderDegraded')?.status).toBe('False');
  }));

test.each<[field: 'machineConfigSelector' | 'nodeSelector', all: string, hint: object]>([
  [
    'machineConfigSelector',
    'all MachineConfigs: the controller renders no configuration',
    { matchLabels: WORKER_ROLE },
  ],
  ['nodeSelector', 'all nodes: no node gets a target', { matchLabels: { 'node-role.kubernetes.io/worker': '' } }],
])(
  'bad input: a pool with an empty %s is Degraded and updates no node, until the selector has a requirement',
  (field, all, hint) =>
    inWorld(async ({ client, clock, plane }) => {
      const before = (await poolNow(client)).spec?.configuration?.name;
      const select = async (selector: object) => {
        const body = { spec: { [field]: selector } };
        await client.resource(machineConfigPools).patch('worker', { type: 'merge', body });
        await clock.advance(30_000);
        const { status } = await poolNow(client);
        return ['RenderDegraded', 'Degraded'].map((type) => conditionOf(status?.conditions, type));
      };
      const reported = new RegExp(
        `spec\\.${field} of MachineConfigPool worker is empty.*${all}\\. To fix the error: add matchLabels`,
      );
      const [render, degraded] = await select({ matchLabels: null });
      expect(render).toMatchObject({
        status: 'True',
        reason: 'SelectingAll',
        message: expect.stringMatching(reported),
      });
      expect(degraded?.status).toBe('True');
      expect((await eventsOf(plane, 'RenderFailed'))[0]).toMatch(reported);
      expect((await eventsOf(plane, 'SelectingAll')).length).toBeGreaterThan(0);
      expect((await poolNow(client)).spec?.configuration?.name).toBe(before);
      expect((await select(hint)).map((one) => one?.status)).toEqual(['False', 'False']);
    }),
);

/** The CRD without the limits for values, like the CRD of the original. */
const UNBOUNDED = JSON.parse(JSON.stringify(machineConfigCrds), (key, value) =>
  key === 'maxUnavailable' ? { ...value, 'x-kubernetes-validations': [] } : value,
) as readonly object[];

const settle = async ({ client, clock }: World, change: () => Promise<unknown>) => {
  await change();
  await clock.advance(30_000);
  const { status, spec } = await poolNow(client);
  const conditions = ['SettingsInvalid', 'Degraded'].map((type) => conditionOf(status?.conditions, type));
  const { items } = await client.resource(nodes).list();
  const target = spec?.configuration?.name ?? '';
  const targeted = items.filter(
    ({ metadata }) => metadata.annotations?.[NodeAnnotations.DesiredConfig] === target && target !== '',
  );
  return { conditions, targeted: targeted.length };
};

test('bad input: an invalid maxUnavailable degrades its pool with field and hint and sets no target, until it is corrected', () =>
  inWorld(
    async (world) => {
      const { client, plane } = world;
      const set = (maxUnavailable: unknown) => () =>
        client.resource(machineConfigPools).patch('worker', { type: 'merge', body: { spec: { maxUnavailable } } });
      const before = (await settle(world, set('abc'))).targeted;
      await playDaemons(client);
      const config = { metadata: { name: '50-user', labels: WORKER_ROLE }, spec: { config: configOf('new') } };
      expect((await settle(world, () => client.resource(machineConfigs).create(config))).targeted).toBe(0);
      expect(before).toBe(1);
      for (const [value, why] of [
        ['abc', 'which is neither a number nor a percentage'],
        ['5', 'which is neither a number nor a percentage'],
        ['150%', 'more than 100%'],
        [-1, 'less than 0'],
        ['-20%', 'less than 0'],
      ] as const) {
        const message =
          `spec.maxUnavailable of MachineConfigPool worker is ${JSON.stringify(value)}, ${why}: no node gets a target. ` +
          'To fix the error: set a number such as 1, or a percentage from "1%" to "100%"';
        const { conditions, targeted } = await settle(world, set(value));
        expect(conditions.map((one) => [one?.status, one?.message])).toEqual([
          ...[
            ['True', message],
            ['True', message],
          ],
        ]);
        expect(targeted).toBe(0);
        expect(await eventsOf(plane, 'SettingsInvalid')).toContain(message);
      }
      const zero = await settle(world, set(0));
      expect(zero.targeted).toBe(1);
      expect(zero.conditions.map((one) => [one?.status, one?.reason])).toEqual([
        ...[
          ['False', 'CountsAsOne'],
          ['False', ''],
        ],
      ]);
      expect((await eventsOf(plane, 'SettingsInvalid')).at(-1)).toMatch(/is 0, which counts as 1.*set spec\.paused$/);
      const recovered = await settle(world, set(3));
      expect(recovered.targeted).toBe(3);
      expect(recovered.conditions.map((one) => [one?.status, one?.message])).toEqual([
        ...[
          ['False', ''],
          ['False', ''],
        ],
      ]);
    },
    TREE,
    UNBOUNDED,
  ));

test.each([
  ['canary', 'few', /canary of MachineConfigPool worker is "few": no node gets a target.*write a count of nodes/],
  [
    'canary-soak',
    'long',
    /canary-soak of MachineConfigPool worker is "long": no node gets a target.*write a time such as/,
  ],
])(
  'bad input: an invalid annotation %s degrades its pool with a hint and sets no target, until it is removed',
  (key, text, expected) =>
    inWorld(async (world) => {
      const { client, plane } = world;
      const prefix = 'machineconfiguration.openshift.io';
      const annotate = (value: string | null) => () =>
        client.resource(machineConfigPools).patch('worker', {
          type: 'merge',
          body: { metadata: { annotations: { [`${prefix}/canary`]: '1', [`${prefix}/${key}`]: value } } },
        });
      await settle(world, annotate(text));
      await playDaemons(client);
      const config = { metadata: { name: '50-user', labels: WORKER_ROLE }, spec: { config: configOf('new') } };
      const { conditions, targeted } = await settle(world, () => client.resource(machineConfigs).create(config));
      expect(targeted).toBe(0);
      for (const one of conditions) {
        expect(one).toMatchObject({ status: 'True', message: expect.stringMatching(expected) });
      }
      expect((await eventsOf(plane, 'SettingsInvalid'))[0]).toMatch(expected);
      const recovered = await settle(world, annotate(null));
      expect([recovered.targeted, ...recovered.conditions.map((one) => one?.status)]).toEqual([1, 'False', 'False']);
    }),
);

test('bad input: unknown fields of an Ignition config are reported once for each render, with MachineConfig, path and hint', () =>
  inWorld(async ({ client, clock, plane }) => {
    const spec = files({ path: '/etc/x', mdoe: 420, ...data });
    await client.resource(machineConfigs).create({ metadata: { name: '50-typo', labels: WORKER_ROLE }, spec });
    await clock.advance(20_000);
    const reported =
      'MachineConfig 50-typo: spec.config.storage.files.0.mdoe is an unknown field without effect (did you mean mode?)';
    expect(await eventsOf(plane, 'UnknownFields')).toEqual([reported]);
    expect((await poolNow(client)).spec?.configuration?.source?.map(({ name }) => name)).toContain('50-typo');
    const useless = { ...ignition({ storge: {} }) };
    await client.resource(machineConfigs).create({ metadata: { name: '51-typo', labels: WORKER_ROLE }, spec: useless });
    await clock.advance(20_000);
    expect((await eventsOf(plane, 'UnknownFields')).at(-1)).toBe(
      `${reported}; MachineConfig 51-typo: spec.config.storge is an unknown field without effect (did you mean storage?)`,
    );
  }));

test('bad input: unknown fields of a KubeletConfig are reported in a condition and an event, and its other fields are applied', () =>
  inWorld(async ({ client, clock, plane, writes }) => {
    const machineConfigPoolSelector = {
      matchLabels: { 'pools.operator.machineconfiguration.openshift.io/worker': '' },
    };
    const kubeletConfig = { maxPod: 5, podsPerCore: 7, logging: { format: 'json', verbositi: 3 } };
    await client
      .resource(kubeletConfigs)
      .create({ metadata: { name: 'mine' }, spec: { machineConfigPoolSelector, kubeletConfig } });
    await clock.advance(20_000);
    const reported =
      'spec.kubeletConfig.maxPod is an unknown field without effect (did you mean maxPods?); ' +
      'spec.kubeletConfig.logging.verbositi is an unknown field without effect (did you mean verbosity?)';
    const conditions = async () => (await client.resource(kubeletConfigs).get('mine')).status?.conditions ?? [];
    expect((await conditions()).map(({ type, status, message }) => [type, status, message])).toEqual([
      ['UnknownFields', 'True', reported],
      ['Accepted', 'True', 'Success'],
      ['Success', 'True', 'Success'],
    ]);
    expect(await eventsOf(plane, 'UnknownFields')).toEqual([reported]);
    expect(await storedConfigs(client)).toContain('99-worker-generated-kubelet');
    expect(conditionOf((await poolNow(client)).status?.conditions, 'RenderDegraded')?.status).toBe('False');
    await clock.advance(60_000);
    writes.length = 0;
    await clock.advance(3_600_000);
    expect(writes).toEqual([]);
    const hint = { spec: { kubeletConfig: { maxPod: null, maxPods: 5, logging: null } } };
    await client.resource(kubeletConfigs).patch('mine', { type: 'merge', body: hint });
    await clock.advance(20_000);
    expect((await conditions()).map(({ type }) => type)).toEqual(['Accepted', 'Success']);
  }));

test('bad input: a KubeletConfig with a field that belongs to the cluster is refused with field and value, in condition, event and pool', () =>
  inWorld(async ({ client, clock, plane }) => {
    const before = (await poolNow(client)).spec?.configuration?.name;
    await client.resource(kubeletConfigs).create({
      metadata: { name: 'mine' },
      spec: {
        machineConfigPoolSelector: { matchLabels: { 'pools.operator.machineconfiguration.openshift.io/worker': '' } },
        kubeletConfig: { cgroupDriver: 'cgroupfs' },
      },
    });
    await clock.advance(20_000);
    const reported = /cgroupDriver is not allowed to be set, but contains: cgroupfs/;
    const { status } = await client.resource(kubeletConfigs).get('mine');
    expect(conditionOf(status?.conditions, 'Accepted')?.message).toMatch(reported);
    expect((await eventsOf(plane, 'KubeletConfigRefused'))[0]).toMatch(reported);
    expect((await eventsOf(plane, 'KubeletConfigRefused'))[0]).toContain(
      'To fix the error: correct the fields in spec of KubeletConfig mine',
    );
    const pool = await poolNow(client);
    expect(conditionOf(pool.status?.conditions, 'RenderDegraded')).toMatchObject({
      status: 'True',
      reason: 'ConfigRejected',
      message: expect.stringContaining('KubeletConfig mine was refused'),
    });
    expect(conditionOf(pool.status?.conditions, 'Degraded')?.status).toBe('True');
    expect(pool.spec?.configuration?.name).toBe(before);
    const hint = { spec: { kubeletConfig: { cgroupDriver: null, maxPods: 99 } } };
    await client.resource(kubeletConfigs).patch('mine', { type: 'merge', body: hint });
    await clock.advance(30_000);
    const { status: recovered, spec } = await poolNow(client);
    expect(['RenderDegraded', 'Degraded'].map((type) => conditionOf(recovered?.conditions, type)?.status)).toEqual([
      ...['False', 'False'],
    ]);
    expect(spec?.configuration?.name).not.toBe(before);
  }));
