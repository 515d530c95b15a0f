import type { KubeObject } from '@mcm/kube';
import type { Recorded } from './recording.ts';

export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const conditionsOf = (object: KubeObject | undefined): readonly Condition[] => {
  const status = object === undefined || !('status' in object) ? undefined : object.status;
  return isFields(status) && Array.isArray(status.conditions) ? (status.conditions as Condition[]) : [];
};

export const operationOf = ({ status }: Recorded): Fields | undefined =>
  isFields(status) && isFields(status.lastOperation) ? status.lastOperation : undefined;

export const phaseOf = (machine: KubeObject): unknown => {
  const status = 'status' in machine ? machine.status : undefined;
  return isFields(status) && isFields(status.currentStatus) ? status.currentStatus.phase : undefined;
};

export type Fields = Readonly<Record<string, unknown>>;

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
}
