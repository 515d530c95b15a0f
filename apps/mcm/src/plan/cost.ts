import { Annotations, type Machine, type MachineClass, type MachineDeployment, type MachineSet } from '@mcm/api';
import { powerOf, type Simulation, warmSettingOf, warmStateOf } from '@mcm/core';
import { controllerOf } from '@mcm/kube';

export interface CostInput {
  readonly deployment: MachineDeployment;
  readonly sets: readonly MachineSet[];
  readonly fleet: readonly Machine[];
  readonly classes: readonly MachineClass[];
  readonly steps: Simulation['steps'];
  readonly gone: (machine: Machine) => number;
  /** The time until the VM of a new warm machine is stopped. */
  readonly warmMs: number;
}

export interface Costs {
  readonly text: string | undefined;
  /** Sentences about classes whose quota is too small for the plan. */
  readonly shortages: readonly string[];
  /** Sentences about invalid annotations, and about classes that have no price. */
  readonly remarks: readonly string[];
}

interface Price {
  readonly amount: number;
  readonly currency: string;
}

type Counts = ReadonlyMap<string, number>;

const PRICE = /^(\d{1,9}(?:\.\d{1,6})?)(?: ([A-Z]{3}))?$/;
const QUOTA = /^\d{1,9}$/;

const { HourlyPrice, Quota } = Annotations;

const textIn = ({ metadata }: MachineClass, key: string): string | undefined => metadata.annotations?.[key]?.trim();

function priceOf(machineClass: MachineClass): Price | undefined {
  const [, amount, currency = ''] = PRICE.exec(textIn(machineClass, HourlyPrice) ?? '') ?? [];
  return amount === undefined ? undefined : { amount: Number(amount), currency };
}

function quotaOf(machineClass: MachineClass): number | undefined {
  const text = textIn(machineClass, Quota) ?? '';
  return QUOTA.test(text) ? Number(text) : undefined;
}

const classIn = ({ spec }: Pick<Machine, 'spec'>): string => spec.class.name ?? '';

type Owners = Pick<CostInput, 'deployment' | 'sets'>;

const ownersOf = ({ deployment, sets }: Owners): ReadonlySet<string> =>
  new Set([deployment, ...sets].map(({ metadata }) => metadata.uid));

/** Returns true if the VM of a machine runs. A stopped VM needs no quota, and only its disk costs money. */
const runs = (machine: Machine): boolean => warmStateOf(machine) === undefined || powerOf(machine)?.is !== 'Stopped';

interface CountChange {
  readonly at: number;
  readonly by: number;
}

function changesOf(
  { afterMs, action }: Simulation['steps'][number],
  machine: Machine | undefined,
  { deployment, gone, warmMs }: CostInput,
): readonly CountChange[] {
  const setting = warmSettingOf(deployment);
  const stops = setting !== undefined && 'state' in setting && setting.state !== 'Running';
  const hasRun = machine === undefined || runs(machine);
  if (action === 'make') return [{ at: afterMs, by: 1 }];
  if (action === 'use warm') return hasRun ? [] : [{ at: afterMs, by: 1 }];
  if (action === 'make warm') return [{ at: afterMs, by: 1 }, ...(stops ? [{ at: afterMs + warmMs, by: -1 }] : [])];
  if (action !== 'delete' && action !== 'delete warm') return [];
  return hasRun || action === 'delete' ? [{ at: afterMs + (machine ? gone(machine) : 0), by: -1 }] : [];
}

/**
 * Returns for each class how many machines with a running VM exist now, and after each step of the plan. A deleted
 * machine counts until its VM no longer exists.
 */
function countsOf(input: CostInput): readonly Counts[] {
  const { deployment, sets, fleet, steps } = input;
  const uids = ownersOf(input);
  const own = fleet.filter((machine) => uids.has(controllerOf(machine)?.uid ?? ''));
  const byName = new Map(own.map((machine) => [machine.metadata.name, machine]));
  const ofSet = (name: string | undefined): string =>
    sets.find(({ metadata }) => metadata.name === name)?.spec.template.spec.class.name ??
    deployment.spec.template.spec.class.name ??
    '';
  const changes = steps.flatMap((step) => {
    const machine = byName.get(step.name);
    const machineClass = machine ? classIn(machine) : ofSet(step.set);
    return changesOf(step, machine, input).map((change) => ({ ...change, machineClass }));
  });
  const running = own.filter(runs);
  let counts: Counts = new Map([...Map.groupBy(running, classIn)].map(([name, machines]) => [name, machines.length]));
  const all = [counts];
  // A VM whose drain never ends stays and costs money, so its deletion is not counted.
  const ending = changes.filter(({ at }) => Number.isFinite(at));
  for (const { machineClass, by } of ending.toSorted((a, b) => a.at - b.at || b.by - a.by)) {
    counts = new Map(counts).set(machineClass, (counts.get(machineClass) ?? 0) + by);
    all.push(counts);
  }
  return all;
}

function priceText(all: readonly Counts[], classes: readonly MachineClass[]): string | undefined {
  const prices = new Map(classes.map((one) => [one.metadata.name, priceOf(one)]));
  const used = [...new Set(all.flatMap((counts) => [...counts.keys()]))].flatMap((name) => prices.get(name) ?? []);
  if (used.length === 0) return undefined;
  const currencies = [...new Set(used.map(({ currency }) => currency))];
  if (currencies.length > 1) return `unknown, because the prices have different currencies: ${currencies.join(', ')}`;
  const sums = all.map((counts) =>
    [...counts].reduce((sum, [name, count]) => sum + count * (prices.get(name)?.amount ?? 0), 0),
  );
  const unit = currencies[0] ? ` ${currencies[0]}` : '';
  const print = (sum: number): string => `${Number(sum.toFixed(4))}${unit} per hour`;
  return `${print(sums[0] ?? 0)} now, at most ${print(Math.max(...sums))} during the plan, ${print(sums.at(-1) ?? 0)} at the end`;
}

function shortagesOf(all: readonly Counts[], { fleet, classes, ...owners }: CostInput): readonly string[] {
  const uids = ownersOf(owners);
  return classes.flatMap((one) => {
    const { name } = one.metadata;
    const quota = quotaOf(one);
    const peak = Math.max(...all.map((counts) => counts.get(name) ?? 0));
    const isUsed = peak > (all[0]?.get(name) ?? 0);
    if (quota === undefined || !isUsed) return [];
    const isOther = (machine: Machine): boolean =>
      classIn(machine) === name && !uids.has(controllerOf(machine)?.uid ?? '') && runs(machine);
    const others = fleet.filter(isOther);
    const needed = peak + others.length;
    return needed <= quota
      ? []
      : [`MachineClass ${name}: the plan needs ${needed} machines at the same time, but ${Quota} is ${quota}`];
  });
}

function remarksOf(all: readonly Counts[], classes: readonly MachineClass[], hasPrice: boolean): readonly string[] {
  const used = new Set(all.flatMap((counts) => [...counts.keys()]));
  return classes
    .filter(({ metadata }) => used.has(metadata.name))
    .flatMap((one) => {
      const { name } = one.metadata;
      const [price, quota] = [textIn(one, HourlyPrice), textIn(one, Quota)];
      return [
        ...(price !== undefined && priceOf(one) === undefined
          ? [`MachineClass ${name}: mcm ignores ${HourlyPrice} "${price}"; write a price such as "0.096 USD"`]
          : []),
        ...(quota !== undefined && quotaOf(one) === undefined
          ? [`MachineClass ${name}: mcm ignores ${Quota} "${quota}"; write a number of machines`]
          : []),
        ...(hasPrice && price === undefined ? [`the costs do not include machines of MachineClass ${name}`] : []),
      ];
    });
}

/** Estimates the costs of a plan, and compares the number of machines with the quotas. */
export function costsOf(input: CostInput): Costs {
  const all = countsOf(input);
  const text = priceText(all, input.classes);
  return {
    text,
    shortages: shortagesOf(all, input),
    remarks: remarksOf(all, input.classes, text !== undefined),
  };
}
