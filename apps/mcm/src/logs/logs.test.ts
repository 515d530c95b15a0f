import { appendFile, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { entryText, isWanted, parseEntry } from './entry.ts';
import { showLogs } from './show.ts';

let folder: string;
let said: string[];
let heard: PromiseWithResolvers<void>;
const never = new AbortController().signal;

const line = (second: number, msg: string, more: object = {}): string =>
  `${JSON.stringify({ level: 'info', time: `2026-01-01T12:00:0${second}.000Z`, binary: 'b', msg, ...more })}\n`;
const file = (program: string): string => join(folder, 'logs', `${program}.log`);
const say = (text: string): void => {
  said.push(text);
  heard.resolve();
};
const flags = (more: object = {}) => ({ dataDir: folder, output: 'text' as const, ...more });

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'logs-'));
  await mkdir(join(folder, 'logs'));
  said = [];
  heard = Promise.withResolvers();
});
afterEach(() => rm(folder, { recursive: true }));

describe('existing logs', () => {
  beforeEach(async () => {
    await writeFile(
      file('manager'),
      `${line(1, 'one')}${line(3, 'three', { level: 'warn', machine: 'm-1' })}a stack\n`,
    );
    await writeFile(file('cloud'), `${line(2, 'two', { key: 'default/m-1', error: { message: 'no luck' } })}half`);
  });

  test('existing logs are merged by time, each line with its program; lines without a time keep their position', async () => {
    await showLogs([], flags(), { say, signal: never });
    expect(said).toEqual([
      '12:00:01.000   [manager] one',
      '12:00:02.000   [cloud] two: no luck',
      '12:00:03.000 ! [manager] m-1: three',
      '12:00:03.000   [manager] a stack',
      '12:00:02.000   [cloud] half',
    ]);
  });

  test.each([
    [['cloud'], {}, ['two', 'half']],
    [[], { machine: 'm-1' }, ['two', 'three']],
    [[], { level: 'warn' }, ['three', 'a stack', 'half']],
    [[], { tail: 2 }, ['a stack', 'half']],
    [['manager'], { tail: 0 }, []],
  ])('of %j with %j', async (programs, more, messages) => {
    await showLogs(programs, { ...flags(more), output: 'json' }, { say, signal: never });
    expect(said.map((text) => JSON.parse(text).message)).toEqual(messages);
  });

  test('an unknown program is an error with a similar name', async () => {
    await expect(showLogs(['manger'], flags(), { say, signal: never })).rejects.toThrow(
      'no log of "manger" exists; did you mean manager?',
    );
    for (const place of ['nowhere', 'logs/cloud.log'])
      await expect(showLogs([], { ...flags(), dataDir: join(folder, place) }, { say, signal: never })).rejects.toThrow(
        `/${place}/logs does not exist; "mcm up" writes the logs`,
      );
  });
});

describe('followed', () => {
  /** Waits until `count` lines were printed. */
  async function until(count: number): Promise<void> {
    while (said.length < count) {
      await heard.promise;
      heard = Promise.withResolvers();
    }
  }

  test('a followed log continues across a rotation, a restart and a new program; the signal ends it without an error', async () => {
    await writeFile(file('manager'), line(1, 'old'));
    const stop = new AbortController();
    onTestFinished(() => stop.abort());
    const shown = showLogs([], { ...flags({ follow: true }), output: 'json' }, { say, signal: stop.signal });
    const messages = () => said.map((text) => JSON.parse(text).message);
    await until(1);
    await appendFile(file('manager'), `${line(2, 'one')}{"level":"info","time":"`);
    await until(2);
    await appendFile(file('manager'), '2026-01-01T12:00:03Z","msg":"two"}\n');
    await until(3);
    // After a rotation, the last lines of the old file come before the lines of the new file.
    await appendFile(file('manager'), line(4, 'three'));
    await rename(file('manager'), `${file('manager')}.1`);
    await writeFile(file('manager'), line(5, 'four'));
    await until(5);
    // If a user restarts `mcm up`, the log file becomes empty.
    await writeFile(file('manager'), line(6, 'five') + line(7, 'six'));
    await until(7);
    await writeFile(file('late'), line(8, 'seven'));
    await until(8);
    stop.abort(new Error('Ctrl-C'));
    await shown;
    expect(messages()).toEqual(['old', 'one', 'two', 'three', 'four', 'five', 'six', 'seven']);
  });
});

test('any line is an entry; an unstructured line is a message', () => {
  for (const text of ['', '{', '{"msg":1}', 'null', '[]', '{"level":"info"}'])
    expect(parseEntry('p', text)).toMatchObject({ message: text, level: undefined });
  const entry = parseEntry('p', line(1, 'x', { machines: ['default/m'], level: 'debug', because: 'so' }));
  expect([
    isWanted(entry, { machine: 'm' }),
    isWanted(entry, { machine: 'n' }),
    isWanted(entry, { level: 'info' }),
  ]).toEqual([true, false, false]);
  expect(entryText(entry, 'wide')).toBe('12:00:01.000 . [p] x: so {"machines":["default/m"]}');
  expect(entryText(entry, 'yaml')).toMatch(/^---\nprogram: p\n/);
});
