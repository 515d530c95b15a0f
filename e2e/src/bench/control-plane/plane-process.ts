import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crds } from '@mcm/api';
import { Program } from '@mcm/cli';
import { realClock } from '@mcm/kube';
import { parse } from 'yaml';
import { MACHINE_SETS, machineSet } from './bench-objects.ts';
import { LoadConnection, type LoadTarget } from './load-connection.ts';

export interface PlaneProcess extends LoadTarget {
  readonly pid: number;
  readonly readyMs: number;
  readonly owner: string;
  connect(count: number): Promise<LoadConnection[]>;
  stop(): Promise<void>;
}

interface Kubeconfig {
  readonly clusters: readonly { readonly cluster: { readonly 'certificate-authority-data': string } }[];
  readonly users: readonly { readonly user: { readonly token: string } }[];
}

async function createOwner(connection: LoadConnection): Promise<string> {
  const status = await connection.send({ method: 'POST', path: MACHINE_SETS, body: machineSet });
  if (status !== 201) throw new Error(`the control plane answered the creation of a MachineSet with status ${status}`);
  return (JSON.parse(connection.text) as { metadata: { uid: string } }).metadata.uid;
}

/** Starts `control-plane` with a store in memory or in a new folder. */
export async function startPlane(store: 'memory' | 'sqlite'): Promise<PlaneProcess> {
  const dir = mkdtempSync(join(tmpdir(), 'mcm-bench-'));
  const file = join(dir, 'kubeconfig');
  const program = new Program(
    {
      name: 'control-plane',
      module: import.meta.resolve('@mcm/control-plane/main'),
      args: ['--port=0', `--kubeconfig=${file}`, ...(store === 'memory' ? ['--memory'] : [`--data-dir=${dir}/data`])],
      logFile: join(dir, 'log'),
    },
    { clock: realClock, onChange: () => undefined },
  );
  const start = performance.now();
  const url = await program.start();
  const readyMs = performance.now() - start;
  const kubeconfig = parse(readFileSync(file, 'utf8')) as Kubeconfig;
  const target: LoadTarget = {
    port: Number(new URL(url).port),
    caCertificate: Buffer.from(
      kubeconfig.clusters[0]?.cluster['certificate-authority-data'] ?? '',
      'base64',
    ).toString(),
    token: kubeconfig.users[0]?.user.token ?? '',
  };
  const connect = (count: number) => Promise.all(Array.from({ length: count }, () => LoadConnection.open(target)));
  const [connection] = await connect(1);
  for (const crd of crds) {
    const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
    const status = await connection?.send({ method: 'POST', path, body: JSON.stringify(crd) });
    if (status !== 201) throw new Error(`the control plane answered the creation of a CRD with status ${status}`);
  }
  const owner = connection === undefined ? '' : await createOwner(connection);
  connection?.close();
  return {
    ...target,
    owner,
    pid: program.pid ?? 0,
    readyMs,
    connect,
    async stop() {
      await program.stop();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
