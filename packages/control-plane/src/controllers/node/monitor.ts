import type { Timer } from '../../apimachinery/objects/clock.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { formatTime } from '../../apimachinery/objects/object-text.ts';
import { allowing } from '../client/api.ts';
import { NODES } from '../client/resources.ts';
import type { ControllerContext } from '../runtime/controller.ts';
import type { Informer } from '../runtime/informer.ts';
import { lostConditions, readyOf } from './conditions.ts';
import type { EvictionRules } from './eviction-rules.ts';
import { Heartbeats } from './heartbeats.ts';
import { PacedQueue } from './paced-queue.ts';
import { expellingKey, expellingKeyFor, expellingTaints } from './taints.ts';
import { assessZones, countsInZone, type ZoneCount, type ZoneState, zoneOf } from './zones.ts';

const ROUND_MS = 5_000;
const AT_ONCE = 16;

interface Known {
  readonly zone: string;
  readonly ready: string | undefined;
  readonly counts: boolean;
}

interface Hooks {
  readonly onLost: (node: ApiObject) => void;
}

type Context = Pick<ControllerContext, 'api' | 'clock' | 'queue'>;

/**
 * Finds unreachable nodes, and adds taints to nodes that are not ready. While all zones are unreachable, no node gets a
 * taint.
 */
export class NodeMonitor {
  readonly #context: Context;
  readonly #nodes: Informer;
  readonly #hooks: Hooks;
  readonly #rules: EvictionRules;
  readonly #heartbeats = new Heartbeats(ROUND_MS);
  readonly #known = new Map<string, Known>();
  readonly #counts = new Map<string, ZoneCount>();
  readonly #queues = new Map<string, PacedQueue>();
  #states: ReadonlyMap<string, ZoneState> = new Map();
  #pending = new Set<string>();
  #reassess = false;
  #timer: { readonly at: number; readonly timer: Timer } | undefined;
  readonly #rounds;
  readonly #expulsions;

  constructor(context: Context, rules: EvictionRules, nodes: Informer, hooks: Hooks) {
    this.#context = context;
    this.#nodes = nodes;
    this.#hooks = hooks;
    this.#rules = rules;
    this.#rounds = context.queue(() => this.#round());
    this.#expulsions = context.queue((name) => this.#expel(name));
  }

  /** Returns the Ready status of a node. */
  ready(name: string): string | undefined {
    return this.#known.get(name)?.ready;
  }

  beat(name: string): void {
    this.#heartbeats.beat(name, this.#now());
  }

  changed(node: ApiObject): void {
    const { name = '', creationTimestamp } = node.metadata;
    // Before the first heartbeat of a node, its grace period starts at the creation of the node.
    const created = Date.parse(creationTimestamp ?? '');
    if (!this.#heartbeats.knows(name)) {
      this.#heartbeats.beat(name, readyOf(node) === undefined && created < this.#now() ? created : this.#now());
    }
    this.#pending.add(name);
    this.#arm();
  }

  gone(name: string): void {
    this.#heartbeats.forget(name);
    this.#count(name, undefined);
    this.#pending.delete(name);
    this.#reassess = true;
    this.#arm();
  }

  stop(): void {
    this.#timer?.timer.cancel();
    for (const queue of this.#queues.values()) queue.stop();
  }

  #now(): number {
    return this.#context.clock.now().getTime();
  }

  #arm(): void {
    const hasWork = this.#pending.size > 0 || this.#reassess;
    const next = hasWork ? (Math.floor(this.#now() / ROUND_MS) + 1) * ROUND_MS : this.#heartbeats.next();
    if (next === undefined || (this.#timer !== undefined && this.#timer.at <= next)) return;
    this.#timer?.timer.cancel();
    const ring = (): void => {
      this.#timer = undefined;
      this.#rounds.add('round');
    };
    this.#timer = { at: next, timer: this.#context.clock.setTimeout(ring, Math.max(0, next - this.#now())) };
  }

  async #round(): Promise<void> {
    const names = [...new Set([...this.#pending, ...this.#heartbeats.due(this.#now())])];
    this.#pending = new Set();
    this.#reassess = false;
    const failures: unknown[] = [];
    for (let at = 0; at < names.length; at += AT_ONCE) {
      const looks = names.slice(at, at + AT_ONCE).map((name) =>
        this.#look(name).catch((error: unknown) => {
          this.#pending.add(name);
          failures.push(error);
        }),
      );
      await Promise.all(looks);
    }
    await this.#assess();
    for (const [zone, queue] of this.#queues) {
      queue.run();
      if (queue.isEmpty && !this.#counts.has(zone)) this.#queues.delete(zone);
    }
    this.#arm();
    if (failures.length > 0) throw failures[0];
  }

  async #look(name: string): Promise<void> {
    const node = this.#nodes.get(name);
    if (node === undefined) return;
    const observed = readyOf(node);
    const deadline = this.#heartbeats.deadline(name, observed !== undefined);
    let ready = observed;
    if (deadline < this.#now()) {
      const reported = await this.#reportLost(node);
      if (reported === 'conflict') return;
      ready = 'Unknown';
    } else if (observed !== 'Unknown') this.#heartbeats.watch(name, deadline);
    this.#count(name, { zone: zoneOf(node), ready, counts: countsInZone(node) });
    if (ready === undefined) return;
    if (observed === 'True' && ready !== 'True') this.#hooks.onLost(node);
    await this.#markForExpulsion(node, ready);
  }

  async #reportLost(node: ApiObject): Promise<'reported' | 'conflict'> {
    const { name, resourceVersion } = node.metadata;
    const conditions = lostConditions(node, formatTime(this.#context.clock.now()));
    if (conditions === undefined) return 'reported';
    const patch = { metadata: { resourceVersion }, status: { conditions } };
    const reported = await allowing(this.#context.api.patch(NODES, { name, subresource: 'status' }, patch), 404, 409);
    // The next round must check the node again, even if no event about the changed conditions arrives.
    if (reported === undefined) this.#pending.add(name ?? '');
    return reported === undefined ? 'conflict' : 'reported';
  }

  /** Removes the taint of a ready node and replaces a wrong taint immediately. The queue delays only a first taint. */
  async #markForExpulsion(node: ApiObject, ready: string): Promise<void> {
    const { name = '' } = node.metadata;
    const queue = this.#queueOf(zoneOf(node));
    const wanted = expellingKeyFor(ready);
    const present = expellingKey(node);
    if (wanted === undefined) queue.remove(name);
    if (present === wanted) return;
    if (wanted === undefined || present !== undefined) await this.#taint(node, wanted);
    else queue.add(name);
  }

  async #expel(name: string): Promise<void> {
    const node = this.#nodes.get(name);
    if (node === undefined) return;
    const wanted = expellingKeyFor(readyOf(node) ?? '');
    if (wanted !== undefined) await this.#taint(node, wanted);
  }

  async #taint(node: ApiObject, key: string | undefined): Promise<void> {
    const taints = expellingTaints(node, key, formatTime(this.#context.clock.now()));
    if (taints === undefined) return;
    const { name = '', resourceVersion } = node.metadata;
    const patch = { metadata: { resourceVersion }, spec: { taints: taints.length === 0 ? null : taints } };
    if ((await allowing(this.#context.api.patch(NODES, { name }, patch), 404, 409)) !== undefined) return;
    this.#pending.add(name);
    this.#arm();
  }

  async #assess(): Promise<void> {
    const { change, states, rates } = assessZones(this.#counts, this.#states, this.#rules);
    this.#states = states;
    for (const [zone, rate] of rates) this.#queueOf(zone).setRate(rate);
    if (change === 'leave') this.#heartbeats.beatAll(this.#now());
    if (change !== 'enter') return;
    // If all zones are unreachable, the control plane has probably lost its network.
    for (const node of this.#nodes.all()) {
      const { name = '' } = node.metadata;
      const ready = this.ready(name);
      if (expellingKey(node) !== undefined) await this.#taint(node, undefined);
      if (ready !== undefined && ready !== 'True') this.#queueOf(zoneOf(node)).add(name);
    }
  }

  #queueOf(zone: string): PacedQueue {
    let queue = this.#queues.get(zone);
    if (queue === undefined) {
      const { clock } = this.#context;
      queue = new PacedQueue(clock, this.#rules.nodeEvictionRate, (name) => this.#expulsions.add(name));
      this.#queues.set(zone, queue);
    }
    return queue;
  }

  #count(name: string, next: Known | undefined): void {
    const old = this.#known.get(name);
    if (old !== undefined && old.zone !== next?.zone) this.#queues.get(old.zone)?.remove(name);
    for (const [known, step] of [
      [old, -1],
      [next, 1],
    ] as const) {
      if (known?.counts !== true) continue;
      const { ready = 0, notReady = 0 } = this.#counts.get(known.zone) ?? {};
      const isReady = known.ready === 'True';
      const count = { ready: ready + (isReady ? step : 0), notReady: notReady + (isReady ? 0 : step) };
      if (count.ready + count.notReady === 0) this.#counts.delete(known.zone);
      else this.#counts.set(known.zone, count);
    }
    if (next === undefined) this.#known.delete(name);
    else this.#known.set(name, next);
  }
}
