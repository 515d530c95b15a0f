import { seededRandom, VirtualClock } from '@mcm/kube';
import { expect, test } from 'vitest';
import { MachineError } from '../../driver/contract/errors.ts';
import type { CallOutcome } from '../model/observation.ts';
import { machine } from '../testing.ts';
import { CapacityGate } from './capacity.ts';
import { OfferingBook } from './offering-book.ts';

const MINUTE = 60_000;
const refused: CallOutcome = { ok: false, error: new MachineError('ResourceExhausted', 'no more cores') };
const made: CallOutcome = { ok: true };

function gate(firstMs = 10 * MINUTE) {
  const clock = new VirtualClock();
  const woken: string[] = [];
  const made = new CapacityGate({ clock, random: seededRandom(7), firstMs, wake: (key) => woken.push(key) });
  const minutes = (at: Date | undefined): number => ((at?.getTime() ?? 0) - clock.now().getTime()) / MINUTE;
  const probe = (m: ReturnType<typeof machine>, outcome: CallOutcome): void => {
    made.began(m, 'i');
    made.ended(m, 'i', outcome);
  };
  return { clock, woken, capacity: made, minutes, probe };
}

const inZone = (name: string, zone: string) =>
  machine({ name, spec: { nodeTemplate: { metadata: { labels: { 'topology.kubernetes.io/zone': zone } } } } });
const [a, b] = [inZone('a', 'z1'), inZone('b', 'z1')];

test('waits double from the flag up to three times it, with jitter after the first [incident 23]', async () => {
  const { clock, capacity, minutes, probe } = gate();
  const waits: number[] = [];
  for (let i = 0; i < 5; i++) {
    probe(a, refused);
    const wait = minutes(capacity.of(b, 'i')?.retryAt);
    waits.push(wait);
    await clock.advance(Math.ceil(wait * MINUTE));
  }
  expect(waits[0]).toBe(10);
  for (const [i, base] of [20, 30, 30, 30].entries()) {
    expect(waits[i + 1]).toBeGreaterThan(base);
    expect(waits[i + 1]).toBeLessThanOrEqual(base * 1.2);
  }
  expect(new Set(waits).size).toBe(5);
});

test('refusals of calls that began before the first refusal do not lengthen the wait [incident 23]', () => {
  const { capacity, minutes } = gate();
  for (const m of [a, b]) capacity.began(m, 'i');
  for (const m of [a, b]) capacity.ended(m, 'i', refused);
  expect(minutes(capacity.of(a, 'i')?.retryAt)).toBe(10);
});

test('a shortage belongs to one class, one zone and one version of the class [incident 23]', () => {
  const { capacity, probe } = gate();
  probe(a, refused);
  expect(capacity.of(b, 'i')?.error.message).toBe('no more cores');
  expect(capacity.of(inZone('c', 'z2'), 'i')).toBeUndefined();
  expect(capacity.of(b, 'mended')).toBeUndefined();
  const other = { ...b, spec: { ...b.spec, class: { kind: 'MachineClass', name: 'large' } } };
  expect(capacity.of(other, 'i')).toBeUndefined();
  probe(a, { ok: false, error: new MachineError('Internal', 'boom') });
  expect(capacity.of(b, 'i')?.error.message).toBe('no more cores');
});

test('one probe at a time: its success lets twice as many follow, its refusal makes the others wait [incident 23]', async () => {
  const { capacity, woken, clock } = gate();
  capacity.began(a, 'i');
  capacity.ended(a, 'i', refused);
  await clock.advance(10 * MINUTE);
  expect(capacity.of(a, 'i')?.free).toBe(true);
  capacity.began(a, 'i');
  expect(capacity.of(b, 'i')?.free).toBe(false);
  for (const m of [b, inZone('c', 'z1'), inZone('d', 'z1')]) capacity.waits(m, 'i');
  capacity.ended(a, 'i', made);
  expect(woken.sort()).toEqual(['test/b', 'test/c', 'test/d']);
  capacity.began(b, 'i');
  expect(capacity.of(a, 'i')?.free).toBe(true);
  capacity.began(inZone('c', 'z1'), 'i');
  expect(capacity.of(a, 'i')?.free).toBe(false);
  capacity.ended(b, 'i', made);
  expect(capacity.of(a, 'i')).toBeUndefined();
});

test('in a new process the first machine with a refusal in its status is the probe [incident 23]', () => {
  const { capacity } = gate();
  const refusedBefore = { ...a, status: { lastOperation: { errorCode: 'ResourceExhausted', description: 'no' } } };
  capacity.began(refusedBefore, 'i');
  expect(capacity.of(b, 'i')).toMatchObject({ free: false, error: { code: 'ResourceExhausted', message: 'no' } });
  const wordless = { ...inZone('c', 'z2'), status: { lastOperation: { errorCode: 'ResourceExhausted' } } };
  capacity.began(wordless, 'i');
  expect(capacity.of(wordless, 'i')?.error.message).toBe('');
});

test('the first wait is the value of the flag', () => {
  const { capacity, minutes, probe } = gate(5 * MINUTE);
  probe(a, refused);
  expect(minutes(capacity.of(a, 'i')?.retryAt)).toBe(5);
});

test.each([{}, { nodeTemplate: {} }, { nodeTemplate: { metadata: {} } }])(
  'a machine without a zone shares its shortage with those without one: %j',
  (spec) => {
    const { capacity, probe } = gate();
    capacity.waits(machine({ name: 'a', spec }), 'i');
    probe(machine({ name: 'a', spec }), refused);
    expect(capacity.of(machine({ name: 'b' }), 'i')).toBeDefined();
    expect(capacity.of(b, 'i')).toBeUndefined();
  },
);

test('the shortage ends after enough successes, even if machines still wait', () => {
  const { capacity, probe } = gate();
  const waiting = inZone('w', 'z1');
  probe(a, refused);
  for (let allowed = 2; allowed < 64; allowed *= 2) {
    capacity.waits(waiting, 'i');
    probe(a, made);
    expect(capacity.of(b, 'i')).toBeDefined();
  }
  capacity.waits(waiting, 'i');
  probe(a, made);
  expect(capacity.of(b, 'i')).toBeUndefined();
});

test('the refusal of a call from before the shortage wakes no waiting machine', () => {
  const { capacity, woken } = gate();
  for (const m of [a, b]) capacity.began(m, 'i');
  capacity.ended(a, 'i', refused);
  capacity.waits(inZone('c', 'z1'), 'i');
  capacity.ended(b, 'i', refused);
  expect(woken).toEqual([]);
});

test('after a change of the class, machines that wait for the former shortage are reconciled', () => {
  const { capacity, woken, probe } = gate();
  probe(a, refused);
  capacity.waits(b, 'i');
  capacity.began(a, 'changed');
  capacity.ended(a, 'changed', refused);
  expect(woken).toEqual(['test/b']);
});

test('a shortage without calls is forgotten a day after its last wait, unless a call is under way', async () => {
  const { capacity, clock, probe } = gate();
  const busy = inZone('busy', 'z2');
  for (const m of [a, busy]) probe(m, refused);
  capacity.began(busy, 'i');
  await clock.advance(24 * 60 * MINUTE);
  probe(inZone('c', 'z3'), refused);
  expect(capacity.of(a, 'i')).toBeDefined();
  await clock.advance(11 * MINUTE);
  probe(inZone('d', 'z4'), refused);
  expect([capacity.of(a, 'i'), capacity.of(busy, 'i')?.free]).toEqual([undefined, false]);
});

test('0 means ten minutes; a longer wait that the cloud requests applies', () => {
  const { capacity, minutes, probe } = gate(0);
  probe(a, refused);
  expect(minutes(capacity.of(a, 'i')?.retryAt)).toBe(10);
  const late = gate();
  late.probe(a, { ok: false, error: new MachineError('ResourceExhausted', 'no', { retryAfterMs: 15 * MINUTE }) });
  expect(late.minutes(late.capacity.of(a, 'i')?.retryAt)).toBe(15);
});

test('a refusal after a success leaves one probe at a time, and the waits start again', async () => {
  const { capacity, minutes, clock, probe } = gate();
  const [c, d] = [inZone('c', 'z1'), inZone('d', 'z1')];
  probe(a, refused);
  await clock.advance(10 * MINUTE);
  probe(a, refused);
  await clock.advance(25 * MINUTE);
  for (const m of [b, c, d]) capacity.waits(m, 'i');
  probe(a, made);
  for (const m of [c, d]) capacity.waits(m, 'i');
  probe(b, refused);
  expect(minutes(capacity.of(c, 'i')?.retryAt)).toBe(10);
  await clock.advance(10 * MINUTE);
  capacity.began(c, 'i');
  expect(capacity.of(d, 'i')?.free).toBe(false);
});

function fleet() {
  const clock = new VirtualClock();
  const offerings = new OfferingBook(clock);
  const cluster = (name: string, account: string) => {
    const woken: string[] = [];
    const labels = { machine_type: 'm', zone: 'z', subnet: 's', market: 'on-demand' };
    const choice = { record: '{}', key: `${account}/m`, text: 'm in z', labels };
    const wake = (key: string) => void woken.push(key);
    const random = seededRandom(7);
    const gate = new CapacityGate({ clock, random, firstMs: 10 * MINUTE, wake, choicesOf: () => [choice], offerings });
    const own = machine({ name: `m-${name}` });
    const probe = (outcome: CallOutcome): void => {
      gate.began(own, 'i');
      gate.ended(own, 'i', outcome);
    };
    const seen = () => gate.offeringsOf(own)?.[0]?.shortage;
    return { gate, own, woken, probe, seen };
  };
  return { clock, cluster };
}

test('the clusters of one account share an exhausted offering, without the text of the cloud', () => {
  const { cluster } = fleet();
  const [a, b, other] = [cluster('a', 'one'), cluster('b', 'one'), cluster('c', 'two')];
  a.probe({ ok: false, error: new MachineError('ResourceExhausted', 'no cores for CANARY-OF-A') });
  expect(a.seen()?.error.message).toContain('CANARY-OF-A');
  expect(b.seen()?.retryAt).toEqual(a.seen()?.retryAt);
  expect(JSON.stringify([b.seen()?.error.message, ...b.gate.shortages()])).not.toContain('CANARY');
  expect([[...a.gate.shortages()].length, [...b.gate.shortages()].length]).toEqual([1, 0]);
  expect(other.seen()).toBeUndefined();
});

test('the probe of one cluster is enough, and its success wakes the machines of the other clusters', async () => {
  const { clock, cluster } = fleet();
  const [a, b] = [cluster('a', 'one'), cluster('b', 'one')];
  a.probe(refused);
  b.gate.waits(b.own, 'i');
  await clock.advance(10 * MINUTE);
  a.gate.began(a.own, 'i');
  expect(b.seen()?.free).toBe(false);
  a.gate.ended(a.own, 'i', made);
  expect([b.woken, a.woken]).toEqual([['test/m-b'], []]);
  expect(b.seen()?.free).toBe(true);
});

test('a refusal of another cluster makes the text of a cluster general', async () => {
  const { clock, cluster } = fleet();
  const [a, b] = [cluster('a', 'one'), cluster('b', 'one')];
  a.probe(refused);
  await clock.advance(10 * MINUTE);
  b.probe({ ok: false, error: new MachineError('ResourceExhausted', 'CANARY-OF-B') });
  expect(a.seen()?.error.message).toBe('the cloud has no capacity for a cluster with the same credentials');
});

test('a call that does not end delays only its own cluster', async () => {
  const { clock, cluster } = fleet();
  const [a, b] = [cluster('a', 'one'), cluster('b', 'one')];
  a.probe(refused);
  await clock.advance(10 * MINUTE);
  a.gate.began(a.own, 'i');
  await clock.advance(15 * MINUTE);
  const another = machine({ name: 'm-a2' });
  expect([b.seen()?.free, a.gate.offeringsOf(another)?.[0]?.shortage?.free]).toEqual([true, false]);
});

test('the first call of one cluster is enough for an offering without a result', () => {
  const { cluster } = fleet();
  const [a, b] = [cluster('a', 'one'), cluster('b', 'one')];
  a.gate.intends(a.own, '{}');
  expect(b.gate.offeringsOf(b.own)?.[0]?.awaitsFirstCall).toBeDefined();
  b.gate.waits(b.own, 'i');
  a.probe(made);
  expect([b.woken, b.gate.offeringsOf(b.own)?.[0]?.awaitsFirstCall]).toEqual([['test/m-b'], undefined]);
});
