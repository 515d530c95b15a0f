import { Annotations, type MachineDeployment } from '@mcm/api';
import type { Node } from '@mcm/kube';

const KEY = Annotations.RolloutOnCannotUpdateInPlace;

/** The value of the annotation that keeps a machine after a failed in-place update. */
export const STOP = 'Stop';

/** Returns true if a failed in-place update stops further rollouts of the deployment. */
export const stopsOnFailedUpdate = ({ metadata, spec }: MachineDeployment): boolean =>
  spec.strategy?.type === 'InPlaceUpdate' && metadata.annotations?.[KEY] === STOP;

/**
 * Returns true if the machine of this Node keeps its phase after a failed in-place update. The machine does not become
 * Failed.
 */
export const isKeptAfterFailure = (node: Node | undefined): boolean => node?.metadata.annotations?.[KEY] === STOP;
