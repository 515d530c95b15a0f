import { Labels, type Machine, type MachineSet, phaseOf } from '@mcm/api';
import { thoroughly } from '@mcm/kube/testing';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { currentReplicas, planRollingUpdate } from '../deployment/rollout/rolling-update.ts';
import { sizeOf } from '../deployment/state/size.ts';
import { createdAt, isAvailable, isFailed, isReplacement, isTerminating, type LostState } from '../objects/machines.ts';
import { chooseForDeletion } from '../set/replicas/deletion-order.ts';
import { LostReplicas } from '../set/replicas/lost-replicas.ts';
import { planReplicas, survivors } from '../set/replicas/replicas.ts';
import { machine, NOW, set } from '../set/test-objects.ts';
import { JOIN_PATIENCE_MS } from './budget.ts';
import { hasFailures, planRepairs } from './repairs.ts';

type Act =
  | { readonly do: 'sync' | 'run' | 'fail' | 'spoil' | 'bury' | 'delete' | 'see'; readonly which: number }
  | { readonly do: 'create'; readonly which: number; readonly most: number }
  | { readonly do: 'roll' | 'decide' | 'kill' | 'template' | 'back' }
  | { readonly do: 'freeze'; readonly which: number }
  | { readonly do: 'scale'; readonly replicas: number }
  | { readonly do: 'wait'; readonly minutes: number };

const which = fc.nat(40);
const often = fc.oneof(
  fc.record({ do: fc.constantFrom('sync' as const, 'run' as const, 'bury' as const, 'see' as const), which }),
  fc.record({ do: fc.constantFrom('fail' as const, 'spoil' as const), which }),
  fc.record({ do: fc.constantFrom('roll' as const, 'decide' as const) }),
);
const act: fc.Arbitrary<Act> = fc.oneof(
  { weight: 8, arbitrary: often },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('create' as const), which, most: fc.nat(2) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('delete' as const, 'freeze' as const), which }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constantFrom('kill' as const, 'template' as const, 'back' as const) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('scale' as const), replicas: fc.integer({ min: 1, max: 8 }) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('wait' as const), minutes: fc.integer({ min: 1, max: 25 }) }) },
);

const history = fc.record({
  replicas: fc.integer({ min: 1, max: 8 }),
  surge: fc.nat(3),
  unavailable: fc.nat(3),
  limit: fc.integer({ min: 1, max: 3 }),
  acts: fc.array(act, { minLength: 20, maxLength: 120 }),
  before: fc.oneof(fc.constant(0), fc.nat(40)),
});
type History = typeof history extends fc.Arbitrary<infer H> ? H : never;

interface Repair {
  readonly former: string;
  readonly idle: boolean;
  successor: string | undefined;
}

interface TestSet {
  set: MachineSet;
  machines: Machine[];
  lost: LostReplicas;
  promised: number | undefined;
  readonly pending: Set<string>;
  repairs: Repair[];
}

let named = 0;

class Model {
  now = NOW.getTime();
  replicas: number;
  readonly surge: number;
  readonly unavailable: number;
  readonly limit: number;
  sets: TestSet[] = [];
  readonly broken: string[] = [];
  original = false;
  finished = true;
  readonly foreign = new Set<string>();

  constructor({ replicas, surge, unavailable, limit }: History) {
    this.replicas = replicas;
    this.surge = surge;
    this.unavailable = surge === 0 ? Math.max(unavailable, 1) : unavailable;
    this.limit = limit;
    const first = this.add(replicas);
    first.machines = Array.from({ length: replicas }, () => this.born('Running'));
  }

  add(replicas: number): TestSet {
    const testSet: TestSet = {
      set: set(`s${++named}`, replicas),
      machines: [],
      lost: new LostReplicas(),
      promised: undefined,
      pending: new Set(),
      repairs: [],
    };
    this.sets.push(testSet);
    return testSet;
  }

  born(phase: 'Running' | 'Pending', lostState?: LostState): Machine {
    const age = (NOW.getTime() - this.now) / 60_000;
    const made = machine(`m${++named}`, { phase, age, ...(lostState && !this.original ? { lostState } : {}) });
    if (this.original) this.foreign.add(made.metadata.uid);
    return made;
  }

  get most(): number {
    return Math.min(this.unavailable, this.replicas);
  }

  alive = ({ machines, pending }: TestSet): Machine[] =>
    machines.filter((one) => !isTerminating(one) && !pending.has(one.metadata.uid));

  repairsOf() {
    const account = (one: TestSet) => ({
      replicas: one.set.spec.replicas ?? 0,
      machines: one.machines,
      lost: one.lost.count(one.set, this.alive(one)),
      isOurs: ({ metadata }: Machine) => !this.foreign.has(metadata.uid),
    });
    const [current, ...old] = this.sets.toReversed();
    return planRepairs({
      replicas: this.replicas,
      unavailable: this.most,
      finished: this.finished,
      current: current && account(current),
      // Empty sets stay in the history until the rollout is complete.
      old: [...old.map(account), ...(this.finished ? [] : [{ replicas: 0, machines: [] }])],
      leaving: ({ metadata }) => this.sets.some(({ pending }) => pending.has(metadata.uid)),
      limit: this.limit,
      unsettled: this.sets.some(({ promised }) => promised !== undefined),
      breakerOf: () => undefined,
      nodeAnnotations: () => ({}),
      now: new Date(this.now),
    });
  }

  sync(testSet: TestSet, makes = Number.POSITIVE_INFINITY): void {
    const { set: owner, pending, machines, lost } = testSet;
    const deleting = new Map([...pending].map((uid) => [uid, 'asked' as const]));
    const replace = lost.look(owner, survivors({ machines, deleting }));
    const repairs = this.repairsOf();
    const plan = planReplicas({
      set: owner,
      machines,
      deleting,
      nodeAnnotations: () => ({}),
      ...(testSet.promised === undefined ? {} : { room: Math.max(testSet.promised - this.alive(testSet).length, 0) }),
      replaceable: new Set(this.original ? machines.filter(isFailed) : repairs.go),
      now: new Date(this.now),
    });
    for (let i = 0; i < Math.min(plan.create, makes); i++) {
      const made = this.born('Pending', replace[i]);
      lost.made(made, replace[i]);
      machines.push(made);
      const empty = testSet.repairs.filter(({ successor }) => successor === undefined);
      const open = empty.find(({ idle }) => !idle) ?? empty[0];
      if (open) open.successor = made.metadata.uid;
    }
    for (const { metadata } of plan.toDelete) pending.add(metadata.uid);
    this.verify(testSet, plan.toDelete);
    testSet.set = { ...owner, status: { ...owner.status, replicas: machines.length, observedGeneration: 1 } };
  }

  underWay(testSet: TestSet): number {
    const alive = this.alive(testSet);
    const open = Math.max((testSet.set.spec.replicas ?? 0) - alive.length, 0);
    testSet.repairs = testSet.repairs.filter((repair) => {
      const made = alive.find(({ metadata }) => metadata.uid === repair.successor);
      if (!made) repair.successor = undefined;
      if (!made) return true;
      return phaseOf(made) === 'Pending' && createdAt(made) + JOIN_PATIENCE_MS > this.now;
    });
    const filled = testSet.repairs.filter(({ successor }) => successor !== undefined);
    const empty = testSet.repairs.filter(({ successor }) => successor === undefined).slice(0, open);
    testSet.repairs = [...filled, ...empty];
    // Idle machines never ran pods, so a new machine can replace any idle machine.
    const idle = filled.filter((repair) => repair.idle).length;
    const there = new Set(testSet.machines.map(({ metadata }) => metadata.uid));
    const formers = testSet.repairs.filter((repair) => repair.idle && there.has(repair.former)).length;
    const unfilled = empty.filter((repair) => repair.idle).length;
    return filled.length - idle + empty.length - unfilled + Math.max(unfilled, formers);
  }

  verify(testSet: TestSet, toDelete: readonly Machine[]): void {
    const wanted = testSet.set.spec.replicas ?? 0;
    // The deletion of a machine that never joined disrupts no pods.
    const isIdle = (one: Machine) => !this.rolls && one.status?.lastOperation !== undefined;
    const repaired = toDelete.filter(isFailed).toSorted((a, b) => Number(isIdle(a)) - Number(isIdle(b)));
    const begun = repaired.slice(0, Math.max(wanted - this.alive(testSet).length, 0));
    testSet.repairs.push(
      ...begun.map((one) => ({ former: one.metadata.uid, idle: isIdle(one), successor: undefined })),
    );
    const all = this.sets.reduce((sum, one) => sum + this.underWay(one), 0);
    if (this.original || begun.length === 0) return;
    if (all > Math.max(this.limit, 1)) this.broken.push(`${all} repairs at once, ${this.limit} are allowed`);
    this.verifySum('a repair began', 0);
  }

  get rolls(): boolean {
    const standing = this.sets.slice(0, -1).some((one) => (one.set.spec.replicas ?? 0) + one.machines.length > 0);
    return standing || !this.finished;
  }

  sum(): number {
    const repairs = this.sets.reduce((total, one) => total + this.underWay(one), 0);
    return Math.max(repairs, this.missing());
  }

  verifySum(what: string, before: number): void {
    const [sum, allowed] = [this.sum(), Math.max(this.most, 1)];
    if (!this.rolls || sum <= allowed || sum <= before) return;
    this.broken.push(`${what}: ${sum} are being replaced or unavailable by the rollout, ${allowed} may be`);
  }

  /**
   * Number of replicas that have no available machine because of a replacement or a rollout. Machines that an old set
   * creates for a scale-up do not count as missing.
   */
  missing(): number {
    const now = new Date(this.now);
    const stays = this.sets.map((one) => {
      const alive = this.alive(one);
      const surplus = alive.length - Math.min(one.set.spec.replicas ?? 0, one.promised ?? Number.POSITIVE_INFINITY);
      const toDelete = surplus > 0 ? chooseForDeletion(alive, surplus, now) : [];
      return alive.filter((machine) => !toDelete.includes(machine));
    });
    const late = (one: Machine) => phaseOf(one) === 'Pending' && createdAt(one) + JOIN_PATIENCE_MS <= this.now;
    const filled = stays.flat().filter((one) => isAvailable(one) || isFailed(one) || late(one)).length;
    const births = stays
      .slice(0, -1)
      .flat()
      .filter((one) => phaseOf(one) === 'Pending' && !late(one) && !isReplacement(one)).length;
    return this.replicas - filled - births;
  }

  sizes() {
    return this.sets.map((one) => {
      const available = this.alive(one).filter(isAvailable).length;
      const open = Math.max((one.set.spec.replicas ?? 0) - this.alive(one).length, 0);
      return sizeOf(one.set, { available, replicas: one.machines.length, open });
    });
  }

  decide(): void {
    this.land();
    const sizes = this.sizes();
    const current = sizes.at(-1);
    if (!current) return;
    const repairs = this.repairsOf();
    const share = { free: repairs.budget.free, repairsFirst: hasFailures(repairs) };
    const target = { replicas: this.replicas, surge: this.surge, unavailable: this.most, ...share };
    const before = this.sum();
    const { resize } = planRollingUpdate({ current, old: sizes.slice(0, -1) }, target);
    for (const one of this.sets) {
      const to = resize.get(one.set.metadata.name);
      if (to === undefined) continue;
      if (to < (one.set.spec.replicas ?? 0)) one.promised = to;
      else this.resize(one, to);
    }
    const gaveUp = [...resize.keys()].some((name) => name !== current.name);
    if (!this.original && gaveUp) this.verifySum('the rollout took a step', before);
  }

  land(): void {
    for (const one of this.sets) {
      this.resize(one, one.promised);
      one.promised = undefined;
    }
    this.sets = this.sets.filter((one, index) => {
      const empty = (one.set.spec.replicas ?? 0) + one.machines.length === 0;
      return index === this.sets.length - 1 || !empty;
    });
    const [current, ...old] = this.sets.toReversed();
    const running = current?.machines.filter(isAvailable).length;
    if (old.length === 0 && running === this.replicas) this.finished = true;
  }

  roll(): void {
    this.decide();
    this.land();
  }

  resize(one: TestSet, replicas: number | undefined): void {
    if (replicas !== undefined) one.set = { ...one.set, spec: { ...one.set.spec, replicas } };
  }

  template(): void {
    this.land();
    this.finished = false;
    const sizes = this.sets.map((one) => sizeOf(one.set, { available: 0, replicas: one.machines.length }));
    const target = { replicas: this.replicas, surge: this.surge, unavailable: this.most };
    this.add(currentReplicas({ current: undefined, old: sizes }, target));
  }

  change(one: Machine, owner: TestSet, with_: (machine: Machine) => Machine): void {
    owner.machines = owner.machines.map((other) => (other === one ? with_(one) : other));
  }
}

const inPhase = (phase: 'Running' | 'Failed', since: number) => (one: Machine) => ({
  ...one,
  status: { currentStatus: { phase, lastUpdateTime: new Date(since).toISOString() } },
});
const spoilt = (since: number) => (one: Machine) => ({
  ...inPhase('Failed', since)(one),
  status: {
    ...inPhase('Failed', since)(one).status,
    lastOperation: { type: 'Create' as const, state: 'Failed' as const, lastUpdateTime: new Date(since).toISOString() },
  },
});
const deleting = (one: Machine): Machine => ({
  ...one,
  metadata: { ...one.metadata, deletionTimestamp: NOW.toISOString() },
});

function onMachine(model: Model, { do: what, which: nth }: { readonly do: string; readonly which: number }): void {
  const all = model.sets.flatMap((owner) => owner.machines.map((one) => ({ owner, one })));
  const gone = (uid: string) => model.sets.some(({ pending }) => pending.has(uid));
  const able = all.filter(({ one }) => {
    const { uid, deletionTimestamp } = one.metadata;
    if (what === 'bury') return deletionTimestamp !== undefined || gone(uid);
    if (what === 'see') return deletionTimestamp === undefined && gone(uid);
    if (isTerminating(one)) return false;
    if (what === 'run' || what === 'spoil') return phaseOf(one) === 'Pending';
    return what === 'fail' ? isAvailable(one) : true;
  });
  const chosen = able[nth % Math.max(able.length, 1)];
  if (!chosen) return;
  const { owner, one } = chosen;
  if (what === 'bury') {
    owner.machines = owner.machines.filter((other) => other !== one);
    owner.pending.delete(one.metadata.uid);
  }
  if (what === 'see' || what === 'delete') {
    model.change(one, owner, deleting);
    owner.pending.delete(one.metadata.uid);
  }
  if (what === 'run' || what === 'fail')
    model.change(one, owner, inPhase(what === 'run' ? 'Running' : 'Failed', model.now));
  if (what === 'spoil') model.change(one, owner, spoilt(model.now));
  for (const testSet of model.sets) model.underWay(testSet);
}

function freeze(chosen: TestSet): void {
  const { [Labels.Freeze]: frozen, ...labels } = chosen.set.metadata.labels ?? {};
  const others = frozen === undefined ? { ...labels, [Labels.Freeze]: 'True' } : labels;
  chosen.set = { ...chosen.set, metadata: { ...chosen.set.metadata, labels: others } };
}

function restart(one: TestSet): void {
  one.lost = new LostReplicas();
  one.machines = one.machines.map((other) => (one.pending.has(other.metadata.uid) ? deleting(other) : other));
  one.pending.clear();
}

function onSet(model: Model, chosen: TestSet, action: Act): void {
  if (action.do === 'freeze') freeze(chosen);
  if (action.do === 'sync') model.sync(chosen);
  if (action.do === 'create') model.sync(chosen, action.most);
}

function onAll(model: Model, action: Act): void {
  if (action.do === 'roll') model.roll();
  if (action.do === 'decide') model.decide();
  if (action.do === 'template') model.template();
  if (action.do === 'back') {
    model.land();
    model.finished = false;
  }
  if (action.do === 'back') model.sets = [...model.sets.slice(1), ...model.sets.slice(0, 1)];
  if (action.do === 'scale') model.replicas = action.replicas;
  if (action.do === 'wait') model.now += action.minutes * 60_000;
  if (action.do === 'kill') {
    model.land();
    model.sets.forEach(restart);
  }
}

const ON_SET: ReadonlySet<string> = new Set(['sync', 'create', 'freeze']);

function perform(model: Model, action: Act): void {
  const chosen = 'which' in action ? model.sets[action.which % model.sets.length] : undefined;
  if (!('which' in action)) onAll(model, action);
  else if (!ON_SET.has(action.do)) onMachine(model, action);
  else if (chosen) onSet(model, chosen, action);
}

const runs = { numRuns: Number(process.env.MCM_PROPERTY_RUNS ?? thoroughly(5_000, 500)), endOnFailure: true };

function broken(story: History): readonly string[] {
  const model = new Model(story);
  for (const one of model.sets) model.sync(one);
  for (const [index, action] of story.acts.entries()) {
    model.original = index < story.before;
    if (index > 0 && index === story.before) perform(model, { do: 'kill' });
    perform(model, action);
  }
  return model.broken;
}

test('repairs and rollouts keep the limits in every history: failures, restarts, takeovers, frozen sets, failed creations', () => {
  fc.assert(
    fc.property(history, (story) => {
      expect(broken(story)).toEqual([]);
    }),
    runs,
  );
}, 600_000);

test('a set whose last machine was lost knows it after a restart, though its status counts none', () => {
  const acts: readonly Act[] = [
    { do: 'fail', which: 0 },
    { do: 'create', which: 0, most: 0 },
    { do: 'bury', which: 0 },
    { do: 'template' },
    { do: 'create', which: 0, most: 0 },
    { do: 'kill' },
    // A machine of the new set never joins, and the replacement of this machine would exceed the limit.
    { do: 'sync', which: 1 },
    { do: 'spoil', which: 0 },
    { do: 'template' },
    { do: 'create', which: 1, most: 1 },
  ];
  expect(broken({ replicas: 1, surge: 2, unavailable: 0, limit: 3, acts: [...acts], before: 0 })).toEqual([]);
});
