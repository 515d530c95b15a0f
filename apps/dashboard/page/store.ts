import { batch, computed, type ReadonlySignal, type Signal, signal } from '@preact/signals';
import type {
  ClassRow,
  ClusterRow,
  ControllerRow,
  Delta,
  DeploymentRow,
  DrainRow,
  EventRow,
  Frame,
  Level,
  MachineRow,
  PoolRow,
  TrendSample,
} from '../src/wire.ts';
import { isRegrouped, matches, namespace } from './filters.ts';

export const connection = signal<'connecting' | 'live' | 'lost'>('connecting');
/** Sentences that tell the user which data is missing or outdated. */
export const gaps = signal<readonly string[]>([]);
/** The namespace that the server watches. If `watched` is empty, the server watches all namespaces. */
export const watched = signal<string | undefined>(undefined);
export const fleet = signal('');
export const login = signal(false);
export const trend = signal<readonly TrendSample[]>([]);
/** The time of the server in milliseconds, updated every five seconds. */
export const now = signal(Date.now());

/** Each machine has its own signal, so a change of a machine redraws only one tile. */
export const machines = new Map<string, Signal<MachineRow>>();
/** Increases when a machine appears, disappears, or moves to another group. */
export const structure = signal(0);
/** Increases with each message that contains machines. */
export const machineChanges = signal(0);
export const urgent = new Set<string>();

const tables = {
  deployments: signal<ReadonlyMap<string, DeploymentRow>>(new Map()),
  drains: signal<ReadonlyMap<string, DrainRow>>(new Map()),
  classes: signal<ReadonlyMap<string, ClassRow>>(new Map()),
  pools: signal<ReadonlyMap<string, PoolRow>>(new Map()),
  controllers: signal<ReadonlyMap<string, ControllerRow>>(new Map()),
  clusters: signal<ReadonlyMap<string, ClusterRow>>(new Map()),
  events: signal<ReadonlyMap<string, EventRow>>(new Map()),
};
export const { deployments, drains, classes, pools, controllers, clusters, events } = tables;

const tally = new Map<string, Map<Level, number>>();

function count({ ns, level }: MachineRow, more: number): void {
  const ofNamespace = tally.get(ns) ?? new Map<Level, number>();
  ofNamespace.set(level, (ofNamespace.get(level) ?? 0) + more);
  tally.set(ns, ofNamespace);
}

/** Returns for each level the number of machines in a namespace. */
export function countsIn(ns: string): ReadonlyMap<Level, number> {
  machineChanges.value;
  return tally.get(ns) ?? new Map();
}

export const counts: ReadonlySignal<ReadonlyMap<Level, number>> = computed(() => {
  machineChanges.value;
  const sums = new Map<Level, number>();
  for (const [ns, ofNamespace] of tally) {
    if (namespace.value !== '' && ns !== namespace.value) continue;
    for (const [level, number] of ofNamespace) sums.set(level, (sums.get(level) ?? 0) + number);
  }
  return sums;
});

export const namespaces: ReadonlySignal<readonly string[]> = computed(() => {
  structure.value;
  return [...new Set([...tally.keys(), ...[...deployments.value.values()].map(({ ns }) => ns)])].sort();
});

const isUrgent = ({ level }: MachineRow): boolean => level === 'failed' || level === 'blocked';

function putMachine(row: MachineRow): boolean {
  const known = machines.get(row.key);
  const before = known?.peek();
  if (before !== undefined) count(before, -1);
  count(row, 1);
  if (isUrgent(row)) urgent.add(row.key);
  else urgent.delete(row.key);
  if (known === undefined || before === undefined) {
    machines.set(row.key, signal(row));
    return true;
  }
  known.value = row;
  return isRegrouped(before, row);
}

function dropMachine(key: string): void {
  const row = machines.get(key)?.peek();
  if (row === undefined) return;
  count(row, -1);
  urgent.delete(key);
  machines.delete(key);
}

function applyMachines({ put = [], drop = [] }: Delta<MachineRow>): void {
  let moved = drop.length > 0;
  for (const key of drop) dropMachine(key);
  for (const row of put) moved = putMachine(row) || moved;
  if (moved) structure.value += 1;
  machineChanges.value += 1;
}

function applyTable<Row extends { readonly key: string }>(
  table: Signal<ReadonlyMap<string, Row>>,
  { put = [], drop = [] }: Delta<Row>,
  isFirst: boolean,
): void {
  const next = new Map(isFirst ? [] : table.peek());
  for (const key of drop) next.delete(key);
  for (const row of put) next.set(row.key, row);
  table.value = next;
}

export function apply(frame: Frame): void {
  const { first } = frame;
  batch(() => {
    if (Math.abs(frame.at - now.peek()) >= 1_000) now.value = frame.at;
    if (first !== undefined) {
      watched.value = first.namespace;
      fleet.value = first.fleet;
      login.value = first.login;
      trend.value = first.trend;
      const kept = new Set(frame.tables.machines?.put?.map(({ key }) => key));
      for (const key of [...machines.keys()]) if (!kept.has(key)) dropMachine(key);
      structure.value += 1;
    }
    if (frame.gaps !== undefined) gaps.value = frame.gaps;
    if (frame.trend !== undefined) trend.value = mergedTrend(trend.peek(), frame.trend);
    const { machines: changed, ...others } = frame.tables;
    if (changed !== undefined) applyMachines(changed);
    for (const [name, delta] of Object.entries(others)) {
      const table = tables[name as keyof typeof tables] as Signal<ReadonlyMap<string, { readonly key: string }>>;
      applyTable(table, delta as Delta<{ readonly key: string }>, first !== undefined);
    }
  });
}

const MOST_TREND = 2_500;

/** Appends new samples to the trend. */
function mergedTrend(before: readonly TrendSample[], added: readonly TrendSample[]): readonly TrendSample[] {
  const from = added[0]?.[0] ?? 0;
  const kept = before.at(-1)?.[0] === from ? before.slice(0, -1) : before;
  return [...kept, ...added].slice(-MOST_TREND);
}

export const shown: ReadonlySignal<readonly Signal<MachineRow>[]> = computed(() => {
  structure.value;
  return [...machines.values()].filter((row) => matches(row.peek()));
});

export const inNamespace = <Row extends { readonly ns: string }>(rows: ReadonlyMap<string, Row>): readonly Row[] =>
  [...rows.values()].filter(({ ns }) => namespace.value === '' || ns === namespace.value);

/** Advances `now` between two messages, so that the displayed ages stay correct. */
export function startClock(): void {
  let last = performance.now();
  setInterval(() => {
    const at = performance.now();
    now.value += at - last;
    last = at;
  }, 5_000);
}
