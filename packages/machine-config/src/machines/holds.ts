import type { MachineDeployment } from '@mcm/api';
import { ConfigAnnotations } from '../constants/annotations.ts';

/** Returns the pool for whose configuration the rollouts of the deployment wait, or ''. */
export const awaitedBy = ({ metadata }: Pick<MachineDeployment, 'metadata'>): string =>
  metadata.annotations?.[ConfigAnnotations.AwaitedByPool] ?? '';

/** Returns the pool that paused the deployment, or ''. */
export const pausedBy = ({ metadata }: Pick<MachineDeployment, 'metadata'>): string =>
  metadata.annotations?.[ConfigAnnotations.PausedByPool] ?? '';
