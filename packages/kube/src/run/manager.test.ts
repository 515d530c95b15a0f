import { describe, expect, test } from 'vitest';
import { sleep } from '../clock/clock.ts';
import { VirtualClock } from '../clock/virtual-clock.ts';
import { createMemoryLogger } from '../log/memory-logger.ts';
import { createManager } from './manager.ts';
import type { Phase } from './process/phase.ts';

function setUp(make: (phase: (name: string, change?: Partial<Phase>) => Phase, clock: VirtualClock) => Phase[]) {
  const clock = new VirtualClock();
  const log = createMemoryLogger();
  const steps: string[] = [];
  const phase = (name: string, change: Partial<Phase> = {}): Phase => ({
    name,
    start: async () => {
      steps.push(`start ${name}`);
      return () => {
        steps.push(`stop ${name}`);
      };
    },
    ...change,
  });
  const manager = createManager({ clock, log, phases: make(phase, clock) });
  const states = () => manager.status().map(({ name, state }) => `${name} ${state}`);
  return { clock, log, steps, manager, states };
}

describe('manager', () => {
  test('the manager starts in order and stops in reverse order', async () => {
    const t = setUp((phase) => [phase('a'), phase('b'), phase('c')]);
    await t.manager.start();
    expect(t.states()).toEqual(['a started', 'b started', 'c started']);
    await Promise.all([t.manager.stop('SIGTERM'), t.manager.stop('again')]);
    expect(t.steps).toEqual(['start a', 'start b', 'start c', 'stop c', 'stop b', 'stop a']);
    expect(t.states()).toEqual(['a stopped', 'b stopped', 'c stopped']);
    expect(t.clock.pending).toBe(0);
  });

  test('a stop during a phase that ignores its signal starts no further phase', async () => {
    const slow = Promise.withResolvers<undefined>();
    const t = setUp((phase) => [phase('a', { start: () => slow.promise }), phase('b')]);
    const started = t.manager.start();
    const stopped = t.manager.stop('SIGTERM');
    slow.resolve(undefined);
    await expect(started).rejects.toThrow('SIGTERM');
    await stopped;
    expect(t.steps).toEqual([]);
  });

  test('logs each started phase with its duration', async () => {
    const t = setUp((phase, clock) => [
      phase('caches', {
        start: async () => {
          await sleep(clock, 2_000);
          return undefined;
        },
      }),
      phase('controllers'),
    ]);
    const started = t.manager.start();
    await t.clock.advance(2_000);
    await started;
    expect(t.log.lines).toEqual([
      { level: 'info', message: 'phase started', fields: { phase: 'caches', ms: 2_000 } },
      { level: 'info', message: 'phase started', fields: { phase: 'controllers', ms: 0 } },
    ]);
  });

  test('a failed phase ends the start, and the started phases are stopped', async () => {
    const t = setUp((phase) => [
      phase('a'),
      phase('b', { start: () => Promise.reject(new Error('port in use')) }),
      phase('c'),
    ]);
    await expect(t.manager.start()).rejects.toThrow('port in use');
    expect(t.states()).toEqual(['a started', 'b failed', 'c waiting']);
    expect(t.manager.status()[1]?.detail).toBe('port in use');
    await t.manager.stop('failed');
    expect(t.steps).toEqual(['start a', 'stop a']);
  });

  test('a stop during the start ends the start', async () => {
    const t = setUp((phase, clock) => [
      phase('a'),
      phase('waits', {
        start: async (signal, report) => {
          report('connection refused');
          await sleep(clock, 3_600_000, signal);
          return undefined;
        },
      }),
      phase('c'),
    ]);
    const started = t.manager.start();
    started.catch(() => undefined);
    await t.clock.settle();
    expect(t.manager.status()[1]).toEqual({ name: 'waits', state: 'starting', detail: 'connection refused' });
    await t.manager.stop('SIGINT');
    await expect(started).rejects.toThrow('SIGINT');
    expect(t.steps).toEqual(['start a', 'stop a']);
  });

  test('a phase that does not stop does not block the end', async () => {
    const t = setUp((phase) => [phase('a'), phase('hangs', { start: async () => () => new Promise(() => undefined) })]);
    await t.manager.start();
    const stopped = t.manager.stop('SIGTERM');
    await t.clock.advance(8000);
    await stopped;
    expect(t.log.lines.at(-1)).toMatchObject({
      message: 'Stop timeout expired',
      fields: { left: ['a', 'hangs'] },
    });
  });

  test('a phase that fails to stop does not prevent the other stops', async () => {
    const t = setUp((phase) => [
      phase('a'),
      phase('b', { start: async () => () => Promise.reject(new Error('oops')) }),
    ]);
    await t.manager.start();
    await t.manager.stop('SIGTERM');
    expect(t.steps).toEqual(['start a', 'stop a']);
  });
});
