import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crds } from '@mcm/api';
import { type ApiServer, startApiServer } from '../harness/api-server.ts';
import { addNode, playKubelets, renewLease } from './kubelet.ts';
import { playScheduler } from './scheduler.ts';

export const hasKubectl = spawnSync('kubectl', ['version', '--client'], { stdio: 'ignore' }).status === 0;

const COMMAND_TIMEOUT_MS = 25_000;

interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A control plane with HTTPS, simulated kubelets for the nodes `n1` and `n2`, and the real kubectl. */
export interface Cluster {
  readonly plane: ApiServer;
  readonly dir: string;
  kubectl(args: readonly string[], options?: { input?: string; env?: Record<string, string> }): Promise<Outcome>;
  run(line: string, input?: unknown): Promise<string>;
  refused(line: string, input?: unknown): Promise<string>;
  /** Runs kubectl until `stop` is called. */
  follow(args: readonly string[]): { until(pattern: RegExp): Promise<void>; stop(): void };
  file(name: string, content: string): string;
  stop(): Promise<void>;
}

export async function startCluster(): Promise<Cluster> {
  const dir = mkdtempSync(join(tmpdir(), 'kubectl-'));
  const plane = await startApiServer({ crds });
  const kubelets = new AbortController();
  const kubeconfig = join(dir, 'kubeconfig');
  writeFileSync(kubeconfig, plane.kubeconfig(), { mode: 0o600 });
  const nodes = ['n1', 'n2'];
  for (const name of nodes) await addNode(plane, name);
  const scheduler = plane.kind === 'real' ? playScheduler(plane, kubelets.signal) : undefined;
  const played = Promise.all([playKubelets(plane, kubelets.signal), scheduler]);

  const kubectl: Cluster['kubectl'] = async (args, { input = '', env = {} } = {}) => {
    // On a slow computer, the nodes must stay Ready, so their Leases are renewed before each command.
    for (const node of nodes) await renewLease(plane, node);
    return new Promise((resolve) => {
      const child = execFile(
        'kubectl',
        args,
        { env: { ...process.env, KUBECONFIG: kubeconfig, HOME: dir, ...env }, timeout: COMMAND_TIMEOUT_MS },
        (error, stdout, stderr) => {
          const code = error === null ? 0 : typeof error.code === 'number' ? error.code : 255;
          resolve({ code, stdout: stdout.trimEnd(), stderr: stderr.trimEnd() });
        },
      );
      child.stdin?.end(input);
    });
  };
  const command = (line: string, input: unknown): Promise<Outcome> =>
    kubectl(line.split(' '), input === undefined ? {} : { input: JSON.stringify(input) });

  return {
    plane,
    dir,
    kubectl,
    async run(line, input) {
      const { code, stdout, stderr } = await command(line, input);
      if (code !== 0) throw new Error(`kubectl ${line}: exit ${code}: ${stderr}`);
      return stdout;
    },
    async refused(line, input) {
      const { code, stdout, stderr } = await command(line, input);
      if (code === 0) throw new Error(`kubectl ${line} succeeded, but an error was expected: ${stdout}`);
      return stderr;
    },
    follow(args) {
      const child = spawn('kubectl', args, { env: { ...process.env, KUBECONFIG: kubeconfig, HOME: dir } });
      let output = '';
      child.stdout.on('data', (chunk: Buffer) => {
        output += chunk.toString();
      });
      return {
        async until(pattern) {
          while (!pattern.test(output)) await once(child.stdout, 'data');
        },
        stop: () => child.kill(),
      };
    },
    file(name, content) {
      const path = join(dir, name);
      writeFileSync(path, content);
      return path;
    },
    async stop() {
      kubelets.abort();
      await played;
      await plane.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
