import type { Machine } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { describe, expect, test } from 'vitest';
import { World, type WorldOptions } from '../deployment/testing/world.ts';

class Line {
  #cut: ((url: string) => boolean) | undefined;
  readonly #open = new Map<ReadableStreamDefaultController<Uint8Array>, string>();

  readonly fault: NonNullable<WorldOptions['fault']> = async (request, answer) => {
    if (this.#cut?.(request.url)) throw new TypeError('connect ECONNREFUSED');
    const response = await answer();
    if (this.#cut?.(request.url)) throw new TypeError('read ECONNRESET');
    return request.url.includes('watch=true') ? this.#breakable(request.url, response) : response;
  };

  #breakable(url: string, response: Response): Response {
    const reader = response.body?.getReader();
    if (reader === undefined) return response;
    let mine: ReadableStreamDefaultController<Uint8Array> | undefined;
    const stream = new ReadableStream<Uint8Array>({
      start: (controller) => {
        mine = controller;
        this.#open.set(controller, url);
      },
      pull: async (controller) => {
        const { done, value } = await reader.read();
        if (mine === undefined || !this.#open.has(mine)) return;
        if (!done) return controller.enqueue(value);
        this.#open.delete(controller);
        controller.close();
      },
      cancel: (reason) => {
        if (mine) this.#open.delete(mine);
        return reader.cancel(reason);
      },
    });
    return new Response(stream, { status: response.status, headers: response.headers });
  }

  cut(which: (url: string) => boolean): void {
    this.#cut = which;
    for (const [controller, url] of this.#open) {
      if (!which(url)) continue;
      this.#open.delete(controller);
      controller.error(new TypeError('read ECONNRESET'));
    }
  }

  mend(): void {
    this.#cut = undefined;
  }
}

const isTarget = (url: string): boolean => url.includes('/api/v1/nodes');
const isControl = (url: string): boolean => !isTarget(url);

const going = ({ metadata }: Machine): boolean => metadata.deletionTimestamp !== undefined;
const running = (machine: Machine): boolean => machine.status?.currentStatus?.phase === 'Running' && !going(machine);

function extremes(world: World) {
  const seen = { most: 0, least: Number.POSITIVE_INFINITY };
  world.truth.onChange(() => {
    const all = world.truth.store.list();
    seen.most = Math.max(seen.most, all.filter((machine) => !going(machine)).length);
    seen.least = Math.min(seen.least, all.filter(running).length);
  });
  return seen;
}

async function inWorld(options: WorldOptions, story: (world: World, line: Line) => Promise<void>): Promise<void> {
  const line = new Line();
  await using world = await World.start(startControlPlane, {
    birthMs: () => 2_000,
    deathMs: () => 2_000,
    ...options,
    fault: line.fault,
  });
  await story(world, line);
}

describe('the API server of the machines is unreachable', () => {
  test.each([1.5, 3, 4.5])(
    '%d s after the start of a rollout: it completes when the API server is reachable again',
    async (seconds) => {
      await inWorld({}, async (world, line) => {
        await world.deploy(6);
        await world.until(() => world.complete(), 60);
        await world.changeClass('large');
        await world.pass(seconds);
        const seen = extremes(world);
        line.cut(isControl);
        await world.pass(5);
        const still = world.truth.store.list().map(({ metadata }) => `${metadata.uid} ${metadata.deletionTimestamp}`);
        await world.pass(1_800);
        expect(world.truth.store.list().map(({ metadata }) => `${metadata.uid} ${metadata.deletionTimestamp}`)).toEqual(
          still,
        );
        line.mend();
        await world.until(() => world.complete(), 300);
        expect(seen.most).toBeLessThanOrEqual(7);
        expect(seen.least).toBeGreaterThanOrEqual(6);
        expect(world.truth.store.list().every((machine) => machine.spec.class.name === 'large')).toBe(true);
      });
    },
  );

  test('machines that became unreachable in the meantime are evaluated together: nothing is replaced on the old state', async () => {
    await inWorld({}, async (world, line) => {
      await world.deploy(6);
      await world.until(() => world.complete(), 60);
      const machines = await world.machines();
      line.cut(isControl);
      await world.pass(60);
      const lastUpdateTime = world.clock.now().toISOString();
      for (const { metadata } of machines.slice(0, 4)) {
        await world.setPhase(metadata.name, 'Unknown', {
          currentStatus: { phase: 'Unknown', lastUpdateTime },
          conditions: [{ type: 'Ready', status: 'Unknown' }],
        });
      }
      await world.setPhase(machines[5]?.metadata.name ?? '', 'Failed');
      await world.pass(60);
      line.mend();
      await world.pass(900);
      const uids = (all: readonly Machine[]) => all.map(({ metadata }) => metadata.uid).sort();
      expect(uids(world.truth.store.list())).toEqual(uids(machines));
      const types = (await world.deployment()).status?.conditions?.map(({ type }) => type);
      expect(types).toContain('ReplacementHeld');
    });
  });

  test('a frozen set unfreezes by itself when its machines were deleted in the meantime', async () => {
    await inWorld({ deathMs: () => 30_000 }, async (world, line) => {
      await world.deploy(6, { strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 2, maxUnavailable: 0 } } });
      await world.until(() => world.complete(), 60);
      await world.change({ spec: { replicas: 2 } });
      await world.pass(5);
      expect((await world.deployment()).metadata.labels?.freeze).toBe('True');
      line.cut(isControl);
      await world.pass(600);
      expect(world.truth.store.size).toBe(2);
      line.mend();
      await world.until(() => world.complete(), 300);
      await world.pass(70);
      expect((await world.deployment()).metadata.labels?.freeze).toBeUndefined();
      expect((await world.sets()).map(({ metadata }) => metadata.labels?.freeze)).toEqual([undefined]);
      await world.change({ spec: { replicas: 4 } });
      await world.until(() => world.complete(), 60);
    });
  });
});

describe('the API server of the nodes is unreachable', () => {
  test('a rollout continues: machines do not wait, and the marks of nodes are corrected later', async () => {
    await inWorld({}, async (world, line) => {
      await world.deploy(4);
      await world.until(() => world.complete(), 60);
      const seen = extremes(world);
      line.cut(isTarget);
      await world.changeClass('large');
      await world.until(() => world.complete(), 300);
      expect([seen.most, seen.least]).toEqual([5, 4]);
      line.mend();
      await world.pass(120);
      for (const node of await world.nodes()) {
        expect([node.spec.taints ?? [], node.metadata.annotations ?? {}]).toEqual([[], {}]);
      }
      expect((await world.deployment()).status?.conditions?.map(({ type }) => type).sort()).toEqual([
        'Available',
        'Progressing',
      ]);
    });
  });

  test('an in-place update waits: no machine is handed over, created or deleted, and it continues by itself', async () => {
    const inPlace = { maxSurge: 0, maxUnavailable: 1, orchestrationType: 'Auto' } as const;
    await inWorld({}, async (world, line) => {
      await world.deploy(3, { strategy: { type: 'InPlaceUpdate', inPlaceUpdate: inPlace } });
      await world.until(() => world.complete(), 60);
      const before = world.truth.store.list().map(({ metadata }) => metadata.uid);
      line.cut(isTarget);
      await world.changeClass('large');
      await world.pass(900);
      expect(world.truth.store.list().map(({ metadata }) => metadata.uid)).toEqual(before);
      expect(world.available()).toBe(3);
      line.mend();
      const selected = 'node.machine.sapcloud.io/selected-for-update';
      const candidate = 'node.machine.sapcloud.io/candidate-for-update';
      const marked = async (key: string) =>
        (await world.nodes()).filter((node) => node.metadata.labels?.[key] === 'true').length;
      await world.until(async () => (await marked(candidate)) === 3, 300);
      await world.pass(5);
      expect(await marked(selected)).toBe(1);
    });
  });
});
