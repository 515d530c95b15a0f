import type { MachineDeployment } from '@mcm/api';
import { ConfigAnnotations } from '../constants/annotations.ts';

export const awaitedBy = ({ metadata }: Pick<MachineDeployment, 'metadata'>): string =>
  metadata.annotations?.[ConfigAnnotations.AwaitedByPool] ?? '';

export const pausedBy = ({ metadata }: Pick<MachineDeployment, 'metadata'>): string =>
  metadata.annotations?.[ConfigAnnotations.PausedByPool] ?? '';
