import { NOON } from '../machine/testing.ts';
import { planDrain } from './drain.ts';
import type { Attachment, DrainPod } from './observation.ts';
import { later, look, MINUTE } from './testing.ts';
import { beginMove, trackVolumes } from './volumes.ts';

/** For the tests of drains. */

/** Plays a drain: what is evicted ends after `graceMs`, its volume comes off `detachMs` later and on again `attachMs` later. */
export function playDrain(
  pods: readonly DrainPod[],
  times: { graceMs: number; detachMs: number; attachMs: number },
  volumeWindow = 1,
): { order: string[]; tookMs: number } {
  let o = look(pods, {
    volumeWindow,
    attachments: pods.flatMap((p) =>
      p.volumes.map((volume): Attachment => ({ volume, name: volume, deleting: false })),
    ),
  });
  const evictedAt = new Map<string, Date>();
  const order: string[] = [];
  for (let now = NOON; now < later(60 * MINUTE); now = later(1_000, now)) {
    const passed = (name: string, ms: number): boolean => {
      const from = evictedAt.get(name);
      return from !== undefined && now >= later(ms, from);
    };
    const owner = (volume: string): string => pods.find((p) => p.volumes.includes(volume))?.name ?? '';
    const { graceMs, detachMs, attachMs } = times;
    o = {
      ...o,
      pods: o.pods.filter(({ name }) => !passed(name, graceMs)),
      attachments: o.attachments.filter(({ volume }) => !passed(owner(volume), graceMs + detachMs)),
      attachedElsewhere: new Set(
        pods.filter(({ name }) => passed(name, graceMs + detachMs + attachMs)).flatMap(({ volumes }) => volumes),
      ),
    };
    o = { ...o, memory: trackVolumes(o, now) };
    const plan = planDrain(o, now);
    if (plan.drained) return { order, tookMs: now.getTime() - NOON.getTime() };
    const memory = { attempts: new Map(o.memory.attempts), moves: new Map(o.memory.moves) };
    for (const p of plan.evict) {
      order.push(p.name);
      evictedAt.set(p.name, now);
      memory.attempts.set(p.uid, { at: now, result: 'asked', message: '', count: 1, budgets: '' });
      const move = beginMove(p);
      if (move) memory.moves.set(p.uid, move);
    }
    o = { ...o, memory: { ...o.memory, ...memory } };
    if (plan.evict.length === 0 && !plan.lookAgainAt) throw new Error('the drain waits for nothing');
  }
  throw new Error('the drain never ended');
}
