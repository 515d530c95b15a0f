import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { sleep } from './clock.ts';
import { VirtualClock } from './virtual-clock.ts';

const nothing = () => undefined;

const RSA = { publicExponent: new Uint8Array([1, 0, 1]), hash: 'SHA-256' };

describe('VirtualClock', () => {
  test('fires timers in the order of their time, then of their creation', async () => {
    const clock = new VirtualClock();
    const fired: string[] = [];
    clock.setTimeout(() => fired.push('late'), 20);
    clock.setTimeout(() => fired.push('first at 10'), 10);
    clock.setTimeout(() => fired.push('second at 10'), 10);
    clock.setTimeout(() => fired.push('cancelled'), 5).cancel();
    await clock.advance(10);
    expect(fired).toEqual(['first at 10', 'second at 10']);
    await clock.advance(10);
    expect(fired).toEqual(['first at 10', 'second at 10', 'late']);
  });

  test('cancelling a timer that fired leaves the others alone', async () => {
    const clock = new VirtualClock();
    const timer = clock.setTimeout(nothing, 1);
    clock.setTimeout(nothing, 2);
    await clock.advance(1);
    timer.cancel();
    timer.cancel();
    expect(clock.pending).toBe(1);
  });

  test('chains of sleeps, promises and streams complete between two timers', async () => {
    const clock = new VirtualClock();
    const seen: string[] = [];
    const work = async (name: string) => {
      for (let i = 0; i < 3; i++) {
        await sleep(clock, 10);
        const text = await new Response(new Blob([name]).stream()).text();
        seen.push(`${text}@${clock.now().getTime() % 1000}`);
      }
    };
    void work('a');
    void work('b');
    await clock.advance(30);
    expect(seen).toEqual(['a@10', 'b@10', 'a@20', 'b@20', 'a@30', 'b@30']);
  });

  test('a sleep ends with its signal and leaves no timer', async () => {
    const clock = new VirtualClock();
    const controller = new AbortController();
    const asleep = sleep(clock, 1000, controller.signal);
    controller.abort(new Error('enough'));
    await expect(asleep).rejects.toThrow('enough');
    expect(clock.pending).toBe(0);
  });

  test('`hold` stops the time until the work ends', async () => {
    const clock = new VirtualClock();
    let finished = 0;
    clock.setTimeout(() => {
      void clock.hold(crypto.subtle.digest('SHA-256', new Uint8Array(1_000_000))).then(() => {
        finished = clock.now().getTime();
      });
    }, 5);
    const start = clock.now().getTime();
    await clock.advance(1000);
    expect(finished - start).toBe(5);
  });

  test('reading a file stops the time, each time', async () => {
    const clock = new VirtualClock();
    const read: number[] = [];
    clock.setTimeout(async () => {
      for (let i = 0; i < 20; i++) {
        await readFile(import.meta.filename);
        read.push(clock.monotonic());
      }
    }, 5);
    clock.setTimeout(() => read.push(clock.monotonic()), 6);
    await clock.advance(1000);
    expect(read).toEqual([...new Array<number>(20).fill(5), 6]);
  });

  test('the clock waits for work without timers, and throws when the work takes too long', async () => {
    const clock = new VirtualClock();
    const beside = async (): Promise<number> => {
      await sleep(clock, 700);
      await crypto.subtle.generateKey({ name: 'RSA-OAEP', modulusLength: 2048, ...RSA }, true, ['encrypt', 'decrypt']);
      return clock.monotonic();
    };
    expect(await clock.ended(beside(), { maxMs: 1000 })).toBe(700);
    await expect(clock.ended(sleep(clock, 700), { maxMs: 10 })).rejects.toThrow('did not end after 10 virtual ms');
    await expect(clock.ended(Promise.reject(new Error('no')), { maxMs: 0 })).rejects.toThrow('no');
  });

  test('a loop without end that takes no time is an error', async () => {
    const clock = new VirtualClock({ maxCalls: 1_000 });
    for (let round = 0; round < 5; round += 1) {
      for (let call = 0; call < 900; call += 1) clock.now();
      await clock.advance(1);
    }
    const endless = async (): Promise<never> => {
      for (;;) {
        clock.monotonic();
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    const loop = endless().catch((error: unknown) => error);
    const advanced = clock.advance(1).catch((error: unknown) => error);
    expect(String(await loop)).toContain('more than 1000 calls of the clock at 5 ms: the work does not become idle');
    // If code catches the error and calls the clock again, the clock throws the first error, whose stack shows the
    // loop.
    expect(await advanced).toBe(await loop);
    expect(() => clock.now()).toThrow(String(await loop).replace('Error: ', ''));
  });

  test('runUntil returns how long it took, and throws the reason when the condition cannot become true', async () => {
    const clock = new VirtualClock();
    let ready = false;
    clock.setTimeout(() => {
      ready = true;
    }, 4200);
    expect(await clock.runUntil(() => ready, { maxMs: 10_000 })).toBe(4200);
    await expect(clock.runUntil(() => false, { maxMs: 10 })).rejects.toThrow('no timer is pending');
    clock.setTimeout(nothing, 500);
    await expect(clock.runUntil(() => false, { maxMs: 10 })).rejects.toThrow('due in 500 ms');
  });
});
