import { type ChildProcess, spawn } from 'node:child_process';
import { createWriteStream, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAuthority } from '@mcm/control-plane';
import { realClock } from '@mcm/kube';
import { issueCertificate } from '../../harness/certificates.ts';
import { freePort } from '../../harness/free-port.ts';
import { type Stack, startStack } from '../../harness/stack.ts';
import { PodLoad } from './pod-load.ts';

/** The path of the cluster autoscaler in the folder of programs. */
export const AUTOSCALER = join('cluster-autoscaler', 'cluster-autoscaler');

/** The result of one check of the whole run. */
export interface Check {
  readonly name: string;
  readonly passed: boolean;
}

/** A running autoscaler with the programs of mcm. */
export interface AutoscalerRun {
  readonly stack: Stack;
  readonly load: PodLoad;
  /** Whether the process of the autoscaler has ended. */
  ended(): boolean;
}

interface Steps {
  /** Creates the objects that exist before the start of the autoscaler, and starts the controllers. */
  prepare(stack: Stack): Promise<void>;
  check(run: AutoscalerRun): Promise<Check[]>;
}

/** Short waits, so that a scale-in takes seconds. */
const FLAGS = [
  '--cloud-provider=externalgrpc',
  '--scan-interval=1s',
  '--scale-down-delay-after-add=1s',
  '--scale-down-unneeded-time=1s',
  '--scale-down-delay-after-delete=0s',
  '--node-delete-delay-after-taint=0s',
  '--leader-elect=false',
];

function writeConfig(folder: string, port: number): string {
  const authority = createAuthority(realClock.now());
  const [server, client] = [issueCertificate(authority, 'serverAuth'), issueCertificate(authority, 'clientAuth')];
  const files = {
    'tls.crt': server.cert,
    'tls.key': server.key,
    'ca.crt': authority.certificate,
    'client.crt': client.cert,
    'client.key': client.key,
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text, { mode: 0o600 });
  const config = join(folder, 'cloud.yaml');
  const path = (name: keyof typeof files): string => JSON.stringify(join(folder, name));
  writeFileSync(
    config,
    `address: localhost:${port}\ncert: ${path('client.crt')}\nkey: ${path('client.key')}\ncacert: ${path('ca.crt')}\n`,
  );
  return config;
}

function startAutoscaler(program: string, flags: readonly string[], logFile: string): ChildProcess {
  const child = spawn(program, [...FLAGS, ...flags], { stdio: ['ignore', 'ignore', 'pipe'] });
  child.stderr.pipe(createWriteStream(logFile));
  return child;
}

/**
 * Runs the cluster autoscaler of the Kubernetes project with the real programs of mcm.
 * With `KUBEBUILDER_ASSETS`, the API server is a real one.
 * @param dir The folder with the programs.
 */
export async function withAutoscaler(dir: string, { prepare, check }: Steps): Promise<Check[]> {
  const folder = mkdtempSync(join(tmpdir(), 'mcm autoscaler '));
  const port = await freePort();
  const config = writeConfig(folder, port);
  const stack = await startStack({ managerFlags: [`--autoscaler-port=${port}`, `--autoscaler-cert-dir=${folder}`] });
  let autoscaler: ChildProcess | undefined;
  try {
    await stack.makeClass('small');
    await prepare(stack);
    const load = new PodLoad(stack.client);
    await load.create();
    const flags = [`--kubeconfig=${stack.kubeconfig}`, `--cloud-config=${config}`];
    const started = startAutoscaler(join(dir, AUTOSCALER), flags, join(folder, 'autoscaler.log'));
    autoscaler = started;
    return await check({ stack, load, ended: () => started.exitCode !== null });
  } finally {
    autoscaler?.kill('SIGKILL');
    await stack.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}
