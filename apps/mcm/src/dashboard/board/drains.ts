import { Labels, type Machine, type MachineClass } from '@mcm/api';
import { type DrainExplanation, type FollowedDrain, followDrain, type MachineDefaults } from '@mcm/core';
import type { DrainRow } from '@mcm/dashboard';
import type { InformerRuntime, KubeClient } from '@mcm/kube';
import { needsText } from '../../cluster/allowed.ts';
import { BLOCKED_LIMIT_MS } from '../rows/machine-row.ts';
import { brieflyVisible, millisOf } from '../rows/text.ts';

/** The maximum number of drains that the dashboard watches, because each drain needs several watches. */
const MOST_WATCHED = 10;

interface Watch {
  readonly drain: FollowedDrain;
  readonly node: string;
  ready: boolean;
  pods: number;
  blockedSince: number | undefined;
  readonly end: AbortController;
}

export interface DrainOptions {
  /** In a fleet, `target` is undefined and no drain is watched, because the pods are in other clusters. */
  readonly target: KubeClient | undefined;
  readonly runtime: InformerRuntime;
  readonly signal: AbortSignal;
  readonly onChange: () => void;
  /** Returns the settings of the machine controller. */
  readonly defaults: () => MachineDefaults;
  readonly classOf: (machine: Machine) => MachineClass | undefined;
}

const nodeOf = ({ metadata }: Machine): string => metadata.labels?.[Labels.Node] ?? '';
const keyOf = ({ metadata }: Machine): string => `${metadata.namespace ?? ''}/${metadata.name}`;

const byDeletion = (a: Machine, b: Machine): number =>
  (a.metadata.deletionTimestamp ?? '').localeCompare(b.metadata.deletionTimestamp ?? '') ||
  a.metadata.name.localeCompare(b.metadata.name);

export class Drains {
  readonly #options: DrainOptions;
  readonly #watches = new Map<string, Watch>();
  #machines: readonly Machine[] = [];

  constructor(options: DrainOptions) {
    this.#options = options;
  }

  follow(going: readonly Machine[]): void {
    const { target } = this.#options;
    if (target === undefined) return;
    this.#machines = going
      .filter((machine) => nodeOf(machine) !== '')
      .toSorted(byDeletion)
      .slice(0, MOST_WATCHED);
    const wanted = new Map(this.#machines.map((machine) => [machine.metadata.uid, nodeOf(machine)]));
    for (const [uid, watch] of this.#watches) {
      if (wanted.get(uid) === watch.node) continue;
      watch.end.abort(new Error('the drain is complete'));
      this.#watches.delete(uid);
    }
    for (const [uid, node] of wanted) if (!this.#watches.has(uid)) this.#watches.set(uid, this.#begin(target, node));
  }

  #begin(target: KubeClient, node: string): Watch {
    const { runtime, signal, onChange } = this.#options;
    const end = new AbortController();
    const until = AbortSignal.any([signal, end.signal]);
    const drain = followDrain({ target, nodeName: node, runtime, signal: until, onChange });
    const watch: Watch = { drain, node, ready: false, pods: 0, blockedSince: undefined, end };
    drain.synced.then(
      () => {
        watch.ready = true;
        onChange();
      },
      () => undefined, // The promise rejects when the watch ends, so the rejection is ignored.
    );
    return watch;
  }

  explain(machine: Machine): DrainExplanation | undefined {
    const watch = this.#watches.get(machine.metadata.uid);
    const { classOf, defaults } = this.#options;
    return watch?.ready ? watch.drain.explain(machine, classOf(machine), defaults()) : undefined;
  }

  /** Returns the reasons why a drain makes no progress. */
  blockersOf(machine: Machine): readonly string[] {
    return this.explain(machine)?.blockers.map(({ text }) => text) ?? [];
  }

  /** Returns the kinds that the user may not read, with the missing permissions. */
  unseen(machine: Machine): readonly string[] {
    return (this.#watches.get(machine.metadata.uid)?.drain.refused() ?? []).flatMap(({ resource, refused }) =>
      refused ? [`no permission to read ${resource}: needs ${needsText(refused)}`] : [],
    );
  }

  rows(now: number): readonly DrainRow[] {
    return this.#machines.flatMap((machine) => this.#row(machine, now) ?? []);
  }

  #row(machine: Machine, now: number): DrainRow | undefined {
    const watch = this.#watches.get(machine.metadata.uid);
    if (watch === undefined) return undefined;
    const explanation = this.explain(machine);
    const left = explanation?.pods.filter(({ fate }) => fate !== 'stays').length ?? -1;
    const reported = explanation?.blockers.map(({ text }) => text) ?? [];
    watch.pods = Math.max(watch.pods, left);
    watch.blockedSince = reported.length > 0 ? (watch.blockedSince ?? now) : undefined;
    const long = watch.blockedSince !== undefined && now - watch.blockedSince >= BLOCKED_LIMIT_MS;
    return {
      key: keyOf(machine),
      ns: machine.metadata.namespace ?? '',
      name: machine.metadata.name,
      node: watch.node,
      left,
      pods: watch.pods,
      blockers: [...reported, ...this.unseen(machine)].map(brieflyVisible),
      level: reported.length === 0 ? 'leaving' : long ? 'failed' : 'blocked',
      since: millisOf(machine.metadata.deletionTimestamp) ?? now,
    };
  }
}
