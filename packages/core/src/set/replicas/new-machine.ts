import {
  Annotations,
  API_VERSION,
  DEFAULT_MACHINE_PRIORITY,
  Finalizers,
  type Machine,
  type MachineSet,
  type MachineSpec,
  TRUE_LOWER,
} from '@mcm/api';
import type { Draft } from '@mcm/kube';
import { defined, withoutUndefined } from '@mcm/kube';
import { controllerReference } from '../../objects/claim.ts';
import { LOST_STATE_MARKS, type LostState } from '../../objects/machines.ts';
import { isGoDuration } from '../../values/integers.ts';
import type { Place } from '../../zones/places.ts';
import { zoneText } from '../../zones/setting.ts';

export function effectiveCreationTimeout(set: MachineSet): string | undefined {
  const text = set.metadata.annotations?.[Annotations.EffectiveCreationTimeout];
  return text !== undefined && isGoDuration(text) ? text : undefined;
}

export interface NewMachine {
  readonly lostState?: LostState | undefined;
  /** The zone of the machine, or undefined if the deployment has no zones. */
  readonly place?: Place | undefined;
  /** Whether mcm protects the Node of the machine from the cluster autoscaler when the Node joins. */
  readonly protect?: boolean | undefined;
}

/**
 * The create request contains the finalizer, the owner and the priority. After the creation, the original adds the
 * finalizer, the owner and the priority one after the other.
 */
export function newMachine(
  set: MachineSet,
  name: string,
  { lostState, place, protect = false }: NewMachine = {},
): Draft<Machine> {
  const template = set.spec.template;
  const forced = set.metadata.annotations?.[Annotations.EffectiveCreationTimeout];
  const creationTimeout = effectiveCreationTimeout(set);
  const spec: MachineSpec = { ...template.spec, ...withoutUndefined({ creationTimeout }) };
  return {
    apiVersion: API_VERSION,
    kind: 'Machine',
    metadata: defined({
      name,
      namespace: set.metadata.namespace,
      labels: { ...template.metadata?.labels },
      annotations: {
        [Annotations.Priority]: String(DEFAULT_MACHINE_PRIORITY),
        ...template.metadata?.annotations,
        ...withoutUndefined({
          [Annotations.EffectiveCreationTimeout]: forced,
          [Annotations.CapacityAlternatives]: set.metadata.annotations?.[Annotations.CapacityAlternatives],
          [Annotations.ZoneOffering]: place && zoneText(place.zone),
          [Annotations.ZoneReason]: place?.because,
          // mcm records the offering before the first driver call, so that no process can create the VM in another
          // zone.
          [Annotations.CapacityOffering]: place && zoneText(place.zone),
          [Annotations.ProtectNewNode]: protect ? TRUE_LOWER : undefined,
          [Annotations.Replacement]: lostState === undefined ? undefined : LOST_STATE_MARKS[lostState],
        }),
      },
      finalizers: [...new Set([...(template.metadata?.finalizers ?? []), Finalizers.MachineControllerManager])],
      ownerReferences: [controllerReference(set)],
    }),
    spec,
  };
}
