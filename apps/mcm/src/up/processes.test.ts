import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Clock, Sink } from '@mcm/kube';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Program } from './processes.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'mcm program '));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

function manualClock() {
  const timers: (() => void)[] = [];
  const pauses: number[] = [];
  const clock: Clock = {
    now: () => new Date(0),
    monotonic: () => 0,
    setTimeout(callback, ms) {
      timers.push(callback);
      pauses.push(ms);
      return { cancel: () => timers.splice(timers.indexOf(callback), 1) };
    },
  };
  return { clock, timers, pauses };
}

function program(source: string, clock: Clock = manualClock().clock, sink?: Sink) {
  writeFileSync(join(dir, 'program.mjs'), source);
  const states: string[] = [];
  const changed: (() => void)[] = [];
  const made: Program = new Program(
    { name: 'test', module: pathToFileURL(join(dir, 'program.mjs')).href, args: [], logFile: join(dir, 'log') },
    {
      clock,
      ...(sink && { sink }),
      onChange: () => {
        states.push(made.state);
        for (const look of changed) look();
      },
    },
  );
  const reaches = (state: string, times = 1) =>
    new Promise<void>((resolve) => {
      const look = () => {
        if (states.filter((s) => s === state).length >= times) resolve();
      };
      changed.push(look);
      look();
    });
  return { made, states, reaches };
}

const STAYS = `process.stdout.write('ready http://127.0.0.1:1\\n'); process.on('SIGTERM', () => process.exit(0)); setInterval(() => {}, 1000);`;

test('a program is ready with the address that it printed, and ends on request', async () => {
  const { made, states } = program(STAYS);
  expect(await made.start()).toBe('http://127.0.0.1:1');
  await made.stop();
  expect(states).toEqual(['starting', 'ready', 'stopped']);
  expect(readFileSync(join(dir, 'log'), 'utf8')).toContain('ready http://127.0.0.1:1');
});

test('a restarted program continues its log and ends again', async () => {
  const { made, states } = program(STAYS);
  for (let i = 0; i < 2; i++) {
    await made.start();
    await made.stop();
  }
  expect(states).toEqual(['starting', 'ready', 'stopped', 'starting', 'ready', 'stopped']);
  expect(readFileSync(join(dir, 'log'), 'utf8').match(/ready /g)).toHaveLength(2);
});

test.each([
  ['plain', `process.stderr.write('port 80 is busy\\n')`],
  ['structured', `process.stderr.write(JSON.stringify({ level: 50, msg: 'port 80 is busy' }) + '\\n')`],
])('a program that ends before it is ready is reported with its last line (%s)', async (_kind, write) => {
  const { made } = program(`${write}; process.exitCode = 1;`);
  await expect(made.start()).rejects.toThrow('test: port 80 is busy');
  await made.stop();
});

test('an abort of the runtime is reported with its reason, without the stack', async () => {
  const lines = [
    '',
    '<--- Last few GCs --->',
    '',
    '[7:0x279b9000]       58 ms: Mark-Compact 29.6 (62.6) -> 29.6 (62.6) MB, pooled: 0 MB, 3.57 / 0.00 ms',
    '',
    'FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory',
    '----- Native stack trace -----',
    '',
    ' 1: 0x931db0  [node]',
    ' 2: 0x75968e node::OOMErrorHandler(char const*, v8::OOMDetails const&) [node]',
    '',
  ];
  const { made } = program(`process.stderr.write(${JSON.stringify(lines.join('\n'))}); process.exitCode = 134;`);
  await expect(made.start()).rejects.toThrow(/^test: FATAL ERROR: Reached heap limit .* out of memory$/);
  await made.stop();
});

test('a ready program that ends by itself is restarted', async () => {
  const { clock, timers } = manualClock();
  const { made, reaches } = program(STAYS, clock);
  await made.start();
  process.kill(made.pid ?? 0, 'SIGKILL');
  await reaches('failed');
  for (const fire of timers.splice(0)) fire();
  await reaches('ready', 2);
  expect(made.restarts).toBe(1);
  await made.stop();
});

/** Returns a program that kills itself at its first `times` starts, and keeps running at its next start. */
const killed = (signal: string, times: number): string => `
  import { existsSync, readFileSync, writeFileSync } from 'node:fs';
  const file = new URL('starts', import.meta.url);
  const starts = existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0;
  writeFileSync(file, String(starts + 1));
  if (starts < ${times}) process.kill(process.pid, '${signal}');
  else { ${STAYS} }`;

test('a program that is killed before it is ready is restarted with growing delays, and then becomes ready', async () => {
  const { clock, timers, pauses } = manualClock();
  const { made, reaches } = program(killed('SIGKILL', 4), clock);
  const ready = made.start();
  for (let times = 1; times <= 4; times++) {
    await reaches('failed', times);
    for (const fire of timers.splice(0)) fire();
  }
  expect(await ready).toBe('http://127.0.0.1:1');
  expect([made.restarts, pauses]).toEqual([4, [1000, 2000, 4000, 8000]]);
  await made.stop();
});

test('a program that crashes three times before it is ready is not restarted', async () => {
  const { clock, timers } = manualClock();
  const { made, reaches } = program(killed('SIGABRT', 9), clock);
  const ready = expect(made.start()).rejects.toThrow('test: ended before it was ready');
  for (let times = 1; times <= 2; times++) {
    await reaches('failed', times);
    for (const fire of timers.splice(0)) fire();
  }
  await ready;
  expect([made.restarts, made.state]).toEqual([2, 'stopped']);
  await made.stop();
});

test('a wait for a program ends with its signal, also between two starts', async () => {
  const { clock } = manualClock();
  const { made, reaches } = program(killed('SIGKILL', 9), clock);
  const stop = new AbortController();
  const ready = expect(made.start(stop.signal)).rejects.toThrow('the user ends it');
  await reaches('failed');
  stop.abort(new Error('the user ends it'));
  await ready;
  await made.stop();
});

test('a full disk does not end a program; dropped log lines are counted, reported once, and noted later in the log', async () => {
  let full = true;
  const written: string[] = [];
  const sink: Sink = (bytes) => {
    if (full) throw new Error('ENOSPC: no space left on device, write');
    written.push(Buffer.from(bytes).toString());
  };
  const talks = `process.stdin.unref?.(); process.on('SIGUSR2', () => process.stdout.write('more\\nready again\\n'));`;
  const { made, states, reaches } = program(`${talks} ${STAYS}`, manualClock().clock, sink);
  expect(await made.start()).toBe('http://127.0.0.1:1');
  expect(made.problem).toMatch(
    /^mcm dropped 1 line of .*log: ENOSPC: no space left on device, write; free space on the disk$/,
  );
  expect([made.restarts, states.at(-1)]).toEqual([0, 'ready']);
  full = false;
  process.kill(made.pid ?? 0, 'SIGUSR2');
  await reaches('ready', 2);
  await made.stop();
  expect(written.join('')).toMatch(/^\n?mcm dropped 1 line of the log: ENOSPC.*\nmore\nready again\n/);
});

test('a program that does not end in time is killed', async () => {
  const { clock, timers } = manualClock();
  const { made } = program(
    `process.on('SIGTERM', () => process.stdout.write('no\\n')); process.stdout.write('ready x\\n'); setInterval(() => {}, 1000);`,
    clock,
  );
  await made.start();
  const stopped = made.stop();
  for (const fire of timers.splice(0)) fire();
  await stopped;
  expect(made.state).toBe('stopped');
});
