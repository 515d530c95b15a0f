import { Labels, type Machine } from '@mcm/api';
import { type DrainExplanation, type FollowedDrain, followDrain, type MachineDefaults } from '@mcm/core';
import type { InformerRuntime, KubeClient } from '@mcm/kube';
import { needsText } from '../cluster/allowed.ts';
import type { FleetSource } from './snapshot.ts';

/** The drains that are watched. */
export interface Drains {
  /** As it stands; undefined when it is not watched (yet), or when there is nothing to drain. Costs no request. */
  explain(machine: Machine): DrainExplanation | undefined;
  /** What is not known of it, because kinds may not be read. */
  unseen(machine: Machine): readonly string[];
  /** Machines that are being deleted and have a Node, oldest deletion first: those watched, and how many are not. */
  watched(): { readonly machines: readonly Machine[]; readonly more: number };
}

/** Of more drains than this at once, the pods of the later ones are not watched: each costs a few watches. */
const MOST_WATCHED = 10;

interface Watch {
  readonly drain: FollowedDrain;
  readonly node: string;
  ready: boolean;
  readonly end: AbortController;
}

const nodeOf = ({ metadata }: Machine): string => metadata.labels?.[Labels.Node] ?? '';

/** Watches what each drain waits for, for as long as it lasts. */
export function watchDrains(
  source: FleetSource,
  options: {
    readonly target: KubeClient;
    readonly runtime: InformerRuntime;
    readonly signal: AbortSignal;
    readonly onChange: () => void;
    /** Of the machine controller, as far as they are known by now. */
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
      () => undefined, // It rejects when the watch is ended.
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
