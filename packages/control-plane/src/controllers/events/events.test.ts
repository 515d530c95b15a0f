import { beforeEach, expect, test } from 'vitest';
import { parseJson } from '../../apimachinery/objects/json.ts';
import { StillClock, settle } from '../../testing.ts';
import { Api } from '../client/api.ts';
import { EventWriter } from './events.ts';

interface Written {
  readonly message: string;
  readonly type: string;
  readonly count: number;
  readonly metadata: { readonly name: string };
}

const SUBJECT = { apiVersion: 'v1', kind: 'Pod', namespace: 'a', name: 'p', uid: 'u' };
const MINUTES = 60_000;

let clock: StillClock;
let events: Map<string, Written>;
let writer: EventWriter;

beforeEach(() => {
  clock = new StillClock();
  events = new Map();
  const api = new Api({
    async handle(request) {
      const sent = parseJson(new TextDecoder().decode(await request.body())) as Written;
      const name = request.method === 'POST' ? sent.metadata.name : (request.path.split('/').at(-1) ?? '');
      const known = events.get(name);
      if (request.method === 'PATCH' && known === undefined) return { status: 404, headers: {}, body: '{}' };
      events.set(name, { ...known, ...sent });
      return { status: 200, headers: {}, body: '{}' };
    },
  });
  writer = new EventWriter(api, clock, (_key, error) => {
    throw error;
  });
});

const tell = (message: string, type: 'Normal' | 'Warning' = 'Normal') =>
  writer.record('test', SUBJECT, type, 'Why', message);
const written = async () => {
  await settle();
  return [...events.values()].map(({ message, count }) => `${count} ${message}`);
};

test('a repeated event increases its count, also after its deletion', async () => {
  tell('a');
  tell('a');
  expect(await written()).toEqual(['2 a']);
  const [before] = events.values();
  events.clear();
  tell('a');
  expect(await written()).toEqual(['3 a']);
  expect([...events.keys()]).toEqual([before?.metadata.name]);
});

test('25 events of each type per subject are written at once, then one per five minutes', async () => {
  for (let turn = 0; turn < 30; turn++) tell('a');
  tell('b', 'Warning');
  expect(await written()).toEqual(['25 a', '1 b']);
  await clock.advance(5 * MINUTES);
  tell('a');
  tell('a');
  expect(await written()).toEqual(['31 a', '1 b']);
});

test('the first nine messages for one reason are separate events, the others are combined for ten minutes', async () => {
  for (let turn = 1; turn <= 12; turn++) tell(`m${turn}`);
  tell('m1');
  expect((await written()).sort()).toEqual(
    ['2 m1', ...[2, 3, 4, 5, 6, 7, 8, 9].map((turn) => `1 m${turn}`), '3 (combined from similar events): m12'].sort(),
  );
  await clock.advance(10 * MINUTES + 1000);
  tell('m13');
  expect(await written()).toContain('1 m13');
});
