import { describe, expect, test } from 'vitest';
import { seededRandom } from '../base/random.ts';
import { sleep } from '../clock/clock.ts';
import { VirtualClock } from '../clock/virtual-clock.ts';
import { again, type Controller, done, type Outcome, type Reconcile } from '../contract/controller.ts';
import { KubeError } from '../contract/errors.ts';
import type { Change, Informer } from '../contract/informer.ts';
import type { KubeObject } from '../contract/objects.ts';
import type { Fault } from '../contract/shape.ts';
import { noteFaults } from '../informer/faults.ts';
import { createMemoryLogger } from '../log/memory-logger.ts';
import { type ControllerOptions, createController, type QueueGauges } from './create-controller.ts';
import type { QueueObserver } from './work-queue.ts';

function setUp(
  reconcile: Reconcile = async () => done,
  options: Partial<ControllerOptions> = {},
  watch: (controller: Controller) => void = () => undefined,
) {
  const clock = new VirtualClock();
  const started = clock.now().getTime();
  const log = createMemoryLogger();
  const calls: string[] = [];
  const controller = createController({
    name: 'test',
    concurrency: 1,
    clock,
    random: seededRandom(7),
    log,
    reconcile: (key, signal) => {
      calls.push(`${key}@${clock.now().getTime() - started}`);
      return reconcile(key, signal);
    },
    ...options,
  });
  watch(controller);
  const stop = new AbortController();
  const running = controller.run(stop.signal);
  const end = async () => {
    stop.abort(new Error('test over'));
    await running;
    expect(clock.pending).toBe(0);
  };
  const levels = () =>
    log.lines.filter((line) => line.level !== 'debug').map((line) => `${line.level}: ${line.message}`);
  return { clock, calls, controller, stop, running, end, levels };
}

const failing = (times: number, error: unknown): Reconcile => {
  let left = times;
  return async () => {
    if (left-- > 0) throw error;
    return done;
  };
};

test('a success resets the back-off', async () => {
  let fails = true;
  const backoff = { baseMs: 100, maxMs: 10_000, jitter: 0 };
  const work: Reconcile = async () => {
    if (fails) throw new Error('no');
    return done;
  };
  const t = setUp(work, { backoff });
  t.controller.enqueue('a');
  await t.clock.advance(350);
  expect(t.calls).toEqual(['a@0', 'a@100', 'a@300']);
  fails = false;
  await t.clock.advance(650);
  fails = true;
  t.controller.enqueue('a');
  await t.clock.advance(100);
  expect(t.calls.slice(3)).toEqual(['a@700', 'a@1000', 'a@1100']);
  await t.end();
});

test('a controller can run only once', async () => {
  const t = setUp();
  await t.clock.settle();
  await expect(t.controller.run(t.stop.signal)).rejects.toThrow('controller test can be started only once');
  await t.end();
});

test('the metrics contain the number of waiting keys and the duration of the running work', async () => {
  let read: QueueGauges | undefined;
  const metrics: ControllerOptions['metrics'] = (name, gauges) => {
    expect(name).toBe('test');
    read = gauges;
    return {};
  };
  let finish: () => void = () => undefined;
  const work = () =>
    new Promise<Outcome>((resolve) => {
      finish = () => resolve(done);
    });
  const t = setUp(work, { metrics });
  await t.clock.advance(100);
  for (const key of ['a', 'b', 'c']) t.controller.enqueue(key);
  await t.clock.advance(700);
  expect([read?.depth(), read?.runningForMs()]).toEqual([2, [700]]);
  finish();
  await t.clock.advance(1);
  finish();
  await t.clock.advance(1);
  finish();
  await t.end();
});

describe('keys', () => {
  test('keys wait once each, in order', async () => {
    const t = setUp();
    for (const key of ['a', 'b', 'a', 'c', 'b']) t.controller.enqueue(key);
    await t.clock.settle();
    expect(t.calls).toEqual(['a@0', 'b@0', 'c@0']);
    await t.end();
  });

  test('keys with several delays have the earliest one, and an earlier reconcile cancels a later one [E-19]', async () => {
    const t = setUp();
    t.controller.enqueue('a', 500);
    t.controller.enqueue('a', 100);
    t.controller.enqueue('a', 300);
    t.controller.enqueue('b', 200);
    t.controller.enqueue('b');
    await t.clock.advance(1000);
    expect(t.calls).toEqual(['b@0', 'a@100']);
    await t.end();
  });

  test('thousands of delayed keys share one timer', async () => {
    const t = setUp();
    for (let i = 0; i < 5000; i++) t.controller.enqueue(`k${i}`, 1000 + (i % 10) * 1000);
    await t.clock.settle();
    expect(t.clock.pending).toBe(1);
    await t.clock.advance(10_000);
    expect(t.calls.length).toBe(5000);
    expect(t.calls.at(-1)).toBe('k4999@10000');
    await t.end();
  });

  test('one key is never reconciled twice in parallel, and changes in the meantime lead to another reconcile', async () => {
    const t = setUp(
      async () => {
        await sleep(t.clock, 100);
        return done;
      },
      { concurrency: 5 },
    );
    t.controller.enqueue('a');
    await t.clock.advance(50);
    t.controller.enqueue('a');
    t.controller.enqueue('a');
    t.controller.enqueue('b');
    await t.clock.advance(1000);
    expect(t.calls).toEqual(['a@0', 'b@50', 'a@100']);
    await t.end();
  });

  test('at most `concurrency` keys are reconciled in parallel', async () => {
    let running = 0;
    let most = 0;
    const t = setUp(
      async () => {
        most = Math.max(most, ++running);
        await sleep(t.clock, 10);
        running--;
        return done;
      },
      { concurrency: 3 },
    );
    for (let i = 0; i < 10; i++) t.controller.enqueue(`k${i}`);
    await t.clock.advance(1000);
    expect(most).toBe(3);
    expect(t.calls.length).toBe(10);
    await t.end();
  });

  test('`again` reconciles after its delay, and an earlier event replaces it', async () => {
    const outcomes: Outcome[] = [again(1000), again(5000), done];
    const t = setUp(async () => outcomes.shift() ?? done);
    t.controller.enqueue('a');
    await t.clock.advance(1500);
    t.controller.enqueue('a');
    await t.clock.advance(60_000);
    expect(t.calls).toEqual(['a@0', 'a@1000', 'a@1500']);
    await t.end();
  });
});

describe('urgent keys', () => {
  const urgent = (key: string): boolean => key.startsWith('u');
  const slow: Reconcile = async () => done;

  test('urgent keys are reconciled before the others, but do not block them', async () => {
    const { clock, calls, controller, end } = setUp(slow, { urgent });
    for (let i = 1; i <= 3; i++) controller.enqueue(`a${i}`);
    for (let i = 1; i <= 8; i++) controller.enqueue(`u${i}`);
    await clock.advance(1);
    await end();
    expect(calls.map((call) => call.split('@')[0])).toEqual([
      ...['u1', 'u2', 'u3', 'a1', 'u4', 'u5', 'u6', 'a2', 'u7', 'u8', 'a3'],
    ]);
  });

  test('urgent keys are not delayed by thousands of other keys', async () => {
    const { clock, calls, controller, end } = setUp(() => sleep(clock, 100).then(() => done), { urgent });
    for (let i = 0; i < 3_000; i++) controller.enqueue(`a${i}`);
    await clock.advance(50);
    controller.enqueue('u');
    await clock.advance(300_100);
    await end();
    expect(calls.indexOf('u@100')).toBe(1);
    expect(new Set(calls).size).toBe(3_001);
  });
});

describe('failures', () => {
  test('reconciles that fail because of a fence are retried and not logged as errors', async () => {
    const t = setUp(failing(2, new KubeError('not sent', { code: 0, reason: 'ObserveOnly' })));
    t.controller.enqueue('a');
    await t.clock.advance(60_000);
    expect(t.calls.length).toBe(3);
    expect(t.levels().filter((line) => !line.startsWith('debug'))).toEqual([]);
    await t.end();
  });

  test('failed reconciles are retried with growing delays, and are logged once', async () => {
    const t = setUp(failing(5, new Error('cloud is down')));
    t.controller.enqueue('a');
    await t.clock.advance(60_000);
    const at = t.calls.map((call) => Number(call.split('@')[1]));
    const waits = at.slice(1).map((time, i) => time - (at[i] ?? 0));
    waits.forEach((wait, i) => {
      expect(wait).toBeLessThanOrEqual(50 * 2 ** i);
      expect(wait).toBeGreaterThanOrEqual(25 * 2 ** i);
    });
    expect(waits.length).toBe(5);
    expect(t.levels()).toEqual([
      'error: Reconcile failed, retrying with back-off',
      'info: Reconcile succeeded after failures',
    ]);
    await t.end();
  });

  test('failures of a key are forgotten after a success', async () => {
    const t = setUp(failing(1, new Error('once')));
    t.controller.enqueue('a');
    await t.clock.advance(100);
    t.controller.enqueue('a');
    await t.clock.advance(100);
    expect(t.calls.length).toBe(3);
    await t.end();
  });

  test('conflicts are retried soon and are not logged as errors', async () => {
    const t = setUp(failing(3, new KubeError('modified', { code: 409, reason: 'Conflict' })));
    t.controller.enqueue('a');
    await t.clock.advance(100);
    expect(t.calls.length).toBe(4);
    expect(t.levels()).toEqual([]);
    await t.end();
  });

  test('failures with Retry-After are retried after that time', async () => {
    const t = setUp(failing(1, new KubeError('busy', { code: 429, retryAfterMs: 7000 })));
    t.controller.enqueue('a');
    await t.clock.advance(20_000);
    expect(t.calls).toEqual(['a@0', 'a@7000']);
    await t.end();
  });

  test('thrown values that are no errors are retried too', async () => {
    const t = setUp(failing(1, undefined));
    t.controller.enqueue('a');
    await t.clock.advance(1_000);
    expect(t.calls).toHaveLength(2);
    await t.end();
  });

  test('errors that are thrown synchronously are handled like rejections, and do not affect other keys', async () => {
    const t = setUp((key) => {
      if (key === 'bad') throw new TypeError('bug');
      return Promise.resolve(done);
    });
    t.controller.enqueue('bad');
    t.controller.enqueue('good');
    await t.clock.settle();
    expect(t.calls).toEqual(['bad@0', 'good@0']);
    await t.end();
  });
});

const informerThat = (change: Partial<Informer<KubeObject>>): Informer<KubeObject> => ({
  resource: 'configmaps',
  whenSynced: () => Promise.resolve(),
  onChange: () => () => undefined,
  store: { get: () => undefined, list: () => [], byIndex: () => [], countByIndex: () => 0, size: 0 },
  synced: false,
  refused: undefined,
  onRefused: () => () => undefined,
  doubted: false,
  proven: true,
  onDoubt: () => () => undefined,
  run: async () => undefined,
  readOnce: async () => undefined,
  recordWrite: () => undefined,
  sinceDataMs: () => 0,
  behindForMs: () => 0,
  malformed: 0,
  ...change,
});

function refusable(synced: Promise<void>) {
  let refused: KubeError | undefined;
  const handlers: (() => void)[] = [];
  const informer: Informer<KubeObject> = {
    ...informerThat({ whenSynced: () => synced }),
    get refused() {
      return refused;
    },
    onRefused: (handler) => {
      handlers.push(handler);
      return () => undefined;
    },
  };
  const refuse = (yes: boolean): void => {
    refused = yes ? new KubeError('no', { code: 403 }) : undefined;
    for (const handler of handlers) handler();
  };
  return { informer, refuse };
}

describe('life', () => {
  test('keys wait for the caches', async () => {
    const clock = new VirtualClock();
    const synced = Promise.withResolvers<void>();
    const calls: string[] = [];
    const controller = createController({
      name: 'test',
      concurrency: 1,
      clock,
      random: seededRandom(1),
      log: createMemoryLogger(),
      reconcile: async (key) => {
        calls.push(key);
        return done;
      },
    });
    controller.watch(informerThat({ whenSynced: () => synced.promise }), () => []);
    controller.enqueue('a');
    const stop = new AbortController();
    const running = controller.run(stop.signal);
    await clock.settle();
    expect([calls, controller.idle()]).toEqual([[], false]);
    synced.resolve();
    await clock.settle();
    expect(calls).toEqual(['a']);
    stop.abort();
    await running;
  });

  test('a controller stops while a required informer is refused, and continues without an optional one', async () => {
    const needed = refusable(Promise.resolve());
    const spared = refusable(new Promise(() => undefined));
    const t = setUp(undefined, {}, (controller) => {
      controller.watch(needed.informer, () => []);
      controller.watch(
        spared.informer,
        () => [],
        () => ['all'],
      );
    });
    t.controller.enqueue('first');
    await t.clock.settle();
    expect(t.calls).toEqual([]);
    spared.refuse(true);
    await t.clock.settle();
    expect(t.calls).toEqual(['first@0', 'all@0']);
    needed.refuse(true);
    spared.refuse(false);
    t.controller.enqueue('later');
    await t.clock.advance(1000);
    expect(t.calls).toHaveLength(2);
    needed.refuse(false);
    await t.clock.settle();
    expect(t.calls.slice(2)).toEqual(['all@1000', 'later@1000']);
    await t.end();
  });

  test('a controller starts without an optional informer that is already refused', async () => {
    const spared = refusable(new Promise(() => undefined));
    spared.refuse(true);
    const nobody = () => [];
    const t = setUp(undefined, {}, (controller) => controller.watch(spared.informer, nobody, nobody));
    t.controller.enqueue('a');
    await t.clock.settle();
    expect(t.calls).toEqual(['a@0']);
    await t.end();
  });

  test('a change adds its keys until the controller stops', async () => {
    const handlers = new Set<(change: Change<KubeObject>) => void>();
    const informer = informerThat({
      onChange: (handler) => {
        handlers.add(handler);
        return () => void handlers.delete(handler);
      },
    });
    const t = setUp(undefined, {}, (controller) => controller.watch(informer, ({ key }) => [key, `${key}-owner`]));
    await t.clock.settle();
    for (const handler of handlers) handler({ type: 'added', key: 'a', object: {} as KubeObject });
    await t.clock.settle();
    expect([t.calls, handlers.size]).toEqual([['a@0', 'a-owner@0'], 1]);
    await t.end();
    expect(handlers.size).toBe(0);
  });

  test('a cache that may contain lost changes stops the controller, whether it is required or not', async () => {
    for (const without of [undefined, () => []]) {
      const state = { doubted: true };
      let changed: () => void = () => undefined;
      const informer: Informer<KubeObject> = {
        ...informerThat({}),
        get doubted() {
          return state.doubted;
        },
        onDoubt: (handler) => {
          changed = handler;
          return () => undefined;
        },
      };
      const t = setUp(undefined, {}, (controller) => controller.watch(informer, () => [], without));
      t.controller.enqueue('a');
      await t.clock.advance(1_000);
      expect(t.calls).toEqual([]);
      state.doubted = false;
      changed();
      await t.clock.settle();
      expect(t.calls).toEqual(['a@1000']);
      await t.end();
    }
  });

  test('a malformed object is not reconciled', async () => {
    const [bad, good] = [{}, {}] as KubeObject[];
    noteFaults(bad as KubeObject, [{ field: 'spec', problem: 'is a text', guessed: true } as Fault]);
    const get = (key: string) => (key === 'bad' ? bad : good);
    const t = setUp(undefined, { of: { store: { get } } });
    for (const key of ['bad', 'good']) t.controller.enqueue(key);
    await t.clock.settle();
    expect(t.calls).toEqual(['good@0']);
    await t.end();
  });

  test('a cache that fails ends the controller with its error, unless the controller is stopped', async () => {
    const informer = informerThat({ whenSynced: () => Promise.reject(new Error('broken')) });
    const run = (signal: AbortSignal) => {
      const clock = new VirtualClock();
      const options = { name: 'test', concurrency: 1, clock, random: seededRandom(1), log: createMemoryLogger() };
      const controller = createController({ ...options, reconcile: async () => done });
      controller.watch(informer, () => []);
      return controller.run(signal);
    };
    await expect(run(new AbortController().signal)).rejects.toThrow('broken');
    await run(AbortSignal.abort());
  });

  test('a stop waits for all running reconciles', async () => {
    const t = setUp(
      async (key) => {
        await sleep(t.clock, key === 'a' ? 50 : 100);
        return done;
      },
      { concurrency: 2 },
    );
    for (const key of ['a', 'b']) t.controller.enqueue(key);
    await t.clock.advance(10);
    t.stop.abort(new Error('stop'));
    let ended = false;
    void t.running.then(() => {
      ended = true;
    });
    await t.clock.advance(50);
    expect(ended).toBe(false);
    await t.clock.advance(50);
    expect(ended).toBe(true);
  });

  test('idle() is false while keys are waiting, delayed or running', async () => {
    const t = setUp(async () => {
      await sleep(t.clock, 10);
      return done;
    });
    await t.clock.settle();
    expect(t.controller.idle()).toBe(true);
    t.controller.enqueue('a');
    expect(t.controller.idle()).toBe(false);
    await t.clock.advance(10);
    expect(t.controller.idle()).toBe(true);
    t.controller.enqueue('a', 5000);
    expect([t.controller.idle(), t.controller.idle(4999), t.controller.idle(5000)]).toEqual([true, true, false]);
    t.controller.enqueue('b', 1);
    expect(t.controller.idle()).toBe(true);
    await t.end();
  });

  test('a stop aborts the signal of the running reconcile, waits for it, and starts no other', async () => {
    let reported = false;
    const t = setUp(async (_key, signal) => {
      await sleep(t.clock, 100);
      reported = signal.aborted;
      throw new Error('abandoned');
    });
    t.controller.enqueue('a');
    t.controller.enqueue('b');
    t.controller.enqueue('c', 10_000);
    await t.clock.advance(50);
    t.stop.abort(new Error('stop'));
    let ended = false;
    void t.running.then(() => {
      ended = true;
    });
    await t.clock.settle();
    expect(ended).toBe(false);
    await t.clock.advance(50);
    expect([ended, reported]).toEqual([true, true]);
    expect(t.calls).toEqual(['a@0']);
    expect(t.levels()).toEqual([]);
    expect(t.clock.pending).toBe(0);
  });

  test('metrics count additions, waits, work and retries', async () => {
    const seen: string[] = [];
    const observer: QueueObserver = {
      added: () => seen.push('added'),
      started: (ms) => seen.push(`waited ${ms}`),
      finished: (ms) => seen.push(`worked ${ms}`),
      retried: () => seen.push('retried'),
    };
    const outcomes = [true, false];
    const t = setUp(
      async () => {
        await sleep(t.clock, 5);
        if (outcomes.shift()) throw new Error('first');
        return done;
      },
      { metrics: () => observer },
    );
    t.controller.enqueue('a');
    t.controller.enqueue('a');
    await t.clock.advance(1000);
    expect(seen).toEqual(['added', 'waited 0', 'retried', 'worked 5', 'added', 'waited 0', 'worked 5']);
    await t.end();
  });

  test('concurrency must be a positive integer', () => {
    for (const concurrency of [0, 1.5, Number.NaN])
      expect(() => setUp(undefined, { concurrency })).toThrow('concurrency must be an integer of at least 1');
  });
});
