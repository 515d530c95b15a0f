import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { machineClasses, machineDeployments, machineSets, machines } from '@mcm/api';
import { type DriverTracer, Journal, journalLines, knownOf, scrubber } from '@mcm/core';
import {
  configMaps,
  createClient,
  createMemoryLogger,
  events,
  type KubeObject,
  keepSelfMadeCertificates,
  nodes,
  type ResourceDefinition,
  secrets,
  seededRandom,
  type Transport,
  type TransportRequest,
} from '@mcm/kube';
import { sampled } from '@mcm/kube/testing';
import { sharedBundle } from '@mcm/tools/bundles';
import { expect, test } from 'vitest';
import { NAMESPACE, World } from '../simulation/world/world.ts';

/** Canary secrets must never appear in a log line, an event, a status, evidence, a span or an output of the command. */

const MINUTE = 60_000;
const CANARIES = {
  token: 'canary-cloud-token-Zq7Yw3',
  password: 'canary-user-data-password-Kx9Bv2',
} as const;

const USER_DATA = JSON.stringify({
  bootstrapToken: '<<BOOTSTRAP_TOKEN>>',
  nodeName: '<<MACHINE_NAME>>',
  note: CANARIES.password,
});

/** Returns the forms of a text that a log may contain: plain and encoded. */
const forms = (text: string): readonly string[] => [
  text,
  encodeURIComponent(text),
  ...[0, 1, 2].map((shift) =>
    Buffer.from(' '.repeat(shift) + text)
      .toString('base64')
      .slice(4, -6),
  ),
];

/** Error responses that repeat the values of a request in different forms. */
const echoes: readonly ((request: TransportRequest) => Response)[] = [400, 422, 500].flatMap((status) => [
  ({ body = '', headers }: TransportRequest) =>
    new Response(
      JSON.stringify({
        kind: 'Status',
        reason: 'Invalid',
        code: status,
        message: `cannot take ${body} of ${JSON.stringify(headers)}`,
        details: { causes: [{ field: 'data', message: `Invalid value: ${body}` }] },
        error: { code: 'InvalidArgument', message: `cannot take ${body} of ${JSON.stringify(headers)}` },
      }),
      { status },
    ),
  ({ body = '' }: TransportRequest) => new Response(`<html>${body}</html>`, { status }),
]);
const nonsense = ({ body = '', headers }: TransportRequest): Response =>
  new Response(`{"token": ${JSON.stringify(headers)} ${body}`, { status: 200 });

/** Returns prepared responses to the first requests of each kind, and forwards all later requests. */
function replyFrom(transport: Transport, answers: readonly ((request: TransportRequest) => Response)[]): Transport {
  const count = new Map<string, number>();
  return async (request) => {
    if (request.path.includes('watch=')) return transport(request);
    const kind = `${request.method} ${request.path.split('?')[0]?.replace(/\/[^/]*\d[^/]*/g, '/*')}`;
    const turn = count.get(kind) ?? 0;
    count.set(kind, turn + 1);
    const answer = answers[turn];
    return answer ? answer(request) : transport(request);
  };
}

const tokens = new Set<string>();
const listening = (transport: Transport): Transport =>
  function listen(request) {
    if (request.method === 'POST' && request.path.endsWith('/secrets')) {
      const sent: { stringData?: Record<string, string>; data?: Record<string, string> } = JSON.parse(
        request.body ?? '{}',
      );
      const plain = sent.stringData?.['token-secret'];
      const encoded = sent.data?.['token-secret'];
      if (plain !== undefined) tokens.add(plain);
      if (encoded !== undefined) tokens.add(Buffer.from(encoded, 'base64').toString());
    }
    return transport(request);
  };

/** Returns the occurrences of canaries in a text, as `place: …text…`. */
function canariesIn(place: string, text: string, also: readonly string[] = []): string[] {
  const all = [...Object.values(CANARIES), ...tokens, ...also].flatMap(forms);
  return all.flatMap((form) => {
    const at = text.indexOf(form);
    return at < 0 ? [] : [`${place}: …${text.slice(Math.max(0, at - 200), at + form.length)}…`];
  });
}

const READ: readonly ResourceDefinition<KubeObject>[] = [
  machines,
  machineSets,
  machineDeployments,
  machineClasses,
  nodes,
  events,
  configMaps,
];

async function heardInObjects(world: World): Promise<string[]> {
  const all: string[] = [];
  for (const definition of READ) {
    const { items } = await world.admin.resource(definition).list();
    all.push(...items.flatMap((item) => canariesIn(`${definition.kind} ${item.metadata.name}`, JSON.stringify(item))));
  }
  return all;
}

async function heardInCommand(world: World): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'canary '));
  const kubeconfig = join(folder, 'kubeconfig');
  await writeFile(kubeconfig, world.kubeconfig());
  const bundle = join(folder, 'bundle');
  const [machine] = await world.machines();
  const [run, program] = [promisify(execFile), await sharedBundle('mcm')];
  const outputs: string[] = [];
  try {
    for (const args of [
      ['tree'],
      ['events'],
      ['explain', `machine/${machine?.metadata.name}`],
      ['explain', 'machinedeployment/workers'],
      ['debug', 'bundle', bundle],
    ]) {
      const command = [program, ...args, '--kubeconfig', kubeconfig];
      const { stdout, stderr } = await run(process.execPath, command, { cwd: folder, maxBuffer: 1e8 });
      expect(`${stdout}${stderr}`.length, args.join(' ')).toBeGreaterThan(10);
      outputs.push(...canariesIn(`mcm ${args.join(' ')}`, stdout + stderr));
    }
    const files = await readdir(bundle, { recursive: true, withFileTypes: true });
    const texts = files.filter((file) => file.isFile()).map((file) => join(file.parentPath, file.name));
    expect(texts.length).toBeGreaterThan(3);
    for (const text of texts) outputs.push(...canariesIn(text, await readFile(text, 'utf8')));
    return outputs;
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function canariesInJournal(world: World, journal: Journal): Promise<string[]> {
  const known = knownOf((await world.admin.resource(secrets, NAMESPACE).list()).items);
  const header = { version: '0', controller: 'both', at: world.clock.now() };
  const lines = [...journalLines(header, journal.entries(), scrubber(known))];
  expect(lines.length).toBeGreaterThan(20);
  return lines.flatMap((line) => canariesIn('journal', line));
}

function spanRecorder(): { readonly tracer: DriverTracer; readonly spans: string[] } {
  const spans: string[] = [];
  const keep = (...reported: readonly unknown[]): void => void spans.push(JSON.stringify(reported));
  const startSpan: DriverTracer['startSpan'] = (name, options) => {
    keep(name, options);
    return { setAttributes: keep, addEvent: keep, setStatus: keep, end: () => undefined };
  };
  return { tracer: { startSpan }, spans };
}

/** Runs a fleet in which VMs are created, fail, are listed and are deleted. */
async function live(world: World): Promise<void> {
  await world.createDeployment(2);
  await world.clock.advance(5 * MINUTE);
  await world.untilSettled(2, 'blue', 24 * 60 * MINUTE);
  await world.change({ template: { spec: { class: { name: 'green' } } } });
  await world.untilSettled(2, 'green', 24 * 60 * MINUTE);
}

test.each(
  sampled<[what: string, api: boolean, cloud: boolean]>(
    [
      ['the API server echoes', true, false],
      ['nothing fails', false, false],
      ['the cloud echoes', false, true],
    ],
    3,
  ),
)('%s: no secret is printed', { timeout: 180_000 }, async (_what, api, cloud) => {
  tokens.clear();
  const machine = cloud ? { creationTimeout: '30m' } : {};
  const { tracer, spans } = spanRecorder();
  const journal = new Journal({ perObject: 50, total: 5_000 });
  const world = await World.start({
    port: 0,
    machine,
    tracer,
    journal,
    secretData: { token: CANARIES.token, userData: USER_DATA },
    wrap: (_name, transport) => listening(api ? replyFrom(transport, [...echoes, nonsense]) : transport),
    wrapCloud: (transport) => (cloud ? replyFrom(transport, [...echoes, nonsense]) : transport),
  });
  try {
    const sung: string[] = [];
    if (!cloud) await live(world);
    else {
      await world.createDeployment(2);
      for (let minute = 0; minute < 40; minute += 10) {
        await world.clock.advance(10 * MINUTE);
        sung.push(...(await heardInObjects(world)));
      }
      await world.untilSettled(2, 'blue', 24 * 60 * MINUTE);
    }
    expect(tokens.size).toBeGreaterThan(0);
    // The test first verifies that its inputs contain the canaries, because otherwise the search for canaries would
    // prove nothing.
    const [own] = (await world.admin.resource(secrets, NAMESPACE).list()).items;
    expect(canariesIn('Secret', Buffer.from(own?.data?.userData ?? '', 'base64').toString())).not.toEqual([]);
    expect(canariesIn('Secret', own?.data?.userData ?? '')).not.toEqual([]);
    sung.push(...(await heardInObjects(world)));
    sung.push(...world.log.lines.flatMap((line) => canariesIn('log', JSON.stringify(line))));
    expect(spans.some((span) => span.includes('cannot take'))).toBe(cloud);
    sung.push(...spans.flatMap((span) => canariesIn('span', span)), ...(await canariesInJournal(world, journal)));
    if (cloud) sung.push(...(await heardInCommand(world)));
    expect([...new Set(sung)]).toEqual([]);
    await world.deleteDeployment();
    await world.until(async () => (await world.machines()).length === 0, 24 * 60 * MINUTE);
    expect(world.log.lines.flatMap((line) => canariesIn('log', JSON.stringify(line)))).toEqual([]);
    expect(await heardInObjects(world)).toEqual([]);
  } finally {
    await world.close();
  }
});

test('the keys of generated certificates are not printed, even if the API server echoes them', async () => {
  const world = await World.start();
  try {
    const log = createMemoryLogger();
    const stop = new AbortController();
    const { clock } = world;
    const random = seededRandom(1);
    const transport = replyFrom(world.transport(), echoes);
    const keys = new Set<string>();
    const kept = keepSelfMadeCertificates(
      {
        client: createClient({ transport, userAgent: 'canary', clock, random }),
        namespace: NAMESPACE,
        secret: 'made',
        names: ['x.default.svc'],
        configurations: '',
        clock,
        random,
        log,
        use: ({ key }) => keys.add(key),
      },
      stop.signal,
    );
    await world.until(() => Promise.resolve(keys.size > 0), 24 * 60 * MINUTE);
    stop.abort(new Error('the end'));
    await kept;
    const words = [...keys].flatMap((key) => key.split('\n').filter((line) => line.length > 40));
    expect(words.length).toBeGreaterThan(0);
    expect(log.lines.length).toBeGreaterThan(0);
    expect(log.lines.flatMap((line) => canariesIn('log', JSON.stringify(line), words))).toEqual([]);
    expect(log.lines.map((line) => JSON.stringify(line)).join('\n')).not.toContain('PRIVATE KEY');
  } finally {
    await world.close();
  }
});
