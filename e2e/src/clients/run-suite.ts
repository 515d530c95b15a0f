import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { type ControlPlane, startControlPlane } from '@mcm/control-plane';
import { createClient, handlerTransport, nodes, realClock } from '@mcm/kube';
import { type Outcome, readGinkgo, readGoTest, readPytest } from './outcomes.ts';
import { startKubelets } from './simulated-nodes.ts';
import type { Program, Scenario, Suite } from './suite.ts';

export const missingPrograms = (suite: Suite | Scenario, dir: string): string[] =>
  [...new Set('run' in suite ? suite.files : suite.programs.map(({ path }) => path))].filter(
    (path) => !existsSync(join(dir, path)),
  );

interface Ended {
  readonly code: number | null;
  readonly output: string;
}

function run(program: Program, dir: string, args: readonly string[], kubeconfig: string): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(join(dir, program.path), args, {
      cwd: join(dir, program.cwd),
      env: { ...process.env, ...program.env, KUBECONFIG: kubeconfig },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, output }));
  });
}

async function outcomesOf(program: Program, dir: string, folder: string): Promise<Outcome[]> {
  const kubeconfig = join(folder, 'kubeconfig');
  const report = join(folder, `${basename(program.path)}.json`);
  const args = program.results === 'ginkgo' ? [...program.args, `--ginkgo.json-report=${report}`] : program.args;
  const { code, output } = await run(program, dir, args, kubeconfig);
  const read = (): Outcome[] => {
    if (program.results === 'go-test') return readGoTest(output);
    if (program.results === 'pytest') return readPytest(output);
    return existsSync(report) ? readGinkgo(readFileSync(report, 'utf8')) : [];
  };
  const prefix = `${basename(program.path, '.test')}: `;
  const outcomes = read().map(({ name, passed }) => ({ name: `${prefix}${name}`, passed }));
  if (code === 0 || outcomes.some(({ passed }) => !passed)) return outcomes;
  const end = output.trimEnd().split('\n').slice(-3).join(' | ');
  return [...outcomes, { name: `${prefix}ended with status ${code}: ${end}`, passed: false }];
}

/** Creates Nodes that are ready. */
async function createNodes(plane: ControlPlane, names: readonly string[]): Promise<void> {
  const transport = handlerTransport((request) => plane.fetch(request));
  const client = createClient({ transport, userAgent: 'clients', clock: realClock });
  for (const name of names) {
    const labels = { 'kubernetes.io/hostname': name, 'kubernetes.io/os': 'linux' };
    await client.resource(nodes).create({ metadata: { name, labels }, spec: {} });
    const resources = { cpu: '4', memory: '8Gi', pods: '110' };
    const status = { capacity: resources, allocatable: resources, conditions: [{ type: 'Ready', status: 'True' }] };
    await client.resource(nodes).patch(name, { type: 'merge', body: { status } }, { subresource: 'status' });
    // Admission adds a taint to each new Node, and this patch removes the taint.
    await client.resource(nodes).patch(name, { type: 'merge', body: { spec: { taints: null } } });
  }
}

/**
 * Runs the programs of a suite. The suites of envtest expect a new cluster, so each program gets its own control plane.
 * @param dir The folder that contains the programs.
 * @throws Error if a program does not start.
 */
export async function runSuite(suite: Suite, dir: string): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const program of suite.programs) {
    const plane = await startControlPlane({ port: 0, controllers: program.controllers ?? suite.controllers });
    const folder = mkdtempSync(join(tmpdir(), 'clients-'));
    let stopKubelets = (): Promise<void> => Promise.resolve();
    try {
      if (program.kubelets === true) stopKubelets = await startKubelets(plane, suite.nodes ?? []);
      else await createNodes(plane, suite.nodes ?? []);
      writeFileSync(join(folder, 'kubeconfig'), plane.kubeconfig(), { mode: 0o600 });
      outcomes.push(...(await outcomesOf(program, dir, folder)));
    } finally {
      rmSync(folder, { recursive: true });
      await stopKubelets();
      await plane.close();
    }
  }
  return outcomes;
}
