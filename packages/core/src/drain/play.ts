import { NOON } from '../machine/testing.ts';
import { planDrain } from './drain.ts';
import type { Attachment, DrainPod } from './model/observation.ts';
import { later, look, MINUTE } from './testing.ts';
import { beginMove, trackVolumes } from './volumes/volumes.ts';

export interface PlayTimes {
  readonly graceMs: number;
  readonly detachMs: number;
  readonly attachMs: number;
  readonly slots?: number;
}

export interface Played {
  readonly order: readonly string[];
  readonly tookMs: number;
  readonly mostUnderWay: number;
}

/** Simulates a drain in steps of one second. */
export function playDrain(pods: readonly DrainPod[], times: PlayTimes, volumeWindow = 1): Played {
  const { graceMs, detachMs, attachMs, slots = Number.POSITIVE_INFINITY } = times;
  const attachments = pods.flatMap(({ volumes }) =>
    volumes.map((volume): Attachment => ({ volume, name: volume, deleting: false })),
  );
  let o = look(pods, { volumeWindow, attachments });
  const evictedAt = new Map<string, Date>();
  const order: string[] = [];
  let mostUnderWay = 0;
  for (let now = NOON; now < later(60 * MINUTE); now = later(1_000, now)) {
    const passed = (pod: DrainPod | undefined, ms: number): boolean => {
      const from = evictedAt.get(pod?.name ?? '');
      return from !== undefined && now >= later(ms, from);
    };
    const ownerOf = (volume: string) => pods.find(({ volumes }) => volumes.includes(volume));
    const arrived = order
      .map((name) => pods.find((pod) => pod.name === name))
      .filter((pod) => passed(pod, graceMs + detachMs + attachMs))
      .flatMap((pod) => pod?.volumes ?? [])
      .slice(0, slots);
    const elsewhere = new Set(arrived);
    const moving = pods.flatMap(({ volumes }) => volumes).filter((volume) => !elsewhere.has(volume));
    o = {
      ...o,
      pods: o.pods.filter((pod) => !passed(pod, graceMs)),
      attachments: o.attachments.filter(({ volume }) => !passed(ownerOf(volume), graceMs + detachMs)),
      attachedElsewhere: elsewhere,
      attach:
        times.slots === undefined
          ? o.attach
          : {
              room: new Map([['csi', slots - arrived.length]]),
              driverOf: new Map(moving.map((volume): [string, string] => [volume, 'csi'])),
            },
    };
    o = { ...o, memory: trackVolumes(o, now) };
    const plan = planDrain(o, now);
    if (plan.drained) return { order, tookMs: now.getTime() - NOON.getTime(), mostUnderWay };
    const memory = { attempts: new Map(o.memory.attempts), moves: new Map(o.memory.moves) };
    for (const p of plan.evict) {
      order.push(p.name);
      evictedAt.set(p.name, now);
      memory.attempts.set(p.uid, { at: now, result: 'asked', message: '', count: 1, budgets: '' });
      const move = beginMove(p);
      if (move) memory.moves.set(p.uid, move);
    }
    o = { ...o, memory: { ...o.memory, ...memory } };
    const underWay = order.filter((name) => {
      const pod = pods.find((each) => each.name === name);
      const waits = graceMs + detachMs + Math.max(attachMs, 0);
      return (
        pod &&
        pod.volumes.length > 0 &&
        !pod.volumes.every((v) => elsewhere.has(v)) &&
        !passed(pod, waits + o.reattachTimeoutMs)
      );
    });
    mostUnderWay = Math.max(mostUnderWay, underWay.length);
    if (plan.evict.length === 0 && !plan.lookAgainAt)
      throw new Error('the simulated drain waits although no pod remains on the node');
  }
  throw new Error('the simulated drain did not end');
}
