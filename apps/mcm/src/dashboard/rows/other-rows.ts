import type { MachineClass } from '@mcm/api';
import type { ClassRow, EventRow, PoolRow } from '@mcm/dashboard';
import type { EventObject } from '@mcm/kube';
import type { MachineConfigPool } from '@mcm/machine-config';
import { FLEET_KINDS } from '../../events/events.ts';
import { brief } from '../../explain/reasons/brief.ts';
import { classZone } from './machine-row.ts';
import { brieflyVisible, millisOf } from './text.ts';

export function classRow(machineClass: MachineClass): ClassRow {
  const { metadata, provider, nodeTemplate, providerSpec } = machineClass;
  const inSpec = providerSpec as { readonly machineType?: unknown } | null | undefined;
  const type = nodeTemplate?.instanceType ?? inSpec?.machineType;
  return {
    key: `${metadata.namespace ?? ''}/${metadata.name}`,
    ns: metadata.namespace ?? '',
    name: metadata.name,
    provider: brieflyVisible(provider ?? ''),
    machineType: typeof type === 'string' ? brieflyVisible(type) : '',
    zone: classZone(machineClass),
  };
}

export function poolRow({ metadata, spec, status }: MachineConfigPool): PoolRow {
  const { machineCount = 0, updatedMachineCount = 0, readyMachineCount = 0, degradedMachineCount = 0 } = status ?? {};
  const degraded = status?.conditions?.find(({ type, status: is }) => /Degraded$/.test(type) && is === 'True');
  const failed = degradedMachineCount > 0 || degraded !== undefined;
  return {
    key: metadata.name,
    name: metadata.name,
    nodes: machineCount,
    updated: updatedMachineCount,
    ready: readyMachineCount,
    degraded: degradedMachineCount,
    paused: spec?.paused === true,
    level: failed ? 'failed' : updatedMachineCount < machineCount ? 'starting' : 'ready',
    why: brieflyVisible(degraded?.message ?? ''),
  };
}

/** The kinds whose events the dashboard shows. */
/** Returns the row of an event. */
export function eventRow(event: EventObject, now: number): EventRow | undefined {
  const { metadata, involvedObject: of, type, reason, message, count } = event;
  if (!FLEET_KINDS.has(of?.kind ?? '')) return undefined;
  return {
    key: metadata.uid,
    at: millisOf(event.lastTimestamp ?? metadata.creationTimestamp) ?? now,
    ns: metadata.namespace ?? '',
    warning: type === 'Warning',
    reason: brieflyVisible(reason ?? ''),
    kind: of.kind ?? '',
    name: brieflyVisible(of.name ?? ''),
    message: brieflyVisible(brief(message ?? '')),
    count: count ?? 1,
  };
}
