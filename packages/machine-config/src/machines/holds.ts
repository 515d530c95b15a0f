import type { MachineDeployment } from '@mcm/api';
import { ConfigAnnotations } from '../constants/annotations.ts';

/** Returns the pool, or '' if there is none. */
export const awaitedBy = ({ metadata }: Pick<MachineDeployment, 'metadata'>): string =>
  metadata.annotations?.[ConfigAnnotations.AwaitedByPool] ?? '';

/** `pausedBy` returns '' if no pool paused the deployment. */
export const pausedBy = ({ metadata }: Pick<MachineDeployment, 'metadata'>): string =>
  metadata.annotations?.[ConfigAnnotations.PausedByPool] ?? '';
