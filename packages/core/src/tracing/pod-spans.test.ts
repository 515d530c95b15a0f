import { expect, test } from 'vitest';
import { type DrainMemory, type DrainPod, NO_DRAIN_MEMORY } from '../drain/model/observation.ts';
import { look, pod, withVolume } from '../drain/testing.ts';
import { machine, NOON } from '../machine/testing.ts';
import { PodSpans } from './pod-spans.ts';

const ATTEMPT = { at: NOON, result: 'asked', message: '', count: 1, budgets: '' } as const;
const later = (ms: number): Date => new Date(NOON.getTime() + ms);
const asked = (uid: string, change: object = {}): DrainMemory => ({
  ...NO_DRAIN_MEMORY,
  attempts: new Map([[uid, { ...ATTEMPT, ...change }]]),
});

const web = pod('web');

test('a pod has one span from its eviction until it is gone', () => {
  const spans = new PodSpans();
  const one = machine();
  expect(spans.observe(one, look([web]), NOON)).toEqual([]);
  expect(spans.observe(one, look([web], { memory: asked(web.uid) }), later(1_000))).toEqual([]);
  expect(spans.observe(one, look([web], { memory: asked(web.uid) }), later(2_000))).toEqual([]);
  const ended = spans.observe(one, look([], { memory: asked(web.uid) }), later(30_000));
  expect(ended).toEqual([
    expect.objectContaining({
      name: `pod ${web.namespace}/web`,
      startMs: NOON.getTime(),
      endMs: later(30_000).getTime(),
      attributes: {
        'k8s.namespace.name': web.namespace,
        'k8s.pod.name': 'web',
        'k8s.pod.uid': web.uid,
        'drain.forced': false,
      },
    }),
  ]);
  expect(spans.observe(one, look([], { memory: asked(web.uid) }), later(31_000))).toEqual([]);
});

test('the span contains each refusal once, and the forced deletion', () => {
  const spans = new PodSpans();
  const refused = asked(web.uid, { result: 'blocked', message: 'budget web' });
  spans.observe(machine(), look([web], { memory: refused }), NOON);
  const again = asked(web.uid, { result: 'blocked', message: 'budget web', count: 2, at: later(5_000) });
  spans.observe(machine(), look([web], { memory: again }), later(5_000));
  const attempts = new Map([...again.attempts, [`${web.uid}/forced`, ATTEMPT]]);
  spans.observe(machine(), look([web], { memory: { ...again, attempts } }), later(6_000));
  const [span] = spans.observe(machine(), look([]), later(7_000));
  expect(span?.events).toEqual([
    { name: 'refused', atMs: NOON.getTime(), attributes: { 'refusal.message': 'budget web' } },
  ]);
  expect(span?.attributes['drain.forced']).toBe(true);
});

test('a new process continues the span of a terminating pod with the same ID and start', () => {
  const leaving: DrainPod = { ...web, dueAt: later(web.graceMs) };
  const ends = (spans: PodSpans, from: Date, until: Date) => {
    spans.observe(machine(), look([leaving]), from);
    return spans.observe(machine(), look([]), until)[0];
  };
  const first = ends(new PodSpans(), later(1_000), later(20_000));
  const second = ends(new PodSpans(), later(15_000), later(20_500));
  expect([second?.spanId, second?.startMs]).toEqual([first?.spanId, NOON.getTime()]);
  expect(second?.endMs).toBe(later(20_500).getTime());
});

test('pods that stay, pods without a request, and pods of another drain have no span', () => {
  const spans = new PodSpans();
  const agent = pod('agent', { ownerKind: 'DaemonSet', dueAt: later(0) });
  spans.observe(machine(), look([agent, web]), NOON);
  expect(spans.observe(machine(), look([]), later(1_000))).toEqual([]);
  spans.observe(machine(), look([web], { memory: asked(web.uid) }), NOON);
  expect(spans.observe(machine(), undefined, later(2_000))).toEqual([]);
  expect(spans.observe(machine(), look([]), later(3_000))).toEqual([]);
});

test('the volumes of a pod have one span until another node has attached them', () => {
  const spans = new PodSpans();
  const db = withVolume('db');
  const move = { pod: db, volumes: db.volumes, returns: true, goneAt: NOON, detachedAt: later(4_000) };
  const memory = { ...NO_DRAIN_MEMORY, moves: new Map([[db.uid, move]]) };
  expect(spans.observe(machine(), look([], { memory }), later(5_000))).toEqual([]);
  const there = look([], { memory, attachedElsewhere: new Set(db.volumes) });
  expect(spans.observe(machine(), there, later(9_000))).toEqual([
    expect.objectContaining({
      name: `volumes of pod ${db.namespace}/db`,
      startMs: NOON.getTime(),
      endMs: later(9_000).getTime(),
      events: [{ name: 'detached', atMs: later(4_000).getTime(), attributes: {} }],
    }),
  ]);
  expect(spans.observe(machine(), there, later(9_500))).toEqual([]);
});
