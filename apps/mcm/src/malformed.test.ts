import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crds, machineDeployments, machineSets, machines } from '@mcm/api';
import { type ControlPlane, startControlPlane } from '@mcm/control-plane';
import {
  conformingClient,
  createClient,
  type KubeClient,
  type KubeObject,
  type ResourceDefinition,
  realClock,
  seededRandom,
  silentLogger,
} from '@mcm/kube';
import { malformations } from '@mcm/kube/testing';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { serveDashboard } from './dashboard/serve.ts';
import { createProgram } from './program.ts';
import { renderScreen } from './screen/render.ts';
import { watchFleet } from './up/fleet-watch.ts';

const OPEN = crds.map(({ spec, ...crd }) => {
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  const versions = spec.versions.map(({ subresources: _, ...version }) => ({ ...version, schema }));
  return { ...crd, spec: { ...spec, versions } };
});
const kinds: readonly ResourceDefinition<KubeObject>[] = [machineDeployments, machineSets, machines];
const NAMESPACE = 'default';

let plane: ControlPlane;
let client: KubeClient;
let dir: string;
const end = new AbortController();
const server = createServer(async (incoming, outgoing) => {
  const url = `http://x${incoming.url}`;
  const answer = await plane.fetch(
    new Request(url, { method: incoming.method ?? 'GET', headers: { accept: 'application/json' } }),
  );
  outgoing.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text());
});

const nameOf = ({ kind }: ResourceDefinition<KubeObject>, index: number): string => `${kind.toLowerCase()}-${index}`;
/** For each field of a kind, the test has one object without the field and one object with a wrong type. */
const casesOf = ({ shape = {} }: ResourceDefinition<KubeObject>) => {
  const all = [...malformations(shape)].filter(({ field }) => field.split('.').length <= 2);
  const kept = Map.groupBy(all, ({ field }) => field);
  return [...kept.values()].flatMap((ofField) => [ofField[0] ?? [], ofField.at(-1) ?? []].flat());
};

beforeAll(async () => {
  vi.spyOn(process.stderr, 'write').mockReturnValue(true); // The commands print each malformed object to standard error.
  plane = await startControlPlane({ crds: OPEN, controllers: false });
  client = createClient({ transport: plane.transport, userAgent: 'test', clock: realClock });
  for (const definition of kinds) {
    await Promise.all(
      casesOf(definition).map(({ content }, index) =>
        client
          .resource(definition, NAMESPACE)
          .create({ metadata: { name: nameOf(definition, index) }, ...content } as never),
      ),
    );
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  dir = mkdtempSync(join(tmpdir(), 'mcm malformed '));
  const { port } = server.address() as { port: number };
  const clusters = [{ name: 'c', cluster: { server: `http://127.0.0.1:${port}` } }];
  const contexts = [{ name: 'c', context: { cluster: 'c' } }];
  const planned = { apiVersion: 'machine.sapcloud.io/v1alpha1', kind: 'MachineDeployment' };
  const template = { metadata: { labels: { x: 'x' } }, spec: { class: { kind: 'MachineClass', name: 'small' } } };
  const spec = { replicas: 1, selector: { matchLabels: { x: 'x' } }, template };
  const drafts = [nameOf(machineDeployments, 0), nameOf(machineDeployments, 4), 'new'].map((name) =>
    JSON.stringify({ ...planned, metadata: { name, namespace: NAMESPACE }, spec }),
  );
  writeFileSync(join(dir, 'plan.yaml'), drafts.join('\n---\n'));
  writeFileSync(join(dir, 'config'), JSON.stringify({ clusters, contexts, 'current-context': 'c' }));
});
afterAll(async () => {
  vi.restoreAllMocks();
  end.abort(new Error('the test is over'));
  server.close();
  await plane.close();
  rmSync(dir, { recursive: true });
});

async function run(...words: string[]): Promise<string> {
  const lines: string[] = [];
  const program = createProgram({
    stdout: process.stdout,
    say: (line) => lines.push(line),
    random: seededRandom(1),
    signal: () => end.signal,
  }).exitOverride();
  try {
    await program.parseAsync([...words, '--kubeconfig', join(dir, 'config'), '--namespace', NAMESPACE], {
      from: 'user',
    });
  } catch (error) {
    if (error instanceof TypeError || error instanceof RangeError) throw error;
    lines.push(String(error));
  }
  return lines.join('\n');
}

test('the live screen and its start show a fleet with malformed objects', async () => {
  const fleet = watchFleet(client, NAMESPACE, {
    clock: realClock,
    random: seededRandom(1),
    log: silentLogger,
    signal: end.signal,
    onChange: () => undefined,
  });
  await fleet.synced(end.signal);
  const common = { title: 'x', startedAt: new Date(0), now: new Date(1), programs: [], hint: [], columns: 200 };
  const screen = renderScreen({ ...common, fleet: fleet.view(), rows: 10_000 });
  for (const [index, { what }] of casesOf(machineDeployments).entries()) {
    expect([what, screen.includes(nameOf(machineDeployments, index))]).toEqual([what, true]);
  }
});

test('the dashboard shows a fleet with malformed objects', async () => {
  const own = conformingClient(client, () => undefined);
  const clients = { client: own, target: own, namespace: NAMESPACE, close: async () => undefined };
  const dashboard = await serveDashboard(clients, { random: seededRandom(1), signal: end.signal, port: 0 });
  const namesOf = (definition: ResourceDefinition<KubeObject>) =>
    casesOf(definition).map((_, index) => `${NAMESPACE}/${nameOf(definition, index)}`);
  const stream = (await fetch(new URL('live', dashboard.url))).body?.pipeThrough(new TextDecoderStream()).getReader();
  const missing = new Set([...namesOf(machineDeployments), ...namesOf(machines)]);
  let text = '';
  while (missing.size > 0) {
    text += (await stream?.read())?.value ?? '';
    for (const key of missing) if (text.includes(`"key":"${key}"`)) missing.delete(key);
  }
  await stream?.cancel();
  for (const [kind, definition] of [
    ['machines', machines],
    ['rollouts', machineDeployments],
  ] as const) {
    for (const key of namesOf(definition as ResourceDefinition<KubeObject>)) {
      const { status } = await fetch(new URL(`api/${kind}/${key}`, dashboard.url));
      expect([key, status]).toEqual([key, 200]);
    }
  }
  await dashboard.close();
});

test.each([[['tree']], [['events']], [['plan', '-f', 'FILE']], [['debug', 'bundle', 'FOLDER']]])(
  'mcm %j shows a fleet with malformed objects',
  async (words) => {
    const text = await run(
      ...words.map((word) => ({ FOLDER: join(dir, 'bundle'), FILE: join(dir, 'plan.yaml') })[word] ?? word),
    );
    expect(text).not.toMatch(/undefined|Cannot read|is not a function|not iterable/);
  },
);

test('explain, plan and rollout of each malformed object succeed or return a user error', async () => {
  // Only one in ten objects is tested, because the commands send a dozen requests for each object.
  const some = (definition: ResourceDefinition<KubeObject>): readonly number[] =>
    casesOf(definition).flatMap((_, index) => (index % 10 === 0 ? [index] : []));
  for (const index of some(machineDeployments)) {
    const name = nameOf(machineDeployments, index);
    for (const words of [
      ['explain', `machinedeployment/${name}`],
      ['rollout', 'status', name, '--no-watch'],
      ['rollout', 'history', name],
      ['tree', name],
      ['plan', name],
    ]) {
      const text = await run(...words);
      expect([words, text]).toEqual([words, expect.not.stringMatching(/Cannot read|is not a function|not iterable/)]);
    }
  }
  for (const index of some(machines)) {
    const words = ['explain', `machine/${nameOf(machines, index)}`];
    expect([words, await run(...words)]).toEqual([
      words,
      expect.not.stringMatching(/Cannot read|is not a function|not iterable/),
    ]);
  }
});
