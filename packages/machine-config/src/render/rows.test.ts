import { partial } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { mergeMachineConfigs } from '../config/merge.ts';
import { renderedName } from '../config/name.ts';
import { byName } from '../config/order.ts';
import { irreconcilable } from '../config/reconcile.ts';
import { nodeConfigGate } from '../config/render/gates.ts';
import { renderPool } from '../config/render/render.ts';
import { selectMachineConfigs } from '../config/select.ts';
import { validateMachineConfigSpec } from '../config/validate.ts';
import { ConfigAnnotations } from '../constants/annotations.ts';
import { ConfigLabels } from '../constants/labels.ts';
import type { MachineConfig, MachineConfigSpec } from '../kinds/machine-config.ts';
import type { MachineConfigPool } from '../kinds/machine-config-pool.ts';
import { poolsToRender, poolsToRenderWith } from './wakeups.ts';

const BASE = { osImageURL: 'base', extensionsImage: '' };
const config = (
  name: string,
  spec: MachineConfigSpec,
  role = 'worker',
  annotations?: Record<string, string>,
): MachineConfig =>
  partial<MachineConfig>({
    metadata: { name, labels: { [ConfigLabels.Role]: role }, ...(annotations && { annotations }) },
    spec,
  });
const ignition = (sections: object) => ({ ignition: { version: '3.5.0' }, ...sections });
const file = (path: string, data: string, more: object = {}) => ({
  path,
  contents: { source: `data:,${data}` },
  ...more,
});
const files = (...list: object[]) => ignition({ storage: { files: list } });
const merged = (...configs: MachineConfig[]) => mergeMachineConfigs(configs, BASE)?.spec;

test('a MachineConfig with only fips is merged with the defaults [R4]', () => {
  expect(merged(config('a', { fips: true }))).toEqual({
    osImageURL: 'base',
    baseOSExtensionsContainerImage: '',
    config: { ignition: { version: '3.5.0' } },
    kernelArguments: [],
    extensions: [],
    fips: true,
    kernelType: 'default',
  });
});

test('the later name wins, a custom role overrides every worker, and its plain content does not count as compressed [R6] [R7]', () => {
  expect(
    merged(config('aaa', { config: files(file('/f', '1')) }), config('bbb', { config: files(file('/f', '2')) }))?.config
      .storage?.files?.[0]?.contents?.source,
  ).toBe('data:,2');
  const gzip = {
    path: '/f',
    contents: { source: 'data:;base64,H4sIAAAAAAAC/8tIzcnJBwCGphA2BQAAAA==', compression: 'gzip' },
  };
  const spec = merged(
    config('ccc', { config: files(file('/f', 'c')) }, 'infra'),
    config('ddd', { config: files(gzip) }),
  );
  expect(spec?.config.storage?.files).toEqual([{ path: '/f', contents: { source: 'data:,c' }, overwrite: true }]);
});

test('overwrite is true by default; a file without a source never gets it, and the result is valid [R8]', () => {
  const spec = merged(
    config('a', { config: files(file('/a', '1'), file('/b', '1', { overwrite: false }), { path: '/c', mode: 384 }) }),
  );
  expect(spec?.config.storage?.files?.map(({ overwrite }) => overwrite)).toEqual([true, false, undefined]);
});

test('the last MachineConfig of a user sets the OS image, a generated one never does [R9] [R10]', () => {
  const users = [config('-0', { osImageURL: 'one' }), config('-1', { osImageURL: 'two' })];
  expect(merged(...users)?.osImageURL).toBe('two');
  const generated = config('9', { osImageURL: 'x' }, 'worker', {
    [ConfigAnnotations.GeneratedByControllerVersion]: 'h',
  });
  expect(merged(generated)?.osImageURL).toBe('base');
});

test('invalid fields of a MachineConfig are refused, and known extensions are valid [R15] [R16]', () => {
  const bad: MachineConfigSpec[] = [
    { config: { storage: {} } },
    { config: files(file('/a', '1', { mode: 0o1777 })) },
    { config: ignition({}), extensions: ['nope'] },
    { extensions: ['nope'] },
  ];
  for (const spec of bad) expect(() => validateMachineConfigSpec(spec)).toThrow();
  const known = ['two-node-ha', 'ipsec', 'usbguard', 'kerberos', 'kernel-devel', 'sandboxed-containers', 'sysstat'];
  for (const extension of known) {
    expect(() => validateMachineConfigSpec({ kernelArguments: ['a'], extensions: [extension] })).not.toThrow();
  }
});

test('the last file and the last unit of a spec 2 config with duplicates stay [R22]', () => {
  const v2 = {
    ignition: { version: '2.2.0' },
    storage: { files: ['1', '2'].map((data) => ({ filesystem: 'root', ...file('/a', data) })) },
    systemd: {
      units: ['1', '2'].map((n) => ({ name: 'x.service', dropins: [{ name: `${n}.conf`, contents: '[Unit]\n' }] })),
    },
  };
  const { storage, systemd } = merged(config('a', { config: v2 }))?.config ?? {};
  expect(storage?.files?.map(({ contents }) => contents?.source)).toEqual(['data:,2']);
  expect(systemd?.units?.[0]?.dropins?.map(({ name }) => name)).toEqual(['2.conf', '1.conf']);
});

test('kernel arguments are concatenated with duplicates [R23]', () => {
  expect(
    merged(config('a', { kernelArguments: ['a', 'b'] }), config('b', { kernelArguments: ['b'] }))?.kernelArguments,
  ).toEqual(['a', 'b', 'b']);
});

test('units and drop-ins are merged by name, and the parent’s order stays [R24]', () => {
  const dropin = (name: string, contents: string) => ({ name: `${name}.conf`, contents });
  const units = (...list: object[]) => ({ config: ignition({ systemd: { units: list } }) });
  const parent = units(
    { name: 'x.service', contents: 'old', enabled: true, dropins: [dropin('10', 'A'), dropin('20', 'B')] },
    { name: 'y.service' },
  );
  const child = units(
    { name: 'z.service' },
    { name: 'x.service', enabled: false, dropins: [dropin('20', 'B2'), dropin('30', 'C')] },
  );
  expect(merged(config('a', parent), config('b', child))?.config.systemd?.units).toEqual([
    {
      name: 'x.service',
      contents: 'old',
      enabled: false,
      dropins: [dropin('10', 'A'), dropin('20', 'B2'), dropin('30', 'C')],
    },
    { name: 'y.service' },
    { name: 'z.service' },
  ]);
});

test('a directory of the child replaces a file [R26]', () => {
  const storage = merged(
    config('a', { config: files(file('/p', '1')) }),
    config('b', { config: ignition({ storage: { directories: [{ path: '/p' }] } }) }),
  )?.config.storage;
  expect(storage).toEqual({ directories: [{ path: '/p' }] });
});

test('rendered configs have the names of the original [R27]', () => {
  const plain = { config: ignition({}), extensions: [], kernelArguments: [], kernelType: 'default' };
  expect(renderedName('worker', plain)).toBe('rendered-worker-6da92b29d98fcd722bbf117520c22ee4');
  const full = {
    osImageURL: 'quay.io/example/os@sha256:abc',
    config: files({ path: '/etc/test1', overwrite: true, mode: 420, contents: { source: 'data:,hello' } }),
    kernelArguments: ['loglevel=7', 'nosmt'],
    extensions: ['usbguard'],
    fips: true,
    kernelType: 'realtime',
  };
  expect(renderedName('infra', full)).toBe('rendered-infra-1525fa6f565622748e48698fc4845511');
});

const POOL = partial<MachineConfigPool>({ metadata: { name: 'worker', uid: 'u', labels: { p: 'w' } }, spec: {} });
const CC = {
  metadata: { name: 'c', annotations: { [ConfigAnnotations.GeneratedByVersion]: '2' } },
  spec: { baseOSContainerImage: 'base' },
} as never;
const render = (configs: MachineConfig[], current?: MachineConfig) =>
  renderPool({
    pool: POOL,
    controllerConfig: CC,
    configs,
    identity: { version: '2', hash: '2' },
    ...(current && { current }),
  });

test('a MachineConfig of another version of the controller blocks the rendering, and one of a user does not [R13]', () => {
  const key = ConfigAnnotations.GeneratedByControllerVersion;
  expect(() => render([config('a', {}, 'worker', { [key]: '1' })])).toThrow('generated by older version 1');
  expect(() => render([config('a', {}, 'worker', { [key]: '' })])).not.toThrow();
});

test('fips cannot be enabled; the error names the MachineConfig although it has no Ignition section [R14]', () => {
  const current = config('rendered-old', { fips: false, config: ignition({}) });
  expect(() => render([config('00', {}), config('99-fips', { fips: true })], current)).toThrow(
    /base config "99-fips": detected change to FIPS/,
  );
});

test('metadata of the inputs changes no name [R28]', () => {
  const one = config('a', { kernelArguments: ['x'] });
  const other = {
    ...one,
    metadata: { ...one.metadata, annotations: { n: 'v' }, labels: { ...one.metadata.labels, l: '1' } },
  };
  expect(render([one]).machineConfig.metadata.name).toBe(render([other]).machineConfig.metadata.name);
});

test('a refused KubeletConfig is reported and does not stop the rendering, and one with an empty selector belongs to no pool [R30]', () => {
  const kc = (selector: object) =>
    ({
      metadata: { name: 'k', generation: 1 },
      spec: { machineConfigPoolSelector: selector },
      status: { observedGeneration: 1, conditions: [{ type: 'Accepted', status: 'False', message: 'Error: x' }] },
    }) as never;
  expect(nodeConfigGate(POOL, [kc({ matchLabels: { p: 'w' } })], [])).toEqual({
    rejected: ['KubeletConfig k was refused: Error: x'],
  });
  expect(nodeConfigGate(POOL, [kc({})], [])).toEqual({ rejected: [] });
});

const change = (before: object, after: object, overrides: ('Disks' | 'FileSystems' | 'Raid')[] = []) =>
  irreconcilable(config('old', { config: ignition(before) }), config('new', { config: ignition(after) }), overrides)
    ?.message;
const passwd = (users: object[]) => ({ passwd: { users } });

test.each<[row: string, before: object, after: object, allowed: boolean]>([
  ['X3 a group', {}, { passwd: { groups: [{ name: 'g' }] } }, false],
  ['X4 Ignition’s kernel arguments', {}, { kernelArguments: { shouldExist: ['a'] } }, false],
  ['X7 keys of core', {}, passwd([{ name: 'core', sshAuthorizedKeys: ['k'] }]), true],
  ['X10 no users', passwd([{ name: 'core', sshAuthorizedKeys: ['k'] }]), { passwd: {} }, true],
  ['X11 files', { storage: { files: [file('/a', '1')] } }, {}, true],
])('%s', (_row, before, after, allowed) => {
  expect(change(before, after) === undefined).toBe(allowed);
});

test('an unknown version cannot be applied, and changed disks only with permission [X1] [X2]', () => {
  const next = config('new', { config: { ignition: { version: '4.0.0' } } });
  expect(irreconcilable(config('old', { config: ignition({}) }), next)?.message).toContain('unknown version');
  const disks = { storage: { disks: [{ device: '/dev/sdb' }] } };
  expect(change({}, disks)).toBe('ignition disks section contains changes');
  expect(change({}, disks, ['Disks'])).toBeUndefined();
});

test('compressed content that lost its compression, and content with another hash, are refused with file and hint', () => {
  const gzip = {
    path: '/f',
    contents: { source: 'data:;base64,H4sIAAAAAAAC/8tIzcnJBwCGphA2BQAAAA==', compression: 'gzip' },
  };
  expect(() =>
    render([config('a', { config: files(gzip) }), config('b', { config: files({ path: '/f', mode: 384 }) })]),
  ).toThrow(/file \/f: MachineConfig b defines the file without contents.source/);
  const hash = { verification: { hash: `sha256-${'0'.repeat(64)}` } };
  expect(() =>
    render([config('a', { config: files({ path: '/f', contents: { source: 'data:,x', ...hash } }) })]),
  ).toThrow(/file \/f: its content does not have the hash/);
});

test('an archive without a compression may be repeated without content, and content that returns without a compression is plain', () => {
  const archive = { source: 'data:;base64,H4sIAAAAAAAC/8tIzcnJBwCGphA2BQAAAA==' };
  const made = (...all: readonly object[]) =>
    render(all.map((one, index) => config(`${index}`, { config: files({ path: '/f', ...one }) }))).machineConfig.spec
      .config.storage?.files?.[0];
  const unmarked = { path: '/f', mode: 384, contents: archive };
  expect(made({ contents: archive }, { mode: 384 })).toMatchObject(unmarked);
  const marked = { contents: { ...archive, compression: 'gzip' } };
  const other = { contents: { source: 'data:,x' } };
  expect(made(marked, other, { contents: archive, mode: 384 })).toMatchObject(unmarked);
});

test('inputs in any order give the same bytes', () => {
  const configs = Array.from({ length: 12 }, (_, n) =>
    config(
      `${n}-x`,
      { config: files(file(`/f${n % 5}`, String(n))), kernelArguments: [String(n)] },
      n % 3 ? 'worker' : 'infra',
    ),
  );
  const bytes = JSON.stringify(render(configs).machineConfig);
  for (let turn = 1; turn < configs.length; turn += 1) {
    const shuffled = [...configs.slice(turn), ...configs.slice(0, turn).reverse()];
    expect(JSON.stringify(render(shuffled).machineConfig)).toBe(bytes);
  }
});

test('a user’s OS image and a pool’s stream of OS images exclude each other [R11]', () => {
  const pool = { ...POOL, spec: { ...POOL.spec, osImageStream: { name: 'next' } } } as MachineConfigPool;
  const identity = { version: '2', hash: '2' };
  const configs = [config('00', {}), config('99-image', { osImageURL: 'mine' })];
  expect(() => renderPool({ pool, controllerConfig: CC, configs, identity })).toThrow(
    expect.objectContaining({
      message:
        'cannot override MachineConfig osImageURL and set MachineConfigPool spec.osImageStream.name simultaneously',
      hint: expect.stringContaining('spec.osImageURL of MachineConfig 99-image, or spec.osImageStream.name "next"'),
    }),
  );
  expect(() => renderPool({ pool, controllerConfig: CC, configs: configs.slice(0, 1), identity })).not.toThrow();
});

const changed = (old: object, object: object) => ({ type: 'updated' as const, key: 'x', old, object }) as never;

test('a change of labels wakes the old and new pools of a MachineConfig, and a change of annotations wakes none [R19]', () => {
  const of = (name: string) =>
    ({ metadata: { name }, spec: { machineConfigSelector: { matchLabels: { [ConfigLabels.Role]: name } } } }) as never;
  const pools = [of('worker'), of('infra'), of('other')];
  const [before, after] = [config('a', {}), config('a', {}, 'infra')];
  expect(poolsToRender(changed(before, after), pools)).toEqual(['infra', 'worker']);
  expect(poolsToRender(changed(before, config('a', {}, 'worker', { note: 'x' })), pools)).toEqual([]);
});

test('another stream of the workers wakes them and all custom pools, and a pause wakes only the workers [R20] [R21]', () => {
  const pools = ['master', 'worker', 'infra'].map((name) => ({ metadata: { name }, spec: {} }) as MachineConfigPool);
  const wakes = (old: object, now: object) => {
    const worker = (spec: object) => ({ metadata: { name: 'worker' }, spec }) as MachineConfigPool;
    return poolsToRenderWith({ type: 'updated', key: 'worker', old: worker(old), object: worker(now) } as never, pools);
  };
  expect(wakes({}, { osImageStream: { name: 'next' } })).toEqual(['worker', 'infra']);
  expect(wakes({}, { paused: true })).toEqual(['worker']);
});

test('plain content over compressed content of the same path does not count as compressed [R25]', () => {
  const gzip = { path: '/f', contents: { source: 'data:;base64,H4sI', compression: 'gzip' } };
  const spec = merged(config('a', { config: files(gzip) }), config('b', { config: files(file('/f', 'plain')) }));
  expect(spec?.config.storage?.files?.[0]?.contents).toEqual({ source: 'data:,plain' });
});

test('names are sorted by bytes [trap 1]', () => {
  const list = ['99-worker-x-1', '9-a', '99-worker-x', '10-a', 'B', 'a', '99-worker-x1'];
  expect(byName(list.map((name) => config(name, {}))).map(({ metadata }) => metadata.name)).toEqual([
    ...['10-a', '9-a', '99-worker-x', '99-worker-x-1', '99-worker-x1', 'B', 'a'],
  ]);
});

test('rendered MachineConfigs have no role, so that no pool selects its own output [trap 2]', () => {
  const { machineConfig } = render([config('a', {})]);
  expect(machineConfig.metadata.labels).toBeUndefined();
  expect(selectMachineConfigs(POOL, [machineConfig])).toEqual([]);
});
