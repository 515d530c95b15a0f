import { Annotations, type MachineDeployment } from '@mcm/api';
import type { Node } from '@mcm/kube';

const KEY = Annotations.RolloutOnCannotUpdateInPlace;

export const STOP = 'Stop';

/** Returns true if a failed in-place update stops further rollouts of the deployment. */
export const stopsOnFailedUpdate = ({ metadata, spec }: MachineDeployment): boolean =>
  spec.strategy?.type === 'InPlaceUpdate' && metadata.annotations?.[KEY] === STOP;

/** Returns true if the policy keeps a machine after a failed in-place update, so that it does not become Failed. */
export const isKeptAfterFailure = (node: Node | undefined): boolean => node?.metadata.annotations?.[KEY] === STOP;
