import { type ChildProcess, spawn } from 'node:child_process';
import { createWriteStream, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startControlPlane } from '@mcm/control-plane';
import { createClient, type KubeClient, type KubeObject, type ResourceDefinition, realClock } from '@mcm/kube';
import { parse } from 'yaml';
import { freePort } from '../../harness/free-port.ts';

const KARPENTER = join('karpenter', 'karpenter');
const KWOK = join('karpenter', 'kwok');
const STAGES = join('karpenter', 'stages.yaml');
const CRDS = join('karpenter', 'crds');
export const KARPENTER_FILES = [KARPENTER, KWOK, STAGES, CRDS];

export interface Loose extends KubeObject {
  readonly spec?: object;
}

const definition = (group: string, version: string, kind: string): ResourceDefinition<Loose> => ({
  group,
  version,
  plural: `${kind.toLowerCase()}${kind.endsWith('s') ? 'es' : 's'}`,
  kind,
  namespaced: false,
});

const crds = definition('apiextensions.k8s.io', 'v1', 'CustomResourceDefinition');
const nodePools = definition('karpenter.sh', 'v1', 'NodePool');
export const nodeClaims = definition('karpenter.sh', 'v1', 'NodeClaim');
const nodeClasses = definition('karpenter.kwok.sh', 'v1alpha1', 'KWOKNodeClass');

const CLASS = 'default';

const POOL: object = {
  template: {
    spec: {
      requirements: [
        { key: 'kubernetes.io/arch', operator: 'In', values: ['amd64'] },
        { key: 'kubernetes.io/os', operator: 'In', values: ['linux'] },
        { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] },
        { key: 'karpenter.kwok.sh/instance-cpu', operator: 'In', values: ['4'] },
      ],
      nodeClassRef: { group: 'karpenter.kwok.sh', kind: 'KWOKNodeClass', name: CLASS },
    },
  },
  disruption: {
    consolidationPolicy: 'WhenEmptyOrUnderutilized',
    consolidateAfter: '1s',
    budgets: [{ nodes: '100%' }],
  },
};

async function createKinds(client: KubeClient, dir: string): Promise<void> {
  const folder = join(dir, CRDS);
  for (const name of readdirSync(folder).sort())
    await client.resource(crds).create(parse(readFileSync(join(folder, name), 'utf8')));
  const isEstablished = async (): Promise<boolean> => {
    try {
      await client.resource(nodeClasses).list();
      await client.resource(nodePools).list();
      return true;
    } catch {
      // The API server does not serve the kinds yet.
      return false;
    }
  };
  while (!(await isEstablished())) await sleep(100);
}

export interface KarpenterRun {
  readonly client: KubeClient;
  ended(): boolean;
}

const tail = (file: string): string => readFileSync(file, 'utf8').trimEnd().split('\n').slice(-3).join('\n');

/**
 * Runs Karpenter with its kwok provider.
 * @param dir The folder that contains the programs.
 */
export async function withKarpenter<T>(dir: string, check: (run: KarpenterRun) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'mcm karpenter '));
  const plane = await startControlPlane({ port: 0 });
  const kubeconfig = join(folder, 'kubeconfig');
  writeFileSync(kubeconfig, plane.kubeconfig(), { mode: 0o600 });
  const children: ChildProcess[] = [];
  const start = (path: string, args: readonly string[], env: Readonly<Record<string, string>>): void => {
    const child = spawn(join(dir, path), args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
    const log = createWriteStream(join(folder, `${children.length}.log`));
    for (const stream of [child.stdout, child.stderr]) stream.pipe(log, { end: false });
    children.push(child);
  };
  const ended = (): boolean => children.some(({ exitCode, signalCode }) => exitCode !== null || signalCode !== null);
  try {
    const client = createClient({ transport: plane.transport, userAgent: 'clients', clock: realClock });
    await createKinds(client, dir);
    await client.resource(nodeClasses).create({ metadata: { name: CLASS } });
    await client.resource(nodePools).create({ metadata: { name: 'default' }, spec: POOL });
    const selector = '--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake';
    start(
      KWOK,
      [
        `--kubeconfig=${kubeconfig}`,
        `--config=${join(dir, STAGES)}`,
        selector,
        '--manage-all-nodes=false',
        '--node-lease-duration-seconds=40',
      ],
      {},
    );
    start(KARPENTER, [], {
      KUBECONFIG: kubeconfig,
      DISABLE_LEADER_ELECTION: 'true',
      METRICS_PORT: String(await freePort()),
      HEALTH_PROBE_PORT: String(await freePort()),
    });
    const result = await check({ client, ended });
    for (const index of ended() ? children.keys() : [])
      process.stdout.write(`karpenter: ${tail(join(folder, `${index}.log`))}
`);
    return result;
  } finally {
    for (const child of children) child.kill('SIGKILL');
    await plane.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
