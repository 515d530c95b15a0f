import type { Machine, MachineClass } from '@mcm/api';
import { type Change, type Key, type KubeObject, keyOf, makeKey, type Node } from '@mcm/kube';
import { type CensusSources, type Source, UnreachableCensus } from './census.ts';
import type { Guards } from './guards.ts';
import { overridesBreaker } from './override.ts';
import type { SafeguardSettings } from './safeguards.ts';

/** Contains all objects of a namespace, for commands that read the objects once and have no caches. */
export interface FleetReading {
  readonly machines: readonly Machine[];
  readonly classes: readonly MachineClass[];
  readonly nodes: readonly Node[] | undefined;
}

function reported<T extends KubeObject>(objects: readonly T[]): Source<T> {
  const byKey = new Map<Key, T>(objects.map((object) => [keyOf(object), object]));
  const onChange = (hear: (change: Change<T>) => void): (() => void) => {
    for (const [key, object] of byKey) hear({ type: 'added', key, object });
    return () => undefined;
  };
  return { store: { get: (key) => byKey.get(key) }, onChange };
}

/** Returns the guards that apply for the given settings and the given time. */
export type GuardsAt = (settings: SafeguardSettings, now: Date) => Guards;

/** Creates the guards of the controllers. */
export function watchGuards(sources: CensusSources, hasClass: Guards['hasClass']): GuardsAt {
  const census = new UnreachableCensus(sources);
  const classOf = ({ metadata, spec }: Machine) =>
    sources.classes.store.get(makeKey(metadata.namespace, spec.class?.name ?? ''));
  return (settings, now) => ({
    maxUnhealthyReplacements: settings.maxUnhealthyReplacements,
    countTerminating: settings.countTerminating,
    rolloutAnnotations: settings.rolloutAnnotations,
    breakerOf: (machine) => {
      const open = census.breakerOf(machine, settings.breaker, now);
      return open && !overridesBreaker(machine, classOf(machine), now) ? open : undefined;
    },
    hasClass,
    classAnnotations: (name, namespace) => sources.classes.store.get(makeKey(namespace, name))?.metadata.annotations,
  });
}

/** Computes the guards from objects that were read once, without caches. */
export function guardsOf(fleet: FleetReading, settings: SafeguardSettings, now: Date): Guards {
  const { machines, classes, nodes } = fleet;
  const names = new Set(classes.map(({ metadata }) => metadata.name));
  const sources = { machines: reported(machines), classes: reported(classes), nodes: nodes && reported(nodes) };
  return watchGuards(sources, (name) => names.has(name))(settings, now);
}
