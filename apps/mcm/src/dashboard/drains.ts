import { Labels, type Machine } from '@mcm/api';
import { type DrainExplanation, type FollowedDrain, followDrain, type MachineDefaults } from '@mcm/core';
import type { InformerRuntime, KubeClient } from '@mcm/kube';
import { needsText } from '../cluster/allowed.ts';
import type { FleetSource } from './snapshot.ts';

/** The explanations of drains that are watched. */
export interface Drains {
  /** The current explanation; undefined when the drain is not watched, or when there is nothing to drain. Makes no request. */
  explain(machine: Machine): DrainExplanation | undefined;
  /** The kinds that may not be read, with the missing permissions. */
  unseen(machine: Machine): readonly string[];
  /** Machines that are being deleted and have a Node, oldest deletion first: the watched ones, and the number of others. */
  watched(): { readonly machines: readonly Machine[]; readonly more: number };
}

/** The number of drains whose pods are watched. Each one needs a few watches. */
const MOST_WATCHED = 10;

interface Watch {
  readonly drain: FollowedDrain;
  readonly node: string;
  ready: boolean;
  readonly end: AbortController;
}

const nodeOf = ({ metadata }: Machine): string => metadata.labels?.[Labels.Node] ?? '';

/** Watches the objects that each drain depends on, until the drain ends. */
export function watchDrains(
  source: FleetSource,
  options: {
    readonly target: KubeClient;
    readonly runtime: InformerRuntime;
    readonly signal: AbortSignal;
    readonly onChange: () => void;
    /** The settings of the machine controller, as far as they are known. */
    readonly defaults: () => MachineDefaults;
  },
): Drains {
  const { target, runtime, signal, onChange, defaults } = options;
  const watches = new Map<string, Watch>();

  const all = (): Machine[] =>
    source
      .going()
      .filter((machine) => nodeOf(machine) !== '')
      .sort(
        (a, b) =>
          (a.metadata.deletionTimestamp ?? '').localeCompare(b.metadata.deletionTimestamp ?? '') ||
          a.metadata.name.localeCompare(b.metadata.name),
      );

  const begin = (node: string): Watch => {
    const end = new AbortController();
    const drain = followDrain({
      target,
      nodeName: node,
      runtime,
      signal: AbortSignal.any([signal, end.signal]),
      onChange,
    });
    const watch: Watch = { drain, node, ready: false, end };
    drain.synced.then(
      () => {
        watch.ready = true;
        onChange();
      },
      () => undefined, // The promise rejects when the watch ends.
    );
    return watch;
  };

  const follow = (): void => {
    const wanted = new Map(
      all()
        .slice(0, MOST_WATCHED)
        .map((machine) => [machine.metadata.uid, nodeOf(machine)]),
    );
    for (const [uid, watch] of watches) {
      if (wanted.get(uid) === watch.node) continue;
      watch.end.abort(new Error('the drain is over'));
      watches.delete(uid);
    }
    for (const [uid, node] of wanted) if (!watches.has(uid)) watches.set(uid, begin(node));
  };
  source.onChange(follow);
  follow();

  return {
    explain(machine) {
      const watch = watches.get(machine.metadata.uid);
      return watch?.ready
        ? watch.drain.explain(machine, source.machineClass(machine.spec.class.name ?? ''), defaults())
        : undefined;
    },
    unseen: (machine) =>
      (watches.get(machine.metadata.uid)?.drain.refused() ?? []).flatMap(({ resource, refused }) =>
        refused ? [`${resource} may not be read: needs ${needsText(refused)}`] : [],
      ),
    watched() {
      const machines = all();
      return { machines: machines.slice(0, MOST_WATCHED), more: Math.max(0, machines.length - MOST_WATCHED) };
    },
  };
}
