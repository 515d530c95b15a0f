import { Annotations } from '@mcm/api';
import type { Node } from '@mcm/kube';

const STUCK: readonly (string | undefined)[] = ['Degraded', 'Unreconcilable'];

/** Returns a text about the machine configuration of a node. */
export function configOf({ metadata: { annotations = {} } }: Node): string | undefined {
  const { [Annotations.ConfigDaemonState]: state, [Annotations.ConfigDaemonReason]: reason } = annotations;
  if (STUCK.includes(state))
    return `the machine config of the node is ${state}${reason ? ` (${reason})` : ''}; for details: mcm config status -o wide`;
  return annotations[Annotations.ConfigDaemonDrain]?.startsWith('drain-')
    ? 'the node is being drained for another machine config'
    : undefined;
}
