import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { settle, startTestPlane } from '../testing.ts';

const PATH = '/api/v1/namespaces/default/configmaps';
const MOST_TURNS = 60;

/** The store commits in the next turn of the event loop, which waits for all microtasks. */
async function microtasks(count: number): Promise<void> {
  for (let task = 0; task < count; task += 1) await Promise.resolve();
}

async function startPlane() {
  const folder = mkdtempSync(join(tmpdir(), 'watch-'));
  const { plane } = await startTestPlane({ store: { dir: join(folder, 'data') } });
  onTestFinished(async () => {
    await plane.close();
    rmSync(folder, { recursive: true });
  });
  return plane;
}

test.each([
  ['at a version', (version: string) => `&resourceVersion=${version}`, [1]],
  ['with the state', () => '', [1]],
  ['now', () => '&resourceVersion=0&sendInitialEvents=false&resourceVersionMatch=NotOlderThan', [0, 1]],
] as const)(
  'a watch that starts %s during a write sends the change once, after the commit',
  async (_, startAt, counts) => {
    const plane = await startPlane();
    const create = async (name: string): Promise<string> => {
      const body = JSON.stringify({ metadata: { name } });
      const answer = await plane.transport({
        method: 'POST',
        path: PATH,
        headers: { 'content-type': 'application/json' },
        body,
      });
      return /"resourceVersion":"(\d+)"/.exec(await answer.text())?.[1] ?? '';
    };
    let version = await create('first');
    for (let turns = 0; turns < MOST_TURNS; turns += 1) {
      const name = `c${turns}`;
      const end = new AbortController();
      const seen: string[] = [];
      const written = create(name);
      await microtasks(turns);
      const path = `${PATH}?watch=1${startAt(version)}`;
      const watching = plane.transport({ method: 'GET', path, headers: {}, signal: end.signal });
      const read = (async () => {
        for await (const piece of (await watching).body ?? []) seen.push(new TextDecoder().decode(piece));
      })();
      const shown = () => seen.filter((text) => text.includes(`"name":"${name}"`));
      await microtasks(10 * MOST_TURNS);
      expect(shown(), `${turns} microtasks`).toEqual([]);
      version = await written;
      await settle();
      expect(counts, `${turns} microtasks`).toContain(shown().length);
      end.abort();
      await read.catch(() => undefined);
    }
  },
);
