import type { Machine } from '@mcm/api';
import { phaseOf } from '@mcm/api';
import type { Change } from '@mcm/kube';

export function failureIn(change: Change<Machine>): string | undefined {
  const { object } = change;
  if (change.type !== 'updated' || phaseOf(object) !== 'Failed' || phaseOf(change.old) === 'Failed') return undefined;
  return object.status?.lastOperation?.description || 'it has failed';
}
