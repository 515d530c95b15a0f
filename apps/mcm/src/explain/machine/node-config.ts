import { Annotations } from '@mcm/api';
import type { Node } from '@mcm/kube';

/** States of the daemon of machine configs in which it continues no more by itself. */
const STUCK: readonly (string | undefined)[] = ['Degraded', 'Unreconcilable'];

/** What the daemon of machine configs does with a node, or why it cannot; undefined where it wants nothing of it. */
export function configOf({ metadata: { annotations = {} } }: Node): string | undefined {
  const { [Annotations.ConfigDaemonState]: state, [Annotations.ConfigDaemonReason]: reason } = annotations;
  if (STUCK.includes(state))
    return `its machine config is ${state}${reason ? ` (${reason})` : ''}: mcm config status -o wide`;
  return annotations[Annotations.ConfigDaemonDrain]?.startsWith('drain-')
    ? 'it is being drained for another machine config'
    : undefined;
}
