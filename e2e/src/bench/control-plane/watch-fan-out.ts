import { Agent, get, type RequestOptions } from 'node:https';
import { setTimeout as pause } from 'node:timers/promises';
import { MACHINES, machine, machineName } from './bench-objects.ts';
import type { LoadConnection } from './load-connection.ts';
import type { PlaneProcess } from './plane-process.ts';

export interface FanOut {
  readonly changes: number;
  readonly seconds: number;
  readonly lost: number;
  readonly misplaced: number;
  readonly p50: number;
  readonly p99: number;
}

const WATCHERS = 100;
const CHANGES = 10_000;
const CHANGES_A_SECOND = 1_000;
const OBJECTS = 200;
const WRITERS = 32;
const TICK_MS = 10;
const PATIENCE_MS = 30_000;
const MARK = Buffer.from('"change":"');
const VERSION = Buffer.from('"resourceVersion":"');
const NEWLINE = 10;
const QUOTE = 34;

class Watcher {
  seen = 0;
  misplaced = 0;
  #version = 0;
  #rest: Buffer | undefined;
  readonly #arrived: (change: number) => void;

  constructor(arrived: (change: number) => void) {
    this.#arrived = arrived;
  }

  take(chunk: Buffer): void {
    const bytes = this.#rest === undefined ? chunk : Buffer.concat([this.#rest, chunk]);
    let start = 0;
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
      this.#line(bytes, start);
      start = end + 1;
    }
    this.#rest = start === bytes.length ? undefined : bytes.subarray(start);
  }

  #line(bytes: Buffer, start: number): void {
    const version = numberAt(bytes, VERSION, start);
    if (version <= this.#version) this.misplaced++;
    this.#version = version;
    this.seen++;
    this.#arrived(numberAt(bytes, MARK, start));
  }
}

function numberAt(bytes: Buffer, mark: Buffer, start: number): number {
  const from = bytes.indexOf(mark, start) + mark.length;
  return Number(bytes.toString('latin1', from, bytes.indexOf(QUOTE, from)));
}

function openWatch(options: RequestOptions, take: (chunk: Buffer) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    get(options, (answer) => {
      if (answer.statusCode !== 200)
        reject(new Error(`the control plane answered a watch request with status ${answer.statusCode}`));
      answer.on('data', take);
      // When the control plane ends, the watches are still open, so their errors are ignored.
      answer.on('error', () => undefined);
      resolve();
    }).on('error', reject);
  });
}

/** Opens many watches of one kind, and changes objects of this kind at a constant rate. */
export async function watchFanOut(plane: PlaneProcess): Promise<FanOut> {
  const connections = await plane.connect(WRITERS);
  const [first] = connections;
  for (let index = 0; index < OBJECTS; index++) {
    await first?.send({ method: 'POST', path: MACHINES, body: machine(index, plane.owner) });
  }
  const sent: number[] = [];
  const latencies: number[] = [];
  const arrived = (change: number): void => {
    latencies.push(performance.now() - (sent[change] ?? 0));
  };
  const watchers = Array.from({ length: WATCHERS }, () => new Watcher(arrived));
  const agent = new Agent({ maxSockets: Number.POSITIVE_INFINITY, ca: plane.caCertificate });
  const options: RequestOptions = {
    agent,
    host: '127.0.0.1',
    servername: 'localhost',
    port: plane.port,
    path: `${MACHINES}?watch=1&resourceVersion=0&sendInitialEvents=false&resourceVersionMatch=NotOlderThan`,
    headers: { authorization: `Bearer ${plane.token}` },
  };
  await Promise.all(watchers.map((watcher) => openWatch(options, (chunk) => watcher.take(chunk))));

  const start = performance.now();
  await change(connections, sent);
  const seconds = (performance.now() - start) / 1000;
  const complete = (): boolean => watchers.every(({ seen }) => seen >= CHANGES);
  for (let waited = 0; !complete() && waited < PATIENCE_MS; waited += TICK_MS) await pause(TICK_MS);
  for (const connection of connections) connection.close();
  agent.destroy();
  latencies.sort((a, b) => a - b);
  const at = (share: number): number => latencies[Math.floor((latencies.length - 1) * share)] ?? Number.NaN;
  return {
    changes: CHANGES,
    seconds,
    lost: watchers.reduce((sum, { seen }) => sum + Math.max(0, CHANGES - seen), 0),
    misplaced: watchers.reduce((sum, { misplaced }) => sum + misplaced, 0),
    p50: at(0.5),
    p99: at(0.99),
  };
}

async function change(connections: readonly LoadConnection[], sent: number[]): Promise<void> {
  const start = performance.now();
  let next = 0;
  const writer = async (connection: LoadConnection): Promise<void> => {
    for (;;) {
      const index = next++;
      if (index >= CHANGES) return;
      const due = start + (index * 1000) / CHANGES_A_SECOND;
      const early = due - performance.now();
      if (early > 0) await pause(early);
      sent[index] = performance.now();
      const status = await connection.send({
        method: 'PATCH',
        path: `${MACHINES}/${machineName(index % OBJECTS)}`,
        body: JSON.stringify({ metadata: { annotations: { change: String(index) } } }),
        contentType: 'application/merge-patch+json',
      });
      if (status !== 200) throw new Error(`the control plane answered an update with status ${status}`);
    }
  };
  await Promise.all(connections.map(writer));
}
