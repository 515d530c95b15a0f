import type { Node, Taint } from '@mcm/kube';
import { partial, thoroughly } from '@mcm/kube/testing';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { conditionOf } from '../conditions/conditions.ts';
import { annotationOf, isDone, targetOf } from '../conditions/predicates.ts';
import { ConfigAnnotations, NodeAnnotations } from '../constants/annotations.ts';
import { DaemonStates } from '../constants/states.ts';
import { type DaemonStep, type DaemonView, decide, type Verdict } from '../daemon/decide.ts';
import type { ControllerConfig } from '../kinds/controller-config.ts';
import type { MachineConfigPool } from '../kinds/machine-config-pool.ts';
import { planPool } from './plan.ts';

const { CurrentConfig, DesiredConfig, State, DesiredDrain, LastAppliedDrain } = NodeAnnotations;
const HOUR = 3_600_000;
const START = Date.parse('2026-01-01T12:00:00Z');
const TARGET = 'rendered-worker-good';
/** `FORMER` is a config from which each node can update, and `BAD` is a config that no node can apply. */
const FORMER = 'rendered-worker-former';
const BAD = 'rendered-worker-bad';
/** The maximum number of steps between two waits of a daemon, larger than any real number of steps. */
const MOST_STEPS = 50;

const config = fc.constantFrom(TARGET, FORMER, BAD);
const anyNode = fc.record({
  stored: fc.constantFrom(TARGET, FORMER, undefined),
  desired: fc.option(config, { nil: undefined }),
  state: fc.constantFrom(...Object.values(DaemonStates), undefined),
  drain: fc.option(fc.record({ verb: fc.constantFrom('drain', 'uncordon'), of: config, answered: fc.boolean() }), {
    nil: undefined,
  }),
  /** The config that the Node reports, which may differ from the disk after a crash or a restore. */
  current: fc.constantFrom('disk', TARGET, FORMER, undefined),
  isNew: fc.boolean(),
  drains: fc.boolean(),
});
const anyState = fc.record({
  nodes: fc.array(anyNode, { minLength: 1, maxLength: 5 }),
  maxUnavailable: fc.integer({ min: 1, max: 3 }),
  haltAt: fc.nat(2),
  canary: fc.option(fc.integer({ min: 1, max: 2 }), { nil: undefined }),
  wasPaused: fc.boolean(),
});
type AnyState = typeof anyState extends fc.Arbitrary<infer S> ? S : never;
type AnyNode = AnyState['nodes'][number];

class PlayedNode {
  readonly name: string;
  #stored: string | undefined;
  readonly #annotations: Record<string, string>;
  #unschedulable: boolean;
  #taints: readonly Taint[] | undefined;
  readonly #born: number;
  readonly #drains: boolean;
  #first: string | null | undefined;
  #verdict: (Verdict & { readonly target: string }) | undefined;
  #failure: DaemonView['failure'];

  constructor(name: string, { stored, desired, state, drain, current, isNew, drains }: AnyNode) {
    this.name = name;
    this.#drains = drains;
    this.#stored = stored;
    const asked = drain && `${drain.verb}-${drain.of}`;
    const known = current === 'disk' ? stored : current;
    const all = {
      [CurrentConfig]: known,
      [DesiredConfig]: desired,
      [State]: state,
      [DesiredDrain]: asked,
      [LastAppliedDrain]: drain?.answered ? asked : undefined,
    };
    this.#annotations = Object.fromEntries(Object.entries(all).filter((one): one is [string, string] => !!one[1]));
    this.#unschedulable = drain !== undefined && (drain.verb === 'drain') === drain.answered;
    this.#born = isNew ? START - 60_000 : START - 48 * HOUR;
  }

  get node(): Node {
    return partial<Node>({
      apiVersion: 'v1',
      kind: 'Node',
      metadata: {
        name: this.name,
        uid: this.name,
        creationTimestamp: new Date(this.#born).toISOString(),
        annotations: { ...this.#annotations },
      },
      spec: { unschedulable: this.#unschedulable, ...(this.#taints && { taints: this.#taints }) },
      status: { conditions: [{ type: 'Ready', status: 'True' }] },
    });
  }

  get stored(): string | undefined {
    return this.#stored;
  }

  patch(annotations: Readonly<Record<string, string | null>>, taints?: readonly Taint[]): void {
    for (const [key, value] of Object.entries(annotations)) {
      if (value === null) delete this.#annotations[key];
      else this.#annotations[key] = value;
    }
    if (taints) this.#taints = taints;
  }

  live(pool: MachineConfigPool, now: number): void {
    for (let steps = 0; steps < MOST_STEPS; steps += 1) {
      this.#answerDrain();
      const step = decide(this.#view(now));
      if (step.kind === 'idle') return;
      if (step.kind === 'wait') {
        this.#first = undefined;
        if (!this.#answerDrain()) return;
      } else this.#carryOut(step, pool, now);
    }
    throw new Error(`${this.name} does not come to rest: ${JSON.stringify(this.#annotations)}`);
  }

  #answerDrain(): boolean {
    const { [DesiredDrain]: asked, [LastAppliedDrain]: answered } = this.#annotations;
    if (asked === undefined || asked === answered) return false;
    this.#unschedulable = asked.startsWith('drain-');
    this.#annotations[LastAppliedDrain] = asked;
    return true;
  }

  #view(now: number): DaemonView {
    const verdict = this.#verdict?.target === this.#annotations[DesiredConfig] ? this.#verdict : undefined;
    return {
      nodeName: this.name,
      annotations: this.#annotations,
      forced: false,
      now,
      askedAt: now,
      settled: now - this.#born >= 10 * 60_000,
      ...(this.#stored !== undefined && { stored: this.#stored }),
      ...(this.#first !== undefined && { first: this.#first }),
      ...(verdict && { verdict }),
      ...(this.#failure && { failure: this.#failure }),
    };
  }

  #carryOut(step: DaemonStep, pool: MachineConfigPool, now: number): void {
    const fail = (target: string) => {
      this.#failure = { target, reason: `cannot apply ${target}`, retryAt: now + 60_000 };
      this.#verdict = undefined;
    };
    if (step.kind === 'write') this.patch(step.annotations);
    else if (step.kind === 'first') this.#first = targetOf(pool);
    else if (step.kind === 'adopt') this.#stored = step.name;
    else if (step.kind === 'evaluate') this.#verdict = { kind: 'fits', drains: this.#drains, target: step.target };
    else if (step.kind === 'apply' && step.target === BAD) fail(BAD);
    else if (step.kind === 'apply') [this.#stored, this.#failure, this.#verdict] = [step.target, undefined, undefined];
    else throw new Error(`the daemon of ${this.name} does what was not expected: ${step.kind}`);
  }
}

const CONTROLLER = partial<ControllerConfig>({ metadata: { name: 'machine-config-controller' }, spec: {} });

function live(
  { nodes: states, maxUnavailable, haltAt, canary, wasPaused }: AnyState,
  target: string,
): {
  readonly played: readonly PlayedNode[];
  readonly pool: MachineConfigPool;
  readonly disturbed: ReadonlySet<string>;
} {
  const played = states.map((state, index) => new PlayedNode(`n${index}`, state));
  const annotations = canary === undefined ? {} : { [ConfigAnnotations.Canary]: String(canary) };
  let pool = partial<MachineConfigPool>({
    metadata: { name: 'worker', generation: 1, annotations },
    spec: {
      maxUnavailable,
      paused: wasPaused,
      configuration: { name: target },
      nodeSelector: { matchLabels: { worker: '' } },
    },
  });
  const disturbed = new Set<string>();
  const most = 10 + 6 * played.length;
  for (let round = 0; round < most; round += 1) {
    const now = START + round * HOUR;
    const plan = planPool({
      pool,
      pools: [pool],
      nodes: played.map(({ node }) => node),
      controllerConfig: CONTROLLER,
      haltAt,
      machineConfig: () => undefined,
      now: new Date(now).toISOString(),
    });
    for (const { name, annotations: changes, taints } of plan.nodes) {
      const targeted = played.find((one) => one.name === name);
      if (targeted && isServing(targeted.node) && plan.targeted.includes(name)) disturbed.add(name);
      targeted?.patch(changes, taints);
    }
    if (plan.status) pool = { ...pool, status: plan.status };
    for (const one of played) one.live(pool, now);
    if (round === 0) pool = { ...pool, spec: { ...pool.spec, paused: false } } as MachineConfigPool;
    const isUpdated = conditionOf(pool.status?.conditions, 'Updated')?.status === 'True';
    if (isUpdated && played.every(isThere)) return { played, pool, disturbed };
  }
  return { played, pool, disturbed };
}

const isServing = (node: Node): boolean => isDone(node) && !node.spec?.unschedulable;

const isThere = ({ node, stored }: PlayedNode): boolean =>
  stored === TARGET && isDone(node) && annotationOf(node, CurrentConfig) === TARGET && !node.spec?.unschedulable;

function expectArrival(state: AnyState): void {
  const { played, pool } = live(state, TARGET);
  const left = played.filter((one) => !isThere(one)).map(({ node, stored }) => [stored, node.metadata, node.spec]);
  expect([left, conditionOf(pool.status?.conditions, 'Updated')?.status]).toEqual([[], 'True']);
}

/** Expects that an invalid target stops after maxUnavailable nodes, and that the pool reports each broken node. */
function expectHonesty(state: AnyState): void {
  const { played, pool, disturbed } = live(state, BAD);
  const isHarmed = ({ node }: PlayedNode) => annotationOf(node, DesiredConfig) === BAD;
  expect(disturbed.size).toBeLessThanOrEqual(state.maxUnavailable);
  const { status, message = '' } = conditionOf(pool.status?.conditions, 'NodeDegraded') ?? {};
  const reported = played.filter(isHarmed).map(({ name }) => `Node ${name} is reporting: "cannot apply ${BAD}"`);
  expect([status, reported.filter((text) => !message.includes(text))]).toEqual(['True', []]);
}

const runs = {
  numRuns: Number(process.env.MCM_PROPERTY_RUNS ?? thoroughly(300, 80)),
  endOnFailure: process.env.MCM_SHRINK !== 'true',
};

test('a pool reaches its target from any state of its nodes, in a limited number of rounds after the faults stop', () => {
  fc.assert(fc.property(anyState, expectArrival), runs);
});

test('a configuration that no node can apply stops at maxUnavailable nodes, and the pool reports each with its reason', () => {
  fc.assert(fc.property(anyState, expectHonesty), runs);
});
