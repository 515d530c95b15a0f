import type { MachineDeployment } from '@mcm/api';
import { ConfigAnnotations } from '../constants/annotations.ts';

/** The pool whose configuration the rollouts of a deployment wait for; '' if there is none. */
export const awaitedBy = ({ metadata }: Pick<MachineDeployment, 'metadata'>): string =>
  metadata.annotations?.[ConfigAnnotations.AwaitedByPool] ?? '';

/** The pool that paused a deployment; '' if no pool did. */
export const pausedBy = ({ metadata }: Pick<MachineDeployment, 'metadata'>): string =>
  metadata.annotations?.[ConfigAnnotations.PausedByPool] ?? '';
