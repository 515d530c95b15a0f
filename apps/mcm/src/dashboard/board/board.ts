import { Labels, type Machine, type MachineClass, type MachineDeployment } from '@mcm/api';
import type { MachineDefaults } from '@mcm/core';
import {
  type ClassRow,
  type ClusterRow,
  type ControllerRow,
  type DeploymentRow,
  type Frame,
  LEVELS,
  type Level,
  type MachineRow,
  type PoolRow,
} from '@mcm/dashboard';
import { type Clock, controllerOf, errorText, type Informer, type KubeObject, type Logger, type Node } from '@mcm/kube';
import { Lives } from '../history/lives.ts';
import { Samples } from '../history/samples.ts';
import { Successors } from '../history/successors.ts';
import { type AssessedDeployment, deploymentRow } from '../rows/deployment-row.ts';
import { type AroundMachine, type AssessedRow, machineRow } from '../rows/machine-row.ts';
import { classRow, poolRow } from '../rows/other-rows.ts';
import { brieflyVisible } from '../rows/text.ts';
import type { Controllers } from './controllers.ts';
import type { Drains } from './drains.ts';
import { Events } from './events.ts';
import { gapSentences } from './gaps.ts';
import type { Sources } from './sources.ts';
import { Table } from './table.ts';
import { Unreachable } from './unreachable.ts';

/** The maximum number of samples of one rollout. The samples of `MOST_ROLLOUTS` rollouts use at most 20 MB. */
const MOST_SAMPLES = 600;
const MOST_ROLLOUTS = 500;
/** The maximum number of samples of the trend: six hours with a sample every ten seconds. */
const MOST_TREND = 2_160;
const TREND_MS = 10_000;

export interface BoardOptions {
  readonly sources: Sources;
  readonly namespace: string | undefined;
  readonly fleet: string | undefined;
  readonly clock: Clock;
  readonly log: Logger;
  readonly defaults: () => MachineDefaults;
  readonly drains: Drains;
  readonly controllers: Controllers;
  /** Whether users must log in. */
  readonly login: boolean;
  readonly onDirty: () => void;
}

type Kind = 'machines' | 'deployments' | 'classes' | 'pools' | 'clusters';

/**
 * Computes the rows of the dashboard from watch events. The cost of an event does not depend on the size of the fleet.
 */
export class Board {
  readonly lives = new Lives();
  readonly samples = new Map<string, Samples>();
  readonly #options: BoardOptions;
  readonly #machines = new Table<MachineRow>();
  readonly #deployments = new Table<DeploymentRow>();
  readonly #drains = new Table<ReturnType<Drains['rows']>[number]>();
  readonly #classes = new Table<ClassRow>();
  readonly #pools = new Table<PoolRow>();
  readonly #controllers = new Table<ControllerRow>();
  readonly #clusters = new Table<ClusterRow>();
  readonly #events = new Events();
  readonly #assessed = new Map<string, AssessedRow>();
  readonly #assessedDeployments = new Map<string, AssessedDeployment>();
  readonly #successors = new Successors();
  readonly #dirty: Record<Kind, Set<string>> = {
    machines: new Set(),
    deployments: new Set(),
    classes: new Set(),
    pools: new Set(),
    clusters: new Set(),
  };
  readonly #counts = new Map<Level, number>();
  readonly #trend = new Samples(MOST_TREND, TREND_MS);
  readonly #unreachable: Unreachable;
  #gaps: readonly string[] = [];
  #gapsAreDirty = true;
  #goingIsDirty = true;
  #drainsAreDirty = true;

  constructor(options: BoardOptions) {
    this.#options = options;
    this.#unreachable = new Unreachable(options.sources.peers, options.clock);
    const { machines, deployments, sets, classes, pools, clusters, nodes, events } = options.sources;
    this.#follow('machines', machines);
    this.#follow('deployments', deployments);
    this.#follow('classes', classes);
    this.#follow('pools', pools);
    clusters.onChange(({ object }) => {
      this.#dirty.clusters.add(options.sources.clusterOf(object));
      options.onDirty();
    });
    machines.onChange(({ object }) => {
      if (object.metadata.deletionTimestamp !== undefined) this.#goingIsDirty = true;
    });
    // When a Node or a class changes, the dashboard computes the rows of its machines again. A MachineSet connects
    // its machines to a deployment, so their rows change when the set is created. Later updates of the set do not
    // change the rows.
    nodes.onChange((change) => {
      if (change.type === 'updated' && !differs(change.old, change.object)) return;
      this.#touchAll(machines.store.byIndex('node', change.object.metadata.name));
    });
    classes.onChange(({ key }) => this.#touchAll(machines.store.byIndex('class', key)));
    sets.onChange(({ type, object }) => {
      if (type === 'added') this.#touchAll(machines.store.byIndex('owner', object.metadata.uid));
    });
    events.onChange(({ type, object }) => {
      if (type !== 'deleted' && this.#events.add(object, this.#now())) options.onDirty();
    });
  }

  #now(): number {
    return this.#options.clock.now().getTime();
  }

  #follow<T extends KubeObject>(kind: Kind, informer: Informer<T>): void {
    informer.onChange(({ key }) => {
      this.#dirty[kind].add(key);
      this.#options.onDirty();
    });
  }

  #touchAll(all: readonly Machine[]): void {
    for (const { metadata } of all) this.#dirty.machines.add(`${metadata.namespace ?? ''}/${metadata.name}`);
    if (all.length > 0) this.#options.onDirty();
  }

  /** Must be called when the missing data may have changed. */
  touchGaps(): void {
    this.#gapsAreDirty = true;
    this.#options.onDirty();
  }

  /** Must be called when a watched drain has changed. */
  touchDrains(): void {
    this.#drainsAreDirty = true;
    this.#options.onDirty();
  }

  /**
   * Assesses the controllers, which affect the rows of their namespace. The caller must call `assessControllers` every
   * 2 s.
   */
  assessControllers(): void {
    const { controllers, sources, onDirty } = this.#options;
    for (const name of this.#unreachable.assess()) {
      this.#dirty.clusters.add(name);
      onDirty();
    }
    const changed = controllers.assess(sources);
    if (changed.size === 0) return;
    this.#controllers.replace(controllers.rows());
    for (const kind of ['machines', 'deployments'] as const) {
      for (const { metadata } of sources[kind].store.list()) {
        const ns = metadata.namespace ?? '';
        if (changed.has(ns)) this.#dirty[kind].add(`${ns}/${metadata.name}`);
      }
    }
    onDirty();
  }

  /** Updates the rows whose level depends on the time. The caller must call `tick` every few seconds. */
  tick(): void {
    const now = this.#now();
    for (const [key, { risesAt }] of this.#assessed)
      if (risesAt !== undefined && risesAt <= now) this.#dirty.machines.add(key);
    for (const [key, { risesAt }] of this.#assessedDeployments) {
      if (risesAt !== undefined && risesAt <= now) this.#dirty.deployments.add(key);
    }
    this.lives.expire(now);
    this.#drainsAreDirty = true;
    this.#gapsAreDirty = true;
    this.#options.onDirty();
  }

  flush(): Frame | undefined {
    const now = this.#now();
    const trendBefore = this.#trend.all.at(-1);
    this.#flushDrains(now);
    this.#take('machines', (key) => this.#flushMachine(key, now));
    this.#take('deployments', (key) => this.#flushDeployment(key, now));
    const { classes, pools, clusterRow } = this.#options.sources;
    this.#take('classes', (key) => put(this.#classes, key, classes.store.get(key), classRow));
    this.#take('pools', (key) => put(this.#pools, key, pools.store.get(key), poolRow));
    this.#take('clusters', (key) => put(this.#clusters, key, clusterRow(key, this.#unreachable.of(key)), (row) => row));
    if (this.#options.sources.machines.synced) this.#addTrend(now);
    const gapsChanged = this.#flushGaps();
    const trend = this.#trend.all.at(-1);
    const tables = {
      machines: this.#machines.take(),
      deployments: this.#deployments.take(),
      drains: this.#drains.take(),
      classes: this.#classes.take(),
      pools: this.#pools.take(),
      controllers: this.#controllers.take(),
      clusters: this.#clusters.take(),
      events: this.#events.table.take(),
    };
    const changed = Object.fromEntries(Object.entries(tables).filter(([, delta]) => delta !== undefined));
    if (Object.keys(changed).length === 0 && !gapsChanged) return undefined;
    return {
      at: now,
      tables: changed,
      gaps: gapsChanged ? this.#gaps : undefined,
      trend: trend !== undefined && trend !== trendBefore ? [trend] : undefined,
    };
  }

  first(): Frame {
    const all = <T extends { readonly key: string }>({ rows }: Table<T>) => ({ put: [...rows.values()] });
    return {
      at: this.#now(),
      first: {
        namespace: this.#options.namespace ?? '',
        fleet: this.#options.fleet ?? '',
        login: this.#options.login,
        trend: this.#trend.all,
      },
      gaps: this.#gaps,
      tables: {
        machines: all(this.#machines),
        deployments: all(this.#deployments),
        drains: all(this.#drains),
        classes: all(this.#classes),
        pools: all(this.#pools),
        controllers: all(this.#controllers),
        clusters: all(this.#clusters),
        events: all(this.#events.table),
      },
    };
  }

  machine(key: string): MachineRow | undefined {
    return this.#machines.rows.get(key);
  }

  deployment(key: string): DeploymentRow | undefined {
    return this.#deployments.rows.get(key);
  }

  eventsOf(wanted: (kind: string, ns: string, name: string) => boolean) {
    return this.#events.of(wanted);
  }

  /** Calls `handle` for each changed key. */
  #take(kind: Kind, handle: (key: string) => void): void {
    const keys = [...this.#dirty[kind]];
    this.#dirty[kind].clear();
    for (const key of keys) {
      try {
        handle(key);
      } catch (error) {
        this.#options.log.error('Cannot show an object on the dashboard', { kind, key, error: errorText(error) });
      }
    }
  }

  #flushGaps(): boolean {
    if (!this.#gapsAreDirty) return false;
    this.#gapsAreDirty = false;
    const gaps = gapSentences(this.#options.sources.gaps());
    if (String(gaps) === String(this.#gaps)) return false;
    this.#gaps = gaps;
    return true;
  }

  #flushDrains(now: number): void {
    const { drains, sources } = this.#options;
    if (this.#goingIsDirty) {
      this.#goingIsDirty = false;
      this.#drainsAreDirty = true;
      drains.follow(sources.going());
    }
    if (!this.#drainsAreDirty) return;
    this.#drainsAreDirty = false;
    const rows = drains.rows(now);
    this.#drains.replace(rows);
    for (const { key, left, blockers } of rows) {
      if (left >= 0) this.lives.drain(key, { at: now, left, blockers });
      this.#dirty.machines.add(key);
    }
  }

  #flushMachine(key: string, now: number): void {
    const machine = this.#options.sources.machines.store.get(key);
    const before = this.#assessed.get(key);
    if (machine === undefined) {
      if (before === undefined) return;
      this.#count(before.row.level, -1);
      this.#assessed.delete(key);
      this.#machines.drop(key);
      // If a deletion started and ended between two calls of `flush`, its start is recorded now.
      if (!isLeaving(before.row)) this.#leave(before.row, now);
      this.lives.drop(key, now);
      return;
    }
    const same = before?.row.uid === machine.metadata.uid ? before : undefined;
    const assessed = machineRow(machine, this.#around(machine), now, same);
    this.#assessed.set(key, assessed);
    if (before !== undefined) this.#count(before.row.level, -1);
    this.#count(assessed.row.level, 1);
    if (!this.#machines.put(assessed.row)) return;
    this.#remember(assessed.row, same?.row, now);
    this.lives.hasVm(key, brieflyVisible(machine.spec.providerID ?? ''));
  }

  #remember(row: MachineRow, before: MachineRow | undefined, now: number): void {
    const isNew = before === undefined && now - row.created < TREND_MS;
    this.lives.put(row, now, isNew);
    if (isNew) {
      const replaced = this.#successors.created(row, now);
      if (replaced !== undefined) this.lives.pair(replaced, row.key);
    }
    if (isLeaving(row) && !isLeaving(before)) this.#leave(row, now);
  }

  #leave(row: MachineRow, now: number): void {
    const next = this.#successors.leaves(row, now);
    if (next !== undefined) this.lives.pair(row.key, next);
  }

  #addTrend(now: number): void {
    this.#trend.add([now, ...LEVELS.map((level) => this.#counts.get(level) ?? 0)]);
  }

  #count(level: Level, more: number): void {
    this.#counts.set(level, (this.#counts.get(level) ?? 0) + more);
  }

  #around(machine: Machine): AroundMachine {
    const { classes, nodes, sets } = this.#options.sources;
    const ns = machine.metadata.namespace ?? '';
    const owner = controllerOf(machine);
    const set = owner?.kind === 'MachineSet' ? sets.store.get(`${ns}/${owner.name}`) : undefined;
    const direct = owner?.kind === 'MachineDeployment' ? owner.name : '';
    const machineClass: MachineClass | undefined = classes.store.get(`${ns}/${machine.spec.class?.name ?? ''}`);
    const going = machine.metadata.deletionTimestamp !== undefined;
    return {
      deployment: (set && controllerOf(set)?.name) ?? direct,
      machineClass,
      classesAreKnown: classes.synced && classes.refused === undefined,
      node: nodes.store.get(machine.metadata.labels?.[Labels.Node] ?? ''),
      blockers: going ? this.#options.drains.blockersOf(machine).map(brieflyVisible) : [],
      defaults: this.#options.defaults(),
      controllers: this.#options.controllers.of(ns),
    };
  }

  #flushDeployment(key: string, now: number): void {
    const deployment: MachineDeployment | undefined = this.#options.sources.deployments.store.get(key);
    if (deployment === undefined) {
      this.#assessedDeployments.delete(key);
      this.#deployments.drop(key);
      return;
    }
    const assessed = deploymentRow(
      deployment,
      now,
      this.#assessedDeployments.get(key),
      this.#options.controllers.of(deployment.metadata.namespace ?? ''),
    );
    this.#assessedDeployments.set(key, assessed);
    const { desired, updated, available, total } = assessed.row;
    if (this.#deployments.put(assessed.row)) this.#samplesOf(key).add([now, desired, updated, available, total]);
  }

  /** Returns the samples of a rollout. */
  #samplesOf(key: string): Samples {
    const known = this.samples.get(key) ?? new Samples(MOST_SAMPLES, 1_000);
    this.samples.delete(key);
    this.samples.set(key, known);
    const [oldest] = this.samples.keys();
    if (this.samples.size > MOST_ROLLOUTS && oldest !== undefined) this.samples.delete(oldest);
    return known;
  }
}

function put<T, Row extends { readonly key: string }>(
  table: Table<Row>,
  key: string,
  object: T | undefined,
  rowOf: (object: T) => Row,
): void {
  if (object === undefined) table.drop(key);
  else table.put(rowOf(object));
}

const isLeaving = (row: MachineRow | undefined): boolean => row?.stage === 'drain' || row?.stage === 'delete';

/**
 * Returns true if a change of a Node changes the row of its machine. Kubelets update the status of a Node every few
 * seconds, and most of these updates do not change a row.
 */
const differs = (a: Node, b: Node): boolean =>
  a.metadata.uid !== b.metadata.uid || JSON.stringify(a.metadata.labels) !== JSON.stringify(b.metadata.labels);
