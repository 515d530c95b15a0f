import { expect, test } from 'vitest';
import { VirtualClock } from '../clock/virtual-clock.ts';
import { createMemoryLogger } from '../log/memory-logger.ts';
import { createMetrics } from '../metrics/create-metrics.ts';
import type { KubeObject } from '../objects.ts';
import { missing } from './holds.ts';
import { type Decision, ObserveLedger } from './ledger.ts';

const MINUTE = 60_000;

const seen = (labels: Readonly<Record<string, string>>): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Toy',
  metadata: { name: 't', namespace: 'n', uid: 'u', resourceVersion: '1', creationTimestamp: '', labels },
});
const lacks = (object: KubeObject) => missing(object, { metadata: { labels: { a: '1', b: '2' } } });
const decision: Decision = {
  ...{ what: 'patch toys', resource: 'toys', object: 'n/t', content: '{}', lacks },
  done: (object, deleted) => !deleted && lacks(object).length === 0,
};

function rig() {
  const clock = new VirtualClock();
  const log = createMemoryLogger();
  const ledger = new ObserveLedger({ clock, log, meters: createMetrics().meters });
  const told = () => log.lines.map(({ level, message, fields }) => ({ level, message, ...fields })).slice(1);
  return { clock, ledger, told };
}

test('what is not done is told with the fields that are otherwise, and not again', async () => {
  const { clock, ledger, told } = rig();
  ledger.want(decision);
  ledger.saw('toys', seen({ a: '1', b: '3' }), false);
  await clock.advance(5 * MINUTE);
  ledger.want(decision);
  await clock.advance(5 * MINUTE);
  expect(told()).toMatchObject([{ level: 'warn', what: 'patch toys', object: 'n/t', lacks: ['metadata.labels.b'] }]);
});

test('what went before it was done is no difference', async () => {
  const { clock, ledger, told } = rig();
  ledger.want(decision);
  ledger.saw('toys', { ...seen({}), metadata: { ...seen({}).metadata, name: 'other' } }, true);
  expect(told()).toEqual([]);
  ledger.saw('toys', seen({ a: '1' }), true);
  await clock.advance(10 * MINUTE);
  expect(told()).toMatchObject([{ level: 'info', message: expect.stringMatching(/^The object went/) }]);
});

test('who follows goes on when it is done, or is told to end', async () => {
  const { ledger } = rig();
  const stop = new AbortController();
  const followed = ledger.follow(decision, stop.signal);
  const ended = ledger.follow({ ...decision, object: 'n/other', done: () => false }, stop.signal);
  ledger.saw('toys', seen({ a: '1', b: '2' }), false);
  expect((await followed).metadata.name).toBe('t');
  stop.abort(new Error('the end'));
  await expect(ended).rejects.toThrow('the end');
});
