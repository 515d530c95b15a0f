import type { Machine, MachineClass } from '@mcm/api';
import { type Change, type Key, type KubeObject, keyOf, makeKey, type Node } from '@mcm/kube';
import { type CensusSources, SilenceCensus, type Source } from './census.ts';
import type { Guards } from './guards.ts';
import { overridesBreaker } from './override.ts';
import type { SafeguardSettings } from './safeguards.ts';

/** All that is in a namespace, read at one moment, by somebody who keeps no caches. */
export interface FleetReading {
  readonly machines: readonly Machine[];
  readonly classes: readonly MachineClass[];
  /** Undefined where nobody sees the nodes. */
  readonly nodes: readonly Node[] | undefined;
}

/** A source that tells once of everything there is. */
function told<T extends KubeObject>(objects: readonly T[]): Source<T> {
  const byKey = new Map<Key, T>(objects.map((object) => [keyOf(object), object]));
  const onChange = (hear: (change: Change<T>) => void): (() => void) => {
    for (const [key, object] of byKey) hear({ type: 'added', key, object });
    return () => undefined;
  };
  return { store: { get: (key) => byKey.get(key) }, onChange };
}

/** The controllers' own judgement of a fleet, for commands that explain it. */
export function guardsOf(fleet: FleetReading, settings: SafeguardSettings, now: Date): Guards {
  const classes = told(fleet.classes);
  const sources: CensusSources = { machines: told(fleet.machines), classes, nodes: fleet.nodes && told(fleet.nodes) };
  const census = new SilenceCensus(sources);
  const names = new Set(fleet.classes.map(({ metadata }) => metadata.name));
  const classOf = ({ metadata, spec }: Machine) =>
    classes.store.get(makeKey(metadata.namespace, spec.class?.name ?? ''));
  return {
    maxUnhealthyReplacements: settings.maxUnhealthyReplacements,
    countTerminating: settings.countTerminating,
    rolloutAnnotations: settings.rolloutAnnotations,
    breakerOf: (machine) => {
      const open = census.breakerOf(machine, settings.breaker, now);
      return open && !overridesBreaker(machine, classOf(machine), now) ? open : undefined;
    },
    hasClass: (name) => names.has(name),
  };
}
