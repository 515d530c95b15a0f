import { expect, test } from 'vitest';
import { VirtualClock } from '../clock/virtual-clock.ts';
import type { KubeObject } from '../contract/objects.ts';
import { createMemoryLogger } from '../log/memory-logger.ts';
import { createMetrics } from '../metrics/create-metrics.ts';
import { type Decision, ObserveDecisions } from './decisions.ts';
import { missing } from './holds.ts';

const MINUTE = 60_000;

const seen = (labels: Readonly<Record<string, string>>): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Toy',
  metadata: { name: 't', namespace: 'n', uid: 'u', resourceVersion: '1', creationTimestamp: '', labels },
});
const lacks = (object: KubeObject) => missing(object, { metadata: { labels: { a: '1', b: '2' } } });
const decision: Decision = {
  what: 'patch toys',
  resource: 'toys',
  object: 'n/t',
  content: '{}',
  lacks,
  done: (object, deleted) => !deleted && lacks(object).length === 0,
};

function rig() {
  const clock = new VirtualClock();
  const log = createMemoryLogger();
  const decisions = new ObserveDecisions({ clock, log, meters: createMetrics().meters });
  const reported = () => log.lines.map(({ level, message, fields }) => ({ level, message, ...fields })).slice(1);
  return { clock, decisions, reported };
}

test('a decision that no controller executes is logged once with the fields that differ', async () => {
  const { clock, decisions, reported } = rig();
  decisions.want(decision);
  decisions.saw('toys', seen({ a: '1', b: '3' }), false);
  await clock.advance(5 * MINUTE);
  decisions.want(decision);
  await clock.advance(5 * MINUTE);
  expect(reported()).toMatchObject([
    { level: 'warn', what: 'patch toys', object: 'n/t', lacks: ['metadata.labels.b'] },
  ]);
});

test('an object that is deleted first is not reported as a difference', async () => {
  const { clock, decisions, reported } = rig();
  decisions.want(decision);
  decisions.saw('toys', { ...seen({}), metadata: { ...seen({}).metadata, name: 'other' } }, true);
  expect(reported()).toEqual([]);
  decisions.saw('toys', seen({ a: '1' }), true);
  await clock.advance(10 * MINUTE);
  expect(reported()).toMatchObject([{ level: 'info', message: expect.stringMatching(/^The object was deleted/) }]);
});

test('`follow` resolves when the decision is executed, and rejects when its signal aborts', async () => {
  const { decisions } = rig();
  const stop = new AbortController();
  const followed = decisions.follow(decision, stop.signal);
  const ended = decisions.follow({ ...decision, object: 'n/other', done: () => false }, stop.signal);
  decisions.saw('toys', seen({ a: '1', b: '2' }), false);
  expect((await followed).metadata.name).toBe('t');
  stop.abort(new Error('the end'));
  await expect(ended).rejects.toThrow('the end');
});

test('`follow` also resolves after the time limit, and rejects when the object is deleted', async () => {
  const { clock, decisions, reported } = rig();
  const { signal } = new AbortController();
  const late = decisions.follow(decision, signal);
  const lost = decisions.follow({ ...decision, object: 'n/u' }, signal);
  await clock.advance(6 * MINUTE);
  decisions.saw('toys', seen({ a: '1', b: '2' }), false);
  expect((await late).metadata.name).toBe('t');
  decisions.saw('toys', { ...seen({}), metadata: { ...seen({}).metadata, name: 'u' } }, true);
  await expect(lost).rejects.toThrow('patch toys n/u: the object was deleted before the action');
  expect(reported().filter(({ level }) => level === 'warn')).toHaveLength(2);
  expect(reported().filter(({ message }) => !message.startsWith('Observe only'))).toHaveLength(2);
});

test('a deleted object gets a new decision, and an event is only compared with the decisions of its object', async () => {
  const { clock, decisions, reported } = rig();
  let asked = 0;
  const of = (name: string): Decision => ({
    ...decision,
    object: `n/${name}`,
    done: (object, deleted) => {
      asked += 1;
      return decision.done(object, deleted);
    },
  });
  for (let each = 0; each < 1_000; each += 1) decisions.want(of(`t-${each}`));
  decisions.want(of('t'));
  decisions.saw('toys', seen({ a: '1' }), false);
  expect(asked).toBe(1);
  await clock.advance(5 * MINUTE);
  decisions.saw('toys', seen({ a: '1' }), true);
  decisions.want(of('t'));
  const again = { message: 'Observe only: action not executed', object: 'n/t' };
  expect(reported()).toMatchObject([...Array(999).fill({}), again, ...Array(1_001).fill({ level: 'warn' }), again]);
});

test('a decision without a name is compared with objects of all names', () => {
  const { decisions, reported } = rig();
  decisions.want({ ...decision, what: 'create toys', object: 'n/owner', unnamed: true });
  decisions.saw('toys', seen({ a: '1', b: '2' }), false);
  expect(reported()).toMatchObject([
    { message: 'The running controller executed the action that the observer also chose', object: 'n/owner' },
  ]);
});
