/** What the daemon says of a node, in {@link NodeAnnotations.State}. Case matters. */
export const DaemonStates = {
  Done: 'Done',
  Working: 'Working',
  Degraded: 'Degraded',
  Unreconcilable: 'Unreconcilable',
  Rebooting: 'Rebooting',
} as const;

/** A state of the daemon. */
export type DaemonState = (typeof DaemonStates)[keyof typeof DaemonStates];
