import { mkdir, mkdtemp, readFile, readlink, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { applyObjects, DEFAULT_INSTALL, installSections, Program } from '@mcm/cli';
import { type ControlPlane, startControlPlane } from '@mcm/control-plane';
import {
  createClient,
  createInformer,
  type KubeClient,
  type Node,
  nodes,
  realClock,
  seededRandom,
  silentLogger,
} from '@mcm/kube';
import { machineConfigCrds, machineConfigs, NodeAnnotations } from '@mcm/machine-config';
import { sharedBundle } from '@mcm/tools/bundles';
import { expect, test } from 'vitest';

/**
 * Runs the daemon as in the pod of the installed DaemonSet: with the same arguments, environment, ServiceAccounts and
 * roles.
 */

const { CurrentConfig, DesiredConfig, State, Reason, DesiredDrain, LastAppliedDrain, PostConfigAction } =
  NodeAnnotations;
const MAIN = pathToFileURL(await sharedBundle('machine-config-daemon')).href;
const PATIENCE_MS = 60_000;
const UNIT = '[Unit]\nDescription=x\n[Install]\nWantedBy=multi-user.target\n';

const sections = installSections(DEFAULT_INSTALL);
const objectsOf = (...names: readonly string[]) =>
  sections.filter(({ name }) => names.includes(name)).flatMap(({ objects }) => objects);

function container(): { readonly args: readonly string[]; readonly mount: string } {
  const set = JSON.parse(JSON.stringify(objectsOf('machine-config-daemon').at(-1)));
  const [{ args, env, volumeMounts }] = set.spec.template.spec.containers;
  expect(env).toEqual([{ name: 'NODE_NAME', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } }]);
  const root = volumeMounts.find(({ name }: { name: string }) => name === 'root');
  return { args, mount: root.mountPath };
}

interface Cluster {
  readonly plane: ControlPlane;
  readonly admin: KubeClient;
  kubeconfig(account: string, file: string): Promise<void>;
}

async function startCluster(...installed: readonly string[]): Promise<Cluster> {
  const plane = await startControlPlane({ port: 0, crds: [...machineConfigCrds], controllers: false });
  const admin = createClient({ transport: plane.transport, userAgent: 'admin', clock: realClock });
  const roles = objectsOf(...installed).filter((one) => 'kind' in one && /Role|ServiceAccount/.test(String(one.kind)));
  await applyObjects(admin, roles, { force: false, signal: new AbortController().signal });
  const kubeconfig = async (account: string, file: string): Promise<void> => {
    const { status } = await admin.request<{ readonly status: { readonly token: string } }>(
      'POST',
      `/api/v1/namespaces/default/serviceaccounts/${account}/token`,
      { body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} } },
    );
    const ca = Buffer.from(plane.caCertificate ?? '').toString('base64');
    const config = {
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'c',
      clusters: [{ name: 'c', cluster: { server: plane.url, 'certificate-authority-data': ca } }],
      users: [{ name: 'u', user: { token: status.token } }],
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    };
    await writeFile(file, JSON.stringify(config));
  };
  return { plane, admin, kubeconfig };
}

test.each<[topology: string, start: () => Promise<readonly [configs: Cluster, nodes: Cluster]>, account: string]>([
  [
    'one cluster',
    async () => {
      const cluster = await startCluster('machine-config', 'machine-config-target', 'machine-config-daemon');
      return [cluster, cluster];
    },
    'machine-config-daemon',
  ],
  [
    'configs in one cluster, nodes in another',
    () => Promise.all([startCluster('machine-config'), startCluster('machine-config-target', 'machine-config-daemon')]),
    'machine-config-daemon-control',
  ],
])(
  '%s: the installed daemon writes files, a unit and kernel arguments to the mounted root, reboots, and detects changes there',
  {
    timeout: 3 * PATIENCE_MS,
  },
  async (_topology, start, account) => {
    const folder = await mkdtemp(join(tmpdir(), 'pod-'));
    const [configs, own] = await start();
    const at = (path: string) => join(folder, 'rootfs', path);
    await mkdir(at('etc/kernel'), { recursive: true });
    await mkdir(at('boot/loader/entries'), { recursive: true });
    await writeFile(at('etc/kernel/cmdline'), 'ro quiet\n');
    await writeFile(at('boot/loader/entries/a.conf'), 'title a\noptions ro quiet\n');
    await writeFile(at('etc/issue'), 'own');
    await writeFile(join(folder, 'boot'), 'boot-1\n');
    await configs.kubeconfig(account, join(folder, 'control'));
    await own.kubeconfig('machine-config-daemon', join(folder, 'target'));
    const { args, mount } = container();
    const flags = args.map((arg) =>
      arg
        .replace('$(NODE_NAME)', 'n')
        .replace(mount, at(''))
        .replace(/(secure-port)=.*/, '$1=0'),
    );
    const program = () =>
      new Program(
        {
          name: 'machine-config-daemon',
          module: MAIN,
          logFile: join(folder, 'log'),
          args: [
            ...flags,
            ...[`--control-kubeconfig=${join(folder, 'control')}`, `--target-kubeconfig=${join(folder, 'target')}`],
            // The daemon must not reboot the machine that runs the test.
            ...['--port=0', '--reboot-command=none', `--boot-id-file=${join(folder, 'boot')}`],
          ],
          env: { NODE_NAME: 'n' },
        },
        { clock: realClock, onChange: () => undefined },
      );
    const stop = new AbortController();
    const runtime = { clock: realClock, random: seededRandom(1), log: silentLogger };
    const informer = createInformer<Node>(own.admin, nodes, runtime);
    const watching = informer.run(stop.signal);
    const said = (key: string) => informer.store.get('n')?.metadata.annotations?.[key] ?? '';
    const until = (what: string, reached: () => boolean) =>
      new Promise<void>((resolve, reject) => {
        const look = () => {
          if (!reached()) return;
          late.cancel();
          end();
          resolve();
        };
        const late = realClock.setTimeout(() => {
          reject(new Error(`not reached: ${what}; ${JSON.stringify(informer.store.get('n')?.metadata.annotations)}`));
        }, PATIENCE_MS);
        const end = informer.onChange(look);
        look();
      });
    const tell = (annotations: Record<string, string>) =>
      own.admin.resource(nodes).patch('n', { type: 'merge', body: { metadata: { annotations } } });
    let daemon = program();
    try {
      await own.admin.resource(nodes).create({ metadata: { name: 'n' }, spec: {} });
      await configs.admin.resource(machineConfigs).create({
        metadata: { name: 'rendered-a' },
        spec: {
          kernelArguments: ['nosmt'],
          config: {
            ignition: { version: '3.5.0' },
            storage: {
              files: [{ path: '/etc/issue', mode: 0o600, overwrite: true, contents: { source: 'data:,ours' } }],
            },
            systemd: { units: [{ name: 'x.service', enabled: true, contents: UNIT }] },
          },
        },
      });
      await daemon.start();
      await tell({ [DesiredConfig]: 'rendered-a' });
      await until('it asks for a drain', () => said(DesiredDrain) === 'drain-rendered-a');
      await tell({ [LastAppliedDrain]: 'drain-rendered-a' });
      await until('it wants a reboot', () => said(PostConfigAction) === 'Rebooting');
      expect(await readFile(at('etc/issue'), 'utf8')).toBe('ours');
      expect(await readFile(at('etc/systemd/system/x.service'), 'utf8')).toBe(UNIT);
      expect(await readlink(at('etc/systemd/system/multi-user.target.wants/x.service'))).toBe(
        '/etc/systemd/system/x.service',
      );
      expect(await readFile(at('etc/kernel/cmdline'), 'utf8')).toBe('ro quiet nosmt\n');
      expect(await readFile(at('boot/loader/entries/a.conf'), 'utf8')).toContain('options ro quiet nosmt\n');
      await daemon.stop();
      await writeFile(join(folder, 'boot'), 'boot-2\n');
      daemon = program();
      await daemon.start();
      await until('it asks for the uncordon', () => said(DesiredDrain) === 'uncordon-rendered-a');
      await tell({ [LastAppliedDrain]: 'uncordon-rendered-a' });
      await until('it is done', () => said(State) === 'Done' && said(CurrentConfig) === 'rendered-a');
      await writeFile(at('etc/issue'), 'mine');
      await until('it tells of the drift', () => said(State) === 'Degraded');
      expect(said(Reason)).toContain('content mismatch for file "/etc/issue"');
      await writeFile(at('etc/issue'), 'ours');
      await until('it is well again', () => said(State) === 'Done' && said(Reason) === '');
      const log = await readFile(join(folder, 'log'), 'utf8');
      expect(log.split('\n').filter((line) => /forbidden|"level":"error"/i.test(line))).toEqual([]);
    } finally {
      await daemon.stop();
      stop.abort();
      await watching;
      for (const cluster of new Set([configs, own])) await cluster.plane.close();
      await rm(folder, { recursive: true, force: true });
    }
  },
);
