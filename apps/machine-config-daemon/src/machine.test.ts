import { lstat, mkdir, readdir, readFile, readlink, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { startControlPlane } from '@mcm/control-plane';
import { createClient, handlerTransport, type Node, nodes, seededRandom, silentLogger, VirtualClock } from '@mcm/kube';
import {
  type Entry,
  machineConfigCrds,
  machineConfigs,
  NodeAnnotations,
  NodeDaemon,
  type NodeDisk,
} from '@mcm/machine-config';
import { expect, test } from 'vitest';
import { machineConfigDaemon, readPolicy } from './binary.ts';
import { machineHost } from './machine-host.ts';
import { RootDisk } from './root-disk.ts';
import { rootFolder } from './root-folder.testing.ts';

const { CurrentConfig, DesiredConfig, State, Reason, DesiredDrain, LastAppliedDrain } = NodeAnnotations;
const CMDLINE = 'etc/kernel/cmdline';

class Machine implements AsyncDisposable {
  readonly root: string;
  readonly programs: string[] = [];
  boots = 1;
  left = Number.POSITIVE_INFINITY;
  readonly #plane: Awaited<ReturnType<typeof startControlPlane>>;
  readonly #clock = new VirtualClock();
  #node: Node | undefined;
  #death = Promise.withResolvers<'died'>();

  static async start(): Promise<Machine> {
    const root = await rootFolder();
    const clock = new VirtualClock();
    const plane = await startControlPlane({ clock, crds: [...machineConfigCrds], controllers: false });
    const machine = new Machine(root, plane);
    await mkdir(join(root, 'etc/kernel'), { recursive: true });
    await mkdir(join(root, 'boot/loader/entries'), { recursive: true });
    await writeFile(join(root, CMDLINE), 'ro quiet\n');
    await writeFile(join(root, 'boot/loader/entries/a.conf'), 'title a\noptions ro quiet\nlinux /vmlinuz\n');
    await writeFile(join(root, 'etc/issue'), 'the system’s own\n');
    await machine.client.resource(nodes).create({ metadata: { name: 'n' }, spec: {} });
    return machine;
  }

  private constructor(root: string, plane: Awaited<ReturnType<typeof startControlPlane>>) {
    this.root = root;
    this.#plane = plane;
  }

  get client() {
    return createClient({ transport: handlerTransport(this.#plane.fetch), userAgent: 'test', clock: this.#clock });
  }

  config = (name: string, config: object, spec: object = {}) =>
    this.client.resource(machineConfigs).create({
      metadata: { name },
      spec: { config: { ignition: { version: '3.5.0' }, ...config }, ...spec },
    });

  async tell(annotations: Record<string, string | null>): Promise<void> {
    await this.client.resource(nodes).patch('n', { type: 'merge', body: { metadata: { annotations } } });
  }

  annotations = async () => (await this.client.resource(nodes).get('n')).metadata.annotations ?? {};
  path = (path: string) => join(this.root, path);
  text = (path: string) => readFile(this.path(path), 'utf8');

  /** Starts a daemon on the current disk. */
  async play(): Promise<'died' | 'waits'> {
    this.#death = Promise.withResolvers();
    const daemon = this.#daemon();
    const signal = new AbortController().signal;
    for (let round = 0; round < 12; round += 1) {
      this.#node = await this.client.resource(nodes).get('n');
      const ended = await Promise.race([daemon.look(signal).then(() => 'waits' as const), this.#death.promise]);
      if (ended === 'died') return 'died';
      const { [DesiredDrain]: asked = '', [LastAppliedDrain]: done = '' } = await this.annotations();
      if (asked !== done) await this.tell({ [LastAppliedDrain]: asked });
    }
    return 'waits';
  }

  #daemon(): NodeDaemon {
    const real = new RootDisk(this.root);
    const step = async (work: () => Promise<void>): Promise<void> => {
      this.left -= 1;
      if (this.left >= 0) return work();
      this.#death.resolve('died');
      return new Promise(() => undefined);
    };
    const disk: NodeDisk = {
      read: (path) => real.read(path),
      owned: (found, wanted) => real.owned(found, wanted),
      put: (path, entry: Entry) => step(() => real.put(path, entry)),
      remove: (path) => step(() => real.remove(path)),
    };
    const host = machineHost({
      root: this.root,
      disk,
      bootIdFile: 'boot',
      readFile: async () => `boot-${this.boots}\n`,
      reboot: [],
      run: async (argv) => void this.programs.push(argv.join(' ')),
    });
    const played = {
      ...host,
      reboot: async () => {
        this.boots += 1;
      },
    };
    const node = {
      get: () => this.#node,
      wrote: (written: Node) => {
        this.#node = written;
      },
    };
    return new NodeDaemon({
      nodeName: 'n',
      client: this.client,
      node,
      host: played,
      clock: this.#clock,
      random: seededRandom(1),
      log: silentLogger,
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#plane.close();
    await rm(this.root, { recursive: true, force: true });
  }
}

const file = (path: string, text: string, more: object = {}) => ({
  path,
  overwrite: true,
  contents: { source: `data:,${encodeURIComponent(text)}` },
  ...more,
});
const UNIT = '[Unit]\nDescription=x\n[Install]\nWantedBy=multi-user.target\n';

test('files, units, links, drop-ins and kernel arguments are applied, and their removal restores the original state', async () => {
  await using machine = await Machine.start();
  const gzip = `data:;base64,${gzipSync('packed').toString('base64')}`;
  const rich = {
    storage: {
      directories: [{ path: '/etc/deep', mode: 0o750 }],
      files: [
        file('/etc/issue', 'ours', { mode: 0o600 }),
        file('/etc/deep/in/it', 'deep'),
        { path: '/etc/packed', overwrite: true, contents: { source: gzip, compression: 'gzip' } },
        { path: '/etc/issue.d', append: [{ source: 'data:,more' }] },
      ],
      links: [{ path: '/etc/link', target: '/etc/issue' }],
    },
    systemd: {
      units: [
        { name: 'x.service', enabled: true, contents: UNIT, dropins: [{ name: '10-a.conf', contents: '[Unit]\n' }] },
        { name: 'masked.service', mask: true },
      ],
    },
  };
  await writeFile(machine.path('etc/issue.d'), 'some ');
  await machine.config('rich', rich, { kernelArguments: ['nosmt', 'a=1 b=2'] });
  await machine.tell({ [DesiredConfig]: 'rich' });
  expect(await machine.play()).toBe('waits');
  expect(await machine.annotations()).toMatchObject({ [CurrentConfig]: 'rich', [State]: 'Done' });
  expect([await machine.text('etc/issue'), await machine.text('etc/deep/in/it')]).toEqual(['ours', 'deep']);
  expect([await machine.text('etc/packed'), await machine.text('etc/issue.d')]).toEqual(['packed', 'some more']);
  expect(((await stat(machine.path('etc/issue'))).mode & 0o7777).toString(8)).toBe('600');
  expect(((await stat(machine.path('etc/deep'))).mode & 0o7777).toString(8)).toBe('750');
  expect(await readlink(machine.path('etc/link'))).toBe('/etc/issue');
  const units = 'etc/systemd/system';
  expect(await machine.text(`${units}/x.service`)).toBe(UNIT);
  expect(await readlink(machine.path(`${units}/masked.service`))).toBe('/dev/null');
  expect(await readlink(machine.path(`${units}/multi-user.target.wants/x.service`))).toBe(`/${units}/x.service`);
  expect(await machine.text(CMDLINE)).toBe('ro quiet nosmt a=1 b=2\n');
  expect(await machine.text('boot/loader/entries/a.conf')).toContain('\noptions ro quiet nosmt a=1 b=2\n');
  expect(machine.boots).toBe(2);
  await machine.config('plain', {
    storage: { directories: [{ path: '/etc/deep', mode: 0o750 }], files: [file('/etc/other', 'o')] },
  });
  await machine.tell({ [DesiredConfig]: 'plain' });
  await machine.play();
  expect(await machine.annotations()).toMatchObject({ [CurrentConfig]: 'plain', [State]: 'Done' });
  expect(await machine.text('etc/issue')).toBe('the system’s own\n');
  expect(await machine.text('etc/issue.d')).toBe('some ');
  expect(await machine.text(CMDLINE)).toBe('ro quiet\n');
  for (const gone of ['etc/packed', 'etc/link', `${units}/x.service`, `${units}/multi-user.target.wants/x.service`]) {
    await expect(lstat(machine.path(gone))).rejects.toThrow('ENOENT');
  }
  const kept = await readdir(machine.path('etc/machine-config-daemon'), { recursive: true, withFileTypes: true });
  expect(kept.filter((one) => one.isFile()).map(({ name }) => name)).toEqual([
    'currentconfig',
    'deep.mcdnoorig',
    'other.mcdnoorig',
  ]);
});

test('a daemon that is killed between any two writes reaches the same state after a restart', async () => {
  await using machine = await Machine.start();
  await machine.config(
    'one',
    { storage: { files: [file('/etc/issue', '1'), file('/etc/a', 'a')] } },
    { kernelArguments: ['x'] },
  );
  const systemd = { units: [{ name: 'x.service', enabled: true, contents: UNIT }] };
  await machine.config('two', { storage: { files: [file('/etc/b', 'b')] }, systemd }, { kernelArguments: ['y'] });
  await machine.tell({ [DesiredConfig]: 'one' });
  await machine.play();
  let deaths = 0;
  for (let writes = 0; writes < 40; writes += 1) {
    const name = writes % 2 === 0 ? 'two' : 'one';
    await machine.tell({ [DesiredConfig]: name });
    machine.left = writes >> 1;
    if ((await machine.play()) === 'died') deaths += 1;
    machine.left = Number.POSITIVE_INFINITY;
    await machine.play();
    expect(await machine.annotations()).toMatchObject({ [CurrentConfig]: name, [State]: 'Done' });
    const issue = await machine.text('etc/issue');
    expect([issue, await machine.text(CMDLINE)]).toEqual(
      name === 'one' ? ['1', 'ro quiet x\n'] : ['the system’s own\n', 'ro quiet y\n'],
    );
    const names = await readdir(machine.path('etc'));
    expect(names).toEqual(
      ['issue', 'kernel', 'machine-config-daemon', ...(name === 'one' ? ['a'] : ['b', 'systemd'])]
        .concat(name === 'one' ? ['systemd'] : [])
        .toSorted(),
    );
    expect(await readdir(machine.path('etc/systemd/system')).catch(() => [])).toEqual(
      name === 'one' ? ['multi-user.target.wants'] : ['multi-user.target.wants', 'x.service'],
    );
  }
  expect(deaths).toBeGreaterThan(20);
});

test('a failed write is reported with its reason and leaves no files', async () => {
  await using machine = await Machine.start();
  await machine.config('one', { storage: { files: [file('/etc/a', 'a')] } });
  await machine.config('bad', { storage: { files: [file('/etc/b', 'b'), file('/etc/issue/x', 'x')] } });
  await machine.config('held', { storage: { files: [file('/etc/b', 'b'), file('/etc/held', 'x')] } });
  await mkdir(machine.path('etc/held/inner'), { recursive: true });
  await machine.config('image', { storage: { files: [file('/etc/a', 'a')] } }, { osImageURL: 'quay.io/x' });
  await machine.config('owner', { storage: { files: [file('/etc/b', 'b', { user: { name: 'nobody-here' } })] } });
  await machine.tell({ [DesiredConfig]: 'one' });
  await machine.play();
  for (const [name, reason, state] of [
    ['bad', 'cannot write /etc/issue/x: a parent of the path is not a directory', 'Degraded'],
    ['held', 'cannot write /etc/held: the path is a directory', 'Degraded'],
    ['owner', 'cannot write /etc/b: "nobody-here" does not exist in /etc/passwd', 'Degraded'],
    ['image', 'the daemon cannot change osImageURL of a running machine', 'Unreconcilable'],
  ] as const) {
    await machine.tell({ [DesiredConfig]: name });
    await machine.play();
    const said = await machine.annotations();
    expect([said[State], said[CurrentConfig]]).toEqual([state, 'one']);
    expect(said[Reason]).toContain(reason);
    const left = (await readdir(machine.path('etc'))).toSorted();
    expect(left).toEqual(['a', 'held', 'issue', 'kernel', 'machine-config-daemon']);
    expect(await readdir(machine.path('etc/held'))).toEqual(['inner']);
    await machine.tell({ [DesiredConfig]: 'one' });
    await machine.play();
    expect(await machine.annotations()).toMatchObject({ [State]: 'Done', [Reason]: '' });
  }
});

test('a directory in the place of a file is reported and not changed, and the node is Done when the file exists again', async () => {
  await using machine = await Machine.start();
  await machine.config('one', { storage: { files: [file('/etc/a', 'a')] } });
  await machine.config('none', { storage: { files: [file('/etc/b', 'b')] } });
  await machine.tell({ [DesiredConfig]: 'one' });
  await machine.play();
  const text = await readFile(machine.path('etc/a'));
  await rm(machine.path('etc/a'));
  await mkdir(machine.path('etc/a/inner'), { recursive: true });
  await machine.tell({ [DesiredConfig]: 'none' });
  await machine.play();
  const said = await machine.annotations();
  expect([said[State], said[CurrentConfig]]).toEqual(['Degraded', 'one']);
  expect(said[Reason]).toContain('not a file: "/etc/a"');
  expect(await readdir(machine.path('etc/a'))).toEqual(['inner']);
  await rm(machine.path('etc/a'), { recursive: true });
  await writeFile(machine.path('etc/a'), text, { mode: 0o644 });
  await machine.play();
  expect(await machine.annotations()).toMatchObject({ [State]: 'Done', [CurrentConfig]: 'none', [Reason]: '' });
  expect((await readdir(machine.path('etc'))).toSorted()).toEqual(['b', 'issue', 'kernel', 'machine-config-daemon']);
});

test('links of the machine are resolved within its root directory, and never refer to files outside of it', async () => {
  await using machine = await Machine.start();
  await mkdir(machine.path('var/real'), { recursive: true });
  await symlink('/var/real', machine.path('etc/absolute'));
  await symlink('../../../../../../var/real', machine.path('etc/relative'));
  const disk = new RootDisk(machine.root);
  await disk.put('/etc/absolute/a', { kind: 'file', content: Buffer.from('a'), mode: 0o640 });
  await disk.put('/etc/relative/b', { kind: 'file', content: Buffer.from('b'), mode: 0o640 });
  expect((await readdir(machine.path('var/real'))).toSorted()).toEqual(['a', 'b']);
  await symlink('loop', machine.path('etc/loop'));
  await expect(disk.read('/etc/loop/x')).rejects.toThrow('the path /etc/loop/x contains too many symbolic links');
});

test('a policy is read from a file, and errors name the invalid field', async () => {
  await using machine = await Machine.start();
  const path = machine.path('policy.yaml');
  await writeFile(
    path,
    'files:\n- path: /etc/app\n  actions: [{ type: Restart, restart: { serviceName: app.service } }]\n',
  );
  const { files } = await readPolicy(path);
  expect(files.at(-1)).toEqual({
    path: '/etc/app',
    actions: [{ type: 'Restart', restart: { serviceName: 'app.service' } }],
  });
  await writeFile(path, 'files:\n- path: etc/app\n  actions: []\n');
  await expect(readPolicy(path)).rejects.toThrow(`--disruption-policy ${path}: files.0.path`);
});

test('the daemon checks the CRD of MachineConfigs for its existence and version', () => {
  expect(machineConfigDaemon.crds?.map(({ spec }) => spec.names.kind)).toEqual(['MachineConfig']);
});

test('a missing service of the built-in policy is skipped, and a missing service of a custom policy is an error', async () => {
  const programs: string[] = [];
  const host = machineHost({
    root: '/',
    disk: new RootDisk('/nowhere'),
    bootIdFile: 'boot',
    readFile: async () => '',
    reboot: [],
    run: async (argv) => {
      programs.push(argv.join(' '));
      const failure = new Error(`Unit ${argv.at(-1)} not found`);
      if (argv.at(-1) !== 'kubelet.service') throw Object.assign(failure, { code: 1 });
    },
  });
  const restart = (serviceName: string) => host.act({ type: 'Restart', restart: { serviceName } });
  await restart('crio.service');
  await restart('kubelet.service');
  await expect(restart('mine.service')).rejects.toThrow('mine.service not found');
  expect(programs).toEqual([
    'systemctl cat crio.service',
    'systemctl cat kubelet.service',
    'systemctl restart kubelet.service',
    'systemctl restart mine.service',
  ]);
  const broken = machineHost({
    root: '/',
    disk: new RootDisk('/nowhere'),
    bootIdFile: 'boot',
    readFile: async () => '',
    reboot: [],
    run: async () => Promise.reject(Object.assign(new Error('systemctl: not found'), { code: 'ENOENT' })),
  });
  const act = broken.act({ type: 'Restart', restart: { serviceName: 'crio.service' } });
  await expect(act).rejects.toThrow('systemctl: not found');
});
